"""History of what was typed into earlier chats, in a file that only its owner can read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import platformdirs
from prompt_toolkit.history import FileHistory, History, InMemoryHistory

from edgeagent.cli import streams

FILE: Final = "chat_history"


class ChatHistory(FileHistory):
    """A disk that is full, or a file that has gone, costs the history of this line and nothing else."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self._warned = False

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError as error:
            self._warn(error)
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except OSError as error:
            self._warn(error)

    def _warn(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            streams.warn(f"what you type is not kept for the next chat: {error.strerror}: {error.filename}")


def open_history() -> History:
    """The history of this user; one in memory where there is no folder for it, which is said."""
    try:
        path = platformdirs.user_state_path("edgeagent") / FILE
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
    except OSError as error:
        streams.warn(f"what you type is not kept for the next chat: {error.strerror}: {error.filename}")
        return InMemoryHistory()
    return ChatHistory(path)
