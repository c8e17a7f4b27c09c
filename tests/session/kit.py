"""What the tests of sessions share: waiting for events with a limit, and what is read from a history."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from edgeagent import Message, RunHandle, ToolCall, ToolResult

LIMIT_S = 20.0
"""Nothing here takes longer; a test that waits so long has failed."""


def first(handle: RunHandle, kind: str) -> Any:
    """The first event of a kind, waited for."""
    event = next((event for event in handle.events() if event.kind == kind), None)
    assert event is not None, f"no {kind} came"
    return event


def opened(gate: threading.Event) -> bool:
    """Waits at a gate, which must be opened in time."""
    assert gate.wait(LIMIT_S), "nobody opened the gate"
    return True


def texts(messages: Iterable[Message]) -> list[str]:
    return [message.text for message in messages]


def on_disk(path: Path) -> list[dict[str, Any]]:
    """The messages in a journal that somebody has open; of the results of a call the last, as it is read."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    messages = [record["data"] for record in records if record["kind"] == "message"]
    last = {message["call_id"]: message for message in messages if message["role"] == "tool"}
    return [message for message in messages if message["role"] != "tool" or message is last[message["call_id"]]]


def notices(handle: RunHandle) -> list[str]:
    """What a run told people beside its reply."""
    return [event.text for event in handle.events() if event.kind == "notice"]


def exchange(task: str, reply: str, *, result: str | None = None) -> list[Message]:
    """A request and its answer, with a call between them if there is a result."""
    asked, answered = Message.user(task), Message.assistant(reply)
    if result is None:
        return [asked, answered]
    made = ToolCall(f"call_{asked.id}", "look", {})
    done = Message.tool(ToolResult(made.id, "look", "ok", result))
    return [asked, Message.assistant("", [made]), done, answered]


def assert_whole(messages: Sequence[Message]) -> None:
    """Each call has exactly one result, after it, and no result is without its call."""
    asked = [made.id for message in messages for made in message.tool_calls]
    answered = [message.call_id for message in messages if message.role == "tool"]
    assert sorted(asked) == sorted(map(str, answered))
    open_calls: set[str] = set()
    for message in messages:
        open_calls |= {made.id for made in message.tool_calls}
        if message.role == "tool":
            assert message.call_id in open_calls
