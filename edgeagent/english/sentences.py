"""A reply cut into sentences while it streams, so that the first is spoken before the last is written.

Where it cuts depends on the text only, never on how it was split into deltas: a place that can't be judged yet waits
for what follows. `sentence-stream` is not used, because it drops white space and asterisks and so gives no offsets,
and because it waits for a whole sentence. Not thread-safe; one object a reply.
"""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from edgeagent.english.identifiers import ends_sentence
from edgeagent.english.markdown import LONGEST, STARTS, Hole, Unclear, opening

FIRST_CLAUSE_CHARS: Final = 16
"""The shortest first clause, with white space: a second of speech, in which the next sentence is made."""
FIRST_CLAUSE_WORDS: Final = 4
LIMIT: Final = 200
"""Characters after which a sentence is cut at a clause or a word."""
_SHORT: Final = 60
"""A cut at a clause leaves at least this many characters before it."""
_HARD_LIMIT: Final = 1000
"""Nothing but white space keeps a piece together beyond this."""
_LONG_GAP: Final = 64
"""White space of this length ends a sentence, whatever follows."""

_GAP: Final = re.compile(rf"\s{{0,{_LONG_GAP}}}+")
_RUN: Final = re.compile(r"[.!?…]{1,64}+[\"'”’»)\]}*_]{0,16}+")
_WIDE_RUN: Final = re.compile(r"[。！？｡]{1,64}+[”’」』）》】〕〉]{0,16}+")
_PLACE: Final = re.compile(rf"[.!?…。！？｡,;:，、；：—–\-\s{re.escape(STARTS)}]")
_MARKER: Final = re.compile(r"(?:[-*+•>]|#{1,6}|[0-9]{1,3}[.)])(?=\s)|\||```|~~~|[-*_=]{3,}(?=\s)")
_ITEM_NUMBER: Final = re.compile(r"(?:^|\n)[ \t>]*[0-9]{1,3}\.$")
_MARKER_CHARS: Final = 10
"""Characters of a line that tell whether it is a list item or the like."""
_HEAD: Final = 24
"""Characters before a point that tell whether it ends a sentence."""
_AND: Final = re.compile(r"(?:and|but)\s")


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence or a clause as it was written, with the white space after it, and its offset in the reply."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset in the reply behind the piece."""
        return self.start + len(self.text)


class SentenceStream:
    """Takes a reply as it streams and gives its sentences as soon as they are complete.

    The first clause of a reply may leave before its sentence is complete. Between pieces there is nothing but what is
    never spoken: thinking, fenced code, comments, and white space beside them.
    """

    def __init__(self, *, first_clause_chars: int | None = FIRST_CLAUSE_CHARS) -> None:
        """``first_clause_chars`` is the least length of a first clause that leaves early; None: sentences only."""
        self._first_clause_chars = first_clause_chars
        self._text = ""  # what has not left
        self._start = 0  # its offset in the reply
        self._at = 0  # what is before this in _text has been judged
        self._clause = self._word = 0  # the last places for a cut in _text
        self._line_start = True  # whether _text begins a line
        self._hole: Hole | None = None  # the hidden part in which _text begins
        self._early = first_clause_chars is not None
        self._ended = False

    def feed(self, delta: str) -> list[Piece]:
        """Takes what the model has written next; gives the pieces that are complete with it."""
        self._text += delta
        return self._judge()

    def end(self) -> list[Piece]:
        """The rest of the reply. What a fence or thinking that never closes has hidden is dropped."""
        self._ended = True
        pieces = self._judge()
        if self._hole is None:
            self._leave(len(self._text), pieces)
        self._skip(len(self._text))
        return pieces

    def _judge(self) -> list[Piece]:
        pieces: list[Piece] = []
        try:
            while self._at < len(self._text):
                if self._hole is not None:
                    self._close(self._hole)
                else:
                    self._step(pieces)
        except Unclear:
            pass
        return pieces

    def _close(self, hole: Hole) -> None:
        """Drops a hidden part up to its end."""
        assert hole.closes is not None  # noqa: S101
        closed = hole.closes.search(self._text, self._at)
        if closed and (self._ended or not hole.fence or closed.end() < len(self._text)):
            self._skip(closed.end())
            self._hole, self._line_start = None, True
            return
        # The end may have begun: keep as much as its longest beginning, and all of a run of fence characters.
        keep = len(self._text) if self._ended else max(self._at, len(self._text) - LONGEST)
        while hole.fence and not self._ended and keep > self._at and self._text[keep - 1] in "`~":
            keep -= 1
        self._skip(keep)
        raise Unclear

    def _step(self, pieces: list[Piece]) -> None:
        """Judges the next place where something may be cut or hidden."""
        found = _PLACE.search(self._text, self._at)
        if found is None:
            self._at = len(self._text)
            return
        at = self._at = found.start()
        char = self._text[at]
        if char in STARTS and (hole := opening(self._text, at, more=not self._ended)):
            self._open(hole, pieces)
            return
        cut, after = self._place(at, char)
        if cut:
            self._leave(after, pieces)
        else:
            self._at = after
            self._long(pieces)

    def _open(self, hole: Hole, pieces: list[Piece]) -> None:
        if hole.closes is None:  # only the end of thinking came: all before it was thinking
            self._skip(hole.after)
            self._line_start = True
            return
        self._leave(hole.start, pieces)
        self._at = hole.after - hole.start
        self._hole = hole

    def _place(self, at: int, char: str) -> tuple[bool, int]:
        """True if the text is cut at the second number; else the text is judged up to there."""
        if char in ".!?…":
            return self._sentence(at)
        if char in "。！？｡":
            return True, self._gap(self._run(_WIDE_RUN, at))[0]
        if char.isspace():
            return self._white(at)
        if char in ",;:，、；：—–-":
            return self._clause_end(at, char)
        return False, at + 1

    def _gap(self, at: int) -> tuple[int, str]:
        """Finds the end of white space, and the character behind it; the empty one at the end of the reply.

        Raises:
            Unclear: The white space goes on with what comes next.
        """
        found = _GAP.match(self._text, at)
        end = found.end() if found else at
        if end < len(self._text):
            return end, self._text[end]
        if not self._ended and end - at < _LONG_GAP:
            raise Unclear
        return end, ""

    def _run(self, pattern: re.Pattern[str], at: int) -> int:
        found = pattern.match(self._text, at)
        end = found.end() if found else at + 1
        if end == len(self._text) and not self._ended:
            raise Unclear
        return end

    def _sentence(self, at: int) -> tuple[bool, int]:
        end = self._run(_RUN, at)
        after, following = self._gap(end)
        if after == end and following:
            return False, end
        if after - end == _LONG_GAP or not following or self._text[end:after].count("\n") > 1:
            return not self._in_target(end), after
        run = self._text[at:end]
        marks = run.rstrip("\"'”’»)]}*_")
        if marks in (".", "!", "?"):
            quoted = len(run) > 1 and following.islower()
            goes_on = quoted or (marks == "." and not self._point_ends(at, following))
        else:
            goes_on = following.islower()
        if goes_on:
            return False, end
        return not self._in_target(end), after

    def _point_ends(self, at: int, following: str) -> bool:
        head = self._text[max(0, at - _HEAD) : at + 1]
        line_start = at <= _HEAD and self._line_start
        if following.islower() or _ITEM_NUMBER.search(head if line_start else "." + head):
            return False
        return ends_sentence(head, following)

    def _white(self, at: int) -> tuple[bool, int]:
        """White space: the end of a line before a list item, a heading or a row; of a paragraph; a place for a cut."""
        after, following = self._gap(at)
        gap = self._text[at:after]
        if after - at == _LONG_GAP or gap.count("\n") > 1:
            return bool(self._text[:at].strip()), after
        if "\n" in gap and following and not following.isalpha():
            if not self._ended and len(self._text) - after < _MARKER_CHARS and "\n" not in self._text[after:]:
                raise Unclear
            if _MARKER.match(self._text, after) or self._block_line(at):
                return bool(self._text[:at].strip()), after
        elif "\n" in gap and self._block_line(at):
            return True, after
        self._may_cut(at, after, following)
        if self._early and self._conjunction(at, after):
            return True, after
        return False, after

    def _block_line(self, at: int) -> bool:
        """True if the line that ends here is a heading, a list item or a row of a table."""
        start = self._text.rfind("\n", max(0, at - _HARD_LIMIT), at) + 1
        return bool(_MARKER.match(self._text[start:at].lstrip() + "\n"))

    def _may_cut(self, at: int, after: int, following: str) -> None:
        """Remembers a space between two words; not one beside a number, which may part it from its unit."""
        if at and self._text[at - 1].isalpha() and following.isalpha():
            self._word = after

    def _conjunction(self, at: int, after: int) -> bool:
        if not self._text.startswith(("and", "but"), after):
            rest = self._text[after:]
            if not self._ended and len(rest) < 3 and ("and".startswith(rest) or "but".startswith(rest)):
                raise Unclear
            return False
        if not self._ended and len(self._text) == after + 3:
            raise Unclear
        return _AND.match(self._text, after) is not None and self._worth(at)

    def _worth(self, end: int) -> bool:
        """True if what is before a clause's end is long enough to be spoken on its own."""
        if end < (self._first_clause_chars or 0) or self._in_target(end):
            return False
        return sum(any(map(str.isalnum, word)) for word in self._text[:end].split()) >= FIRST_CLAUSE_WORDS

    def _clause_end(self, at: int, char: str) -> tuple[bool, int]:
        text, end = self._text, at + 1
        after, following = self._gap(end)
        if not following:
            return False, end
        left = text[at - 1 : at] if at else ""
        near = left.isdigit() and following.isdigit()
        wide = char in "，、；：—"
        dash = char in "–-"
        if near or (after == end and not wide) or (dash and not left.isspace()) or not text[:at].strip():
            return False, end
        if dash and text[:at].rstrip()[-1:].isdigit():
            return False, end
        if not self._in_target(end):
            self._clause = after
            if self._early and self._worth(end):
                return True, after
        return False, end

    def _in_target(self, end: int) -> bool:
        """True if the place is inside a link's address, whose title may have spaces."""
        opened = self._text.rfind("](", max(0, end - LIMIT), end)
        return opened >= 0 and self._text.find(")", opened, end) < 0

    def _long(self, pieces: list[Piece]) -> None:
        """Cuts a sentence that is too long, at a clause if one is there, else between two words."""
        if self._at <= LIMIT:
            return
        cut = self._clause if self._clause > _SHORT else self._word
        if not cut and self._at > _HARD_LIMIT and self._text[self._at - 1].isspace():
            cut = self._at
        if cut:
            self._leave(cut, pieces, judged=self._at)

    def _leave(self, end: int, pieces: list[Piece], *, judged: int = 0) -> None:
        """Lets a piece go. What was judged behind it stays judged."""
        text = self._text[:end]
        if text.strip():
            pieces.append(Piece(text, self._start))
            self._early = False
        word, clause = self._word - end, self._clause - end
        self._skip(end)
        self._at = max(0, judged - end)
        self._word, self._clause = max(0, word), max(0, clause)

    def _skip(self, end: int) -> None:
        gone = self._text[:end]
        space = gone[len(gone.rstrip()) :]
        self._line_start = "\n" in space or (self._line_start and len(space) == len(gone))
        self._start += end
        self._text = self._text[end:]
        self._at = self._word = self._clause = 0
