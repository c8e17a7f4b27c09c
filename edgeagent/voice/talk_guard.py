"""A tool that nobody has asked for is not called: talk that a small model takes for a command changes nothing.

A hook at BEFORE_LLM and BEFORE_TOOL, on the run's threads; told of utterances on the conversation's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from edgeagent.hooks import BaseHook, BeforeLLM, BeforeTool, FirePoint, HookResult
from edgeagent.tools import Tool

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_PEOPLE: Final = ("user", "steering", "follow_up")
"""Whose messages are answered; what hooks and the loop add is not."""


def moves(tool: Tool) -> bool:
    """What is kept from talk unless an app says otherwise: motion. A tool that notes or looks up works as ever."""
    return tool.traits.motion


def changes(tool: Tool) -> bool:
    """What the house robot keeps from talk: all that does more than tell, but not stopping ("don't move")."""
    return not tool.traits.read_only and tool.name != "stop"


class TalkGuard(BaseHook):
    """Ends a run with an answer when it calls a tool though what was said last asks for nothing.

    Args:
        keeps: Whether a tool is kept from talk.
        answer: What is said then.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.BEFORE_TOOL})

    def __init__(self, keeps: Callable[[Tool], bool], answer: str) -> None:
        self._keeps, self._answer = keeps, answer
        self._talk: str | None = None
        self._answered: str | None = None
        """What the model answers now."""

    def told(self, text: str, *, asks: bool) -> None:
        """Somebody has said this to the model, and may ask for something with it."""
        self._talk = None if asks else text

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM | BeforeTool) -> HookResult | None:
        if isinstance(payload, BeforeLLM):
            said = (one.text for one in reversed(payload.messages) if one.role == "user" and one.origin in _PEOPLE)
            self._answered = next(said, None)
        elif self._talk is not None and self._answered == self._talk and self._keeps(payload.tool):
            return HookResult.end_turn(self._answer)
        return None
