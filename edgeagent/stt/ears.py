"""The ears: from a device's microphone to what people say, over the robot's own voice.

The device's thread only puts blocks into a queue. The thread "ears" takes them out: echo canceller, endpointer, key
phrases. The thread "transcriber" decodes; it begins when speech has probably ended, and again if speech goes on. Time
is the device's, so that the same code runs over a sound card, a file and a simulated room. Knows nothing of what is
done with what was heard.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Final

import numpy as np

from edgeagent.audio.device import Fill, Samples, SoundDevice
from edgeagent.audio.double_talk import DoubleTalk
from edgeagent.audio.duplex import Duplex
from edgeagent.audio.early_echo import Frame
from edgeagent.audio.echo import Mode
from edgeagent.audio.endpoint import Endpointer, EndpointSettings, HardEnd, SoftEnd, SpeechStarted, VoiceEvent
from edgeagent.audio.stream_clock import StreamClock
from edgeagent.audio.vad import QUIETEST_DB, VoiceActivity, VoiceSettings
from edgeagent.errors import RecognitionError
from edgeagent.stop import JOIN_S
from edgeagent.stt.confirming import OwnVoice
from edgeagent.stt.doze import LEAD_S, Doze
from edgeagent.stt.hearing import (
    LEVEL_S,
    RATE_HZ,
    FinalTranscript,
    HearingEvent,
    KeywordSpotted,
    Level,
    SpottedPhrase,
    Transcriber,
    Trouble,
    WaitSpotted,
)
from edgeagent.stt.level_meter import LevelMeter, level_db
from edgeagent.stt.open_utterance import OpenUtterance
from edgeagent.stt.spotters import PhraseListener
from edgeagent.stt.transcription import Transcription
from edgeagent.stt.vital_signs import Lateness

log: Final = logging.getLogger("edgeagent.stt")

STALL_S: Final = 1.0
"""A microphone whose clock goes on for so long without sound has stalled."""
START_S: Final = 4.0
"""The same for its first sound: a sound server may take three seconds."""
LIMIT_S: Final = 30.0
"""A decode that takes longer is given up."""

_POLL_S: Final = 0.05
"""Between two looks at a device that delivers nothing."""
_STEP_S: Final = 0.05
"""Of a device that waits."""
_REST_S: Final = 0.08
"""Between two looks at the queue while nothing sounds, and between the levels that are told of it: to be woken by each
block, and to wake somebody for each, costs more than to hear it."""
_ASLEEP_LEVEL_S: Final = 0.095
"""Between two levels of blocks of 10 ms that are put off: with the block that ends them, 0.1 s."""
_FEW_WORDS_S: Final = 1.5
"""Seconds before the end of speech in which as many words are said as a command to stop has."""
_LATE_S: Final = 0.3
"""Seconds after the end of speech until which its last word may end, for the spotter."""
_UTTERANCES: Final = 4
"""Utterances whose transcripts may still come."""
_LOUD_DB: Final = 6.0
"""Over the room's floor; a person at 5 dB SNR is louder in most frames of a word."""
_IN_STEP_S: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EarsSettings:
    """Settings of the ears."""

    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    """Where an utterance begins and ends."""
    voice: VoiceSettings = field(default_factory=VoiceSettings)
    echo: Mode = "webrtc"
    noise_suppression: bool = True
    speculative: bool = True
    """Decode at the soft end, before it is certain that nothing more comes."""
    speculate_under_s: float = 1.0
    """Not where a decode is known to cost more: that many pauses in a sentence would cost the machine more than they
    win. Only engines that measure their cost are judged by it; PocketSphinx takes a tenth of that."""
    in_step: bool = False
    """The device waits every 50 ms until what it delivered was heard, transcribed and spotted: for a file that is read
    as fast as possible, and for a room's clock. Never for a sound card."""


class Ears:
    """Hears what people say.

    Args:
        device: With a microphone.
        transcriber: Closed with the ears, as the spotter is.
        on_event: Told of everything, on the threads of the ears, the transcriber and its helpers, and the spotter; must
            not block, and calls may overlap. What it raises is logged.
        spotter: Listens for key phrases; its ``on_keyword`` becomes the ears'.

    Attributes:
        sound: Microphone and loudspeaker, and the echo canceller between them.
        blocks: Number of the microphone's blocks that the thread "ears" has taken up, be the ears open or closed.

    Raises:
        AudioError: The device has no microphone, or voice activity can't be had.
        ConfigError: A setting is wrong.
    """

    def __init__(
        self,
        device: SoundDevice,
        transcriber: Transcriber,
        on_event: Callable[[HearingEvent], None],
        *,
        spotter: PhraseListener | None = None,
        settings: EarsSettings | None = None,
    ) -> None:
        self.settings = settings = settings or EarsSettings()
        self.sound = Duplex(device, mode=settings.echo, noise_suppression=settings.noise_suppression, rate_hz=RATE_HZ)
        self._device, self._spotter, self._on_event = device, spotter, on_event
        self._endpointer = Endpointer(settings.endpoint, activity=VoiceActivity(settings.voice))
        self._transcription = Transcription(transcriber, self._tell_heard, device.now, limit_s=LIMIT_S)
        self._open = OpenUtterance(
            self._endpointer,
            self._transcription,
            self._tell,
            speculate_under_s=settings.speculate_under_s if settings.speculative else 0.0,
        )
        if spotter is not None:
            spotter.flush()  # it may have listened for others
            spotter.on_keyword = self._spotted
        self._queue: SimpleQueue[tuple[Samples, float, float] | Callable[[], object] | None] = SimpleQueue()
        self._clock = StreamClock()
        self._in_count = self._count = self._heard = self._base = 0
        """Samples: of the device; after the canceller; of these what was heard; and when the endpointer began."""
        self.blocks = 0
        self._on = True
        self._level = LevelMeter()
        self._level_db = QUIETEST_DB
        """The last one that was measured."""
        self._doze = Doze(self.sound.input_rate_hz)
        self._held: deque[tuple[Samples, float]] = deque()
        """Quiet blocks that are heard if something follows."""
        self._held_count = 0
        """Samples of these."""
        self._own = OwnVoice()
        self._onset_s = 0.0
        self._suspected: dict[int, SpottedPhrase | None] = {}
        """The likeliest stop word of the last utterances."""
        self._double_talk = DoubleTalk() if settings.echo == "webrtc" else None
        """None where another canceller works, which tells nothing of its frames."""
        self._level_s = 0.0
        self._lateness = Lateness()
        self._stalled = self._fresh = self._failing = self._spotter_lost = False
        self._waking, self._called = threading.Event(), threading.Event()
        self._file_ended = False
        self._closed = False
        self._began_s = self._taken_s = 0.0
        self._thread = threading.Thread(target=self._work, name="ears", daemon=True)

    # --- any thread -------------------------------------------------------------------------------------------------

    def open_sound(self, play: Fill | None = None) -> None:
        """Opens microphone and loudspeaker, and listens.

        Args:
            play: Writes the loudspeaker's samples. They are taken out of what is heard.

        Raises:
            AudioError: The device can't be opened; it may be tried again.
        """
        self._began_s = self._device.now()
        if self._thread.ident is None:  # else it is tried again
            self._thread.start()
        self.sound.open(self._take, play)

    def listen(self, on: bool) -> None:
        """Opens or closes the ears; while they are closed all sound is dropped. An open utterance ends."""
        self._call(lambda: self._listen(on))

    def end_now(self) -> None:
        """Ends the open utterance, softly and hard at once."""
        self._call(self._finish)

    def trouble(self, trouble: Trouble) -> None:
        """Tells of something that whoever built the recognisers was told."""
        self._tell(trouble)

    def doubt(self, phrases: Sequence[str]) -> None:
        """Tells which phrases may have been said just now, and none besides: the recogniser looks for them if it can.
        Counts at once."""
        self._transcription.doubt(phrases)

    def look_early(self) -> None:
        """Has the open utterance heard until now, where the recogniser can; tells of ``EarlyLook`` if it has words."""
        self._call(lambda: self._open.look_early(self._time(self._heard)))

    @property
    def utterance(self) -> int:
        """Number of the open utterance or, if none is, of the last one; 0 before the first."""
        return self._open.number

    def judge_ends(self, judge: Callable[[Samples], float]) -> None:
        """Has a turn-end model hear every utterance at its soft end; what it says is told as ``Judged``."""
        self._open.judge = judge

    @property
    def now_s(self) -> float:
        """Until when the microphone has been heard, by the device's clock."""
        return self._clock.time(self._count / RATE_HZ) if self._count else self._device.now()

    @property
    def hard_end_ms(self) -> float:
        """Silence until the hard end, in milliseconds; counts at once, for silence that was heard too, and for the open
        utterance only."""
        return self._endpointer.hard_end_ms

    @hard_end_ms.setter
    def hard_end_ms(self, milliseconds: float) -> None:
        self._endpointer.hard_end_ms = milliseconds
        self._call(self._end_if_due)

    @property
    def soft_end_ms(self) -> float:
        """Silence until the soft end, in milliseconds; counts at once, and stays."""
        return self._endpointer.soft_end_ms

    @soft_end_ms.setter
    def soft_end_ms(self, milliseconds: float) -> None:
        self._endpointer.soft_end_ms = milliseconds

    def settle(self, timeout_s: float = 10.0) -> bool:
        """Waits until all that the device has delivered was heard, transcribed, spotted, and told.

        Not on a thread on which ``on_event`` is called.

        Returns:
            False if it was not within that time, by the wall's clock.
        """
        end_s = time.monotonic() + timeout_s
        done = threading.Event()
        self._call(lambda: self._transcription.call(done.set))
        while not done.wait(min(max(end_s - time.monotonic(), 0.0), _POLL_S)):
            if self._closed or time.monotonic() > end_s:
                return self._closed
        return self._spotter is None or self._spotter_idle(self._spotter, end_s)

    def close(self) -> None:
        """Ends everything: the device, the threads, the recognisers. Safe to call again.

        Raises:
            AudioError: The device has failed meanwhile; everything else is closed nevertheless.
        """
        if self._closed:
            return
        self._closed = True
        self._waking.set()
        try:
            self.sound.close()
        finally:
            self._call(None)
            if self._thread.is_alive() and self._thread is not threading.current_thread():
                self._thread.join(JOIN_S)
            self._transcription.close()
            if self._spotter is not None:
                self._spotter.close()

    def _call(self, work: Callable[[], object] | None) -> None:
        """Has the ears' thread do something after the sound that it was given until now; None ends it."""
        self._queue.put(work)
        self._called.set()

    def _tell(self, event: HearingEvent) -> None:
        if self._closed:
            return
        try:
            self._on_event(event)
        except (Exception, SystemExit):  # the builder's code
            log.exception("what listens to the ears raised")

    def _tell_heard(self, event: HearingEvent) -> None:
        """Tells what the transcriber has heard, with what the spotter thinks of it."""
        if isinstance(event, FinalTranscript):
            event = replace(event, suspected=self._suspected.get(event.utterance))
        self._tell(event)

    def _spotted(self, keyword: SpottedPhrase) -> bool:
        """True if a spotted word counts."""
        if not self._on:
            return False
        if not keyword.foreign and self._own.explains(keyword.end_s, sure=keyword.sure):
            log.debug("the robot's own voice was taken for %r", keyword.phrase)
            return False
        self._tell(WaitSpotted(keyword) if keyword.waits else KeywordSpotted(keyword))
        return True

    def _spotter_idle(self, spotter: PhraseListener, end_s: float) -> bool:
        """Waits for it; where its process was lost, for the next one, but not for one that never comes."""
        while not self._closed:
            try:
                idle = spotter.wait_idle(max(end_s - time.monotonic(), _POLL_S))
            except RecognitionError:
                if self._spotter_lost:
                    return True
                self._spotter_lost = time.monotonic() > end_s
                if self._spotter_lost:
                    return False
                self._waking.wait(_POLL_S)
            else:
                self._spotter_lost = False
                return idle
        return True

    # --- the device's threads ---------------------------------------------------------------------------------------

    def _take(self, block: Samples, adc_s: float) -> None:
        self._queue.put((block, adc_s, time.monotonic()))
        ended = getattr(self._device, "ended", None)  # a file tells
        if ended is not None and ended.is_set() and not self._file_ended:
            self._file_ended = True
            self._call(self._finish)
        self._taken_s += len(block) / self.sound.input_rate_hz
        if self.settings.in_step and self._taken_s >= _STEP_S:
            self._taken_s = 0.0
            self.settle(_IN_STEP_S)

    # --- the ears' thread -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while True:
            if self._queue.empty() and self._resting:
                self._called.wait(_REST_S)
                self._called.clear()
            try:
                item = self._queue.get(timeout=_POLL_S)
            except Empty:
                item = self._look_for_stall
            if item is None or self._closed:
                return
            try:
                if isinstance(item, tuple):
                    self._hear(*item)
                    if self._failing:
                        self._failing = False
                        self._tell(Trouble("ears", "they work again", over=True))
                else:
                    item()
            except Exception as error:  # one bad block must not leave a robot deaf
                if not self._failing:  # or a fault that lasts writes gigabytes
                    log.exception("the ears failed")
                    self._failing = True
                    self._tell(Trouble("ears", f"they failed, and go on: {error}"))
                if isinstance(item, tuple):
                    self._fresh = True  # nobody knows which sound is missing
                self._tell_time()

    @property
    def _quiet(self) -> bool:
        """True if nothing sounds that could be speech."""
        return not self._on or (self._endpointer.activity.asleep and not self._endpointer.speaking)

    @property
    def _resting(self) -> bool:
        """True if nothing sounds that could be speech or the robot's own voice, so that a block may wait for others."""
        return self._quiet and not self.sound.echo.far_active and not self.settings.in_step

    def _hear(self, block: Samples, adc_s: float, taken_s: float) -> None:
        """A block of the device's."""
        if not len(block):
            return
        self.blocks += 1
        late = self._lateness.of(time.monotonic() - taken_s, len(block) / self.sound.input_rate_hz)
        if late.begins:
            self._finish()
        if late.said:
            self._tell(Trouble("ears", late.said, late.over))
        if late.drop:
            self._fresh = True
            return
        if self._stalled:
            self._stalled = False
            self._tell(Trouble("device", f"{self._device.name} delivers sound again", over=True))
        if self._fresh:
            self._begin_again()
        self._clock.observe(self._in_count / self.sound.input_rate_hz, adc_s)
        self._in_count += len(block)
        if not np.isfinite(block).all():  # one such sample would stay in the canceller's filters for ever
            block = np.nan_to_num(block, nan=0.0, posinf=1.0, neginf=-1.0)
        sleeps = self._doze.sleeps(block, may=self._quiet and self.sound.echo.idle)
        if sleeps and len(block) * RATE_HZ % self.sound.input_rate_hz == 0:  # else the clock would go wrong
            self._put_off(block, adc_s)
            return
        while self._held:
            self._hear_block(*self._let_go(), measured=True)
        self._hear_block(block, adc_s)
        self._open.pass_on()

    def _put_off(self, block: Samples, adc_s: float) -> None:
        """Leaves a quiet block until something follows; the clock goes on."""
        self._count += self._length(block)
        self._held.append((block, adc_s))
        self._held_count += len(block)
        while self._held_count > LEAD_S * self.sound.input_rate_hz:
            self._skip()
        if self._time(self._count) - self._level_s > _ASLEEP_LEVEL_S:
            self._level.reset()
            self._tell_level(self._level_db)

    def _let_go(self) -> tuple[Samples, float]:
        """Takes the oldest block that was put off."""
        block, adc_s = self._held.popleft()
        self._held_count -= len(block)
        return block, adc_s

    def _length(self, block: Samples) -> int:
        """Samples of a block at 16 kHz."""
        return len(block) * RATE_HZ // self.sound.input_rate_hz

    def _skip(self) -> None:
        """Leaves out the oldest block that was put off."""
        block, adc_s = self._let_go()
        self.sound.echo.skip(len(block), adc_s)
        length = self._length(block)
        self._endpointer.activity.skip(length)
        self._heard += length
        self._base += length

    def _hear_block(self, block: Samples, adc_s: float, *, measured: bool = False) -> None:
        """A block by canceller, voice activity and spotter.

        Args:
            measured: Its level was told, and as many samples are counted as it should have.
        """
        clean = self.sound.echo.near(block, adc_s)
        at = 0
        if measured:
            self._count += len(clean) - self._length(block)  # resampler and canceller give them in bursts
            at = len(clean)
        while at < len(clean):
            end = at + self._level.missing
            self._measure(clean[at:end])
            at = end
        for frame in self.sound.echo.released:
            self._hear_frame(frame)

    def _measure(self, piece: Samples) -> None:
        """Sound at 16 kHz, not beyond the next ``Level``."""
        self._count += len(piece)
        if self._resting and self._time(self._count) - self._level_s < _REST_S:  # nobody needs each level of silence
            self._level.reset()
            return
        measured_db = self._level.add(piece)
        if measured_db is not None:
            self._level_db = measured_db
            self._tell_level(measured_db)

    def _hear_frame(self, frame: Frame) -> None:
        """Ten milliseconds at 16 kHz, which may be late."""
        at_s = self._time(self._heard)
        self._heard += len(frame.clean)
        if not self._on:
            return
        microphone_db = double_talk = None
        if self._double_talk is not None:
            found = None if frame.inaudible else frame.person
            loud = found is None and not self._endpointer.activity.asleep and self._is_loud(frame.clean)
            self._own.take(self._time(self._heard), person=found, loud=loud)
            if frame.person is not None:
                microphone_db = level_db(frame.near)
            person = bool(frame.person) and not frame.early if frame.far_active else None
            double_talk = self._double_talk.process(frame.sound, frame.near, person=person)
        self._take_events(
            self._endpointer.feed(
                frame.clean,
                far_active=frame.far_active,
                microphone_db=microphone_db,
                sound=frame.sound,
                own=frame.own,
                double_talk=double_talk,
            )
        )
        if self._spotter is not None:
            # over its own voice a person may be in what recognisers hear, and not in what the activity hears
            nobody = self._endpointer.activity.asleep and not frame.far_active
            # with another canceller nothing tells its own voice from a person's
            speaking = frame.far_active and self._double_talk is not None
            self._spotter.feed(
                frame.sound,
                at_s,
                raw=frame.near,
                played=frame.far,
                nobody=nobody,
                speaking=speaking,
                early=frame.early,
            )

    def _is_loud(self, clean: Samples) -> bool:
        """Louder than the room."""
        least = 10 ** ((self._endpointer.activity.floor_db + _LOUD_DB) / 10)
        return float(np.dot(clean, clean)) > least * len(clean)

    def _tell_level(self, measured_db: float) -> None:
        self._level_s = self._time(self._count)
        heard_db = measured_db if self._on else QUIETEST_DB
        floor_db = self._endpointer.activity.floor_db
        self._tell(Level(self._level_s, heard_db, floor_db, self._open.voiced, self.sound.echo.far_active))
        self._transcription.expire()

    def _time(self, count: int) -> float:
        """Returns the time at which a sample entered the microphone, by the device's clock."""
        return self._clock.time(count / RATE_HZ)

    # --- utterances -------------------------------------------------------------------------------------------------

    def _take_events(self, found: list[VoiceEvent]) -> None:
        for event in found:
            at_s = self._time(self._base + round(event.at_s * RATE_HZ))
            if isinstance(event, SpeechStarted):
                self._onset_s = at_s
            elif isinstance(event, (SoftEnd, HardEnd)):
                self._suspect(event.utterance, at_s)
            self._open.take(event, at_s)

    def _suspect(self, utterance: int, end_s: float) -> None:
        """Notes the likeliest stop word among the last words, unless it is the robot's own."""
        begin_s = max(self._onset_s, end_s - _FEW_WORDS_S)
        word = None if self._spotter is None else self._spotter.suspected(begin_s, end_s + _LATE_S)
        if word is not None and self._own.explains(word.end_s):
            word = None
        kept = list(self._suspected.items())[-_UTTERANCES:]
        self._suspected = {**dict(kept), utterance: word}  # another thread reads it

    def _end_if_due(self) -> None:
        """The open utterance ends here if its silence has been long enough."""
        self._take_events(self._endpointer.due())
        self._open.pass_on()

    def _finish(self) -> None:
        """The open utterance ends here."""
        for frame in self.sound.echo.flush():
            self._hear_frame(frame)
        self._take_events(self._endpointer.finish())
        self._open.pass_on()

    def _listen(self, on: bool) -> None:
        if on is self._on:
            return
        self._finish()
        self._on = on
        if on:
            self._forget()

    def _forget(self) -> None:
        """Forgets all that was heard before; what follows has nothing to do with it."""
        while self._held:
            self._skip()
        self._endpointer.reset()
        if self._double_talk is not None:
            self._double_talk.reset()
        self._base = self._heard
        if self._spotter is not None:
            self._spotter.flush()

    # --- a device that is late, or lost -----------------------------------------------------------------------------

    def _look_for_stall(self) -> None:
        """No block for a while: by the device's own clock, since one that stands still delivers none."""
        self._transcription.expire()
        now_s = self._device.now()
        silent_s = now_s - (self.now_s if self._in_count else self._began_s)
        if silent_s <= (STALL_S if self._in_count else START_S):
            return
        if not self._stalled:
            self._stalled = self._fresh = True
            self._finish()
            self._tell(Trouble("device", f"{self._device.name} has delivered no sound for {silent_s:.1f} s"))
        self._tell_time()

    def _tell_time(self) -> None:
        """The clock goes on where nothing is heard."""
        now_s = self._device.now()
        if now_s - self._level_s >= LEVEL_S:
            self._level_s = now_s
            self._tell(Level(now_s, QUIETEST_DB, self._endpointer.activity.floor_db, False, False))

    def _begin_again(self) -> None:
        """The first block after some that are missing; the device may have come back with another rate."""
        self._fresh = False
        while self._held:
            self._skip()
        self.sound.renew(anew=self._failing)
        self._doze = Doze(self.sound.input_rate_hz)
        self._clock, self._in_count, self._count, self._heard = StreamClock(), 0, 0, 0
        self._level.reset()
        self._forget()
