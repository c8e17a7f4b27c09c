"""Decides by rows of data: patterns of words, each with its answer and an example. The first row that fits decides.

Rows stand in ``words/rows.toml``, one a line: answer | said | command | among | example. Said is a pattern of the whole
sentence, command one of the sentence without the request around it. An empty pattern fits anything. A pattern has one
element for each word, with a minus before what does not count:

    go/drive    one of these words          @verbs      a word of a class         @verbs/-go   but this one
    !@verbs     any other word              _           any word                  ...          any words, or none
    #           a number                    #:          a number or a time        &wh_alone    one of these phrases

Among holds an element that some word must fit, or with ``!`` none may. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from edgeagent.english.word_lists import Phrase, lists

_NUMBER: Final = re.compile(r"[0-9]+(?:[.:][0-9]+)?")


def is_number(word: str) -> bool:
    """True if a word is a number or a time in digits."""
    return _NUMBER.fullmatch(word) is not None


@dataclass(frozen=True, slots=True)
class Element:
    """One place of a pattern."""

    words: frozenset[str] = frozenset()
    phrases: tuple[Phrase, ...] = ()
    any_number: bool = False
    """Stands for any number of words."""
    any_word: bool = False
    numbers: str = ""
    negated: bool = False

    def fits(self, word: str) -> bool:
        """True if the place may have a word."""
        number = bool(self.numbers) and is_number(word) and (self.numbers == "#:" or ":" not in word)
        return (self.any_word or number or word in self.words) is not self.negated


@dataclass(frozen=True, slots=True)
class Row:
    """Pattern of sentences and its answer."""

    answer: bool
    said: tuple[Element, ...]
    command: tuple[Element, ...]
    among: Element | None
    example: str

    def fits(self, said: Sequence[str], command: Sequence[str]) -> bool:
        """True if a sentence has the row's pattern."""
        if (self.said and not _matches(self.said, said)) or (self.command and not _matches(self.command, command)):
            return False
        if self.among is None:
            return True
        found = map(self.among.fits, said)
        return all(found) if self.among.negated else any(found)


def decide(table: str, said: Sequence[str], command: Sequence[str] = ()) -> bool:
    """The answer of the first row of a table that fits; False where none does."""
    return next((row.answer for row in rows_of(table) if row.fits(said, command)), False)


@cache
def rows_of(table: str) -> tuple[Row, ...]:
    """The rows of a table, in their order."""
    return tuple(map(_row, lists("rows").lines(table)))


def _row(line: str) -> Row:
    answer, said, command, among, example = (part.strip() for part in line.split("|"))
    return Row(
        {"yes": True, "no": False}[answer],
        tuple(map(_element, said.split())),
        tuple(map(_element, command.split())),
        _element(among) if among else None,
        example,
    )


def _element(text: str) -> Element:
    negated, plain = text.startswith("!"), text.removeprefix("!")
    if plain == "...":
        return Element(any_number=True)
    if plain == "_":
        return Element(any_word=True)
    if plain in ("#", "#:"):
        return Element(numbers=plain, negated=negated)
    if plain.startswith("&"):
        return Element(phrases=lists("classes").phrases(plain[1:]))
    return Element(words=lists("classes").words(plain.replace("/", " ")), negated=negated)


def _matches(pattern: Sequence[Element], words: Sequence[str]) -> bool:
    if not pattern:
        return not words
    first, rest = pattern[0], pattern[1:]
    if first.any_number:
        return any(_matches(rest, words[at:]) for at in range(len(words) + 1))
    if first.phrases:
        return any(tuple(words[: len(one)]) == one and _matches(rest, words[len(one) :]) for one in first.phrases)
    return bool(words) and first.fits(words[0]) and _matches(rest, words[1:])
