"""Noises of a home with a robot in it, for ``scripts/bench people``: motor, fan, pink, babble, music.

Each is a loop without a seam, of RMS 1, made of random numbers of a seed, or of voices. Pure functions, any thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from edgeagent.audio import Samples
from edgeagent.testing import Signal, rms, speech_level, synthesised

KINDS: Final = ("motor", "fan", "pink", "babble", "music")
LOOP_S: Final = 60
"""Seconds until a noise repeats. Where one place of it sounds like a word, a short loop would say it often."""
_FADE_S: Final = 0.5
"""Seconds in which the end of a loop fades into its beginning."""

_ROTOR_HZ: Final = 31.0
"""Turns of the motor's rotor in a second."""
_TEETH: Final = 12
"""Teeth of the pinion: its mesh is the loudest tone."""
_MOTOR_TONES: Final = ((1, 0.4), (2, 0.2), (_TEETH, 1.0), (2 * _TEETH, 0.5), (3 * _TEETH, 0.35), (4 * _TEETH, 0.2))
"""Multiples of the rotor's turns, and their amplitudes."""
_WANDER: Final = 0.06
"""Standard deviation of the speed, as a share of it."""
_WANDER_HZ: Final = 1.5
"""Fastest change of the speed."""
_PWM_HZ: Final = 6_300.0
"""Whine of the motor's driver: that of cheap ones is audible."""
_PWM: Final = 0.12
_RUSTLE: Final = 0.35
"""RMS of the motor's broadband part beside its mesh of amplitude 1."""
_FAN_HZ: Final = 400.0
"""Above this frequency the fan's noise falls by 12 dB an octave."""
_BLADES_HZ: Final = 168.0
_BLADES: Final = ((1, 0.25), (2, 0.12), (3, 0.06))
"""Multiples of the blades' frequency, and amplitudes over the noise's RMS."""
_LOWEST_HZ: Final = 40.0
TALKERS: Final = ("heart", "slt", "rms", "awb", "en-gb", "en-us+f3")
"""Voices of the babble. Each says other sentences than the person."""
_GOSSIP: Final = (
    "and then he told me that nobody had ever asked him about it before",
    "well if you ask me they should have done that years ago",
    "she was standing right behind us and we had no idea",
    "I paid for it twice and in the end it did not even fit",
    "no but listen it gets better because his mother came as well",
    "there was a long queue in front of the bakery as always",
    "they wanted to know where we had been all evening",
    "it is the second house on the other side of the bridge",
    "of course the dog had eaten most of it by then",
    "that is exactly what I said to her on the telephone",
    "we are going again next summer if the children want to",
    "his uncle used to repair clocks in a tiny shop",
)
_BEAT_S: Final = 0.5
_CHORDS_HZ: Final = ((261.6, 329.6, 392.0), (220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (196.0, 246.9, 293.7))
"""C, a minor, F, G: the loop of a thousand songs. Four beats each."""
_HARMONICS: Final = 5


@lru_cache(maxsize=32)
def noise(kind: str, seed: int, rate_hz: int) -> Samples:
    """A loop of a noise. Shape (``LOOP_S`` * rate_hz,), RMS 1, not to be written to; equal arguments, equal samples.

    Raises:
        ValueError: There is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no noise {kind!r}; there are {', '.join(KINDS)}")
    random = np.random.default_rng([seed, KINDS.index(kind)])
    count, fade = LOOP_S * rate_hz, round(_FADE_S * rate_hz)
    match kind:
        case "motor":
            made = _motor(random, count + fade, rate_hz)
        case "fan":
            made = _fan(random, count + fade, rate_hz)
        case "pink":
            made = _coloured(random, count + fade, rate_hz, slope_db=-3.0)
        case "babble":
            made = _babble(random, count + fade, rate_hz)
        case _:
            made = _music(random, count + fade, rate_hz)
    rising = np.sqrt(np.linspace(0, 1, fade))
    made[:fade] = made[:fade] * rising + made[count:] * rising[::-1]
    loop = (made[:count] / rms(made[:count])).astype(np.float32)
    loop.setflags(write=False)
    return loop


def _coloured(random: np.random.Generator, count: int, rate_hz: int, *, slope_db: float, from_hz: float = 0) -> Signal:
    """Noise whose spectrum falls by so many dB an octave above a frequency. RMS 1."""
    at_hz = np.maximum(np.fft.rfftfreq(count, 1 / rate_hz), _LOWEST_HZ)
    shape = (np.maximum(at_hz, from_hz) / max(from_hz, _LOWEST_HZ)) ** (slope_db / 20 / math.log10(2))
    shape[np.fft.rfftfreq(count, 1 / rate_hz) < _LOWEST_HZ] = 0.0
    made = np.fft.irfft(np.fft.rfft(random.standard_normal(count)) * shape, count)
    return np.asarray(made / rms(made))


def _slow(random: np.random.Generator, count: int, rate_hz: int) -> Signal:
    """A course that changes no faster than ``_WANDER_HZ``, with mean 0 and RMS 1."""
    spectrum = np.fft.rfft(random.standard_normal(count))
    spectrum[np.fft.rfftfreq(count, 1 / rate_hz) > _WANDER_HZ] = 0.0
    spectrum[0] = 0.0
    made = np.fft.irfft(spectrum, count)
    return np.asarray(made / rms(made))


def _motor(random: np.random.Generator, count: int, rate_hz: int) -> Signal:
    """A gear motor under a load that changes: tones that wander together, the driver's whine, and rustle."""
    speed = 1 + _WANDER * _slow(random, count, rate_hz)
    turns = np.cumsum(speed) * (_ROTOR_HZ / rate_hz)
    made = _RUSTLE * _coloured(random, count, rate_hz, slope_db=-3.0)
    for multiple, amplitude in _MOTOR_TONES:
        made += amplitude * np.sin(2 * math.pi * (multiple * turns + random.random()))
    made *= speed
    return made + _PWM * np.sin(2 * math.pi * _PWM_HZ / rate_hz * np.arange(count))


def _fan(random: np.random.Generator, count: int, rate_hz: int) -> Signal:
    made = _coloured(random, count, rate_hz, slope_db=-12.0, from_hz=_FAN_HZ)
    for multiple, amplitude in _BLADES:
        made += amplitude * np.sin(2 * math.pi * multiple * _BLADES_HZ / rate_hz * np.arange(count))
    return made


def _babble(random: np.random.Generator, count: int, rate_hz: int) -> Signal:
    """Six people who talk at once, all equally loud, in the order of their own."""
    made = np.zeros(count)
    for number, voice in enumerate(TALKERS):
        lines = [_GOSSIP[(number * 2 + step) % len(_GOSSIP)] for step in range(len(_GOSSIP))]
        parts, length = [], 0
        while length < count:
            spoken = synthesised(lines[len(parts) % len(lines)], voice, rate_hz).astype(np.float64)
            parts.append(np.concatenate((spoken, np.zeros(int(random.integers(rate_hz // 10, rate_hz // 2))))))
            length += len(parts[-1])
        track = np.roll(np.concatenate(parts), int(random.integers(length)))[:count]
        made += track / speech_level(track, rate_hz)
    return made


def _music(random: np.random.Generator, count: int, rate_hz: int) -> Signal:
    """A song without words: held chords, a bass on every beat, drums, and a tune."""
    beat = round(_BEAT_S * rate_hz)
    made = np.zeros(count + 8 * beat)
    for number in range(-(-count // beat)):
        chord, at = _CHORDS_HZ[number // 4 % len(_CHORDS_HZ)], number * beat
        if number % 4 == 0:
            for tone_hz in chord:
                _add(made, at, 0.25 * _tone(tone_hz, 4 * _BEAT_S, rate_hz, decay_s=3.0))
        _add(made, at, 0.6 * _tone(chord[0] / 4, _BEAT_S, rate_hz, decay_s=0.4))
        _add(made, at, 0.3 * _tone(2 * float(random.choice(chord)), _BEAT_S, rate_hz, decay_s=0.3))
        _add(made, at, _drum(random, rate_hz, snare=number % 2 == 1))
        _add(made, at + beat // 2, 0.15 * _hiss(random, rate_hz, 0.04))
    return made[:count]


def _tone(tone_hz: float, seconds: float, rate_hz: int, *, decay_s: float) -> Signal:
    """A plucked string."""
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    made = np.zeros(len(time_s))
    for harmonic in range(1, _HARMONICS + 1):
        if harmonic * tone_hz < rate_hz / 2:
            made += np.sin(2 * math.pi * harmonic * tone_hz * time_s) * np.exp(-harmonic * time_s / decay_s) / harmonic
    return made * np.minimum(1.0, time_s / 0.005) * np.minimum(1.0, (seconds - time_s) / 0.02)


def _drum(random: np.random.Generator, rate_hz: int, *, snare: bool) -> Signal:
    if snare:
        return 0.5 * _hiss(random, rate_hz, 0.12)
    time_s = np.arange(round(0.2 * rate_hz)) / rate_hz
    return np.sin(2 * math.pi * (50 * time_s + 3 * (1 - np.exp(-time_s / 0.03)))) * np.exp(-time_s / 0.06)


def _hiss(random: np.random.Generator, rate_hz: int, decay_s: float) -> Signal:
    count = round(4 * decay_s * rate_hz)
    return np.asarray(random.standard_normal(count) * np.exp(-np.arange(count) / (decay_s * rate_hz)))


def _add(made: Signal, at: int, part: Sequence[float] | Signal) -> None:
    made[at : at + len(part)] += part
