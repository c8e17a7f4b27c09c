"""Events of the ears, for those who listen to them. Values only.

Onset, soft end, resumption and hard end are the endpointer's own values, with times of the device's clock as all times
here. Utterances are numbered from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgeagent.audio.endpoint import HardEnd, SoftEnd, SpeechResumed, SpeechStarted, VoiceEvent
from edgeagent.stt.transcriber import Transcript

__all__ = [
    "LEVEL_S",
    "FinalTranscript",
    "HardEnd",
    "HearingEvent",
    "Judged",
    "KeywordSpotted",
    "Level",
    "PartialTranscript",
    "SoftEnd",
    "SpeechResumed",
    "SpeechStarted",
    "SpottedPhrase",
    "Trouble",
]

LEVEL_S: Final = 0.02
"""Between two ``Level``."""


@dataclass(frozen=True, slots=True)
class PartialTranscript:
    """Knowledge about an utterance that goes on; anything about it may change."""

    utterance: int
    transcript: Transcript


@dataclass(frozen=True, slots=True)
class FinalTranscript:
    """Transcript of all of the utterance until the soft end at ``at_s``.

    Comes before or after ``HardEnd``, and is void if ``SpeechResumed`` follows. Exactly one is left for every utterance
    that ended, unless the ears were closed: where the recogniser failed its text is empty, and not understood.
    """

    utterance: int
    transcript: Transcript
    at_s: float
    latency_s: float
    """From the end of speech, ``at_s``, until this was known, on the device's clock."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn-end model has heard the utterance until its soft end: the probability that the speaker is done."""

    utterance: int
    probability: float


@dataclass(frozen=True, slots=True)
class SpottedPhrase:
    """A phrase that was heard. Times are those given to ``feed``, in seconds."""

    phrase: str
    start_s: float
    end_s: float
    heard_s: float
    """The end of the block with which it was known."""
    score: float
    """From 0 to 1, higher is surer; comparable between hits of one phrase only."""
    sure: bool = False
    """The network that has learnt the phrase has no doubt. PocketSphinx always has."""


@dataclass(frozen=True, slots=True)
class KeywordSpotted:
    """A key phrase was heard, at any time, also over the robot's own voice. What was meant is the transcript's to say.

    Its times are the device's.
    """

    keyword: SpottedPhrase


@dataclass(frozen=True, slots=True)
class Level:
    """Sound, every ``LEVEL_S``, whether anybody listens or not: a clock as well.

    Attributes:
        now_s: Until when the microphone has been heard.
        level_db: Of the last ``LEVEL_S``, in dB of full scale, without the robot's own voice.
        floor_db: Of the room, in dB of full scale.
        voiced: Somebody speaks: an utterance is open, and has not ended softly.
        far_active: The robot's own voice may be in the sound.
    """

    now_s: float
    level_db: float
    floor_db: float
    voiced: bool
    far_active: bool


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something does not work as it should, or does again: a recogniser died, hangs, is back, is behind; the microphone
    stalls.

    Attributes:
        part: ``device``, ``ears``, ``transcriber`` or ``keywords``.
        text: A sentence for a person.
        over: It works again.
        source: Which one, where a part has several processes.
        lost: The part hears nothing meanwhile; without it this is only told.
    """

    part: str
    text: str
    over: bool = False
    source: str = ""
    lost: bool = True


HearingEvent = VoiceEvent | PartialTranscript | FinalTranscript | Judged | KeywordSpotted | Level | Trouble
