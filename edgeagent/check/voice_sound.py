"""Levels of a voice test: microphone and loudspeaker as the device has them, before the ears change anything.

``Tapped`` keeps the last seconds of both; its callbacks run on the device's threads, all else on any other. Levels are
in dBFS, on the frames with sound.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeagent.audio.device import Fill, Samples, SoundDevice, Take, Xruns
from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.vad import QUIETEST_DB
from edgeagent.stt.hearing import RATE_HZ
from edgeagent.stt.level_meter import level_db, snr_db
from edgeagent.testing.acoustics import in_db, rms, speech_level

KEPT_S: Final = 45.0
"""Seconds of both ends that are kept: longer than any line."""
CLIPPED: Final = 0.985
"""Amplitude from which on a sample is clipped."""
CLIPPED_SHARE: Final = 2e-4
"""Share of an utterance's samples from which on it is clipped: one click is no clipping."""
_FRAME_S: Final = 0.02
_AUDIBLE_DB: Final = 3.0
"""An echo that raises the microphone's level by less is not heard."""

_Block = tuple[float, Samples]
"""Sound, and the time of its first sample."""


@dataclass(frozen=True, slots=True)
class VoiceSound:
    """Levels of one line, in dB; None where nothing was said."""

    speech_db: float | None = None
    snr_db: float | None = None
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class RoomSound:
    """Levels of a room and of the robot's own voice in it, in dBFS of the microphone unless it says otherwise.

    Attributes:
        noise_db: While nobody speaks.
        played_db: The robot's voice, of the loudspeaker's samples; None: it did not speak.
        echo_db: The same in the microphone; None: it is not heard there.
        removed_db: Taken out of it by the canceller, in dB; None where that is not known.
        own_starts: Utterances that the ears took the robot's own voice for.
        own_stops: Stop words that they heard in it.
        xruns: Times that the device was late meanwhile; after each the echo has to be found anew.
        silent: The microphone gives nothing at all, not even noise.
    """

    noise_db: float
    played_db: float | None = None
    echo_db: float | None = None
    removed_db: float | None = None
    own_starts: int = 0
    own_stops: int = 0
    xruns: int = 0
    silent: bool = False

    @property
    def own_voice(self) -> int:
        """Times that the ears took the robot's own voice for a person's."""
        return self.own_starts + self.own_stops

    @property
    def gain_db(self) -> float | None:
        """Of the echo, beside what is played."""
        return None if self.echo_db is None or self.played_db is None else self.echo_db - self.played_db

    @property
    def left_db(self) -> float | None:
        """Level of the echo after the canceller."""
        return None if self.echo_db is None or self.removed_db is None else self.echo_db - self.removed_db


class Tapped:
    """A device whose sound can be looked at afterwards."""

    def __init__(self, device: SoundDevice) -> None:
        self._device = device
        self._lock = threading.Lock()
        self._heard: deque[_Block] = deque()
        self._played: deque[_Block] = deque()

    @property
    def name(self) -> str:
        return self._device.name

    @property
    def input_rate_hz(self) -> int | None:
        return self._device.input_rate_hz

    @property
    def output_rate_hz(self) -> int | None:
        return self._device.output_rate_hz

    @property
    def xruns(self) -> Xruns:
        return self._device.xruns

    @property
    def ended(self) -> threading.Event | None:
        """Set when a file that stands for the microphone has ended; None for others."""
        return getattr(self._device, "ended", None)

    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        """Begins to call. Raises ``AudioError`` if the device can't be opened."""

        def filling(block: Samples, dac_s: float) -> None:
            if fill is not None:
                fill(block, dac_s)
            self._keep(self._played, dac_s, block.copy())

        def taking(block: Samples, adc_s: float) -> None:
            self._keep(self._heard, adc_s, block)
            if take is not None:
                take(block, adc_s)

        self._device.start(fill=None if fill is None else filling, take=taking)

    def now(self) -> float:
        return self._device.now()

    def stop(self) -> None:
        self._device.stop()

    def heard(self, from_s: float, to_s: float) -> Samples:
        """Returns the microphone's sound between two moments, to a block."""
        return self._cut(self._heard, from_s, to_s)

    def heard_for_ears(self, from_s: float, to_s: float) -> Samples:
        """Returns the microphone's sound between two moments, at the rate of the ears."""
        return Resampler(self.input_rate_hz or RATE_HZ, RATE_HZ).process(self.heard(from_s, to_s), last=True)

    def played(self, from_s: float, to_s: float) -> Samples:
        """Returns the sound that the loudspeaker was given to play between two moments."""
        return self._cut(self._played, from_s, to_s)

    def _keep(self, kept: deque[_Block], at_s: float, block: Samples) -> None:
        with self._lock:
            kept.append((at_s, block))
            while kept[0][0] < at_s - KEPT_S:
                kept.popleft()

    def _cut(self, kept: deque[_Block], from_s: float, to_s: float) -> Samples:
        with self._lock:
            found = [block for at_s, block in kept if from_s <= at_s < to_s]
        return np.concatenate([np.zeros(0, np.float32), *found])


def line_sound(device: Tapped, from_s: float, to_s: float) -> VoiceSound:
    """Levels of what a person said between two moments, with half a second of the room before it."""
    sound, rate_hz = device.heard(from_s, to_s), device.input_rate_hz or RATE_HZ
    if not len(sound):
        return VoiceSound()
    clipped = float(np.mean(np.abs(sound) >= CLIPPED)) > CLIPPED_SHARE
    ratio = snr_db(Resampler(rate_hz, RATE_HZ).process(sound, last=True))
    return VoiceSound(_decibels(speech_level(sound, rate_hz)), ratio if math.isfinite(ratio) else None, clipped)


def noise_level(device: Tapped, from_s: float, to_s: float) -> tuple[float, bool]:
    """Median level of the room's frames, so that a cough does not count; and whether there is no sound at all."""
    sound = device.heard(from_s, to_s)
    frame = round((device.input_rate_hz or RATE_HZ) * _FRAME_S)
    levels = [level_db(sound[at : at + frame]) for at in range(0, len(sound) - frame + 1, frame)]
    silent = not float(np.abs(sound).max(initial=0.0))
    return (float(np.median(levels)) if levels else QUIETEST_DB), silent


def echo_levels(device: Tapped, from_s: float, to_s: float, noise_db: float) -> tuple[float | None, float | None]:
    """Level of the robot's voice as it was played, and of its echo; None where there is none.

    The room's noise is taken out of the echo's power.
    """
    played = device.played(from_s, to_s)
    if not played.any():
        return None, None
    heard = device.heard(from_s, to_s)
    power = speech_level(heard, device.input_rate_hz or RATE_HZ) ** 2
    noise = 10 ** (noise_db / 10)
    played_db = _decibels(speech_level(played, device.output_rate_hz or RATE_HZ))
    if power <= noise * 10 ** (_AUDIBLE_DB / 10) or rms(heard) <= 0:
        return played_db, None
    return played_db, _decibels(math.sqrt(power - noise))


def _decibels(amplitude: float) -> float:
    return max(in_db(amplitude), QUIETEST_DB)
