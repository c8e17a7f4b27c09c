"""Reads what ``AuditLogHook`` wrote: runs, their turns, and what each call came to.

Knows nothing of how it is shown. A record that a crash tore is passed over; anything else that is no record is an
error with its line.
"""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from edgeagent.errors import EdgeAgentError
from edgeagent.hooks.hook import FirePoint
from edgeagent.messages import Reading, Step

_TORN: Final = b'{"t": '
"""Beginning of every record, so also one that was cut."""
_LATEST_T: Final = 253_402_300_800
"""Seconds since 1970 at the end of the year 9999."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call. Without a ``status`` the log ends before it was over; without ``duration_s`` it never began."""

    id: str
    name: str
    arguments: dict[str, Any] | str
    status: str | None = None
    text: str = ""
    began_s: float | None = None
    """Since the run began."""
    duration_s: float | None = None


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One model call and what it asked for. Without ``model_s`` the model did not answer."""

    number: int
    agent: str
    began_s: float
    """Since the run began."""
    model_s: float | None
    messages: int
    """Number of messages that the model was shown."""
    text: str
    calls: tuple[CallRecord, ...]
    reading: Reading | None = None
    """Prompt, raw reply and how it was read; None where the log does not tell."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run, sub-agents included. Without a ``reason`` the log ends before it was over."""

    id: str
    agent: str
    t: float
    """Seconds since 1970 at which it began."""
    task: str | None
    turns: tuple[TurnRecord, ...]
    reply: str
    reason: str | None
    abort_reason: str | None
    error: str | None
    input_tokens: int
    output_tokens: int
    elapsed_s: float
    """Until its last record."""

    @property
    def model_s(self) -> float:
        """Seconds in which a model worked."""
        return _covered(_model_spans(self.turns))

    @property
    def tools_s(self) -> float:
        """Seconds in which tools worked and no model did; two at once count once."""
        models = _model_spans(self.turns)
        return _covered([*models, *_tool_spans(self.turns)]) - _covered(models)

    @property
    def other_s(self) -> float:
        """The rest."""
        return max(self.elapsed_s - self.model_s - self.tools_s, 0.0)


def read(path: str | os.PathLike[str]) -> Iterator[RunRecord]:
    """The runs of a file, each as soon as its last record is read; at the end those that never ended.

    Raises:
        OSError: The file cannot be read.
        EdgeAgentError: A line is no record of an audit log; the text has its number.
    """
    open_runs: dict[str, _OpenRun] = {}
    with open(path, "rb") as file:  # noqa: PTH123  a generator reads it line by line
        for number, line in enumerate(file, start=1):
            record = _record(line, path, number)
            if record is None:
                continue
            try:
                run = open_runs.setdefault(record["run"], _OpenRun(record))
                run.take(record)
                ended = run.ended
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise _no_record(path, number) from error
            if ended:
                yield open_runs.pop(record["run"]).closed()
    for run in open_runs.values():
        yield run.closed()


def _record(line: bytes, path: str | os.PathLike[str], number: int) -> dict[str, Any] | None:
    """A line as a record; None for an empty one and a torn one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        if not line.strip(b" \r\n\0") or line.startswith(_TORN) or _TORN.startswith(line):
            return None
        raise _no_record(path, number) from error
    if not isinstance(record, dict) or not isinstance(record.get("run"), str):
        raise _no_record(path, number)
    if record.get("point") not in set(FirePoint) or not _is_time(record.get("t"), _LATEST_T):
        raise _no_record(path, number)
    if not isinstance(record.get("agent"), str) or not _is_time(record.get("elapsed_s"), _LATEST_T):
        raise _no_record(path, number)
    return record


def _is_time(value: object, latest: float) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value < latest


def _no_record(path: str | os.PathLike[str], number: int) -> EdgeAgentError:
    return EdgeAgentError(
        f"{os.fspath(path)}:{number}: this line is no record of an audit log; --audit FILE and AuditLogHook write one"
    )


class _OpenRun:
    """A run as far as its records were read."""

    def __init__(self, first: dict[str, Any]) -> None:
        self._first = first
        self._turns: list[TurnRecord] = []
        """Without their calls."""
        self._of_agent: dict[str, int] = {}
        """The turn that each agent is in, by its place in ``_turns``; sub-agents may work side by side."""
        self._calls: dict[str, CallRecord] = {}
        self._asked: dict[str, int] = {}
        """The turn that each call belongs to."""
        self._last = first
        self._end: dict[str, Any] = {}

    @property
    def ended(self) -> bool:
        """True if the agent that was asked has ended."""
        return bool(self._end) and self._end["depth"] == 0

    def take(self, record: dict[str, Any]) -> None:
        self._last = record
        agent, elapsed_s = record["agent"], float(record["elapsed_s"])
        at = self._of_agent.get(agent)
        match FirePoint(record["point"]):
            case FirePoint.BEFORE_LLM:
                self._read_messages(record["messages"], at)
                self._of_agent[agent] = number = len(self._turns)
                self._turns.append(TurnRecord(number + 1, agent, elapsed_s, None, int(record["count"]), "", ()))
            case FirePoint.AFTER_LLM if at is not None:
                model_s = max(elapsed_s - self._turns[at].began_s, 0.0)
                text, reading = str(record["text"]), _reading(record.get("reading"))
                self._turns[at] = replace(self._turns[at], model_s=model_s, text=text, reading=reading)
                self._add_calls(at, record["calls"])
            case FirePoint.BEFORE_TOOL if at is not None:
                self._add_calls(at, [record["call"]])
                self._change(record["call"]["id"], began_s=elapsed_s)
            case FirePoint.AFTER_TOOL if at is not None:
                self._add_calls(at, [record["call"]])
                status, text = str(record["result"]["status"]), str(record["result"]["text"])
                duration_s = None if record["duration_s"] is None else float(record["duration_s"])
                self._change(record["call"]["id"], status=status, text=text, duration_s=duration_s)
            case FirePoint.ON_RUN_END:
                self._read_messages(record["messages"], at)
                self._end = record

    def _change(self, call_id: str, **fields: Any) -> None:
        self._calls[call_id] = replace(self._calls[call_id], **fields)

    def _add_calls(self, at: int, calls: Iterable[dict[str, Any]]) -> None:
        """New ones, and the arguments that a known one has now: hooks may have changed them."""
        for call in calls:
            call_id, name, arguments = call["id"], call["name"], call["arguments"]
            if call_id in self._calls:
                self._change(call_id, name=name, arguments=arguments)
            else:
                self._calls[call_id], self._asked[call_id] = CallRecord(call_id, name, arguments), at

    def _read_messages(self, messages: list[dict[str, Any]], at: int | None) -> None:
        """Reads what no point told: replies of a run that a hook ended, results of calls that never ran."""
        for message in messages:
            call = self._calls.get(message.get("call_id", ""))
            if call is not None and call.status is None:
                self._change(call.id, status=str(message["status"]), text=str(message.get("text", "")))
            if message["role"] != "assistant" or at is None:
                continue
            if self._turns[at].model_s is None and not self._turns[at].text:
                self._turns[at] = replace(self._turns[at], text=str(message.get("text", "")))
                self._add_calls(at, message.get("calls", []))

    def _closed_turns(self) -> Iterator[TurnRecord]:
        calls: defaultdict[int, list[CallRecord]] = defaultdict(list)
        for call_id, at in self._asked.items():
            calls[at].append(self._calls[call_id])
        for at, turn in enumerate(self._turns):
            yield replace(turn, calls=tuple(calls[at]))

    def closed(self) -> RunRecord:
        usage = self._end.get("usage", {})
        elapsed_s = float(self._last["elapsed_s"])
        return RunRecord(
            id=self._first["run"],
            agent=self._first["agent"],
            t=self._first["t"] - self._first["elapsed_s"],
            task=self._first.get("task"),
            turns=tuple(self._closed_turns()),
            reply=str(self._end.get("reply", "")),
            reason=self._end.get("reason"),
            abort_reason=self._end.get("abort_reason"),
            error=self._end.get("error"),
            input_tokens=int(usage.get("input_tokens", 0)),
            output_tokens=int(usage.get("output_tokens", 0)),
            elapsed_s=elapsed_s,
        )


def _reading(told: dict[str, Any] | None) -> Reading | None:
    if told is None:
        return None
    steps = tuple(Step(str(step["part"]), str(step["verdict"])) for step in told["steps"])
    refused = tuple(str(token) for token in told["refused"])
    return Reading(
        **{**told, "prompt": str(told["prompt"]), "raw": str(told["raw"]), "steps": steps, "refused": refused}
    )


Span = tuple[float, float]


def _model_spans(turns: Iterable[TurnRecord]) -> list[Span]:
    return [(turn.began_s, turn.began_s + turn.model_s) for turn in turns if turn.model_s is not None]


def _tool_spans(turns: Iterable[TurnRecord]) -> list[Span]:
    return [
        (call.began_s, call.began_s + call.duration_s)
        for turn in turns
        for call in turn.calls
        if call.began_s is not None and call.duration_s is not None
    ]


def _covered(spans: Iterable[Span]) -> float:
    """Seconds in at least one of the spans."""
    covered, end = 0.0, -math.inf
    for left, right in sorted(spans):
        covered += max(right - max(left, end), 0.0)
        end = max(end, right)
    return covered
