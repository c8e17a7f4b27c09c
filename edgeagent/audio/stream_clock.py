"""Rates of sound: resampling, and the clock of a stream."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from edgeagent.audio.device import Samples


class Resampler:
    """Makes a stream of one rate from a stream of another; what goes in comes out, a few milliseconds later.

    Args:
        in_hz, out_hz: Samples a second. Equal rates pass through.
    """

    def __init__(self, in_hz: float, out_hz: float) -> None:
        self._stream: Any = None
        if in_hz != out_hz:
            import soxr

            self._stream = soxr.ResampleStream(in_hz, out_hz, 1, dtype="float32")

    def process(self, samples: Samples, *, last: bool = False) -> Samples:
        """The next samples; with ``last`` also what the filter still holds."""
        if self._stream is None:
            return samples
        made: Samples = self._stream.resample_chunk(np.ascontiguousarray(samples, np.float32), last=last)
        return made


_JITTER_S: Final = 0.002
"""Of the times of a block."""
_LEAST_JITTER_S: Final = 20e-6
_JITTER_GAIN: Final = 0.02
_DRIFT: Final = 0.5
"""Share of the jitter's variance by which the times wander in a second. Those of a sound server wandered by 1 ms in
20 s at a jitter of 0.4 ms, and by 4 ms in the first ones; without it their skew seems known to 3 ppm and is wrong by
100, and a step of 10 ms is followed in a minute in place of half a second."""
_KNOWN_DRIFT: Final = 0.25
"""The same where the jitter is known."""
_SKEW: Final = 500e-6
"""Of two clocks: quartz is within 100 ppm, a sound server's own clock within 500."""
_WANDER: Final = 1e-6
"""Of the skew in a second, with the temperature."""
_JUMP_S: Final = 0.050
"""A time that is off by more is a mistake, or the stream has really stopped in between."""
_JUMPS: Final = 3
"""Number of such times in a row that are no mistake."""


class StreamClock:
    """Positions of a stream by the times of its blocks, which jitter, on a clock that is not the stream's own.

    A Kalman filter of two states, the time of the stream's beginning and the skew of its clock.

    Args:
        jitter_s: Standard deviation of the times; without it, it is measured.
    """

    def __init__(self, jitter_s: float | None = None) -> None:
        self._jitter_known = jitter_s is not None
        self._drift = _KNOWN_DRIFT if self._jitter_known else _DRIFT
        jitter_s = _JITTER_S if jitter_s is None else jitter_s
        self._at_s: float | None = None
        self._offset_s = 0.0
        self._skew = 0.0
        self._noise = jitter_s**2
        self._p00, self._p01, self._p11 = jitter_s**2, 0.0, _SKEW**2
        self._jumps = self._count = 0

    def observe(self, at_s: float, time_s: float) -> float:
        """The block at a position, in seconds of samples, has that time.

        Returns:
            By how much the stream has jumped; 0 as a rule.
        """
        if not math.isfinite(time_s):  # a driver that does not know
            return 0.0
        if self._at_s is None:
            self._at_s, self._offset_s = at_s, time_s - at_s
            return 0.0
        passed = at_s - self._at_s
        self._at_s = at_s
        self._offset_s += self._skew * passed
        self._p00 += passed * (2 * self._p01 + passed * self._p11)
        self._p00 += passed * self._drift * self._noise
        self._p01 += passed * self._p11
        self._p11 += passed * _WANDER**2
        error = time_s - at_s - self._offset_s
        if abs(error) > _JUMP_S:
            self._jumps += 1
            if self._jumps < _JUMPS:
                return 0.0
            self._jumps = 0
            self._offset_s += error
            self._p00, self._p01 = self._noise, 0.0
            return error
        self._jumps = 0
        self._count += 1
        if not self._jitter_known:
            self._noise += max(_JITTER_GAIN, 1 / self._count) * (max(error**2, _LEAST_JITTER_S**2) - self._noise)
        total = self._p00 + self._noise
        gain, skew_gain = self._p00 / total, self._p01 / total
        self._offset_s += gain * error
        self._skew += skew_gain * error
        self._p11 -= skew_gain * self._p01
        self._p01 -= gain * self._p01
        self._p00 -= gain * self._p00
        return 0.0

    @property
    def skew(self) -> float:
        """Seconds that a second of samples takes beyond a second."""
        return self._skew

    @property
    def skew_error(self) -> float:
        """Standard deviation of the skew."""
        return math.sqrt(max(self._p11, 0.0))

    def skip(self, seconds: float) -> None:
        """Notes that so much silence stands in the stream where its times jumped."""
        if self._at_s is not None:
            self._at_s += seconds
            self._offset_s -= seconds

    def later(self, at_s: float, time_s: float) -> float:
        """By how much a time of a position is later than the one expected; 0 for the first."""
        return 0.0 if self._at_s is None else time_s - self.time(at_s)

    def begin_again(self) -> None:
        """Has the next position another time; the skew is kept."""
        self._at_s = None
        self._p00, self._p01 = self._noise, 0.0

    def time(self, at_s: float) -> float:
        """The time of a position."""
        return at_s + self._offset_s + self._skew * (at_s - (self._at_s or 0.0))

    def position(self, time_s: float) -> float:
        """The position at a time, in seconds of samples."""
        at_s = self._at_s or 0.0
        return (time_s - self._offset_s + self._skew * at_s) / (1 + self._skew)
