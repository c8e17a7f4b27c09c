"""Behaviour of a conversation, whatever its devices and engines are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from edgeagent.english.completeness import Phrases
from edgeagent.errors import ConfigError
from edgeagent.hooks.talk_guard import NOT_UNDERSTOOD, moves
from edgeagent.tools import Tool
from edgeagent.voice.announcer import AnnouncerSettings
from edgeagent.voice.presets import PRESETS, Preset
from edgeagent.voice.telling import Telling


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
    """The model makes a command of anything: what is typed is kept from tools as what is spoken is."""
    english_only: bool = False
    """The model knows no other language: one is answered without it."""
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

    def __post_init__(self) -> None:
        if not self.stop_words:
            raise ConfigError("stop_words is empty: a robot that can't be stopped by a word must not talk")
        for name in ("follow_up_s", "reopen_s"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} of the conversation is {getattr(self, name)}: it must be 0 or more")
