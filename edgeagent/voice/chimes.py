"""Short sounds that say what words would take too long for. Made, not recorded. Pure functions, on any thread."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples

PEAK: Final = 0.1
"""Of full scale: -20 dBFS."""

_FADE_S: Final = 0.012
"""Raised cosine at both ends of a tone; a shorter one is heard as a click."""
_DECAY_S: Final = 0.08
"""Time constant with which a tone fades, as something that was struck does."""
_OCTAVE_SHARE: Final = 0.25
"""Of the octave above: a pure tone is hard to place, and lost in a motor's hum."""


class Chime(StrEnum):
    """Message of a sound. Rising is good, falling is bad, one tone is news of nothing."""

    WAKE = "wake"
    """The wake word was heard: speak."""
    READY = "ready"
    """The model is warm."""
    ERROR = "error"
    """Something does not work."""


_TONES: Final[dict[Chime, tuple[tuple[float, float], ...]]] = {
    Chime.WAKE: ((587.33, 0.09), (880.0, 0.14)),
    Chime.READY: ((659.26, 0.16),),
    Chime.ERROR: ((440.0, 0.11), (311.13, 0.14)),
}
"""Frequency in Hz and length in seconds of each tone: notes of the tempered scale."""


def chime(kind: Chime, rate_hz: int) -> Samples:
    """A sound of a quarter of a second at most, peak ``PEAK``, at that rate; it begins and ends with silence."""
    sound = np.concatenate([_tone(pitch_hz, length_s, rate_hz) for pitch_hz, length_s in _TONES[kind]])
    return np.asarray(sound * (PEAK / np.abs(sound).max()), np.float32)


def _tone(pitch_hz: float, length_s: float, rate_hz: int) -> Samples:
    time_s = np.arange(int(length_s * rate_hz)) / rate_hz
    wave = np.sin(2 * np.pi * pitch_hz * time_s) + _OCTAVE_SHARE * np.sin(4 * np.pi * pitch_hz * time_s)
    fade = int(_FADE_S * rate_hz)
    ramp = 0.5 - 0.5 * np.cos(np.pi * np.arange(fade) / fade)
    wave *= np.exp(-time_s / _DECAY_S)
    wave[:fade] *= ramp
    wave[-fade:] *= ramp[::-1]
    return np.asarray(wave, np.float32)
