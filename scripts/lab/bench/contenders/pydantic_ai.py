"""pydantic-ai's part of ``scripts/bench loop``: FunctionModel with an async function, which needs no thread."""

from __future__ import annotations

from typing import Any

from bench.contenders.script import FINAL, INSTRUCTIONS, TASK, Script, noop, serve
from pydantic_ai import Agent, ModelResponse, RequestUsage, TextPart, ToolCallPart, UsageLimits
from pydantic_ai.models.function import FunctionModel


def answer(part: TextPart | ToolCallPart) -> ModelResponse:
    """A turn. With its usage given, FunctionModel does not estimate one from the whole history."""
    return ModelResponse(parts=[part], usage=RequestUsage(input_tokens=100, output_tokens=10))


def run(turns: int) -> list[float]:
    """One run of a fresh agent."""
    script = Script(
        turns,
        lambda x: answer(ToolCallPart("noop", {"x": x}, tool_call_id=f"call_{x}")),
        answer(TextPart(FINAL)),
    )

    async def model(*_: Any) -> ModelResponse:
        return script.answer()

    agent = Agent(FunctionModel(model), instructions=INSTRUCTIONS, tools=[noop])
    result = agent.run_sync(TASK, usage_limits=UsageLimits(request_limit=None))
    return script.turns_ms(result.output)


if __name__ == "__main__":
    serve(run)
