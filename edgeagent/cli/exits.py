"""How a command ends: exit codes, signals, and errors as one line instead of a traceback."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import typer

from edgeagent.cli import streams
from edgeagent.errors import AudioError, ConfigError, EdgeAgentError, ModelError, ToolDefinitionError

OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
MODEL: Final = 3
AUDIO: Final = 4
BROKEN_PIPE: Final = 128 + signal.SIGPIPE
_IMPATIENT: Final = 2
_STDERR: Final = 2
_CLOSING: Final = b"\nedgeagent: it is being closed; Ctrl-C once more leaves that undone\n"
TERMINATION: Final = (signal.SIGTERM, signal.SIGHUP)


def code_of(error: BaseException) -> int:
    """The exit code for an error. What a model raised that is not ours is a model error too."""
    match error:
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
    except BaseException as error:
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
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
