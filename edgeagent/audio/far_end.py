"""Sound that the loudspeaker played in the last seconds, and when: the far end of an echo canceller.

Blocks are put in by the device's output callback, which waits for nothing; all else runs on one other thread. Knows
nothing of microphones or echoes.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.stream_clock import Resampler, StreamClock


class SampleHistory:
    """The end of the stream.

    Attributes:
        begin: Number of the first sample that is kept.

    Args:
        kept: At least so many of the last samples are.
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._samples: Samples = np.zeros(4 * kept, np.float32)
        self._used = 0
        self.begin = 0

    @property
    def end(self) -> int:
        """Number of the next sample."""
        return self.begin + self._used

    def append(self, samples: Samples) -> None:
        """The next samples."""
        needed = self._used + len(samples)
        if needed > len(self._samples):
            self._samples = np.concatenate((self._samples[: self._used], np.zeros(needed, np.float32)))
        self._samples[self._used : needed] = samples
        self._used = needed

    def forget(self, before: int | None = None) -> None:
        """All but the last samples, and those from one on if it is told, once they are many."""
        drop = self._used - self._kept
        if before is not None:
            drop = min(drop, before - self.begin)
        if drop > 2 * self._kept:
            self._samples = np.concatenate((self._samples[drop : self._used], np.zeros(3 * self._kept, np.float32)))
            self._used -= drop
            self.begin += drop

    def read(self, begin: int, end: int | None = None) -> Samples:
        """A copy, from one sample until before another."""
        last = self._used if end is None else end - self.begin
        return self._samples[max(begin - self.begin, 0) : max(last, 0)].copy()


_KEPT_S: Final = 4.0
REACH: Final = 8
"""Samples on each side that a fraction of a sample is interpolated from."""
_BETA: Final = 6.0
"""Of the Kaiser window."""
_PHASES: Final = 2_048
_QUEUED: Final = 1_000
"""Blocks that wait for a microphone; where none comes, the oldest are lost."""


def _interpolation() -> Samples:
    """Weights of the samples around a position, for each fraction of a sample. Shape (phases + 1, 2 * reach)."""
    away = np.arange(1 - REACH, REACH + 1)[None, :] - np.arange(_PHASES + 1)[:, None] / _PHASES
    window = np.i0(_BETA * np.sqrt(np.maximum(1 - np.square(away / REACH), 0)))
    taps = np.sinc(away) * window
    made: Samples = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    return made


class FarEnd:
    """Sound that the loudspeaker played in the last seconds, at the canceller's rate, and when.

    Attributes:
        clock: Of the times that were put in.
    """

    def __init__(self, in_hz: int, rate_hz: int) -> None:
        self._queue: deque[tuple[Samples, float]] = deque(maxlen=_QUEUED)
        self._resampler = Resampler(in_hz, rate_hz)
        self._in_hz, self._rate_hz = in_hz, rate_hz
        self._history = SampleHistory(round(_KEPT_S * rate_hz))
        self._sounds_until = 0
        """Position after the last sample that is not silent."""
        self._in_count = 0
        self.clock = StreamClock()
        self._taps = _interpolation()

    def put(self, block: Samples, dac_s: float) -> None:
        """Any thread; waits for nothing."""
        self._queue.append((block.copy(), dac_s))

    def drain(self) -> None:
        """Takes over what was put."""
        while True:
            try:
                block, dac_s = self._queue.popleft()
            except IndexError:
                return
            later_s = self.clock.observe(self._in_count / self._in_hz, dac_s)
            silence = round(min(max(later_s, 0.0), _KEPT_S) * self._in_hz)
            if silence:  # nothing was played for so long, and the times say so
                self.clock.skip(silence / self._in_hz)
                block = np.concatenate((np.zeros(silence, np.float32), block))
            self._in_count += len(block)
            samples = self._resampler.process(block)
            self._history.append(samples)
            self._history.forget()
            if samples.any():
                self._sounds_until = self.end

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self._history.end

    @property
    def silent_s(self) -> float:
        """Seconds since the last sample that is not silent; infinite if there was none."""
        return (self.end - self._sounds_until) / self._rate_hz if self._sounds_until else math.inf

    def index(self, time_s: float) -> float:
        """Position of the sample that left the loudspeaker at that time."""
        return self.clock.position(time_s) * self._rate_hz

    def read(self, position: int, count: int) -> Samples:
        """Samples from a position on; zeros where there are none."""
        made: Samples = np.zeros(count, np.float32)
        first, last = max(position, self._history.begin), min(position + count, self.end)
        if first < last:
            made[first - position : last - position] = self._history.read(first, last)
        return made

    def fade(self, begin: float, end: float, count: int) -> Samples:
        """``count`` samples, faded from those at one position to those at another."""
        if min(begin, end) - REACH > self._sounds_until:  # as most of the time
            return np.zeros(count, np.float32)
        made = self._interpolated(end, count)
        if begin != end:
            was = self._interpolated(begin, count)
            made = was + (made - was) * (np.arange(count, dtype=np.float32) / np.float32(count))
        return made

    def _interpolated(self, position: float, count: int) -> Samples:
        whole = math.floor(position)
        around = self.read(whole - REACH + 1, count + 2 * REACH - 1)
        made: Samples = np.correlate(around, self._taps[round((position - whole) * _PHASES)], "valid")
        return made
