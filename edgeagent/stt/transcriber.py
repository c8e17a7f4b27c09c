"""Recognisers: sound in, words out, with their times and how sure it is. Values and protocols only.

Sound is mono float32 at 16 kHz. Times are seconds from the beginning of the utterance.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event
from typing import Final, Protocol

from edgeagent.audio.device import Samples

RATE_HZ: Final = 16_000


@dataclass(frozen=True, slots=True)
class HeardWord:
    """A word that was recognised. ``confidence`` is from 0 to 1; None if the engine tells none."""

    text: str
    start_s: float
    end_s: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """Words of an utterance, as far as they are known.

    Attributes:
        text: In one form for all engines: numbers and units as a person would type them.
        raw: As the engine gave it.
        others: What else it may have been, as the engine gave it, the likeliest first; empty where it tells none.
        understood: False if nothing that the engine knows explains the sound: then the text is a guess to ask about,
            and never to act on.
        final: Nothing about it will change.
    """

    text: str
    words: tuple[HeardWord, ...] = ()
    confidence: float | None = None
    understood: bool = True
    final: bool = True
    engine: str = ""
    raw: str = ""
    others: tuple[str, ...] = ()


class Transcriber(Protocol):
    """A recogniser of one utterance at a time; called by one thread, ``close`` by any."""

    @property
    def name(self) -> str: ...
    def begin(self) -> None:
        """A new utterance; what was fed before is forgotten."""
        ...

    def feed(self, samples: Samples) -> Transcript | None:
        """The next samples. Returns what is known so far if that has changed, and the engine tells it that early."""
        ...

    def finish(self, stop_event: Event) -> Transcript:
        """The utterance is over. Ends soon after ``stop_event`` is set, with what is known until then, not final.

        Raises:
            RecognitionError: The engine failed; the next utterance may work.
        """
        ...

    def close(self) -> None: ...
