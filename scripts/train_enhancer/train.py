"""Trains the network on examples, and writes it as an ONNX file.

    .venv-train/bin/python scripts/train_enhancer/train.py E.npz --acoustic FOLDER --out models/enhancer.onnx

Runs in the training environment; PyTorch is all that it needs. It ends by the clock, so two runs differ.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
import torch
from network import BANDS, FEATURES, Network, export, silent
from states import CONTEXT, States, with_differences
from torch import Tensor, nn

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

from edgeagent.stt import mel  # noqa: E402

LATE: Final = 6
"""Frames, as ``edgeagent.stt.enhancer.LATE``."""
HELD_OUT: Final = 150
"""Examples that the figures shown are of."""
BATCH: Final = 24
RATE: Final = 1.2e-3
RATE_AGAIN: Final = 6e-4
"""Where it goes on."""
WARM_UP: Final = 100
LOUDER: Final = 0.6
"""Spread of what is added to the logarithms of an example's energies: some are louder."""
SPOKEN: Final = 6.5
"""Speech goes down to so far under the loudest frames: 28 dB."""
PAUSES: Final = 0.15
"""How much a frame without speech counts."""
OF_THE_MEAN: Final = 0.7
"""So much of an error that is the same in all of an utterance does not count: its mean is subtracted later."""
DIFFERENCES: Final = 0.5
STATES_COUNT: Final = 1.0
"""How much the differences between two frames count, and what the phones make of it, beside the cepstra."""
SOFT: Final = 0.25
"""Exponent of the likelihoods: without it a frame has one phone only."""
LOOKED_AT: Final = 0.2
"""Share of the frames that the phones are asked about, since they cost the most."""


class Loss:
    """How far estimated energies are from the clean ones, for PocketSphinx.

    Args:
        acoustic: Folder of its acoustic model.
        clean: Logarithms of some clean energies, for their spread.
    """

    def __init__(self, acoustic: Path, clean: Tensor) -> None:
        self._states = States(acoustic)
        self._transform = torch.tensor(mel.TRANSFORM).float()
        self._spread = (clean[spoken(clean) > 0] @ self._transform.T).std(0)

    def __call__(self, made: Tensor, clean: Tensor) -> Tensor:
        """Of logarithms of energies, shape (batch, frames, 25)."""
        speech = spoken(clean)
        ours, theirs = made @ self._transform.T, clean @ self._transform.T
        wrong = (ours - theirs) / self._spread
        wrong = wrong - OF_THE_MEAN * mean_of_speech(wrong, speech)
        counts = PAUSES + (1 - PAUSES) * speech
        loss = _mean(wrong, counts) + DIFFERENCES * _mean(wrong[:, 4:] - wrong[:, :-4], counts[:, 2:-2])
        return loss + STATES_COUNT * self._of_states(ours, theirs, speech)

    def _of_states(self, ours: Tensor, theirs: Tensor, speech: Tensor) -> Tensor:
        """Kullback-Leibler divergence of what the phones make of it."""
        looked = (speech > 0) & (torch.rand(speech.shape) < LOOKED_AT)
        looked = looked[:, CONTEXT:-CONTEXT]
        found, wanted = (
            with_differences(cepstra - mean_of_speech(cepstra, speech))[looked] for cepstra in (ours, theirs)
        )
        with torch.no_grad():
            right = torch.softmax(SOFT * self._states(wanted), -1)
        return nn.functional.kl_div(torch.log_softmax(SOFT * self._states(found), -1), right, reduction="batchmean")


def spoken(clean: Tensor) -> Tensor:
    """1 for a frame with speech, else 0. Shape (batch, frames)."""
    levels = clean.mean(-1)
    return (levels > torch.quantile(levels, 0.95, dim=1, keepdim=True) - SPOKEN).float()


def mean_of_speech(values: Tensor, speech: Tensor) -> Tensor:
    """Shape (batch, 1, width), of (batch, frames, width)."""
    return (values * speech[..., None]).sum(1, keepdim=True) / (speech.sum(1)[:, None, None] + 1)


def _mean(wrong: Tensor, counts: Tensor) -> Tensor:
    """Of absolute values, rounded at nothing (Charbonnier)."""
    each = torch.sqrt(wrong**2 + 0.01) - 0.1
    return (each.mean(-1) * counts).sum() / counts.sum()


def estimated(network: Network, heard: Tensor) -> Tensor:
    """Logarithms of clean energies, shape (batch, frames - LATE, 25)."""
    change, _ = network(heard, silent(len(heard)))
    return heard[:, :-LATE, FEATURES - BANDS :] + change[:, LATE:]


def main() -> None:
    """Train until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--acoustic", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--weights", type=Path, help="are kept there; if they are there, it goes on")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.manual_seed(0)
    files = [np.load(path) for path in given.examples]
    heard, clean = (torch.tensor(np.concatenate([file[name] for file in files])) for name in ("heard", "clean"))
    look = heard[HELD_OUT : HELD_OUT + 400].float()
    network = Network(look.mean((0, 1)), look.std((0, 1)))
    rate = RATE
    if given.weights is not None and given.weights.exists():
        network.load_state_dict(torch.load(given.weights))
        rate = RATE_AGAIN
    loss = Loss(given.acoustic, clean[HELD_OUT : HELD_OUT + 400].float())
    optimiser = torch.optim.AdamW(network.parameters(), rate, weight_decay=1e-3)
    held_heard, held_clean = heard[:HELD_OUT].float(), clean[:HELD_OUT, :-LATE].float()
    print(f"{len(heard)} examples; as they are: {loss(held_heard[:, :-LATE, FEATURES - BANDS :], held_clean):.4f}")
    begun_s, step, told_s, losses = time.monotonic(), 0, time.monotonic(), []
    while (done := (time.monotonic() - begun_s) / 60 / given.minutes) < 1:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1, step / WARM_UP) * (0.005 + (1 + math.cos(math.pi * done)) / 2)
        chosen = HELD_OUT + torch.randint(len(heard) - HELD_OUT, (BATCH,))
        louder = torch.randn(BATCH, 1, 1) * LOUDER
        found = loss(
            estimated(network, (heard[chosen].float() + louder).clamp(min=0)), clean[chosen, :-LATE].float() + louder
        )
        optimiser.zero_grad()
        found.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        losses.append(found.item())
        step += 1
        if time.monotonic() - told_s > 60:
            with torch.no_grad():
                held = loss(estimated(network, held_heard), held_clean)
            print(f"{done:4.0%} step {step}: {np.mean(losses):.4f}, of those held out {held:.4f}", flush=True)
            told_s, losses = time.monotonic(), []
    if given.weights is not None:
        torch.save(network.state_dict(), given.weights)
    export(network, given.out)
    print(f"{step} steps; {given.out}: {given.out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
