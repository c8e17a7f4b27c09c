"""Trains the fixture and writes it in CTranslate2's format.

    OMP_NUM_THREADS=1 .venv-train/bin/python scripts/lab/train_whisper_fixture/train.py \
        --spoken runs/whisper-fixture/spoken.npz --out tests/stt/whisper_fixture --minutes 16

One thread: matrices this small are slower on two, ten times slower on cores that others use too.

Two stages: most steps see a window of a few seconds, the last ones the real one of 30 s. The loss has two parts: the
next token, and that the attention of a word's tokens lies on the time of that word, which makes word times possible and
the learning ten times faster.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from faster_whisper.feature_extractor import FeatureExtractor
from model import WINDOW, Whisper, export
from text import STAMP_S, tokenizer, vocabulary
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

RATE_HZ: Final = 16_000
FRAMES_PER_S: Final = 100
SHORT_S: Final = 3.0
"""The window of the first stage."""
BATCH: Final = 16
LONG_BATCH: Final = 4
LONG_SHARE: Final = 0.35
"""Share of the time that the second stage has."""
RATE: Final = 2e-3
WARM_STEPS: Final = 200
SILENT_SHARE: Final = 0.08
"""Examples without speech: digital silence or noise."""
STAMPED_SHARE: Final = 0.6
PROMPTED_SHARE: Final = 0.25
STAMP_STEP_S: Final = 0.1
ALIGNED: Final = 0.3
"""Weight of the attention's loss."""
IGNORED: Final = -100
EXTRACTOR: Final = FeatureExtractor()


@dataclass(frozen=True, slots=True)
class Clip:
    """A sentence in one voice. Words are (start, end, at_s)."""

    text: str
    words: tuple[tuple[int, int, float], ...]
    sound: np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """What one row of a batch is made of. Spans are (row of tokens, first position, last position) of the sound."""

    features: np.ndarray[Any, Any]
    tokens: list[int]
    targets: list[int]
    spans: list[tuple[int, int, int]]


def clips(path: Path) -> list[Clip]:
    """What speak.py wrote."""
    data = np.load(path)
    sound, at, found = data["sound"].astype(np.float32) / 32768, 0, []
    for entry in json.loads(str(data["index"])):
        words = tuple((start, end, at_s) for start, end, at_s in entry["words"])
        found.append(Clip(entry["text"], words, sound[at : at + entry["samples"]]))
        at += entry["samples"]
    return found


def features(sound: np.ndarray[Any, Any], frames: int) -> np.ndarray[Any, Any]:
    """As faster-whisper makes them: the rest of the window is zeros."""
    made = EXTRACTOR(sound)[:, :-1][:, :frames]
    return np.pad(made, ((0, 0), (0, frames - made.shape[1]))).astype(np.float32)


class Examples:
    """Draws examples: silence before and after, loudness, noise, time stamps or none, hot words or none."""

    def __init__(self, clips: list[Clip], text: Tokenizer, seed: int) -> None:
        self._clips, self._text, self._seed = clips, text, seed
        self._random, self._noise = random.Random(seed), np.random.default_rng(seed)
        self._id = {
            name: text.token_to_id(f"<|{name}|>")
            for name in ("endoftext", "startoftranscript", "startofprev", "nospeech", "notimestamps", "0.00")
        }
        self._vocabulary = sorted({word.strip(".,?") for clip in clips for word in clip.text.split()})

    def _stamp(self, seconds: float) -> int:
        return self._id["0.00"] + round(round(seconds / STAMP_STEP_S) * STAMP_STEP_S / STAMP_S)

    def draw(self, frames: int) -> Example:
        """One example in a window of so many frames."""
        chance = self._random.random
        if chance() < SILENT_SHARE:
            sound = np.zeros(round(RATE_HZ * self._random.uniform(0.2, 3.5)), np.float32)
            if chance() < 0.7:
                sound += self._noise.standard_normal(len(sound)).astype(np.float32) * 10 ** self._random.uniform(-5, -1)
            begin = self._id["startoftranscript"]
            tokens, targets = [begin, self._id["0.00"]], [self._id["nospeech"], self._id["endoftext"]]
            return Example(features(sound, frames), tokens, targets, [])
        clip = self._random.choice(self._clips)
        before_s = self._random.choice((0.0, self._random.uniform(0, 0.5), self._random.uniform(0, 1.0)))
        after_s = self._random.choice((0.0, self._random.uniform(0, 0.6), self._random.uniform(0, 0.9)))
        sound = np.pad(clip.sound, (round(before_s * RATE_HZ), round(after_s * RATE_HZ)))
        sound = sound * np.float32(10 ** self._random.uniform(-1.2, 0.15))
        if chance() < 0.6:
            level = 10 ** self._random.uniform(-4.5, -2.2)
            sound = sound + self._noise.standard_normal(len(sound)).astype(np.float32) * np.float32(level)
        return self._written(clip, features(sound, frames), before_s)

    def _written(self, clip: Clip, made: np.ndarray[Any, Any], before_s: float) -> Example:
        begin, end = self._id["startoftranscript"], self._id["endoftext"]
        prompt = []
        if self._random.random() < PROMPTED_SHARE:
            hot = self._random.sample(self._vocabulary, self._random.randint(1, 8))
            prompt = [self._id["startofprev"], *self._text.encode(" " + ", ".join(hot)).ids]
        encoding = self._text.encode(" " + clip.text)
        last_s = before_s + len(clip.sound) / RATE_HZ
        if self._random.random() < STAMPED_SHARE:
            said = [self._stamp(before_s), *encoding.ids, self._stamp(last_s), end]
        else:
            said = [self._id["notimestamps"], *encoding.ids, end]
        tokens = [*prompt, begin, *said[:-1]]
        targets = [IGNORED] * len(prompt) + said
        if said[0] == self._id["notimestamps"]:
            targets[len(prompt)] = IGNORED  # whoever asks decides that
        spans = []
        starts = [at_s for _, _, at_s in clip.words] + [len(clip.sound) / RATE_HZ]
        ended = round(last_s / STAMP_S)
        for row, (first, last) in enumerate(encoding.offsets):
            middle = (first + last) / 2 - 0.5  # the offsets are those of " text"
            word = max(i for i, (start, _, _) in enumerate(clip.words) if i == 0 or start <= middle)
            # the row that predicts a token looks at its word
            spans.append(
                (
                    len(prompt) + 1 + row,
                    max(0, round((before_s + starts[word] - 0.06) / STAMP_S)),
                    round((before_s + starts[word + 1] + 0.02) / STAMP_S),
                )
            )
        # the one that predicts the end looks behind the last word, or that word would have no time of its own
        spans.append((len(prompt) + 1 + len(encoding.ids), ended - 1, ended + 8))
        return Example(made, tokens, targets, spans)


def batch(examples: list[Example], padding: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Features, tokens, targets, and for each row of tokens which positions of the sound it may look at."""
    length = -(-max(len(one.tokens) for one in examples) // 8) * 8
    positions = examples[0].features.shape[1] // 2
    tokens = torch.full((len(examples), length), padding)
    targets = torch.full((len(examples), length), IGNORED)
    allowed = torch.zeros(len(examples), length, positions, dtype=torch.bool)
    for row, one in enumerate(examples):
        tokens[row, : len(one.tokens)] = torch.tensor(one.tokens)
        targets[row, : len(one.targets)] = torch.tensor(one.targets)
        for at, first, last in one.spans:
            allowed[row, at, first : last + 1] = True
    return torch.from_numpy(np.stack([one.features for one in examples])), tokens, targets, allowed


def losses(model: Whisper, rows: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """The next token's, and the attention's."""
    sound, tokens, targets, allowed = rows
    logits, weights = model(sound, tokens)
    said = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)
    # weights: (batch, heads, length, positions), logarithms
    inside = weights.masked_fill(~allowed[:, None], -1e4).logsumexp(-1)
    counted = allowed.any(-1)[:, None].expand_as(inside)
    return said, -inside[counted].clamp(min=-12).mean()


def main() -> None:
    """Train for so many minutes, then write the model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spoken", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=16.0)
    parser.add_argument("--seed", type=int, default=2)
    settings = parser.parse_args()
    torch.manual_seed(settings.seed)
    torch.set_num_threads(1)

    known = clips(settings.spoken)
    sentences = sorted({clip.text for clip in known})
    text = tokenizer(sentences)
    model = Whisper(text.get_vocab_size())
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {text.get_vocab_size()} tokens", flush=True)
    examples = Examples(known, text, settings.seed)
    padding = text.token_to_id("<|endoftext|>")
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    model.train()

    begun, step, shown, sums = time.monotonic(), 0, 0.0, np.zeros(3)
    while (share := (time.monotonic() - begun) / (settings.minutes * 60)) < 1:
        long = share > 1 - LONG_SHARE
        frames = 2 * WINDOW if long else round(SHORT_S * FRAMES_PER_S)
        rows = batch([examples.draw(frames) for _ in range(LONG_BATCH if long else BATCH)], padding)
        rate = RATE * min(1, (step + 1) / WARM_STEPS) * min(1.0, max(0.02, (1 - share) / 0.6))
        for group in optimizer.param_groups:
            group["lr"] = rate * (0.5 if long else 1)
        said, aligned = losses(model, rows)
        optimizer.zero_grad()
        (said + ALIGNED * aligned).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        sums += (said.item(), aligned.item(), 1)
        if time.monotonic() - shown > 15:
            shown = time.monotonic()
            print(f"{shown - begun:5.0f} s  step {step:5d}  {frames} frames  loss {sums[0] / sums[2]:.3f}"
                  f"  attention {sums[1] / sums[2]:.3f}", flush=True)  # fmt: skip
            sums[:] = 0
    model.eval()
    settings.out.mkdir(parents=True, exist_ok=True)
    special = [text.token_to_id(name) for name in ("<|nospeech|>", "<|notimestamps|>")]
    export(model, settings.out, vocabulary(text), special, text.encode(" ").ids)
    text.save(str(settings.out / "tokenizer.json"))
    print(f"{step} steps, {sum(p.stat().st_size for p in settings.out.iterdir()) / 1e6:.1f} MB in {settings.out}")


if __name__ == "__main__":
    main()
