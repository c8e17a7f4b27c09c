"""The records of a journal: one line of JSON each, with a checksum, and messages as JSON and back.

A line is ``{"kind": ..., "data": ..., "crc32": "xxxxxxxx"}``; the checksum is of the line's bytes before
``, "crc32"``. A record counts once its line end is there. Knows nothing of folders and locks.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from sys import intern
from typing import Any, BinaryIO, Final, Literal, get_args

from edgeagent.errors import EdgeAgentError
from edgeagent.messages import Message, ToolCall, ToolResult, Usage

logger = logging.getLogger(__name__)

FORMAT: Final = 1
"""Raised when an older program could not read what is written."""
BEGINNING: Final = b'{"kind": "header", '
"""Beginning of every journal, of any format."""

Kind = Literal["header", "message", "history", "heard", "usage"]
_KINDS: Final = frozenset(get_args(Kind))
_HISTORY: Final = b'{"kind": "history", '
_USAGE: Final = b'{"kind": "usage", '
"""Beginning of a line of that kind."""
_REPEATED: Final = ("role", "stop_reason", "status", "origin", "name")
"""Fields of a message whose few values are kept once: a third of the memory of a long history."""
_CHECKSUM: Final = b', "crc32": "%08x"}\n'
_CHECKSUM_LENGTH: Final = len(_CHECKSUM % 0)
_MISFITS: Final = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of fields that are missing, unknown or of another type."""


@dataclass(frozen=True, slots=True)
class Record:
    """``header``: format, session. ``message``: one message. ``history``: all messages, instead of those before.
    ``heard``: a message's id and the text that is left of it. ``usage``: the session's total so far.
    """

    kind: Kind
    data: dict[str, Any]

    def line(self) -> bytes:
        """The record as it is written.

        Raises:
            EdgeAgentError: JSON cannot hold it.
        """
        try:
            text = json.dumps({"kind": self.kind, "data": self.data}, ensure_ascii=False)
            body = text[:-1].encode("utf-8", "surrogatepass")
        except (TypeError, ValueError, RecursionError) as error:
            raise EdgeAgentError(f"a {self.kind} cannot be kept in a journal: {error}") from error
        return body + _CHECKSUM % zlib.crc32(body)


@dataclass(frozen=True, slots=True)
class Scan:
    """The good part of a journal, as far as the first line that is not as it was written.

    Attributes:
        good: Its length in bytes.
        records: Its lines.
        torn: Nothing but a piece of one record follows: something that a process was writing when it died. Otherwise
            what follows is damage.
        header: The first record, if there is one.
        alive: Where the newest ``history`` begins, in bytes; what stands before it counts no more, but the usage.
        usage: The line of the newest ``usage``; empty if there is none.
    """

    good: int = 0
    records: int = 0
    torn: bool = True
    header: Record | None = None
    alive: int = 0
    usage: bytes = b""


def scan(lines: Iterable[bytes]) -> Scan:
    """Checks every line up to the first that is not as it was written."""
    good = records = alive = 0
    first = usage = b""
    for line in lines:
        if not _is_whole(line):
            return Scan(good, records, not line.endswith(b"\n"), _header(first), alive, usage)
        if not records:
            first = line
        elif line.startswith(_HISTORY):
            alive = good
        elif line.startswith(_USAGE):
            usage = line
        good += len(line)
        records += 1
    return Scan(good, records, True, _header(first), alive, usage)


def lines_of(stream: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    """The lines from one place of a file to another, read as they are asked for; only ``\\n`` ends one."""
    stream.seek(start)
    at = start
    for line in stream:
        at += len(line)
        if at > end:
            return
        yield line


def read(lines: Iterable[bytes]) -> Iterator[Record]:
    """The records of lines that ``scan`` found good.

    Raises:
        EdgeAgentError: One is of a kind that this version does not know.
    """
    for line in lines:
        body = line[:-_CHECKSUM_LENGTH] + b"}"
        try:
            fields = json.loads(body.decode("utf-8", "surrogatepass"))
            kind, data = fields["kind"], fields["data"]
            known = kind in _KINDS
        except _MISFITS as error:
            raise _of_another_version("record", error) from error
        if not known:
            raise EdgeAgentError(f"it has a record {kind!r}, which only a newer edgeagent can read")
        yield Record(kind, data)


def _of_another_version(what: str, error: Exception) -> EdgeAgentError:
    return EdgeAgentError(f"it has a {what} of another version: {error}")


def _header(line: bytes) -> Record | None:
    return next(read([line])) if line else None


def _is_whole(line: bytes) -> bool:
    return line[-_CHECKSUM_LENGTH:] == _CHECKSUM % zlib.crc32(line[:-_CHECKSUM_LENGTH])


# --- messages as JSON -----------------------------------------------------------------------------------------------


def message_of(data: dict[str, Any]) -> Message:
    """The message that ``fields_of`` wrote. A field that is missing or unknown is a TypeError."""
    fields = dict(data)
    for name in _REPEATED:
        if fields.get(name):
            fields[name] = intern(fields[name])
    if "tool_calls" in fields:
        fields["tool_calls"] = tuple(map(_call_of, fields["tool_calls"]))
    if "usage" in fields:
        fields["usage"] = Usage(**fields["usage"])
    return Message(**fields)


def _call_of(data: dict[str, Any]) -> ToolCall:
    fields = dict(data)
    if "result" in fields:
        fields["result"] = ToolResult(**fields["result"])
    return ToolCall(**fields)


def fields_of(value: Message | ToolCall | ToolResult | Usage) -> dict[str, Any]:
    """JSON-ready fields of a message, or of a part of one, without those that have their default."""
    found = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if type(item) is type(field.default) and item == field.default:
            continue
        if field.name in ("data", "value"):
            if not _is_json(item):
                logger.warning("the %s of a message is no JSON, so the journal has the message without it", field.name)
                continue
        elif isinstance(item, tuple):
            item = [fields_of(call) for call in item]
        elif isinstance(item, ToolResult | Usage):
            item = fields_of(item)
        found[field.name] = item
    return found


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


UNKNOWN_OUTCOME: Final = "the program stopped before {name} came to its end; nobody knows how far it got"


@dataclass(frozen=True, slots=True)
class Recovered:
    """Content of a journal. ``notices`` are sentences for people: what was dropped, set aside or filled in."""

    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    notices: tuple[str, ...] = ()


def session_of(header: Record | None) -> str | None:
    """The session's id, from the first record; None if there is no record.

    Raises:
        EdgeAgentError: A newer version wrote this.
    """
    if header is None:
        return None
    try:
        written, session_id = header.data["format"], str(header.data["session_id"])
    except _MISFITS as error:
        raise _of_another_version("header", error) from error
    if not isinstance(written, int) or written > FORMAT:
        raise EdgeAgentError(f"it has format {written!r}; this edgeagent reads up to {FORMAT}")
    return session_id


def add_up(records: Iterable[Record]) -> Recovered:
    """The history as it was written, and the usage.

    Raises:
        EdgeAgentError: A record is of another version.
    """
    messages: list[Message] = []
    places: dict[str, int] | None = None  # of each message by its id; made when a record asks for it
    usage = Usage()
    for record in records:
        try:
            match record:
                case Record("message", data):
                    message = message_of(data)
                    if places is not None:
                        places[message.id] = len(messages)
                    messages.append(message)
                case Record("history", data):
                    messages, places = [message_of(item) for item in data["messages"]], None
                case Record("heard", {"message_id": message_id, "text": text}):
                    if places is None:
                        places = {message.id: place for place, message in enumerate(messages)}
                    if message_id in places:
                        messages[places[message_id]] = replace(messages[places[message_id]], text=text)
                case Record("usage", data):
                    usage = Usage(**data)
        except _MISFITS as error:
            raise _of_another_version(record.kind, error) from error
    return Recovered(tuple(messages), usage)


def with_results(messages: Sequence[Message]) -> list[Message]:
    """The same history, with one result for every call, in the order in which the calls were asked for.

    A call without one was running, or about to run, when the process died: its outcome is unknown.
    """
    askers = [i for i, message in enumerate(messages) if message.tool_calls]
    whole = list(messages[: askers[0]] if askers else messages)
    for start, end in pairwise([*askers, len(messages)]):
        asker, after = messages[start], messages[start + 1 : end]
        asked = {call.id for call in asker.tool_calls}
        results = {message.call_id: message for message in after if message.call_id in asked}
        whole.append(asker)
        whole += [results.get(call.id) or _unknown_outcome(call) for call in asker.tool_calls]
        whole += [message for message in after if message.call_id not in asked]
    return whole


def _unknown_outcome(call: ToolCall) -> Message:
    text = UNKNOWN_OUTCOME.format(name=call.name)
    return Message.tool(ToolResult(call.id, call.name, "outcome_unknown", text))
