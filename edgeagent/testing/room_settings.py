"""Settings of a simulated room: its echo, its people, its noise, its clocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, get_args

from edgeagent.errors import ConfigError

NoiseKind = Literal["white", "pink", "hum", "fan"]
"""Steady noise: white; pink; the mains' hum of 50 Hz; a fan, which is low-pass noise with the tone of its blades."""

_LIMITS: Final[Mapping[str, tuple[float, float]]] = MappingProxyType(
    {
        "rate_hz": (8_000, 48_000),
        "block_ms": (1, 100),
        "rt60_s": (0, 2),
        "delay_ms": (5, 2_000),
        "drift_ppm": (-1_000, 1_000),
        "latency_ms": (0, 2_000),
        "echo_gain_db": (-60, 40),
        "loudspeaker_level_db": (-60, 0),
        "person_level_db": (-60, 0),
        "distance_m": (0.1, 20),
        "noise_snr_db": (-40, 100),
        "babble_snr_db": (-40, 100),
    }
)


@dataclass(frozen=True, slots=True)
class RoomSettings:
    """Fixed properties of a room; levels of speech are RMS on the frames with speech.

    Raises:
        ConfigError: A field is wrong; the text names it.
    """

    rate_hz: int = 48_000
    """Samples a second of loudspeaker and microphone."""
    block_ms: float = 10
    """Milliseconds of a block; a whole number of samples."""
    rt60_s: float = 0.3
    """Seconds in which reverberation loses 60 dB; 0 for a room without reverberation."""
    delay_ms: float = 60
    """Milliseconds from the time that ``fill`` is told to the arrival of that sample at the microphone, to the nearest
    sample. The device does not know of this delay."""
    drift_ppm: float = 0
    """Millionths by which the loudspeaker's clock is faster than the microphone's."""
    latency_ms: float = 0
    """Milliseconds before its time at which a block is asked of ``fill``. The device knows of this latency."""
    echo_gain_db: float = 0
    """Decibels of the echo over the person's speech, both at the microphone, while the robot speaks at
    ``loudspeaker_level_db``. More makes the person harder to hear."""
    loudspeaker_level_db: float = -20
    """Level of the robot's speech at which ``echo_gain_db`` holds, in dBFS of the loudspeaker's samples."""
    person_level_db: float = -26
    """Level of a person's speech at the microphone, in dBFS."""
    distance_m: float = 1.0
    """Metres from a person to the microphone. The direct sound is 3 dB over the reverberation at 1 m, and 6 dB less at
    twice the distance. The level stays ``person_level_db``."""
    clip: float = math.inf
    """Amplitude at which the loudspeaker clips: x becomes clip * tanh(x / clip). Infinity leaves the sound as it is."""
    band_hz: tuple[float, float] = (200, 7_000)
    """Hertz of the loudspeaker's band; 24 dB an octave beyond. An edge at 0 or at half the rate has no slope."""
    noise_snr_db: float | None = None
    """Decibels of a person's speech over steady noise; None for no steady noise."""
    noise_kind: NoiseKind = "pink"
    """Kind of the steady noise."""
    babble_snr_db: float | None = None
    """Decibels of a person's speech over the babble of six others; None for no babble."""
    seed: int = 0
    """Seed of everything random. Equal settings make equal samples."""
    record: bool = True
    """Keep all that was heard in ``Room.recorded``: 20 bytes a sample, 3.5 GB for an hour at 48 kHz."""

    def __post_init__(self) -> None:
        for field, (low, high) in _LIMITS.items():
            value = getattr(self, field)
            if value is not None and not low <= value <= high:
                raise ConfigError(f"{field} of the room is {value}: it must be between {low} and {high}")
        if not self.clip > 0:
            raise ConfigError(f"clip of the room is {self.clip}: it must be more than 0")
        if not 0 <= self.band_hz[0] < self.band_hz[1]:
            raise ConfigError(f"band_hz of the room is {self.band_hz}: it must be a lower and a higher frequency")
        if self.rate_hz != int(self.rate_hz):
            raise ConfigError(f"rate_hz of the room is {self.rate_hz}: it must be a whole number")
        if not (self.rate_hz * self.block_ms / 1000).is_integer():
            raise ConfigError(f"block_ms of the room is {self.block_ms}: at {self.rate_hz} Hz that is no whole block")
        if self.noise_kind not in get_args(NoiseKind):
            kinds = ", ".join(get_args(NoiseKind))
            raise ConfigError(f"noise_kind of the room is {self.noise_kind!r}: it must be one of {kinds}")
        if self.seed < 0:
            raise ConfigError(f"seed of the room is {self.seed}: it must not be negative")

    @property
    def block(self) -> int:
        """Samples of a block."""
        return round(self.rate_hz * self.block_ms / 1000)

    def samples(self, milliseconds: float) -> int:
        """Converts milliseconds to samples, to the nearest one."""
        return round(self.rate_hz * milliseconds / 1000)
