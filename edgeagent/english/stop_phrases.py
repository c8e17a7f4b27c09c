"""The phrases that stop a robot, in three grades, and the two that let it go on.

One table for what is typed, what a program passes on as heard, and what a recogniser has understood. In the table a
phrase counts as a whole utterance only: politeness, the robot's name and repetition may stand around it, nothing else.
``verdict`` judges a phrase that is mentioned inside of a longer sentence: a command, a prohibition, or talk about it.
Knows no latch and no model; pure functions, on any thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile, groupby
from typing import Final, Literal
from unicodedata import normalize

from edgeagent.english.sentence_rules import sentence
from edgeagent.english.tokens import LONGEST, NEGATION, edit_distance, words_of
from edgeagent.english.word_data import decide, lists


class Grade(StrEnum):
    """Effect of a stop phrase."""

    TRIP = "trip"
    """The safety latch trips: motion is cancelled, and off until somebody allows it again."""
    CANCEL = "cancel"
    """Every goal and the run are cancelled; motion stays allowed."""
    HOLD = "hold"
    """Motion and speech wait where they are."""


class Release(StrEnum):
    """End of a hold."""

    SPEECH = "go on"
    """Speech goes on; motion still waits."""
    MOTION = "continue"
    """Motion and speech go on."""


@dataclass(frozen=True, slots=True)
class StopPhrase:
    """A row of the table."""

    words: str
    grade: Grade
    answers: bool = False
    """Also an answer: it counts only while something moves and no question is open."""


_LISTS: Final = lists("stops")
STOP_PHRASES: Final = (
    *(StopPhrase(words, Grade.TRIP) for words in _LISTS.texts("trip")),
    *(StopPhrase(words, Grade.CANCEL) for words in _LISTS.texts("cancel")),
    *(StopPhrase(words, Grade.HOLD) for words in _LISTS.texts("hold")),
    *(StopPhrase(words, Grade.CANCEL, answers=True) for words in _LISTS.texts("cancel_or_answer")),
)
"""The strongest first: "no, wait" holds, "wait, stop" trips."""

STOP_WORDS: Final = tuple(row.words for row in STOP_PHRASES if row.grade is Grade.TRIP and " " not in row.words)
"""The words that trip the latch alone."""

HEARD_FOR_STOP: Final = _LISTS.heard_for_stop
"""Words that recognisers write for a "stop" that they do not understand."""

HEARD_FOR_ANY_WORD: Final = _LISTS.heard_for_any_word
"""Words that recognisers write for a short word that they do not know."""

LOOKED_FOR: Final = _LISTS.texts("looked_for")
"""Stop phrases that are looked for in the sound of a few words that were not understood."""

RELEASES: Final = (
    *((words, Release.SPEECH) for words in _LISTS.texts("speech_again")),
    *((words, Release.MOTION) for words in _LISTS.texts("motion_again")),
)
"""The phrases that end a hold."""

_AT_END: Final = frozenset(_LISTS.texts("at_end"))
_FEW_AND_END: Final = 4
"""Most words of a text that is searched for one of those: longer ones tell of it, "he asked me to hold on"."""
_JOINS: Final = _LISTS.joins
_POLITE: Final = tuple(sorted(_LISTS.polite))
_AROUND: Final = (*_POLITE, *_LISTS.texts("around"))
"""Words that may stand before, between and after phrases, beside the robot's name."""

_BRACKETS: Final = str.maketrans("()[]<>", "      ")
"""Brackets mark noise for the rules on sentences; of an utterance that is nothing else they are read: "(stop)"."""

_SOFT_HYPHEN: Final = "\u00ad"
_Words = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Circumstances in which somebody says something.

    Attributes:
        busy: The robot moves, speaks or thinks.
        moves: Something moves, or is about to.
        asked: A question of the robot's is open.
        speaks: The robot says something aloud.
    """

    busy: bool
    moves: bool
    asked: bool
    speaks: bool = False


class StopPhrases:
    """The table of one robot.

    Args:
        names: What the robot is called, such as its agent's name and the wake words.
        trips: Stop words of the app's own, in any language; of the grade trip.
    """

    def __init__(self, *, names: Iterable[str] = (), trips: Iterable[str] = ()) -> None:
        self._rows: dict[_Words, StopPhrase] = {}
        for row in (*(StopPhrase(words, Grade.TRIP) for words in trips), *STOP_PHRASES):
            if words := tuple(words_of(row.words)):
                self._rows.setdefault(words, row)
        self._strength = {phrase: place for place, phrase in enumerate(self._rows)}
        self._releases = {tuple(words_of(words)): release for words, release in RELEASES}
        called = [name for name in (tuple(words_of(name)) for name in names) if name]
        around = (tuple(words_of(words)) for words in _AROUND)
        self._parts = _by_first_word((*self._rows, *self._releases, *around, *called))
        self._polite = {word for words in (*map(words_of, _POLITE), *called) for word in words}

    def read(self, text: str) -> StopPhrase | None:
        """The strongest phrase of an utterance that has stop phrases and what may stand around them, and nothing else.

        "Robi, please stop!" has one; "don't stop" and "the bus stop" have none, nor has "no thanks".
        """
        parts = self._parts_of(text)
        found = min(self._rows.keys() & set(parts), key=self._strength.__getitem__, default=None)
        if found is None:
            return None
        row = self._rows[found]
        if row.answers and any(part != found and not self._polite.issuperset(part) for part in parts):
            return None
        return row

    def grade(self, text: str, situation: Situation, *, typed: bool = False) -> Grade | None:
        """Grades an utterance as a stop phrase of now; None where it is for the model, or an answer.

        Args:
            text: The whole utterance.
            situation: What goes on.
            typed: A person has typed the text: then "stop" is for the model, too, while nothing goes on.
        """
        row = self.read(text)
        if row is None:
            return None
        match row.grade:
            case Grade.TRIP:
                counts = situation.busy or not typed
            case Grade.CANCEL if row.answers:
                counts = situation.moves and not situation.asked
            case Grade.CANCEL:
                counts = situation.busy
            case _:
                counts = situation.busy and (situation.moves or situation.speaks or not situation.asked)
        return row.grade if counts else None

    def beside(self, text: str) -> str:
        """Returns what else is wanted in an utterance that begins with a phrase that trips: "stop and tell me where you
        are". Empty where nothing is, or what begins with a phrase that trips or holds."""
        words = text.split()
        for at, word in enumerate(words):
            if word.lower() in _JOINS and self._grade_of(words[:at]) is Grade.TRIP:
                rest = list(dropwhile(lambda one: one.lower() in _JOINS, words[at:]))
                grades = {self._grade_of(rest[:end]) for end in range(1, len(rest) + 1)}
                return "" if grades & {Grade.TRIP, Grade.HOLD} else " ".join(rest)
        return ""

    def _grade_of(self, words: Sequence[str]) -> Grade | None:
        row = self.read(" ".join(words))
        return None if row is None else row.grade

    def is_near_stop(self, text: str) -> bool:
        """True if an utterance that was not understood may have been "stop" alone.

        It would be a phrase that trips if "stop" stood where it has a word that sounds like it.
        """
        words = sentence(text).words
        heard = " ".join("stop" if word in HEARD_FOR_STOP else word for word in words)
        row = self.read(heard)
        return row is not None and row.grade is Grade.TRIP and not HEARD_FOR_STOP.isdisjoint(words)

    def release(self, text: str) -> Release | None:
        """Returns what an utterance ends of a hold; it has no other words but those that may stand around the
        phrase."""
        parts = self._parts_of(text)
        found = {self._releases[part] for part in parts if part in self._releases}
        if not found or not self._rows.keys().isdisjoint(parts):
            return None
        return Release.MOTION if Release.MOTION in found else Release.SPEECH

    def _parts_of(self, text: str) -> list[_Words]:
        """The phrases of an utterance, and what stands around them, in the order said; none if it has another word."""
        words = _words(text)
        parts: list[_Words] = []
        at = 0
        while at < len(words):
            known = self._parts.get(words[at], ())
            part = next((part for part in known if words[at : at + len(part)] == part), None)
            if part is None:
                return []
            parts.append(part)
            at += len(part)
        return parts


def _words(text: str) -> _Words:
    """All words of an utterance; none of one that is too long to be read to its end, repetitions apart."""
    if len(text) > LONGEST:
        text = " ".join(word for word, _ in groupby(text.split()))
        if len(text) > LONGEST:
            return ()
    text = normalize("NFKC", text).replace(_SOFT_HYPHEN, "")
    return tuple(sentence(text).words or sentence(text.translate(_BRACKETS)).words)


def _by_first_word(phrases: Iterable[_Words]) -> dict[str, list[_Words]]:
    """Phrases by their first word, the longest first."""
    made: dict[str, list[_Words]] = {}
    for phrase in sorted(set(phrases), key=len, reverse=True):
        made.setdefault(phrase[0], []).append(phrase)
    return made


Verdict = Literal["confirmed", "denied", "unclear"]

MENTION: Final = lists("mentions")
_ENDINGS: Final = ("s", "es", "d", "ed", "ing")
FEW: Final = 3
"""Words of a short sentence, in which the phrase may have been misheard."""
_ALIKE: Final = 3
"""Words that differ in no more than one letter of so many may be the same, misheard."""
_TALK_WORDS: Final = 4


def verdict(words: list[str], start: int, end: int) -> Verdict:
    """Judges one occurrence by the words around it."""
    before, after = words[:start], words[end:]
    if is_forbidden(before):
        return "denied"
    if answer := decide("mention", before, after):
        return "confirmed" if answer == "confirmed" else "denied"
    return "denied" if len(words) > _TALK_WORDS and after else "unclear"


def ends_with_hold(text: str) -> bool:
    """True if a few words end with a "hold on" that is neither forbidden nor talked about."""
    words = words_of(text)
    start = len(words) - 2
    if not 0 < start <= _FEW_AND_END - 2 or " ".join(words[start:]) not in _AT_END:
        return False
    return verdict(words, start, len(words)) != "denied"


def is_forbidden(before: list[str]) -> bool:
    """True if a negator governs what follows: next to it, or with nothing but small words between."""
    for place in range(len(before) - 1, -1, -1):
        word = before[place]
        if word in NEGATION.before_phrase:
            return True
        if word == "no" and before[place + 1 : place + 2] == ["need"]:
            return True
        if word not in MENTION.between and word != "need":
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
    return edit_distance(word, wanted) <= len(wanted) // _ALIKE
