"""Voices, rooms and noise for the examples, drawn at random. Knows no network. Signals are shape (samples,)."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

RATE_HZ: Final = 16_000
SHARES: Final = {"asterisk": 0.11, "tuxpaint": 0.20, "ktuberling": 0.07, "kal": 0.06, "espeak": 0.08, "others": 0.03}
"""Of what a voice is drawn from; each speaker of the first."""
EARLY_S: Final = 0.02
"""What a room gives back so soon belongs to the voice."""
_FRAME: Final = RATE_HZ // 50
_MIXED_S: Final = 0.03

Signal = np.ndarray[Any, Any]


def rms(sound: Signal) -> float:
    """Root mean square."""
    return math.sqrt(float(np.mean(np.square(sound))))


def level(sound: Signal) -> float:
    """RMS of the frames within 30 dB of the loudest; 0 for nothing."""
    count = len(sound) // _FRAME
    if not count:
        return 0.0
    powers = np.square(sound[: count * _FRAME]).reshape(count, _FRAME).mean(axis=1)
    spoken = powers[powers > powers.max() * 1e-3]
    return math.sqrt(float(spoken.mean())) if len(spoken) else 0.0


def decibels(value: float | Signal) -> Any:
    """As a ratio of amplitudes."""
    return 10 ** (value / 20)


class Sounds:
    """Draws them.

    Args:
        voices: The file that ``voices.py`` writes.
        random: What decides.
    """

    def __init__(self, voices: Path, random: np.random.Generator) -> None:
        with np.load(voices) as file:
            names = sorted({key.rpartition("/")[0] for key in file})
            self._voices = [(file[f"{name}/sound"], np.concatenate(([0], file[f"{name}/ends"]))) for name in names]
        shares = np.array([SHARES[name.split("-")[0]] for name in names])
        self._shares = shares / shares.sum()
        self._random = random
        self._noises: dict[str, Callable[[int], Signal]] = {
            "coloured": self.coloured,
            "tones": self.tones,
            "babble": lambda count: self.babble(count, int(random.integers(3, 9))),
            "talker": lambda count: self.babble(count, 1),
            "knocks": self.knocks,
            "mixed": self.mixed,
        }

    def noise(self, kind: str, count: int) -> Signal:
        """So many samples of it."""
        return self._noises[kind](count)

    def voice(self, count: int) -> Signal:
        """Somebody who speaks, with pauses; higher or lower than was recorded."""
        random = self._random
        sound, ends = self._voices[random.choice(len(self._voices), p=self._shares)]
        number, parts, total = int(random.integers(len(ends) - 1)), [], 0
        while total < 1.2 * count:
            clip = sound[ends[number] : ends[number + 1]] / 32_768
            parts += [clip / max(level(clip), 1e-3), np.zeros(int(random.integers(800, 9_000)))]
            total += len(parts[-2]) + len(parts[-1])
            number = (number + 1) % (len(ends) - 1)
        joined = np.concatenate(parts)
        faster = 2 ** random.uniform(-0.22, 0.22)
        pitched = np.interp(np.arange(int(len(joined) / faster) - 1) * faster, np.arange(len(joined)), joined)
        while len(pitched) < count:
            pitched = np.concatenate((pitched, pitched))
        at = int(random.integers(len(pitched) - count + 1))
        return np.asarray(pitched[at : at + count])

    def microphone(self, sound: Signal) -> Signal:
        """As another microphone hears it: a response that wanders by some dB."""
        random = self._random
        curve = random.normal(0, 3.5, 6).cumsum() * 0.6 + random.uniform(-3, 3) * np.arange(6) * 0.3
        spectrum = np.fft.rfft(sound)
        return np.asarray(np.fft.irfft(spectrum * decibels(self._over_octaves(curve, len(sound))), len(sound)))

    def room(self, sound: Signal, rt60_s: float, direct_db: float) -> tuple[Signal, Signal]:
        """The sound in a room, and what of it comes within 20 ms. ``direct_db``: the sound itself over the rest."""
        random, count = self._random, max(int(rt60_s * RATE_HZ), 10)
        response = random.normal(size=count) * 10 ** (-3 * np.arange(count) / RATE_HZ / rt60_s)
        response[: int(random.integers(8, 60))] = 0
        single = min(int(_MIXED_S * RATE_HZ), count)
        share = np.linspace(0.02, 1, single)  # single reflections become a tail
        response[:single] *= (random.random(single) < share) / np.sqrt(share)
        response *= decibels(-direct_db) / (math.sqrt(float(np.sum(response**2))) + 1e-12)
        response[0] = 1
        early = response.copy()
        early[int(EARLY_S * RATE_HZ) :] = 0
        size = 1 << (len(sound) + count - 1).bit_length()
        spectrum = np.fft.rfft(sound, size)
        whole, near = (np.fft.irfft(spectrum * np.fft.rfft(one, size), size)[: len(sound)] for one in (response, early))
        return whole, near

    def coloured(self, count: int) -> Signal:
        """Noise of any colour; of some, the loudness wanders."""
        random = self._random
        at_hz = np.maximum(np.fft.rfftfreq(count, 1 / RATE_HZ), 30)
        spectrum = random.normal(size=len(at_hz)) + 1j * random.normal(size=len(at_hz))
        curve = decibels(self._over_octaves(random.normal(0, 4, 9), count))
        made = np.fft.irfft(spectrum * at_hz ** random.uniform(-1.2, 0.3) * curve, count)
        if random.random() < 0.35:
            made *= self._wandering(count, decibels(random.uniform(-20, 0, int(random.integers(4, 60)))))
        return np.asarray(made)

    def tones(self, count: int) -> Signal:
        """Motors, fans, mains: harmonics whose pitch wanders more or less, and some noise."""
        random, made = self._random, np.zeros(count)
        for _ in range(int(random.integers(1, 3))):
            pitch_hz = math.exp(random.uniform(math.log(25), math.log(1_200)))
            spread = random.choice([0, 0.003, 0.03, 0.2])
            course = 1 + random.normal(0, spread, int(random.integers(2, 10)))
            phase = 2 * math.pi / RATE_HZ * np.cumsum(pitch_hz * self._wandering(count, np.clip(course, 0.3, 2)))
            for harmonic in range(1, min(int(random.integers(2, 16)), int(7_500 / pitch_hz) + 1)):
                loud = decibels(random.uniform(-18, 0)) / harmonic ** random.uniform(0, 1)
                made += loud * np.sin(harmonic * phase + random.uniform(0, 2 * math.pi))
        share, broad = random.uniform(0.1, 0.9), self.coloured(count)
        return np.asarray(made / max(rms(made), 1e-9) * math.sqrt(1 - share) + broad / rms(broad) * math.sqrt(share))

    def babble(self, count: int, people: int) -> Signal:
        """People who talk elsewhere in the room."""
        random, made = self._random, np.zeros(count)
        for _ in range(people):
            voice = self.voice(count)
            voice /= max(level(voice), 1e-3)
            if random.random() < 0.8:
                voice = self.room(voice, random.uniform(0.15, 0.6), random.uniform(-6, 6))[0]
            made += np.roll(voice, int(random.integers(count))) * decibels(random.uniform(-6, 0))
        return made

    def knocks(self, count: int) -> Signal:
        """What falls, beeps and clatters."""
        random, made = self._random, self.coloured(count) * 0.01
        for _ in range(int(random.integers(2, 14))):
            at, long = int(random.integers(count - 4_000)), int(random.integers(100, 4_000))
            fading = np.exp(-np.arange(long) / long * 6)
            if random.random() < 0.5:
                made[at : at + long] += random.normal(size=long) * fading * decibels(random.uniform(-12, 0))
            else:
                tone = 2 * math.pi * random.uniform(100, 3_000) / RATE_HZ
                made[at : at + long] += np.sin(tone * np.arange(long)) * fading
        return made

    def mixed(self, count: int) -> Signal:
        """A machine, and people."""
        parts = [self.coloured(count), self.babble(count, int(self._random.integers(2, 6)))]
        return np.asarray(parts[0] / rms(parts[0]) + parts[1] / max(rms(parts[1]), 1e-9) * self._random.uniform(0.2, 2))

    def _over_octaves(self, curve: Signal, count: int) -> Signal:
        """For each bin of a spectrum, from points of a curve at equal steps of pitch."""
        at_hz = np.maximum(np.fft.rfftfreq(count, 1 / RATE_HZ), 30)
        return np.interp(np.log2(at_hz), np.linspace(math.log2(30), 13, len(curve)), curve)

    def _wandering(self, count: int, points: Signal) -> Signal:
        """From one point to the next, in so many samples."""
        return np.interp(np.arange(count), np.linspace(0, count, len(points)), points)
