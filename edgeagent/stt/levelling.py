"""Brings speech to the level at which the keyword spotter's acoustic model was trained, without looking ahead.

A loud voice is turned down from its first block on; the gain comes back over seconds. A little noise is added, since
the model knows no digital silence. Any one thread.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.stt.transcriber import RATE_HZ

_PEAK: Final = 0.1
"""Of a voice, as it comes out. At 0.9 instead, 16 of 30 stop words are heard that are all heard at 0.1."""
_QUIETEST: Final = 0.05
"""A voice with a lower peak is turned up no further."""
_RETURN_S: Final = 10.0
_NOISE: Final = 2e-4
_FULL_SCALE: Final = 32_767
_BLOCK: Final = RATE_HZ // 100


class Levelling:
    """Sound in, 16-bit sound out, at the same rate and without delay."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)
        self.reset()

    def reset(self) -> None:
        """Forget how loud it was."""
        self._loudest = _QUIETEST
        self._gain = _PEAK / _QUIETEST

    def process(self, samples: Samples) -> bytes:
        """The next samples, of any number; what is no number counts as silence."""
        made = samples.astype(np.float64)
        if not np.isfinite(made).all():
            made = np.nan_to_num(made, nan=0.0, posinf=1.0, neginf=-1.0)
        for start in range(0, len(made), _BLOCK):
            block = made[start : start + _BLOCK]
            decayed = self._loudest * math.exp(-len(block) / (_RETURN_S * RATE_HZ))
            self._loudest = max(float(np.abs(block).max()), decayed, _QUIETEST)
            gain = _PEAK / self._loudest
            block *= gain if gain == self._gain else np.linspace(self._gain, gain, len(block))
            self._gain = gain
        made += self._random.normal(0.0, _NOISE, len(made))
        return (np.clip(made, -1.0, 1.0) * _FULL_SCALE).astype("<i2").tobytes()
