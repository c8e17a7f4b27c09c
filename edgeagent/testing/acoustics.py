"""Sound as figures: levels of speech, noise and echo; synthetic responses of a room and of a loudspeaker.

Levels are those that the figures of this project mean. Responses are pure functions of a seed; nothing here streams.
Any thread.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.float64]
"""Mono, shape (samples,): sound between two steps of a computation."""

_FRAME_S: Final = 0.020
_MARGIN: Final = 10 ** (-15.9 / 10)
"""A frame is speech down to 15.9 dB under the level of all speech frames: the margin of ITU-T P.56, without its
hangover."""


def rms(samples: NDArray[Any]) -> float:
    """Root of the mean square; 0 of nothing."""
    return math.sqrt(float(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


def in_db(ratio: float) -> float:
    """An amplitude or a ratio of two in decibels; minus infinity for 0."""
    return 20 * math.log10(ratio) if ratio > 0 else -math.inf


def from_db(level_db: float) -> float:
    """The amplitude, or the ratio of two, that has this many decibels."""
    return float(10 ** (level_db / 20))


def speech_frames(samples: NDArray[Any], rate_hz: int) -> NDArray[np.bool_]:
    """Which samples stand in a frame of 20 ms with speech in it. Shape (samples,); a last part of a frame has none."""
    frame = round(rate_hz * _FRAME_S)
    count = len(samples) // frame
    powers = np.mean(np.square(samples[: count * frame], dtype=np.float64).reshape(count, frame), axis=1)
    falling = np.sort(powers)[::-1]
    means = np.cumsum(falling) / np.arange(1, count + 1)
    loud = np.flatnonzero((falling >= means * _MARGIN) & (falling > 0))
    found = np.zeros(len(samples), np.bool_)
    if len(loud):
        found[: count * frame] = np.repeat(powers >= falling[loud[-1]], frame)
    return found


def speech_level(samples: NDArray[Any], rate_hz: int) -> float:
    """RMS on the frames with speech: 0 dBFS is 1.0."""
    return rms(samples[speech_frames(samples, rate_hz)])


def snr_db(speech: NDArray[Any], noise: NDArray[Any], rate_hz: int) -> float:
    """Speech over noise, on the frames with speech. Both of one length."""
    spoken = speech_frames(speech, rate_hz)
    return in_db(rms(speech[spoken])) - in_db(rms(noise[spoken]))


def echo_gain_db(echo: NDArray[Any], speech: NDArray[Any], rate_hz: int) -> float:
    """The echo's level over the person's, each on the frames where there is any."""
    return in_db(speech_level(echo, rate_hz)) - in_db(speech_level(speech, rate_hz))


# --- responses ------------------------------------------------------------------------------------------------------

_MIXING_S: Final = 0.040
"""Single reflections become a tail within this time."""
_REFLECTIONS: Final = 10
_FIRST_S: Final = 0.002
_STEP_DEG: Final = 20.0
"""A robot that has turned so far hears reflections that have nothing to do with the earlier ones."""
_SLOPE: Final = 4
"""Order of the loudspeaker's two slopes: 24 dB an octave."""
_BAND_GRID: Final = 1 << 15
_BAND_S: Final = 0.040
_FLOOR: Final = 1e-5


class Reverberation:
    """The responses from one place of the room to the microphone, one for each direction.

    The sound itself comes first, at sample 0 and the same in every direction: then single reflections, then a tail of
    noise that has lost 60 dB after ``rt60_s``. Directions 20 degrees apart share nothing but the first.

    Args:
        seed: A list of integers; equal ones make equal responses.
        rt60_s: 0 leaves the first sound alone.
        direct_db: Energy of the first sound over the energy of all that follows.
    """

    def __init__(self, seed: list[int], *, rate_hz: int, rt60_s: float, direct_db: float) -> None:
        self._seed = seed
        self._rate_hz = rate_hz
        self._rt60_s = rt60_s
        self._gain = from_db(-direct_db)
        self.length = max(math.ceil(rate_hz * rt60_s), 1)

    def towards(self, angle_deg: float) -> Signal:
        """The response in that direction. Shape (length,); its first sample is 1."""
        made = np.zeros(self.length)
        if self.length > 1:
            at, between = divmod(angle_deg % 360.0, _STEP_DEG)
            turned = between / _STEP_DEG * math.pi / 2
            sectors = round(360 / _STEP_DEG)
            made += math.cos(turned) * self._reflected(int(at))
            if between:
                made += math.sin(turned) * self._reflected((int(at) + 1) % sectors)
            made *= self._gain / math.sqrt(float(np.sum(made**2)))
        made[0] = 1.0
        return made

    def _reflected(self, sector: int) -> Signal:
        """Everything after the first sound, at energy 1."""
        random = np.random.default_rng([*self._seed, sector])
        times_s = np.arange(self.length) / self._rate_hz
        # Energy passes from single reflections to the tail, so that the sum of both falls on one straight line.
        mixed = np.clip(times_s / _MIXING_S, 0.0, 1.0)
        made = random.standard_normal(self.length) * np.sqrt(mixed)
        early = min(self.length, round(_MIXING_S * self._rate_hz))
        first = min(round(_FIRST_S * self._rate_hz), early - 1)
        spots = random.integers(first, early, _REFLECTIONS)
        apart = (early - first) / _REFLECTIONS
        np.add.at(made, spots, random.choice([-1.0, 1.0], _REFLECTIONS) * np.sqrt(apart * (1 - mixed[spots])))
        made *= 10 ** (-3 * times_s / self._rt60_s)
        made[0] = 0.0
        return made / math.sqrt(float(np.sum(made**2)) or 1.0)


def band_pass(rate_hz: int, band_hz: tuple[float, float]) -> Signal:
    """The response of a loudspeaker with that band, without a delay: its phase is the least possible.

    A low edge of 0 or a high one at half the rate has no slope. Minimum phase by the real cepstrum (Oppenheim and
    Schafer, Discrete-Time Signal Processing).
    """
    low_hz, high_hz = band_hz
    if low_hz <= 0 and high_hz >= rate_hz / 2:
        return np.ones(1)
    grid_hz = np.fft.rfftfreq(_BAND_GRID, 1 / rate_hz)
    power = np.ones(len(grid_hz))
    if low_hz > 0:
        power /= 1 + (low_hz / np.maximum(grid_hz, 1e-3)) ** (2 * _SLOPE)
    if high_hz < rate_hz / 2:
        power /= 1 + (grid_hz / high_hz) ** (2 * _SLOPE)
    cepstrum = np.fft.irfft(np.log(np.maximum(np.sqrt(power), _FLOOR)))
    half = _BAND_GRID // 2
    cepstrum[1:half] *= 2
    cepstrum[half + 1 :] = 0.0
    response = np.fft.irfft(np.exp(np.fft.rfft(cepstrum)))[: round(_BAND_S * rate_hz)]
    fade = len(response) // 4
    response[-fade:] *= 0.5 + 0.5 * np.cos(np.pi * np.arange(fade) / fade)
    return response


def convolved(samples: Signal, response: Signal) -> Signal:
    """The whole convolution. Shape (len(samples) + len(response) - 1,)."""
    if len(response) == 1:
        return samples * float(response[0])
    count = len(samples) + len(response) - 1
    size = 1 << (count - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)[:count])
