"""openai-agents' part of ``scripts/bench loop``: the non-streaming runner, without tracing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool, set_tracing_disabled
from bench.contenders.script import FINAL, INSTRUCTIONS, TASK, Script, noop, serve
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class InstantModel(Model):
    """Answers from the script."""

    def __init__(self, script: Script[ModelResponse]) -> None:
        self._script = script

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """The next answer."""
        return self._script.answer()

    def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Not asked for by this runner."""
        raise NotImplementedError


def call(x: int) -> ModelResponse:
    """A turn that calls the tool."""
    made = ResponseFunctionToolCall(
        call_id=f"call_{x}", id=f"fc_{x}", name="noop", arguments=json.dumps({"x": x}), type="function_call"
    )
    return answer(made)


def final() -> ModelResponse:
    """The last turn."""
    text = ResponseOutputText(text=FINAL, type="output_text", annotations=[])
    return answer(ResponseOutputMessage(id="msg", content=[text], role="assistant", status="completed", type="message"))


def answer(item: ResponseFunctionToolCall | ResponseOutputMessage) -> ModelResponse:
    """A response of one item."""
    usage = Usage(requests=1, input_tokens=100, output_tokens=10, total_tokens=110)
    return ModelResponse(output=[item], usage=usage, response_id=None)


def run(turns: int) -> list[float]:
    """One run of a fresh agent."""
    script = Script(turns, call, final())
    agent = Agent(name="bench", instructions=INSTRUCTIONS, model=InstantModel(script), tools=[function_tool(noop)])
    config = RunConfig(tracing_disabled=True)
    result = asyncio.run(Runner.run(agent, TASK, max_turns=turns + 1, run_config=config))
    return script.turns_ms(result.final_output)


if __name__ == "__main__":
    set_tracing_disabled(True)
    serve(run)
