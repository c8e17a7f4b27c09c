"""The gates that a call passes before and after its body (contract, section 4).

The batch's gates run on the loop's thread before anything starts; a call's own gates run on its worker.
"""

from __future__ import annotations

import difflib
import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from edgeagent.agent.run import Run
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.tools import Tool
from edgeagent.tools.coerce import ArgumentError
from edgeagent.tools.execution import Prepared, Refused

logger = logging.getLogger(__name__)
_POLL_S: Final = 0.02


class CallGates:
    """The gates of one run's calls."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._options = run.options
        self._confirming = threading.Lock()

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
        tool = self._run.tools.get(call.name)
        if tool is None:
            return Refused(index, call, None, _result(call, "unknown", self._unknown(call.name)))
        try:
            arguments = call.arguments if call.raw is None else _parse(call.raw)
            plain, values = tool.signature.validate(arguments)
        except ArgumentError as error:
            return Refused(index, call, tool, _result(call, "invalid", f"invalid arguments: {error}"))
        call = replace(call, arguments=plain)
        denial = self._denial(call)
        if denial is not None:
            return Refused(index, call, tool, denial)
        return Prepared(index, call, tool, values, self._timeout_s(tool))

    def _unknown(self, name: str) -> str:
        names = self._run.tools.names()
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

    def before(self, prepared: Prepared, stop_event: threading.Event) -> Prepared | ToolResult:
        """before_tool_call, the latch and confirm. Returns the call to execute, or the result to use instead."""
        verdict = self._before_tool_call(prepared, stop_event)
        if isinstance(verdict, ToolResult):
            return verdict
        latched = self._run.latched() if verdict.tool.traits.motion else None
        if latched is not None:
            return _result(verdict.call, "blocked", latched)
        refusal = self._confirm(verdict)
        if refusal is None and self._run.stopping() is not None:
            refusal = _result(verdict.call, "not_run", "stopped before it began")
        return verdict if refusal is None else refusal

    def _before_tool_call(self, prepared: Prepared, stop_event: threading.Event) -> Prepared | ToolResult:
        callback = self._options.before_tool_call
        if callback is None:
            return prepared
        try:
            answer = callback(prepared.call, stop_event)
        except Exception as error:  # a gate that fails stays shut
            logger.exception("before_tool_call raised")
            return _result(prepared.call, "error", f"before_tool_call failed: {error}")
        if answer is None:
            return prepared
        if isinstance(answer, ToolResult):
            return replace(answer, call_id=prepared.call.id, name=prepared.call.name)
        checked = self._check(prepared.index, replace(answer, id=prepared.call.id))
        return checked.result if isinstance(checked, Refused) else checked

    def _confirm(self, prepared: Prepared) -> ToolResult | None:
        confirm = self._options.confirm
        if confirm is None or not prepared.tool.traits.destructive:
            return None
        call = prepared.call
        with self._confirming:
            answer = self._ask(lambda: confirm(call.name, dict(call.arguments)))
        if isinstance(answer, Exception):
            return _result(call, "error", f"confirm failed: {answer}")
        return None if answer else _result(call, "declined", "the user did not allow it")

    def _ask(self, question: Callable[[], bool]) -> bool | Exception:
        """Asks a person on a helper thread; no answer in time, or a stop, is a no."""
        answers: list[bool | Exception] = []
        done = threading.Event()

        def ask() -> None:
            try:
                answers.append(bool(question()))
            except Exception as error:  # the builder's code
                logger.exception("confirm raised")
                answers.append(error)
            done.set()

        threading.Thread(target=ask, name="confirm", daemon=True).start()
        waited_s = 0.0
        while not done.wait(_POLL_S):
            waited_s += _POLL_S
            if waited_s >= self._options.confirm_timeout_s or self._run.stopping() is not None:
                return False
        return answers[0]

    def after(self, call: ToolCall, result: ToolResult, stop_event: threading.Event) -> ToolResult:
        """after_tool_call may patch the result."""
        callback = self._options.after_tool_call
        if callback is None:
            return result
        try:
            patched = callback(call, result, stop_event)
        except Exception:  # the builder's code; the result stands
            logger.exception("after_tool_call raised")
            return result
        return result if patched is None else patched


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
