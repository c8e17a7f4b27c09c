"""Rules on the words of a spoken English sentence: what it still lacks, and what kind it is.

Made for commands and questions of a few words; a rule that does not know says nothing. Knows no app. Pure functions, on
any thread; words are those of ``tokens.words_of``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from edgeagent.english.tokens import is_asked, trails_off, words_of
from edgeagent.english.word_data import decide, lists, says

CLASS: Final = lists("classes")
RULE: Final = lists("sentences")
NEEDS_OBJECT: Final = frozenset(CLASS.phrases("needs_object"))
_STATIVE: Final = [[word] for word in CLASS.stative]
_NOW: Final = (["right", "now"], ["from", "now"], ["by", "now"])
_ASKING: Final = RULE.phrases("asking")
_DOUBTFUL: Final = (("go",), ("wait",), ("no",), ("sorry",), ("actually",))
"""... if a verb follows."""
_WANTING: Final = RULE.phrases("wanting")
_MEANT: Final = (["i", "meant"], ["i", "mean"], ["i", "said"], ["make", "that"], ["make", "it"], ["change", "that"])
_OTHER: Final = re.compile(r"(?:the )?(?:other|wrong) (?:way|one|room|direction|side|door|place)(?: (?:round|around))?")


def bare(words: Sequence[str]) -> list[str]:
    """The words without what is said around a sentence: "okay robot … please"."""
    start, end = 0, len(words)
    while start < end and (words[start] in CLASS.fillers or words[start] in CLASS.addresses):
        if words[start] == "right" and end - start > 1 and words[start + 1] not in CLASS.addresses:
            break
        start += 1
    while end > start and words[end - 1] in CLASS.polite_ends and words[end - 2 : end] not in _NOW:
        end -= 1
    return list(words[start:end])


class Sentence(NamedTuple):
    """An utterance as the rules read it, made once for all of them. Its lists are never changed."""

    text: str
    """As it was understood."""
    words: list[str]
    """Those of ``words_of``."""
    bare: list[str]
    """The words without what is said around the sentence."""
    asked: bool
    """It ends in a question mark."""
    open: bool
    """The recogniser has left it open: "drive to the..."."""


@lru_cache(maxsize=32)
def sentence(text: str) -> Sentence:
    """Returns the sentence of a text; one for all who ask about the same transcript. Any thread."""
    words = words_of(text)
    return Sentence(text, words, bare(words), is_asked(text), trails_off(text))


def without_asking(words: list[str]) -> list[str]:
    """The command without the request around it: "could you please turn" is turn."""
    found = True
    while found and words:
        found = False
        for asking in sorted(_ASKING, key=len, reverse=True):
            if tuple(words[: len(asking)]) == asking and len(words) > len(asking):
                if asking in _DOUBTFUL and words[1] not in CLASS.verbs - {"back"}:
                    continue
                words, found = bare(words[len(asking) :]), True
                if asking[-1] == "mind" and words:
                    words[0] = _without_ing(words[0])
                break
    return words


def _without_ing(word: str) -> str:
    """The verb of a gerund, if it is a known one: driving, putting, going."""
    stem = word.removesuffix("ing")
    return next((verb for verb in (stem, f"{stem}e", stem[:-1]) if verb in CLASS.verbs), word)


def without_leading(words: list[str]) -> list[str]:
    """The main clause, without "quickly", "after that" or "when you are done" before it; nothing if it is missing."""
    while len(words) > 1 and (words[0] in CLASS.leading or (words[0].endswith("ly") and words[0] not in CLASS.verbs)):
        words = words[1:]
    if words[:2] in (["after", "that"], ["before", "that"]):
        return bare(words[2:])
    clause = CLASS.subjects | CLASS.determiners | {"soon"}
    if len(words) > 1 and words[0] in CLASS.subordinates and words[1] in clause:
        inside = CLASS.subjects | CLASS.modals | CLASS.be | {"to"}
        first = next(
            (at for at in range(3, len(words)) if words[at] in CLASS.verbs and words[at - 1] not in inside), None
        )
        return words[first:] if first else []
    return words


def begins_with_verb(words: Sequence[str]) -> bool:
    """True if a sentence begins with a known verb, but for what may stand before a command."""
    said = bare(words)
    said = without_asking(without_leading(said) or said) if said else []
    return bool(said) and said[0] in CLASS.verbs


def is_question(words: list[str]) -> bool:
    """True if words begin as a question does; "can you bring" is a request."""
    answer = decide("question", words)
    return bare(words[2:])[:1] in _STATIVE if answer == "stative" else answer == "yes"


def dangles(words: list[str]) -> bool:
    """True if the last word never ends a sentence like this."""
    answer = decide("dangles", words)
    return not _may_strand(words) if answer == "stranded" else answer == "yes"


def _may_strand(words: list[str]) -> bool:
    """ "where are you from", "what are you looking at", "which room are you in"."""
    before, asked = words[-2], _asked_inside(words)
    if asked is not None and len(words) - asked > 4:
        return before in CLASS.be or before in CLASS.particles
    if words[0] not in ("what", "where", "who", "which") or len(words) < 4:
        return False
    return before in CLASS.ends_of_subject or before.endswith("ing") or before in ("made", "got")


def _asked_inside(words: list[str]) -> int | None:
    """Finds the beginning of a question inside a sentence, its subject before its verb: "tell me where the cup is"."""
    asked = [at for at, word in enumerate(words) if word in CLASS.wh and at > 0]
    if not asked or set(words[asked[-1] + 1 : asked[-1] + 2]) & CLASS.auxiliaries:
        return None
    return asked[-1]


def lacks_something(words: list[str]) -> bool:
    """True if a word is missing that the sentence must have."""
    if tuple(words) in _WANTING:
        return True
    if words[0] == "not":
        return not says("corrects_not", words)
    if (answer := decide("end_lacks", words)) in ("yes", "no"):
        return answer == "yes"
    asked = _asked_inside(words)
    if asked is not None and len(words) - asked < 4 and not _has_verb(words[asked + 1 :]):
        return True
    if any(words[at] in ("if", "whether") and not _has_verb(words[at + 1 :]) for at in range(1, len(words))):
        return True
    for at in (at for at, word in enumerate(words) if word in ("and", "then") and 0 < at < len(words) - 1):
        if words[at + 1] in CLASS.verbs and _command_lacks(words[at + 1 :]):
            return True
    main = without_leading(words)
    if not main:
        return True
    if main is not words:
        return lacks_something(main)
    if words[0] in CLASS.wh:
        return says("question_lacks", words)
    if (
        words[0] in CLASS.auxiliaries
        and words[0] != "don't"
        and not (words[0] in ("do", "have") and not is_question(words))
    ):
        return _inversion_lacks(words)
    command = without_asking(words)
    if words[0] in ("don't", "do", "never") and len(command) == 1:
        return False  # don't move
    return _command_lacks(command)


def _has_verb(words: list[str]) -> bool:
    """True if a question inside a sentence has its verb: "what time it is", "what blocks you"."""
    if (CLASS.auxiliaries | CLASS.wh_verbs) & set(words):
        return True
    if any(word.endswith("ed") for word in words) or (
        len(words) == 2 and words[0] in CLASS.ends_of_subject - CLASS.subjects
    ):
        return True
    return len(words) > 1 and words[0].endswith("s") and words[0] not in CLASS.determiners


def is_correction(words: list[str]) -> bool:
    """True if words take back a command and say what instead: "no, the bedroom", "i meant the kitchen"."""
    said = bare(words)
    if len(said) < 2:
        return False
    if said[-1] in ("instead", "rather") or _OTHER.fullmatch(" ".join(said)):
        return True
    if said[0] == "not":
        return says("corrects_not", said)
    if said[:2] in _MEANT:
        return len(said) > 2
    if said[0] not in RULE.corrects:
        return False
    rest = [word for word in said[1:] if word not in RULE.corrects]
    if not rest or (said[0] == "no" and rest[0] in RULE.uncorrected and rest[:2] not in _MEANT):
        return False
    return said[0] != "wait" or rest[0] in CLASS.determiners | CLASS.directions or rest[:2] in _MEANT


def begins_correction(words: list[str]) -> bool:
    """True if words after which more is said may begin to take them back: "turn left, sorry"."""
    return says("corrects_next", bare(words))


def _inversion_lacks(words: list[str]) -> bool:
    """can you, is the light, did you find: a question or request that has just begun."""
    if (answer := decide("inversion_lacks", words)) is not None:
        return answer == "yes"
    rest = words[1:]
    after = bare(rest[2:] if rest[0] in CLASS.determiners else rest[1:])
    if not after:
        return True
    if words[1] != "you" and len(after) == 1:
        return False  # shall we go, may i pass: nobody knows
    return _command_lacks(after) or (
        len(after) == 1 and after[0] in CLASS.stative - {"speak", "swim", "fly", "understand"}
    )


def _command_lacks(words: list[str]) -> bool:
    """turn, pick up, bring me, put the cup, drive 2: a command without its object, place or unit."""
    return not words or says("lacks_unit", words) or says("command_lacks", words)
