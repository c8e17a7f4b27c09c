"""The words of a transcript as the rules on sentences read them. English. Pure functions, on any thread."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.characters import APOSTROPHES, plain_apostrophes
from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.word_lists import lists

_LONGEST: Final = 2_000
"""Characters that are read; nobody says more in a turn."""
_NOISE: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>|♪")
"""Marks that recognisers write for what is no speech: [music], (coughs), <sil>."""
_PERCENT: Final = re.compile(r"(?<=[0-9])\s*%")
_WORD: Final = re.compile(r"[0-9]+(?:[.:][0-9]+)?(?:st|nd|rd|th)?|[^\W\d_]+(?:'[^\W\d_]+)*")
_TOKENS: Final = lists("tokens")
_ENDINGS: Final = _TOKENS.table("endings")
_ONE_WORD: Final = _TOKENS.table("one_word")
NEGATION: Final = lists("negations")
NEGATIONS: Final = re.compile(rf"\b(?:{'|'.join(sorted(NEGATION.takes_back))}|\w+n[{APOSTROPHES}]t)\b", re.IGNORECASE)
"""Words that take back or forbid what a sentence would ask for."""
_TRAILS_OFF: Final = re.compile(r"(?:\.\.|…|[,–—-])\s*\Z")  # noqa: RUF001 - dashes look alike


def words_of(text: str) -> list[str]:
    """Lower-case words without punctuation; numbers in digits, contractions of pronouns apart.

    "OK, what's two metres?" is okay what is 2 meters.
    """
    plain = _NOISE.sub(" ", _PERCENT.sub(" percent ", plain_apostrophes(text[:_LONGEST])))
    made: list[str] = []
    for word in _WORD.findall(inverse_normalised(plain).lower()):
        made += _apart(_ONE_WORD.get(word, word)).split()
    return made


def after(text: str, beginning: str) -> str | None:
    """Returns the text after a beginning, whatever the punctuation and case; None where the text begins otherwise."""
    parts, length = text.split(), len(beginning.split())
    if words_of(" ".join(parts[:length])) != words_of(beginning):
        return None
    return " ".join(parts[length:])


def is_asked(text: str) -> bool:
    """True if a text ends in a question mark."""
    return text.rstrip(" \t\"'”).").endswith("?")


def trails_off(text: str) -> bool:
    """True if a recogniser that writes punctuation has left the sentence open: "drive to the..."."""
    return _TRAILS_OFF.search(text) is not None


def _apart(word: str) -> str:
    start, mark, end = word.partition("'")
    if mark and start in _TOKENS.shortened and f"'{end}" in _ENDINGS:
        return f"{start} {'us' if start == 'let' else _ENDINGS[f'{chr(39)}{end}']}"
    return word
