"""Processes that end with the process that started them, whichever way that one ends.

Standard library only, because it is the first thing that such a process loads. As a program it becomes another program:
``parent.py PID COMMAND...``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
"""``prctl(2)``: the signal that this process gets when the thread that started it ends. It outlives ``execve``."""


def die_with(parent: int) -> None:
    """Has the kernel kill this process when the thread that started it ends, even while an engine hangs in C."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def dying_with_us(command: Sequence[str]) -> list[str]:
    """The arguments that run a command which ends with this process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - the words are the caller's
