"""One tool call on a worker thread, from its gates to its result.

The worker posts what happens to a mailbox that the dispatching thread reads; it never emits an event itself, and takes
no resource: a call that a hook made another tool's goes back to the dispatch.
"""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from edgeagent.characters import without_escapes
from edgeagent.errors import EdgeAgentError
from edgeagent.events import Level
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.stop import STOP_POLL_S
from edgeagent.tools import actuator
from edgeagent.tools.actuator import Actuator, Call
from edgeagent.tools.goal import GoalCancelled, GoalHandle, GoalState
from edgeagent.tools.tool import OnInterrupt, Tool, ToolContext, as_result, capped, result_of
from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)
PATCHABLE: Final = frozenset({"ok", "error", "unknown", "invalid", "blocked", "timed_out"})
_RAISED: Final = "the gates of %s raised"
_ABORT_S: Final = 0.1
"""Seconds for which the result of a body that a tripped latch ended waits for an abort, which mostly comes next: the
model is not to be asked in between."""
TOLD_S: Final = 0.5
"""Seconds for which a stopped call waits for subscribers that are still being told of its start."""
_ENTERED_S: Final = 0.05
"""Seconds for which readers of the log wait for a body to be called before they see its start."""
_GOAL_STATES: Final[dict[str, GoalState]] = {"ok": "succeeded", "interrupted": "cancelled"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that passed the batch's gates: ``call.arguments`` are coerced JSON, ``values`` what the body takes."""

    index: int
    call: ToolCall
    tool: Tool
    values: dict[str, Any]
    timeout_s: float | None
    """Seconds for the body; None: no limit."""
    on_interrupt: OnInterrupt
    """Effect of an abort on the body."""
    resources: tuple[str, ...]
    """Resources that the body needs to itself."""
    rewritten: bool = False
    """A hook made it from a call of another tool; the hooks before the tool are not called again."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that a gate of the batch refused; ``tool`` is None when there is none of that name."""

    index: int
    call: ToolCall
    tool: Tool | None
    result: ToolResult


class CallContext(Protocol):
    """The part of a run's context that its calls need; ``AgentContext`` is one. ``within``: the calls that wait for the
    agent which made these calls, the outermost first."""

    deps: Any
    stop_event: threading.Event
    within: tuple[str, ...]

    @property
    def notice(self) -> Callable[[Level, str], object]: ...


class Host(Protocol):
    """The run for which calls are executed, as far as tools know it: gates before and after a call, and who is told.

    ``stopping`` and ``let_go`` are called on any thread.
    """

    @property
    def workers(self) -> Workers: ...
    @property
    def context(self) -> CallContext: ...

    def stopping(self) -> str | None:
        """None while the run goes on, else the reason for which it stops."""
        ...

    def let_go(self, call: ToolCall) -> None:
        """The call gets its result without its worker; what the worker still brings changes nothing any more."""
        ...

    # --- gates: on a worker's thread, between ``enter_worker`` and ``leave_worker`` ----------------------------------

    def enter_worker(self) -> None: ...
    def leave_worker(self) -> None: ...

    def before(self, prepared: Prepared) -> Prepared | Refused | ToolResult:
        """The hooks before the tool. Returns the call to execute, or the result to use instead.

        Refused is a call that hooks made of this one and that a gate of the batch would not let pass. On the
        dispatching thread where ``answer_at_once`` is true.
        """
        ...

    def admit(self, prepared: Prepared, stop_event: threading.Event) -> ToolResult | None:
        """Waits until a call may start, and returns None; or a result if it may not."""
        ...

    def ask(self, prepared: Prepared, stop_event: threading.Event) -> Any:
        """The answer of a person to a question tool; raises when there is none, GoalCancelled when stopped first."""
        ...

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """May patch a result; called for the statuses in ``PATCHABLE`` only. Also on the dispatching thread."""
        ...

    def detached_ended(self, call: ToolCall, result: ToolResult) -> None:
        """The end of a call that outlived its batch; called on its worker, or on a timer's thread."""
        ...

    # --- on the dispatching thread, which is the loop's ---------------------------------------------------------------

    def answer_at_once(self) -> bool:
        """True if ``before`` waits for nobody, so that it may be asked on the dispatching thread."""
        ...

    def would_admit(self, prepared: Prepared) -> bool:
        """True if ``admit`` would let the call pass at once."""
        ...

    def may_start(self) -> str | None:
        """None while further calls of the batch may start, else why not; they end not_run."""
        ...

    def should_skip(self) -> bool:
        """With ``DispatchLimits.skip_after_each``: true when the rest of the batch is to be skipped."""
        ...

    def tool_started(self, execution: Execution) -> None:
        """Tells every subscriber, then calls ``execution.begin``."""
        ...

    def tool_progressed(self, call: ToolCall, update: object) -> None: ...
    def tool_ended(self, call: ToolCall, result: ToolResult) -> None: ...
    def tell_notices(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Admitted:
    """A call that passed its gates; its body begins when its start has been told."""

    execution: Execution


@dataclass(frozen=True, slots=True)
class Progressed:
    execution: Execution
    update: Any


@dataclass(frozen=True, slots=True)
class Finished:
    execution: Execution
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A hook made the call one of another tool, with other traits and resources; this worker has left it."""

    execution: Execution
    prepared: Prepared


@dataclass(frozen=True, slots=True)
class Patched:
    """Result as hooks have changed it, which no worker brought."""

    item: Prepared
    result: ToolResult


Post = Admitted | Progressed | Finished | Rewritten | Patched
Mailbox = SimpleQueue[Post]


class Execution:
    """One call being executed. The dispatching thread owns it; ``_work`` runs on a worker."""

    def __init__(self, prepared: Prepared, host: Host, mailbox: Mailbox, output_limit: int) -> None:
        self.prepared = prepared
        self._output_limit = output_limit
        self.admitted = False
        """True once the call has passed its gates, so that its start may be told."""
        self.started_s: float | None = None
        """Monotonic time at which the body began."""
        self.interrupted_s: float | None = None
        """Monotonic time at which it was asked to stop; a body that has not begun by then never begins."""
        self.returned: ToolResult | None = None
        """Result of the body, once it is over; hooks may still look at it."""
        self.returned_s = 0.0
        self.result: ToolResult | None = None
        """Result of the call, once its worker has left it; the mailbox has it too."""
        self._passed: Prepared | Refused | ToolResult | None = prepared if prepared.rewritten else None
        """Outcome of the hooks before the tool, once they were asked."""
        self._announced = False
        self._told_start: SimpleQueue[None] = SimpleQueue()
        """Holds something once every subscriber has returned that was told of the start."""
        self._entered: SimpleQueue[None] = SimpleQueue()
        """Holds something once the worker has come to the body."""
        self.goal: GoalHandle | None = None
        self._host = host
        self._mailbox = mailbox
        self._workers = workers = host.workers
        self.stop_event = threading.Event()
        """Set when the body should end."""
        self._reason = ""
        self._lock = threading.Lock()
        self._told = False
        """Whoever waits has a result, or will not take one from this worker any more."""
        self._late: Callable[[Execution, ToolResult], object] | None = None
        self._timer: threading.Timer | None = None
        tool = prepared.tool
        if tool.traits.is_skill or any(issubclass(kind, GoalHandle) for kind in tool.signature.injected.values()):
            reached = Actuator(
                stop=tool.stop,
                pause=tool.pause,
                resume=tool.resume,
                name=prepared.call.name,
                armed=False,
                threads=workers.threads,
                on_trouble=lambda what, raised: workers.actuator_failed(self, what, raised),
                on_idle=lambda: workers.actuator_idle(self),
            )
            self.goal = GoalHandle(actuator=reached, on_progress=self._progress)

    @property
    def call_id(self) -> str:
        return self.prepared.call.id

    @property
    def name(self) -> str:
        return self.prepared.call.name

    @property
    def moves(self) -> bool:
        return self.prepared.tool.traits.motion

    @property
    def at_work(self) -> bool:
        """The body has begun and is not back."""
        return self.started_s is not None and self.returned is None

    @property
    def within(self) -> tuple[str, ...]:
        """The calls that wait for the agent which made this one, the outermost first."""
        return self._host.context.within

    def start(self) -> None:
        """Gives the call to a worker. On the dispatching thread.

        Gates that answer at once are passed here, and the start is told while the worker wakes: to wait for the worker
        first takes longer than all of that.
        """
        if self._host.answer_at_once():
            try:
                self._passed = self._passed or self._host.before(self.prepared)
            except BaseException as error:  # be it SystemExit
                logger.exception(_RAISED, self.name)
                self._passed = self._result("error", f"{type(error).__name__}: {error}")
            self.admitted = self._passed is self.prepared and self._host.would_admit(self.prepared)
        try:
            self._workers.threads.run(self._work, f"tool-{self.prepared.call.name}")
        except RuntimeError as error:  # the limit of the system
            self.admitted = False  # nobody is to be told of a start any more
            self._workers.returned(self.call_id)
            self._settle(self._result("error", f"no thread can be started: {error}"))
            return
        self.announce()

    def interrupt(self, reason: str = "") -> None:
        """Asks the body to end and has its actuator stopped; one that has not begun never begins. Does not wait. Any
        thread; the first reason is told."""
        if (moved := self.demand_end(reason)) is not None:
            actuator.begin([moved])

    def demand_end(self, reason: str = "") -> Actuator | None:
        """As ``interrupt``, but to stop what moves is left to ``actuator.begin``. Returns what moves."""
        with self._lock:
            if self.interrupted_s is None and self.returned is None:
                self.interrupted_s = time.monotonic()
                self._reason = reason
            elif self.interrupted_s is None:
                return None
            began = self.started_s is not None
        moved = None
        if began and self.goal is not None:
            self.goal.demand_cancel()
            moved = self.goal.actuator
        self.stop_event.set()
        return moved

    def heed(self) -> Actuator | None:
        """As ``demand_end``, if its run stops and the tool is to be cancelled then. Any thread."""
        if self.prepared.on_interrupt != "cancel" or self._host.stopping() is None:
            return None
        return self.demand_end()

    @property
    def stopping(self) -> Call | None:
        """The stop of its actuator, if that was demanded."""
        return None if self.goal is None else self.goal.actuator.stopping

    def notice(self, text: str) -> None:
        """Tells the person at the terminal of an error."""
        self._host.context.notice("error", text)

    def call_off(self) -> None:
        """As ``interrupt``, but a body that has begun is left alone."""
        with self._lock:
            if self.started_s is not None or self.interrupted_s is not None:
                return
            self.interrupted_s = time.monotonic()
        self.stop_event.set()

    def announce(self) -> None:
        """Tells once that an admitted call starts. On the dispatching thread."""
        if self.admitted and not self._announced:
            self._announced = True
            self._host.tool_started(self)

    def begin(self) -> None:
        """Lets the body begin, unless a stop came while its start was told. On the dispatching thread.

        The call counts as begun from here, not from its worker's next step, because a subscriber that was told of the
        start may stop the call at once.
        """
        with self._lock:
            if not self._is_stopped() and (self.goal is None or self.goal.begin()):
                self.started_s = time.monotonic()
        self._told_start.put(None)
        if self.started_s is not None:
            with suppress(Empty):
                self._entered.get(timeout=_ENTERED_S)

    def drop(self) -> None:
        """Nobody takes a result from this worker any more, so no hook is shown one either."""
        with self._lock:
            self._told = True

    def detach(self, late: Callable[[Execution, ToolResult], object]) -> bool:
        """Lets the body outlive its run, within its limit. False: it has ended already.

        Args:
            late: Told of its end, on its thread, or on a timer's when it took too long.
        """
        with self._lock:
            if self._told:
                return False
            self._late = late
            deadline_s = self.deadline_s
            if deadline_s is not None:
                left_s = min(max(0.0, deadline_s - time.monotonic()), threading.TIMEOUT_MAX)
                self._timer = threading.Timer(left_s, self._time_out_late)
                self._timer.daemon = True
                self._timer.start()
            return True

    @property
    def deadline_s(self) -> float | None:
        """Monotonic time at which the body is over its limit."""
        limit = self.prepared.timeout_s
        if limit is None or self.started_s is None or self.returned is not None:
            return None
        return self.started_s + limit

    def timed_out(self) -> ToolResult:
        """The result of a body that took too long."""
        return self._result("timed_out", f"{self.name} took longer than {self.prepared.timeout_s:g} s")

    def _time_out_late(self) -> None:
        """Ends a detached body that took too long."""
        with self._lock:
            if self._told or self.returned is not None or self._late is None:
                return
            self._told = True
            late = self._late
        self.interrupt()
        late(self, patched(self._host, self.prepared.call, self.timed_out()))

    def _work(self) -> None:
        self._host.enter_worker()
        try:
            outcome = self._guarded()
            if isinstance(outcome, Prepared):
                self._mailbox.put(Rewritten(self, outcome))
            else:
                self._settle(outcome)
        finally:
            self._host.leave_worker()

    def _guarded(self) -> ToolResult | Prepared:
        """As ``_call``, even if a gate raises; the resources are free then."""
        try:
            return self._call()
        except BaseException as error:  # be it SystemExit
            logger.exception(_RAISED, self.name)
            return self._result("error", f"{type(error).__name__}: {error}")
        finally:
            self._workers.returned(self.prepared.call.id)

    def _settle(self, result: ToolResult) -> None:
        """Tells whoever waits."""
        with self._lock:
            if self._told:
                return
            self._told = True
            self.result = result
            late, timer = self._late, self._timer
        if timer is not None:
            timer.cancel()
        if late is None:
            self._mailbox.put(Finished(self, result))
        else:
            late(self, result)

    def _call(self) -> ToolResult | Prepared:
        """Runs the call, and returns its result; or the call of another tool that a hook made of it."""
        prepared = self._passed or self._host.before(self.prepared)
        if isinstance(prepared, ToolResult):
            result = prepared
        elif isinstance(prepared, Refused):
            self.prepared = replace(self.prepared, call=prepared.call)
            result = prepared.result
        elif prepared.tool is not self.prepared.tool:
            return replace(prepared, rewritten=True)
        else:
            self.prepared = prepared
            refusal = None if self.admitted else self._host.admit(prepared, self.stop_event)
            result = refusal or self._run_body()
        if result.status in PATCHABLE and not self._told:
            result = self._host.after(self.prepared.call, result)
        return result

    def _run_body(self) -> ToolResult:
        """The body from its start to its end, unless it was called off first."""
        if self.goal is not None:
            self.goal.actuator.ready()
        with self._lock:
            if self.interrupted_s is not None:
                return self.never_began()
            told, self.admitted = self.admitted, True
        if not told:
            self._mailbox.put(Admitted(self))
        self._wait_until_told()
        result = self.never_began() if self.started_s is None else self._body()
        with self._lock:
            self.returned_s, self.returned = time.monotonic(), result
        if self.stopping is not None:
            actuator.wait([self.stopping])  # what it came to is told when the actuator stands, or does not answer
            if self._workers.motion()[0] == "tripped":
                self._host.context.stop_event.wait(_ABORT_S)
        return result

    def _wait_until_told(self) -> None:
        """Waits for all who are told of the start: a lamp or a brake may hang on it. After a stop, not for long."""
        stopped_s: float | None = None
        while True:
            with suppress(Empty):
                return self._told_start.get(timeout=STOP_POLL_S)
            if self._is_stopped():
                stopped_s = stopped_s or time.monotonic()
                if time.monotonic() - stopped_s >= TOLD_S:
                    return None

    def _is_stopped(self) -> bool:
        cancelled = self.goal is not None and self.goal.cancelled
        return cancelled or self.interrupted_s is not None or self._host.stopping() is not None

    def never_began(self) -> ToolResult:
        """The result of a call that was stopped before its body: interrupted once it was admitted, else not_run."""
        if self.goal is not None:
            self.goal.finish("cancelled")
        status: Status = "interrupted" if self.admitted else "not_run"
        return self._result(status, ": ".join(part for part in (self._reason, "stopped before it began") if part))

    def _body(self) -> ToolResult:
        call, tool = self.prepared.call, self.prepared.tool
        if self.goal is not None:
            self._workers.obey()()  # a latch may have closed since the gates
        cancelled = self.interrupted_s is not None or (self.goal is not None and self.goal.cancelled)
        self._entered.put(None)
        try:
            if cancelled:
                raise GoalCancelled("stopped before it began")
            if self.goal is not None:
                self.goal.checkpoint()  # a hold since then: what moves from its first step on waits here
            if tool.traits.question:
                value = self._host.ask(self.prepared, self.stop_event)
            else:
                value = tool.function(**self.prepared.values, **self._injected())
            if inspect.isgenerator(value):
                value = list(self._yielded(value))  # here, because its body runs only now
            elif inspect.isawaitable(value):
                import asyncio  # a quarter of this package's import time, for async tools only

                value = asyncio.run(_awaited(value))
            result = as_result(call, value)
        except GoalCancelled:
            result = self._result("interrupted", "")
        except BaseException as error:  # the builder's code; sys.exit() in it must not leave the run waiting
            logger.info("tool %s raised", call.name, exc_info=True)
            text = without_escapes(str(error))
            named = text and isinstance(error, EdgeAgentError)
            told = text if named else f"{type(error).__name__}: {text}" if text else type(error).__name__
            result = self._result("error", told)
        stopped = self.stop_event.is_set() or (self.goal is not None and self.goal.cancelled)
        if stopped and (result.status == "error" or tool.traits.is_skill):
            result = self._result("interrupted", result.text, result.value)
        if result.status == "interrupted":
            why = self._reason or ("" if result.text else "cancelled")
            text = ": ".join(part for part in (why, result.text) if part)
            result = replace(result, text=capped(text, self._output_limit))
        if self.goal is not None:
            failure = result.text if result.is_error else None
            self.goal.finish(_GOAL_STATES.get(result.status, "failed"), result=result.value, error=failure)
        return result

    def _yielded(self, body: Iterator[Any]) -> Iterator[Any]:
        """Items of a generator. A stop or a time-out ends it at its next item, so that none goes on for ever."""
        for item in body:
            if self.stop_event.is_set() or (self.goal is not None and self.goal.cancelled):
                raise GoalCancelled("stopped between two items")
            yield item

    def _injected(self) -> dict[str, Any]:
        call = self.prepared.call
        made: dict[str, Any] = {}
        for name, kind in self.prepared.tool.signature.injected.items():
            if issubclass(kind, GoalHandle):
                made[name] = self.goal
            else:
                made[name] = ToolContext(
                    call_id=call.id,
                    name=call.name,
                    stop_event=self.goal.cancel_event if self.goal is not None else self.stop_event,
                    progress=self._progress,
                    deps=self._host.context.deps,
                    agent=self._host.context,
                )
        return made

    def _progress(self, update: Any) -> None:
        if not self._told and self._late is None:  # else nobody reads it any more
            self._mailbox.put(Progressed(self, update))

    def _result(self, status: Status, text: str, value: Any = None) -> ToolResult:
        return result_of(self.prepared.call, status, text, value)


def patched(host: Host, call: ToolCall, result: ToolResult) -> ToolResult:
    """Patches a result that no worker brings, by the hooks after the tool. Any thread that may block."""
    host.enter_worker()
    try:
        return host.after(call, result)
    except BaseException:  # the builder's code
        logger.exception(_RAISED, call.name)
        return result
    finally:
        host.leave_worker()


async def _awaited(value: Any) -> Any:
    return await value
