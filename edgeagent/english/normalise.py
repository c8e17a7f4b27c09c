"""Text of a reply as a voice reads it: the rules in their order."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from edgeagent.english import identifiers, numbers, quantities
from edgeagent.english.markdown import mask
from edgeagent.english.numbers import CLAUSE, DROP, FRACTIONS, STOP, WORD, Rule, rules
from edgeagent.english.word_data import lists


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


# ruff: noqa: RUF001 - text has dashes and the like that look alike


_READ: Final = lists("signs")
_SPACES: Final = re.compile(r"\s++")
_WORD: Final = re.compile(WORD)
_INTEGER: Final = re.compile(r"(?<![0-9])(?<![0-9][.,:/])[0-9]++(?![.,:/][0-9])")
_RUN: Final = re.compile(f"[{CLAUSE}{STOP}]|[^\\s{CLAUSE}{STOP}]++")
_MARKUP: Final = str.maketrans(dict.fromkeys("*_`#~|[]{}<>\\^=•"))
_SIGNS: Final = "+-−±~≈$€£¥₹.("


def _long(found: re.Match[str]) -> str | None:
    text, start, end = found.string, found.start(), found.end()
    left, right = text[max(0, start - 2) : start].strip(), text[end : end + 2].strip()
    return _LONG[found[0]] if left and right else None


_SYMBOL_RULES: Final = rules((r"--?>|=>|==|!=|<=|>=|&&", _long))
_AT_DIGITS: Final = (
    *identifiers.CODE_DIGIT_RULES,
    *quantities.DATE_RULES,
    *quantities.TIME_RULES,
    *quantities.FRACTION_RULES,
    *numbers.RULES,
    *identifiers.DIGIT_RULES,
    *quantities.RULES,
    *identifiers.MIXED_RULES,
)
_AT_SIGNS: Final = (
    *numbers.RULES,
    *quantities.RULES,
    *identifiers.DOT_RULES,
    *identifiers.PATH_RULES,
    *_SYMBOL_RULES,
)
_AT_LETTERS: Final = (
    *quantities.DATE_WORD_RULES,
    *identifiers.ABBREVIATION_RULES,
    *quantities.WORD_RULES,
    *identifiers.WORD_RULES,
)
_AT_OTHERS: Final = (
    *quantities.WORD_RULES,
    *identifiers.PATH_RULES,
    *_SYMBOL_RULES,
)
_PLAIN: Final = re.compile(r"[A-Za-z][a-z]++(?=[\s,;!?)])")
"""Most words of most replies; no rule reads them otherwise, but for a few."""
_NOT_PLAIN: Final = quantities.DATE_NAMES | set(identifiers.POINTLESS) | {"et", "Et", "min", "sec", "hr"}


#: Punctuation of all scripts as what a voice knows.
_PAUSES: Final = {
    ",": ",", ";": ";", ":": ":", ".": ".", "!": "!", "?": "?", CLAUSE: ",", STOP: ".",
    "，": ",", "、": ",", "；": ";", "：": ":", "。": ".", "！": "!", "？": "?", "．": ".", "｡": ".",
    "؟": "?", "،": ",", "؛": ";", "।": ".", "॥": ".", "۔": ".", "…": ".", "‼": "!", "⁇": "?", "⁈": "?", "⁉": "!",
}  # fmt: skip
_STRENGTH: Final = {"": 0, ",": 1, ";": 2, ":": 2, ".": 3, "!": 4, "?": 5}
_BRACKETS: Final = "()（）"
_DASHES: Final = "-‒–—―−"

_BETWEEN: Final[dict[str, str]] = _READ.table("between")
_LONE_SYMBOLS: Final[dict[str, str]] = _READ.table("lone_symbols")
_LONG: Final[dict[str, str]] = _READ.table("long")
_OPERANDS: Final = ")]²³°%"

_DOTS: Final = re.compile(r"\.{2,}+|…++")


class _Spoken:
    """The words so far, each with the punctuation behind it and its place in what is seen."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.marks: list[str] = []
        self.places: list[tuple[int, int]] = []

    def say(self, words: str, start: int, end: int) -> None:
        self.words.append(words)
        self.marks.append("")
        self.places.append((start, end))

    def pause(self, mark: str, start: int, end: int) -> None:
        """Punctuation belongs to the word before it; the stronger stays."""
        if not self.words:
            return
        if _STRENGTH[mark] > _STRENGTH[self.marks[-1]]:
            self.marks[-1] = mark
        first, last = self.places[-1]
        if last == start:
            self.places[-1] = (first, end)

    def spans(self, offsets: list[int], seen: str) -> Iterator[Span]:
        """The places in the text and in the source. What closes a word in the source without being said, such as
        quotes, brackets and emphasis, belongs to its piece."""
        at = 0
        for index, (words, mark, (start, end)) in enumerate(zip(self.words, self.marks, self.places, strict=True)):
            after = at + len(words) + len(mark)
            limit = offsets[self.places[index + 1][0]] if index + 1 < len(self.places) else len(seen)
            source_end = offsets[end - 1] + 1
            while source_end < limit and _closes(seen[source_end]):
                source_end += 1
            yield Span(at, after, offsets[start], source_end)
            at = after + 1

    def text(self) -> str:
        """The words and their punctuation."""
        return " ".join(map("".join, zip(self.words, self.marks, strict=True)))


def _closes(char: str) -> bool:
    return char == DROP or not (char.isspace() or char.isalnum() or char in (CLAUSE, STOP))


def speakable(source: str, language: str = "en") -> Speakable:
    """Returns what is read aloud of a reply, or of a piece of one. Takes any text and time in proportion to its length.

    English only has the full rules. In other languages Markdown, code, thinking and emoji are taken out, integers are
    put in words where `unicode_rbnf` knows the language, and all else is left to the voice.
    """
    seen = mask(source)
    offsets = [at for at, char in enumerate(seen) if char != DROP]
    text = seen.replace(DROP, "")
    spoken = _english(text) if re.split("[-_]", language)[0].lower() == "en" else _other(text, language)
    return Speakable(spoken.text(), tuple(spoken.spans(offsets, seen)))


def _english(text: str) -> _Spoken:
    spoken = _Spoken()
    at = 0
    while at < len(text):
        if spaces := _SPACES.match(text, at):
            at = spaces.end()
        elif (plain := _PLAIN.match(text, at)) and plain[0] not in _NOT_PLAIN:
            spoken.say(plain[0], at, plain.end())
            at = plain.end()
        else:
            at = _piece(text, at, spoken)
    return spoken


def _piece(text: str, at: int, spoken: _Spoken) -> int:
    """Reads one piece that begins here, and gives where the next one begins."""
    for rule in _rules(text[at]):
        found = rule.pattern.match(text, at)
        if found and found.end() > at and (words := rule.say(found)) is not None:
            if words:
                spoken.say(words, at, found.end())
            return found.end()
    if word := _WORD.match(text, at):
        spoken.say(word[0], at, word.end())
        return word.end()
    if dots := _DOTS.match(text, at):
        # In the middle of a sentence they are a short pause.
        goes_on = text[dots.end() : dots.end() + 2].lstrip()[:1].islower()
        spoken.pause("," if goes_on else ".", at, dots.end())
        return dots.end()
    if words := _sign(text, at):
        spoken.say(words, at, at + 1)
    elif text[at] == STOP and spoken.marks[-1:] in ([":"], [";"]):
        pass  # a colon before a list stays a colon
    elif mark := _mark(text, at):
        spoken.pause(mark, at, at + 1)
    return at + 1


def _rules(char: str) -> tuple[Rule, ...]:
    if char.isdigit() or char in FRACTIONS:
        return _AT_DIGITS
    if char in _SIGNS:
        return _AT_SIGNS
    return _AT_LETTERS if char.isalpha() else _AT_OTHERS


def _side(char: str) -> bool:
    return char.isalnum() or char in _OPERANDS


def _sign(text: str, at: int) -> str | None:
    """The words for a symbol, seen between its neighbours, or None where it says nothing."""
    char = text[at]
    left, right = text[max(0, at - 2) : at], text[at + 1 : at + 3]
    near_left, near_right = left[-1:], right[:1]
    far_left = left.rstrip()[-1:] or " "
    far_right = right.lstrip()[:1] or " "
    if char in _LONE_SYMBOLS:
        return _LONE_SYMBOLS[char]
    if char == "#":
        return _hash(near_left, near_right)
    if char == "/":
        return _slash(text, at)
    numbers = far_left.isdigit() and far_right.isdigit()
    if char in _DASHES and near_left == near_right == " " and numbers:
        return "to" if char in "–—" else "minus"
    if char in "-–—" and _between_times(text, at):
        return "to"
    if char in _BETWEEN:
        return _operator(char, far_left, far_right)
    return None


def _operator(char: str, left: str, right: str) -> str | None:
    if char == "+" and left.isalnum() and not right.isalnum():
        return "plus"
    if char in "<>≤≥" and right.isdigit() and not _side(left):
        return _BETWEEN[char].removeprefix("is ")
    sides = _side(left) and (right.isalnum() or right in "(√-−.$€£∞")
    return _BETWEEN[char] if sides and right != " " else None


def _hash(left: str, right: str) -> str | None:
    if left.isalnum():
        return "sharp" if left.isalpha() and not right.isalnum() else None
    return "number" if right.isdigit() else "hashtag" if right.isalpha() else None


def _slash(text: str, at: int) -> str | None:
    left, right = text[max(0, at - 16) : at], text[at + 1 : at + 17]
    if left[-1:] == " " and right[:1] == " " and left.rstrip()[-1:].isdigit() and right.lstrip()[:1].isdigit():
        return "divided by"
    before, after = re.search(r"[^\W_]+$", left), re.match(r"[^\W_]+", right)
    if not before or not after or "or" in (before[0], after[0]):
        return None
    if after[0] in _READ.rates:
        return "per"
    return "or" if before[0].islower() and after[0].islower() and len(before[0]) > 1 < len(after[0]) else None


def _between_times(text: str, at: int) -> bool:
    """True if a dash stands between times of day, or digits and what is no number."""
    left, right = text[max(0, at - 6) : at].rstrip(), text[at + 1 : at + 7].lstrip()
    return bool(re.search(r":[0-9]{2}$|[0-9] ?[AaPp][Mm]$", left) and re.match("[0-9]", right))


def _mark(text: str, at: int) -> str | None:
    """The punctuation that a character makes, or None for none."""
    char = text[at]
    if char in _PAUSES:
        return _PAUSES[char]
    if char in _BRACKETS:
        touches = text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
        return None if touches or (char == "(" and at and text[at - 1].isalnum()) else ","
    if char in _DASHES:
        return None if text[at + 1 : at + 2].isalnum() and char in "-−" else ","
    return None


def _other(text: str, language: str) -> _Spoken:
    spoken = _Spoken()
    for run in _RUN.finditer(text):
        if all(char in _PAUSES for char in run[0]):
            spoken.pause(_PAUSES[run[0][0]], run.start(), run.end())
            continue
        words = _INTEGER.sub(lambda found: numbers.in_language(found[0], language), run[0]).translate(_MARKUP)
        if words:
            spoken.say(words, run.start(), run.end())
    return spoken
