"""Trains the keyword network on what ``speak.py`` wrote, and exports it: three quarters of an hour on two cores."""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path
from typing import Final

import torch
from mixing import SIZE, WORDS, Batches, Clips, Pool
from network import KeywordNetwork, Streaming, exported
from torch import Tensor

_RATE: Final = 2e-3
_RATE_ON: Final = 5e-4
"""Of training that goes on from a file."""
_STRETCHES: Final = 40_000
_OVER_OWN_VOICE: Final = 6_000
"""Stretches in which the robot speaks as well, as its echo canceller leaves them."""
_NOISES: Final = 5_000
_SHARE: Final = 0.4
"""Of the stretches that have a word in them."""
_WORD: Final = 4.0
"""Weight of a step of a word; false alarms are dear, and there are more steps without."""
_ALARM: Final = 0.1
"""Weight of the steps of a stretch without a word at which a word is likeliest: an alarm needs three of its 112 steps,
which a mean over all of them hardly sees."""
_ALARM_STEPS: Final = 3


def loss_of(scores: Tensor, wanted: Tensor, spans: Tensor) -> Tensor:
    """Cross entropy where the class is known; where only the span of a word is, and where there is no word, of the
    likeliest steps."""
    weights = torch.tensor([1.0] + [_WORD] * WORDS)
    known = torch.nn.functional.nll_loss(scores.flatten(0, 1), wanted.flatten(), weights, ignore_index=-1)
    steps = torch.arange(scores.shape[1])[None, :]
    inside = (steps >= spans[:, :1]) & (steps <= spans[:, 1:2])
    kind = spans[:, 2].long()
    has = (kind > 0) & inside.any(1)
    of_word = scores.gather(2, kind[:, None, None].expand(-1, scores.shape[1], 1))[:, :, 0]
    best = torch.where(inside, of_word, torch.full_like(of_word, -20.0)).topk(4, dim=1).values.mean(1)
    without = (wanted == 0).all(1)
    alarms = -scores[:, :, 0].topk(_ALARM_STEPS, dim=1, largest=False).values.mean(1)
    return (
        known
        - 0.05 * (best * has).sum() / has.sum().clamp(min=1)
        + _ALARM * (alarms * without).sum() / without.sum().clamp(min=1)
    )


def train(
    network: KeywordNetwork, batches: Batches, minutes: float, *, size: int, rate: float, waits: bool
) -> KeywordNetwork:
    """Trains a part for so long, by a rate that falls to nothing. The second part leaves the first as it is; where the
    first is trained, the second is new, and is to be trained after it."""
    second = [*network.waits.parameters(), *network.waits_head.parameters()]
    for parameter in network.parameters():
        parameter.requires_grad_(not waits)
    for parameter in second:
        parameter.requires_grad_(waits)
    if waits:
        network.eval()
        network.waits.train()
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=rate, weight_decay=1e-3)
    began_s, number, running = time.monotonic(), 0, 0.0
    while (spent_s := time.monotonic() - began_s) < minutes * 60:
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (number + 1) / 200) * 0.5 * (1 + math.cos(math.pi * spent_s / minutes / 60))
        frames, wanted, spans = batches.draw(size)
        scores = network(frames)[int(waits)]
        loss = loss_of(scores, wanted, spans)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 2.0)
        optimiser.step()
        number += 1
        running += float(loss.detach())
        if number % 100 == 0:
            print(f"{spent_s:.0f} s, {number} batches, loss {running / 100:.4f}", flush=True)
            running = 0.0
    return network.eval()


def export(network: KeywordNetwork, out: Path) -> None:
    """Writes the network as it runs, block by block."""
    streaming = Streaming(network)
    powers, past = torch.zeros(1, 4, SIZE // 2 + 1), torch.zeros(1, sum(streaming.lengths))
    names = {"input_names": ["powers", "past"], "output_names": ["probabilities", "next"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the other exporter needs onnxscript
        torch.onnx.export(streaming, (powers, past), str(out), opset_version=17, dynamo=False, **names)
    print(f"{out}: {out.stat().st_size} bytes", flush=True)


def main() -> None:
    """Trains, exports."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sounds", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--init", type=Path, help="go on from this file, such as the one that is shipped")
    parser.add_argument(
        "--waits", action="store_true", help="train its second part, anew, and leave the first; takes --init"
    )
    parser.add_argument("--stretches", type=int, default=_STRETCHES)
    parser.add_argument("--over-own-voice", type=int, default=_OVER_OWN_VOICE, metavar="STRETCHES")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.waits and not arguments.init:
        parser.error("--waits takes --init: the second part begins with what the first has learnt")
    torch.manual_seed(arguments.seed)
    began_s = time.monotonic()
    clips = Clips(arguments.sounds, arguments.seed, waits=arguments.waits)
    alone = clips.pool(arguments.stretches, share=_SHARE)
    twice = [clips.over_own_voice(arguments.over_own_voice, share=_SHARE)] * 2 if arguments.over_own_voice else []
    pool = Pool.joined(alone, *twice)
    noises = clips.noises(_NOISES)
    print(f"{time.monotonic() - began_s:.0f} s: {len(pool.powers)} stretches, {len(noises)} noises", flush=True)
    network = exported(arguments.init) if arguments.init else KeywordNetwork()
    rate = _RATE_ON if arguments.init and not arguments.waits else _RATE
    batches = Batches(pool, noises, arguments.seed)
    trained = train(network, batches, arguments.minutes, size=arguments.batch, rate=rate, waits=arguments.waits)
    export(trained, arguments.out)


if __name__ == "__main__":
    main()
