"""Behaviour of a conversation, whatever its devices and engines are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from edgeagent.english.completeness import Phrases
from edgeagent.errors import ConfigError
from edgeagent.hooks.tool_guards import NOT_UNDERSTOOD, moves
from edgeagent.tools import Tool
from edgeagent.voice.announcer import AnnouncerSettings
from edgeagent.voice.telling import Telling


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """The numbers of a barge-in preset, in milliseconds.

    Raises:
        ConfigError: One is negative; the text names it.
    """

    hold_after_ms: float
    """Speech over the robot's voice until it falls silent, from the onset. Voice activity itself takes about 150."""
    words: int
    """Words over the robot's voice that make the interruption final, if they begin a command, a question or a
    correction and two partial transcripts in a row have them: one is a guess."""
    final_after_ms: float
    """Speech over the robot's voice that makes it final whatever was said. ``soft_end_ms`` of silence comes on top:
    until then nobody knows that the speech has ended. Meanwhile the robot is silent; and of what was shorter the words
    at the soft end decide."""
    resume_after_ms: float
    """Silence after speech that was too little, until the robot goes on where it was held."""
    soft_end_ms: float
    """Silence until the work begins."""
    command_end_ms: float
    """Silence until the hard end after a complete command, a correction, an answer or a control word."""
    question_end_ms: float
    """... after a question."""
    statement_end_ms: float
    """... after anything else that was understood, and until the words are known."""
    unfinished_end_ms: float
    """... after a phrase that is not finished: "drive to the"."""
    motion_after_ms: float
    """Silence after a spoken turn until motion that it asks for begins, sound of up to 150 aside. Of 11 corrections by
    joe, such as "go to the kitchen, no, the bedroom", the pause is up to 340 long, by five other voices up to 200: what
    sounds in that time is waited for."""
    amount_after_ms: float
    """The same where that motion has an amount which was not told: "ninety degrees" may follow "turn left"."""
    reopen_ms: float
    """Silence in which a turn that is answered already may go on: what was answered is void then."""

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} of the barge-in preset is {getattr(self, name)}: it must be 0 or more")

    @property
    def interruptible(self) -> bool:
        """False if only a stop word, the wake word or a button interrupts."""
        return math.isfinite(self.hold_after_ms)


_BALANCED: Final = Preset(
    hold_after_ms=80,
    words=2,
    final_after_ms=1000,
    resume_after_ms=600,
    soft_end_ms=200,
    command_end_ms=320,
    question_end_ms=360,
    statement_end_ms=650,
    unfinished_end_ms=1300,
    motion_after_ms=350,
    amount_after_ms=450,
    reopen_ms=800,
)
PRESETS: Final[dict[str, Preset]] = {
    "eager": Preset(
        hold_after_ms=60,
        words=1,
        final_after_ms=500,
        resume_after_ms=400,
        soft_end_ms=180,
        command_end_ms=260,
        question_end_ms=300,
        statement_end_ms=500,
        unfinished_end_ms=900,
        motion_after_ms=260,
        amount_after_ms=360,
        reopen_ms=700,
    ),
    "balanced": _BALANCED,
    "strict": Preset(
        hold_after_ms=400,
        words=3,
        final_after_ms=1500,
        resume_after_ms=700,
        soft_end_ms=250,
        command_end_ms=500,
        question_end_ms=550,
        statement_end_ms=900,
        unfinished_end_ms=1800,
        motion_after_ms=500,
        amount_after_ms=700,
        reopen_ms=1000,
    ),
    "off": replace(_BALANCED, hold_after_ms=math.inf, words=0, final_after_ms=math.inf, resume_after_ms=0),
}
"""``balanced`` unless told otherwise."""


def preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in PRESETS:
        raise ConfigError(f"there is no barge-in preset {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueSettings:
    """Barge-in, words, and waiting.

    Raises:
        ConfigError: There is no stop word, or a time is negative.
    """

    preset: Preset = PRESETS["balanced"]
    phrases: Phrases = field(default_factory=Phrases)
    """Phrases of the app's people, for telling a whole sentence from one that goes on."""
    stop_words: tuple[str, ...] = ("stop",)
    """Words that the spotter listens for; whole utterances stop the robot by ``phrases.stops``, too."""
    wake_words: tuple[str, ...] = ()
    """Without one the robot never sleeps."""
    follow_up_s: float = 8.0
    """After its last word the robot hears for so long without the wake word."""
    reopen_s: float = 1.0
    """Speech that goes on so soon after the hard end belongs to the turn, if nothing was heard or done yet."""
    announcer: AnnouncerSettings = field(default_factory=AnnouncerSettings)
    telling: Telling = field(default_factory=Telling)
    """Sentences about skills."""
    chimes: bool = True
    push_to_talk: bool = False
    keeps_from_talk: Callable[[Tool], bool] = moves
    """Tools that a spoken utterance sets off only if it may ask for something: not "the coffee is cold" or "don't go",
    whatever the model makes of them. Motion unless told; ``not_understood`` is said instead."""
    small_model: bool = False
    """The model makes a command of anything, and knows English only: what is typed is kept from tools as what is spoken
    is, and another language is answered without it."""
    not_understood: str = NOT_UNDERSTOOD
    did_you_say: str = "Did you say: {text}?"
    """Said instead where it was probably a command or question; ``{text}`` is what."""
    say_again: str = "Then please say it again."
    """Said when it was not."""
    not_ready: str = "One moment, please."
    """Said when the model is not warm yet."""
    failed: str = "Sorry, that did not work."
    """Said when a run ends in an error."""
    stopped: str = "I am stopped. Say continue when I may move again."
    """Said when motion is asked for while it is off."""
    waiting: str = "I am waiting. Say continue when I may move on."
    """Said when motion is asked for after "wait"."""
    rearmed: str = "Okay, I can move again."
    still_stopped: str = "I can't move yet, because {reason}."
    """Said when "continue" is refused; ``{reason}`` is the latch's."""

    def __post_init__(self) -> None:
        if not self.stop_words:
            raise ConfigError("stop_words is empty: a robot that can't be stopped by a word must not talk")
        for name in ("follow_up_s", "reopen_s"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} of the conversation is {getattr(self, name)}: it must be 0 or more")
