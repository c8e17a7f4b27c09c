"""The trainer: generated dialogues in, checkpoints out, on a CPU.

    python train.py --run runs/nano --minutes 60
    python train.py --run runs/nano --minutes 60 --resume            # go on where it stopped
    python train.py --run runs/more --steps 4000 --init runs/nano/stable.pt   # more training, bigger corpus
    python train.py --run runs/more --minutes 30 --init models/nano.gguf --rate 1e-3   # the same from a model's file

A run folder holds a copy of the phrase files, tokenizer.json, last.pt (every few minutes), stable.pt (before the
learning rate falls: the one to go on from) and final.pt. The same seed and --steps give the same training.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import multiprocessing
import os
import shutil
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Final

import tokenizer as tokenizer_module
import torch
from generate import CORPUS, load_corpus
from rows import ROW, RowMaker
from template import CALL_END, CALL_START
from tokenizers import Tokenizer

from edgeagent.train import Batch, Loss, Nano, Optimizer, Shape, block_mask, read_weights, tensors

_AHEAD: Final = 4
"""Batches in preparation."""

_SAVE_EVERY_S: Final = 180.0
_LOG_EVERY: Final = 25
_EVAL_EVERY: Final = 250
_EVAL_BATCHES: Final = 3
_WARMUP: Final = 60
"""Steps."""

_HOLD: Final = 0.35
"""Part of the budget at the full learning rate; then it falls in a line to zero."""

_CLIP: Final = 1.0
_MODEL: Final = ".gguf"
_makers: list[RowMaker] = []
"""The one of this process, filled when the process starts."""


def _prepare(corpus: Path, tokenizer: Path, seed: str) -> None:
    os.nice(3)
    _makers.append(RowMaker(load_corpus(corpus), Tokenizer.from_file(str(tokenizer)), seed))


def _make(step: int, tokens: int) -> Batch:
    return _makers[0].batch(step, tokens)


def batches(run: Path, seed: str, first: int, tokens: int) -> Iterator[Batch]:
    """Batches of the steps from ``first`` on, prepared in another process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context, _prepare, (run / "corpus", run / "tokenizer.json", seed)) as pool:
        waiting: deque[Future[Batch]] = deque()
        step = first
        while True:
            while len(waiting) < _AHEAD:
                waiting.append(pool.submit(_make, step, tokens))
                step += 1
            yield waiting.popleft().result()


def schedule(step: int, progress: float) -> float:
    """The share of the full learning rate: a warm-up, a plateau, a line to zero."""
    return min(1.0, (step + 1) / _WARMUP, max(0.0, (1 - progress) / (1 - _HOLD)))


@torch.no_grad()
def exactness(model: Nano, made: list[Batch], tokenizer: Tokenizer) -> tuple[float, float]:
    """Of fresh dialogues with calls, those with every call token right (teacher-forced); of the rest, those without a call begun."""
    start, end = tokenizer.token_to_id(CALL_START), tokenizer.token_to_id(CALL_END)
    calls: list[bool] = []
    quiet: list[bool] = []
    for batch in made:
        ids, positions, segments, targets, weights = tensors(batch)
        with torch.autocast("cpu", torch.bfloat16):
            guess = model(ids, positions, block_mask(segments, torch.bfloat16)).argmax(-1)
        opened = torch.cumsum(targets == start, 1) - torch.cumsum(targets == end, 1)
        inside = ((opened > 0) | (targets == end)) & (weights > 0)
        wrong = inside & (guess != targets)
        begun = (guess == start) & (targets != start) & (weights >= 1.0)
        for row in range(ids.shape[0]):
            for segment in range(1, int(segments[row].max()) + 1):
                here = segments[row] == segment
                if (inside[row] & here).any():
                    calls.append(not bool((wrong[row] & here).any() | (begun[row] & here).any()))
                else:
                    quiet.append(not bool((begun[row] & here).any()))
    return sum(calls) / max(1, len(calls)), sum(quiet) / max(1, len(quiet))


def save(path: Path, model: Nano, optimizer: Optimizer, step: int, spent_s: float, seed: str) -> None:
    """Writes a checkpoint whole or not at all."""
    state = {
        "shape": dataclasses.asdict(model.shape),
        "model": model.state_dict(),
        "optimizer": optimizer.state(),
        "step": step,
        "spent_s": spent_s,
        "seed": seed,
    }
    torch.save(state, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def open_run(run: Path, init: Path | None, seed: str) -> Tokenizer:
    """Fills the run folder with the corpus of now and a tokenizer (that of ``init``, a checkpoint or GGUF, where given)."""
    run.mkdir(parents=True, exist_ok=True)
    if not (run / "corpus").exists():
        shutil.copytree(CORPUS, run / "corpus")
    path = run / "tokenizer.json"
    if not path.exists():
        if init is None:
            tokenizer_module.train(seed, run / "corpus").save(str(path))
        elif init.suffix == _MODEL:
            tokenizer_module.read(init).save(str(path))
        else:
            shutil.copy(init.parent / "tokenizer.json", path)
    return Tokenizer.from_file(str(path))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--minutes", type=float, help="budget in wall-clock minutes (not reproducible to the bit)")
    parser.add_argument("--steps", type=int, help="budget in steps (reproducible)")
    parser.add_argument("--resume", action="store_true", help="go on from last.pt of the run")
    parser.add_argument("--init", type=Path, help="checkpoint, or GGUF, whose weights to start from")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--tokens", type=int, default=16 * ROW, help="tokens a step")
    parser.add_argument("--rate", type=float, default=3e-3, help="highest learning rate")
    parser.add_argument("--optimizer", choices=("muon", "adamw"), default="muon")
    parser.add_argument("--layers", type=int, default=Shape().layers)
    parser.add_argument("--width", type=int, default=Shape().width)
    parser.add_argument("--hidden", type=int, default=Shape().hidden)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--eager", action="store_true", help="do not compile (no C++ compiler needed)")
    args = parser.parse_args()
    if args.minutes is None and args.steps is None:
        parser.error("give --minutes or --steps")
    return args


def main() -> None:
    """Trains."""
    args = arguments()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(args.threads)
    torch.manual_seed(int.from_bytes(args.seed.encode(), "big") % 2**31)
    tokenizer = open_run(args.run, args.init, args.seed)
    shape = Shape(vocabulary=tokenizer.get_vocab_size(), width=args.width, layers=args.layers, hidden=args.hidden)
    given = read_weights(args.init) if args.init is not None and args.init.suffix == _MODEL else None
    model = Nano(shape if given is None else given.shape)
    optimizer = Optimizer(model, rate=args.rate, muon=args.optimizer == "muon")
    step, spent_s = 0, 0.0
    source = args.run / "last.pt" if args.resume else args.init
    if given is not None and not args.resume:
        model.load_state_dict(given.state)
    elif source is not None:
        state = torch.load(source, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.restore(state["optimizer"])
        if args.resume:
            step, spent_s = state["step"], state["spent_s"]
    loss_of = Loss(model)
    short_loss = loss_of if args.eager else torch.compile(loss_of, dynamic=False)
    maker = RowMaker(load_corpus(args.run / "corpus"), tokenizer, f"{args.seed} evaluation")
    fresh = [maker.batch(i, 8192) for i in range(_EVAL_BATCHES)]
    size = sum(p.numel() for p in model.parameters())
    print(f"{size / 1e6:.2f} M parameters, {args.optimizer}, rate {args.rate}, {args.tokens} tokens a step", flush=True)

    begun = saved = logged = time.monotonic()
    seen, total_loss, counted, held = 0, 0.0, 0, step > 0
    for batch in batches(args.run, args.seed, step, args.tokens):
        elapsed = time.monotonic() - begun + spent_s
        progress = max(elapsed / (args.minutes * 60) if args.minutes else 0.0, step / args.steps if args.steps else 0.0)
        if progress >= 1:
            break
        if progress >= _HOLD and not held:
            held = True
            save(args.run / "stable.pt", model, optimizer, step, elapsed, args.seed)
        # 1. forward and backward
        function = short_loss if batch.ids.shape[1] == ROW else loss_of
        with torch.autocast("cpu", torch.bfloat16):
            loss = function(*tensors(batch))
        loss.backward()
        # 2. update
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        if math.isfinite(float(norm)):
            optimizer.step(schedule(step, progress))
        step += 1
        seen += batch.ids.size
        if batch.ids.shape[1] == ROW:
            total_loss, counted = total_loss + float(loss.detach()), counted + 1
        # 3. report and save
        now = time.monotonic()
        if step % _LOG_EVERY == 0:
            left = (now - begun + spent_s) * (1 - progress) / max(progress, 1e-9)
            print(
                f"step {step}  loss {total_loss / max(1, counted):.4f}  norm {float(norm):.2f}  rate x{schedule(step, progress):.3f}  "
                f"{seen / (now - logged):.0f} tokens/s  {progress:.1%}  {left / 60:.0f} min left",
                flush=True,
            )
            seen, total_loss, counted, logged = 0, 0.0, 0, now
        if step % _EVAL_EVERY == 0:
            exact, quiet = exactness(model, fresh, tokenizer)
            print(f"step {step}  fresh draws: calls exact {exact:.1%}, no call where none {quiet:.1%}", flush=True)
            logged = time.monotonic()
        if now - saved > _SAVE_EVERY_S:
            save(args.run / "last.pt", model, optimizer, step, now - begun + spent_s, args.seed)
            saved = now
    exact, quiet = exactness(model, fresh, tokenizer)
    print(f"end at step {step}  fresh draws: calls exact {exact:.1%}, no call where none {quiet:.1%}", flush=True)
    save(args.run / "last.pt", model, optimizer, step, time.monotonic() - begun + spent_s, args.seed)
    shutil.copy(args.run / "last.pt", args.run / "final.pt")


if __name__ == "__main__":
    main()
