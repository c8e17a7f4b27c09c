"""What is said when motion was asked for while the safety latch is tripped: in words of ours, not the model's.

A small model makes anything of "stopped for safety"; nano asked for the time (measured). A hook at AFTER_TOOL, on the
tool's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeagent.hooks import AfterTool, BaseHook, FirePoint, HookResult
from edgeagent.robot.latch import LatchState, SafetyLatch

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


class StoppedAnswer(BaseHook):
    """Ends the run with an answer when a call was refused because motion is off.

    Args:
        latch: Whether it is.
        answer: What is said.
    """

    points = frozenset({FirePoint.AFTER_TOOL})

    def __init__(self, latch: SafetyLatch, answer: str) -> None:
        self._latch, self._answer = latch, answer

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        if payload.result.status == "blocked" and self._latch.state is LatchState.TRIPPED:
            return HookResult.end_turn(self._answer)
        return None
