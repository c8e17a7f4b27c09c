"""Tells English from other languages and from no language, by words. Rows of data; pure functions, on any thread."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from edgeagent.english.number_words import NUMBER_WORDS, UNITS
from edgeagent.english.rows import is_number
from edgeagent.english.tokens import words_of
from edgeagent.english.word_lists import lists

_LANGUAGES: Final = lists("languages")
_ENGLISH: Final = lists("classes").all_words() | _LANGUAGES.small_talk
_SEVERAL: Final = 2
"""One unknown word is a typing error, several are another language."""


def is_english(text: str, known: Collection[str] = ()) -> bool:
    """True if a text may be English. Several words of which none is known are not, nor are those of which most are
    words, or have letters, of other languages.

    A text without words, such as an emoji or a number, is in no other language: True.

    Args:
        known: Further words that count as English: those of an app's tools and phrases.
    """
    words = [word for word in words_of(text) if not is_number(word)]
    foreign = sum(_is_foreign(word, known) for word in words)
    english = sum(word in known or (_is_known(word) and word not in _LANGUAGES.of_others) for word in words)
    return foreign <= english and (len(words) < _SEVERAL or has_english(text, known))


def has_english(text: str, known: Collection[str] = ()) -> bool:
    """True if any word of a text is a known English one; typing errors and made-up words are not."""
    return any(word in known or _is_known(word) for word in words_of(text))


def _is_known(word: str) -> bool:
    return word in _ENGLISH or word in UNITS or word in NUMBER_WORDS


def _is_foreign(word: str, known: Collection[str]) -> bool:
    """True if a word is of another language, or has letters that English does not use."""
    if word in known or _is_known(word):
        return False
    return word in _LANGUAGES.foreign or any(character.isalpha() and not character.isascii() for character in word)
