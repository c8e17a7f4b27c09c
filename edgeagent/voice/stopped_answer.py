"""Answers to a request for motion while the safety latch is tripped or held: in words of ours, not the model's.

A small model makes anything of "stopped for safety"; nano asked for the time (measured). A hook on the tool's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from edgeagent.hooks import AfterTool, BaseHook, BeforeTool, FirePoint, HookResult
from edgeagent.robot.latch import LatchState, SafetyLatch

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


WAIT: Final = "wait"
"""The latch's reason while motion is held because a person has said so."""


class StoppedAnswer(BaseHook):
    """Ends the run with an answer when a call was refused because motion is off.

    Args:
        latch: Motion obeys it.
        answer: What is said.
        on_wait: Called when a motion call waits because a person has said "wait".
    """

    points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.AFTER_TOOL})

    def __init__(self, latch: SafetyLatch, answer: str, *, on_wait: Callable[[], object]) -> None:
        self._latch, self._answer, self._on_wait = latch, answer, on_wait

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeTool | AfterTool) -> HookResult | None:
        if isinstance(payload, BeforeTool):
            held = self._latch.state is LatchState.HELD and self._latch.reason == WAIT
            if held and payload.tool.traits.motion:
                self._on_wait()
            return None
        if payload.result.status == "blocked" and self._latch.state is LatchState.TRIPPED:
            return HookResult.end_turn(self._answer)
        return None
