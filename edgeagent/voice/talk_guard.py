"""A tool that nobody has asked for is not called: talk that a small model takes for a command changes nothing.

A hook at BEFORE_LLM and BEFORE_TOOL, on the run's threads; told of utterances on the conversation's.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from edgeagent.hooks import BaseHook, BeforeLLM, BeforeTool, FirePoint, HookResult
from edgeagent.stt.choice import NEGATIONS
from edgeagent.tools import Tool

if TYPE_CHECKING:
    from edgeagent.context import AgentContext
    from edgeagent.messages import Message

_KEPT: Final = 64
"""Texts; so many don't wait for their answers."""
_PEOPLE: Final = ("user", "steering", "follow_up")
"""Whose messages are answered; what hooks and the loop add is not."""


def moves(tool: Tool) -> bool:
    """What is kept from talk unless an app says otherwise: motion. A tool that notes or looks up works as ever."""
    return tool.traits.motion


def changes(tool: Tool) -> bool:
    """What the house robot keeps from talk: all that does more than tell, but not stopping ("don't move")."""
    return not tool.traits.read_only and tool.name != "stop"


class TalkGuard(BaseHook):
    """Ends a run with an answer when it calls a tool though what was said asks for nothing.

    What it was told is found in history by its text. Where a hook or the removal of personal data has changed that, the
    changed text is judged itself, if what was said last asks for nothing.

    Args:
        keeps: Whether a tool is kept from talk.
        may_ask: Whether a text may ask for something.
        answer: What is said then.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.BEFORE_TOOL})

    def __init__(self, keeps: Callable[[Tool], bool], may_ask: Callable[[str], bool], answer: str) -> None:
        self._keeps, self._may_ask, self._answer = keeps, may_ask, answer
        self._told: dict[str, bool] = {}
        """Texts, the last one at the end, and whether each may ask for something."""
        self._forbidding: frozenset[str] = frozenset()
        """Prohibitions that the run which goes on may still have to answer."""
        self._talk = False
        """Nothing is asked for in what the model answers now."""

    def told(self, text: str, *, asks: bool) -> None:
        """Somebody has said this to the model, and may ask for something with it."""
        told = {known: asked for known, asked in self._told.items() if known != text}
        self._told = dict(list({**told, text: asks}.items())[-_KEPT:])
        if not asks and NEGATIONS.search(text):
            self._forbidding |= {text}

    def ended(self) -> None:
        """The run is over: nothing that it was told waits for an answer."""
        self._forbidding = frozenset()

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM | BeforeTool) -> HookResult | None:
        if isinstance(payload, BeforeLLM):
            since = takewhile(lambda one: one.role != "assistant", reversed(payload.messages))
            said = [one for one in since if one.role == "user" and one.origin in _PEOPLE]
            if said:  # else it goes on with what it has begun
                forbidding = self._forbidding
                self._talk = not self._asks(said[0]) or any(one.text in forbidding for one in said[1:])
        elif self._talk and self._keeps(payload.tool):
            return HookResult.end_turn(self._answer)
        return None

    def _asks(self, message: Message) -> bool:
        told, text = self._told, message.text
        if text in told or message.origin == "follow_up":  # the app's own
            return told.get(text, True)
        return next(reversed(told.values()), True) or self._may_ask(text)
