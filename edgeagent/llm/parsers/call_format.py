"""Protocol of a tool-call format, and the brackets that formats without a closing marker look for.

The seam between the stream gate and the files beside this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from edgeagent.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Found:
    """Calls that stand in the first ``end`` characters of the text. A call that could not be read has ``raw`` set."""

    end: int
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class NotACall:
    """The first ``end`` characters are text after all."""

    end: int


class CallFormat(Protocol):
    """Form in which one family of models writes its calls. Stateless, so any thread may use it."""

    @property
    def name(self) -> str:
        """Name that ``LlamaLLM(tool_format=...)`` and the catalogue give the format."""
        ...

    @property
    def openers(self) -> tuple[str, ...]:
        """Texts with which a call may begin, wherever they stand."""
        ...

    @property
    def start_openers(self) -> tuple[str, ...]:
        """Single characters with which a call may begin, but only where the reply does, or after another call."""
        ...

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts of control tokens that the parser needs to see in a reply."""
        ...

    def matches(self, template: str) -> bool:
        """True if a template's source has the texts that this format needs; ``detect_format`` makes sure."""
        ...

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """Read the calls at the start of ``text``, which begins with an opener; None while more text could decide it.

        With ``final`` nothing follows, and the answer is never None. What is certainly a call but can't be read comes
        as a call with ``raw``, so that the loop can tell the model.
        """
        ...


_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}
_DEEPEST: Final = 50
"""Levels of the deepest JSON in which a call is looked for. Work grows as this number times the length of a text."""
_SIGNS: Final = {quotes: re.compile(rf"[{quotes}\\{{}}\[\]()]") for quotes in ('"', "\"'")}
"""Characters at which a bracket or a string may begin or end, by the quotes of strings."""


def end_of(text: str, at: int, *, quotes: str = '"') -> int | None:
    """The place after the bracket that closes the one at ``at``; None while it is open.

    Args:
        text: What came so far.
        at: Where the opening bracket is.
        quotes: What strings stand in; brackets inside them do not count.
    """
    return next((end for begin, end in _pairs(text, at, quotes) if begin == at), None)


def ends_from(text: str, at: int) -> dict[int, int | None]:
    """The ends of the bracket at ``at`` and of all that stand behind it, in one pass; None of one that never closes,
    and of one with more than ``_DEEPEST`` levels in it. Those in its strings and behind a backslash are left out."""
    ends: dict[int, int | None] = {}
    inside: list[tuple[int, int]] = []  # brackets that have closed, each with its levels
    for begin, end in _pairs(text, at, '"', every=True):
        levels = 1
        while inside and inside[-1][0] > begin:
            levels = max(levels, inside.pop()[1] + 1)
        inside.append((begin, levels))
        ends[begin] = end if levels <= _DEEPEST else None
    return ends


def _pairs(text: str, at: int, quotes: str, *, every: bool = False) -> Iterator[tuple[int, int | None]]:
    """The brackets from a place on with their ends, as they close; with ``every`` also those that never do."""
    open_at: list[int] = []
    quote = ""
    place = at
    while sign := _SIGNS[quotes].search(text, place):
        letter, place = sign[0], sign.end()
        if letter == "\\":
            place += bool(quote) or every
        elif quote:
            if letter == quote:
                quote = ""
        elif letter in quotes:
            quote = letter
        elif letter in _CLOSES:
            open_at.append(sign.start())
        elif letter in _CLOSES.values() and open_at:
            yield open_at.pop(), place
    if every:
        yield from ((begin, None) for begin in open_at)


def skip_blanks(text: str, at: int) -> int:
    """The first place from ``at`` on that is no blank."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at
