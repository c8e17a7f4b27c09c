"""Finds the end of a bracketed text, for calls that no marker closes."""

from __future__ import annotations

from typing import Final

_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}


def end_of(text: str, at: int, *, quotes: str = '"') -> int | None:
    """The place after the bracket that closes the one at ``at``; None while it is open.

    Args:
        text: What came so far.
        at: Where the opening bracket is.
        quotes: What strings stand in; brackets inside them do not count.
    """
    depth = 0
    quote = ""
    place = at
    while place < len(text):
        letter = text[place]
        if quote:
            if letter == "\\":
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in quotes:
            quote = letter
        elif letter in _CLOSES:
            depth += 1
        elif letter in _CLOSES.values():
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    return None


def skip_blanks(text: str, at: int) -> int:
    """The first place from ``at`` on that is no blank."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def escape_line_breaks(text: str, quotes: str) -> str:
    """The text with every line break inside a string escaped, for a parser that allows none there."""
    parts: list[str] = []
    quote = ""
    place = 0
    while place < len(text):
        letter = text[place]
        if quote and letter == "\\":
            parts.append(text[place : place + 2])
            place += 2
            continue
        if letter in quotes and (not quote or letter == quote):
            quote = "" if quote else letter
        parts.append("\\n" if quote and letter == "\n" else letter)
        place += 1
    return "".join(parts)
