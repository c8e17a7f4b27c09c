"""One request and what came of it, as ``ask --json`` writes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.errors import EdgeAgentError
from edgeagent.messages import ToolCall, ToolResult, Usage
from edgeagent.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRecord:
    """``text`` is what was sent, ``failure`` what the run raised, if it did. Times in seconds."""

    text: str
    agent: str
    reply: str = ""
    calls: tuple[tuple[ToolCall, ToolResult | None], ...] = ()
    reason: str = "completed"
    abort_reason: str | None = None
    usage: Usage = Usage()
    first_token_s: float | None = None
    total_s: float = 0.0
    error: str | None = None
    failure: BaseException | None = None

    def fields(self) -> dict[str, Any]:
        """JSON values. ``abort_reason`` and ``error`` are there only when there is one."""
        fields: dict[str, Any] = {
            "text": self.text,
            "reply": self.reply,
            "calls": [_call(call, result) for call, result in self.calls],
            "reason": self.reason,
            "agent": self.agent,
            "usage": {"input_tokens": self.usage.input_tokens, "output_tokens": self.usage.output_tokens},
            "timings": {"first_token_s": _rounded(self.first_token_s), "total_s": _rounded(self.total_s)},
        }
        if self.abort_reason is not None:
            fields["abort_reason"] = self.abort_reason
        if self.error is not None:
            fields["error"] = self.error
        return fields


def recorded(session: Session, text: str, said: str) -> SentRecord:
    """Runs one request to its end, whatever the end is.

    Args:
        text: As it was sent, for the record.
        said: As the model is told it.
    """
    name, began_s = session.agent.name, time.monotonic()
    try:
        handle = session.start(said)
    except EdgeAgentError as error:
        return SentRecord(text=text, agent=name, reason="error", error=str(error), failure=error)
    log = list(handle.events())
    handle.wait()
    return _recorded(text, handle, log, began_s)


def _recorded(text: str, handle: RunHandle, log: Sequence[events.Event], began_s: float) -> SentRecord:
    """The record of a run that is over. One that raised has left its calls in the log."""
    failure = handle.error
    if failure is None:
        result = handle.result()
        reply, error = result.reply, result.error
    else:
        reply, error = "", str(failure) or type(failure).__name__
    asked: list[ToolCall] = []
    ended: dict[str, tuple[ToolCall, ToolResult]] = {}
    usage, first_s = Usage(), None
    reason: str = "error"
    abort_reason: str | None = None
    for event in log:
        match event:
            case events.MessageUpdate(t=t):
                first_s = first_s or t - began_s
            case events.MessageEnd(message=message, t=t) if message.role == "assistant":
                asked += message.tool_calls
                usage += message.usage or Usage()
                if message.tool_calls:
                    first_s = first_s or t - began_s
            case events.ToolExecutionEnd(call=call, result=done):
                ended[call.id] = (call, done)
            case events.AgentEnd(reason=reason, abort_reason=abort_reason):
                pass
    return SentRecord(
        text=text,
        agent=handle.agent.name,
        reply=reply,
        calls=tuple(ended.get(call.id, (call, None)) for call in asked),
        reason=reason,
        abort_reason=abort_reason,
        usage=usage,
        first_token_s=first_s,
        total_s=log[-1].t - began_s if log else time.monotonic() - began_s,
        error=error,
        failure=failure,
    )


def _call(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    return {
        "name": call.name,
        "arguments": call.arguments,
        "status": "not_run" if result is None else result.status,
        "result": "" if result is None else result.text,
    }


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
