"""English as data: word lists, and rows of patterns with their answers and examples. The first row that fits decides.

Lists stand in ``words/``, one file for each kind of rule, read once when first wanted. A list is a string of words.
``@name`` in it stands for the words of another list of the same file, ``@file.name`` of another file; a minus before a
word or before the ``@`` takes words away. A string with commas holds phrases, one with bars holds rows. A table holds
pairs.

Rows stand in ``words/rows.toml``, one a line: answer | said | rest | among | example. Said and rest are two patterns;
the table says of what. An empty pattern fits anything. A pattern has one element for each word:

    go/drive    one of these words          @verbs      a word of a class         @verbs/-go   but this one
    !@verbs     any other word              _           any word                  ...          any words, or none
    #           a number                    #:          a number or a time        &wh_alone    one of these phrases
    $           nothing                     ...@verbs   any words of a class, or none
    *s          any word with this ending

Among holds an element that some word must fit, or with ``!`` none may. Pure functions, on any thread.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

Phrase = tuple[str, ...]

_FOLDER: Final = Path(__file__).with_name("words")


class Lists:
    """Lists of one file. Every list of words is an attribute: ``lists.verbs``."""

    def __init__(self, file: str) -> None:
        self._read: dict[str, Any] = tomllib.loads((_FOLDER / f"{file}.toml").read_text(encoding="utf-8"))
        for name, value in self._read.items():
            if isinstance(value, str) and not {",", "|"} & set(value):
                setattr(self, name, self.words(value))

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> frozenset[str]: ...

    def all_words(self) -> frozenset[str]:
        """The words of all lists."""
        return frozenset(word for value in vars(self).values() if isinstance(value, frozenset) for word in value)

    def phrases(self, name: str) -> tuple[Phrase, ...]:
        """Phrases in their order, each as its words."""
        return tuple(tuple(phrase.split()) for phrase in self._read[name].split(",") if phrase.strip())

    def texts(self, name: str) -> tuple[str, ...]:
        """Phrases in their order, as they are written."""
        return tuple(map(" ".join, self.phrases(name)))

    def lines(self, name: str) -> list[str]:
        """Rows, in their order."""
        return str(self._read[name]).strip().splitlines()

    def table(self, name: str) -> dict[str, Any]:
        """Pairs in their order."""
        return dict(self._read[name])

    def words(self, text: str) -> frozenset[str]:
        """The words that a list stands for."""
        words: frozenset[str] = frozenset()
        for word in text.split():
            name = word.lstrip("-")
            meant = self._list(name[1:]) if name[0] == "@" else frozenset((name,))
            words = words - meant if word[0] == "-" else words | meant
        return words

    def _list(self, name: str) -> frozenset[str]:
        file, _, name = name.rpartition(".")
        return getattr(lists(file), name) if file else self.words(self._read[name])


@cache
def lists(file: str) -> Lists:
    """The lists of a file in ``words/``."""
    return Lists(file)


_NUMBERS: Final = {"#": re.compile("[0-9]+(?:[.,/]+[0-9]+)*"), "#:": re.compile("[0-9]+(?:[.,:/]+[0-9]+)*")}


def is_number(word: str) -> bool:
    """True if a word is a number, a fraction, a date or a time in digits."""
    return _NUMBERS["#:"].fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a pattern, which has a word, or one of some phrases."""

    words: frozenset[str] = frozenset()
    like: re.Pattern[str] | None = None
    """Words that fit, too."""
    negated: bool = False
    """Only other words fit."""
    phrases: tuple[Phrase, ...] = ()
    repeated: bool = False
    """Any number of words has the place."""

    def fits(self, word: str) -> bool:
        """True if the place may have a word."""
        return (word in self.words or bool(self.like and self.like.fullmatch(word))) is not self.negated


class WordPattern:
    """Elements for all words of a sentence; without any it fits every sentence."""

    def __init__(self, text: str) -> None:
        self._elements = tuple(map(_element, text.split()))
        single = [not (one.repeated or one.phrases) for one in self._elements]
        self._least = sum(single)
        self._exact = all(single)

    def fits(self, words: Sequence[str]) -> bool:
        """True if each word has its place."""
        if not self._elements:
            return True
        if len(words) < self._least or (self._exact and len(words) > self._least):
            return False
        return _matches(self._elements, words)


@dataclass(frozen=True, slots=True)
class WordRow:
    """Patterns of sentences and their answer."""

    answer: str
    said: WordPattern
    rest: WordPattern
    among: WordPattern
    example: str

    def fits(self, said: Sequence[str], rest: Sequence[str] = ()) -> bool:
        """True if the words have the row's patterns."""
        return self.said.fits(said) and self.rest.fits(rest) and self.among.fits(said)


def begins_with(words: Sequence[str], phrases: Iterable[Phrase]) -> int:
    """Counts the words of the longest of some phrases with which words begin; 0 if they begin with none."""
    return max((len(phrase) for phrase in phrases if tuple(words[: len(phrase)]) == phrase), default=0)


def decide(table: str, said: Sequence[str], rest: Sequence[str] = ()) -> str | None:
    """The answer of the first row of a table that fits; None where none does."""
    return next((row.answer for row in rows_of(table) if row.fits(said, rest)), None)


def says(table: str, said: Sequence[str], rest: Sequence[str] = ()) -> bool:
    """True if the first row of a table that fits answers yes."""
    return decide(table, said, rest) == "yes"


@cache
def rows_of(table: str) -> tuple[WordRow, ...]:
    """The rows of a table, in their order."""
    return tuple(map(_row, lists("rows").lines(table)))


def _row(line: str) -> WordRow:
    answer, said, rest, among, example = (part.strip() for part in line.split("|"))
    among = f"...{among}" if among.startswith("!") else among and f"... {among} ..."
    return WordRow(answer, WordPattern(said), WordPattern(rest), WordPattern(among), example)


def _element(text: str) -> Element:
    if text.startswith("..."):
        return replace(_element(text[3:] or "_"), repeated=True)
    if text == "$":
        return Element(phrases=((),))
    if text == "_":
        return Element(negated=True)
    if text.startswith("&"):
        return Element(phrases=lists("classes").phrases(text[1:]))
    negated, plain = text.startswith("!"), text.removeprefix("!")
    if plain in _NUMBERS:
        return Element(like=_NUMBERS[plain], negated=negated)
    if plain.startswith("*"):
        return Element(like=re.compile(f".*{plain[1:]}"), negated=negated)
    return Element(lists("classes").words(plain.replace("/", " ")), negated=negated)


def _matches(pattern: Sequence[Element], words: Sequence[str]) -> bool:
    if not pattern:
        return not words
    first, rest = pattern[0], pattern[1:]
    if first.repeated:
        fitting = len(list(takewhile(first.fits, words)))
        return any(_matches(rest, words[at:]) for at in range(fitting + 1))
    if first.phrases:
        return any(tuple(words[: len(one)]) == one and _matches(rest, words[len(one) :]) for one in first.phrases)
    return bool(words) and first.fits(words[0]) and _matches(rest, words[1:])
