"""Mentions of a key phrase in a longer sentence: a command, a prohibition, or talk about the phrase.

Rules on words, no model. Pure functions, on any thread; words are lower case, with numbers in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

Verdict = Literal["confirmed", "denied", "unclear"]

_NEGATORS: Final = frozenset(
    "don't dont not never didn't doesn't won't can't cannot couldn't wouldn't shouldn't mustn't isn't aren't wasn't "
    "haven't hasn't nobody nothing without non".split()
)
_BETWEEN: Final = frozenset(
    "you i we they he she it to want need have ever even just dare please him her them me think should would let make "
    "going gonna wanna try really all do did be so that suddenly simply ask asked tell told say said can could".split()
)
"""Words that may stand between a negator and what it forbids: "don't you ever stop"."""
_NOUN_BEFORE: Final = frozenset(
    "the a an this these those next last first second third final previous every each any some one another my your our "
    "his her their bus tram train metro subway truck rest pit full glottal whistle door of at coffee lunch fuel brief "
    "sudden complete".split()
)
"""The phrase is a noun after these: "the bus stop"."""
_NOUN_AFTER: Final = frozenset(
    "sign signs light lights lamp watch watches button buttons word words gap codon bit bits motion sale press cock is "
    "was has".split()
)
"""... and before these: "stop sign", "the next stop is"."""
_TALK_BEFORE: Final = frozenset(
    "to i we they he she who which did does do when if where why how until till before after people buses trains cars "
    "will might may must used always usually often sometimes".split()
)
"""A sentence about stopping: "when does it stop", "I stop here every day"."""
_ADDRESS: Final = frozenset(
    "please robot robi hey hi hello ok okay now just oh no nope wait stop halt right alright whoa woah hold on listen "
    "sorry and then but so could can would will you yes yeah enough emergency quick quickly immediately i said say "
    "must uh um ah hm well come that's it's good fine there everything everyone look careful watch out god god's sake "
    "for damn thanks thank goodness".split()
)
"""Words that may stand before a command that begins a sentence."""
_BREAKS: Final = frozenset("no wait now please and then but okay ok robot stop halt so hey oh alright".split())
"""Words after which a command may begin in the middle of a sentence: "go to the kitchen no stop"."""
_QUESTIONS: Final = frozenset("when where why how who what which does did do is are was were has have if".split())
"""A sentence that begins with one of these asks about stopping; "could you", "can you" and "will you" ask for it."""
_THIRD: Final = frozenset("i it he she they we the this that my your his her our their".split())
_MODALS: Final = frozenset("will would could should might may can must".split())
_ENDINGS: Final = ("s", "es", "d", "ed", "ing")
FEW: Final = 3
"""Words of a short sentence, in which the phrase may have been misheard."""
_ALIKE: Final = 3
"""Words that differ in no more than one letter of so many may be the same, misheard."""
_TALK_WORDS: Final = 4
_FEW_AFTER: Final = 1
_GREETINGS: Final = frozenset({"hey", "hi", "hello", "ok", "okay"})
_OPENERS: Final = frozenset("and but so well oh hey robot please okay ok".split())


def verdict(words: list[str], start: int, end: int) -> Verdict:
    """Judges one occurrence by the words around it."""
    before, after = words[:start], words[end:]
    if is_forbidden(before) or (after and after[0] in _NOUN_AFTER) or (before and before[-1] in _NOUN_BEFORE):
        return "denied"
    if before[-2:-1] in (["a"], ["an"]):  # "a short stop"
        return "denied"
    if before == ["you"] and len(after) > _FEW_AFTER:
        return "denied"
    if before[-2:] == ["you", "must"] and len(after) <= _FEW_AFTER:
        return "confirmed"
    led = all(word in _ADDRESS for word in before) or (before[0] in _GREETINGS and len(before) <= FEW)
    if led or before[-1] in _BREAKS:
        # "will you stop", "can you please stop" ask for it; "i will stop" tells
        tells = before and before[-1] in _TALK_BEFORE and before[-2:] != ["you", "will"] and "said" not in before
        return "denied" if tells else "confirmed"
    if before[-1] in _TALK_BEFORE | _MODALS or _asks(before):
        return "denied"
    return "denied" if len(words) > _TALK_WORDS and after else "unclear"


def is_forbidden(before: list[str]) -> bool:
    """True if a negator governs what follows: next to it, or with nothing but small words between."""
    for place in range(len(before) - 1, -1, -1):
        word = before[place]
        if word in _NEGATORS:
            return True
        if word == "no" and before[place + 1 : place + 2] == ["need"]:
            return True
        if word not in _BETWEEN and word != "need":
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
    first = next((place for place, word in enumerate(before) if word not in _OPENERS), None)
    if first is None:
        return False
    told = before[first : first + 2]
    return told[0] in _QUESTIONS or (told[0] in _MODALS and told[-1] in _THIRD)
