"""Runs the calls of one reply: in groups, side by side where they may be, bounded, and stoppable at any moment.

Runs on the loop's thread, which alone emits; bodies run on workers. Knows nothing of models or messages' history.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Literal

from edgeagent.messages import ToolCall, ToolResult
from edgeagent.stop import STOP_POLL_S
from edgeagent.tools import actuator
from edgeagent.tools.execution import (
    PATCHABLE,
    Admitted,
    Execution,
    Finished,
    Host,
    Mailbox,
    Patched,
    Post,
    Prepared,
    Progressed,
    Refused,
    Rewritten,
    patched,
)
from edgeagent.tools.tool import Handoff, capped, result_of
from edgeagent.tools.workers import Busy

logger = logging.getLogger(__name__)

DispatchMode = Literal["sequential", "parallel", "batch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchLimits:
    """``grace_s``: how long a body that was asked to stop may take to return."""

    mode: DispatchMode
    max_concurrent: int
    grace_s: float
    max_abandoned: int
    output_limit: int
    """Characters of a result that no hook has cut, because its body or the run was stopped."""
    skip_after_each: bool
    """Ask after each call whether the rest is to be skipped; then the mode should be sequential."""


class Dispatch:
    """One batch of calls.

    Args:
        host: The run: its gates, its workers, and who is told.
    """

    def __init__(self, host: Host, limits: DispatchLimits) -> None:
        self._host = host
        self._workers = host.workers
        self._limits = limits
        self._mailbox: Mailbox = SimpleQueue()
        self._results: dict[int, ToolResult] = {}
        self._groups: deque[list[Prepared]] = deque()
        self._waiting: list[Prepared] = []
        """Rest of the present group."""
        self._running: dict[str, Execution] = {}
        self._patching: dict[int, tuple[Prepared, ToolResult, float]] = {}
        """By a call's index: the result that hooks look at on a worker, and until when that is waited for."""
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
        self._groups.extend([[item] for item in questions] + _groups(others, self._limits.mode))
        while self._groups:
            self._waiting = self._groups.popleft()
            while self._waiting or self._running or self._patching:
                self._start_what_may()
                self._read_mailbox()
                self._enforce_limits(self._end_what_must())
                self._host.tell_notices()
        return [self._results[i] for i in range(len(batch))]

    def _start_what_may(self) -> None:
        """Starts or refuses the calls whose time has come; the others wait on."""
        waiting, self._waiting = self._waiting, []
        for prepared in waiting:
            refusal = self._refusal(prepared)
            if refusal is None and len(self._running) < self._limits.max_concurrent:
                execution = Execution(prepared, self._host, self._mailbox, self._limits.output_limit)
                busy = self._workers.acquire(execution, prepared.resources)
                if busy is None:
                    self._running[prepared.call.id] = execution
                    execution.start()
                    continue
                refusal = self._pre_empt(prepared.call, busy)
            if refusal is None:
                self._waiting.append(prepared)
            else:
                self._workers.returned(prepared.call.id)
                self._refuse(prepared, refusal)

    def _pre_empt(self, call: ToolCall, busy: Busy) -> ToolResult | None:
        """Makes a detached body give a resource up. A result if it is to be had no more, None while it may be."""
        if busy.state == "abandoned" or busy.in_circle or busy.silent:
            why = f" ({busy.silent})" if busy.silent else ""
            return result_of(call, "blocked", f"{busy.resource} is still busy with {busy.body.name}{why}")
        if busy.state == "detached":
            told = ", ".join(str(value) for value in call.arguments.values())
            busy.body.interrupt(f"replaced by {call.name}({told})")
            since_s = busy.body.interrupted_s
            if since_s is not None and time.monotonic() - since_s >= self._limits.grace_s:
                self._mark_abandoned(busy.body.call_id)
        return None

    def _refusal(self, prepared: Prepared) -> ToolResult | None:
        """A result for a call that must not start any more."""
        call = prepared.call
        if self._denied is not None:
            return result_of(call, "not_run", f"{self._denied.name} was denied")
        if self._host.stopping() is not None:
            return result_of(call, "not_run", "stopped before it began")
        if (reason := self._host.may_start()) is not None:
            return result_of(call, "not_run", reason)
        if self._handed_over is not None and self._handed_over[0] < prepared.index:
            return result_of(call, "not_run", f"the request was handed to {self._handed_over[1]}")
        after_one = any(index < prepared.index for index in self._results)
        if self._limits.skip_after_each and after_one and self._host.should_skip():
            return result_of(call, "skipped", "skipped: the user said something else meanwhile")
        if prepared.tool.traits.motion:
            for i in sorted(self._failed_skills):
                if i < prepared.index:
                    why = f"{self._results[i].name} did not succeed, so {call.name} was not done"
                    return result_of(call, "not_run", why)
        if len(self._workers.abandoned) >= self._limits.max_abandoned:
            why = f"{self._limits.max_abandoned} tools never came back; restart the program"
            return result_of(call, "blocked", why)
        return None

    def _read_mailbox(self) -> None:
        """Waits for news and handles it, for about one poll interval: what floods keeps no stop from being seen."""
        if not (self._waiting or self._running or self._patching):
            return
        end_s = time.monotonic() + STOP_POLL_S
        try:
            self._handle(self._mailbox.get(timeout=STOP_POLL_S))
            while time.monotonic() < end_s:
                self._handle(self._mailbox.get_nowait())
        except Empty:
            return

    def _handle(self, post: Post) -> None:
        if isinstance(post, Patched):
            if self._patching.pop(post.item.index, None) is not None:
                self._end(post.item, post.result)
            return
        execution = post.execution
        if self._running.get(execution.call_id) is not execution:
            return  # it was let go: what it says now comes too late
        match post:
            case Admitted():
                execution.announce()
            case Progressed(update=update):
                self._host.tool_progressed(execution.prepared.call, update)
            case Finished(result=result):
                self._finish(execution, result)
            case Rewritten(prepared=prepared):
                del self._running[execution.call_id]
                self._put_back(prepared)

    def _put_back(self, prepared: Prepared) -> None:
        """Has a call wait that became another tool's: with what is running if that may be, else alone and next."""
        if prepared.tool.traits.mode == "parallel" and not prepared.tool.traits.question:
            self._waiting.append(prepared)
        else:
            self._groups.appendleft([prepared])

    # --- limits -----------------------------------------------------------------------------------------------------

    def _end_what_must(self) -> list[Execution]:
        """Asks bodies to end that are over their time, or whose run stops, and has what they move stopped side by side,
        before anybody is told of one of them. A safety stop ends what moves nothing after that.

        Returns:
            Those that are over their time. Each of them was asked before it returned, though it may have since.
        """
        now, reason = time.monotonic(), self._host.stopping()
        moved, later, overdue = list[actuator.Actuator | None](), list[Execution](), list[Execution]()
        for execution in self._running.values():
            deadline_s = execution.deadline_s  # its worker takes it away when the body returns
            if deadline_s is not None and now >= deadline_s:
                moved.append(execution.demand_end())
                if execution.interrupted_s is not None:
                    overdue.append(execution)
            elif execution.goal is not None and execution.goal.cancelled:
                moved.append(execution.demand_end())
            elif reason == "safety_stop" and not execution.moves:
                later.append(execution)
            elif reason == "safety_stop":
                moved.append(execution.demand_end("stopped for safety"))
            elif reason is not None and execution.prepared.on_interrupt == "cancel":
                moved.append(execution.demand_end())
            elif reason is not None:
                execution.call_off()
        calls = actuator.begin(one for one in moved if one is not None)
        for call in calls if later else ():
            call.entered.wait(actuator.LIMIT_S)
        actuator.begin(one for execution in later if (one := execution.demand_end("stopped for safety")) is not None)
        return overdue

    def _enforce_limits(self, overdue: Sequence[Execution]) -> None:
        now = time.monotonic()
        reason = self._host.stopping()
        for execution in list(self._running.values()):
            if execution in overdue:
                self._time_out(execution)
            elif not (reason is not None and reason != "safety_stop" and self._detach(execution)):
                self._give_up(execution, now, stopping=reason is not None)
        for item, result, end_s in list(self._patching.values()):
            if now >= end_s:
                logger.warning("the hooks after %s take too long; its result is told without them", item.call.name)
                del self._patching[item.index]
                self._end(item, result)

    def _time_out(self, execution: Execution) -> None:
        """Ends a body that took too long, and was asked to end."""
        self._mark_abandoned(execution.call_id)
        self._forget(execution)
        del self._running[execution.call_id]
        self._patch(execution.prepared, execution.timed_out())

    def _give_up(self, execution: Execution, now: float, *, stopping: bool) -> None:
        """Ends a call whose worker does not come back within the grace.

        Without a stop, one that waits at a gate is waited for, and so is one whose hooks look at its result.
        """
        if execution.stopping is not None and execution.stopping.is_waited_for:
            return  # half a second at most, and then there is something to tell
        came_to = execution.result or execution.returned
        since_s = execution.interrupted_s if execution.returned is None else execution.returned_s
        if since_s is None or now - since_s < self._limits.grace_s:
            return
        if came_to is not None:
            if stopping:  # a hook after the tool does not end, or so much progress is told before it
                self._forget(execution)
                self._finish(execution, replace(came_to, text=capped(came_to.text, self._limits.output_limit)))
        elif execution.started_s is not None:
            self._mark_abandoned(execution.call_id)
            self._forget(execution)
            text = f"{execution.name} was told to stop and has not returned; nobody knows how far it got"
            self._finish(execution, result_of(execution.prepared.call, "outcome_unknown", text))
        elif stopping:  # at a gate, or its start has not been told yet; its body will never begin
            self._workers.returned(execution.call_id)
            self._forget(execution)
            self._finish(execution, execution.never_began())

    def _detach(self, execution: Execution) -> bool:
        """Lets a body go on without the run, if its tool is made so; what it comes to is told later.

        Returns:
            False if the tool is not, or the body has ended already.
        """
        call = execution.prepared.call
        if execution.prepared.on_interrupt != "detach":
            return False
        if execution.started_s is None or execution.returned is not None:
            return False
        self._workers.mark(call.id, "detached")
        if not execution.detach(self._end_detached):
            return False
        self._host.let_go(call)
        self._finish(execution, result_of(call, "detached", f"{call.name} goes on"))
        return True

    def _end_detached(self, execution: Execution, result: ToolResult) -> None:
        """On its worker, or on a timer's thread when it took too long."""
        if result.status == "timed_out":
            self._mark_abandoned(execution.call_id)
        self._host.detached_ended(execution.prepared.call, result)

    def _mark_abandoned(self, call_id: str) -> None:
        """Nobody waits for this body any more, should it still be running; too many of them, and nothing may move."""
        self._workers.mark(call_id, "abandoned")
        abandoned = self._workers.abandoned
        if len(abandoned) >= self._limits.max_abandoned and any(body.moves for body in abandoned):
            self._workers.trip(f"{len(abandoned)} tools never came back")

    def _forget(self, execution: Execution) -> None:
        """Takes nothing from this worker any more; news of it may be waiting behind much other news."""
        execution.drop()
        execution.announce()
        self._host.let_go(execution.prepared.call)

    # --- results ----------------------------------------------------------------------------------------------------

    def _finish(self, execution: Execution, result: ToolResult) -> None:
        """Ends a call that a worker was given."""
        del self._running[execution.call_id]
        if execution.interrupted_s is not None and execution.started_s is not None and result.status == "ok":
            result = replace(result, status="interrupted")
            self._host.let_go(execution.prepared.call)
        self._end(execution.prepared, result)

    def _patch(self, item: Prepared, result: ToolResult) -> None:
        """Has the hooks after the tool look at a result that its worker does not bring.

        On a worker and no longer than the grace: a sibling's worker may be inside the same hook.
        """
        self._patching[item.index] = item, result, time.monotonic() + self._limits.grace_s

        def work() -> None:
            self._mailbox.put(Patched(item, patched(self._host, item.call, result)))

        self._workers.threads.run(work, f"tool-{item.call.name}")

    def _refuse(self, item: Prepared | Refused, result: ToolResult) -> None:
        """Ends a call that no worker saw."""
        if result.status in PATCHABLE:
            if self._running and isinstance(item, Prepared):
                self._patch(item, result)
                return
            result = self._host.after(item.call, result)
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
        self._host.tool_ended(call, result)


def _groups(prepared: Sequence[Prepared], mode: DispatchMode) -> list[list[Prepared]]:
    """Groups what runs together: each call alone, all parallel tools at once, or each contiguous group of them.

    No call is grouped before an agent's handoff tool that stands before the call in the reply.
    """
    if mode == "sequential":
        return [[item] for item in prepared]
    if mode == "parallel":
        parts: list[list[Prepared]] = [[]]
        for item in prepared:
            parts[-1].append(item)
            if item.tool.traits.hands_over:
                parts.append([])
        return [group for part in parts for group in _gathered(part)]
    return _contiguous(prepared)


def _contiguous(prepared: Sequence[Prepared]) -> list[list[Prepared]]:
    groups: list[list[Prepared]] = []
    for item in prepared:
        alone = item.tool.traits.mode == "sequential"
        if not groups or alone or groups[-1][-1].tool.traits.mode == "sequential":
            groups.append([])
        groups[-1].append(item)
    return groups


def _gathered(prepared: Sequence[Prepared]) -> list[list[Prepared]]:
    """All parallel tools at once, and the others after them: what moves something waits for the skills before it,
    because it may not move when one of them has failed."""
    together: list[Prepared] = []
    alone: list[Prepared] = []
    behind_skill = False
    for item in prepared:
        traits = item.tool.traits
        waits = traits.mode == "sequential" or (traits.motion and behind_skill and not traits.is_skill)
        (alone if waits else together).append(item)
        behind_skill = behind_skill or traits.is_skill
    return [together] * bool(together) + _contiguous(alone)
