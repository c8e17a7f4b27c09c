"""People who speak to the robot, placed to the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeagent.testing.acoustics import Reverberation, convolved
from edgeagent.testing.levels import Signal, in_db, speech_level
from edgeagent.testing.room_settings import RoomSettings

_DIRECT_DB: Final = 3.0
"""Direct sound over reverberation of a person who speaks to the robot from 1 m."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a person said: its samples, without the reverberation after them.

    ``start`` and ``end`` are samples of the microphone; ``end`` is the one after the last.
    """

    start: int
    end: int
    start_s: float
    end_s: float


class People:
    """Speech that waits for its time. Under the room's lock, except for ``heard``."""

    def __init__(self, settings: RoomSettings, seed: list[int]) -> None:
        self._rate_hz = settings.rate_hz
        direct_db = _DIRECT_DB - in_db(settings.distance_m)
        self._place = Reverberation(seed, rate_hz=settings.rate_hz, rt60_s=settings.rt60_s, direct_db=direct_db)
        self._waiting: list[tuple[int, Signal]] = []

    def heard(self, dry: Signal, level: float, angle_deg: float) -> Signal:
        """Speech as it is at the microphone, of that level on its frames with speech. Any thread."""
        made = convolved(dry, self._place.towards(angle_deg))
        return made * (level / (speech_level(made, self._rate_hz) or 1.0))

    def place(self, start: int, heard: Signal, length: int) -> Said:
        """Lets something be heard from that sample on; without its reverberation it is so long."""
        self._waiting.append((start, heard))
        end = start + length
        return Said(start, end, start / self._rate_hz, end / self._rate_hz)

    def block(self, begin: int, count: int) -> Signal:
        """All that is said in these samples; forgets what is over."""
        made = np.zeros(count)
        self._waiting = [(start, heard) for start, heard in self._waiting if start + len(heard) > begin]
        for start, heard in self._waiting:
            first = max(start, begin)
            last = min(start + len(heard), begin + count)
            if first < last:
                made[first - begin : last - begin] += heard[first - start : last - start]
        return made
