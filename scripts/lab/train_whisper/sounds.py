"""Pairs of sounds: somebody speaks, and the same in a room, through a microphone, in noise.

heart and joe, by which the ears are measured, are never heard. Each draw is of its generator alone.
Rooms are like those of ``edgeagent.testing``, which needs the whole product and so can't be had in the trainer's
environment; walls take some treble here.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from pywebrtc_audio import AudioProcessor

RATE_HZ: Final = 16_000
HELD_OUT: Final = ("heart", "joe")
WINDOW_S: Final = 12.0
"""What the encoder sees in a conversation: where it saw less in training, long speech was cut off."""
_PEOPLE: Final = {"tuxpaint": 3.0, "asterisk-en_US_f_Allison": 4.0, "ktuberling": 0.5}
"""How often a speaker, or a package of many, is drawn beside another language's."""
_FLITE: Final = {"slt": 8.0, "rms": 8.0, "awb": 8.0, "kal": 8.0}
ENGLISH: Final = tuple(_PEOPLE)
_BY_PEOPLE: Final = 0.6
_KNOWN: Final = 0.7
"""Share of speech of which the words are known."""
_LEVEL: Final = 0.06
_LOWEST_HZ: Final = 40
_NOISE_SUPPRESSION: Final = 1
"""Of the ears: ``edgeagent.audio.echo``."""
_NOISE_DELAY: Final = 96
"""Samples that it takes."""

Sound = np.ndarray[Any, Any]
Draw = np.random.Generator


@dataclass(frozen=True, slots=True)
class Pair:
    """Sounds of ``WINDOW_S`` that end in silence. Shape (samples,), float32.

    Attributes:
        spoken: Samples until the silence, which is no part of the speech or of the noise around it.
        tokens: What Whisper writes for the clear sound; None where that is not known.
    """

    clear: Sound
    heard: Sound
    spoken: int
    tokens: Sound | None


class Clips:
    """Speech of many voices, people and machines.

    Args:
        runs: Folder of ``scripts/train keywords``.
        english: Leaves out people who speak another language.
    """

    def __init__(self, runs: Path, *, english: bool = False) -> None:
        with np.load(runs / "recordings.npz") as recordings:
            names = [name for name in recordings.files if not english or name in ENGLISH]
            self._people = [recordings[name] for name in names]
        self._people_shares = _shares([_PEOPLE.get(name, 1.0) for name in names])
        self._clips: dict[str, list[tuple[int, int]]] = {}
        for row in json.loads((runs / "sounds" / "examples.json").read_text(encoding="utf-8")):
            if row["file"] not in HELD_OUT and not row["file"].startswith("people"):
                self._clips.setdefault(row["file"], []).append((row["start"], row["end"]))
        self._voices = sorted(self._clips)
        self._voice_shares = _shares([_FLITE.get(voice, 1.0) for voice in self._voices])
        self._sounds = {voice: np.load(runs / "sounds" / f"{voice}.npy", mmap_mode="r") for voice in self._voices}

    def draw(self, rng: Draw, seconds: float) -> Sound:
        """Up to so many seconds of one speaker, half of them at another pitch and speed."""
        made = self._by_people(rng, seconds) if rng.random() < _BY_PEOPLE else self._by_machine(rng, seconds)
        if rng.random() < 0.5:
            step = rng.uniform(0.87, 1.15)
            made = np.interp(np.arange(int(len(made) / step)) * step, np.arange(len(made)), made)
        level = _rms(made)
        return made * (_LEVEL / level) if level > 1e-4 else made

    def _by_people(self, rng: Draw, seconds: float) -> Sound:
        sound, count = self._people[rng.choice(len(self._people), p=self._people_shares)], int(seconds * RATE_HZ)
        at = int(rng.integers(max(1, len(sound) - count)))
        return _uncut(sound[at : at + count].astype(float) / 32_768)

    def _by_machine(self, rng: Draw, seconds: float) -> Sound:
        voice = self._voices[rng.choice(len(self._voices), p=self._voice_shares)]
        clips, left = self._clips[voice], int(seconds * RATE_HZ)
        parts = [np.zeros(RATE_HZ // 10)]
        while left > RATE_HZ // 2:
            begin, end = clips[int(rng.integers(len(clips)))]
            if end - begin > left:
                break
            parts += [self._sounds[voice][begin:end].astype(float) / 32_768, _pause(rng, 0.05, 0.5)]
            left -= sum(map(len, parts[-2:]))
        return np.concatenate(parts)


class Known:
    """Speech with the tokens that Whisper writes for it: ``known.py`` makes the file."""

    def __init__(self, file: Path) -> None:
        with np.load(file) as arrays:
            self._sounds = np.split(arrays["sounds"], np.cumsum(arrays["lengths"])[:-1])
            self._tokens = np.split(arrays["tokens"], np.cumsum(arrays["counts"])[:-1])
            self._begin, self._end = arrays["begin"], arrays["end"]

    def draw(self, rng: Draw, seconds: float) -> tuple[Sound, Sound]:
        """One to four pieces with pauses between them, as long as there is room, and their tokens."""
        sounds: list[Sound] = []
        tokens = [self._begin]
        left = int(seconds * RATE_HZ)
        for at in rng.integers(len(self._sounds), size=int(rng.integers(1, 5))):
            if len(self._sounds[at]) <= left or not sounds:
                sounds += [self._sounds[at].astype(float) / 32_768, _pause(rng, 0.1, 0.8)]
                tokens.append(self._tokens[at])
                left -= sum(map(len, sounds[-2:]))
        return np.concatenate(sounds[:-1]), np.concatenate([*tokens, self._end])


def _uncut(sound: Sound) -> Sound:
    """From the quietest moment of its first second to that of its last: words are cut as seldom as may be."""
    hop = RATE_HZ // 50
    power = np.square(sound[: len(sound) // hop * hop]).reshape(-1, hop).sum(axis=1)
    power = np.convolve(power, np.ones(5), "same")
    edge = min(RATE_HZ // hop, len(power) // 3)
    if not edge:
        return sound
    return sound[int(np.argmin(power[:edge])) * hop : (len(power) - edge + int(np.argmin(power[-edge:]))) * hop]


def pair(rng: Draw, clips: Clips, known: Known) -> Pair:
    """A pair, in a room of its own or none, in noise or nearly none; two thirds of them after noise suppression."""
    before, after = _pause(rng, 0.15, 0.6), _pause(rng, 0.2, 0.7)
    tokens: Sound | None = None
    if rng.random() < _KNOWN:
        speech, tokens = known.draw(rng, rng.uniform(2.5, WINDOW_S - 1.4))
    else:
        speech = clips.draw(rng, rng.uniform(1.2, WINDOW_S - 1.4))
    lead = _pause(rng, 0.8, 2.0)  # noise suppression learns the noise
    clear = np.concatenate([lead, before, speech, after])
    level = _rms(speech[np.abs(speech) > 0.01]) or _LEVEL
    heard = clear
    if rng.random() < 0.85:
        heard = _convolved(heard, _room(rng))
    if rng.random() < 0.5:
        heard = _convolved(heard, _microphone(rng))
    snr_db = rng.uniform(2.0, 24.0) if rng.random() < 0.8 else 40.0
    heard = heard + _noise(rng, len(heard), clips) * level * 10 ** (-snr_db / 20)
    heard = heard * 10 ** (rng.uniform(-14.0, 4.0) / 20)
    if rng.random() < 0.65:
        heard = _suppressed(heard)
    return Pair(
        _filled(clear[len(lead) :]), _filled(heard[len(lead) :]), len(before) + len(speech) + len(after), tokens
    )


def _suppressed(sound: Sound) -> Sound:
    processor = AudioProcessor(
        sample_rate=RATE_HZ, echo_cancellation=False, noise_suppression=True, ns_level=_NOISE_SUPPRESSION
    )
    whole = len(sound) // (RATE_HZ // 100) * (RATE_HZ // 100)
    made = np.asarray(processor.process(np.clip(sound[:whole], -1, 1).astype(np.float32)))
    return np.concatenate([made[_NOISE_DELAY:], sound[whole:], np.zeros(_NOISE_DELAY)])


def _filled(sound: Sound) -> Sound:
    made = np.zeros(int(WINDOW_S * RATE_HZ), np.float32)
    made[: len(sound)] = sound[: len(made)]
    return made


# --- rooms and microphones ------------------------------------------------------------------------------------------


def _room(rng: Draw) -> Sound:
    """Response of a room: the sound itself, ten reflections, a tail; 7 dB more of those to 9 dB less."""
    rt60_s = rng.uniform(0.1, 0.7)
    times_s = np.arange(int(RATE_HZ * rt60_s)) / RATE_HZ
    mixed = np.clip(times_s / 0.04, 0, 1)
    made = rng.standard_normal(len(times_s)) * np.sqrt(mixed)
    early = min(len(made), int(0.04 * RATE_HZ))
    spots = rng.integers(16, early, 10)
    np.add.at(made, spots, rng.choice([-1.0, 1.0], 10) * np.sqrt(early / 10 * (1 - mixed[spots])))
    made *= 10 ** (-3 * times_s / rt60_s)
    made[1:] += max(rng.uniform(-0.7, 0.9), 0.0) * made[:-1]  # walls take the treble
    made[0] = 0.0
    made *= 10 ** (-rng.uniform(-7.0, 9.0) / 20) / np.sqrt(np.sum(made**2))
    made[0] = 1.0
    return made


def _microphone(rng: Draw) -> Sound:
    """Response of a microphone with a colour of its own, of minimum phase (by the real cepstrum)."""
    size = 512
    octaves = np.log2(np.maximum(np.fft.rfftfreq(size, 1 / RATE_HZ), 60) / 1_000)
    colour_db = rng.uniform(-2.0, 2.0) * octaves + _bumps(rng, octaves, 6.0)
    cepstrum = np.fft.irfft(colour_db / 20 * np.log(10))
    cepstrum[1 : size // 2] *= 2
    cepstrum[size // 2 + 1 :] = 0
    return np.fft.irfft(np.exp(np.fft.rfft(cepstrum)))[: size // 2]


def _bumps(rng: Draw, octaves: Sound, most_db: float) -> Sound:
    """Three bumps or dips of a spectrum, in dB."""
    places = [(rng.uniform(-4.0, 3.0), rng.uniform(0.3, 1.5), rng.uniform(-most_db, most_db)) for _ in range(3)]
    return sum(
        (high * np.exp(-0.5 * ((octaves - at) / wide) ** 2) for at, wide, high in places), np.zeros(len(octaves))
    )


# --- noise of RMS 1 -------------------------------------------------------------------------------------------------


def _noise(rng: Draw, count: int, clips: Clips) -> Sound:
    """Steady noise, machines, or people who talk among themselves."""
    kinds: tuple[Callable[[], Sound], ...] = (
        lambda: _steady(rng, count) * np.clip(_slowly(rng, count, 6.0, 0.4), 0.05, None),
        lambda: _machine(rng, count),
        lambda: _babble(rng, count, clips),
    )
    made = kinds[int(rng.choice(3, p=[0.35, 0.45, 0.2]))]()
    return made / (_rms(made) or 1.0)


def _steady(rng: Draw, count: int) -> Sound:
    """Noise of a spectrum at random, which falls by 6 dB an octave or rises by one."""
    at_hz = np.fft.rfftfreq(count, 1 / RATE_HZ)
    octaves = np.log2(np.maximum(at_hz, _LOWEST_HZ) / 1_000)
    shape = 10 ** ((rng.uniform(-6.0, 1.0) * octaves + _bumps(rng, octaves, 10.0)) / 20)
    shape[at_hz < _LOWEST_HZ] = 0.0
    parts = rng.standard_normal((2, len(shape)))
    made = np.fft.irfft(shape * (parts[0] + 1j * parts[1]), count)
    return made / _rms(made)


def _machine(rng: Draw, count: int) -> Sound:
    """Tones that wander together, in some a whine that does not, and a rustle."""
    base_hz = np.exp(rng.uniform(np.log(15), np.log(300)))
    turns = np.cumsum(base_hz * _slowly(rng, count, 3.0, 0.08)) / RATE_HZ
    made = np.zeros(count)
    for times in rng.integers(1, 40, int(rng.integers(3, 12))):
        if times * base_hz * 1.2 < RATE_HZ / 2:
            made += 10 ** (rng.uniform(-25.0, 0.0) / 20) * np.sin(2 * np.pi * (times * turns + rng.random()))
    if rng.random() < 0.3:
        made += rng.uniform(0.0, 0.2) * np.sin(2 * np.pi * rng.uniform(2_000, 7_500) / RATE_HZ * np.arange(count))
    made = made / (_rms(made) or 1.0) + 10 ** (rng.uniform(-12.0, 6.0) / 20) * _steady(rng, count)
    return made * np.clip(_slowly(rng, count, 4.0, 0.3), 0.1, None)


def _babble(rng: Draw, count: int, clips: Clips) -> Sound:
    made = np.zeros(count)
    for _ in range(int(rng.integers(3, 8))):
        voice = np.resize(clips.draw(rng, 6.0), count)
        made += np.roll(voice, int(rng.integers(count))) * 10 ** (rng.uniform(-6.0, 0.0) / 20)
    return _convolved(made, _room(rng))


def _slowly(rng: Draw, count: int, most_hz: float, most: float) -> Sound:
    """A curve about 1 that changes slowly."""
    points = rng.standard_normal(int(count / RATE_HZ * rng.uniform(0.3, most_hz)) + 4)
    return 1 + rng.uniform(0.0, most) * np.interp(np.linspace(0, len(points) - 1, count), range(len(points)), points)


# --- sums and lengths -----------------------------------------------------------------------------------------------


def _convolved(sound: Sound, response: Sound) -> Sound:
    size = 1 << (len(sound) + len(response)).bit_length()
    return np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(response, size), size)[: len(sound)]


def _pause(rng: Draw, least_s: float, most_s: float) -> Sound:
    return np.zeros(int(rng.uniform(least_s, most_s) * RATE_HZ))


def _rms(sound: Sound) -> float:
    return float(np.sqrt(np.mean(sound**2))) if len(sound) else 0.0


def _shares(weights: list[float]) -> Sound:
    return np.array(weights) / sum(weights)
