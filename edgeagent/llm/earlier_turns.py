"""Earlier turns of a conversation, told in one text in front of the newest words.

A small model that writes its calls without the tags of its template imitates the dialogue that it is shown: after one
reply in words it answers every command in words, and says that it was done. Told what happened before, it decides about
each command as about a first one. Of the thirteen forms of the lines that were tried this one brought the most right
calls of Qwen2.5-Coder 0.5B, and no fewer of the 1.5B (docs/models.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from edgeagent.messages import PEOPLE, Message, Status, ToolCall

_BEGINNING: Final = "So far:"
_NEWEST: Final = "Now:"
_ASKING: Final = PEOPLE | {"handoff"}

TOLD_AS: Final[dict[Status, str]] = {
    "error": "error: ",
    "unknown": "error: ",
    "invalid": "error: ",
    "blocked": "error: ",
    "denied": "error: ",
    "timed_out": "error: ",
    "interrupted": "interrupted: ",
    "not_run": "not run: ",
    "skipped": "not run: ",
    "declined": "not run: ",
    "outcome_unknown": "outcome unknown: ",
}
"""Words in front of a result's text that tell a model what became of the call."""


def told(message: Message) -> str:
    """A tool's result as a model is told it."""
    return (TOLD_AS.get(message.status, "") if message.status else "") + message.text


def retold(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages with all that comes before the newest words of a person in one text; as they are, where nothing
    does."""
    newest = next((i for i in reversed(range(len(messages))) if _asks(messages[i])), 0)
    while newest and messages[newest - 1].role == "user":
        newest -= 1
    lines = list(map(_on_one_line, _lines(messages[:newest])))
    if not lines:
        return messages
    rules = [message for message in messages[:newest] if message.role == "system"]
    return [*rules, Message.user("\n".join([_BEGINNING, *lines, "", _NEWEST])), *messages[newest:]]


def _asks(message: Message) -> bool:
    return message.role == "user" and message.origin in _ASKING


def _lines(messages: Sequence[Message]) -> Iterator[str]:
    results = {message.call_id: message for message in messages if message.role == "tool"}
    for message in messages:
        text = _on_one_line(message.text)
        if message.role == "user":
            yield f"* The user: {text}" if message.origin in _ASKING else text
        elif message.role == "assistant":
            if text:
                yield f"* The robot: {text}"
            for call in message.tool_calls:
                yield f"* Tool {call.name} with {_given(call)}{_returned(results.get(call.id))}"


def _given(call: ToolCall) -> str:
    """The arguments of a call in words: JSON would be written where the model is to talk."""
    if call.raw is not None:
        return _on_one_line(call.raw)
    return ", ".join(f"{name} {_value(value)}" for name, value in call.arguments.items()) or "nothing"


def _value(value: object) -> str:
    return _on_one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _returned(result: Message | None) -> str:
    return "" if result is None else f": {_on_one_line(told(result))}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
