"""The audit trail: which tools were called, with what, and what came of it. A subscriber to the events of runs.

Called on the threads of runs. A sink that fails is logged once and counted; it never breaks a run.
"""

from __future__ import annotations

import copy
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from edgeagent import events
from edgeagent.errors import ConfigError
from edgeagent.json_lines import FILES, MAX_MB, JsonLinesFile
from edgeagent.messages import Status, ToolCall, ToolResult
from edgeagent.pii import PII, for_log

logger = logging.getLogger(__name__)

Outcome = Literal["success", "error", "declined", "policy_denied", "cancelled", "timed_out"]

OUTCOMES: Final[dict[Status, Outcome]] = {
    "ok": "success",
    "error": "error",
    "unknown": "error",
    "invalid": "error",
    "blocked": "error",
    "declined": "declined",
    "denied": "policy_denied",
    "skipped": "cancelled",
    "not_run": "cancelled",
    "interrupted": "cancelled",
    "timed_out": "timed_out",
    "outcome_unknown": "cancelled",
    "detached": "success",
}
_METHODS: Final = ("emit", "flush", "close")
"""Methods of a sink."""


class AuditSink(Protocol):
    """Receives the records. ``emit`` is called on the threads of runs, so it should return soon."""

    def emit(self, record: dict[str, Any], /) -> None: ...
    def flush(self) -> None:
        """Called when a run ends, and after a record that comes later."""
        ...

    def close(self) -> None: ...


class AuditTrail:
    """Makes two records of each call, ``tool_call`` before its body runs and ``tool_result`` when it is over.

    A call that never began has both at its end, with a duration of 0. Every record has the same fields:

    - type: "tool_call" or "tool_result"
    - t: seconds since 1970 (UTC), as ``time.time()``
    - session_id, run_id, agent, call_id, tool: names and ids
    - arguments: an object; or the text that the model wrote, where nobody could read it as one
    - outcome: success, error, declined, policy_denied, cancelled or timed_out; None in a tool_call
    - error: what the model was told of a failure; None if it was none
    - duration_s: of the body, and of the hooks after it; None in a tool_call

    A call that is detached has its ``tool_result`` when it comes to its end, which may be after its run.
    Calls of a sub-agent that runs as a tool are recorded too, under its own run and name.

    Args:
        sink: An object with ``emit``, ``flush`` and ``close``, or the path of a file of JSON lines to append to.
        session_id: Stands in every record.
        pii: ``pii.log`` says what happens to personal data in arguments and errors.

    Raises:
        ConfigError: The file cannot be opened, or the sink lacks a method.

    Attributes:
        failures: How many records, flushes and closings the sink refused.
    """

    def __init__(
        self, sink: AuditSink | str | os.PathLike[str], session_id: str | None = None, *, pii: PII | None = None
    ) -> None:
        self.failures = 0
        self._sink: AuditSink = AuditFile(Path(sink)) if isinstance(sink, str | os.PathLike) else sink
        lacking = [name for name in _METHODS if not callable(getattr(self._sink, name, None))]
        if lacking:
            raise ConfigError(
                f"audit={sink!r}: it should be the path of a file, or an object with emit, flush and close; "
                f"it lacks {', '.join(lacking)}"
            )
        self._told = f"the audit trail {sink}" if isinstance(sink, str | os.PathLike) else "the audit trail"
        self._session_id = session_id
        self._log_mode = (pii or PII()).log
        self._began_s: dict[str, float] = {}
        self._detached: dict[str, events.Event] = {}
        """Calls that outlive their runs: what their detaching said."""

    def __call__(self, event: events.Event) -> None:
        match event:
            case events.ToolExecutionStart(call=call):
                self._began_s[call.id] = event.t
                self._emit("tool_call", event, call)
            case events.ToolExecutionEnd(call=call, result=ToolResult(status="detached")):
                self._detached[call.id] = event
            case events.ToolExecutionEnd(call=call, result=result):
                if call.id not in self._began_s:
                    self._emit("tool_call", event, call)
                began_s = self._began_s.pop(call.id, event.t)
                self._emit("tool_result", event, call, result, event.t - began_s)
            case events.ToolExecutionUpdate(update=events.Event() as inner):
                self(inner)
            case events.AgentEnd():
                with self._guarded():
                    self._sink.flush()

    def late(self, run_id: str, agent: str, call: ToolCall, result: ToolResult) -> None:
        """The end of a call that outlived its run: only now its result is known. Any thread."""
        now_s = time.monotonic()
        event = self._detached.pop(call.id, None)
        if event is None:
            event = events.Event(seq=0, t=now_s, run_id=run_id, agent=agent, turn=0)
        self._emit("tool_result", event, call, result, now_s - self._began_s.pop(call.id, now_s))
        with self._guarded():
            self._sink.flush()

    def close(self) -> None:
        """Closes the sink."""
        with self._guarded():
            self._sink.close()

    def _emit(
        self,
        kind: Literal["tool_call", "tool_result"],
        event: events.Event,
        call: ToolCall,
        result: ToolResult | None = None,
        duration_s: float | None = None,
    ) -> None:
        with self._guarded():
            arguments = call.arguments if call.raw is None else call.raw
            error = result.text if result is not None and result.is_error else None
            where = f"the audit of {call.name} ({call.id})"
            shown = copy.deepcopy(for_log({"arguments": arguments, "error": error}, self._log_mode, where))
            self._sink.emit(
                {
                    "type": kind,
                    "t": time.time(),
                    "session_id": self._session_id,
                    "run_id": event.run_id,
                    "agent": event.agent,
                    "call_id": call.id,
                    "tool": call.name,
                    "arguments": shown["arguments"],
                    "outcome": None if result is None else OUTCOMES[result.status],
                    "error": shown["error"],
                    "duration_s": duration_s,
                }
            )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # the builder's sink, or a disk; a run goes on without its audit
            self.failures += 1
            if self.failures == 1:
                disk = isinstance(error, OSError) and error.strerror
                logger.error(
                    "%s has gaps: %s; further failures are only counted",
                    self._told,
                    disk or "its sink failed",
                    exc_info=not disk,
                )


class AuditFile(JsonLinesFile):
    """A sink: one line of JSON a record, appended, each on its way to the disk when ``emit`` returns.

    Args:
        path: Created with mode 0600, because arguments may be anything.
        max_mb: Megabytes after which it becomes ``PATH.1``, that one ``PATH.2`` and so on.
        files: How many there are at most, this one included; the oldest goes.

    Raises:
        ConfigError: The file cannot be opened, or a limit is none.
    """

    def __init__(self, path: Path, *, max_mb: float = MAX_MB, files: int = FILES) -> None:
        super().__init__(path, max_mb=max_mb, files=files, told=f"the audit trail {path}")

    def emit(self, record: dict[str, Any]) -> None:
        """Appends a record.

        Raises:
            OSError: The disk is full, or the file is closed.
        """
        self.write(record)

    def flush(self) -> None:
        """Nothing waits here."""
