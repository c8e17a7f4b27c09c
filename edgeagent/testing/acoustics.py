"""Sound as figures: levels of speech, noise and echo; synthetic responses of a room and of a loudspeaker; and noise.

Levels are those that the figures of this project mean. Responses are pure functions of a seed, on any thread. Noise is
steady noise, babble, or the robot's own motors: each gives block after block, on one thread, at linear RMS at the
microphone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeagent.testing.room_settings import NoiseKind

Signal = NDArray[np.float64]
"""Mono, shape (samples,): sound between two steps of a computation."""

_FRAME_S: Final = 0.020
_MARGIN: Final = 10 ** (-15.9 / 10)
"""A frame is speech down to 15.9 dB under the level of all speech frames: the margin of ITU-T P.56, without its
hangover."""


def rms(samples: NDArray[Any]) -> float:
    """Root of the mean square; 0 of nothing."""
    return math.sqrt(float(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0


def in_db(ratio: float) -> float:
    """An amplitude or a ratio of two in decibels; minus infinity for 0."""
    return 20 * math.log10(ratio) if ratio > 0 else -math.inf


def from_db(level_db: float) -> float:
    """The amplitude, or the ratio of two, that has this many decibels."""
    return float(10 ** (level_db / 20))


def speech_frames(samples: NDArray[Any], rate_hz: int) -> NDArray[np.bool_]:
    """Which samples stand in a frame of 20 ms with speech in it. Shape (samples,); a last part of a frame has none."""
    frame = round(rate_hz * _FRAME_S)
    count = len(samples) // frame
    powers = np.mean(np.square(samples[: count * frame], dtype=np.float64).reshape(count, frame), axis=1)
    falling = np.sort(powers)[::-1]
    means = np.cumsum(falling) / np.arange(1, count + 1)
    loud = np.flatnonzero((falling >= means * _MARGIN) & (falling > 0))
    found = np.zeros(len(samples), np.bool_)
    if len(loud):
        found[: count * frame] = np.repeat(powers >= falling[loud[-1]], frame)
    return found


def speech_level(samples: NDArray[Any], rate_hz: int) -> float:
    """RMS on the frames with speech: 0 dBFS is 1.0."""
    return rms(samples[speech_frames(samples, rate_hz)])


def snr_db(speech: NDArray[Any], noise: NDArray[Any], rate_hz: int) -> float:
    """Speech over noise, on the frames with speech. Both of one length."""
    spoken = speech_frames(speech, rate_hz)
    return in_db(rms(speech[spoken])) - in_db(rms(noise[spoken]))


def echo_gain_db(echo: NDArray[Any], speech: NDArray[Any], rate_hz: int) -> float:
    """The echo's level over the person's, each on the frames where there is any."""
    return in_db(speech_level(echo, rate_hz)) - in_db(speech_level(speech, rate_hz))


# --- responses ------------------------------------------------------------------------------------------------------

_MIXING_S: Final = 0.040
"""Single reflections become a tail within this time."""
_REFLECTIONS: Final = 10
_FIRST_S: Final = 0.002
_STEP_DEG: Final = 20.0
"""A robot that has turned so far hears reflections that have nothing to do with the earlier ones."""
_SLOPE: Final = 4
"""Order of the loudspeaker's two slopes: 24 dB an octave."""
_BAND_GRID: Final = 1 << 15
_BAND_S: Final = 0.040
_FLOOR: Final = 1e-5


class Reverberation:
    """The responses from one place of the room to the microphone, one for each direction.

    The sound itself comes first, at sample 0 and the same in every direction: then single reflections, then a tail of
    noise that has lost 60 dB after ``rt60_s``. Directions 20 degrees apart share nothing but the first.

    Args:
        seed: A list of integers; equal ones make equal responses.
        rt60_s: 0 leaves the first sound alone.
        direct_db: Energy of the first sound over the energy of all that follows.
    """

    def __init__(self, seed: list[int], *, rate_hz: int, rt60_s: float, direct_db: float) -> None:
        self._seed = seed
        self._rate_hz = rate_hz
        self._rt60_s = rt60_s
        self._gain = from_db(-direct_db)
        self.length = max(math.ceil(rate_hz * rt60_s), 1)

    def towards(self, angle_deg: float) -> Signal:
        """The response in that direction. Shape (length,); its first sample is 1."""
        made = np.zeros(self.length)
        if self.length > 1:
            at, between = divmod(angle_deg % 360.0, _STEP_DEG)
            turned = between / _STEP_DEG * math.pi / 2
            sectors = round(360 / _STEP_DEG)
            made += math.cos(turned) * self._reflected(int(at))
            if between:
                made += math.sin(turned) * self._reflected((int(at) + 1) % sectors)
            made *= self._gain / math.sqrt(float(np.sum(made**2)))
        made[0] = 1.0
        return made

    def _reflected(self, sector: int) -> Signal:
        """Everything after the first sound, at energy 1."""
        random = np.random.default_rng([*self._seed, sector])
        times_s = np.arange(self.length) / self._rate_hz
        # Energy passes from single reflections to the tail, so that the sum of both falls on one straight line.
        mixed = np.clip(times_s / _MIXING_S, 0.0, 1.0)
        made = random.standard_normal(self.length) * np.sqrt(mixed)
        early = min(self.length, round(_MIXING_S * self._rate_hz))
        first = min(round(_FIRST_S * self._rate_hz), early - 1)
        spots = random.integers(first, early, _REFLECTIONS)
        apart = (early - first) / _REFLECTIONS
        np.add.at(made, spots, random.choice([-1.0, 1.0], _REFLECTIONS) * np.sqrt(apart * (1 - mixed[spots])))
        made *= 10 ** (-3 * times_s / self._rt60_s)
        made[0] = 0.0
        return made / math.sqrt(float(np.sum(made**2)) or 1.0)


def band_pass(rate_hz: int, band_hz: tuple[float, float]) -> Signal:
    """The response of a loudspeaker with that band, without a delay: its phase is the least possible.

    A low edge of 0 or a high one at half the rate has no slope. Minimum phase by the real cepstrum (Oppenheim and
    Schafer, Discrete-Time Signal Processing).
    """
    low_hz, high_hz = band_hz
    if low_hz <= 0 and high_hz >= rate_hz / 2:
        return np.ones(1)
    grid_hz = np.fft.rfftfreq(_BAND_GRID, 1 / rate_hz)
    power = np.ones(len(grid_hz))
    if low_hz > 0:
        power /= 1 + (low_hz / np.maximum(grid_hz, 1e-3)) ** (2 * _SLOPE)
    if high_hz < rate_hz / 2:
        power /= 1 + (grid_hz / high_hz) ** (2 * _SLOPE)
    cepstrum = np.fft.irfft(np.log(np.maximum(np.sqrt(power), _FLOOR)))
    half = _BAND_GRID // 2
    cepstrum[1:half] *= 2
    cepstrum[half + 1 :] = 0.0
    response = np.fft.irfft(np.exp(np.fft.rfft(cepstrum)))[: round(_BAND_S * rate_hz)]
    fade = len(response) // 4
    response[-fade:] *= 0.5 + 0.5 * np.cos(np.pi * np.arange(fade) / fade)
    return response


def convolved(samples: Signal, response: Signal) -> Signal:
    """The whole convolution. Shape (len(samples) + len(response) - 1,)."""
    if len(response) == 1:
        return samples * float(response[0])
    count = len(samples) + len(response) - 1
    size = 1 << (count - 1).bit_length()
    return np.asarray(np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(response, size), size)[:count])


# --- noise at a microphone --------------------------------------------------------------------------------------------


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
