"""Rest of the ears while a room is as quiet as ever: sound that nobody can have spoken in is not heard.

Judges blocks of the microphone as they come, before any other work: most of the day there is nothing to hear. Whoever
speaks is louder than the room by more than steady noise varies. Knows nothing of speech. One thread, the ears'.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples

LEAD_S: Final = 1.2
"""Seconds before the first sound that are heard nevertheless: as far as the network of stop words looks back."""
_AFTER_S: Final = 1.0
"""Seconds of quiet until the ears doze."""
_LOUDER: Final = 10**0.25
"""Power over the room's, 2.5 dB, that wakes them. A person as loud as the noise, 0 dB, has 3 dB in the mean and more in
each syllable; voice activity asks for 6.5 dB."""
_BANDS_HZ: Final = (2_000, 8_000)
"""Rates to which the sound is averaged, and then differenced: what is left is 0.2 to 1 and 0.7 to 4 kHz or so, without
an offset and with hardly any hum. In one band alone a voice is lost in hiss, or in rumble."""
_SMOOTH_S: Final = 0.04
"""Time constant of the level: a syllable changes it, and steady noise by a few tenths of a decibel."""
_EVERY_S: Final = 0.08
_KEPT: Final = 64
"""A level is kept so often, for five seconds; the room is their median."""
_KNOWN: Final = 16
"""Levels from which on the room is known."""
_LATELY: Final = 5
"""Levels of which the mean is the room where it is less: noise that has ended hides nobody for longer than 0.4 s."""
_SILENT: Final = 10**-7.5
"""Power of a room that is never taken for less, as voice activity has it."""


class Doze:
    """Judges block after block, of 20 ms at most.

    Args:
        rate_hz: Of the microphone.
    """

    def __init__(self, rate_hz: int) -> None:
        self._bands = [_Band(max(round(rate_hz / band_hz), 1)) for band_hz in _BANDS_HZ]
        self._rate_hz = rate_hz
        self._asleep = False
        self._quiet_s = 0.0

    def sleeps(self, block: Samples, *, may: bool) -> bool:
        """Takes the next block; returns True if it need not be heard now.

        Args:
            may: Nothing was heard for a while that could be speech, and the loudspeaker is silent.
        """
        length_s = len(block) / self._rate_hz
        for band in self._bands:
            band.take(block, length_s)
        quiet = may and all(band.is_quiet for band in self._bands)
        self._quiet_s = self._quiet_s + length_s if quiet else 0.0
        asleep = self._quiet_s > _AFTER_S
        if asleep is not self._asleep:
            self._asleep = asleep
            for band in self._bands:
                band.bound = band.room if asleep else math.inf
        return asleep


class _Band:
    """Level of a band, and of the room in it.

    Attributes:
        room: Median of the level, as a power, or less if it has become less.
        bound: The room when the ears fell asleep, or infinite: one that has grown since is heard again.
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._since_s = 0.0
        self._level = 0.0
        self._levels: deque[float] = deque(maxlen=_KEPT)
        self.room, self.bound = _SILENT, math.inf

    def take(self, block: Samples, length_s: float) -> None:
        """The next block."""
        width = self._width
        means = np.add.reduce(block[: len(block) // width * width].reshape(-1, width), axis=1)
        apart = means[1:] - means[:-1]
        power = float(np.dot(apart, apart)) / (width * width * max(len(apart), 1))
        self._level += min(length_s / _SMOOTH_S, 1.0) * (power - self._level)
        self._since_s += length_s
        if self._since_s >= _EVERY_S:
            self._since_s = 0.0
            self._levels.append(self._level)
            median = sorted(self._levels)[len(self._levels) // 2]
            lately = list(self._levels)[-_LATELY:]
            self.room = max(min(median, sum(lately) / len(lately)), _SILENT)

    @property
    def is_quiet(self) -> bool:
        """True if the level is that of the room, and the room is known."""
        return len(self._levels) >= _KNOWN and self._level <= _LOUDER * min(self.room, self.bound)
