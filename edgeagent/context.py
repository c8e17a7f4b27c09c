"""What everything that runs for one request shares: the builder's own objects, and whether to stop."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from edgeagent.events import Level
from edgeagent.llm import LLM
from edgeagent.messages import Message
from edgeagent.tools import ToolRegistry
from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)


class StopSignal(threading.Event):
    """The stop of one run: set by ``abort``, or by the event that the caller of the run passed in."""

    def __init__(self, callers: threading.Event | None = None) -> None:
        super().__init__()
        self._callers = callers

    def is_set(self) -> bool:
        return super().is_set() or (self._callers is not None and self._callers.is_set())


def _log_notice(level: Level, text: str) -> None:
    """Where a notice goes outside a run."""
    logger.log(logging.getLevelNamesMapping()[level.upper()], text)


@dataclass(slots=True, kw_only=True)
class AgentContext:
    """Shared by everything that runs for one request, sub-agents included.

    A sub-agent's context is made by ``child`` alone, so that nothing can be forgotten: it has the same objects, and
    its registry, model and name are set when its own part begins.
    """

    deps: Any = None
    """Whatever the builder passed to ``Agent(deps=...)``."""
    hooks: Sequence[Any] = ()
    """Hooks of this request, beside those of the agent; a sub-agent has them too."""
    bus: Any = None
    """The app's own way to tell other parts of it something."""
    blackboard: dict[str, Any] = field(default_factory=dict)
    memory: Any = None
    """What the app remembers across runs."""
    artifacts: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    """The app's own scratch."""
    hook_state: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What each hook keeps during a run, by ``id(hook)``; see ``state_of``."""
    stop_event: threading.Event = field(default_factory=StopSignal)
    deadline: float | None = None
    """Monotonic time at which the run is aborted."""
    session: Any = None
    """The Session that this run belongs to."""
    tool_registry: ToolRegistry | None = None
    llm: LLM | None = None
    agent_name: str = ""
    system: str | None = None
    """The system prompt of the agent that runs."""
    options: Any = None
    """The Options of the run."""
    response_schema: dict[str, Any] | None = None
    """The JSON Schema that a reply of the session's agent obeys; a sub-agent's reply does not."""
    max_context_tokens: int | None = None
    """Of prompt and reply, where that should be less than the model's window."""
    spoken: Callable[[str], str] | None = None
    """Makes of a whole reply what is said of it; the reply is then said when it is whole."""
    history: Callable[[], tuple[Message, ...]] = tuple
    """The messages that the run has committed so far."""
    notice: Callable[[Level, str], object] = _log_notice
    """Tells the person at the terminal something, as a notice event. Any thread."""
    workers: Workers | None = None
    """The bodies at work and the resources that they hold: one ledger for the agent and all its sub-agents."""
    depth: int = 0
    """0 in the agent that was asked, 1 in one that it handed over to, and so on."""
    no_more_tools: bool = False
    """Set by a hook: the next model call is the last of this run, and may not call tools."""

    def child(self) -> AgentContext:
        """The context of a sub-agent: everything is the same object, but what belongs to one agent alone.

        Its registry, model, name and history are set when its own part begins.
        """
        return replace(
            self,
            tool_registry=None,
            llm=None,
            agent_name="",
            system=None,
            options=None,
            response_schema=None,
            spoken=None,
            history=tuple,
            no_more_tools=False,
            depth=self.depth + 1,
        )

    def should_stop(self) -> bool:
        """Whether the run was asked to end."""
        return self.stop_event.is_set()

    def state_of(self, hook: object) -> dict[str, Any]:
        """What this hook keeps during this run."""
        return self.hook_state.setdefault(id(hook), {})
