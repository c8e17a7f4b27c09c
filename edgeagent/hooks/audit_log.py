"""Everything a run was shown and did, a line of JSON for each point; ``edgeagent replay`` reads it.

Fuller than the audit trail of a session, which knows tools only. What a line holds stands at ``AuditLogHook``.
"""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import (
    AfterLLM,
    AfterTool,
    BaseHook,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    HookResult,
    Payload,
    RunStart,
    file_path,
)
from edgeagent.json_lines import FILES, MAX_MB, JsonLinesFile
from edgeagent.messages import Message, ToolCall, new_id
from edgeagent.pii import PII, Mode, for_log

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

_REDACTED: Final = PII()


@dataclass(slots=True)
class _Run:
    """Knowledge about a run while it goes on."""

    id: str = field(default_factory=lambda: new_id("run"))
    began_s: float = field(default_factory=time.monotonic)
    seen: set[str] = field(default_factory=set)
    """Ids of the messages that were written, in this run and in those before it of the same session."""
    calls: dict[str, float] = field(default_factory=dict)
    """Monotonic time of BEFORE_TOOL, by the call's id."""
    inner: dict[int, float] = field(default_factory=dict)
    """When the parts of sub-agents began, by the ``id`` of their contexts."""


class AuditLogHook(BaseHook):
    """Appends a record at all six points, after other hooks, so that it sees what they left.

    Every record has ``t`` (seconds since 1970), ``run`` (an id), ``agent``, ``point`` and ``elapsed_s`` (since the run
    began), and besides:

    - on_run_start: depth (0 for the agent that was asked), task; None when a run continues
    - before_llm: hop, count (of messages), messages (those that no record of the session had yet), tools (names)
    - after_llm: hop, text, calls, reading (prompt, raw reply and how it was read, if the model tells)
    - before_tool: hop, call
    - after_tool: call, result (status and text), duration_s (since BEFORE_TOOL; None if the call never came there)
    - on_run_end: depth, reply, reason, abort_reason, error, usage, duration_s, messages (that no record had yet)

    Where a hook before this one ended the run or blocked a call, that point has no record; the messages and the
    result tell of it. A disk that is full is logged once and leaves gaps; it never breaks a run.

    Args:
        path: Appended to; created with mode 0600, because a run may hold anything.
        pii: ``pii.log`` says what happens to personal data; "warn" writes it and logs a warning.
        max_mb: Megabytes after which the next run begins a new file, and the old one becomes ``PATH.1``, that one
            ``PATH.2`` and so on; a run that is under way goes on in the old one, up to twice as much.
        files: How many there are at most, the current one included; the oldest goes.

    Raises:
        ConfigError: The file cannot be opened, or a limit is none.
    """

    points = frozenset(FirePoint)
    priority = -1500
    """After the cap on results: what the model sees is what is written."""

    def __init__(
        self, path: str | os.PathLike[str], *, pii: PII | Mode = _REDACTED, max_mb: float = MAX_MB, files: int = FILES
    ) -> None:
        self._path = _path(path)
        self._mode = PII.of(pii).log
        self._failed = False
        self._known: weakref.WeakKeyDictionary[object, set[str]] = weakref.WeakKeyDictionary()
        """By session: ids of the messages of its history that were written."""
        told = f"AuditLogHook(path={self._path})"
        self._file = JsonLinesFile(self._path, max_mb=max_mb, files=files, told=told)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        try:
            begins = point is FirePoint.ON_RUN_START and ctx.depth == 0
            self._file.write(self._record(point, ctx, payload), in_midst=not begins)
        except Exception as error:  # a full disk, or a builder's own object; before a tool it would keep the gate shut
            if not self._failed:
                self._failed = True
                disk = isinstance(error, OSError)
                why = getattr(error, "strerror", None) or str(error) or type(error).__name__
                logger.error("the audit log %s has gaps: %s; this is told once", self._path, why, exc_info=not disk)
        return None

    def close(self) -> None:
        """Closes the file; safe to call again. Later points are not recorded."""
        self._file.close()

    def _record(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> dict[str, Any]:
        run = self._run(point, ctx)
        now_s = time.monotonic()
        content = _content(point, ctx, payload, run, now_s)
        if point is FirePoint.ON_RUN_END and ctx.depth == 0 and ctx.session is not None:
            self._known[ctx.session] = {message.id for message in payload.messages}
        return {
            "t": time.time(),
            "run": run.id,
            "agent": ctx.agent_name,
            "point": point.value,
            "elapsed_s": _seconds(now_s - run.began_s),
            **for_log(content, self._mode, f"the audit log {self._path} at {point.value}"),
        }

    def _run(self, point: FirePoint, ctx: AgentContext) -> _Run:
        """The run that a point belongs to. A sub-agent's part belongs to the run of the agent that was asked."""
        state = ctx.state_of(self)
        run: _Run | None = state.get("run")
        if run is None or (point is FirePoint.ON_RUN_START and ctx.depth == 0):
            known = () if ctx.session is None else self._known.get(ctx.session, ())
            run = state["run"] = _Run(seen=set(known))
        if point is FirePoint.ON_RUN_START:
            run.inner[id(ctx)] = time.monotonic()
        return run


def _content(point: FirePoint, ctx: AgentContext, payload: Payload, run: _Run, now_s: float) -> dict[str, Any]:
    match payload:
        case RunStart(task=task):
            return {"depth": ctx.depth, "task": None if task is None else task.text}
        case BeforeLLM(messages=messages, tools=tools, hop=hop):
            new = _new(messages, run)
            return {"hop": hop, "count": len(messages), "messages": new, "tools": [tool.name for tool in tools]}
        case AfterLLM(text=text, tool_calls=calls, hop=hop, reading=reading):
            told = {} if reading is None else {"reading": dataclasses.asdict(reading)}
            return {"hop": hop, "text": text, "calls": [_call(call) for call in calls], **told}
        case BeforeTool(call=call, hop=hop):
            run.calls[call.id] = now_s
            return {"hop": hop, "call": _call(call)}
        case AfterTool(call=call, result=result):
            began_s = run.calls.pop(call.id, None)
            return {
                "call": _call(call),
                "result": {"status": result.status, "text": result.text},
                "duration_s": None if began_s is None else _seconds(now_s - began_s),
            }
    # on_run_end: a RunResult, which this room does not know
    return {
        "depth": ctx.depth,
        "reply": payload.reply,
        "reason": payload.reason,
        "abort_reason": payload.abort_reason,
        "error": payload.error,
        "usage": {"input_tokens": payload.usage.input_tokens, "output_tokens": payload.usage.output_tokens},
        "duration_s": _seconds(now_s - run.inner.pop(id(ctx), run.began_s)),
        "messages": _new(payload.new_messages, run),
    }


def _new(messages: Iterable[Message], run: _Run) -> list[dict[str, Any]]:
    new = [message for message in messages if message.id not in run.seen]
    run.seen.update(message.id for message in new)
    return [_message(message) for message in new]


def _message(message: Message) -> dict[str, Any]:
    """Without the fields that are empty."""
    fields = {
        "id": message.id,
        "role": message.role,
        "origin": None if message.origin == "user" else message.origin,
        "text": message.text,
        "thinking": message.thinking,
        "raw": message.raw,
        "calls": [_call(call) for call in message.tool_calls],
        "stop_reason": message.stop_reason,
        "error": message.error,
        "call_id": message.call_id,
        "name": message.name,
        "status": message.status,
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _call(call: ToolCall) -> dict[str, Any]:
    """``arguments`` is an object; or the text that the model wrote, where nobody could read it as one."""
    return {
        "id": call.id,
        "name": call.name,
        "arguments": copy.deepcopy(call.arguments) if call.raw is None else call.raw,
    }


def _seconds(seconds: float) -> float:
    return round(seconds, 6)


def _path(given: object) -> Path:
    path = file_path("AuditLogHook(path={})", given)
    if not path.parent.is_dir():
        raise ConfigError(f"AuditLogHook(path={path}): there is no folder {path.parent}; create it first")
    return path
