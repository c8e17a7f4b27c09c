"""Reports of the ears, as events of the voice, for subscribers and the log.

The conversation's thread. Decides nothing.
"""

from __future__ import annotations

from edgeagent import events
from edgeagent.stt.hearing import Transcribed, Trouble
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

    def transcribed(self, event: Transcribed) -> None:
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
