"""smolagents' part of ``scripts/bench loop``: ToolCallingAgent, logging off. It ends a run by a tool of its own."""

from __future__ import annotations

from typing import Any

import smolagents
from bench.contenders.script import FINAL, INSTRUCTIONS, TASK, Script, noop, serve
from smolagents import ChatMessage, LogLevel, ToolCallingAgent
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction, MessageRole
from smolagents.monitoring import TokenUsage

_NOOP = smolagents.tool(noop)


class InstantModel(smolagents.Model):
    """Answers from the script."""

    def __init__(self, script: Script[ChatMessage]) -> None:
        super().__init__(model_id="instant")
        self._script = script

    def generate(self, *args: Any, **kwargs: Any) -> ChatMessage:
        """The next answer."""
        return self._script.answer()


def answer(name: str, arguments: dict[str, Any], call_id: str) -> ChatMessage:
    """A turn that calls a tool."""
    function = ChatMessageToolCallFunction(name=name, arguments=arguments)
    made = ChatMessageToolCall(function=function, id=call_id, type="function")
    return ChatMessage(role=MessageRole.ASSISTANT, tool_calls=[made], token_usage=TokenUsage(100, 10))


def run(turns: int) -> list[float]:
    """One run of a fresh agent."""
    final = answer("final_answer", {"answer": FINAL}, "call_final")
    script = Script(turns, lambda x: answer("noop", {"x": x}, f"call_{x}"), final)
    agent = ToolCallingAgent(
        tools=[_NOOP],
        model=InstantModel(script),
        instructions=INSTRUCTIONS,
        max_steps=turns + 1,
        verbosity_level=LogLevel.OFF,
    )
    return script.turns_ms(agent.run(TASK))


if __name__ == "__main__":
    serve(run)
