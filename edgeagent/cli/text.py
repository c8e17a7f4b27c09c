"""Text from outside and text for a terminal: what people and pipes send, and what may be shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

from edgeagent.characters import without_escapes

LINE_LIMIT: Final = 1 << 20
"""Bytes of a line that are kept; no model has a window for more, and a pipe may send no line end at all."""
CLEAR_LINE: Final = "\r\x1b[2K"
"""Empties the line of the cursor."""
METER_CELLS: Final = 20
"""Columns of a meter of sound."""
METER_EVERY_S: Final = 0.09
"""Seconds between two drawings of a meter."""

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
