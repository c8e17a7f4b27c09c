"""A yes or a no to a question of the robot's. Pure functions, on any thread."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.english.tokens import words_of

_MOST_WORDS: Final = 16
"""Longer is no answer; a recogniser that repeats itself would keep the patterns busy for hours."""
_YES: Final = (
    "(?:yes|yeah|yep|yup|sure|certainly|absolutely|definitely|of course|okay|all right|fine|affirmative|confirmed|"
    "correct|exactly|go ahead|go for it|(?:please )?do(?: (?:it|that|so))?|sounds good|that is (?:right|fine|okay|"
    "correct)|you (?:can|may)(?: do (?:it|that))?|i (?:do|am|agree|confirm|am sure)|it is|with pleasure|by all means)"
)
_CLEAR_YES: Final = re.compile(
    f"(?:(?:oh|well|um|uh|hey|robot) )*{_YES}(?: (?:{_YES}|please|now|robot|thanks|thank you))*"
)
_NO: Final = frozenset(
    "no nope nah not never don't dont won't can't cannot didn't isn't doesn't shouldn't stop cancel negative halt "
    "nevermind abort".split()
)


def yes_or_no(text: str) -> bool | None:
    """Reads the answer of an utterance to "shall I?": True for a clear yes, and for nothing else.

    False if there is any no in it, None for everything else: neither allows anything. "uh-huh", "right" and "mhm" are
    None, since people say them without having listened.
    """
    words = words_of(text)
    if _NO & set(words):
        return False
    if len(words) > _MOST_WORDS:
        return None
    return True if _CLEAR_YES.fullmatch(" ".join(words)) else None
