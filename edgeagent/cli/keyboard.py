"""The keyboard of a screen, where Ctrl-C is a signal: a key would wait for the event loop, and so for whatever hangs.

Knows nothing of what the signal does.
"""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from prompt_toolkit.input import Input, create_input
from prompt_toolkit.input.vt100 import Vt100Input


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
