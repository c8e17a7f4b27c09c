"""The gates that a call passes before and after its body (contract, section 4).

The batch's gates run on the loop's thread before anything starts; a call's own gates run on its worker.
"""

from __future__ import annotations

import difflib
import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from edgeagent.agent.person import ask_person
from edgeagent.agent.run import Run
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks import AfterTool, BeforeTool, FirePoint
from edgeagent.hooks.chain import HookError
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.tools import Handoff, Tool
from edgeagent.tools.coerce import ArgumentError
from edgeagent.tools.execution import Prepared, Refused
from edgeagent.tools.output import as_result

logger = logging.getLogger(__name__)
_POLL_S: Final = 0.02


class CallGates:
    """The gates of one run's calls."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._part = run.part
        self._options = run.part.options
        self._confirming = threading.Lock()
        self._ending = threading.Lock()

    # --- the batch, on the loop's thread ----------------------------------------------------------------------------

    def check_batch(self, calls: Sequence[ToolCall]) -> list[Prepared | Refused]:
        """Finds, parses, validates and policy-checks every call. One denial, and none is prepared."""
        checked = [self._check(index, call) for index, call in enumerate(calls)]
        denied = next((item for item in checked if isinstance(item, Refused) and item.result.status == "denied"), None)
        if denied is None:
            return checked
        reason = f"{denied.call.name} was denied"
        return [
            item if item is denied else Refused(item.index, item.call, item.tool, _result(item.call, "not_run", reason))
            for item in checked
        ]

    def _check(self, index: int, call: ToolCall) -> Prepared | Refused:
        tool = self._part.tools.get(call.name)
        if tool is None:
            return Refused(index, call, None, _result(call, "unknown", self._unknown(call.name)))
        try:
            arguments = call.arguments if call.raw is None else _parse(call.raw)
            plain, values = tool.signature.validate(arguments)
        except ArgumentError as error:
            return Refused(index, call, tool, _result(call, "invalid", f"invalid arguments: {error}"))
        call = ToolCall(call.id, call.name, plain, call.raw)
        denial = self._denial(call)
        if denial is not None:
            return Refused(index, call, tool, denial)
        return Prepared(index, call, tool, values, self._timeout_s(tool))

    def _unknown(self, name: str) -> str:
        names = self._part.tools.names()
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"there is no tool called {name}.{hint} Tools: {', '.join(names) or 'none'}"

    def _denial(self, call: ToolCall) -> ToolResult | None:
        if self._options.policy_check is None:
            return None
        try:
            reason = self._options.policy_check(call.name, dict(call.arguments))
        except Exception as error:  # a check that fails denies
            logger.exception("policy_check raised")
            reason = f"the policy check failed: {error}"
        return _result(call, "denied", reason) if reason else None

    def _timeout_s(self, tool: Tool) -> float | None:
        if tool.traits.timeout_s is not None or tool.traits.is_skill:
            return tool.traits.timeout_s
        return self._options.tool_timeout_s

    # --- one call, on its worker ------------------------------------------------------------------------------------

    def enter_worker(self) -> None:
        self._run.enter_thread()

    def leave_worker(self) -> None:
        self._run.leave_thread()

    def may_start(self) -> str | None:
        """None, or why no further call of the batch may start."""
        return None if self._run.ended is None else "the run was ended before it began"

    def before(self, prepared: Prepared, stop_event: threading.Event) -> Prepared | ToolResult:
        """Hooks, the latch and confirm. Returns the call to execute, or the result to use instead."""
        verdict = self._fire_before(prepared)
        if isinstance(verdict, ToolResult):
            return verdict
        refusal = self._wait_for_motion(verdict, stop_event) or self._confirm(verdict)
        if refusal is None and self._run.stopping() is not None:
            refusal = _result(verdict.call, "not_run", "stopped before it began")
        return verdict if refusal is None else refusal

    def _fire_before(self, prepared: Prepared) -> Prepared | ToolResult:
        call = prepared.call
        try:
            payload = BeforeTool(call, prepared.tool, self._run.budget.hops)
            fired = self._part.hooks.fire(FirePoint.BEFORE_TOOL, payload)
        except HookError as error:
            return _result(call, "error", str(error))
        if fired.reply is not None:
            self._end(fired.reply)
            return _result(call, "not_run", "the run was ended before it began")
        if fired.result is not None:
            return as_result(call, fired.result)
        rewritten = fired.payload.call
        if rewritten is call:
            return prepared
        checked = self._check(prepared.index, replace(rewritten, id=call.id))
        return checked.result if isinstance(checked, Refused) else checked

    def _wait_for_motion(self, prepared: Prepared, stop_event: threading.Event) -> ToolResult | None:
        """Motion waits while a latch is held, and is refused while one is tripped."""
        if not prepared.tool.traits.motion:
            return None
        while True:
            state, reason = self._run.workers.motion()
            if state == "tripped":
                text = f"stopped for safety ({reason}); motion waits until it is re-armed"
                return _result(prepared.call, "blocked", text)
            if state == "free":
                return None
            if stop_event.wait(_POLL_S) or self._run.stopping() is not None:
                return _result(prepared.call, "not_run", "stopped before it began")

    def _confirm(self, prepared: Prepared) -> ToolResult | None:
        confirm = self._options.confirm
        if confirm is None or not prepared.tool.traits.destructive:
            return None
        call = prepared.call
        with self._confirming:
            try:
                answer = ask_person(
                    lambda: bool(confirm(call.name, dict(call.arguments))),
                    stopping=lambda: self._run.stopping() is not None,
                    timeout_s=self._options.confirm_timeout_s,
                    name="confirm",
                )
            except Exception as error:  # noqa: BLE001 - the builder's code: a gate that fails stays shut
                return _result(call, "error", f"confirm failed: {error}")
        if answer:
            return None
        if self._run.stopping() is not None:
            return _result(call, "not_run", "stopped before it began")
        return _result(call, "declined", "the user did not allow it")

    def ask(self, prepared: Prepared, stop_event: threading.Event) -> Any:
        """Puts the arguments of a question tool to a person.

        Raises:
            EdgeAgentError: There is nobody to ask, or no answer came.
        """
        if self._run.ask is None:
            raise EdgeAgentError("nobody can be asked: start the run with callbacks=views.Callbacks(on_question=...)")
        questions = [text for value in prepared.call.arguments.values() for text in _texts(value)]
        return self._run.ask(
            questions or [prepared.tool.description],
            lambda: stop_event.is_set() or self._run.stopping() is not None,
            self._options.confirm_timeout_s,
        )

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Hooks may patch the result or end the run; a handoff finds out whether its target is free."""
        if isinstance(result.value, Handoff):
            result = self._reserve(call, result, result.value)
        fired = self._part.hooks.fire(FirePoint.AFTER_TOOL, AfterTool(call, result))
        if fired.reply is not None:
            self._end(fired.reply)
        patched: ToolResult = fired.payload.result
        if (patched.call_id, patched.name) == (call.id, call.name):
            return patched
        return replace(patched, call_id=call.id, name=call.name)

    def _reserve(self, call: ToolCall, result: ToolResult, handoff: Handoff) -> ToolResult:
        with self._ending:
            refusal = self._part.agent.reserve(self._run, handoff)
        return result if refusal is None else _result(call, *refusal)

    def _end(self, reply: str) -> None:
        """A hook ended the run; the first one counts."""
        with self._ending:
            if self._run.ended is None:
                self._run.ended = reply


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


def _result(call: ToolCall, status: Status, text: str) -> ToolResult:
    return ToolResult(call.id, call.name, status, text)
