"""The calls of a reply: gated, executed or refused, with one result message each. On the loop's thread."""

from __future__ import annotations

import difflib
import json
import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from edgeagent import events
from edgeagent.agent.run import Run
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks import AfterTool, BeforeTool, FirePoint, ToolOutputCapHook
from edgeagent.hooks.hook import HookError
from edgeagent.messages import Message, Status, ToolCall, ToolResult
from edgeagent.stop import STOP_POLL_S
from edgeagent.tools import GoalCancelled, Handoff, Tool
from edgeagent.tools.dispatch import Dispatch, DispatchLimits
from edgeagent.tools.execution import Execution, Prepared, Refused
from edgeagent.tools.signature import ArgumentError
from edgeagent.tools.threads import ask_person
from edgeagent.tools.tool import OF_HOOK, as_result, result_of, with_status

logger = logging.getLogger(__name__)
NO_MORE_CALLS: Final = "no more tool calls are allowed"
_MOTION: Final = "motion"
"""The resource of a skill that moves, outlives its run in a conversation, and names none: the next one replaces it."""


class RunHost:
    """The run, as the tools of one batch know it: the gates of their calls, and what their news become."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._part = run.part
        self._options = run.part.options
        self.workers = run.workers
        self.context = run.part.context
        self._ending = threading.Lock()
        self._over: set[str] = set()
        """Ids of calls whose results are no longer their workers' to bring."""

    # --- the batch, on the loop's thread ----------------------------------------------------------------------------

    def check_batch(self, calls: Sequence[ToolCall]) -> list[Prepared | Refused]:
        """Finds, parses, validates and policy-checks every call. One denial, or one call of a reply in another form
        than the model's own that does not fit, and none is prepared."""
        if any(call.id in self._run.turn.faults for call in calls):
            return [self._misfit(index, call) for index, call in enumerate(calls)]
        reply = self._run.turn.reply
        asked = frozenset() if reply is None else {call.id for call in reply.tool_calls}
        checked = [self._check(index, call, seen_only=call.id in asked) for index, call in enumerate(calls)]
        denied = next((item for item in checked if isinstance(item, Refused) and item.result.status == "denied"), None)
        if denied is None:
            return checked
        reason = f"{denied.call.name} was denied"
        return [
            item
            if item is denied
            else Refused(item.index, item.call, item.tool, result_of(item.call, "not_run", reason))
            for item in checked
        ]

    def _check(self, index: int, call: ToolCall, *, seen_only: bool = False) -> Prepared | Refused:
        """``seen_only``: the model asked for it, so it may call what its request offered; hooks may call all."""
        offered = self._run.turn.offered
        tool = offered.get(call.name) or self._part.tools.get(call.name)
        if tool is None or (seen_only and call.name not in offered):
            known = list(offered) if seen_only else self._part.tools.names()
            return Refused(index, call, None, result_of(call, "unknown", _unknown(call.name, known)))
        try:
            arguments = call.copy().arguments if call.raw is None else _parse(call.raw)
            plain, values = tool.signature.validate(arguments)
        except ArgumentError as error:
            return Refused(index, call, tool, result_of(call, "invalid", f"invalid arguments: {error}"))
        call = ToolCall(call.id, call.name, plain).copy()  # without the text: a hook may give other arguments
        denial = self._denial(call)
        if denial is not None:
            return Refused(index, call, tool, denial)
        traits = tool.traits
        detaches = traits.on_interrupt is None and self._part.context.conversing
        return Prepared(
            index,
            call,
            tool,
            values,
            self._timeout_s(tool),
            on_interrupt=traits.on_interrupt or ("detach" if detaches else "cancel"),
            resources=traits.resources or ((_MOTION,) if detaches and traits.motion else ()),
        )

    def _misfit(self, index: int, call: ToolCall) -> Refused:
        fault = self._run.turn.faults.get(call.id)
        status: Status = "invalid" if fault else "not_run"
        why = f"invalid arguments: {fault}" if fault else "another call of the reply does not fit its tool"
        return Refused(index, call, self._part.tools.get(call.name), result_of(call, status, why))

    def _denial(self, call: ToolCall) -> ToolResult | None:
        if self._options.policy_check is None:
            return None
        try:
            reason = self._options.policy_check(call.name, call.copy().arguments)
        except BaseException as error:  # a check that fails denies
            logger.exception("policy_check raised")
            reason = f"the policy check failed: {error}"
        return result_of(call, "denied", str(reason)) if reason else None

    def _timeout_s(self, tool: Tool) -> float | None:
        """For the body; a person who is asked has ``confirm_timeout_s``, unless the tool says otherwise."""
        if tool.traits.timeout_s is not None or tool.traits.is_skill or tool.traits.question:
            return tool.traits.timeout_s
        return self._options.tool_timeout_s

    # --- one call, on its worker ------------------------------------------------------------------------------------

    def enter_worker(self) -> None:
        self._run.enter_thread()

    def leave_worker(self) -> None:
        self._run.leave_thread()

    def may_start(self) -> str | None:
        """None, or why no further call of the batch may start."""
        return None if self._run.hook_reply is None else "the run was ended before it began"

    def answer_at_once(self) -> bool:
        """True where every hook before the tool is quick."""
        return all(getattr(hook, "quick", False) for hook in self._part.hooks[FirePoint.BEFORE_TOOL])

    def would_admit(self, prepared: Prepared) -> bool:
        """True where no latch holds the call, no person is asked about it, and the run is not stopping."""
        traits = prepared.tool.traits
        asked = traits.destructive and self._options.confirm is not None
        held = traits.motion and self._run.workers.motion()[0] != "free"
        return not (asked or held or self.stopping() is not None)

    def before(self, prepared: Prepared) -> Prepared | Refused | ToolResult:
        """Hooks may refuse a call, supply its result, or make it another one, which is checked again."""
        call = prepared.call
        try:
            payload = BeforeTool(call.copy(), prepared.tool, self._run.budget.hops)
            fired = self._part.hooks.fire(FirePoint.BEFORE_TOOL, payload)
        except HookError as error:
            return result_of(call, "error", str(error))
        if fired.reply is not None:
            self._end(fired.reply)
            return result_of(call, "not_run", "the run was ended before it began")
        if fired.result is not None:
            return as_result(call, fired.result, may=OF_HOOK)
        rewritten = fired.payload.call
        if not fired.replaced or rewritten == call:
            return prepared
        return self._check(prepared.index, replace(rewritten.copy(), id=call.id))

    def admit(self, prepared: Prepared, stop_event: threading.Event) -> ToolResult | None:
        """The latch, confirm, and the latch again, which may have closed while a person was asked."""
        refusal = self._wait_for_motion(prepared, stop_event) or self._confirm(prepared, stop_event)
        refusal = refusal or self._wait_for_motion(prepared, stop_event)
        if refusal is None and self._run.stop.now() is not None:
            return self._stopped(prepared)
        return refusal

    def _wait_for_motion(self, prepared: Prepared, stop_event: threading.Event) -> ToolResult | None:
        """Motion waits while a latch is held, and is refused while one is tripped."""
        if not prepared.tool.traits.motion:
            return None
        while True:
            state, reason = self._run.workers.motion()
            if state == "tripped":
                return _blocked_motion(prepared.call, reason)
            if state == "free":
                return None
            if stop_event.wait(STOP_POLL_S) or self._run.stop.now() is not None:
                return self._stopped(prepared)

    def _confirm(self, prepared: Prepared, stop_event: threading.Event) -> ToolResult | None:
        confirm = self._options.confirm
        if confirm is None or not prepared.tool.traits.destructive:
            return None
        call = prepared.call
        with self._turn_to_ask(stop_event) as may_ask:
            if not may_ask:
                return self._stopped(prepared)
            try:
                answer: object = ask_person(
                    lambda: confirm(call.name, call.copy().arguments),
                    stopping=lambda: self._stops(stop_event),
                    timeout_s=self._options.confirm_timeout_s,
                    name="confirm",
                )
            except Exception as error:  # noqa: BLE001 - the builder's code: a gate that fails stays shut
                return result_of(call, "error", f"confirm failed: {error}")
        if answer is True:
            return None
        if self._stops(stop_event):
            return self._stopped(prepared)
        if not isinstance(answer, bool | None):  # such as "no", which is true
            logger.warning("confirm returned %r, not True or False, so %s is not allowed", answer, call.name)
        return result_of(call, "declined", "the user did not allow it")

    @contextmanager
    def _turn_to_ask(self, stop_event: threading.Event) -> Iterator[bool]:
        """Waits until nobody else is asked, whichever agent asks; False if the call or its run is stopped first."""
        asking = self.workers.asking
        while not asking.acquire(timeout=STOP_POLL_S):
            if self._stops(stop_event):
                yield False
                return
        try:
            yield not self._stops(stop_event)
        finally:
            asking.release()

    def _stops(self, stop_event: threading.Event) -> bool:
        """True if the call or its run is to stop."""
        return stop_event.is_set() or self._run.stop.now() is not None

    def _stopped(self, prepared: Prepared) -> ToolResult:
        """The result of a call that was stopped at its gates: by the latch, or with its run."""
        state, reason = self._run.workers.motion()
        if prepared.tool.traits.motion and state == "tripped" and self._run.stop.now() is None:
            return _blocked_motion(prepared.call, reason)
        return result_of(prepared.call, "not_run", "stopped before it began")

    def stopping(self) -> str | None:
        """The reason why the run must stop now, or None."""
        return self._run.stop.now()

    def ask(self, prepared: Prepared, stop_event: threading.Event) -> Any:
        """Puts the arguments of a question tool to a person.

        Raises:
            EdgeAgentError: There is nobody to ask, or no answer came.
            GoalCancelled: The call or its run was stopped first.
        """
        if self._run.ask is None:
            raise EdgeAgentError("nobody can be asked: start the run with callbacks=views.Callbacks(on_question=...)")
        questions = [text for value in prepared.call.arguments.values() for text in _texts(value)]
        try:
            with self._turn_to_ask(stop_event) as may_ask:
                if not may_ask:
                    raise GoalCancelled("stopped before anybody was asked")
                return self._run.ask(
                    questions or [prepared.tool.description],
                    lambda: self._stops(stop_event),
                    self._options.confirm_timeout_s,
                )
        except Exception as error:
            if self._stops(stop_event):
                raise GoalCancelled("stopped before anybody answered") from error
            raise

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Hooks may patch the result or end the run; a handoff finds out whether its target is free."""
        result = self._reserve(call, result)
        fired = self._part.hooks.fire(FirePoint.AFTER_TOOL, AfterTool(call.copy(), result))
        if fired.reply is not None:
            self._end(fired.reply)
        patched: ToolResult = fired.payload.result
        if patched is result:
            return result
        if patched.call_id:  # fields of the result were patched: an empty text stays one
            patched = with_status(replace(patched, call_id=call.id, name=call.name), OF_HOOK)
        else:
            patched = as_result(call, patched, may=OF_HOOK)
        if patched.value is not result.value or patched.status != result.status:
            with self._ending:
                self._run.handovers.unreserve(call)
            patched = self._reserve(call, patched)
        return patched

    def let_go(self, call: ToolCall) -> None:
        """A call that is over hands nothing over any more."""
        with self._ending:
            self._over.add(call.id)
            self._run.handovers.unreserve(call)

    def _reserve(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Keeps the target of a handoff for this run; the result says so if it can't be had."""
        if not isinstance(result.value, Handoff) or result.status != "ok":
            return result
        with self._ending:
            if call.id in self._over:
                return result_of(call, "not_run", "the request went on before it was handed over")
            refusal = self._run.handovers.reserve(self._part.agent, call, result.value)
        return result if refusal is None else result_of(call, *refusal)

    def _end(self, reply: str) -> None:
        """A hook ended the run; the first one counts."""
        with self._ending:
            if self._run.hook_reply is None:
                self._run.hook_reply = reply

    # --- news, on the loop's thread ---------------------------------------------------------------------------------

    def should_skip(self) -> bool:
        """True if somebody has said something that skips the rest of the batch; it is kept for the next request."""
        return self._run.inbox.should_skip()

    def tool_started(self, execution: Execution) -> None:
        call = execution.prepared.call
        self._run.ledger.pending.add(call.id)
        if execution.goal is not None:
            self._run.ledger.goals[call.id] = execution.goal
        self._run.emit(events.ToolExecutionStart, then=execution.begin, call=call.copy())

    def tool_progressed(self, call: ToolCall, update: object) -> None:
        self._run.emit(events.ToolExecutionUpdate, call=call.copy(), update=update)

    def tool_ended(self, call: ToolCall, result: ToolResult) -> None:
        run = self._run
        run.ledger.pending.discard(call.id)
        run.ledger.results[call.id] = result
        run.ledger.note([call], run.part.name)
        run.emit(events.ToolExecutionEnd, call=call.copy(), result=result)
        run.tell_notices()

    def tell_notices(self) -> None:
        self._run.tell_notices()

    def detached_ended(self, call: ToolCall, result: ToolResult) -> None:
        """A call that outlived its run has come to its end: the model is told, and asked unless somebody stopped it."""
        run = self._run
        session = run.parts[0].context.session
        if session is not None:
            session.detached_ended(run.id, call, result)
        told = f"{call.name} has ended: {result.text}"
        if result.status == "interrupted":
            (session or run.owner).note(told)
        else:
            (session or run.owner).follow_up(told, wake=True)


def _unknown(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    return f"there is no tool called {name}.{hint} Tools: {', '.join(known) or 'none'}"


def _blocked_motion(call: ToolCall, reason: str) -> ToolResult:
    return result_of(call, "blocked", f"stopped for safety ({reason}); motion waits until it is re-armed")


def _texts(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(item) for item in value]
    return [str(value)]


def _parse(raw: str) -> dict[str, Any]:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ArgumentError(f"should be a JSON object, not {type(value).__name__}")
    return value


def act(run: Run, reply: Message) -> None:
    """Executes the calls of a reply, or says why not, and commits the results in the order asked."""
    if not reply.tool_calls:
        return
    why = refusal(run, reply)
    if why is not None:
        refuse(run, reply.tool_calls, why)
    else:
        results = execute(run, reply.tool_calls)
        commit(run, results)
        run.budget.spend_hop(results)


def refusal(run: Run, reply: Message | None) -> str | None:
    """Why no call may run, or None: the reply that asks for them was cut or was to have none, or no hop is left."""
    if reply is not None and reply.stop_reason == "length":
        return "the reply was cut off before it was complete"
    allowed = run.budget.tools_allowed and (reply is None or run.turn.tool_choice != "none")
    return None if allowed else NO_MORE_CALLS


def execute(run: Run, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Runs one batch. Returns one result a call, in the order asked."""
    options = run.part.options
    one_by_one = options.steering_check == "after_each_tool"
    caps = (hook.limit for hook in run.part.hooks[FirePoint.AFTER_TOOL] if isinstance(hook, ToolOutputCapHook))
    limits = DispatchLimits(
        mode="sequential" if one_by_one else options.tool_execution_mode.value,
        max_concurrent=options.max_concurrent_tools,
        grace_s=options.abort_grace_s,
        max_abandoned=options.max_abandoned_tools,
        output_limit=next(caps, options.tool_output_limit),  # what is interrupted meets no hook
        skip_after_each=one_by_one,
    )
    host = RunHost(run)
    run.ledger.note(calls, run.part.name)
    return Dispatch(host, limits).run(host.check_batch(calls))


def refuse(run: Run, calls: Sequence[ToolCall], why: str) -> None:
    """Ends calls that must not start."""
    commit(run, refused(run, calls, why))


def refused(run: Run, calls: Sequence[ToolCall], why: str) -> list[ToolResult]:
    """The results of calls that must not start, told but not yet committed."""
    run.ledger.note(calls, run.part.name)
    results = [result_of(call, "not_run", why) for call in calls]
    host = RunHost(run)
    for call, result in zip(calls, results, strict=True):
        host.tool_ended(call, result)
    return results


def commit(run: Run, results: Sequence[ToolResult]) -> None:
    """Adds the results to history."""
    run.turn.results = results
    for result in results:
        run.inject(Message.tool(result))
