"""What a builder may set for a run, with the defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from threading import Event as StopEvent
from typing import Any, Final, Literal

from edgeagent.agent.result import RunState
from edgeagent.events import Event
from edgeagent.messages import ToolCall, ToolResult


class ToolMode(StrEnum):
    """How the calls of one reply run beside each other."""

    SEQUENTIAL = "sequential"
    """Each alone, in source order."""
    PARALLEL = "parallel"
    """All at once, except tools declared sequential, which follow alone."""
    BATCH = "batch"
    """In source order, each contiguous group of parallel tools at once."""


class QueueMode(StrEnum):
    """How many queued messages one drain takes."""

    ONE_AT_A_TIME = "one_at_a_time"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Settings of a run. None means the default; so does 0, except where 0 is a value.

    An inner ``options=`` replaces an outer one whole.
    """

    tool_execution_mode: ToolMode = ToolMode.BATCH
    steering_mode: QueueMode = QueueMode.ONE_AT_A_TIME
    followup_mode: QueueMode = QueueMode.ONE_AT_A_TIME
    max_concurrent_tools: int = 8
    tool_timeout_s: float = 30
    """Seconds for a tool's body; skills have no limit unless they declare one."""
    max_turns: int = 15
    """Model calls of a run."""
    max_tool_hops: int | None = None
    """Turns whose tools may run; None: no limit of their own."""
    continue_confirm: Callable[[int], bool] | None = None
    """Asked with the number of turns when the budget is spent; true grants as much again."""
    on_budget: Literal["last_content", "final_answer"] = "last_content"
    max_continuations: int = 1
    """How often a reply that was cut by ``max_tokens`` may go on; 0 is a value."""
    before_tool_call: Callable[[ToolCall, StopEvent], ToolCall | ToolResult | None] | None = None
    after_tool_call: Callable[[ToolCall, ToolResult, StopEvent], ToolResult | None] | None = None
    on_event: Callable[[Event], object] | None = None
    should_stop_after_turn: Callable[[RunState], bool] | None = None
    policy_check: Callable[[str, dict[str, Any]], str | None] | None = None
    """Name and arguments to a reason for denying the call, or None."""
    confirm: Callable[[str, dict[str, Any]], bool] | None = None
    """Asked before each destructive call; None approves."""
    confirm_timeout_s: float = 30
    tool_output_limit: int = 8192
    """Characters of a result that reach the model."""
    abort_grace_s: float = 0.5
    """Seconds that a stopped body has to return; 0 is a value."""
    deadline_s: float | None = None
    """Seconds after which the run is aborted with reason deadline."""
    temperature: float | None = None
    max_tokens: int = 256
    thinking_level: str | None = None

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            if value is None or (value == 0 and setting.name not in _ZERO_IS_A_VALUE):
                object.__setattr__(self, setting.name, setting.default)


_ZERO_IS_A_VALUE: Final = frozenset({"temperature", "max_continuations", "abort_grace_s"})
