"""Levels of speech and noise in what the microphone hears."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeagent.audio.vad import QUIETEST_DB, in_db
from edgeagent.stt.hearing import LEVEL_S, RATE_HZ

if TYPE_CHECKING:
    from edgeagent.audio.device import Samples

_FRAME: Final = RATE_HZ // 50
_PRE_EMPHASIS: Final = 0.97
"""Rumble under the voice disturbs nobody."""
_SHARE: Final = 0.2
"""Share of the frames that are certainly speech, the loudest; and of those that certainly are not: there is sound from
before and after it."""
_LEAST: Final = 1e-12


def snr_db(samples: Samples) -> float:
    """The loudest fifth of an utterance over its quietest, in dB; infinite where there is too little to tell.

    After the noise suppression a person in a quiet room has about 50.
    """
    sound = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0).astype(np.float64)
    sound[1:] -= _PRE_EMPHASIS * sound[:-1]
    count = len(sound) // _FRAME
    share = round(count * _SHARE)
    if not share:
        return math.inf
    powers = np.sort(np.square(sound[: count * _FRAME]).reshape(count, _FRAME).mean(axis=1))
    return 10 * math.log10((powers[-share:].mean() + _LEAST) / (powers[:share].mean() + _LEAST))


_WHOLE: Final = round(LEVEL_S * RATE_HZ)


class LevelMeter:
    """The sound since the last level."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forgets what was heard."""
        self._pieces: list[Samples] = []
        self.missing = _WHOLE
        """Samples until the next level."""

    def add(self, piece: Samples) -> float | None:
        """The next samples, no more than are missing; returns their level in dB of full scale, if that is all."""
        self._pieces.append(piece)
        self.missing -= len(piece)
        if self.missing > 0:
            return None
        sound = np.concatenate(self._pieces)
        self.reset()
        return level_db(sound)


def level_db(sound: Samples) -> float:
    """In dB of full scale, without an offset."""
    if not len(sound):
        return QUIETEST_DB
    around = sound - sound.mean()
    power = float(np.dot(around, around)) / len(around)
    return in_db(power) if power < math.inf else QUIETEST_DB


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
