"""Loudness: sound is gathered until there is enough of it for a level. Any one thread."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.stt.hearing import LEVEL_S
from edgeagent.stt.transcriber import RATE_HZ

QUIETEST_DB: Final = -90.0

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
    return max(10 * math.log10(power), QUIETEST_DB) if 0 < power < math.inf else QUIETEST_DB
