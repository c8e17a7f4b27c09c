"""Parts of a reply that are never spoken: thinking, fenced code, comments. Finds where they begin and end.

Works on text as a model writes it, so a part may be unclosed; the caller says whether more text may come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

#: The markers of edgeagent.llm.thinking, which this room may not import, and HTML's comment.
PAIRS: Final = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel>thought", "<channel|>"),
    ("<!--", "-->"),
)
_CLOSES: Final = tuple(closes for _, closes in PAIRS[:-1])
_MARKERS: Final = (*(opens for opens, _ in PAIRS), *_CLOSES)
LONGEST: Final = max(map(len, _MARKERS))
"""Characters of the longest marker."""

#: Where a hidden part may begin: a marker, or a run of backticks or tildes.
STARTS: Final = "<[`~"
_FENCE: Final = re.compile(r"(`{3,}+|~{3,}+)")
_LOOK_BACK: Final = 200
_LOOK_AHEAD: Final = 100
"""Characters of a line before and after a fence that are read to judge it."""
_INFO: Final = re.compile(r"[ \t]*+[^\s`]{0,40}+[ \t]*+\r?$")


@dataclass(frozen=True, slots=True)
class Hole:
    """The beginning of a hidden part, ``text[start:after]``, and how it closes. ``closes`` is None for a lone end of
    thinking, which hides all before it."""

    start: int
    after: int
    closes: re.Pattern[str] | None
    fence: bool = False


class Unclear(Exception):
    """More text is needed to tell whether a hidden part begins here."""


def _marker(text: str, at: int) -> Hole | None:
    for opens, closes in PAIRS:
        if text.startswith(opens, at):
            return Hole(at, at + len(opens), re.compile(re.escape(closes)))
    for closes in _CLOSES:
        if text.startswith(closes, at):
            return Hole(at, at + len(closes), None)
    return None


def _fence(text: str, at: int, more: bool) -> Hole | None:
    run = _FENCE.match(text, at)
    if run is None:
        short = text[at : at + 3]
        if more and at + len(short) == len(text) and len(set(short)) == 1:
            raise Unclear
        return None
    line_start = text.rfind("\n", max(0, at - _LOOK_BACK), at) + 1
    before = text[line_start:at] if line_start or at <= _LOOK_BACK else "long"
    alone = not before.strip(" \t>")
    if "```" in before or (run[0][0] == "~" and not alone):
        return None
    if more and run.end() == len(text):
        raise Unclear
    end = text.find("\n", run.end(), run.end() + _LOOK_AHEAD)
    if end < 0 and more and len(text) - run.end() < _LOOK_AHEAD:
        raise Unclear
    line = text[run.end() : end if end >= 0 else run.end() + _LOOK_AHEAD]
    info = end >= 0 and _INFO.match(line) is not None
    opens = (run[0][0] == "~" or "`" not in line) if alone else info
    # Models also close a fence at the end of a line of code, or go on in the same line after a space.
    closes = rf"{re.escape(run[0][0])}{{{len(run[0])},}}+(?=\s|\Z)"
    return Hole(at, run.end(), re.compile(closes), fence=True) if opens else None


def opening(text: str, at: int, *, more: bool) -> Hole | None:
    """The hidden part that begins exactly here, if one does.

    Raises:
        Unclear: Only with ``more``: what follows decides.
    """
    char = text[at]
    if char in "`~":
        if at and text[at - 1] == char:  # inside a run that has been judged
            return None
        return _fence(text, at, more)
    found = _marker(text, at)
    if found is None and more and len(text) - at < LONGEST:
        rest = text[at:]
        if any(marker.startswith(rest) for marker in _MARKERS):
            raise Unclear
    return found


_ANY: Final = re.compile("|".join((*map(re.escape, _MARKERS), "`{3,}+", "~{3,}+")))


def holes(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and "is a fence" of each hidden part of a whole text, in order."""
    at = shown = 0
    while found := _ANY.search(text, at):
        hole = opening(text, found.start(), more=False)
        if hole is None:
            at = found.end()
            continue
        if hole.closes is None:
            yield shown, hole.after, False
            at = shown = hole.after
            continue
        closed = hole.closes.search(text, hole.after)
        at = shown = closed.end() if closed else len(text)
        yield hole.start, at, hole.fence
