"""Levels of speech, noise and echo, as the figures of this project mean them. Any thread."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

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
