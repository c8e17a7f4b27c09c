"""Noise at a microphone: steady noise, babble, the robot's own motors.

Each gives block after block, on one thread. Levels are linear RMS at the microphone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import numpy as np

from edgeagent.testing.acoustics import Reverberation, Signal, rms, speech_level
from edgeagent.testing.room_settings import NoiseKind

LOOP_S: Final = 16
"""Steady noise repeats after so many seconds, without a seam."""
FULL_SPEED_MPS: Final = 0.5
"""Wheel speed at which the motors are as loud as asked."""
_MAINS_HZ: Final = 50
_MAINS_HARMONICS: Final = 12
_BLADES_HZ: Final = 150
_FAN_HZ: Final = 300
_FAN_TONE: Final = 0.3
"""Amplitude of the blades' tone over the noise's RMS."""
_LOWEST_HZ: Final = 20
_GEARS_HZ: Final = 1_150
"""Teeth of the gears that meet in a second at 1 m/s: wheels of 5 cm, geared down 30 times, 12 teeth."""
_ROTOR: Final = 1 / 12
_HARMONICS: Final = ((_ROTOR, 0.5), (1.0, 1.0), (2.0, 0.5), (3.0, 0.35), (4.0, 0.2))
"""The motor's tones: frequency over that of the gears, and amplitude."""
_RUSTLE_SHARE: Final = 0.3
"""Share of the motor's power that is broadband."""
_PLACE_DB: Final = 0.0
"""Direct sound over reverberation of people who talk among themselves, further away."""


class NoiseSource(Protocol):
    """Something that is heard."""

    def block(self, at: int, count: int) -> Signal:
        """Its sound at the microphone's samples from ``at`` on. Asked in order, without gaps."""
        ...


class Loop:
    """A signal over and over. Shape of the signal: (period,)."""

    def __init__(self, period: Signal) -> None:
        self.period = period

    def block(self, at: int, count: int) -> Signal:
        begin = at % len(self.period)
        found = self.period[begin : begin + count]
        if len(found) < count:
            found = self.period.take(np.arange(begin, begin + count), mode="wrap")
        return found


def steady_noise(kind: NoiseKind, level: float, random: np.random.Generator, rate_hz: int) -> Loop:
    """Noise of that level, as a loop without a seam: it is made as a sum of its own harmonics."""
    count = LOOP_S * rate_hz
    at_hz = np.fft.rfftfreq(count, 1 / rate_hz)
    safe_hz = np.maximum(at_hz, _LOWEST_HZ)
    shape = np.ones(len(at_hz))
    if kind == "pink":
        shape = 1 / np.sqrt(safe_hz)
    elif kind == "fan":
        shape = 1 / (1 + (safe_hz / _FAN_HZ) ** 2)
    elif kind == "hum":
        shape[:] = 0.0
        harmonics = np.arange(1, _MAINS_HARMONICS + 1)
        shape[harmonics * _MAINS_HZ * LOOP_S] = 1 / harmonics
    shape[at_hz < _LOWEST_HZ] = 0.0
    if kind == "hum":
        made = np.fft.irfft(shape * np.exp(2j * math.pi * random.random(len(shape))), count)
    else:
        parts = random.standard_normal((2, len(shape)))
        made = np.fft.irfft(shape * (parts[0] + 1j * parts[1]), count)
        made /= rms(made)
    if kind == "fan":
        made += _FAN_TONE * np.sin(2 * math.pi * _BLADES_HZ / rate_hz * np.arange(count))
    return Loop(made * (level / rms(made)))


def babble(
    voices: Sequence[Signal], level: float, random: np.random.Generator, rate_hz: int, rt60_s: float
) -> list[Loop]:
    """One loop for each voice, all equally loud, each from a place of its own; together of that level in the mean."""
    loops = []
    for voice in voices:
        seed = int(random.integers(1 << 31))
        place = Reverberation([seed], rate_hz=rate_hz, rt60_s=rt60_s, direct_db=_PLACE_DB)
        response = place.towards(0.0)[: len(voice)]
        heard = np.fft.irfft(np.fft.rfft(voice) * np.fft.rfft(response, len(voice)), len(voice))
        heard = np.roll(heard / (speech_level(heard, rate_hz) or 1.0), int(random.integers(len(heard))))
        loops.append(Loop(heard))
    power = math.sqrt(sum(rms(loop.period) ** 2 for loop in loops))
    return [Loop(loop.period * (level / power)) for loop in loops]


class Motor:
    """The motors of the wheels: tones of the gears and a broadband part, both of which follow the speed.

    Silent at rest; pitch and amplitude grow with the speed, whatever its sign.

    Args:
        speed: Wheel speed in m/s, asked once a block for the time of its end, in the room's seconds.
        level: RMS at 0.5 m/s.
    """

    def __init__(
        self, speed: Callable[[float], float], level: float, random: np.random.Generator, rate_hz: int
    ) -> None:
        self._speed = speed
        self._rate_hz = rate_hz
        tones = math.sqrt(sum(amplitude**2 / 2 for _, amplitude in _HARMONICS))
        self._tones = level * math.sqrt(1 - _RUSTLE_SHARE) / tones
        self._rustle = steady_noise("pink", level * math.sqrt(_RUSTLE_SHARE), random, rate_hz)
        self._mps: float | None = None
        self._turns = 0.0

    def block(self, at: int, count: int) -> Signal:
        before = self._mps
        after = abs(self._speed((at + count) / self._rate_hz))
        self._mps = after
        if before is None:
            before = after
        if not before and not after:
            return np.zeros(count)
        mps = before + (after - before) * np.arange(1, count + 1) / count
        turns = self._turns + np.cumsum(mps) * (_GEARS_HZ / self._rate_hz)
        self._turns = float(turns[-1] % (1 / _ROTOR))
        tones = np.zeros(count)
        for ratio, amplitude in _HARMONICS:
            tones += amplitude * np.sin(2 * math.pi * ratio * turns)
        return (self._tones * tones + self._rustle.block(at, count)) * (mps / FULL_SPEED_MPS)
