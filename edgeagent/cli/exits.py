"""Ends of a command: exit codes, signals, and errors as one line instead of a traceback."""

from __future__ import annotations

import asyncio
import atexit
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import typer

from edgeagent import extras
from edgeagent.cli import streams
from edgeagent.cli.watchdog import TERMINATION, Watchdog
from edgeagent.errors import AudioError, ConfigError, EdgeAgentError, ModelError, ToolDefinitionError

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
MODEL: Final = 3
AUDIO: Final = 4
BROKEN_PIPE: Final = 128 + signal.SIGPIPE
_WRONG_PATH: Final = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.EEXIST,
        errno.ENOTEMPTY,
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENAMETOOLONG,
        errno.ELOOP,
        errno.ENXIO,
        errno.ENODEV,
    }
)
"""Errors that another path mends, and so wrong usage; a full disk, a broken one or too many open files are not."""
_PASSING: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EADDRINUSE, errno.EADDRNOTAVAIL})
"""Errors that another start may not meet: a full disk, and an address that is taken or that comes late."""
_IMPATIENT: Final = 2
_STDERR: Final = 2
_CLOSING: Final = b"\nedgeagent: it is being closed; Ctrl-C once more leaves that undone\n"
AGAIN_S: Final = 2.0
"""Seconds within which a second Ctrl-C at a screen leaves."""

_Handler = Callable[[int, FrameType | None], object] | int | None

_owns_process = _is_late = False
_watchdog: Watchdog | None = None


def own_process() -> None:
    """Says that this process ends with its command, so that a watchdog may end the process."""
    global _owns_process  # noqa: PLW0603 - there is one process
    _owns_process = True


def watch(*, screen: bool) -> None:
    """Has a command that moves a robot watched, to the end of its process.

    Args:
        screen: Two Ctrl-C within ``AGAIN_S`` leave, with the exit code 0; else any two do, with 130.
    """
    global _watchdog  # noqa: PLW0603 - there is one process
    if not _owns_process or _watchdog is not None:
        return
    again_s, interrupted = (AGAIN_S, OK) if screen else (float("inf"), 128 + signal.SIGINT)
    try:
        _watchdog = Watchdog(again_s=again_s, interrupted=interrupted, stop=_stop_all, close=_close_all)
    except (OSError, RuntimeError) as error:
        streams.warn(f"there is no watchdog ({error}): what hangs may keep the end of this command")


def _stop_all() -> None:
    if (workers := sys.modules.get("edgeagent.tools.workers")) is not None:
        workers.halt_all("the program ends")


def _close_all() -> None:
    if (sessions := sys.modules.get("edgeagent.session.session")) is not None:
        sessions.close_journals()


@contextmanager
def ending() -> Iterator[None]:
    """Around what a command does between its first step and its tidying up, which from then on has limited time."""
    try:
        yield
    finally:
        if _watchdog is not None:
            _watchdog.ending()


def staying() -> None:
    """The last Ctrl-C does not leave, whatever came before it."""
    if _watchdog is not None:
        _watchdog.staying()


def going_on() -> None:
    """Another step begins, with as much time as it takes, after one whose tidying up is done."""
    if _watchdog is not None:
        _watchdog.going_on()


@contextmanager
def signals(loop: asyncio.AbstractEventLoop, handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Has signals handled in an event loop.

    Not by ``loop.add_signal_handler``, which takes away from the watchdog what tells it of a signal. prompt_toolkit
    does so for the size of the terminal when a prompt has begun; it looks at the size twice a second anyhow.
    """

    def take(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(handlers[signal.Signals(number)])

    before = {number: signal.signal(number, take) for number in handlers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        rewire()


def rewire() -> None:
    """Gives the watchdog back what an event loop has taken."""
    if _watchdog is not None:
        _watchdog.wire()


def passes(error: BaseException) -> bool:
    """True if an error came of a full disk, or of an address that is taken or not there yet."""
    if isinstance(error, OSError) and error.errno in _PASSING:
        return True
    return error.__cause__ is not None and passes(error.__cause__)


def code_of(error: BaseException) -> int:
    """The exit code for an error. What a model raised that is not ours is a model error too.

    A wrong setting is USAGE, which systemd does not try again; a setting that can't be used for now is FAILED.
    """
    match error:
        case ConfigError() if passes(error):
            return FAILED
        case ConfigError() | ToolDefinitionError():
            return USAGE
        case ModelError():
            return MODEL
        case AudioError():
            return AUDIO
        case EdgeAgentError():
            return FAILED
        case _:
            return MODEL


@contextmanager
def guarded(*, screen: bool = False) -> Iterator[None]:
    """Around a command: Ctrl-C, SIGTERM and SIGHUP leave it in order, errors are told in a line, the exit code is
    right, and stdout carries only what the command answers.

    A handler that raises may do so inside a lock of ``threading``, which then raises a RuntimeError of its own. So
    after a signal the way by which the command was left does not count, only the signal.

    Args:
        screen: The command draws on a terminal, where everything that is printed is shown.
    """
    streams.prepare()
    if not screen:
        streams.keep_stdout()
    received: list[int] = []

    def leave(number: int, frame: FrameType | None) -> None:
        """Leaves through every ``finally``, once: what moves is to be stopped in order. A third Ctrl-C leaves that."""
        received.append(number)
        if number == signal.SIGINT:
            if len(received) == _IMPATIENT:
                with suppress(OSError):
                    os.write(_STDERR, _CLOSING)  # a Python stream may be in the middle of something
                return
            raise KeyboardInterrupt
        for each in TERMINATION:
            signal.signal(each, signal.SIG_IGN)
        raise SystemExit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, *TERMINATION)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, leave)
    try:
        yield
    except BaseException as raised:
        error = raised
        if isinstance(raised, ModuleNotFoundError):
            error = extras.explained(raised) or raised
        if received or isinstance(error, KeyboardInterrupt):
            raise typer.Exit(128 + (received or [signal.SIGINT])[-1]) from None
        if isinstance(error, EdgeAgentError):
            streams.complain(str(error))
            if isinstance(error, streams.OutputError):
                streams.silence_stdout()
            raise typer.Exit(code_of(error)) from None
        if isinstance(error, BrokenPipeError):
            streams.silence_stdout()
            raise typer.Exit(BROKEN_PIPE) from None
        if isinstance(error, OSError) and error.errno is not None:
            streams.complain(": ".join(str(told) for told in (error.filename, error.strerror) if told is not None))
            raise typer.Exit(USAGE if error.filename is not None and error.errno in _WRONG_PATH else FAILED) from None
        raise
    finally:
        _put_back(before, late=_owns_process and bool(received))


def _put_back(before: Mapping[signal.Signals, _Handler], *, late: bool) -> None:
    """Has signals handled as before; ``late`` is after one that ended the process, whose exit code the next one must
    not change."""
    global _is_late  # noqa: PLW0603 - there is one process
    _is_late = late
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _pass if late else handler)


def leave_process(code: int) -> None:
    """Ends the process at once, if a signal has ended the command or a thread is left that Python does not wait for.

    In Python's own end no handler of a signal runs, and a daemon thread that prints then aborts the process.
    """
    left = any(thread.daemon and thread is not threading.current_thread() for thread in threading.enumerate())
    if not _is_late and not left:
        return
    if not _is_late:
        with suppress(KeyboardInterrupt):  # Ctrl-C ends the wait, and not with a traceback
            threading._shutdown()  # type: ignore[attr-defined]  # Python's own wait for threads has no other name
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _pass(number: int, frame: FrameType | None) -> None:
    """The watchdog alone takes the signal."""
