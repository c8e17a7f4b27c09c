"""Speech in noise and rooms, as the network is given it, with the mel energies of the same speech alone and close.

    .venv/bin/python scripts/train_enhancer/examples.py --voices V.npz --count 4000 --seed 1 --out E.npz

Runs in the product's environment: half of the examples have gone through its noise suppression. Noise, rooms and levels
are drawn at random, and none is one of those that the benchmarks use.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
from noises import RATE_HZ, Signal, Sounds, level, rms

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from edgeagent.audio.echo import EchoCanceller  # noqa: E402
from edgeagent.stt.denoise import Denoiser  # noqa: E402
from edgeagent.stt.enhancer import features  # noqa: E402
from edgeagent.stt.mel import Spectra, in_mel_bands  # noqa: E402

LENGTH: Final = 4 * RATE_HZ
LEAD: Final = RATE_HZ // 2
"""Samples before it, in which the noise suppression gets to know the noise."""
FULL_SCALE: Final = 32_767
KINDS: Final = {
    "none": 0.10, "coloured": 0.20, "tones": 0.20, "babble": 0.28, "talker": 0.05, "knocks": 0.05, "mixed": 0.12,
}  # fmt: skip
"""Of noise, and the share of the examples that has it."""
IN_A_ROOM: Final = 0.45
SUPPRESSED: Final = 0.5
CLIPPED: Final = 0.03
NOT_DENOISED: Final = 0.07
"""Shares of the examples."""
CLEAN_DB: Final = -54.0
"""Noise that is left, under the voice: the recogniser knows no silence without any."""
_SUPPRESSION_S: Final = 0.006
"""By which WebRTC's noise suppression is late."""


def example(sounds: Sounds, random: np.random.Generator) -> tuple[Signal, Signal]:
    """What the network is given, shape (frames, 183), and logarithms of clean energies, shape (frames, 25)."""
    dry = np.concatenate((np.zeros(LEAD), sounds.voice(LENGTH)))
    if random.random() < 0.5:  # an utterance, with a pause before and after it
        dry[: LEAD + int(random.integers(3_000, 16_000))] = 0
        dry[-int(random.integers(3_000, 16_000)) :] = 0
    dry = sounds.microphone(dry)
    dry /= max(level(dry), 1e-4)
    heard, wanted = dry, dry
    if random.random() < IN_A_ROOM:
        heard, wanted = sounds.room(dry, random.uniform(0.12, 0.6), random.uniform(-2, 12))
    kind = str(random.choice(list(KINDS), p=list(KINDS.values())))
    snr_db = random.uniform(8 if kind == "talker" else 0, 24)
    loud = 10 ** (random.normal(-26, 5) / 20)
    if kind != "none":
        noise = sounds.noise(kind, len(dry))
        heard = heard + noise * (10 ** (-snr_db / 20) / max(rms(noise), 1e-9))
    sound = heard * loud + random.normal(0, 10 ** (random.uniform(-95, -62) / 20), len(dry))
    if random.random() < CLIPPED:
        sound = np.clip(sound, -3 * loud, 3 * loud)
    wanted = wanted * loud + random.normal(0, loud * 10 ** (CLEAN_DB / 20), len(dry))
    sound = np.clip(sound, -1, 1).astype(np.float32)
    if random.random() < SUPPRESSED:
        sound = suppressed(sound)
    sound = sound[LEAD:]
    powers = Spectra().process(sound)
    denoised = powers if random.random() < NOT_DENOISED else Spectra().process(without_noise(sound))
    clean = in_mel_bands(Spectra().process(wanted[LEAD:].astype(np.float32)))
    return features(powers, in_mel_bands(denoised)), np.log(clean + 1)


def without_noise(sound: Signal) -> Signal:
    """After RNNoise."""
    denoiser = Denoiser()
    return np.concatenate((denoiser.process(sound), denoiser.finish()))[: len(sound)]


def suppressed(sound: Signal) -> Signal:
    """After the product's noise suppression, in time."""
    microphone, block = EchoCanceller(RATE_HZ, None, mode="off"), RATE_HZ // 100
    made = [microphone.near(sound[at : at + block], at / RATE_HZ) for at in range(0, len(sound), block)]
    late = round(_SUPPRESSION_S * RATE_HZ)
    return np.concatenate((*made, np.zeros(late, np.float32)))[late : late + len(sound)]


def main() -> None:
    """Write so many examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voices", type=Path, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    sounds = Sounds(given.voices, random)
    heard, clean, told_s = [], [], time.monotonic()
    for number in range(given.count):
        features_, energies = example(sounds, random)
        heard.append(features_.astype(np.float16))
        clean.append(energies.astype(np.float16))
        if time.monotonic() - told_s > 10:
            told_s = time.monotonic()
            print(f"examples, seed {given.seed}: {number + 1} of {given.count}", flush=True)
    np.savez(given.out, heard=np.stack(heard), clean=np.stack(clean))


if __name__ == "__main__":
    main()
