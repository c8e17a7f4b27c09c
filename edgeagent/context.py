"""The context that everything shares that runs for one request: the builder's own objects, and the run's stop.

A stop has a signal, a reason and a deadline; any thread may ask for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from edgeagent.events import Level
from edgeagent.llm import LLM
from edgeagent.llm.window import RequestSizes
from edgeagent.messages import Message, ToolCall, ToolResult
from edgeagent.stop import StopSignal
from edgeagent.tools import Tool, ToolRegistry
from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)
Ask = Callable[[list[str], Callable[[], bool], float], Any]
"""Puts questions to a person: the questions, whether to give up, and the seconds that there are for an answer."""
SAFETY: Final = "safety_stop"
"""Reason of a stop that overrides every other reason."""


class RunStop:
    """Tells a run that it should end, and why.

    Args:
        callers_stop: Aborts the run when it is set; so does the event of the context that the run is given.
        deadline_s: Seconds from now after which the run is aborted; None: no limit of its own.

    Attributes:
        signal: Set when the run should end now.
        after_turn: The run should end when its turn is over.
        began_s: Monotonic time at which the run was made.
        outer: The stop of the run that waits for this one; None: nobody waits.
    """

    def __init__(self, callers_stop: threading.Event | None, deadline_s: float | None) -> None:
        self.signal = StopSignal(callers_stop)
        self.after_turn = False
        self.began_s = time.monotonic()
        self.outer: RunStop | None = None
        self._deadline_s = None if deadline_s is None else self.began_s + deadline_s
        self._reason: str | None = None
        self._lock = threading.Lock()
        self._given: tuple[threading.Event, float | None] | None = None
        self._timer: threading.Timer | None = None

    def demand(self, reason: str, *, after_turn: bool = False) -> None:
        """Asks the run to end, now or when the turn is over. The first reason counts, but a safety stop overrides."""
        with self._lock:
            self._reason = reason if reason == SAFETY else self._reason or reason
        if after_turn:
            self.after_turn = True
        else:
            self.signal.set()

    @property
    def reason(self) -> str:
        """The reason that was given, to this run or to the one that waits for it; "user" for an event that the caller
        has set."""
        return self._reason or (self.outer and self.outer.now()) or "user"

    def now(self) -> str | None:
        """Returns the reason why the run must stop now, or None."""
        at_s = self._deadline_s  # once: ``disarm`` may come between two looks
        if at_s is not None and time.monotonic() >= at_s and not self.signal.is_set():
            self.demand("deadline")  # the timer's thread may be late
        return self.reason if self.signal.is_set() else None

    # --- the context, on the thread that starts the run, and on the loop's at its end ---------------------------------

    def take_over(self, context: AgentContext) -> None:
        """Obeys the stop and the deadline that the context's owner has set; ``give_back`` returns them."""
        self._given = context.stop_event, context.deadline
        self.signal.follow(context.stop_event)
        self._deadline_s = min((at for at in (self._deadline_s, context.deadline) if at is not None), default=None)

    def enter(self, context: AgentContext) -> None:
        """Makes this the stop of a context."""
        context.stop_event, context.deadline = self.signal, self._deadline_s

    def give_back(self, context: AgentContext) -> None:
        """The run is over: the context is as its owner made it."""
        if self._given is not None and context.stop_event is self.signal:
            context.stop_event, context.deadline = self._given

    # --- the deadline, on the loop's thread ---------------------------------------------------------------------------

    def arm(self, abort: Callable[[str], object]) -> None:
        """Has the run aborted at its deadline, at once if that is over; ``disarm`` ends that."""
        if self._deadline_s is None:
            return
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            abort("deadline")
            return
        timer = threading.Timer(min(left_s, threading.TIMEOUT_MAX), abort, ["deadline"])
        timer.daemon = True
        timer.start()
        self._timer = timer

    def disarm(self) -> None:
        """The deadline does not count any more. Safe to call again."""
        self._deadline_s = None
        if self._timer is not None:
            self._timer.cancel()


def _log_notice(level: Level, text: str) -> None:
    """Logs a notice outside of a run."""
    logger.log(logging.getLevelNamesMapping()[level.upper()], text)


class OwnSession(Protocol):
    """The Session of a run, as the run's agent knows it."""

    def start(self) -> object: ...
    def note(self, msg: str) -> object: ...
    def follow_up(self, msg: str, *, wake: bool) -> object: ...
    def detached_ended(self, run_id: str, call: ToolCall, result: ToolResult) -> None: ...


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
    """Memory of the app across runs."""
    artifacts: dict[str, Any] = field(default_factory=dict)
    state: dict[str, Any] = field(default_factory=dict)
    """The app's own scratch."""
    hook_state: dict[int, dict[str, Any]] = field(default_factory=dict)
    """State that each hook keeps during a run, by ``id(hook)``: an empty dict at first; see ``state_of``."""
    stop_event: threading.Event = field(default_factory=StopSignal)
    """During a run the run's own; one that is given aborts the run when it is set, and is back when the run ends."""
    deadline: float | None = None
    """Monotonic time at which the run is aborted; a given one counts if it is earlier than the options'."""
    session: OwnSession | None = None
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
    conversing: bool = False
    """People talk to the robot while it moves: a skill that says nothing about ``on_interrupt`` is detached."""
    history: Callable[[], tuple[Message, ...]] = tuple
    """The messages that the run has committed so far."""
    notice: Callable[[Level, str], object] = _log_notice
    """Tells the person at the terminal something, as a notice event. Any thread."""
    ask: Ask | None = None
    """Puts questions to a person; None: nobody can be asked. Set by the run, for its sub-agents."""
    workers: Workers | None = None
    """The bodies at work and the resources that they hold: one ledger for the agent and all its sub-agents."""
    sizes: RequestSizes | None = None
    """Sizes of requests that the run has measured. Each run sets its own, because sub-agents run side by side."""
    within: tuple[str, ...] = ()
    """Ids of the calls that wait for this agent, the outermost first; an agent that is asked as a tool adds its own."""
    depth: int = 0
    """0 in the agent that was asked, 1 in one that it handed over to, and so on."""
    in_run: bool = False
    """A run has it now: another one that is given it has a copy."""
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
            sizes=None,
            no_more_tools=False,
            in_run=False,
            depth=self.depth + 1,
        )

    def should_stop(self) -> bool:
        """True if the run was asked to end."""
        return self.stop_event.is_set()

    def tool_of(self, call: ToolCall) -> Tool | None:
        """Returns the tool of a call; None if the agent that runs has none of that name."""
        return None if self.tool_registry is None else self.tool_registry.get(call.name)

    def state_of(self, hook: object) -> dict[str, Any]:
        """Returns the state that this hook keeps during this run."""
        return self.hook_state.setdefault(id(hook), {})
