"""Examples for the keyword network: clips in rooms at a random pitch, with noise and the robot's own voice over them.

Rooms are computed once for a pool of stretches; what is loud beside them is added anew for each batch, as power in mel
bands, so that a processor keeps up.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from edgeagent.audio import EchoCanceller

RATE_HZ: Final = 16_000
WORDS: Final = 3
"""How many words the network has, and how many phrases its second part has: ``speak.WORDS`` and ``WAITS``."""
SECONDS: Final = 2.24
COUNT: Final = round(SECONDS * RATE_HZ)
STEPS: Final = round(SECONDS * 50)
MELS: Final = 40
WINDOW, HOP, SIZE = 400, 160, 512
FLOOR: Final = 1e-6
LOWEST_HZ, HIGHEST_HZ = 80.0, 7_600.0
SURE_S: Final = (-0.02, 0.14)
"""Around the end of a word: the network has to say so there."""
AFTER_S: Final = 0.3
"""Until then it may."""
_NATURAL: Final = 0.2
"""Share of each of the natural voices; flite's have half of it, and espeak-ng's the same all together."""
_PEOPLE: Final = 0.3
_GROUP: Final = 256
_ECHO_DB: Final = (-20.0, 6.0)
"""Level of the robot's own voice beside a person's, in dB."""
_NO_ECHO_DB: Final = -90.0
_ALONE: Final = 0.3
"""Share of the stretches without a word in which only the robot speaks."""
_LEARNING: Final = 6
"""Stretches at the beginning of a group, in which the canceller learns the room."""


def filters() -> np.ndarray[Any, Any]:
    """Triangles on the mel scale, shape (MELS, SIZE / 2 + 1)."""
    mel = np.linspace(1127 * math.log1p(LOWEST_HZ / 700), 1127 * math.log1p(HIGHEST_HZ / 700), MELS + 2)
    edges = 700 * np.expm1(mel / 1127)
    at_hz = np.arange(SIZE // 2 + 1) * RATE_HZ / SIZE
    rising = (at_hz - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    falling = (edges[2:, None] - at_hz) / (edges[2:] - edges[1:-1])[:, None]
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


@dataclass(slots=True)
class Pool:
    """Stretches of sound as power in mel bands.

    Attributes:
        powers: Shape (stretches, frames, MELS), half precision, of sound whose speech has an RMS of about 1.
        wanted: The class of each step, or -1 where nothing is asked. Shape (stretches, steps).
        spans: First step, last step and class of a word whose end is not known; class 0 where there is none.
    """

    powers: Tensor
    wanted: Tensor
    spans: Tensor

    @classmethod
    def joined(cls, *pools: Pool) -> Pool:
        """The stretches of several pools, one behind the other."""
        return cls(*(torch.cat([getattr(one, part.name) for one in pools]) for part in fields(cls)))


class Clips:
    """The clips of ``speak.py``: all sound in one row, and where each clip of it is.

    Args:
        folder: What ``speak.py`` wrote.
        seed: Of what is drawn.
        waits: The phrases that make motion wait are what is to be heard; the stop words are talk then.
    """

    def __init__(self, folder: Path, seed: int, *, waits: bool = False) -> None:
        listed = _of_part(json.loads((folder / "examples.json").read_text()), waits=waits)
        files = sorted({each["file"] for each in listed})
        sounds = [np.load(folder / f"{file}.npy") for file in files]
        offsets = dict(zip(files, np.cumsum([0, *map(len, sounds)]), strict=False))
        self.random = torch.Generator().manual_seed(seed)
        self.sound = torch.as_tensor(np.concatenate(sounds))
        self.start = torch.tensor([int(offsets[each["file"]]) + each["start"] for each in listed])
        self.length = torch.tensor([each["end"] - each["start"] for each in listed])
        self.kind = torch.tensor([each["kind"] for each in listed])
        self.begins = torch.tensor([each["at"] == "begin" for each in listed])
        self.word_s = torch.tensor([each["word_s"] for each in listed])
        weights = _weights(listed)
        self.words, self.talk = weights * (self.kind > 0), weights * (self.kind == 0)
        self.mel = torch.as_tensor(filters())
        self.window = torch.hann_window(WINDOW, periodic=True)

    def pool(self, count: int, *, share: float) -> Pool:
        """Stretches with speech in a room.

        Args:
            share: Of those with a word.
        """
        made = []
        for _ in range(math.ceil(count / _GROUP)):
            sound, wanted, spans = self._stretches(_GROUP, share)
            made.append((self._powers(sound), wanted, spans))
        return Pool(*(torch.cat(parts) for parts in zip(*made, strict=True)))

    def over_own_voice(self, count: int, *, share: float) -> Pool:
        """Stretches as they leave the echo canceller while the robot speaks, which says anything but a stop word.

        Each group has one room, one distance from the loudspeaker, and one level of a person's voice.
        """
        made = []
        for number in range(math.ceil(count / _GROUP)):
            sound, wanted, spans = self._stretches(_GROUP, share)
            silent = (wanted == 0).all(1) & self.chance(_GROUP, _ALONE)
            near = (sound * ~silent[:, None]).flatten()
            echo_db = _NO_ECHO_DB if number % 4 == 0 else float(self.uniform(1, *_ECHO_DB))
            left = self._cancelled(near, self._talker(_GROUP).flatten(), echo_db).view(_GROUP, COUNT)
            made.append([part[_LEARNING:] for part in (self._powers(left), wanted, spans)])
        return Pool(*(torch.cat(parts) for parts in zip(*made, strict=True)))

    def _cancelled(self, near: Tensor, far: Tensor, echo_db: float) -> Tensor:
        """A person's sound and the echo of the loudspeaker's, as the echo canceller gives them to recognisers."""
        seconds = torch.arange(round(0.3 * RATE_HZ)) / RATE_HZ
        response = self._normal(len(seconds)) * 10 ** (-3 * seconds / float(self.uniform(1, 0.15, 0.5))) * 0.2
        response[0] = 1.0
        size = len(far) + len(response)
        late = round(float(self.uniform(1, 0.01, 0.06)) * RATE_HZ)
        echo = torch.fft.irfft(torch.fft.rfft(far, size) * torch.fft.rfft(response, size), size)[: len(far) - late]
        echo = torch.nn.functional.pad(echo / echo.std() * 10 ** (echo_db / 20), (late, 0))
        level = 10 ** (float(self.uniform(1, -36, -20)) / 20)
        heard = ((near + echo) * level + self._normal(len(near)) * 3e-4).numpy()
        played = (far * 0.1 / far.std()).numpy()
        canceller, frames = EchoCanceller(RATE_HZ, RATE_HZ), []
        for at in range(0, len(heard), HOP):
            canceller.far(played[at : at + HOP], at / RATE_HZ)
            canceller.near(heard[at : at + HOP], at / RATE_HZ)
            frames += [frame.sound for frame in canceller.released]
        frames += [frame.sound for frame in canceller.flush()]
        left = torch.as_tensor(np.concatenate(frames)) / level
        return torch.nn.functional.pad(left, (0, max(0, len(near) - len(left))))[: len(near)]

    def noises(self, count: int) -> Tensor:
        """Power in mel bands of noise, machines, people who talk elsewhere and leftovers of the robot's own voice."""
        kinds = (self._colour, self._tones, self._babble, self._leftover, self._leftover)
        made = []
        for number in range(math.ceil(count / _GROUP)):
            sound = kinds[number % len(kinds)](_GROUP)
            made.append(self._powers(sound / sound.std(1, keepdim=True).clamp(min=1e-5)))
        return torch.cat(made)

    def uniform(self, count: int, low: float, high: float) -> Tensor:
        return torch.rand(count, generator=self.random) * (high - low) + low

    def chance(self, count: int, share: float) -> Tensor:
        return torch.rand(count, generator=self.random) < share

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.random)

    def _pick(self, weights: Tensor, count: int) -> Tensor:
        return torch.multinomial(weights, count, replacement=True, generator=self.random)

    def _placed(self, which: Tensor, at_s: Tensor, speed: Tensor) -> Tensor:
        """Clips that begin at some time in a stretch, faster and higher by ``speed``."""
        place = (torch.arange(COUNT)[None, :] - at_s[:, None] * RATE_HZ) * speed[:, None]
        whole = place.floor()
        inside = (place >= 0) & (whole + 1 < self.length[which][:, None])
        index = (self.start[which][:, None] + whole.clamp(min=0).long()).clamp(max=len(self.sound) - 2)
        here, after = self.sound[index].float(), self.sound[index + 1].float()
        part = place - whole
        return torch.where(inside, (here * (1 - part) + after * part) / 32_768, 0.0)

    def _stretches(self, count: int, share: float) -> tuple[Tensor, Tensor, Tensor]:
        """Sound, wanted classes and spans."""
        is_word = self.chance(count, share)
        chosen = torch.where(is_word, self._pick(self.words, count), self._pick(self.talk, count))
        speed = 2 ** (self.uniform(count, -5, 6) / 12)
        length_s = self.length[chosen] / RATE_HZ / speed
        ending_s = self.uniform(count, 0.8, SECONDS - 0.2)
        start_s = torch.where(is_word, (ending_s - length_s).clamp(min=0.05), self.uniform(count, -2.0, 1.2))
        end_s = start_s + length_s
        speech = _levelled(self._placed(chosen, start_s, speed))
        other = self._pick(self.talk, count)  # before or after it, somebody says something else
        before = self.chance(count, 0.25)
        gap_s = torch.where(before, self.uniform(count, 0.06, 0.6), self.uniform(count, 0.35, 0.9))
        faster = 2 ** (self.uniform(count, -4, 4) / 12)
        at_s = torch.where(before, start_s - gap_s - self.length[other] / RATE_HZ / faster, end_s + gap_s)
        beside = _levelled(self._placed(other, at_s, faster)) * self.chance(count, 0.5)[:, None]
        mixed = self._in_room(speech + beside * 10 ** (self.uniform(count, -6, 3) / 20)[:, None])
        wanted, spans = self._wanted(
            self.kind[chosen], self.begins[chosen], start_s, end_s, self.word_s[chosen] / speed
        )
        return mixed, wanted, spans

    def _powers(self, sound: Tensor) -> Tensor:
        """The newest sample of frame n is that of 10 ms times n + 1."""
        padded = torch.nn.functional.pad(sound, (WINDOW - HOP, 0))
        framed = padded.unfold(1, WINDOW, HOP) * self.window
        power = torch.fft.rfft(framed, SIZE).abs().square()
        return (power @ self.mel.T).clamp(max=6e4).half()

    def _wanted(
        self, kind: Tensor, begins: Tensor, start_s: Tensor, end_s: Tensor, word_s: Tensor
    ) -> tuple[Tensor, Tensor]:
        at_s = (torch.arange(STEPS)[None, :] + 1) / 50
        is_word = (kind > 0)[:, None]
        since = at_s - end_s[:, None]
        wanted = torch.zeros(len(kind), STEPS, dtype=torch.long)
        wanted = torch.where(is_word & (at_s >= start_s[:, None]) & (since <= AFTER_S), -1, wanted)
        sure = is_word & ~begins[:, None] & (since >= SURE_S[0]) & (since <= SURE_S[1])
        wanted = torch.where(sure, kind[:, None], wanted)
        first, last = (start_s + 0.5 * word_s) * 50, (start_s + 1.2 * word_s + SURE_S[1]) * 50
        return wanted, torch.stack((first, last, (kind * begins).float()), dim=1)

    def _in_room(self, sound: Tensor) -> Tensor:
        """In a room, or none, and as another microphone hears it."""
        count, taps = len(sound), 6_144
        at_s = torch.arange(taps)[None, :] / RATE_HZ
        tail = self._normal(count, taps) * 10 ** (-3 * at_s / self.uniform(count, 0.1, 0.7)[:, None])
        share = (at_s / 0.03).clamp(0.02, 1)  # single reflections become a tail
        tail = tail * (torch.rand((count, taps), generator=self.random) < share) / share.sqrt() * (at_s > 0.001)
        direct_db = torch.where(self.chance(count, 0.25), 60.0, self.uniform(count, -6, 12))[:, None]
        tail = tail * 10 ** (-direct_db / 20) / tail.square().sum(1, keepdim=True).sqrt().clamp(min=1e-6)
        tail[:, 0] = 1.0
        size = COUNT + taps
        response = torch.fft.rfft(tail, size) * self._curve(count, size // 2 + 1)
        return torch.fft.irfft(torch.fft.rfft(sound, size) * response, size)[:, :COUNT]

    def _curve(self, count: int, bins: int) -> Tensor:
        points = torch.cumsum(self._normal(count, 7) * 2.5, dim=1)
        place = torch.log2(torch.linspace(30, 8_000, bins) / 30) / math.log2(8_000 / 30) * 6
        low = place.floor().long().clamp(max=5)
        curve = points[:, low] * (1 - (place - low)) + points[:, low + 1] * (place - low)
        return 10 ** ((curve - curve.mean(1, keepdim=True)).clamp(-20, 20) / 20)

    def _colour(self, count: int) -> Tensor:
        bins = COUNT // 2 + 1
        slope = torch.linspace(30, 8_000, bins)[None, :] ** self.uniform(count, -1.2, 0.3)[:, None]
        spectrum = torch.complex(self._normal(count, bins), self._normal(count, bins))
        return torch.fft.irfft(spectrum * slope * self._curve(count, bins), COUNT)

    def _tones(self, count: int) -> Tensor:
        """Motors, fans, mains, chords."""
        at_s = torch.arange(COUNT)[None, :] / RATE_HZ
        made = torch.zeros(count, COUNT)
        pitch_hz = torch.exp(self.uniform(count, math.log(25), math.log(900)))[:, None]
        slow_hz = self.uniform(count, 0.2, 3)[:, None]
        wander = self.uniform(count, 0, 0.04)[:, None] * torch.sin(2 * math.pi * slow_hz * at_s)
        phase = 2 * math.pi * torch.cumsum(pitch_hz * (1 + wander) / RATE_HZ, dim=1)
        for harmonic in range(1, 13):
            loud = 10 ** (self.uniform(count, -18, 0) / 20) / harmonic**0.5 * self.chance(count, 0.7)
            loud = loud * (pitch_hz[:, 0] * harmonic < 7_500)
            made += loud[:, None] * torch.sin(harmonic * phase + self.uniform(count, 0, 6.28)[:, None])
        broad = self._colour(count)
        broad = broad / broad.std(1, keepdim=True)
        return made / made.std(1, keepdim=True).clamp(min=1e-3) + broad * self.uniform(count, 0.1, 1.0)[:, None]

    def _talker(self, count: int) -> Tensor:
        faster = 2 ** (self.uniform(count, -4, 4) / 12)
        return _levelled(self._placed(self._pick(self.talk, count), self.uniform(count, -2.0, 0.5), faster))

    def _babble(self, count: int) -> Tensor:
        talkers = [self._talker(count) * 10 ** (self.uniform(count, -8, 0) / 20)[:, None] for _ in range(4)]
        return self._in_room(sum(talkers[1:], talkers[0])) + 1e-3 * self._normal(count, COUNT)

    def _leftover(self, count: int) -> Tensor:
        """Leftovers of an echo canceller of the robot's voice: pieces in time and frequency."""
        window = torch.hann_window(SIZE)
        spectrum = torch.stft(self._talker(count), SIZE, HOP, window=window, return_complex=True)
        coarse = torch.rand((count, 1, spectrum.shape[1] // 8, spectrum.shape[2] // 4), generator=self.random)
        gains = torch.nn.functional.interpolate(coarse, size=spectrum.shape[1:], mode="bilinear")[:, 0]
        left = spectrum * gains ** self.uniform(count, 0, 6)[:, None, None]
        return torch.istft(left, SIZE, HOP, window=window, length=COUNT) + 1e-3 * self._normal(count, COUNT)


class Batches:
    """Draws stretches of a pool with noise, at any level and with holes in them."""

    def __init__(self, pool: Pool, noises: Tensor, seed: int) -> None:
        self._pool, self._noises = pool, noises
        self._random = torch.Generator().manual_seed(seed)

    def draw(self, count: int) -> tuple[Tensor, Tensor, Tensor]:
        """Log-mel frames, wanted classes and spans, as in ``Pool``."""
        which = torch.randint(0, len(self._pool.powers), (count,), generator=self._random)
        noise = self._noises[torch.randint(0, len(self._noises), (count,), generator=self._random)].float()
        noise = torch.roll(noise, int(torch.randint(0, noise.shape[1], (1,), generator=self._random)), dims=1)
        quiet = torch.rand(count, generator=self._random) < 0.3
        snr_db = torch.where(quiet, self._uniform(count, 25, 60), self._uniform(count, -1, 25))
        powers = self._pool.powers[which].float() + noise * 10 ** (-snr_db / 10)[:, None, None]
        powers = powers * self._holes(count, powers.shape[1])
        level_db = self._uniform(count, -50, -8)[:, None, None]
        hiss = 150 * 10 ** (self._uniform(count, -90, -68) / 10)[:, None, None]  # of white noise, per bin
        frames = torch.log(powers * 10 ** (level_db / 10) + hiss + FLOOR)
        return frames, self._pool.wanted[which], self._pool.spans[which]

    def _uniform(self, count: int, low: float, high: float) -> Tensor:
        return torch.rand(count, generator=self._random) * (high - low) + low

    def _holes(self, count: int, frames: int) -> Tensor:
        """Gains like those of a canceller or a noise suppressor, in a third of all."""
        coarse = torch.rand((count, 1, frames // 8, 5), generator=self._random)
        smooth = torch.nn.functional.interpolate(coarse, size=(frames, MELS), mode="bilinear")[:, 0]
        deep = self._uniform(count, 0, 24) * (torch.rand(count, generator=self._random) < 0.35)
        return 10 ** (-deep[:, None, None] * smooth / 10)


def _levelled(sound: Tensor) -> Tensor:
    """At an RMS of about 1 where there is sound, give or take what a person varies."""
    loud = sound.square().sum(1) / (sound.abs() > 1e-3).sum(1).clamp(min=1_000)
    return sound / loud.sqrt().clamp(min=1e-3)[:, None]


def _of_part(listed: list[dict[str, Any]], *, waits: bool) -> list[dict[str, Any]]:
    """The clips with the classes of a part of the network; what is a word of the other part is talk."""
    made = []
    for each in listed:
        kind = each["kind"] - WORDS if waits else each["kind"]
        if waits and kind <= 0 and "wait" in each["text"]:  # "wait, stop": nothing is known of where it ends
            continue
        made.append(each | {"kind": kind if 0 < kind <= WORDS else 0})
    return made


def _weights(listed: list[dict[str, Any]]) -> Tensor:
    """Chances of the clips to be drawn."""
    shares = {"heart": _NATURAL, "joe": _NATURAL, "people": _PEOPLE}
    shares |= dict.fromkeys(("kal", "slt", "awb", "rms"), _NATURAL / 2)
    voices = [each["voice"] for each in listed]
    others = {voice for voice in voices if voice not in shares}
    shares |= dict.fromkeys(others, _NATURAL / max(len(others), 1))
    weights = np.zeros(len(listed))
    for voice, share in shares.items():
        for is_talk in (True, False):
            chosen = [at for at, each in enumerate(listed) if each["voice"] == voice and (each["kind"] == 0) == is_talk]
            parts = np.array([listed[at]["weight"] * (1 + (listed[at]["text"].count(" ") <= 1)) for at in chosen])
            weights[chosen] = share * parts / max(parts.sum(), 1.0)
    return torch.as_tensor(weights, dtype=torch.float32)
