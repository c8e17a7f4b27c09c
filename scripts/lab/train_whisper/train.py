"""Teaches Whisper's encoder to hear in noise what it hears in a clear sound, and writes what it has learnt.

    PYTHONPATH=. .venv-train/bin/python scripts/lab/train_whisper/train.py --runs runs/keywords \
        --known runs/whisper/known.npz --model FOLDER --out models/whisper_tiny.en_noise.npz

Two losses: what the decoder reads of the sound, and the words that it would write, each beside what the model as it was
makes of the clear sound. So nobody has to say what was said, and any voice will do.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import torch
from network import Decoder, Encoder, features
from sounds import RATE_HZ, WINDOW_S, Clips, Known, Pair, pair
from torch import Tensor
from torch.nn import functional

from edgeagent.resources import whole_file
from edgeagent.stt import read_weights

_RATE: Final = 3e-4
_WARM: Final = 50
"""Steps in which the learning rate rises."""
_BATCH: Final = 4
_AHEAD: Final = 6
_MAKERS: Final = 2
_SILENCE: Final = 0.15
"""Weight of what is read where nobody speaks."""
_STEP: Final = RATE_HZ // 50
"""Samples of a step of the encoder's output."""
_AFTER: Final = 5
"""Steps after the end of speech that count in full."""
_SMOOTHED: Final = 0.02
_SAVED_S: Final = 300.0
_SHIPPED: Final = 0.7
"""Share of what was learnt that is written: less is lost in quiet, and more gained in noise, than with all of it."""

_sources: tuple[Clips, Known]


def _begin(runs: Path, known: Path) -> None:
    global _sources  # noqa: PLW0603 - of this process, which makes pairs and nothing else
    os.nice(5)
    _sources = Clips(runs), Known(known)


def _make(seed: int) -> list[Pair]:
    rng = np.random.default_rng(seed)
    return [pair(rng, *_sources) for _ in range(_BATCH)]


class Loss:
    """Distance of what is heard in noise from what was heard in the clear sound."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        self._encoder, self._decoder = encoder, decoder
        self._width: Tensor | None = None
        """Standard deviation of each number that is read; of the first batch."""

    def of(self, pairs: list[Pair]) -> tuple[Tensor, Tensor]:
        """Distance of what is read (Huber's loss, in standard deviations), and divergence of the words (Kullback and
        Leibler's, a token)."""
        clear, heard = (
            torch.from_numpy(np.stack([getattr(each, kind) for each in pairs])) for kind in ("clear", "heard")
        )
        told = [at for at, each in enumerate(pairs) if each.tokens is not None]
        tokens, counts = _tokens([each.tokens for each in pairs if each.tokens is not None])
        clear, heard = features(clear), features(heard)
        with torch.autocast("cpu", torch.bfloat16):
            self._encoder.adapted = False
            with torch.no_grad():
                wanted = self._decoder.read(self._encoder(clear))
                words = self._decoder(tokens, wanted[told]) if told else torch.zeros(0)
            self._encoder.adapted = True
            read = self._decoder.read(self._encoder(heard))
            written = self._decoder(tokens, read[told]) if told else torch.zeros(0)
        if self._width is None:
            self._width = wanted.float().flatten(0, 1).std(0) + 1e-3
        weights = torch.full(wanted.shape[:2], _SILENCE)
        for row, each in zip(weights, pairs, strict=True):
            row[: each.spoken // _STEP + _AFTER] = 1.0
        off = (read.float() - wanted.float()) / self._width
        apart = functional.smooth_l1_loss(off, torch.zeros_like(off), reduction="none").mean(2)
        distance = (apart * weights).sum() / weights.sum()
        if not told:
            return distance, torch.zeros(())
        diverged = (words.exp() * (words - written)).sum(2)
        return distance, (diverged * counts).sum() / counts.sum()


def _tokens(known: list[np.ndarray[tuple[int], np.dtype[np.int32]]]) -> tuple[Tensor, Tensor]:
    """Tokens as one tensor, filled up with zeros, and 1 where the one that follows counts: the first two are always the
    same."""
    longest = max(map(len, known), default=1)
    tokens, counts = torch.zeros(len(known), longest - 1, dtype=torch.long), torch.zeros(len(known), longest - 1)
    for at, each in enumerate(known):
        tokens[at, : len(each) - 1] = torch.from_numpy(each[:-1].astype(np.int64))
        counts[at, 1 : len(each) - 1] = 1.0
    return tokens, counts


def _write(encoder: Encoder, model: bytes, out: Path) -> None:
    digest = np.frombuffer(hashlib.sha256(model).digest(), np.uint8)
    with whole_file(out) as partial, partial.open("wb") as file:
        np.savez_compressed(file, sha256=digest, **encoder.arrays(_SHIPPED))


def main() -> None:
    """Train for so many minutes, by a rate that falls to nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of scripts/train keywords")
    parser.add_argument("--known", type=Path, required=True, help="file of known.py")
    parser.add_argument("--model", type=Path, required=True, help="folder of tiny.en")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--rate", type=float, default=_RATE)
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--init", type=Path, help="goes on from such a file")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    model = (given.model / "model.bin").read_bytes()
    weights = read_weights(model)
    encoder, decoder = Encoder(weights), Decoder(weights)
    if given.init:
        with np.load(given.init) as learnt:
            encoder.load(dict(learnt))
    loss = Loss(encoder, decoder)
    optimiser = torch.optim.AdamW(encoder.groups(), lr=given.rate, weight_decay=0.0, betas=(0.9, 0.98))
    rng = np.random.default_rng(given.seed)
    begun_s = saved_s = time.monotonic()
    step, means = 0, (0.0, 0.0)
    with ProcessPoolExecutor(_MAKERS, initializer=_begin, initargs=(given.runs, given.known)) as makers:
        waiting: deque[Future[list[Pair]]] = deque()
        while (spent := (time.monotonic() - begun_s) / 60 / given.minutes) < 1:
            while len(waiting) < _AHEAD:
                waiting.append(makers.submit(_make, int(rng.integers(1 << 40))))
            rate = given.rate * min(1.0, (step + 1) / _WARM) * 0.5 * (1 + math.cos(math.pi * spent))
            for group in optimiser.param_groups:
                group["lr"] = rate * group["share"]
            parts = loss.of(waiting.popleft().result())
            optimiser.zero_grad(set_to_none=True)
            sum(parts, torch.zeros(())).backward()
            torch.nn.utils.clip_grad_norm_(encoder.learnt.parameters(), 1.0)
            optimiser.step()
            kept = 1.0 if step == 0 else _SMOOTHED
            means = (means[0] + kept * (parts[0].item() - means[0]), means[1] + kept * (parts[1].item() - means[1]))
            step += 1
            if step % 25 == 0:
                told = f"distance {means[0]:.4f}, divergence {means[1]:.4f}"
                print(f"{spent:.0%}, {step} steps of {_BATCH * WINDOW_S:g} s: {told}", flush=True)
            if time.monotonic() - saved_s > _SAVED_S:
                _write(encoder, model, given.out)
                saved_s = time.monotonic()
        makers.shutdown(cancel_futures=True)
    _write(encoder, model, given.out)


if __name__ == "__main__":
    main()
