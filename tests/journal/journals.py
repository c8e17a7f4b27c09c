"""Journals for tests: what is written into one and read from it, and a disk that is full."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path

from edgeagent import Message, ToolCall, ToolResult, Usage
from edgeagent.journal import Journal, Recovered

ASKED = ToolCall("call_1", "drive", {"distance_m": 2.5})
EXCHANGE = [
    Message.user("fahr zwei Meter, bitte — 走 🤖"),
    Message("assistant", "", tool_calls=(ASKED,), stop_reason="tool_calls", thinking="two metres"),
    Message.tool(ToolResult("call_1", "drive", "ok", "arrived\n\u2028after 2.5 m")),
    Message("assistant", "I am there.", stop_reason="stop", usage=Usage(120, 5)),
]


def write(path: Path, messages: Iterable[Message]) -> None:
    with Journal.open(path) as journal:
        for message in messages:
            journal.append(message)


def load(path: Path) -> Recovered:
    with Journal.open(path) as journal:
        return journal.load()


class FullDisk:
    """``os.write`` with room for so many bytes."""

    write = staticmethod(os.write)

    def __init__(self, room: int) -> None:
        self.room = room

    def __call__(self, file: int, content: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.write(file, bytes(content)[: self.room])
        self.room -= written
        return written
