"""Cutting of a reply to what a person heard, when that is less than was said: history has no more, and a marker says
so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from edgeagent.messages import Message

INTERRUPTED: Final = "(the user interrupted here)"


def marker() -> Message:
    """Stands after a reply that was interrupted."""
    return Message.user(INTERRUPTED, origin="marker")


def cut(messages: Sequence[Message], message_id: str, text: str) -> list[Message] | None:
    """The messages with one reply cut, and a marker after it and its results. None if it is not there."""
    for i, message in enumerate(messages):
        if message.id != message_id or message.role != "assistant":
            continue
        if message.text == text:
            return list(messages)
        end = i + 1
        while end < len(messages) and messages[end].role == "tool":
            end += 1
        marked = end < len(messages) and messages[end].origin == "marker"
        return [
            *messages[:i],
            replace(message, text=text),
            *messages[i + 1 : end],
            *([] if marked else [marker()]),
            *messages[end:],
        ]
    return None
