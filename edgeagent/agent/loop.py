"""The loop: ask the model, run the tools it asked for, take up what was queued, until there is nothing left to do.

Runs on the run's own thread, which alone emits events. Knows nothing of audio, sessions or any engine. The order of
events is the contract's, sections 3 to 7.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from edgeagent import events
from edgeagent.agent.gates import CallGates
from edgeagent.agent.result import RunResult, RunState
from edgeagent.agent.run import Run
from edgeagent.llm import End, Error, LLMRequest, TextDelta, TextEnd, ThinkingDelta, ThinkingEnd, ToolCallEnd
from edgeagent.llm.types import ToolChoice
from edgeagent.messages import Message, ToolCall, ToolResult, Usage, new_id
from edgeagent.tools.dispatch import Dispatch, Limits
from edgeagent.tools.execution import Execution

logger = logging.getLogger(__name__)

NO_REPLY: Final = "I could not finish that."
_CONTINUE: Final = "Continue exactly where you stopped."


def drive(run: Run) -> RunResult:
    """Runs to the end and returns the result; agent_end is the last event.

    Raises:
        ModelError: The model cannot answer at all.
        Exception: What a model raised that is not ours; ``close_after_error`` closes the log then.
    """
    run.emit(events.AgentStart)
    pending = [run.task] if run.task is not None else run.drain("steering", "follow_up")
    pending += run.drain("steering") if run.task is not None else []
    if not pending and (not run.history or run.history[-1].role == "assistant"):
        return run.finish("completed", "")
    continued: list[str] = []
    while True:
        # 1. what this request holds for the first time
        run.open_turn()
        for message in pending:
            run.inject(message)
        if run.stopping():
            run.close_turn()
            return run.finish("aborted", "")

        # 2. the model
        reply = think(run, "auto")
        if reply.stop_reason in ("error", "aborted"):
            return fail(run, reply)

        # 3. its tools
        results = act(run, reply)
        if results and all(result.terminate for result in results):
            return terminate(run, reply, results)
        run.close_turn(reply, results)
        ended = end_reason(run, results)
        if ended is not None:
            return run.finish(ended, reply.text)

        # 4. what comes next
        if reply.tool_calls:
            pending = run.drain("steering")
            if not tools_may_go_on(run, results, pending):
                run.give_back(pending)
                return out_of_budget(run)
            continue
        continued.append(reply.text)
        if reply.stop_reason == "length" and len(continued) <= run.options.max_continuations and not run.budget.spent:
            pending = [Message.user(_CONTINUE, origin="continuation")]
            continue
        pending = next_messages(run)
        if not pending:
            return run.finish("completed", "".join(continued))
        continued = []
        if not (run.budget.grant() if pending[0].origin == "follow_up" else run.budget.grant_one()):
            run.give_back(pending)
            return out_of_budget(run)


def think(run: Run, tool_choice: ToolChoice) -> Message:
    """One model call, streamed. Returns the committed message, which may be empty, cut, aborted or failed."""
    run.budget.spend_turn()
    request = LLMRequest(
        system=run.system,
        messages=[message.copy() for message in run.history],
        tools=list(run.tools),
        tool_choice=tool_choice,
        temperature=run.options.temperature,
        max_tokens=run.options.max_tokens,
        thinking_level=run.options.thinking_level,
    )
    message = Message("assistant", stop_reason=None)
    run.streaming_message = message
    run.emit(events.MessageStart, message=message)
    try:
        message = _stream(run, request, message)
    except Exception as error:
        message = replace(run.streaming_message, stop_reason="error", error=str(error) or type(error).__name__)
        raise
    finally:
        run.streaming_message = None
        run.usage += message.usage or Usage()
        if message.stop_reason in ("error", "aborted"):
            message = replace(message, tool_calls=())
        if message.text or message.stop_reason not in ("error", "aborted"):
            run.add(message)
        run.emit(events.MessageEnd, message=message)
    return message


def _stream(run: Run, request: LLMRequest, message: Message) -> Message:
    for event in run.llm.stream(request, run.stop):
        match event:
            case TextDelta(delta):
                message = replace(message, text=message.text + delta)
                run.streaming_message = message
                run.emit(events.MessageUpdate, channel="text", delta=delta, message=message)
            case ThinkingDelta(delta):
                message = replace(message, thinking=message.thinking + delta)
                run.streaming_message = message
                run.emit(events.MessageUpdate, channel="thinking", delta=delta, message=message)
            case ToolCallEnd(call):
                # a model may use an id twice; results are matched by it, so it is ours
                message = replace(message, tool_calls=(*message.tool_calls, replace(call, id=new_id("call"))))
            case Error(why, usage):
                return replace(message, stop_reason="error", error=why, usage=usage)
            case End(reason, usage):
                return replace(message, stop_reason=reason, usage=usage)
            case TextEnd(text):  # the whole text; a late </think> may have made reasoning of what came before it
                message = replace(message, text=text)
            case ThinkingEnd(text):
                message = replace(message, thinking=text)
    return replace(message, stop_reason="error", error="the model's stream ended without saying why")


def act(run: Run, reply: Message) -> list[ToolResult]:
    """Executes the calls of a reply, or says why not, and commits one result message a call in the order asked."""
    calls = reply.tool_calls
    if not calls:
        return []
    cut = reply.stop_reason == "length"
    gates = CallGates(run)
    reporter = Reporter(run)
    run.calls += calls
    if cut or not run.budget.tools_allowed:
        why = "the reply was cut off before it was complete" if cut else "no more tool calls are allowed"
        results = [ToolResult(call.id, call.name, "not_run", why) for call in calls]
        for call, result in zip(calls, results, strict=True):
            reporter.tool_ended(call, result)
    else:
        limits = Limits(
            mode=run.options.tool_execution_mode.value,
            max_concurrent=run.options.max_concurrent_tools,
            grace_s=run.options.abort_grace_s,
            output_chars=run.options.tool_output_limit,
        )
        dispatch = Dispatch(gates, reporter, run.workers, limits, run.stopping, context=run.context)
        results = dispatch.run(gates.check_batch(calls))
        run.budget.spend_hop()
    for result in results:
        run.inject(Message.tool(result))
    return results


class Reporter:
    """Turns what the dispatch tells into events and into the run's state."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def tool_started(self, execution: Execution) -> None:
        call = execution.prepared.call
        self._run.pending_calls.add(call.id)
        if execution.goal is not None:
            self._run.goals[call.id] = execution.goal
        self._run.emit(events.ToolExecutionStart, call=call)

    def tool_progressed(self, call: ToolCall, update: object) -> None:
        self._run.emit(events.ToolExecutionUpdate, call=call, update=update)

    def tool_ended(self, call: ToolCall, result: ToolResult) -> None:
        self._run.pending_calls.discard(call.id)
        self._run.results[call.id] = result
        self._run.calls = [call if known.id == call.id else known for known in self._run.calls]
        self._run.emit(events.ToolExecutionEnd, call=call, result=result)


def next_messages(run: Run) -> list[Message]:
    """What was queued while the model worked; the run is marked as closing in the moment in which there is nothing."""
    while True:
        pending = run.drain("steering", "follow_up")
        if pending or run.queues.close_if_empty():
            return pending


def end_reason(run: Run, results: Sequence[ToolResult]) -> events.EndReason | None:
    """Why the run ends after a turn that is complete, if it does."""
    if run.stopping() or run.stop_after_turn:
        return "aborted"
    if any(result.status == "denied" for result in results):
        return "denied"
    return "stopped" if asked_to_stop(run) else None


def tools_may_go_on(run: Run, results: Sequence[ToolResult], pending: Sequence[Message]) -> bool:
    """Whether the budget allows the turn that answers these results; it may be extended on the way."""
    refused = not run.budget.tools_allowed and all(result.status == "not_run" for result in results)
    if not refused and not run.budget.spent:
        return True
    if not refused and pending and run.budget.grant_one():
        return True
    return may_go_on(run)


def fail(run: Run, reply: Message) -> RunResult:
    """Ends after a stream that failed or was stopped."""
    aborted = reply.stop_reason == "aborted"
    run.error = None if aborted else reply.error
    run.emit(events.AgentError, error=reply.error or "aborted")
    run.close_turn(reply)
    return run.finish("aborted" if aborted else "error", reply.text)


def terminate(run: Run, reply: Message, results: Sequence[ToolResult]) -> RunResult:
    """Every tool of the batch said that its result is the answer: the last one's text is the reply."""
    closing = Message.assistant(results[-1].text)
    run.inject(closing)
    run.close_turn(reply, results)
    return run.finish("terminated", closing.text)


def asked_to_stop(run: Run) -> bool:
    """should_stop_after_turn, with the state as it is between two turns."""
    callback = run.options.should_stop_after_turn
    if callback is None:
        return False
    try:
        return bool(callback(snapshot(run)))
    except Exception:  # the builder's code
        logger.exception("should_stop_after_turn raised")
        return False


def may_go_on(run: Run) -> bool:
    """Asks continue_confirm for as much budget again."""
    if run.options.continue_confirm is None:
        return False
    try:
        granted = bool(run.options.continue_confirm(run.budget.calls))
    except Exception:  # the builder's code; no answer is no
        logger.exception("continue_confirm raised")
        return False
    return granted and run.budget.grant()


def out_of_budget(run: Run) -> RunResult:
    """Ends with what was said so far, or with one last call without tools."""
    run.emit(events.Notice, level="warning", text=f"stopped after {run.budget.calls} model calls")
    if run.options.on_budget == "final_answer" and not run.stopping():
        run.open_turn()
        reply = think(run, "none")
        if reply.stop_reason in ("error", "aborted"):
            return fail(run, reply)
        refused = [ToolResult(c.id, c.name, "not_run", "no more tool calls are allowed") for c in reply.tool_calls]
        for result in refused:
            run.inject(Message.tool(result))
        run.close_turn(reply, refused)
    spoken = [m.text for m in run.new if m.role == "assistant" and m.text]
    return run.finish("budget", spoken[-1] if spoken else NO_REPLY)


def close_after_error(run: Run, error: Exception) -> RunResult:
    """Closes the log of a run that an exception ended."""
    run.error = str(error) or type(error).__name__
    run.emit(events.AgentError, error=run.error)
    if run.turn_open:
        run.close_turn()
    return run.finish("error", "")


def snapshot(run: Run) -> RunState:
    """A frozen copy of the run's state."""
    return RunState(
        system_prompt=run.system,
        messages=tuple(run.history),
        pending_tool_calls=frozenset(run.pending_calls),
        is_streaming=True,
        error_message=run.error,
        streaming_message=run.streaming_message,
        thinking_level=run.options.thinking_level,
        llm=run.llm,
        tools=tuple(run.tools),
        follow_up_queue=run.queues.snapshot("follow_up"),
        steering_queue=run.queues.snapshot("steering"),
        run_id=run.id,
        hop=run.budget.hops,
    )
