"""Runs the calls of one reply: in groups, side by side where they may be, bounded, and stoppable at any moment.

Runs on the loop's thread, which alone emits; bodies run on workers. Knows nothing of models or messages' history.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, Final, Literal, Protocol

from edgeagent.messages import ToolCall, ToolResult
from edgeagent.tools.execution import (
    PATCHABLE,
    Execution,
    Finished,
    Gates,
    Mailbox,
    Prepared,
    Progressed,
    Refused,
    Started,
)
from edgeagent.tools.handoff import Handoff
from edgeagent.tools.workers import MAX_ABANDONED, Busy, Workers

_POLL_S: Final = 0.02
"""How often a stop is looked for while tools run; the contract allows 0.05."""

DispatchMode = Literal["sequential", "parallel", "batch"]


class Reporter(Protocol):
    """Where the dispatch tells what happens; called on the loop's thread."""

    def tool_started(self, execution: Execution) -> None: ...
    def tool_progressed(self, call: ToolCall, update: Any) -> None: ...
    def tool_ended(self, call: ToolCall, result: ToolResult) -> None: ...
    def detached_ended(self, call: ToolCall, result: ToolResult) -> None:
        """The end of a call that outlived its batch; called on its worker."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """``grace_s``: how long a body that was asked to stop may take to return."""

    mode: DispatchMode = "batch"
    max_concurrent: int = 8
    grace_s: float = 0.5
    max_abandoned: int = MAX_ABANDONED
    skip_after_each: bool = False
    """Ask after each call whether the rest is to be skipped; then the mode should be sequential."""


class Dispatch:
    """One batch of calls.

    Args:
        should_stop: None while the run goes on, else the reason for which it stops.
        may_start: None while further calls may start, else why not; they end not_run.
        should_skip: With ``Limits.skip_after_each``: true when the rest is to be skipped.
    """

    def __init__(
        self,
        gates: Gates,
        reporter: Reporter,
        workers: Workers,
        limits: Limits,
        should_stop: Callable[[], str | None],
        *,
        may_start: Callable[[], str | None] = lambda: None,
        should_skip: Callable[[], bool] = lambda: False,
        context: Any = None,
    ) -> None:
        self._gates = gates
        self._reporter = reporter
        self._workers = workers
        self._limits = limits
        self._should_stop = should_stop
        self._may_start = may_start
        self._should_skip = should_skip
        self._context = context
        self._mailbox: Mailbox = SimpleQueue()
        self._results: dict[int, ToolResult] = {}
        self._running: dict[str, Execution] = {}
        self._failed_skills: set[int] = set()
        self._handed_over: tuple[int, str] | None = None
        self._denied: ToolResult | None = None

    def run(self, batch: Sequence[Prepared | Refused]) -> list[ToolResult]:
        """Executes what passed the gates, tells of what did not. Returns one result a call, in order."""
        for item in batch:
            if isinstance(item, Refused):
                self._refuse(item, item.result)
        prepared = [item for item in batch if isinstance(item, Prepared)]
        questions = [item for item in prepared if item.tool.traits.question]
        others = [item for item in prepared if not item.tool.traits.question]
        for group in [[item] for item in questions] + _groups(others, self._limits.mode):
            waiting = list(group)
            while waiting or self._running:
                waiting = self._start_what_may(waiting)
                self._read_mailbox(idle=not (waiting or self._running))
                self._enforce_limits()
        return [self._results[i] for i in range(len(batch))]

    def _start_what_may(self, waiting: Sequence[Prepared]) -> list[Prepared]:
        """Starts or refuses the calls whose time has come; returns those that still have to wait."""
        still_waiting = []
        for prepared in waiting:
            refusal = self._refusal(prepared)
            if refusal is None and len(self._running) < self._limits.max_concurrent:
                execution = self._execution(prepared)
                busy = self._workers.acquire(execution, prepared.tool.traits.resources)
                if busy is None:
                    self._running[prepared.call.id] = execution
                    execution.start()
                    continue
                refusal = self._pre_empt(prepared.call, busy)
            if refusal is not None:
                self._refuse(prepared, refusal)
            else:
                still_waiting.append(prepared)
        return still_waiting

    def _execution(self, prepared: Prepared) -> Execution:
        deps = getattr(self._context, "deps", None)
        return Execution(prepared, self._gates, self._mailbox, self._workers, deps=deps, agent=self._context)

    def _pre_empt(self, call: ToolCall, busy: Busy) -> ToolResult | None:
        """Makes a detached body give a resource up. A result if it is to be had no more, None while it may be."""
        if busy.state == "abandoned":
            return _blocked(call, f"{busy.resource} is still busy with {busy.body.name}")
        if busy.state == "detached":
            told = ", ".join(str(value) for value in call.arguments.values())
            busy.body.interrupt(f"replaced by {call.name}({told})")
            since_s = busy.body.interrupted_s
            if since_s is not None and time.monotonic() - since_s >= self._limits.grace_s:
                self._workers.mark(busy.body.call_id, "abandoned")
        return None

    def _refusal(self, prepared: Prepared) -> ToolResult | None:
        """A result for a call that must not start any more."""
        call = prepared.call
        if self._denied is not None:
            return _not_run(call, f"{self._denied.name} was denied")
        if self._should_stop() is not None:
            return _not_run(call, "stopped before it began")
        if (reason := self._may_start()) is not None:
            return _not_run(call, reason)
        if self._handed_over is not None and self._handed_over[0] < prepared.index:
            return _not_run(call, f"the request was handed to {self._handed_over[1]}")
        if self._limits.skip_after_each and self._results and self._should_skip():
            return ToolResult(call.id, call.name, "skipped", "skipped: the user said something else meanwhile")
        if prepared.tool.traits.motion:
            for i in sorted(self._failed_skills):
                if i < prepared.index:
                    return _not_run(call, f"{self._results[i].name} did not succeed, so {call.name} was not done")
        if len(self._workers.abandoned) >= self._limits.max_abandoned:
            return _blocked(call, f"{self._limits.max_abandoned} tools never came back; restart the program")
        return None

    def _read_mailbox(self, *, idle: bool) -> None:
        """Waits for news, at most one poll interval, and handles all there is."""
        if idle:
            return
        try:
            post = self._mailbox.get(timeout=_POLL_S)
        except Empty:
            return
        while True:
            self._handle(post)
            try:
                post = self._mailbox.get_nowait()
            except Empty:
                return

    def _handle(self, post: Started | Progressed | Finished) -> None:
        execution = post.execution
        if self._running.get(execution.prepared.call.id) is not execution:
            return  # abandoned: what it says now comes too late
        match post:
            case Started():
                self._reporter.tool_started(execution)
            case Progressed(update=update):
                self._reporter.tool_progressed(execution.prepared.call, update)
            case Finished(result=result):
                del self._running[execution.prepared.call.id]
                if execution.interrupted_s is not None and result.status == "ok":
                    result = replace(result, status="interrupted")
                self._end(execution.prepared, result)

    def _enforce_limits(self) -> None:
        now = time.monotonic()
        reason = self._should_stop()
        for execution in list(self._running.values()):
            call, traits = execution.prepared.call, execution.prepared.tool.traits
            deadline = execution.deadline_s
            if deadline is not None and now >= deadline:
                execution.interrupt()
                text = f"{call.name} took longer than {execution.prepared.timeout_s:g} s"
                result = ToolResult(call.id, call.name, "timed_out", text)
                self._abandon(execution, self._gates.after(call, result))
                continue
            if reason is not None and execution.returned is not None:
                if now - execution.returned_s >= self._limits.grace_s:  # a hook after the tool does not end
                    self._let_go(execution, execution.returned)
                continue
            if reason == "safety_stop" or (reason is not None and traits.on_interrupt == "cancel"):
                execution.interrupt("stopped for safety" if reason == "safety_stop" else "")
            elif reason is not None and traits.on_interrupt == "detach" and execution.started_s is not None:
                self._detach(execution)
                continue
            if execution.goal is not None and execution.goal.cancelled:
                execution.interrupt()
            if execution.interrupted_s is not None and now - execution.interrupted_s >= self._limits.grace_s:
                text = f"{call.name} was told to stop and has not returned; nobody knows how far it got"
                self._abandon(execution, ToolResult(call.id, call.name, "outcome_unknown", text))

    def _detach(self, execution: Execution) -> None:
        """Lets a body go on without the run; what it comes to is told later."""
        call = execution.prepared.call
        self._workers.mark(call.id, "detached")
        if execution.detach(lambda done, result: self._reporter.detached_ended(done.prepared.call, result)):
            self._let_go(execution, ToolResult(call.id, call.name, "detached", f"{call.name} goes on"))

    def _abandon(self, execution: Execution, result: ToolResult) -> None:
        self._workers.mark(execution.call_id, "abandoned")
        abandoned = self._workers.abandoned
        if len(abandoned) >= self._limits.max_abandoned and any(body.moves for body in abandoned):
            self._workers.trip(f"{len(abandoned)} tools never came back")
        self._let_go(execution, result)

    def _let_go(self, execution: Execution, result: ToolResult) -> None:
        del self._running[execution.call_id]
        self._end(execution.prepared, result)

    def _refuse(self, item: Prepared | Refused, result: ToolResult) -> None:
        """Ends a call that no worker saw."""
        if result.status in PATCHABLE:
            result = self._gates.after(item.call, result)
        self._end(item, result)

    def _end(self, item: Prepared | Refused, result: ToolResult) -> None:
        traits = None if item.tool is None else item.tool.traits
        call = item.call
        terminate = result.terminate or (traits is not None and traits.terminate and result.status == "ok")
        if (result.call_id, result.name, result.terminate) != (call.id, call.name, terminate):
            result = replace(result, call_id=call.id, name=call.name, terminate=terminate)
        self._results[item.index] = result
        if traits is not None and traits.is_skill and result.status not in ("ok", "detached"):
            self._failed_skills.add(item.index)
        if isinstance(result.value, Handoff) and result.status == "ok" and self._handed_over is None:
            self._handed_over = (item.index, result.value.target_name)
        if result.status == "denied":
            self._denied = result
        self._reporter.tool_ended(call, result)


def _groups(prepared: Sequence[Prepared], mode: DispatchMode) -> list[list[Prepared]]:
    """What runs together: each call alone, all parallel tools at once, or each contiguous group of them."""
    if mode == "sequential":
        return [[item] for item in prepared]
    if mode == "parallel":
        together = [item for item in prepared if item.tool.traits.mode == "parallel"]
        return [together] * bool(together) + [[item] for item in prepared if item.tool.traits.mode == "sequential"]
    groups: list[list[Prepared]] = []
    for item in prepared:
        alone = item.tool.traits.mode == "sequential"
        if not groups or alone or groups[-1][-1].tool.traits.mode == "sequential":
            groups.append([])
        groups[-1].append(item)
    return groups


def _not_run(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, "not_run", text)


def _blocked(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, "blocked", text)
