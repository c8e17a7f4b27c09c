"""The end of a command, which nothing can hold up: a small process kills this one if it does not end in time.

Python handles a signal between two steps of the main thread: what hangs there, or keeps the interpreter's lock, would
keep the command for ever. The C part of that handling writes the number of the signal into a pipe, as
``signal.set_wakeup_fd`` wants, and the process that reads the pipe needs nothing of this one. When the time begins, it
tells a thread here, which stops what moves and leaves, if Python still runs. What is left then it kills. Run as a
script, this file is that process.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

LEAVE_S: Final = 1.5
"""Seconds from a signal that ends the command to the exit without whatever hangs."""
KILL_S: Final = 1.9
"""Seconds from that signal to the kill, if no Python runs; within two the program is gone."""
END_S: Final = 10.0
"""Seconds that a command which ends by itself has for its last steps."""
_JOURNAL_S: Final = 0.2
"""Seconds for closing the journals before the exit."""
TERMINATION: Final = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command, beside Ctrl-C."""
_END: Final = 0
"""Stands in the pipe for an end without a signal; no signal has that number."""
_STAY: Final = 255
"""Stands in the pipe for a second Ctrl-C that was not meant to end the command."""
_GO_ON: Final = 254
"""Stands in the pipe for a step that is over before the command's last one."""
_SHOWN: Final = b"\x1b[?2004l\x1b[?25h\x1b[0m\r\n"
"""A terminal without bracketed paste, with a cursor, in its own colours, on a new line."""


class Watchdog:
    """Watches one command, from its first step to the last of its process.

    Args:
        again_s: A second Ctrl-C within that time ends the command.
        interrupted: Its exit code then.
        stop: Stops what moves; waits half a second at most.
        close: Closes what is open on the disk.
    """

    def __init__(
        self,
        *,
        again_s: float,
        interrupted: int,
        stop: Callable[[], object],
        close: Callable[[], object],
    ) -> None:
        self._interrupted = interrupted
        self._stop, self._close = stop, close
        self._modes = _modes()
        read, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        argv = [sys.executable, "-I", "-S", __file__, str(os.getpid()), str(again_s), _spelled(self._modes)]
        shown = 0 if self._modes is not None else subprocess.DEVNULL
        # A process inherits what is blocked: systemd may send it a signal before it has begun to ignore any.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, *TERMINATION))
        try:
            process = subprocess.Popen(argv, stdin=read, stdout=subprocess.PIPE, stderr=shown, start_new_session=True)
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(read)
        assert process.stdout is not None  # noqa: S101 - it was asked for
        self._process, self._told = process, process.stdout
        self.wire()
        os.register_at_fork(after_in_child=self._leave_to_parent)
        threading.Thread(target=self._listen, name="watchdog", daemon=True).start()

    def wire(self) -> None:
        """Has signals told to the process; again after an event loop that had them told to itself. Main thread."""
        signal.set_wakeup_fd(self._pipe, warn_on_full_buffer=False)

    def _leave_to_parent(self) -> None:
        """In the child of a fork, whose signals are none of the command's and end it as they end any process."""
        if self._pipe < 0:  # a child's child
            return
        signal.set_wakeup_fd(-1)
        os.close(self._pipe)
        self._pipe = -1
        for number in (signal.SIGINT, *TERMINATION):
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    def ending(self) -> None:
        """The command ends by itself: what is left to do has ``END_S``."""
        with suppress(OSError):
            os.write(self._pipe, bytes([_END]))

    def staying(self) -> None:
        """The last Ctrl-C does not end the command, whatever came before it."""
        with suppress(OSError):
            os.write(self._pipe, bytes([_STAY]))

    def going_on(self) -> None:
        """Begin another step, after one whose tidying up is done. A signal is not taken back."""
        with suppress(OSError):
            os.write(self._pipe, bytes([_GO_ON]))

    def _listen(self) -> None:
        """On a thread of its own: waits until the time begins, and leaves when it is over."""
        number, end_s = _END, float("inf")
        while True:
            left_s = None if end_s == float("inf") else max(0.0, end_s - time.monotonic())
            if not select.select([self._told], [], [], left_s)[0]:
                self._leave(number)
            told = os.read(self._told.fileno(), 1)
            if not told:  # nobody watches any more
                return
            number = told[0]
            if number == _STAY:
                end_s = float("inf")
            elif number == _END:
                end_s = time.monotonic() + END_S
            else:
                end_s = time.monotonic() + LEAVE_S
                self._stop()

    def _leave(self, number: int) -> None:
        closing = threading.Thread(target=self._close, name="watchdog-close", daemon=True)
        with suppress(RuntimeError):  # there is no thread to be had
            closing.start()
            closing.join(_JOURNAL_S)
        _restore(0, self._modes)
        with suppress(OSError):
            os.write(2, b"edgeagent: something did not end in time and was left behind\n")
        code = {_END: 1, signal.SIGINT: self._interrupted}.get(number, 128 + number)
        os._exit(code)


def _modes() -> Any:
    """Returns the settings of the terminal on stdin; None if there is none."""
    try:
        return termios.tcgetattr(0)
    except (OSError, termios.error):
        return None


def _spelled(modes: Any) -> str:
    """Returns the settings as a word, because a screen may have changed them before the process could read them."""
    if modes is None:
        return ""
    numbers = [*modes[:6], *(one if isinstance(one, int) else one[0] for one in modes[6])]
    return ",".join(map(str, numbers))


def _read(spelled: str) -> Any:
    numbers = [int(number) for number in spelled.split(",") if number]
    return [*numbers[:6], numbers[6:]] if numbers else None


def _restore(file: int, modes: Any) -> None:
    if modes is not None:
        with suppress(OSError, termios.error):
            termios.tcsetattr(file, termios.TCSANOW, modes)
            os.write(file, _SHOWN)


def _serve(parent: int, again_s: float, modes: Any) -> None:
    """The process: reads signals, and kills its parent when the time is over. It ends with its parent and not before,
    also where a service manager sends every process a signal."""
    for ignored in (signal.SIGINT, *TERMINATION):
        signal.signal(ignored, signal.SIG_IGN)
    interrupted_s = float("-inf")
    kill_s: float | None = None
    begun = _STAY
    """Event that the time runs for: an end, a signal, or nothing."""
    while True:
        wait_s = None if kill_s is None else max(0.0, kill_s - time.monotonic())
        if not select.select([0], [], [], wait_s)[0]:
            break
        numbers = os.read(0, 256)
        if not numbers:
            return  # the parent is gone
        for told in numbers:
            now_s, number = time.monotonic(), told
            ends = number in TERMINATION or (number == signal.SIGINT and now_s - interrupted_s <= again_s)
            if number == signal.SIGINT:
                interrupted_s = now_s
            if ends and begun in (_STAY, _END):
                kill_s = now_s + KILL_S
            elif number == _END and begun == _STAY:
                kill_s = now_s + END_S + KILL_S
            elif number == _STAY and begun == signal.SIGINT:
                kill_s, interrupted_s = None, now_s
            elif number == _GO_ON and begun == _END:
                kill_s, number = None, _STAY
            else:
                continue
            begun = number
            with suppress(OSError):
                os.write(1, bytes([number]))
    if os.getppid() == parent:
        _restore(2, modes)
        os.kill(parent, signal.SIGKILL)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), float(sys.argv[2]), _read(sys.argv[3]))
