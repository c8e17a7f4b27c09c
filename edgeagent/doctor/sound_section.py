"""``edgeagent doctor --sound``: plays a sweep and a sentence, and says what of it the microphone heard.

The device's threads only queue what they get; everything is computed on the caller's thread, which Ctrl-C ends at any
time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any, Final

import numpy as np

from edgeagent.audio.device import Samples, SoundDevice
from edgeagent.audio.files import is_file
from edgeagent.audio.playback import PlaybackQueue
from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.vad import RATE_HZ
from edgeagent.doctor import Row
from edgeagent.doctor.audio_section import opened
from edgeagent.errors import AudioError
from edgeagent.tts.mouth import Mouth
from edgeagent.tts.voice_choice import make_speaker

WATCHED_S: Final = 10.0
"""For so long under- and over-runs are counted, the sweep and the sentence included."""
TRIES: Final = 2
"""Of the sweep, and of the sentence: an under-run spoils either."""
_SETTLE_S: Final = 1.0
"""Of calls in both directions, before anything is measured; PulseAudio begins with silence."""
_START_S: Final = 10.0
"""For the first calls."""
_SENTENCE: Final = (
    "This is how I sound. I speak while I listen, and what I hear of myself is taken out, so that I can hear you "
    "when you interrupt me."
)
_MUTE: Final = 1e-5
"""Peak of a microphone, -100 dBFS, that is switched off."""
_GOOD_DB: Final = 20.0
"""Removed; what is left then is under a person's voice, and the gate takes care of it."""
_TAIL_S: Final = 0.3

Timed = tuple[float, Samples]
"""A block, and when its first sample left the loudspeaker or entered the microphone."""


def sound(
    settings: Mapping[str, Any], speech: Mapping[str, Any], *, device: SoundDevice | None = None
) -> Iterator[Row]:
    """The rows of what is heard.

    Args:
        settings: The table [audio].
        speech: The table [speech].
        device: Instead of that of the settings.
    """
    try:
        if is_file(settings.get("input")) or is_file(settings.get("output")):
            yield Row("measured", "nothing: a file is no device", "note")
            return
        device = device or opened(settings, "input", "output")
    except AudioError as error:
        yield Row("measured", f"nothing: {error}", "problem" if {"input", "output"} & set(settings) else "note")
        return
    yield from _Measurement(device, settings, speech).rows()


class _Measurement:
    """One device, opened once."""

    def __init__(self, device: SoundDevice, settings: Mapping[str, Any], speech: Mapping[str, Any]) -> None:
        from edgeagent.audio.echo import EchoCanceller

        self.device = device
        self.speech = speech
        self.mode = str(settings.get("echo", "webrtc"))
        in_hz, out_hz = device.input_rate_hz or RATE_HZ, device.output_rate_hz or RATE_HZ
        self.playback = PlaybackQueue(out_hz)
        # whatever the setting says: what webrtc would remove is what a person wants to know
        self.canceller = EchoCanceller(in_hz, out_hz, mode="webrtc", rate_hz=RATE_HZ, xruns=device.xruns)
        self.in_hz, self.out_hz = in_hz, out_hz
        self.found = False
        self.starved = 0
        self._played: list[Timed] = []
        self._heard: SimpleQueue[Timed] = SimpleQueue()

    def rows(self) -> Iterator[Row]:
        try:
            self.device.start(fill=self._fill, take=lambda block, adc_s: self._heard.put((adc_s, block)))
        except AudioError as error:
            yield Row("measured", f"nothing: {error}", "problem")
            return
        try:
            if not self._settle():
                advice = "is the device in use, or switched off?"
                yield Row("measured", "nothing: the device was opened, but gives no sound", "problem", advice)
                return
            begun_s = time.monotonic()
            self.device.xruns.under = self.device.xruns.over = 0
            yield from self._sweep()
            yield from self._sentence()
            self._take_for(max(begun_s + WATCHED_S - time.monotonic(), 0.0))
            yield self._xruns(time.monotonic() - begun_s)
        finally:
            self.device.stop()

    # --- the device's threads ---------------------------------------------------------------------------------------

    def _fill(self, block: Samples, dac_s: float) -> None:
        self.playback.fill(block, dac_s)
        self.canceller.far(block, dac_s)
        self._played.append((dac_s, block.copy()))

    # --- the caller's -----------------------------------------------------------------------------------------------

    def _settle(self) -> bool:
        """Until both ends call as often as they should; False if they don't."""
        end_s = time.monotonic() + _START_S
        while time.monotonic() < end_s:
            before = len(self._played)
            taken = sum(len(block) for _, block in self._take_for(_SETTLE_S))
            played = sum(len(block) for _, block in self._played[before:])
            if min(taken / self.in_hz, played / self.out_hz) > _SETTLE_S / 2:
                return True
        return False

    def _take_for(self, seconds: float) -> list[Timed]:
        """Records what the microphone hears; the canceller gets it on the way."""
        end_s = time.monotonic() + seconds
        taken = []
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                adc_s, block = self._heard.get(timeout=left_s)
            except Empty:
                break
            taken.append((adc_s, block))
            self.canceller.near(block, adc_s)
        return taken

    def _sweep(self) -> Iterator[Row]:
        """Plays the sweep, again if it is not found. The row of the echo and its delay."""
        row = self._sweep_once()
        for _ in range(TRIES - 1):
            if self.found:
                break
            row = self._sweep_once()
        yield row

    def _sweep_once(self) -> Row:
        from edgeagent.audio.delay import EARLIEST_S, LATEST_S, SWEEP_S, measure, sweep

        tone = sweep(RATE_HZ)
        before = len(self._played)
        utterance = self.playback.begin()
        self.playback.write(utterance, Resampler(RATE_HZ, self.out_hz).process(tone, last=True))
        self.playback.finish(utterance)
        taken = self._take_for(SWEEP_S + LATEST_S + _TAIL_S)
        played = self._played[before:]
        first = next((index for index, (_, block) in enumerate(played) if block.any()), None)
        if first is None or not taken:
            return Row("echo found", "nothing was played: the loudspeaker takes no sound", "problem")
        if max(float(np.abs(block).max(initial=0)) for _, block in taken) < _MUTE:
            advice = "is it switched off, muted, or the wrong one? set audio.input"
            return Row("echo found", "the microphone hears nothing at all, not even noise", "problem", advice)
        played_s, heard_s = _begin(played[first:], self.out_hz), _begin(taken, self.in_hz)
        recording = Resampler(self.in_hz, RATE_HZ).process(np.concatenate([block for _, block in taken]), last=True)
        wanted = round((played_s + EARLIEST_S - heard_s) * RATE_HZ)  # a system may think that it is later than it is
        recording = recording[wanted:] if wanted >= 0 else np.pad(recording, (-wanted, 0))
        echo = measure(recording, tone, RATE_HZ)
        if not echo.found:
            advice = "fine with headphones; else turn it up, or look whether it is the loudspeaker of this room"
            return Row("echo found", "none: the microphone does not hear the loudspeaker", "note", advice)
        delay_s = echo.delay_s + EARLIEST_S
        self.canceller.align(delay_s)
        self.found = True
        gain_db = round(echo.gain_db) + 0  # no -0
        words = f"{gain_db:+d} dB beside what is played, {delay_s * 1e3:.0f} ms after the device's own times"
        return Row("echo found", words, value={"delay_ms": round(delay_s * 1e3, 1), "gain_db": round(echo.gain_db, 1)})

    def _sentence(self) -> Iterator[Row]:
        """Speaks, again if the robot was never heard alone, and says what of it was taken out."""
        voice = make_speaker(**self.speech)
        try:
            with Mouth(voice, self.playback) as mouth:
                for _ in range(TRIES):
                    said = mouth.say(_SENTENCE)
                    while not said.utterance.ended and said.error is None:
                        if not self._take_for(0.1):
                            break
                    self._take_for(_TAIL_S)
                    if said.error is not None:
                        yield Row("echo removed", str(said.error), "problem")
                        return
                    self.starved += said.utterance.starved
                    if not self.found or self.canceller.removed_db is not None:
                        break
        finally:
            voice.close()
        if not self.found:
            return
        removed = self.canceller.removed_db
        if removed is None:
            yield Row("echo removed", "not known: it was never only the robot that was heard", "note", "try it again")
            return
        words = f"{removed:.0f} dB, at {self.canceller.delay_s * 1e3:.0f} ms"
        if self.mode != "webrtc":
            words += f", if audio.echo were webrtc (it is {self.mode})"
        value = round(removed, 1)
        if removed < _GOOD_DB:
            advice = "was it quiet? else set the loudspeaker lower, further from the microphone, or take another one"
            yield Row("echo removed", words, "note", advice, value)
        else:
            yield Row("echo removed", words, value=value)

    def _xruns(self, seconds: float) -> Row:
        under, over = self.device.xruns.under, self.device.xruns.over
        words = f"{under} under-runs, {over} over-runs, {self.starved} blocks without a voice in {seconds:.0f} s"
        value = {"under": under, "over": over, "starved": self.starved}
        if under or over or self.starved:
            return Row("in time", words, "note", "set audio.latency_ms higher, or close what uses the processor", value)
        return Row("in time", words, value=value)


def _begin(blocks: list[Timed], rate_hz: int) -> float:
    """Estimates the time of the first sample of a row of blocks from the times of all."""
    counts = np.cumsum([0, *(len(block) for _, block in blocks[:-1])])
    return float(np.median(np.array([at_s for at_s, _ in blocks]) - counts / rate_hz))
