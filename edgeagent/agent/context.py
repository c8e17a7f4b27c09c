"""What tools and callbacks of a run share: the builder's own objects, and whether to stop."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from edgeagent.llm import LLM
from edgeagent.tools import ToolRegistry


class StopSignal(threading.Event):
    """The stop of one run: set by ``abort``, or by the event that the caller of the run passed in."""

    def __init__(self, callers: threading.Event | None = None) -> None:
        super().__init__()
        self._callers = callers

    def is_set(self) -> bool:
        return super().is_set() or (self._callers is not None and self._callers.is_set())


@dataclass(slots=True, kw_only=True)
class AgentContext:
    """Shared by everything that runs for one request."""

    deps: Any = None
    """Whatever the builder passed to ``Agent(deps=...)``."""
    blackboard: dict[str, Any] = field(default_factory=dict)
    artifacts: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    """The app's own scratch."""
    stop_event: threading.Event = field(default_factory=StopSignal)
    deadline: float | None = None
    """Monotonic time at which the run is aborted."""
    tool_registry: ToolRegistry | None = None
    llm: LLM | None = None
    agent_name: str = ""

    def should_stop(self) -> bool:
        return self.stop_event.is_set()
