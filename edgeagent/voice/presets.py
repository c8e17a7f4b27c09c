"""Ease with which the robot is interrupted, and its patience for the rest of a sentence: four presets, settable."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.errors import ConfigError

PresetName = Literal["eager", "balanced", "strict", "off"]


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


PRESETS: Final[dict[PresetName, Preset]] = {
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
        reopen_ms=700,
    ),
    "balanced": Preset(
        hold_after_ms=80,
        words=2,
        final_after_ms=1000,
        resume_after_ms=600,
        soft_end_ms=200,
        command_end_ms=320,
        question_end_ms=360,
        statement_end_ms=650,
        unfinished_end_ms=1300,
        reopen_ms=800,
    ),
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
        reopen_ms=1000,
    ),
    "off": Preset(
        hold_after_ms=math.inf,
        words=0,
        final_after_ms=math.inf,
        resume_after_ms=0,
        soft_end_ms=200,
        command_end_ms=320,
        question_end_ms=360,
        statement_end_ms=650,
        unfinished_end_ms=1300,
        reopen_ms=800,
    ),
}
"""``balanced`` unless told otherwise."""


def preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        ConfigError: There is none.
    """
    for known, numbers in PRESETS.items():
        if known == name:
            return numbers
    raise ConfigError(f"there is no barge-in preset {name!r}; there are {', '.join(PRESETS)}")
