"""edgeagent's part of ``scripts/bench loop``."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from bench.contenders.script import FINAL, INSTRUCTIONS, TASK, Script, noop, serve

from edgeagent import Agent, tool
from edgeagent.agent import Options
from edgeagent.llm import End, LLMEvent, LLMRequest, TextDelta, TextEnd, ToolCallEnd
from edgeagent.messages import ToolCall, Usage, new_id
from edgeagent.testing import ScriptedLLM

_USAGE = Usage(100, 10)


class InstantLLM(ScriptedLLM):
    """A model without a lock, without tokens and without a log of its requests: only its answers."""

    def __init__(self, script: Script[list[LLMEvent]]) -> None:
        super().__init__(context_window=1_000_000)
        self._script = script

    def stream(self, request: LLMRequest, stop_event: threading.Event) -> Iterator[LLMEvent]:
        """The whole answer at once."""
        yield from self._script.answer()

    def count_tokens(self, request: LLMRequest) -> int:
        """A constant; counting is the model's work, not the loop's."""
        return _USAGE.input_tokens


def call(x: int) -> list[LLMEvent]:
    """A turn that calls the tool."""
    return [ToolCallEnd(ToolCall(new_id("call"), "noop", {"x": x})), End("tool_calls", _USAGE)]


def run(turns: int) -> list[float]:
    """One run of a fresh agent."""
    script = Script(turns, call, [TextDelta(FINAL), TextEnd(FINAL), End("stop", _USAGE)])
    agent = Agent(
        "bench",
        INSTRUCTIONS,
        llm=InstantLLM(script),
        tools=[tool(noop)],
        options=Options(max_turns=turns + 1),
    )
    return script.turns_ms(agent.run(TASK).reply)


if __name__ == "__main__":
    serve(run)
