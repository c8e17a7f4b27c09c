"""Streaming resampling between the rate of a device and the rate of a model. One stream, one thread at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeagent.audio.device import Samples


class Resampler:
    """Makes a stream of one rate from a stream of another; what goes in comes out, a few milliseconds later.

    Args:
        in_hz, out_hz: Samples a second. Equal rates pass through.
    """

    def __init__(self, in_hz: float, out_hz: float) -> None:
        self.in_hz, self.out_hz = in_hz, out_hz
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

    def reset(self) -> None:
        """Forgets what came before."""
        if self._stream is not None:
            self._stream.clear()
