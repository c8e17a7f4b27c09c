"""The last samples of a stream, by their number in it. Any one thread."""

from __future__ import annotations

import numpy as np

from edgeagent.audio.device import Samples


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
