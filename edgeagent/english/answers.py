"""Short replies to the robot: a yes, a no, and the words that control a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from edgeagent.english.sentence_rules import sentence
from edgeagent.english.stop_phrases import Grade, StopPhrases
from edgeagent.english.tokens import NEGATION
from edgeagent.english.word_data import lists

_MOST_WORDS: Final = 16
"""Longer is no answer; a recogniser that repeats itself would keep the patterns busy for hours."""
_LISTS: Final = lists("answers")
_PIECES: Final = _LISTS.table("pieces")
_PIECE: Final = re.compile(r"\{([a-z_]+)\}")


def _filled(pattern: str) -> str:
    """The pattern with every ``{piece}`` in its place."""
    return _PIECE.sub(lambda found: _filled(_PIECES[found[1]]), pattern)


_CLEAR_YES: Final = re.compile(_filled("{clear_yes}"))


def yes_or_no(text: str) -> bool | None:
    """Reads the answer of an utterance to "shall I?": True for a clear yes, and for nothing else.

    False if there is any no in it, None for everything else: neither allows anything. "uh-huh", "right" and "mhm" are
    None, since people say them without having listened.
    """
    words = sentence(text).words
    if NEGATION.refuses & set(words):
        return False
    if len(words) > _MOST_WORDS:
        return None
    return True if _CLEAR_YES.fullmatch(" ".join(words)) else None


def is_only_no(words: Iterable[str]) -> bool:
    """True if an answer that has a no says nothing else: "no thanks", but not "no, the kitchen"."""
    return NEGATION.refuses_alone.issuperset(words)


_BACKCHANNELS: Final = re.compile(_filled("{backchannel}(?: {backchannel}){0,3}"))


def is_backchannel(words: Iterable[str]) -> bool:
    """True for words that a listener says while another speaks, and that take no turn: "uh-huh", "I see"."""
    return _BACKCHANNELS.fullmatch(" ".join(words)) is not None


class Control(StrEnum):
    """Wish of a person that is about the conversation itself."""

    LOUDER = "louder"
    QUIETER = "quieter"
    VOLUME = "volume"
    """Set the volume to ``Controlled.percent``."""
    REPEAT = "repeat"
    """Say the last answer again."""
    CANCEL = "cancel"
    """Cancel what goes on: goals, the run, an open question."""
    CONTINUE = "continue"
    """Go on; where a stop has tripped the safety latch, motion is allowed again."""
    HUSH = "hush"
    """Say no more of this answer."""
    MUTE = "mute"
    """Say nothing aloud until ``UNMUTE``."""
    UNMUTE = "unmute"
    SLEEP = "sleep"
    """Wait for the wake word."""
    WAIT = "wait"
    """Motion and speech wait where they are."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """A control, and for ``Control.VOLUME`` the wanted volume in percent, 0 to 100."""

    control: Control
    percent: float | None = None


def _control(control: str, cores: Iterable[str]) -> re.Pattern[str]:
    before = "{before_continue}" if control == Control.CONTINUE else "{before}"
    return re.compile(_filled(f"{before}(?:{'|'.join(cores)}){{after}}"))


_CONTROLS: Final = {Control(control): _control(control, cores) for control, cores in _LISTS.table("controls").items()}
_VOLUME: Final = re.compile(_filled("{before}(?:{volume}){after}"))
_LEVELS: Final[dict[str, float]] = _LISTS.table("levels")
_TENTHS: Final = 10
"""Up to here a volume without "percent" is on a scale from 0 to 10."""


_PLAIN: Final = StopPhrases()
"""The stop phrases of a robot without a name."""
_GRADED: Final = {Grade.CANCEL: Control.CANCEL, Grade.HOLD: Control.WAIT}


def control_of(text: str, stops: StopPhrases = _PLAIN) -> Controlled | None:
    """The control that a whole utterance is, or None.

    "volume five" is 50 percent, on a scale to ten; "volume fifty" and "volume fifty percent" are too.

    Args:
        stops: The robot's stop phrases: those that cancel and hold are controls, but for "no", which may be an answer.
    """
    words = sentence(text).words
    if len(words) > _MOST_WORDS:
        return None
    said = " ".join(words)
    row = stops.read(text)
    if row is not None:
        return None if row.answers or row.grade not in _GRADED else Controlled(_GRADED[row.grade])
    if found := _VOLUME.fullmatch(said):
        percent = _percent(found.groupdict())
        return None if percent is None else Controlled(Control.VOLUME, percent)
    return next((Controlled(control) for control, pattern in _CONTROLS.items() if pattern.fullmatch(said)), None)


def _percent(found: dict[str, str | None]) -> float | None:
    if word := found["word"] or found["first"]:
        return _LEVELS[word]
    number = float(found["number"] or 0)
    if not found["percent"] and number <= _TENTHS:
        number *= 100 / _TENTHS
    return number if number <= 100 else None
