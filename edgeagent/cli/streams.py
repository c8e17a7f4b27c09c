"""stdout for answers, stderr for everything else, colour only where somebody sees it; and text from outside made fit
for a model and for a terminal."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, Literal, TextIO

from edgeagent.characters import without_escapes
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.json_lines import json_text

Tone = Literal["plain", "dim", "bold", "error", "warning", "name"]

_CODES: Final[dict[Tone, str]] = {
    "plain": "",
    "dim": "\x1b[2m",
    "bold": "\x1b[1m",
    "error": "\x1b[31m",
    "warning": "\x1b[33m",
    "name": "\x1b[36m",
}
_PACKAGE: Final = "edgeagent"
_STDOUT: Final = 1
_STDERR: Final = 2
_PIPE_WIDTH: Final = 200
_LEAST_WIDTH: Final = 30
"""Columns of wrapped text, however narrow the terminal is."""
LINE_LIMIT: Final = 1 << 20
"""Bytes of a line that are kept; no model has a window for more, and a pipe may send no line end at all."""
CLEAR_LINE: Final = "\r\x1b[2K"
"""Empties the line of the cursor."""
YES: Final = frozenset({"y", "yes", "ok", "allow"})
YES_OR_NO: Final = "[y/N]"
"""End of a question that only a clear yes answers with yes."""
TELL_EVERY_S: Final = 30.0
"""Seconds between two lines of progress where nobody sits at a terminal."""
_PATIENCE_S: Final = 0.7
"""Without a word about it, a person waits for so long."""


_kept: TextIO | None = None
"""stdout, once it is kept for answers."""


class OutputError(EdgeAgentError):
    """stdout takes no more; for example because the disk is full."""


def stdout() -> TextIO:
    """Stream of answers."""
    return _kept or sys.stdout


def keep_stdout() -> None:
    """Keeps stdout for answers: what tools, libraries and processes print there goes to stderr from now on.

    Until the end of the process, because a tool that was left behind may print until then. Where ``sys.stdout`` is not
    the process's own, nothing is done.
    """
    global _kept  # noqa: PLW0603 - as sys.stdout, there is one of a process
    try:
        own = sys.stdout.fileno() == _STDOUT
    except (
        OSError,
        ValueError,
        AttributeError,
    ):  # a program that has put something else there reads what is printed itself
        return
    if own:
        sys.stdout.flush()
        _kept = open(os.dup(_STDOUT), "w", encoding=sys.stdout.encoding, errors="replace")  # noqa: SIM115, PTH123
        os.dup2(_STDERR, _STDOUT)
        sys.stdout = sys.stderr


def coloured(stream: TextIO | None = None) -> bool:
    """True if a stream, stdout by default, is a terminal that shows colours, and nobody has asked for none
    (https://no-color.org)."""
    stream = stream or stdout()
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb" and stream.isatty()


def animated(stream: TextIO) -> bool:
    """True if the stream is a terminal on which a line can be drawn again."""
    return os.environ.get("TERM") != "dumb" and stream.isatty()


def toned(text: str, tone: Tone, stream: TextIO | None = None) -> str:
    """The text with the escape codes of its tone, line by line, if the stream, stdout by default, shows colours."""
    code = _CODES[tone]
    if not code or not coloured(stream):
        return text
    return "\n".join(f"{code}{line}\x1b[0m" for line in text.split("\n"))


def is_utf8(stream: TextIO | None = None) -> bool:
    """True if a stream, stdout by default, takes every character."""
    return ((stream or stdout()).encoding or "").lower().replace("-", "") == "utf8"


def width(stream: TextIO | None = None) -> int:
    """Columns of a terminal, that of stdout by default; enough for a long line where there is none."""
    return shutil.get_terminal_size().columns if (stream or stdout()).isatty() else _PIPE_WIDTH


def fitted(text: str, beside: int) -> list[str]:
    """The lines of a text for stdout: at a terminal they fit beside so many columns, with paths in one piece; in a pipe
    it is one line, for grep."""
    if not stdout().isatty():
        return [text]
    room = max(width() - beside, _LEAST_WIDTH)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]


def answer(text: str, tone: Tone = "plain") -> None:
    """A line on stdout, at once.

    Raises:
        BrokenPipeError: Nobody reads it any more.
        OutputError: It cannot be written.
    """
    _write(stdout(), toned(text, tone) + "\n", "the answer cannot be written")


def draw(stream: TextIO, text: str) -> None:
    """Text on a terminal, at once and without a line end.

    Raises:
        BrokenPipeError, OutputError: As ``answer``.
    """
    _write(stream, text, "the terminal is gone")


def _write(stream: IO[Any], text: Any, failure: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"{failure}: {error.strerror}") from error


def answer_json(value: Any, *, indent: int | None = None) -> None:
    """A value as JSON on stdout, in characters that it takes."""
    answer(json_text(value, ascii_only=not is_utf8(), indent=indent))


def tell(text: str, tone: Tone = "plain") -> None:
    """A line on stderr. That nobody can read it is no reason to stop a robot."""
    prompt(toned(text, tone, sys.stderr) + "\n")


def prompt(text: str) -> None:
    """Text on stderr, at once and without a line end; as ``tell``."""
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def answer_path(path: Path) -> None:
    """A path on stdout, byte for byte: another program will open it.

    Raises:
        BrokenPipeError, OutputError: As ``answer``.
    """
    bytes_of = getattr(stdout(), "buffer", None)
    if bytes_of is None:  # a program that has put something else there
        answer(str(path))
    else:
        stdout().flush()
        _write(bytes_of, os.fsencode(path) + b"\n", "the answer cannot be written")


def progress(text: str) -> None:
    """A line on stderr in the place of the one before, on a terminal only; an empty one takes that away."""
    if animated(sys.stderr):
        prompt(CLEAR_LINE + shortened(text, width(sys.stderr) - 1))


class LongWork:
    """A line about work that takes long: drawn again at a terminal, told now and then elsewhere."""

    def __init__(self) -> None:
        self._told_s = time.monotonic()

    def tell(self, text: str, *, last: bool = False) -> None:
        """Shows how far it has come.

        Args:
            last: Tell it elsewhere too, however soon it comes.
        """
        progress(text)
        if not animated(sys.stderr) and (last or time.monotonic() - self._told_s >= TELL_EVERY_S):
            self._told_s = time.monotonic()
            tell(text, "dim")

    def close(self) -> None:
        """Takes the line away."""
        progress("")


def warn(text: str) -> None:
    """A warning on stderr."""
    tell(f"warning: {text}", "warning")


def complain(text: str) -> None:
    """Tells what was wrong, on stderr."""
    tell(f"error: {text}", "error")


@contextmanager
def patience(text: str, *, always: bool = False) -> Iterator[None]:
    """Says what is waited for, if it takes a while.

    Args:
        always: Also where nobody sits at a terminal.
    """
    timer = threading.Timer(_PATIENCE_S, tell, (text, "dim"))
    timer.daemon = True
    if always or sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def own_screen() -> Iterator[None]:
    """Keeps off the terminal what libraries write to stderr past Python, such as PortAudio of a card that is gone.

    What Python writes is for ``sys.stderr`` to show, which is another stream meanwhile.
    """
    if not sys.stderr.isatty():
        yield
        return
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        _send_nowhere(_STDERR)
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)


def prepare() -> None:
    """Makes the three streams safe to use: no character is refused, stdin that is closed has ended, stderr that is
    takes everything, and stdout that is takes nothing, so an answer to it is an OutputError."""
    for name, mode, flags in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - lives as long as we
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(_StderrHandler())


def log_level(name: str) -> None:
    """Has messages of the package's loggers shown from this level on, "DEBUG" for example."""
    logging.getLogger(_PACKAGE).setLevel(name)


def told_by_events() -> None:
    """Leaves out warnings of hearing and sound, which events tell a person, unless somebody has asked for messages."""
    if logging.getLogger(_PACKAGE).level == logging.NOTSET:
        for name in ("edgeagent.stt", "edgeagent.audio"):
            logging.getLogger(name).setLevel(logging.ERROR)


def silence_stdout() -> None:
    """Drops what is still in the buffer, so that the interpreter does not complain at its end."""
    _send_nowhere(_STDOUT if _kept is None else _kept.fileno())


def _send_nowhere(descriptor: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


class _StderrHandler(logging.Handler):
    """Writes what is logged to whatever stderr is at that moment: during a chat it is drawn above the prompt."""

    def emit(self, record: logging.LogRecord) -> None:
        where = f"{record.name}: " if record.levelno < logging.WARNING else ""
        tell(f"{record.levelname.lower()}: {where}{self.format(record)}", "warning" if not where else "dim")


# --- questions to a person --------------------------------------------------------------------------------------------


def is_yes(line: str | None) -> bool:
    """True if a line is a clear yes."""
    return line is not None and line.strip().casefold() in YES


def allowed(question: str) -> bool:
    """Asks whether a command may do something.

    Raises:
        ConfigError: Nobody is there to be asked.
    """
    if not sys.stdin.isatty():
        raise ConfigError("nobody is there to be asked: say --yes")
    return is_yes(typed(question))


def typed(question: str) -> str | None:
    """Reads what is typed at a terminal; None at its end. Text from a pipe is what to ask, and no answer."""
    if not sys.stdin.isatty():
        return None
    prompt(question)
    return sys.stdin.readline() or None


# --- text from outside, and text for a terminal -----------------------------------------------------------------------


_SPACES: Final = re.compile("[\t\n\v\f\r\x85\u2028\u2029]+")
_CONTROL: Final = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def whole(text: str) -> str:
    """The text with U+FFFD for what no encoding can write: bytes of an argument that Python has hidden, and halves of
    surrogate pairs, which models write into JSON."""
    return _SURROGATES.sub("\ufffd", text)


def utterance(text: str) -> str:
    """Returns a line that somebody sent, as a model is told it: one line, without escape sequences, control characters
    or half surrogates.

    Bytes that were not UTF-8 are replacement characters afterwards. Empty means that nothing was said.
    """
    return _CONTROL.sub("", _SPACES.sub(" ", without_escapes(whole(text)))).strip()


def printable(text: str) -> str:
    """Text that moves no cursor and changes no colour, on as many lines as it has."""
    return _UNSAFE.sub("", without_escapes(whole(text)).replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """The text without line ends, for output of one line an answer."""
    return " ".join(printable(text).split("\n")).strip()


def shortened(text: str, width: int) -> str:
    """At most that many characters of a text on one line, with its indentation, the cut marked."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    flat = indent + " ".join(printable(text).split())
    return flat if len(flat) <= width else flat[: max(width - 1, 1)].rstrip() + "…"


def columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines of which the cells stand below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a stream as they come, without their ends. What is not UTF-8 is replaced; what is over the limit of
    a line is dropped."""
    while line := stream.readline(LINE_LIMIT):
        rest = line
        while len(rest) == LINE_LIMIT and not rest.endswith(b"\n"):
            rest = stream.readline(LINE_LIMIT)
        yield line.decode("utf-8", "replace").rstrip("\r\n")
