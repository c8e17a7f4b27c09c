"""A stream that is read later, and by another clock: the way from the loudspeaker's samples to the microphone's.

Band-limited interpolation: a table of windowed sinc functions (J. O. Smith, Digital Audio Resampling Home Page). A
position is computed from the number of the sample, never by adding steps, so it is as exact after hours as at first.
One stream, one thread at a time.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from edgeagent.testing.levels import Signal

REACH: Final = 16
"""Samples on each side of a position that it is interpolated from."""
_PHASES: Final = 512
_BETA: Final = 9.0
"""Of the Kaiser window: images 90 dB down."""


def _table() -> Signal:
    """Weights of the samples around a position, for each fraction of a sample. Shape (phases + 1, 2 * reach)."""
    fractions = np.arange(_PHASES + 1)[:, None] / _PHASES
    away = np.arange(1 - REACH, REACH + 1)[None, :] - fractions
    window = np.i0(_BETA * np.sqrt(np.clip(1 - (away / REACH) ** 2, 0, None))) / np.i0(_BETA)
    weights = np.sinc(away) * window
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class DelayLine:
    """Samples by their position, from 0; before that there was silence."""

    def __init__(self) -> None:
        self._samples: Signal = np.zeros(0)
        self._begin = 0
        self._needed = -math.inf
        self._weights = _table()

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self._begin + len(self._samples)

    def append(self, samples: Signal) -> None:
        """Adds the next samples; drops those that were passed by all reading."""
        passed = 0
        if self._needed > self._begin:
            passed = min(math.floor(self._needed) - self._begin, len(self._samples))
        self._begin += passed
        self._samples = np.concatenate((self._samples[passed:], samples))

    def read(self, position: float, step: float, count: int) -> Signal:
        """``count`` samples, the first at ``position``, each ``step`` further. A later call begins no earlier.

        Up to 16 samples beyond the last one must have been appended.
        """
        first = math.floor(position) - REACH + 1
        last = math.floor(position + step * (count - 1)) + REACH
        self._needed = first
        near = self._span(first, last + 1)
        if step == 1.0 and position.is_integer():
            return near[REACH - 1 : REACH - 1 + count].copy()
        positions = position - first + step * np.arange(count)
        whole = np.floor(positions).astype(np.intp)
        phases = (positions - whole) * _PHASES
        row = phases.astype(np.intp)
        weights = self._weights[row]
        weights += (self._weights[row + 1] - weights) * (phases - row)[:, None]
        return np.asarray(np.einsum("ij,ij->i", sliding_window_view(near, 2 * REACH)[whole - REACH + 1], weights))

    def _span(self, first: int, end: int) -> Signal:
        """The samples at these positions."""
        if end > self.end:
            raise IndexError(f"position {end - 1} is read before it was appended")
        before = min(max(self._begin - first, 0), end - first)
        found = self._samples[max(first - self._begin, 0) : max(end - self._begin, 0)]
        return np.concatenate((np.zeros(before), found)) if before else found
