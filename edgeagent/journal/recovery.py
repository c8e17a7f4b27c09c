"""What the records of a journal add up to: the history, made whole where a process died in the middle of something."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from edgeagent.errors import EdgeAgentError
from edgeagent.journal.records import FORMAT, Record, message_of
from edgeagent.messages import Message, ToolCall, ToolResult, Usage

UNKNOWN_OUTCOME: Final = "the program stopped before {name} came to its end; nobody knows how far it got"


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a journal holds. ``notices`` are sentences for people: what was dropped, set aside or filled in."""

    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    notices: tuple[str, ...] = ()
    written: int = 0
    """How many messages the file has, those included that a later record replaced."""


def session_of(records: Iterable[Record]) -> str | None:
    """The session's id, from the header; None if there is no record.

    Raises:
        EdgeAgentError: A newer version wrote this.
    """
    for header in records:
        if header.data["format"] > FORMAT:
            raise EdgeAgentError(f"it has format {header.data['format']}; this edgeagent reads up to {FORMAT}")
        return str(header.data["session_id"])
    return None


def add_up(records: Iterable[Record]) -> Recovered:
    """The history as it was written, and the usage.

    Raises:
        EdgeAgentError: A record is of another version.
    """
    messages: list[Message] = []
    usage, written = Usage(), 0
    for record in records:
        match record:
            case Record("message", data):
                messages.append(message_of(data))
                written += 1
            case Record("history", data):
                messages = [message_of(item) for item in data["messages"]]
                written += len(messages)
            case Record("heard", {"message_id": message_id, "text": text}):
                messages = [replace(m, text=text) if m.id == message_id else m for m in messages]
            case Record("usage", data):
                usage = Usage(**data)
    return Recovered(tuple(messages), usage, written=written)


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
