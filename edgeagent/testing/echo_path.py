"""The way of sound from the robot's loudspeaker to its microphone.

Loudspeaker samples, band-pass, soft clipping, delay and the other clock, the room: in this order. One thread at a time,
except where it says otherwise.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

import numpy as np

from edgeagent.testing.acoustics import Reverberation, band_pass, convolved
from edgeagent.testing.convolver import Convolver
from edgeagent.testing.delay_line import DelayLine
from edgeagent.testing.levels import Signal, from_db, speech_level
from edgeagent.testing.people_voices import speechlike
from edgeagent.testing.room_settings import RoomSettings

_TURN_S: Final = 0.050
"""Within this time one path becomes another."""
_DIRECT_DB: Final = 6.0
"""Direct sound over reverberation: loudspeaker and microphone stand close together."""
_REFERENCE_S: Final = 4.0


class EchoPath:
    """Loudspeaker blocks in, echo blocks out.

    Attributes:
        heading_deg: Where the robot looks.

    Args:
        seed: Of the responses.
    """

    def __init__(self, settings: RoomSettings, seed: list[int]) -> None:
        self._settings = settings
        self._fade = math.ceil(_TURN_S * settings.rate_hz / settings.block)
        self._delay = settings.samples(settings.delay_ms)
        self._step = 1 + settings.drift_ppm * 1e-6
        self._band = band_pass(settings.rate_hz, settings.band_hz)
        self._loudspeaker = Convolver(self._band, settings.block)
        self._line = DelayLine()
        self._reverberation = Reverberation(
            seed, rate_hz=settings.rate_hz, rt60_s=settings.rt60_s, direct_db=_DIRECT_DB
        )
        self.heading_deg = 0.0
        self._wanted: deque[Signal] = deque(maxlen=1)
        reference = speechlike(settings.seed, _REFERENCE_S, settings.rate_hz).astype(np.float64)
        reference *= from_db(settings.loudspeaker_level_db) / speech_level(reference, settings.rate_hz)
        self._reference = self._played(reference)
        self._air = Convolver(self._response(), settings.block)

    def play(self, samples: Signal) -> None:
        """The next block of the loudspeaker, by its own clock."""
        self._line.append(self._clipped(self._loudspeaker.process(samples)))

    def lose(self, count: int) -> None:
        """The loudspeaker falls behind by so many samples, in silence."""
        self._line.append(np.zeros(count))

    def heard(self, at: int) -> Signal:
        """The echo's block whose first sample is the microphone's sample ``at``. Blocks are asked for in order."""
        if self._wanted and not self._air.changing:
            self._air.change(self._wanted.popleft(), self._fade)
        dry = self._line.read((at - self._delay) * self._step, self._step, self._settings.block)
        return self._air.process(dry)

    def turn(self, angle_deg: float) -> None:
        """The robot looks elsewhere; a turn that is under way is faded in first. Any thread."""
        self.heading_deg = (self.heading_deg + angle_deg) % 360.0
        self._wanted.append(self._response())

    def calibrate(self, samples: Signal) -> None:
        """Scales the path so that the echo gain holds for this speech, played as it is. Any thread."""
        self._reference = self._played(samples)
        self._wanted.append(self._response())

    def _response(self) -> Signal:
        """The room's response where the robot looks now, scaled to the echo gain."""
        made = self._reverberation.towards(self.heading_deg)
        settings = self._settings
        wanted = from_db(settings.person_level_db + settings.echo_gain_db)
        return made * (wanted / speech_level(convolved(self._reference, made), settings.rate_hz))

    def _played(self, samples: Signal) -> Signal:
        """Returns a whole signal as the loudspeaker plays it."""
        return self._clipped(convolved(np.clip(samples, -1.0, 1.0), self._band))

    def _clipped(self, samples: Signal) -> Signal:
        clip = self._settings.clip
        return samples if math.isinf(clip) else clip * np.tanh(samples / clip)
