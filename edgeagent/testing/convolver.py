"""Convolution of a stream with a long response, block by block, without a delay, while the response may change.

Uniformly partitioned overlap-save: the response is cut into parts as long as a block, the spectra of past blocks are
kept and multiplied with those of the parts. One stream, one thread at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgeagent.testing.levels import Signal


class Convolver:
    """A stream through a response.

    Args:
        response: Shape (taps,). A later one may be shorter, not longer.
        block: Samples that are processed at a time.
    """

    def __init__(self, response: Signal, block: int) -> None:
        self._block = block
        self._parts = -(-len(response) // block)
        self._response = self._spectra(response)
        self._next: NDArray[Any] | None = None
        self._faded = self._fade = 0
        # Written twice, so that the spectra of the last blocks, newest first, are always one slice.
        self._past = np.zeros((2 * self._parts, block + 1), np.complex128)
        self._newest = 0
        self._window = np.zeros(2 * block)

    @property
    def changing(self) -> bool:
        """True if a cross-fade is under way."""
        return self._next is not None

    def change(self, response: Signal, over: int) -> None:
        """Cross-fades to another response within that many blocks; one that is under way is ended at once."""
        if self._next is not None:
            self._response = self._next
        self._next = self._spectra(response)
        self._faded, self._fade = 0, max(over, 1)

    def process(self, samples: Signal) -> Signal:
        """The next block of the stream, convolved. Shape (block,) to (block,)."""
        block = self._block
        self._window[:block] = self._window[block:]
        self._window[block:] = samples
        self._newest = (self._newest - 1) % self._parts
        self._past[self._newest] = self._past[self._newest + self._parts] = np.fft.rfft(self._window)
        made = self._through(self._response)
        if self._next is None:
            return made
        rising = (self._faded * block + np.arange(1, block + 1)) / (self._fade * block)
        made += (self._through(self._next) - made) * rising
        self._faded += 1
        if self._faded == self._fade:
            self._response, self._next = self._next, None
        return made

    def _through(self, response: NDArray[Any]) -> Signal:
        past = self._past[self._newest : self._newest + self._parts]
        return np.fft.irfft(np.einsum("pf,pf->f", past, response))[self._block :]

    def _spectra(self, response: Signal) -> NDArray[Any]:
        """The parts' spectra. Shape (parts, block + 1)."""
        padded = np.zeros(self._parts * self._block)
        padded[: len(response)] = response
        return np.fft.rfft(padded.reshape(self._parts, self._block), 2 * self._block, axis=1)
