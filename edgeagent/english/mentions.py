"""Mentions of a key phrase in a longer sentence: a command, a prohibition, or talk about the phrase.

Rules on words, no model. Pure functions, on any thread; words are lower case, with numbers in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from edgeagent.english.tokens import NEGATION
from edgeagent.english.word_lists import lists

Verdict = Literal["confirmed", "denied", "unclear"]

_MENTION: Final = lists("mentions")
_ENDINGS: Final = ("s", "es", "d", "ed", "ing")
FEW: Final = 3
"""Words of a short sentence, in which the phrase may have been misheard."""
_ALIKE: Final = 3
"""Words that differ in no more than one letter of so many may be the same, misheard."""
_TALK_WORDS: Final = 4
_FEW_AFTER: Final = 1


def verdict(words: list[str], start: int, end: int) -> Verdict:
    """Judges one occurrence by the words around it."""
    before, after = words[:start], words[end:]
    if (
        is_forbidden(before)
        or (after and after[0] in _MENTION.noun_after)
        or (before and before[-1] in _MENTION.noun_before)
    ):
        return "denied"
    if before[-2:-1] in (["a"], ["an"]):  # "a short stop"
        return "denied"
    if before == ["you"] and len(after) > _FEW_AFTER:
        return "denied"
    if before[-2:] == ["you", "must"] and len(after) <= _FEW_AFTER:
        return "confirmed"
    led = all(word in _MENTION.address for word in before) or (before[0] in _MENTION.greetings and len(before) <= FEW)
    if led or before[-1] in _MENTION.breaks:
        # "will you stop", "can you please stop" ask for it; "i will stop" tells
        tells = (
            before and before[-1] in _MENTION.talk_before and before[-2:] != ["you", "will"] and "said" not in before
        )
        return "denied" if tells else "confirmed"
    if before[-1] in _MENTION.talk_before | _MENTION.modals or _asks(before):
        return "denied"
    return "denied" if len(words) > _TALK_WORDS and after else "unclear"


def is_forbidden(before: list[str]) -> bool:
    """True if a negator governs what follows: next to it, or with nothing but small words between."""
    for place in range(len(before) - 1, -1, -1):
        word = before[place]
        if word in NEGATION.before_phrase:
            return True
        if word == "no" and before[place + 1 : place + 2] == ["need"]:
            return True
        if word not in _MENTION.between and word != "need":
            return False
    return False


def places(words: list[str], phrases: Iterable[list[str]]) -> list[int]:
    """Finds the phrases in a text, without those that are a part of another one: "stop" of "emergency stop"."""
    found = [(at, at + len(one)) for one in phrases if one for at in _found(words, one)]
    return sorted(
        {
            at
            for at, end in found
            if not any(begin <= at and end <= last and (at, end) != (begin, last) for begin, last in found)
        }
    )


def _found(words: list[str], wanted: list[str]) -> list[int]:
    return [at for at in range(len(words) - len(wanted) + 1) if words[at : at + len(wanted)] == wanted]


def is_inflected(words: list[str], wanted: list[str]) -> bool:
    """True if the phrase's only word is there in another form: stopped, stopping, unstoppable."""
    if len(wanted) != 1:
        return False
    stem = wanted[0].rstrip("e")
    forms = {base + ending for base in (wanted[0], stem, stem + stem[-1:]) for ending in _ENDINGS}
    return any(word in forms or word.startswith(f"un{stem}") for word in words)


def sounds_like(word: str, wanted: str) -> bool:
    """True if a word may be another one that was misheard, by the letters: top, step, and stock are like stop."""
    return _distance(word, wanted) <= len(wanted) // _ALIKE


def _distance(left: str, right: str) -> int:
    """Letters to add, take away or exchange."""
    row = list(range(len(right) + 1))
    for count, letter in enumerate(left, 1):
        above, row[0] = row[0], count
        for place, other in enumerate(right, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (letter != other))
    return row[-1]


def _asks(before: list[str]) -> bool:
    """True if a sentence that begins like this is a question about the phrase."""
    first = next((place for place, word in enumerate(before) if word not in _MENTION.openers), None)
    if first is None:
        return False
    told = before[first : first + 2]
    return told[0] in _MENTION.questions or (told[0] in _MENTION.modals and told[-1] in _MENTION.third)
