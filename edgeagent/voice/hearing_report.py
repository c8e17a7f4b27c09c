"""Reports of the ears as events of the voice, and the loss of ears for a stop word. The conversation's thread."""

from __future__ import annotations

from typing import Final

from edgeagent import events
from edgeagent.stt.hearing import FinalTranscript, HearingEvent, KeywordSpotted, PartialTranscript, Trouble
from edgeagent.stt.transcriber import Transcript
from edgeagent.voice.robot_side import Emit


class HearingReport:
    """Tells of speech, words and trouble.

    Args:
        emit: Called with the class and the fields of an event.
    """

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._open = False

    def begun(self) -> None:
        """Somebody speaks."""
        self._open = True
        self._emit(events.SpeechStart)

    def paused(self) -> None:
        """Speech has probably ended."""
        self._emit(events.SpeechEnd, soft=True)

    def ended(self) -> None:
        """The turn is over; told once, though the utterance may end later than the turn."""
        if self._open:
            self._emit(events.SpeechEnd, soft=False)
        self._open = False

    def partly(self, transcript: Transcript) -> None:
        """A guess at the words."""
        self._emit(events.Partial, text=transcript.text)

    def transcribed(self, event: FinalTranscript) -> None:
        """The words until the soft end."""
        transcript = event.transcript
        self._emit(
            events.Transcript,
            text=transcript.text,
            words=transcript.words,
            confidence=transcript.confidence,
            latency_s=event.latency_s,
            engine=transcript.engine,
            understood=transcript.understood,
        )

    def trouble(self, event: Trouble) -> None:
        """Something does not work as it should, or does again."""
        self._emit(events.Device, state="trouble", name=f"{event.part}: {event.text}")


EARS_S: Final = 1.0
"""Ears that fail or are behind for so long hear no stop word in time."""
RECOGNISERS_S: Final = 3.0
"""The same where both the spotter and the transcriber are lost: each is started again within two seconds, as a rule."""
_EARS: Final = frozenset({"ears"})
_RECOGNISERS: Final = frozenset({"keywords", "transcriber"})


class HearingLoss:
    """Parts of the hearing that are lost, and since when."""

    def __init__(self) -> None:
        self._since_s: dict[tuple[str, str], float] = {}
        """By part and source."""

    def take(self, event: HearingEvent, now_s: float) -> None:
        """A part is in trouble, or shows that it works."""
        match event:
            case Trouble(part=part, source=source, lost=True):
                if event.over:
                    self._since_s.pop((part, source), None)
                else:
                    self._since_s.setdefault((part, source), now_s)
            case KeywordSpotted():
                self._works("keywords")
            case PartialTranscript():
                self._works("transcriber")
            case FinalTranscript(transcript=transcript) if transcript.text:
                self._works("transcriber")

    def deaf(self, now_s: float) -> bool:
        """True if no stop word would be heard in time."""
        return self._lost(_EARS, now_s - EARS_S) or self._lost(_RECOGNISERS, now_s - RECOGNISERS_S)

    def _works(self, part: str) -> None:
        self._since_s = {key: since_s for key, since_s in self._since_s.items() if key[0] != part}

    def _lost(self, parts: frozenset[str], before_s: float) -> bool:
        return parts <= {part for (part, _), since_s in self._since_s.items() if since_s <= before_s}
