"""From what the ears tell to what is certain of each utterance, as events of the voice. Runs on one thread."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from edgeagent import events
from edgeagent.audio.device import Samples
from edgeagent.cli.listen_view import View
from edgeagent.stt import hearing
from edgeagent.stt.hearing import HearingEvent, SpottedPhrase
from edgeagent.stt.key_phrases import confirm, missed
from edgeagent.stt.recordings import Recordings
from edgeagent.voice.hearing_events import translated


@dataclass(slots=True, eq=False)
class _Utterance:
    """Knowledge about one utterance."""

    at_s: float
    ended: bool = False
    result: hearing.FinalTranscript | None = None
    sound: Samples | None = None


class Utterances:
    """Tells a transcript when its utterance has ended, and key phrases when they are heard and when they are certain.

    Args:
        view: Shows it.
        stop_words: Caught in a transcript as well, where the spotter missed them.
        recordings: Keeps what was said; None: nothing.
    """

    def __init__(self, view: View, stop_words: Collection[str], recordings: Recordings | None) -> None:
        self._view, self._stop_words, self._recordings = view, stop_words, recordings
        self._open: dict[int, _Utterance] = {}
        self._spotted: list[SpottedPhrase] = []
        self._partial = ""

    def take(self, t: float, event: HearingEvent | events.Device) -> None:
        """The next thing that was told, at a time of the monotonic clock."""
        match event:
            case hearing.SpeechStarted(utterance=number, at_s=at_s):
                self._open[number] = _Utterance(at_s)
                self._partial = ""
                self._tell(t, event)
            case hearing.SoftEnd() | hearing.Trouble():
                self._tell(t, event)
            case hearing.SpeechResumed(utterance=number):
                self._open[number].result = None
            case hearing.PartialTranscript(transcript=transcript):
                if transcript.text != self._partial:
                    self._partial = transcript.text
                    self._tell(t, event)
            case hearing.FinalTranscript(utterance=number):
                self._open[number].result = event
                self._settle(t, number)
            case hearing.HardEnd(utterance=number, samples=samples):
                self._open[number].ended, self._open[number].sound = True, samples
                self._tell(t, event)
                self._settle(t, number)
            case hearing.KeywordSpotted(keyword=keyword):
                self._spotted.append(keyword)
                self._tell(t, event)
            case events.Device():
                self._view.show(event)

    def _tell(self, t: float, event: HearingEvent) -> None:
        """Shows an event of the ears as it is."""
        if (told := translated(event)) is not None:
            kind, fields = told
            self._view.show(kind(t=t, **fields))

    def _settle(self, t: float, number: int) -> None:
        """An utterance that has ended, and whose words are known."""
        utterance = self._open[number]
        if not utterance.ended or utterance.result is None:
            return
        del self._open[number]
        transcript = utterance.result.transcript
        self._tell(t, utterance.result)
        next_s = min((later.at_s for key, later in self._open.items() if key > number), default=math.inf)
        spotted = {word.phrase for word in self._spotted if utterance.at_s <= word.end_s < next_s}
        self._spotted = [word for word in self._spotted if word.end_s >= next_s]
        for phrase in sorted(spotted):
            verdict = confirm(transcript, phrase)
            if verdict != "unclear":
                self._view.show(events.Keyword(t=t, phrase=phrase, confirmed=verdict == "confirmed"))
        caught = missed(transcript, [phrase for phrase in self._stop_words if phrase not in spotted])
        if caught is not None:
            self._view.show(events.Keyword(t=t, phrase=caught, confirmed=True))
        if self._recordings is not None and utterance.sound is not None:
            self._recordings.keep(utterance.sound, transcript)
