"""Reads the word lists of English: data in ``words/``, one file for each kind of rule, read once when first wanted.

A list is a string of words. ``@name`` in it stands for the words of another list of the same file, ``@file.name`` of
another file; a minus before a word or before the ``@`` takes words away.
A string with commas holds phrases, one with bars holds rows. A table holds pairs.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

Phrase = tuple[str, ...]

_FOLDER: Final = Path(__file__).with_name("words")


class Lists:
    """Lists of one file. Every list of words is an attribute: ``lists.verbs``."""

    def __init__(self, file: str) -> None:
        self._file = file
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
