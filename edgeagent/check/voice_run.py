"""Run of a voice test: the robot asks for line after line, and a person says them to the product's own ears.

The ears' threads put what they tell into a queue; the caller's thread takes it out, by the device's clock. Knows no
terminal: a ``Stage`` shows what is asked and heard.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Final, Protocol

import numpy as np

from edgeagent import events
from edgeagent.audio.device import Samples
from edgeagent.check.voice_plan import STOPS, STORIES, PlannedLine
from edgeagent.check.voice_score import Attempt, judged
from edgeagent.check.voice_sound import RoomSound, Tapped, VoiceSound, echo_levels, line_sound, noise_level
from edgeagent.errors import AudioError
from edgeagent.stt import hearing
from edgeagent.stt.confirming import missed
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent, Level, RecognisedText, SpottedPhrase
from edgeagent.tts.mouth import Mouth, Speech

QUIET_S: Final = 4.0
"""Seconds of the room's noise that are measured."""
WAIT_S: Final = 7.0
"""Seconds that a person has to begin."""
SENTENCE: Final = (
    "This is how I sound. I speak while I listen, and what I hear of myself is taken out, so that I can hear you when "
    "you interrupt me."
)

_SETTLE_S: Final = 1.0
"""Seconds of sound before anything is measured: a sound server begins with silence."""
_DEAD_S: Final = 15.0
"""Seconds without any event, by the wall's clock, after which a device is given up."""
_REST_S: Final = 1.6
"""Silence after speech that ends a line. It is more than the ears' hard end, so that a line in two parts is noticed."""
_AFTER_S: Final = 2.5
"""Seconds after the robot's story, or a file's end, in which what was said may still become known."""
_TAIL_S: Final = 0.15
"""Speech that ends so soon after the robot's is the robot's own."""
_PRE_S: Final = 0.6
"""Seconds of the room before speech that its levels are measured with."""
_LONGEST_S: Final = 20.0
"""Longest speech of a line, in seconds."""
_AHEAD: Final = 10
"""Levels that a device in step is ahead."""
_LONGEST_STORY_S: Final = 40.0
"""Longest story with its interruptions, in seconds."""


class Stage(Protocol):
    """Shows a test to the person. Called on the caller's thread."""

    def tell(self, text: str) -> None:
        """Says what goes on, in a line."""

    def ask(self, number: int, count: int, line: PlannedLine) -> None:
        """Shows a line to say."""

    def listen(self, line: PlannedLine) -> None:
        """Shows that it is the person's turn: the robot has asked, or begins the story over which he is to speak."""

    def level(self, level: Level) -> None:
        """Shows how loud it is."""

    def show(self, attempt: Attempt) -> None:
        """Shows what was heard."""

    def move(self, distance: str) -> None:
        """Has the person go to a place; returns when he is there."""


Keep = Callable[[Samples, Attempt, RecognisedText], Attempt]
"""Keeps the recording of a line, at 16 kHz; returns the attempt with the file's name."""


@dataclass(slots=True, eq=False)
class _HeardUtterance:
    """Knowledge about one utterance."""

    start_s: float
    end_s: float | None = None
    result: hearing.FinalTranscript | None = None
    sound: Samples | None = None

    @property
    def whole(self) -> bool:
        return self.end_s is not None and self.result is not None


class VoiceRun:
    """One test. Owns neither ears nor mouth; ``put`` is for the ears to tell.

    Args:
        device: With a microphone; its ears were built over it.
        mouth: None: the robot is silent, and what is to be said is only shown.
        keep: Keeps recordings.
        person: Who speaks.
        stop_words, wake_words: Key phrases of the settings.
        in_step: The device's time waits for this thread, as that of its ears does; never for a sound card.
    """

    def __init__(
        self,
        device: Tapped,
        mouth: Mouth | None,
        stage: Stage,
        keep: Keep,
        *,
        person: str = "",
        stop_words: Iterable[str] = (),
        wake_words: Iterable[str] = (),
        in_step: bool = False,
    ) -> None:
        self._device, self._mouth, self._stage, self._keep, self._person = device, mouth, stage, keep, person
        self._stops = tuple(dict.fromkeys((*stop_words, *STOPS)))
        self._wake_words = frozenset(wake_words)
        self._queue: SimpleQueue[tuple[float, HearingEvent | events.Device]] = SimpleQueue()
        self._utterances: dict[int, _HeardUtterance] = {}
        self._spotted: list[tuple[float, SpottedPhrase]] = []
        self._levels = threading.Semaphore(_AHEAD) if in_step else None
        self._over = False
        self._stories = 0
        self._now_s = 0.0
        self._ended_s = math.inf
        """When the file that stands for the microphone had been read."""
        self.room: RoomSound | None = None
        self.attempts: list[Attempt] = []

    def put(self, event: HearingEvent | events.Device) -> None:
        """Takes what the ears tell, on any thread."""
        if isinstance(event, Level) and self._levels is not None and not self._over:
            self._levels.acquire()
        self._queue.put((self._device.now(), event))

    def run(self, ears: Ears, lines: Sequence[PlannedLine]) -> None:
        """Measures the room, then asks for every line; what was found is in ``room`` and ``attempts`` at any time.

        Ends early with a file that stands for the microphone.

        Raises:
            AudioError: The device can't be opened or gives no sound, or the voice failed.
        """
        ears.open_sound(None if self._mouth is None else self._mouth.playback.fill)
        try:
            self._measure_room(ears)
            place = ""
            for number, line in enumerate(lines, 1):
                if line.distance != place:
                    place = line.distance
                    self._stage.move(place)
                self._stage.ask(number, len(lines), line)
                self.attempts.append(attempt := self._ask(line))
                self._stage.show(attempt)
        except _FileEnded:
            self._stage.tell("the file that stands for the microphone has ended")
        finally:
            self._over = True
            if self._levels is not None:
                self._levels.release()  # of the ears' thread, which may wait

    # --- the room ---------------------------------------------------------------------------------------------------

    def _measure_room(self, ears: Ears) -> None:
        self._stage.tell(f"please be quiet for {QUIET_S:.0f} seconds: the room's noise is measured")
        self._next()
        self._pass(_SETTLE_S)
        begin_s = self._now_s
        self._pass(QUIET_S)
        noise_db, silent = noise_level(self._device, begin_s, self._now_s)
        self.room = RoomSound(noise_db, silent=silent)
        if self._mouth is None:
            return
        self._stage.tell("and while I speak a sentence: my echo is measured")
        self._spotted.clear()
        begin_s, late = self._now_s, self._device.xruns.total
        self._say(SENTENCE)
        self._pass(_AFTER_S)
        played_db, echo_db = echo_levels(self._device, begin_s, self._now_s - _AFTER_S, noise_db)
        self.room = RoomSound(
            noise_db,
            played_db,
            echo_db,
            ears.sound.echo.removed_db if echo_db is not None else None,
            own_starts=sum(one.start_s >= begin_s for one in self._utterances.values()),
            own_stops=len(self._spotted),
            xruns=self._device.xruns.total - late,
            silent=silent,
        )

    # --- a line -----------------------------------------------------------------------------------------------------

    def _ask(self, line: PlannedLine) -> Attempt:
        over = line.kind == "stop_over" and self._mouth is not None
        asked = f"While I talk, please say: {line.text}." if over else f"Please say: {line.text}."
        if self._mouth is not None:
            self._say(asked)
        for _ in range(self._queue.qsize()):  # told while the person went to his place
            self._next()
        self._utterances = {number: one for number, one in self._utterances.items() if one.end_s is None}
        self._spotted.clear()
        begin_s = self._now_s
        self._stage.listen(line)
        if over:
            self._listen_over(line, begin_s)
        else:
            self._listen(begin_s)
        return self._judge(line, begin_s, over=over)

    def _listen(self, begin_s: float) -> None:
        """Until a person has spoken, or has not begun in time."""
        while True:
            self._next()
            heard = self._heard(begin_s)
            if not heard and self._now_s > begin_s + WAIT_S:
                return
            last_s = max((one.end_s or self._now_s for one in heard), default=math.inf)
            if _whole(heard) and self._now_s > last_s + _REST_S:
                return
            if self._now_s > begin_s + WAIT_S + _LONGEST_S:
                return

    def _listen_over(self, line: PlannedLine, begin_s: float) -> None:
        """The same while the robot tells a story, which a stop word ends; it waits while it hears somebody."""
        assert self._mouth is not None  # noqa: S101 - nothing is said over a silent robot
        playback = self._mouth.playback
        story = self._mouth.say(STORIES[self._stories % len(STORIES)])
        self._stories += 1
        over_s = math.inf
        while True:
            self._next()
            self._check(story)
            heard = self._heard(begin_s)
            if self._is_caught(line, heard, begin_s) or self._now_s > begin_s + _LONGEST_STORY_S:
                break
            if heard and not heard[-1].whole:
                playback.hold()
            else:
                playback.resume()
            if story.is_over(self._device.now()):
                over_s = min(over_s, self._now_s)
            if self._now_s > over_s + _AFTER_S and (_whole(heard) or not heard):
                break
        self._mouth.flush()
        playback.resume()
        end_s = self._now_s + _AFTER_S
        while self._now_s < end_s and not _whole(self._heard(begin_s)):
            self._next()

    def _is_caught(self, line: PlannedLine, heard: Sequence[_HeardUtterance], begin_s: float) -> bool:
        if any(keyword.phrase == line.phrase for _, keyword in self._spotted_after(begin_s)):
            return True
        told = [one.result.transcript for one in heard if one.result is not None]
        return any(one.understood and missed(one, [line.phrase]) is not None for one in told)

    def _heard(self, begin_s: float) -> list[_HeardUtterance]:
        """Utterances that are the person's: those that go on after the robot has asked."""
        return [one for one in self._utterances.values() if one.end_s is None or one.end_s > begin_s + _TAIL_S]

    def _spotted_after(self, begin_s: float) -> list[tuple[float, SpottedPhrase]]:
        """Key phrases that end after the robot has asked; it ends its question with the stop word itself."""
        return [(told_s, keyword) for told_s, keyword in self._spotted if keyword.end_s > begin_s + _TAIL_S]

    def _judge(self, line: PlannedLine, begin_s: float, *, over: bool) -> Attempt:
        """Judges what was heard of a line, and keeps its sound."""
        heard = [one for one in self._heard(begin_s) if one.result is not None]
        told = [one.result.transcript for one in heard if one.result is not None]
        transcript = _joined(told)
        if over:  # beside the stop word there may be what is left of the robot's voice
            transcript = next((one for one in told if missed(one, [line.phrase]) is not None), transcript)
        spotted = {
            keyword.phrase: max(told_s - keyword.end_s, 0.0)
            for told_s, keyword in reversed(self._spotted_after(begin_s))
            if keyword.phrase not in self._wake_words or line.kind == "wake"
        }
        sound = VoiceSound()
        if heard and not over:
            first_s = min(one.start_s for one in heard)
            last_s = max(one.end_s or self._now_s for one in heard)
            sound = line_sound(self._device, first_s - _PRE_S, last_s)
        attempt = judged(
            line,
            transcript,
            spotted,
            (*self._stops, line.phrase) if line.phrase not in self._stops and line.phrase else self._stops,
            parts=len(heard),
            latency_s=heard[-1].result.latency_s if heard and heard[-1].result is not None else None,
            sound=sound,
            person=self._person,
        )
        kept = [one.sound for one in heard if one.sound is not None]
        recording = np.concatenate(kept) if kept else self._device.heard_for_ears(begin_s, self._now_s)
        return self._keep(recording, attempt, transcript)

    # --- time -------------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        """Speaks to the end."""
        assert self._mouth is not None  # noqa: S101 - a silent robot is never asked to speak
        speech = self._mouth.say(text)
        while not speech.is_over(self._device.now()):
            self._next()
            self._check(speech)

    def _check(self, speech: Speech) -> None:
        if speech.error is not None:
            raise speech.error

    def _pass(self, seconds: float) -> None:
        end_s = self._now_s + seconds
        while self._now_s < end_s:
            self._next()

    def _next(self) -> None:
        """Takes one event. Raises ``AudioError`` where none comes."""
        try:
            told_s, event = self._queue.get(timeout=_DEAD_S)
        except Empty:
            raise AudioError(f"{self._device.name} gives no sound: is it in use, or switched off?") from None
        match event:
            case Level(now_s=now_s):
                self._now_s = now_s
                if self._levels is not None:
                    self._levels.release()
                self._stage.level(event)
                if self._device.ended is not None and self._device.ended.is_set():
                    self._ended_s = min(self._ended_s, now_s)
                if now_s > self._ended_s + _AFTER_S:
                    raise _FileEnded
            case hearing.SpeechStarted(utterance=number, at_s=at_s):
                self._utterances[number] = _HeardUtterance(at_s)
            case hearing.SpeechResumed(utterance=number) if number in self._utterances:
                self._utterances[number].result = None
            case hearing.FinalTranscript(utterance=number) if number in self._utterances:
                self._utterances[number].result = event
            case hearing.HardEnd(utterance=number, at_s=at_s, samples=samples) if number in self._utterances:
                self._utterances[number].end_s, self._utterances[number].sound = at_s, samples
            case hearing.KeywordSpotted(keyword=keyword):
                self._spotted.append((told_s, keyword))
            case hearing.Trouble(text=text, over=over):
                if not over:
                    self._stage.tell(text)
            case events.Device(name=name):
                self._stage.tell(name)


class _FileEnded(Exception):
    """The file that stands for the microphone has been heard."""


def _whole(heard: Sequence[_HeardUtterance]) -> bool:
    """True if there is something, and all of it is known."""
    return bool(heard) and all(one.whole for one in heard)


def _joined(told: Sequence[RecognisedText]) -> RecognisedText:
    """One transcript of a line that was heard in parts."""
    if not told:
        return RecognisedText("", understood=False)
    if len(told) == 1:
        return told[0]
    known = [one.confidence for one in told if one.confidence is not None]
    return RecognisedText(
        " ".join(one.text for one in told if one.text),
        confidence=min(known, default=None),
        understood=all(one.understood for one in told),
        engine=told[-1].engine,
        raw=" ".join(one.raw or one.text for one in told),
    )
