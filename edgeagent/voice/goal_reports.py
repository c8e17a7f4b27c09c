"""Skills that outlive their run are reported in words of ours: the model is not asked what to make of their end.

A small model takes "go_to has ended: arrived in the bedroom" for a command, and drives there again (measured with
nano). A hook at BEFORE_LLM, on the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from edgeagent.hooks import BaseHook, BeforeLLM, FirePoint, HookResult
from edgeagent.messages import Message
from edgeagent.voice.telling import report

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_ENDED = " has ended: "
"""As ``Agent.detached_ended`` words it."""


class GoalReports(BaseHook):
    """Answers the end of a detached goal itself, and keeps those messages out of later requests.

    History has both, the message and what was said. One that was stopped or replaced needs no answer.

    Args:
        tell: What is said of a tool's result, by the tool's name and the result's text.
    """

    points = frozenset({FirePoint.BEFORE_LLM})

    def __init__(self, tell: Callable[[str, str], str] = report) -> None:
        self._tell = tell

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM) -> HookResult | None:
        newest = payload.messages[-1] if payload.messages else None
        if newest is not None and newest.origin == "follow_up" and (ended := _ended(newest)):
            return HookResult.end_turn(self._tell(*ended))
        kept = [message for message in payload.messages if not _ended(message)]
        if len(kept) == len(payload.messages) or not kept:
            return None
        return HookResult.replace(replace(payload, messages=kept))


def _ended(message: Message) -> tuple[str, str] | None:
    """The tool and its result, if that is what a message tells."""
    if message.role != "user" or message.origin not in ("follow_up", "steering"):
        return None
    name, is_told, text = message.text.partition(_ENDED)
    return (name, text) if is_told and name.replace("_", "").replace("-", "").isalnum() else None
