"""Keys and lines that are typed at a terminal, and the history of lines."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import platformdirs
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.vt100 import Vt100Input

from edgeagent.cli import streams


def keyboard() -> Input:
    """The keys of the terminal on stdin."""
    return _Keyboard(sys.stdin) if _is_controlling(sys.stdin.fileno()) else create_input(sys.stdin)


class _Keyboard(Vt100Input):
    def raw_mode(self) -> AbstractContextManager[None]:
        return _raw_but_ctrl_c(super().raw_mode(), self.fileno())


@contextmanager
def _raw_but_ctrl_c(raw: AbstractContextManager[None], file: int) -> Iterator[None]:
    """Raw mode, in which Ctrl-C alone is a signal, and what was typed before stays.

    A robot must not be stopped by Ctrl-Z: a stopped process stops no motor.
    """
    with raw:
        modes = termios.tcgetattr(file)
        modes[tty.LFLAG] |= termios.ISIG | termios.NOFLSH
        off = os.fpathconf(file, "PC_VDISABLE").to_bytes(1, "little")
        for key in (termios.VQUIT, termios.VSUSP):
            modes[tty.CC][key] = off
        termios.tcsetattr(file, termios.TCSANOW, modes)
        yield


def _is_controlling(file: int) -> bool:
    """True if the terminal sends its signals to this process."""
    try:
        return os.tcgetpgrp(file) == os.getpgrp()
    except OSError:
        return False


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
