"""A text as it is spoken, and which piece of the source each spoken piece stands for. Values only."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """``text[start:end]`` is said for ``source[source_start:source_end]``; both with the punctuation that follows."""

    start: int
    end: int
    source_start: int
    source_end: int


@dataclass(frozen=True, slots=True)
class Speakable:
    """Text that is spoken for a source. The spans are in order, apart from one another, and hold every word of the
    text."""

    text: str
    spans: tuple[Span, ...]

    def heard(self, spoken_end: int) -> int:
        """The offset in the source up to which it has been said, once ``text[:spoken_end]`` was said.

        Only whole pieces count: in the middle of the words for "21 °C" none of it was heard. The punctuation after the
        last word makes no sound, so a piece counts without it.
        """
        said = bisect_right(self.spans, spoken_end, key=lambda span: span.end)
        if said < len(self.spans):
            span = self.spans[said]
            rest = self.text[max(spoken_end, 0) : span.end]
            if span.start < spoken_end and not any(char.isalpha() for char in rest):
                said += 1
        return self.spans[said - 1].source_end if said else 0
