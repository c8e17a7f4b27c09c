"""From an utterance's sound to what PocketSphinx decodes, as it comes: without noise, and with a mean of nothing.

PocketSphinx itself begins an utterance with the cepstral mean of those before it. Here decoding waits until some speech
is known; the mean is that of the speech so far. Pauses don't count: how silent they are says nothing about the voice.
Knows no words. One thread.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.types import Samples
from edgeagent.stt.denoise import Denoiser
from edgeagent.stt.mel import COUNT, MelBands, cepstra

Cepstra = NDArray[np.float32]

KNOWN: Final = 50
"""So many frames of speech are known before decoding begins."""
MOST: Final = 200
"""Frames after which it begins anyway."""

_SPEECH_DB: Final = 20.0
"""Speech goes down to so far under the loudest frames."""
_LOUDEST_SHARE: Final = 0.95
_CONTRAST_DB: Final = 15.0
"""Before the loudest frames are so far over the quietest, nobody has spoken: an utterance begins with a pause."""
_QUIETEST_SHARE: Final = 0.1
_MARGIN: Final = 15
"""Frames before and after the speech that belong to its mean, as in what the acoustic model learnt from."""


class FrontEnd:
    """Makes cepstra of one utterance after the other."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget the utterance before."""
        self._denoiser, self._bands = Denoiser(), MelBands()
        self._levels = np.zeros(0)
        self._cepstra = np.zeros((0, COUNT))
        self._passed = 0
        self._first: NDArray[np.float64] | None = None

    def feed(self, samples: Samples) -> Cepstra:
        """What can be decoded now; at first nothing."""
        self._take(self._denoiser.process(samples))
        if self._passed or self._enough():
            return self._pass()
        return np.zeros((0, COUNT), np.float32)

    def finish(self) -> Cepstra:
        """The rest of the utterance."""
        self._take(self._denoiser.finish())
        return self._pass()

    def whole(self) -> Cepstra:
        """The whole utterance with the mean that is known of it now."""
        return (self._cepstra - self._mean()).astype(np.float32)

    @property
    def moved(self) -> float:
        """How far the mean is now from the one with which decoding began, at most, in any of the cepstra."""
        return 0.0 if self._first is None else float(np.abs(self._mean() - self._first).max())

    def _take(self, sound: Samples) -> None:
        energies = self._bands.process(sound)
        self._levels = np.concatenate((self._levels, 10 * np.log10(energies.sum(axis=1) + 1)))
        self._cepstra = np.concatenate((self._cepstra, cepstra(energies)))

    def _enough(self) -> bool:
        """Whether a mean can be told."""
        if len(self._levels) < KNOWN:
            return False
        quiet, loud = np.quantile(self._levels, (_QUIETEST_SHARE, _LOUDEST_SHARE))
        spoken = loud - quiet >= _CONTRAST_DB and np.count_nonzero(self._speech()) >= KNOWN
        return bool(spoken or len(self._levels) >= MOST)

    def _speech(self) -> NDArray[np.bool_]:
        """For each frame whether it is loud enough."""
        if not len(self._levels):
            return np.zeros(0, np.bool_)
        return np.asarray(self._levels >= np.quantile(self._levels, _LOUDEST_SHARE) - _SPEECH_DB)

    def _pass(self) -> Cepstra:
        if self._passed == len(self._cepstra):
            return np.zeros((0, COUNT), np.float32)
        mean = self._mean()
        if self._first is None:
            self._first = mean
        made = self._cepstra[self._passed :] - mean
        self._passed = len(self._cepstra)
        return made.astype(np.float32)

    def _mean(self) -> NDArray[np.float64]:
        spoken = np.flatnonzero(self._speech())
        made: NDArray[np.float64] = self._cepstra[max(0, spoken[0] - _MARGIN) : spoken[-1] + 1 + _MARGIN].mean(axis=0)
        return made
