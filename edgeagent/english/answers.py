"""Short replies to the robot: a yes, a no, and the words that control a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from edgeagent.english.stop_phrases import Grade, StopPhrases
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


_ONLY_NO: Final = frozenset("no nope nah negative not that thanks thank you".split())
"""Words of a no with nothing else in it."""


def is_only_no(words: Iterable[str]) -> bool:
    """True if an answer that has a no says nothing else: "no thanks", but not "no, the kitchen"."""
    return _ONLY_NO.issuperset(words)


_BACKCHANNEL: Final = (
    "(?:u+h huh|m+ h+m+|m(?: [mh]){2,3}|m+ mm|mhm|m+hm+|mm+|um hum|hm+|huh|aha|ah+|oh|okay|yeah|yes|yep|yup|right|"
    "sure|all right|i see|got it|i got it|good|great|cool|nice|fine|really|wow|interesting|of course|exactly|indeed|"
    "understood|thanks|thank you|makes sense|that makes sense|that is (?:good|great|nice|fine|right|interesting)|"
    "very good|i understand|i know|go on|and|true|perfect|ha ha|well)"
)
_BACKCHANNELS: Final = re.compile(f"{_BACKCHANNEL}(?: {_BACKCHANNEL}){{0,3}}")


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


_BEFORE: Final = (
    "(?:(?:please|robot|hey|okay|so|well|now|just|no|oh|sorry|and|then|um|uh|"
    "(?:can|could|would|will) you(?: please)?(?: just)?|i want you to|i would like you to) )*"
)
_AFTER: Final = "(?: (?:please|now|robot|then|thanks|thank you|will you|would you|could you))*"
_BIT: Final = "(?:(?:a )?(?:bit|little|little bit|lot) |much |even |some )?"
_TRAILING_BIT: Final = "(?: (?:a (?:bit|little|lot)|a little bit))?"
_SPEAK: Final = "(?:(?:speak|talk|be|get|go|make it|say it) )?"
_SOUND: Final = "(?:volume|sound)"
_ITS: Final = f"(?:it|the {_SOUND}|your {_SOUND}|{_SOUND}|your voice|yourself)"
_SAID: Final = "(?:what you (?:just )?said|the last (?:sentence|answer))"
_CORES: Final[dict[Control, tuple[str, ...]]] = {
    Control.LOUDER: (
        f"{_SPEAK}(?:up )?{_BIT}louder{_TRAILING_BIT}",
        f"(?:speak|talk) up{_TRAILING_BIT}",
        f"turn (?:{_ITS} up|up {_ITS})(?: a (?:bit|little))?",
        f"(?:raise|increase) {_ITS}",
        f"(?:more volume|{_SOUND} (?:up|higher))",
        "you are too (?:quiet|soft|low)",
        "i (?:can't|can not|can hardly|can barely) hear you",
    ),
    Control.QUIETER: (
        f"{_SPEAK}{_BIT}(?:quieter|softer|more (?:quietly|softly))",
        f"(?:speak|talk) {_BIT}(?:quietly|softly|quieter|softer)",
        f"turn (?:{_ITS} down|down {_ITS})(?: a (?:bit|little))?",
        f"(?:lower|reduce|decrease) {_ITS}",
        f"(?:less volume|{_SOUND} (?:down|lower)|keep (?:it|your voice) down)",
        "(?:(?:you are |that is |it is )?(?:too|so) loud|not so loud)",
    ),
    Control.REPEAT: (
        f"repeat(?: (?:that|it|yourself|{_SAID}))?(?: again| once more)?(?: for me)?",
        "say (?:that|it) (?:again|once more|one more time)",
        "say again",
        "(?:what did you (?:just )?say|what was that|come again|pardon(?: me)?|i beg your pardon)",
        "i (?:didn't|did not) (?:hear|catch|get|understand) (?:that|you|it|what you said)",
    ),
    Control.CONTINUE: (
        "(?:you (?:can|may) )?(?:continue|resume|carry on|go on|keep going|proceed)(?: again)?",
        "(?:continue|resume) (?:moving|driving|your (?:way|drive|motion|task)|what you were doing)",
        "you (?:can|may) (?:move|drive|go)(?: on| again)*",
        "you are (?:free|allowed) to (?:move|drive|go)(?: on| again)*",
        "(?:it is safe to move|re ?arm|all clear|the way is (?:clear|free))",
    ),
    Control.HUSH: (
        "(?:be|keep|stay) (?:quiet|silent)(?: for (?:a )?(?:bit|while|moment|second))?",
        "(?:quiet|silence|hush|shush|shut up|enough talking|that is enough talking)",
        "stop (?:talking|speaking)",
    ),
    Control.MUTE: (
        "mute(?: (?:yourself|it|your voice|the (?:sound|voice|speaker)))?",
        "turn (?:off your voice|your voice off|the sound off|off the sound)",
        "(?:sound|voice) off",
    ),
    Control.UNMUTE: (
        "un ?mute(?: (?:yourself|it|your voice|the (?:sound|voice|speaker)))?",
        "you (?:can|may) (?:talk|speak)(?: again)?",
        "turn (?:on your voice|your voice on|the sound on|on the sound)(?: again)?",
        "(?:sound|voice) on(?: again)?",
    ),
    Control.SLEEP: (
        "(?:you (?:can|may) )?(?:go (?:back )?to sleep|sleep)(?: robot)?",
        "stop listening(?: to (?:me|us))?",
        "that (?:is|will be|was) (?:all|it)(?: for (?:now|today))?",
    ),
}
_WITHOUT_NO: Final = _BEFORE.replace("|no|", "|")
"""Before "continue", which allows motion: "no, continue" may have been "don't continue"."""
_CONTROLS: Final = tuple(
    (
        control,
        re.compile(f"{_WITHOUT_NO if control is Control.CONTINUE else _BEFORE}(?:{'|'.join(cores)}){_AFTER}"),
    )
    for control, cores in _CORES.items()
)
_VOLUME: Final = re.compile(
    rf"{_BEFORE}(?:(?:set|put|turn|change|make) )?(?:the |your )?{_SOUND}(?: (?:up|down))?(?: (?:to|at|of))?"
    r" (?:(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<percent> percent)?|(?P<word>half|full|maximum|max|minimum|zero))"
    rf"{_AFTER}"
)
_FULL_FIRST: Final = re.compile(rf"{_BEFORE}(?P<word>half|full|maximum|minimum) {_SOUND}{_AFTER}")
"""Longer is no control; a recogniser that repeats itself would keep the patterns busy for hours."""
_LEVELS: Final = {"half": 50.0, "full": 100.0, "maximum": 100.0, "max": 100.0, "minimum": 10.0, "zero": 0.0}
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
    words = words_of(text)
    if len(words) > _MOST_WORDS:
        return None
    said = " ".join(words)
    row = stops.read(said)
    if row is not None:
        return None if row.answers or row.grade not in _GRADED else Controlled(_GRADED[row.grade])
    if found := _VOLUME.fullmatch(said) or _FULL_FIRST.fullmatch(said):
        percent = _percent(found.groupdict())
        return None if percent is None else Controlled(Control.VOLUME, percent)
    return next((Controlled(control) for control, pattern in _CONTROLS if pattern.fullmatch(said)), None)


def _percent(found: dict[str, str | None]) -> float | None:
    if word := found.get("word"):
        return _LEVELS[word]
    number = float(found["number"] or 0)
    if not found["percent"] and number <= _TENTHS:
        number *= 100 / _TENTHS
    return number if number <= 100 else None
