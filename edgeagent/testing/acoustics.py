"""Synthetic responses: of a room, and of a loudspeaker. Pure functions of a seed; nothing here streams."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from edgeagent.testing.levels import Signal, from_db

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
