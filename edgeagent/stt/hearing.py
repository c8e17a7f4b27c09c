"""Words that were understood, with their times and how sure the recogniser is, and events of the ears. Values.

The protocol of a recogniser is here too: mono float32 at 16 kHz in, words out. Onset, soft end, resumption and hard end
are the endpointer's own values. Times are the device's clock's, those of words count from the beginning of the
utterance. Utterances are numbered from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import Final, Protocol

from edgeagent.audio.device import Samples
from edgeagent.audio.endpoint import HardEnd, SoftEnd, SpeechResumed, SpeechStarted, VoiceEvent
from edgeagent.audio.vad import RATE_HZ

AGAIN_S: Final = 0.5
"""Seconds from the end of a key phrase in which another report of it means the same one."""


@dataclass(frozen=True, slots=True)
class HeardWord:
    """A word that was recognised. ``confidence`` is from 0 to 1; None if the engine tells none."""

    text: str
    start_s: float
    end_s: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class RecognisedText:
    """Words of an utterance, as far as they are known.

    Attributes:
        text: In one form for all engines: numbers and units as a person would type them.
        raw: As the engine gave it.
        others: What else it may have been, as the engine gave it, the likeliest first; empty where it tells none.
        excluded: Phrases that were looked for: no text with one of them fits the sound nearly as well.
        near_stops: Stop phrases that fit the sound nearly as well as what was not understood, the likeliest first;
            empty where the engine can't look for them.
        far_stops: Stop words that fit the sound less well than what was not understood, the likeliest first. One counts
            only if the spotter suspects a stop word as well.
        understood: False if nothing that the engine knows explains the sound: then the text is a guess to ask about,
            and to act on only where it is likely.
        likely: Not understood, but likely enough for a robot at rest to act on, and nothing speaks against it.
        possible: All that may have been said, in the form of ``text``, with shares of the probability, where the words
            were not understood only because of each other: what the engine would have written by itself, and then the
            likeliest. A robot at rest may act on what most of it asks for.
        final: Nothing about it will change.
    """

    text: str
    words: tuple[HeardWord, ...] = ()
    confidence: float | None = None
    understood: bool = True
    likely: bool = False
    possible: tuple[tuple[str, float], ...] = ()
    final: bool = True
    engine: str = ""
    raw: str = ""
    others: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    near_stops: tuple[str, ...] = ()
    far_stops: tuple[str, ...] = ()


class Transcriber(Protocol):
    """A recogniser of one utterance at a time; called by one thread, ``close`` by any."""

    @property
    def name(self) -> str: ...
    def begin(self) -> None:
        """A new utterance; what was fed before is forgotten."""
        ...

    def feed(self, samples: Samples) -> RecognisedText | None:
        """The next samples. Returns what is known so far if that has changed, and the engine tells it that early."""
        ...

    def finish(self, stop_event: Event) -> RecognisedText:
        """The utterance is over. Ends soon after ``stop_event`` is set, with what is known until then, not final.

        Raises:
            RecognitionError: The engine failed; the next utterance may work.
        """
        ...

    def close(self) -> None: ...


__all__ = [
    "LEVEL_S",
    "RATE_HZ",
    "EarlyLook",
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
    "WaitSpotted",
]

LEVEL_S: Final = 0.02
"""Between two ``Level``."""


@dataclass(frozen=True, slots=True)
class PartialTranscript:
    """Knowledge about an utterance that goes on; anything about it may change."""

    utterance: int
    transcript: RecognisedText


@dataclass(frozen=True, slots=True)
class EarlyLook:
    """Transcript of an utterance until ``at_s``, while it goes on, by the recogniser that else waits for its end.

    Never understood, because nobody knows yet what follows. The transcript of all of it may be another one.
    """

    utterance: int
    transcript: RecognisedText
    at_s: float


@dataclass(frozen=True, slots=True)
class FinalTranscript:
    """Transcript of all of the utterance until the soft end at ``at_s``.

    Comes before or after ``HardEnd``, and is void if ``SpeechResumed`` follows. Exactly one is left for every utterance
    that ended, unless the ears were closed: where the recogniser failed its text is empty, and not understood.
    """

    utterance: int
    transcript: RecognisedText
    at_s: float
    latency_s: float
    """From the end of speech, ``at_s``, until this was known, on the device's clock."""
    suspected: SpottedPhrase | None = None
    """Likeliest stop word of the utterance by the spotter, which may not have told of any; None where the spotter can't
    say."""


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
    foreign: bool = False
    """The robot speaks, and has certainly not said it itself."""
    waits: bool = False
    """It makes motion wait for a moment, and is no stop word or wake word."""


@dataclass(frozen=True, slots=True)
class KeywordSpotted:
    """A key phrase was heard, at any time, also over the robot's own voice. What was meant is the transcript's to say.

    Its times are the device's.
    """

    keyword: SpottedPhrase


@dataclass(frozen=True, slots=True)
class WaitSpotted:
    """A phrase that makes motion wait was heard, such as "hold on". Told as ``KeywordSpotted`` is."""

    keyword: SpottedPhrase


LOUD_DB: Final = 6.5
"""Over the floor: as much as makes voice activity look at a sound, unless its settings are others."""


@dataclass(frozen=True, slots=True)
class Level:
    """Sound, whether anybody listens or not: a clock as well. Every ``LEVEL_S``, and in silence every 0.1 s.

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

    @property
    def loud(self) -> bool:
        """True if something is louder than the room, and is not the robot's own voice."""
        return not self.far_active and self.level_db >= self.floor_db + LOUD_DB


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


HearingEvent = (
    VoiceEvent
    | PartialTranscript
    | EarlyLook
    | FinalTranscript
    | Judged
    | KeywordSpotted
    | WaitSpotted
    | Level
    | Trouble
)
