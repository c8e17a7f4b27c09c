"""Utterances of ``edgeagent listen``: what is certain of each, as events of the voice, and their views.

Views are JSON, lines, or a terminal with a meter. Runs on the main thread.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from edgeagent import events
from edgeagent.audio.device import Samples
from edgeagent.cli import streams
from edgeagent.cli.activity import JsonView
from edgeagent.cli.streams import CLEAR_LINE, one_line, shortened, toned
from edgeagent.stt import hearing
from edgeagent.stt.confirming import confirm, missed
from edgeagent.stt.hearing import HearingEvent, Level, SpottedPhrase
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


METER_CELLS: Final = 20
"""Columns of a meter of sound."""
METER_EVERY_S: Final = 0.09
"""Seconds between two drawings of a meter."""
_QUIETEST_DB: Final = -70.0
_NOT_UNDERSTOOD: Final = "(not understood)"


class ListenLines:
    """View of what is certain, a line each, for a pipe or a file."""

    def __init__(self, *, verbose: bool) -> None:
        self._verbose = verbose

    def show(self, event: events.VoiceEvent) -> None:
        match event:
            case events.Transcript():
                told = f"  [{event.latency_s:.2f} s, {event.engine}]" if self._verbose else ""
                streams.answer(f"{_words(event)}{told}")
            case events.Keyword(confirmed=bool()):
                streams.answer(_key_phrase(event))
            case events.Device(name=name):
                streams.warn(name)


class MeterView:
    """A terminal: what is certain scrolls up, and the last line has the level and what is understood so far."""

    def __init__(self) -> None:
        self._utf8 = streams.is_utf8()
        self._partial = ""
        self._level: Level | None = None
        self._drawn_s = 0.0

    def show(self, event: events.VoiceEvent) -> None:
        match event:
            case events.Partial(text=text):
                self._partial = text
                self._draw()
            case events.SpeechStart():
                self._partial = ""
            case events.Transcript():
                self._partial = ""
                tone: streams.Tone = "bold" if event.understood else "dim"
                tail = toned(f"  {event.latency_s:.2f} s, {event.engine}", "dim")
                self._print(toned(_words(event), tone) + tail)
            case events.Keyword(confirmed=bool()):
                self._print(toned(_key_phrase(event), "name"))
            case events.Keyword(phrase=phrase):
                self._print(toned(f"key phrase? {phrase}", "dim"))
            case events.Device(name=name):
                self._print(toned(one_line(name), "warning"))

    def level(self, level: Level) -> None:
        self._level = level
        if time.monotonic() - self._drawn_s >= METER_EVERY_S:
            self._draw()

    def close(self) -> None:
        """Takes the meter away."""
        streams.draw(streams.stdout(), CLEAR_LINE)

    def _print(self, line: str) -> None:
        """A line above the meter."""
        streams.draw(streams.stdout(), f"{CLEAR_LINE}{line}\n")
        self._draw()

    def _draw(self) -> None:
        level = self._level
        if level is None:
            return
        self._drawn_s = time.monotonic()
        shown = meter(level, utf8=self._utf8)
        room = max(streams.width() - len(shown) - 2, 1)
        streams.draw(
            streams.stdout(),
            f"{CLEAR_LINE}{shown} " + toned(shortened(self._partial, room), "dim"),
        )


View = JsonView | ListenLines | MeterView
"""View of what is heard."""


def meter(level: Level, *, utf8: bool) -> str:
    """The level as a bar with a mark at the noise floor, and a star while there is a voice."""
    full, empty, mark = ("█", "·", "│") if utf8 else ("#", ".", "|")
    at, floor = (_cell(db) for db in (level.level_db, level.floor_db))
    cells = [full if cell < at else empty for cell in range(METER_CELLS)]
    cells[min(floor, METER_CELLS - 1)] = mark
    return f"{''.join(cells)} {level.level_db:4.0f} dB {'*' if level.voiced else ' '}"


def _cell(level_db: float) -> int:
    share = (level_db - _QUIETEST_DB) / -_QUIETEST_DB
    return round(min(max(share, 0.0), 1.0) * METER_CELLS)


def _words(event: events.Transcript) -> str:
    text = one_line(event.text)
    return text if event.understood else f"{text} {_NOT_UNDERSTOOD}".strip()


def _key_phrase(event: events.Keyword) -> str:
    return f"key phrase: {event.phrase}" if event.confirmed else f"key phrase: {event.phrase} (not meant)"
