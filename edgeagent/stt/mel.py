"""Input of PocketSphinx's acoustic model: mel cepstra as its own front end makes them.

Knows no noise, no mean and no words. One thread for each stream; the rest are pure functions.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.types import Samples
from edgeagent.stt.types import RATE_HZ

FILTERS: Final = 25
COUNT: Final = 13
"""Cepstra of a frame."""
STEP: Final = RATE_HZ // 100
"""Samples between two frames."""

Powers = NDArray[np.float64]
"""Of the bins of a spectrum, of 16-bit sound. Shape (frames, 257)."""
Energies = NDArray[np.float64]
"""In mel bands. Shape (frames, 25)."""

_LOWEST_HZ: Final = 130.0
_HIGHEST_HZ: Final = 6_800.0
_LIFTER: Final = 22
"""These, and the two counts, as in feat.params of the acoustic model."""
_WINDOW: Final = 410
_SIZE: Final = 512
BINS: Final = _SIZE // 2 + 1
_PRE_EMPHASIS: Final = 0.97
_FULL_SCALE: Final = 32_767
_FLOOR: Final = 1e-4


class Spectra:
    """Power spectra of a stream: frames of 25.6 ms, one every 10 ms."""

    def __init__(self) -> None:
        self._rest = np.zeros(0)
        self._last = 0.0

    def process(self, samples: Samples) -> Powers:
        """The frames that are whole now."""
        sound = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0).astype(np.float64)
        sound = np.clip(sound, -1.0, 1.0) * _FULL_SCALE
        if len(sound):
            before = np.concatenate(([self._last], sound[:-1]))
            self._last = float(sound[-1])
            self._rest = np.concatenate((self._rest, sound - _PRE_EMPHASIS * before))
        count = max(0, (len(self._rest) - _WINDOW) // STEP + 1)
        if not count:
            return np.zeros((0, BINS))
        frames = np.lib.stride_tricks.sliding_window_view(self._rest, _WINDOW)[::STEP][:count]
        powers: Powers = np.abs(np.fft.rfft(frames * _WEIGHTS, _SIZE)) ** 2
        self._rest = self._rest[count * STEP :]
        return powers


def in_mel_bands(powers: Powers) -> Energies:
    """Shape (frames, 25), of powers with shape (frames, 257)."""
    made: Energies = powers @ _BANK.T
    return made


def cepstra(energies: Energies) -> NDArray[np.float64]:
    """Shape (frames, 13), of energies with shape (frames, 25)."""
    made: NDArray[np.float64] = np.log(energies + _FLOOR) @ TRANSFORM.T
    return made


def white(level_db: float) -> NDArray[np.float64]:
    """Energies of white noise at that level in dBFS, of its root mean square, as expected of a frame. Shape (25,)."""
    at = np.linspace(0, math.pi, _SIZE // 2 + 1)
    emphasis = np.abs(1 - _PRE_EMPHASIS * np.exp(-1j * at)) ** 2
    power = (_FULL_SCALE * 10 ** (level_db / 20)) ** 2 * float((_WEIGHTS**2).sum())
    return np.asarray(power * emphasis @ _BANK.T)


def _bank() -> NDArray[np.float64]:
    """Triangles of equal area, with corners on the bins of the spectrum; shape (25, bins)."""
    step_hz = RATE_HZ / _SIZE
    edges = np.linspace(_mel(_LOWEST_HZ), _mel(_HIGHEST_HZ), FILTERS + 2)
    corners = np.floor(700 * (10 ** (edges / 2595) - 1) / step_hz + 0.5) * step_hz
    at_hz = np.arange(_SIZE // 2 + 1) * step_hz
    low, top, high = corners[:-2, None], corners[1:-1, None], corners[2:, None]
    rising, falling = (at_hz - low) / (top - low), (high - at_hz) / (high - top)
    return np.asarray(np.maximum(0.0, np.minimum(rising, falling)) * 2 / (high - low))


def _mel(hz: float) -> float:
    return 2595 * math.log10(1 + hz / 700)


def _transform() -> NDArray[np.float64]:
    """The orthonormal cosine transform with the lifter in it; shape (13, 25)."""
    order = np.arange(COUNT)[:, None]
    made = np.cos(order * math.pi / FILTERS * (np.arange(FILTERS) + 0.5)) * math.sqrt(2 / FILTERS)
    made[0] *= math.sqrt(0.5)
    return np.asarray(made * (1 + _LIFTER / 2 * np.sin(order * math.pi / _LIFTER)))


_WEIGHTS: Final = np.hamming(_WINDOW)
_BANK: Final = _bank()
TRANSFORM: Final = _transform()
"""From the logarithms of energies to cepstra. Shape (13, 25)."""
