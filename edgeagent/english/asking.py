"""Tells what may ask the robot for something from what tells or forbids: "the coffee is cold", "don't go".

A rule that errs on the side of asking: what begins neither like a report nor like a prohibition asks, and so does what
has a command anywhere in it. English; a misheard report still begins like one. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from edgeagent.english.completeness import Phrases
from edgeagent.english.sentence_rules import bare, is_correction, is_number, is_question, without_leading
from edgeagent.english.tokens import is_asked, words_of
from edgeagent.english.word_classes import (
    ADJECTIVES,
    AUXILIARIES,
    BE,
    DETERMINERS,
    DIRECTIONS,
    ENDS_OF_SUBJECT,
    MODALS,
    MOVES,
    NEEDS_OBJECT,
    OPEN_VERBS,
    PARTICLES,
    PERSONS,
    SUBJECTS,
    SUBORDINATES,
    SWITCHABLE,
    THINGS,
    VERBS,
)

_TELLS: Final = (
    (DETERMINERS - {"what", "which", "whose", "a", "an", "another", "any", "some"})
    | SUBJECTS
    | ENDS_OF_SUBJECT
    | frozenset("nobody nothing yesterday somewhere".split())
) - {"one", "anything", "everything", "something"}
"""A report begins with one of these."""
_SHORT: Final = 3
""" "the red cube", "this way" are answers or names."""
_WISHES: Final = frozenset("want need wish would wonder said say mean meant think".split())
""" "I want …", "we need you in the hall"."""
_BIDS: Final = frozenset("can could should must may might will would have need ought better".split())
""" "you may go", "it should be off"."""
_OUGHT: Final = frozenset("should must belongs goes".split())
""" "the cup goes on the desk" says where to put it."""
_NEGATORS: Final = frozenset("don't not never no cannot without nobody neither".split())
_FORBIDS: Final = tuple(
    tuple(form.split())
    for form in (
        "don't, do not, never, not, you must not, you mustn't, you should not, you shouldn't, you may not, you cannot, "
        "you can't, you needn't, no need, let us not, make sure not to, make sure you don't, under no circumstances, "
        "i would rather you didn't, i forbid you to"
    ).split(", ")
)
"""A prohibition begins like this ..."""
_OPENERS: Final = tuple(
    tuple(form.split())
    for form in (
        "hold on, hang on, i said, i told you, no, nope, wait, stop, listen, look, and, but, so, then, oh"
    ).split(", ")
)
"""Words that stand before a prohibition, too: "no don't go"."""
_NO_COMMANDS: Final = frozenset("be do have need want think know see hear like mean remember".split())
"""Verbs that begin no command behind a comma: "do you", "see you"."""
_SIGNS: Final = frozenset("minus plus point times".split())
_COMFORTS: Final = tuple(
    tuple(form.split())
    for form in (
        "never mind that, never mind, don't wait, don't worry, don't hurry, don't stop, do not wait, do not worry"
    ).split(", ")
)
"""The same where a command follows at once: "don't wait come back"."""
_TAKEN_BACK: Final = tuple(
    tuple(form.split())
    for form in (
        "don't, do not, never, not, no, nope, never mind, nevermind, forget it, forget that, cancel that, cancel it, "
        "scratch that, not now, not yet, better not, rather not"
    ).split(", ")
)
"""Whoever ends with one of these wants nothing of what was said before."""
_FORBID: Final = frozenset("don't not never".split())
_WISHED: Final = frozenset({("i", "want"), ("i", "need"), ("we", "want"), ("we", "need")})
_BETWEEN: Final = frozenset("to you ever even please just dare".split())
_REMINDS: Final = ["forget"]
"""... but for "don't forget to turn off the light"."""
_CALLS: Final = frozenset("hey hi hello".split())
""" "hey you", "hi there" begin no report."""
_ASKS: Final = tuple(
    tuple(form.split())
    for form in (
        "can you, could you, would you, will you, could use, if you, please, so good, so kind, is time to, "
        "needs to be, need to be, has to be, have to be, are wanted, are needed, would be good, would be great, "
        "would be nice, where are, where is, what is, what time, how late, how full"
    ).split(", ")
)
"""Words that ask in the middle of a sentence, too."""
_GOVERN: Final = (
    _NEGATORS | {"i", "you", "we", "they", "he", "she"} | MODALS | BE | DETERMINERS | ADJECTIVES
    | {"everybody", "everyone", "somebody", "anybody", "one"}
    | frozenset("to and or of in on at by for with from dare be been ever who that".split())
)  # fmt: skip
"""Behind one of these a verb begins no command in the middle of a sentence."""
_OBJECTS: Final = (
    DETERMINERS | PARTICLES | DIRECTIONS | PERSONS | THINGS
    | frozenset("to into at for with close behind still yourself further".split())
)  # fmt: skip
_FIRST: Final = 4
"""Words that hold the subject and what is said of it."""
_BOUND: Final = 2
_MORE_VERBS: Final = frozenset("vacuum join flip snap display glance gaze navigate execute perform sound".split())
_CLAUSES: Final = re.compile(r"[,;:.!]\s+")


def may_ask(text: str, phrases: Phrases) -> bool:
    """True if a text may ask for something: a command, a question, a wish, or what no rule knows.

    Args:
        text: As it was understood.
        phrases: The app's: what they say is asked for, whatever it begins with.
    """
    said = words_of(text)
    words = bare(said)
    if phrases.begins(words):
        return True
    if _is_number_alone(words) or (_takes_back(words) and not is_question(words)):
        return False
    main = bare(without_leading(words)) or words
    plain = _without_openers(main)
    forbids = _forbids_a_verb(plain) or (plain[:1] != ["don't"] and _forbids_inside(plain))
    if (is_asked(text) and not forbids) or _ends_in_command(text):
        return True
    if _called(said, words) and not _forbids_inside(words):
        return True
    if asked := _after_comfort(plain):
        main = plain = asked
    if plain[:1] == ["not"] and plain[1:2] and plain[1] not in VERBS:  # "not the kitchen the bedroom"
        plain = []
    forbidden = _forbidding(plain)
    if not forbidden and _forbids_inside(plain):
        return False
    if not forbidden and (is_question(main) or is_correction(words)):
        return True
    forbidden, rest = (forbidden, plain) if forbidden else (_forbidding(main), main)
    if forbidden:
        rest = rest[forbidden:]
        return rest[:1] == _REMINDS or _asks_after(rest)
    if main[0] not in _TELLS:
        return True
    if main[0] in DETERMINERS | {"this", "that"} and _is_wish_for_a_thing(main):
        return True
    return _wishes(main) or _commands_inside(main, 1)


def _is_number_alone(words: Sequence[str]) -> bool:
    """True if there are no words at all, or numbers alone, of which nobody knows what they are for."""
    return all(is_number(word) or word in _SIGNS for word in words)


def _ends_in_command(text: str) -> bool:
    """True if a command follows a report, behind a comma: "I am in the hall, come here"."""
    clauses = _CLAUSES.split(text.strip(" .!"))
    last = bare(words_of(clauses[-1])) if len(clauses) > 1 else []
    return len(last) > 1 and last[0] in VERBS - _NO_COMMANDS


def _takes_back(words: Sequence[str]) -> bool:
    """True if the end forbids what was said: "go to the kitchen never", but not "don't forget it"."""
    endings = ((form, len(words) - len(form)) for form in _TAKEN_BACK)
    return any(tuple(words[at:]) == form and words[at - 1] not in _NEGATORS for form, at in endings if at > 0)


def _forbidding(words: Sequence[str]) -> int:
    """Counts the words at the beginning forbid what follows."""
    return max((len(form) for form in _FORBIDS if tuple(words[: len(form)]) == form), default=0)


def _forbids_a_verb(words: Sequence[str]) -> bool:
    """True for a prohibition that no question mark makes a question of: "don't go", but not "don't you see"."""
    forbidden = _forbidding(words)
    return 0 < forbidden < len(words) and words[forbidden] in VERBS | _MORE_VERBS


def _without_openers(words: list[str]) -> list[str]:
    """Without "no", "wait", "I said" before a sentence, as long as something is left."""
    at = 0
    while opener := next((form for form in _OPENERS if tuple(words[at : at + len(form)]) == form), None):
        at += len(opener)
    return words[at:] or words


def _after_comfort(words: list[str]) -> list[str]:
    """The command after "don't worry"; nothing where none follows at once."""
    for form in _COMFORTS:
        after = words[len(form) :]
        if tuple(words[: len(form)]) == form and set(after[:1]) & (VERBS | {"just"}):
            return after
    return []


def _forbids_inside(words: Sequence[str]) -> bool:
    """True if a sentence forbids something after a few words that are no command, and asks for nothing after that:
    "whatever you do don't turn left", "could you please not turn left"."""
    clause = words[:1] and words[0] in SUBORDINATES
    for at, word in enumerate(words if clause else words[: _FIRST + 1]):
        if not clause and (word in VERBS - {"be", "do"} or words[0] == "why"):
            return False
        rest = list(words[at + 1 :])
        while word in _FORBID and rest and rest[0] in _BETWEEN:
            rest = rest[1:]
        if word in _FORBID and rest and rest[0] in VERBS | _MORE_VERBS and rest[:1] != _REMINDS:
            return not _asks_after(rest)
    return False


def _asks_after(forbidden: Sequence[str]) -> bool:
    """True if something is asked for after what is forbidden: "bring tea bring coffee" after "don't"."""
    verb, rest = forbidden[:1], list(forbidden[1:])
    wishes = any(pair in _WISHED for pair in pairwise(rest))
    again = any(one == verb[0] for one in rest[:-1]) if verb and verb[0] in VERBS else False
    return wishes or again or "but" in rest[:-1] or rest[-1:] == ["instead"] or _commands_inside(forbidden, _BOUND)


def _called(said: Sequence[str], words: Sequence[str]) -> bool:
    """True if "hey you" or "hi there" stands before the rest."""
    before = len(said) - len(words) - 1
    return words[0] in ("you", "there") and before >= 0 and bool(_CALLS & set(said[: before + 1]))


def _wishes(words: Sequence[str]) -> bool:
    """True if a sentence with a subject says what the robot shall do."""
    subject, rest = words[0], words[1:3]
    if _NEGATORS & set(words[:_FIRST]):
        return False
    if subject in ("i", "we"):
        return bool(_WISHES & set(rest)) or ("you", "to") in pairwise(words)
    if subject != "you" or not rest:
        return subject == "your" and ("is", "to") in pairwise(words)
    if rest[0] in VERBS and len(rest) > 1:  # "you look left"; "you look tired"
        return rest[1] in _OBJECTS or is_number(rest[1])
    return rest[0] in _BIDS


def _is_wish_for_a_thing(words: Sequence[str]) -> bool:
    """True if a sentence names a thing, or says where one belongs: "the red cube", "that towel to the window"."""
    if _OUGHT & set(words[1:_FIRST]):
        return ("belongs", "to") not in pairwise(words)
    there = words[0] in ("this", "that") and words[2:3] == ["to"]
    return not AUXILIARIES & set(words) and (len(words) <= _SHORT or there)


def _is_about(verb: str, after: str) -> bool:
    """True if the next word fits a command: "pick the", "turn off", "look up", but not "the cup tell off"."""
    if after in PARTICLES:
        return (verb, after) in NEEDS_OBJECT or after == "up" or verb in MOVES | {"look", "come"}
    return after in _OBJECTS or is_number(after)


def _commands_inside(words: Sequence[str], start: int) -> bool:
    """True if a command begins in the middle: a verb that nothing before it governs, with something it is about."""
    for at in range(start, len(words) - 1):
        verb, before, after = words[at], words[at - 1], words[at + 1]
        if verb in VERBS | _MORE_VERBS and before not in _GOVERN and _is_about(verb, after):
            return True
        if any(tuple(words[at : at + len(form)]) == form for form in _ASKS):
            return True
    last = words[-1] if words else ""
    if last in ("on", "off", "out") and (words[-2] in SWITCHABLE or _OUGHT & set(words)):
        return True
    return len(words) > _SHORT and last in VERBS - OPEN_VERBS and words[-2] not in _GOVERN
