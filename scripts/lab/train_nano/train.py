"""The trainer: generated dialogues in, checkpoints out, on a CPU or on a CUDA device if there is one.

    python train.py --run runs/nano --minutes 60
    python train.py --run runs/nano --minutes 60 --resume            # go on where it stopped
    python train.py --run runs/more --steps 4000 --init runs/nano/stable.pt   # more training, bigger corpus
    python train.py --run runs/more --minutes 30 --init models/nano.gguf --rate 1e-3   # the same from a model's file
    python train.py --run runs/sizes --minutes 60 --sizes 256x7x704,384x9x1152   # several sizes, the same rows

A run folder holds a copy of the phrase files, tokenizer.json, last.pt (every few minutes), stable.pt (before the
learning rate falls: the one to go on from) and final.pt; of several sizes, each has these in a folder of its own. The
same seed and --steps give the same training.
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
_HEAD: Final = 64
"""Width of a head of attention."""
_MODEL: Final = ".gguf"
_makers: list[RowMaker] = []
"""The one of this process, filled when the process starts."""


def _prepare(corpus: Path, tokenizer: Path, seed: str) -> None:
    os.nice(3)
    _makers.append(RowMaker(load_corpus(corpus), Tokenizer.from_file(str(tokenizer)), seed))


def _make(step: int, tokens: int) -> Batch:
    return _makers[0].batch(step, tokens)


def batches(run: Path, seed: str, first: int, tokens: int, makers: int) -> Iterator[Batch]:
    """Batches of the steps from ``first`` on, prepared in other processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(makers, context, _prepare, (run / "corpus", run / "tokenizer.json", seed)) as pool:
        waiting: deque[Future[Batch]] = deque()
        step = first
        while True:
            while len(waiting) < _AHEAD * makers:
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
    device = model.embedding.weight.device.type
    for batch in made:
        ids, positions, segments, targets, weights = tensors(batch)
        with torch.compiler.set_stance("force_eager"), torch.autocast(device, torch.bfloat16):
            mask = block_mask(segments.to(device), torch.bfloat16)
            guess = model(ids.to(device), positions.to(device), mask).argmax(-1).cpu()
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


class Trainee:
    """A model that is trained, its optimizer and its folder.

    Args:
        folder: Where its checkpoints go.
        shape: Its sizes.
        source: A checkpoint or a GGUF to begin from; None begins anew.
        args: The command line.
        device: "cpu" or "cuda".
    """

    def __init__(self, folder: Path, shape: Shape, source: Path | None, args: argparse.Namespace, device: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self._device, self._seed = folder, device, args.seed
        torch.manual_seed(int.from_bytes(args.seed.encode(), "big") % 2**31)
        self.model = Nano(shape).to(device)
        self._optimizer = Optimizer(self.model, rate=args.rate, muon=args.optimizer == "muon")
        self.step, self.spent_s = 0, 0.0
        if source is not None and source.suffix == _MODEL:
            self.model.load_state_dict(read_weights(source).state)
        elif source is not None:
            state = torch.load(source, weights_only=True, map_location=device)
            self.model.load_state_dict(state["model"])
            self._optimizer.restore(state["optimizer"])
            if args.resume:
                self.step, self.spent_s = state["step"], state["spent_s"]
        self._loss_of = Loss(self.model)
        whole = device == "cpu" and not args.eager
        self._short_loss = torch.compile(self._loss_of, dynamic=False) if whole else self._loss_of
        if device == "cuda" and not args.eager:  # block by block: the whole takes minutes to compile
            for block in self.model.blocks:
                block.compile(dynamic=False)
        self.held = self.step > 0
        self._norm = torch.zeros(())
        self._losses: list[torch.Tensor] = []

    @property
    def size(self) -> str:
        """Its sizes, as --sizes has them."""
        shape = self.model.shape
        return f"{shape.width}x{shape.layers}x{shape.hidden}"

    def look_at(self, given: tuple[torch.Tensor, ...]) -> None:
        """Forward and backward."""
        short = given[0].shape[1] == ROW
        stance = "default" if short else "force_eager"  # long rows are rare, and would be compiled apart
        with torch.compiler.set_stance(stance), torch.autocast(self._device, torch.bfloat16):
            loss = (self._short_loss if short else self._loss_of)(*given)
            loss.backward()
        self._norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), _CLIP)
        if short:
            self._losses.append(loss.detach())

    def learn(self, scale: float) -> None:
        """One step of the optimizer at a share of the full rate."""
        if math.isfinite(float(self._norm)):
            self._optimizer.step(scale)
        self.step += 1

    def report(self) -> str:
        """Tells the loss since the last report."""
        loss = sum(map(float, self._losses)) / max(1, len(self._losses))
        self._losses.clear()
        return f"loss {loss:.4f}  norm {float(self._norm):.2f}"

    def save(self, name: str, spent_s: float) -> None:
        """Writes a checkpoint whole or not at all."""
        path = self.folder / name
        state = {
            "shape": dataclasses.asdict(self.model.shape),
            "model": self.model.state_dict(),
            "optimizer": self._optimizer.state(),
            "step": self.step,
            "spent_s": spent_s,
            "seed": self._seed,
        }
        torch.save(state, path.with_suffix(".tmp"))
        path.with_suffix(".tmp").replace(path)


def shapes(args: argparse.Namespace, vocabulary: int) -> list[Shape]:
    """The sizes that are asked for; else that of the model to begin from, or nano's."""
    if args.sizes is None:
        return [_shape_of(args.init) or Shape(vocabulary=vocabulary)]
    found = []
    for text in args.sizes.split(","):
        width, layers, hidden = map(int, text.split("x"))
        found.append(Shape(vocabulary, width, layers, heads=width // _HEAD, hidden=hidden))
    return found


def _shape_of(init: Path | None) -> Shape | None:
    if init is None:
        return None
    if init.suffix == _MODEL:
        return read_weights(init).shape
    return Shape(**torch.load(init, weights_only=True, map_location="cpu")["shape"])


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
    parser.add_argument("--sizes", help="WIDTHxLAYERSxHIDDEN, several with commas; --init is for the one that fits")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--makers", type=int, default=1, help="processes that make dialogues")
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
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = open_run(args.run, args.init, args.seed)
    sizes, given = shapes(args, tokenizer.get_vocab_size()), _shape_of(args.init)
    trainees = []
    for shape in sizes:
        folder = args.run if len(sizes) == 1 else args.run / f"{shape.width}x{shape.layers}x{shape.hidden}"
        source = folder / "last.pt" if args.resume else args.init if shape == given else None
        trainees.append(Trainee(folder, shape, source, args, device))
    maker = RowMaker(load_corpus(args.run / "corpus"), tokenizer, f"{args.seed} evaluation")
    fresh = [maker.batch(i, 8192) for i in range(_EVAL_BATCHES)]
    for one in trainees:
        parameters = sum(p.numel() for p in one.model.parameters())
        print(f"{one.size}: {parameters / 1e6:.2f} M parameters, {args.tokens} tokens a step, on {device}", flush=True)

    def evaluate() -> None:
        for one in trainees:
            exact, quiet = exactness(one.model, fresh, tokenizer)
            print(
                f"{one.size} step {one.step}  fresh: calls exact {exact:.1%}, no call where none {quiet:.1%}",
                flush=True,
            )

    step, spent_s = trainees[0].step, trainees[0].spent_s
    begun = saved = logged = time.monotonic()
    seen = 0
    for batch in batches(args.run, args.seed, step, args.tokens, args.makers):
        elapsed = time.monotonic() - begun + spent_s
        progress = max(elapsed / (args.minutes * 60) if args.minutes else 0.0, step / args.steps if args.steps else 0.0)
        if progress >= 1:
            break
        held = progress >= _HOLD and not trainees[0].held
        moved = tensors(batch, device)
        for one in trainees:
            if held:
                one.held = True
                one.save("stable.pt", elapsed)
            one.look_at(moved)
        for one in trainees:
            one.learn(schedule(step, progress))
        step += 1
        seen += batch.ids.size
        now = time.monotonic()
        if step % _LOG_EVERY == 0:
            left = (now - begun + spent_s) * (1 - progress) / max(progress, 1e-9)
            print(
                f"step {step}  {'; '.join(one.report() for one in trainees)}  rate x{schedule(step, progress):.3f}  "
                f"{seen / (now - logged):.0f} tokens/s  {progress:.1%}  {left / 60:.0f} min left",
                flush=True,
            )
            seen, logged = 0, now
        if step % _EVAL_EVERY == 0:
            evaluate()
            logged = time.monotonic()
        if now - saved > _SAVE_EVERY_S:
            for one in trainees:
                one.save("last.pt", now - begun + spent_s)
            saved = now
    evaluate()
    for one in trainees:
        one.save("last.pt", time.monotonic() - begun + spent_s)
        shutil.copy(one.folder / "last.pt", one.folder / "final.pt")


if __name__ == "__main__":
    main()
