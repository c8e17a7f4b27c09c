"""Copies of a history for whoever asks, and a reply cut to what was heard of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from operator import is_
from typing import Any, Final

from edgeagent.messages import Message, copied

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


class Copies:
    """Copies are given out, so that what a hook, a subscriber or a model changes reaches neither history nor a later
    request.

    Copying all of a long history for every request would take longer than the rest of a turn. So what was copied for
    the last request serves again, as long as nobody has changed it: then all of it is copied anew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._messages: list[Message] = []
        self._copies: list[Message] = []
        self._arguments: list[dict[str, Any]] = []
        """Of all calls in the messages: all that can be changed in them, beside their data."""
        self._copied_arguments: list[dict[str, Any]] = []
        self._with_data: list[int] = []
        """Where there are data, which are copied each time: a builder's own need not be comparable."""

    def of(self, messages: Sequence[Message]) -> list[Message]:
        with self._lock:
            known = len(self._messages)
            same = len(messages) >= known and all(map(is_, self._messages, messages))
            if not same or self._arguments != self._copied_arguments:
                self._forget()
                known = 0
            self._take(messages[known:])
            copies = list(self._copies)
            with_data = list(self._with_data)
        for i in with_data:
            copies[i] = messages[i].copy()
        return copies

    def _take(self, messages: Sequence[Message]) -> None:
        known = len(self._messages)
        self._messages += messages
        self._copies += copied(messages)
        changeable = [i for i, m in enumerate(messages, known) if m.tool_calls or m.data is not None]
        for i in changeable:
            if self._messages[i].data is not None:
                self._with_data.append(i)
            else:
                self._arguments += [call.arguments for call in self._messages[i].tool_calls]
                self._copied_arguments += [call.arguments for call in self._copies[i].tool_calls]
