"""End of one agent's part in a run. Values only."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self, cast

from edgeagent.events import EndReason
from edgeagent.messages import Message

if TYPE_CHECKING:
    from edgeagent.agent.part import Part
    from edgeagent.agent.result import RunResult


@dataclass(frozen=True, slots=True)
class Ending:
    """``returns_to`` is the part that goes on with ``messages``; None: the run is over."""

    reason: EndReason
    reply: str
    returns_to: Part | None = None
    messages: tuple[Message, ...] = ()
    _result: RunResult | None = None

    def with_result(self, result: RunResult, reply: str) -> Self:
        """The same with the result, whose reply a hook may have replaced."""
        return replace(self, reply=reply, _result=replace(result, reply=reply))

    @property
    def result(self) -> RunResult:
        return cast("RunResult", self._result)  # every part ends with one
