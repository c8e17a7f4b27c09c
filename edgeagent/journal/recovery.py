"""Sum of the records of a journal: the history, made whole where a process died in the middle of something."""

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
    if header.data["format"] > FORMAT:
        raise EdgeAgentError(f"it has format {header.data['format']}; this edgeagent reads up to {FORMAT}")
    return str(header.data["session_id"])


def add_up(records: Iterable[Record]) -> Recovered:
    """The history as it was written, and the usage.

    Raises:
        EdgeAgentError: A record is of another version.
    """
    messages: list[Message] = []
    places: dict[str, int] | None = None  # of each message by its id; made when a record asks for it
    usage = Usage()
    for record in records:
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
