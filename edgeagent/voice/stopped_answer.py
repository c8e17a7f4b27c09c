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
    from edgeagent.messages import ToolCall
    from edgeagent.tools import Tool


WAIT: Final = "wait"
"""The latch's reason while motion is held because a person has said so."""


class StoppedAnswer(BaseHook):
    """Ends the run with an answer when a call was refused because motion is off.

    Args:
        latch: Motion obeys it.
        answer: What is said.
        on_wait: Called when a motion call waits because a person has said "wait".
        on_motion: Called with every other motion call, before it begins.
    """

    points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.AFTER_TOOL})

    def __init__(
        self,
        latch: SafetyLatch,
        answer: str,
        *,
        on_wait: Callable[[], object],
        on_motion: Callable[[ToolCall, Tool], object] = lambda call, tool: None,
    ) -> None:
        self._latch, self._answer, self._on_wait, self._on_motion = latch, answer, on_wait, on_motion

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeTool | AfterTool) -> HookResult | None:
        if isinstance(payload, BeforeTool):
            if not payload.tool.traits.motion:
                return None
            if self._latch.state is LatchState.HELD and self._latch.reason == WAIT:
                self._on_wait()
            else:
                self._on_motion(payload.call, payload.tool)
            return None
        if payload.result.status == "blocked" and self._latch.state is LatchState.TRIPPED:
            return HookResult.end_turn(self._answer)
        return None
