"""The calls of a reply: executed, or refused with a reason, and one result message for each. On the loop's thread."""

from __future__ import annotations

from collections.abc import Sequence

from edgeagent import events
from edgeagent.agent.gates import CallGates
from edgeagent.agent.run import Run
from edgeagent.messages import Message, ToolCall, ToolResult
from edgeagent.tools.dispatch import Dispatch, DispatchLimits
from edgeagent.tools.execution import Execution


def act(run: Run, reply: Message) -> None:
    """Executes the calls of a reply, or says why not, and commits the results in the order asked."""
    if not reply.tool_calls:
        return
    if reply.stop_reason == "length":
        refuse(run, reply.tool_calls, "the reply was cut off before it was complete")
    elif not run.budget.tools_allowed:
        refuse(run, reply.tool_calls, "no more tool calls are allowed")
    else:
        commit(run, execute(run, reply.tool_calls))
        run.budget.spend_hop()


def execute(run: Run, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Runs one batch. Returns one result a call, in the order asked."""
    options = run.part.options
    one_by_one = options.steering_check == "after_each_tool"
    limits = DispatchLimits(
        mode="sequential" if one_by_one else options.tool_execution_mode.value,
        max_concurrent=options.max_concurrent_tools,
        grace_s=options.abort_grace_s,
        max_abandoned=options.max_abandoned_tools,
        skip_after_each=one_by_one,
    )
    gates = CallGates(run)
    run.note_calls(calls)
    dispatch = Dispatch(
        gates,
        Reporter(run),
        run.workers,
        limits,
        run.stopping,
        may_start=gates.may_start,
        should_skip=lambda: _steered(run),
        context=run.part.context,
    )
    return dispatch.run(gates.check_batch(calls))


def refuse(run: Run, calls: Sequence[ToolCall], why: str) -> None:
    """Ends calls that must not start."""
    commit(run, refused(run, calls, why))


def refused(run: Run, calls: Sequence[ToolCall], why: str) -> list[ToolResult]:
    """The results of calls that must not start, told but not yet committed."""
    run.note_calls(calls)
    results = [ToolResult(call.id, call.name, "not_run", why) for call in calls]
    for call, result in zip(calls, results, strict=True):
        Reporter(run).tool_ended(call, result)
    return results


def commit(run: Run, results: Sequence[ToolResult]) -> None:
    """Adds the results to history."""
    run.turn_results = results
    for result in results:
        run.inject(Message.tool(result))


def _steered(run: Run) -> bool:
    """True if somebody has said something that skips the rest of the batch; it is kept for the next request."""
    run.steered = run.steered or run.drain("steering")
    return bool(run.steered)


class Reporter:
    """Turns what the dispatch tells into events and into the run's state."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def tool_started(self, execution: Execution) -> None:
        call = execution.prepared.call
        self._run.pending_calls.add(call.id)
        if execution.goal is not None:
            self._run.goals[call.id] = execution.goal
        self._run.emit(events.ToolExecutionStart, then=execution.begin, call=call.copy())

    def tool_progressed(self, call: ToolCall, update: object) -> None:
        self._run.emit(events.ToolExecutionUpdate, call=call.copy(), update=update)

    def tool_ended(self, call: ToolCall, result: ToolResult) -> None:
        run = self._run
        run.pending_calls.discard(call.id)
        run.results[call.id] = result
        run.note_calls([call])
        run.emit(events.ToolExecutionEnd, call=call.copy(), result=result)
        run.tell_notices()

    def tell_notices(self) -> None:
        self._run.tell_notices()

    def detached_ended(self, call: ToolCall, result: ToolResult) -> None:
        self._run.parts[0].agent.detached_ended(self._run, call, result)
