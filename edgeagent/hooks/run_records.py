"""Records of a run on the disk: its messages in a journal, and everything it was shown and did in an audit log.

The log has a line of JSON for each point; ``edgeagent replay`` reads it. It is fuller than the audit trail of a
session, which knows tools only. What a line holds stands at ``AuditLogHook``.
"""

from __future__ import annotations

import copy
import dataclasses
import logging
import os
import threading
import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError, EdgeAgentError
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
from edgeagent.journal import Backlog, Durability, Journal
from edgeagent.json_lines import FILES, MAX_MB, JsonLinesFile
from edgeagent.messages import Message, ToolCall, new_id
from edgeagent.pii import PII, Mode, for_log

logger = logging.getLogger(__name__)

_ASKED: Final = "asked"


class PersistSessionHook(BaseHook):
    """Writes the messages of a run to a journal: BEFORE_TOOL, BEFORE_LLM, ON_RUN_END.

    So an assistant message is on disk before its first tool starts, and each result before the next model call, also
    where that is the call of an agent that was handed over to. A disk that fails is told once, and the run goes on: a
    robot must not stop because nobody can write down what it does. What waits is written when there is room again.

    Args:
        path: The journal; created if it is not there, and opened with the first message. Or one that is open.
        durability: As ``Journal.open``.

    Raises:
        ConfigError: ``path`` is no path.
    """

    points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.BEFORE_LLM, FirePoint.ON_RUN_END})
    priority = 2000
    """Before every other hook: what another one denies or rewrites was asked for all the same."""

    def __init__(self, path: str | os.PathLike[str] | Backlog, *, durability: Durability = "process") -> None:
        self._durability: Durability = durability
        self._backlog = path if isinstance(path, Backlog) else None
        self._path = None if isinstance(path, Backlog) else file_path("PersistSessionHook(path={})", path)
        self._lock = threading.Lock()
        self._failed = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        self.keep(ctx)
        return None

    def keep(self, ctx: AgentContext) -> None:
        """Writes what the agent that was asked has committed. Any thread."""
        state = ctx.state_of(self)
        if ctx.depth == 0:
            state[_ASKED] = ctx
        asked: AgentContext | None = state.get(_ASKED)  # a sub-agent's history is its own
        if asked is None:
            return
        with self._lock:  # sub-agents call this beside each other
            backlog = self._opened(ctx)
            if backlog is not None:
                backlog.extend(asked.history())
                self._complain(ctx, backlog.complaint())

    def close(self) -> None:
        """Gives the journal back. Safe to call again."""
        if self._backlog is not None:
            self._backlog.close()

    def _opened(self, ctx: AgentContext) -> Backlog | None:
        if self._backlog is None and self._path is not None:
            try:
                journal = Journal.open(self._path, durability=self._durability)
                try:
                    found = journal.load()
                except BaseException:
                    journal.close()
                    raise
            except EdgeAgentError as error:
                if not self._failed:
                    logger.error("%s", error)
                    self._complain(ctx, str(error))
                self._failed = True
                return None
            for notice in found.notices:
                ctx.notice("warning", notice)
            self._backlog = Backlog(journal, [message.id for message in found.messages])
        return self._backlog

    def _complain(self, ctx: AgentContext, complaint: str | None) -> None:
        if complaint is not None:
            ctx.notice("error", f"what is said now is not kept: {complaint}")


# --- the audit log ----------------------------------------------------------------------------------------------------


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
