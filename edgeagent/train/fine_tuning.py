"""Training of nano on rows of tokens, on a CPU: the loss, the optimizer, and a fine-tuning with a time budget.

Needs the extra ``train``. Knows nothing of tools or phrases. On the calling thread; PyTorch uses the other cores.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
import torch.nn.functional as F  # noqa: N812 - everybody calls it so
from torch import Tensor

from edgeagent.llm.native import usable_cores
from edgeagent.train.encoding import Batch
from edgeagent.train.nano import Nano, block_mask
from edgeagent.train.weights import Weights

_CLIP: Final = 1.0
_WARMUP: Final = 15
"""Steps until the full learning rate."""
_HOLD: Final = 0.4
"""Part of the budget at the full learning rate; then it falls in a line to zero."""
_LOOKS: Final = 30
"""Times that the loss on phrases kept apart is measured."""
_TRIALS: Final = 2
"""Passes that are timed in each precision; the first of them warms up."""
_HOPELESS: Final = 3.0
"""Times that a first pass with all threads may take of one with one thread."""


_MOMENTUM: Final = 0.95
_DECAY: Final = 0.05
_A, _B, _C = 3.4445, -4.775, 2.0315
"""Coefficients of the iteration, which brings singular values to about 1 and no nearer (Jordan et al. 2024, Muon)."""
_TIMES: Final = 5
_LEAST: Final = 1e-7
_RMS: Final = 0.2
"""Root mean square of AdamW's updates, which these match, so that both take one learning rate (Liu et al. 2025, Muon is
scalable)."""


class Loss(torch.nn.Module):
    """Weighted cross-entropy of a batch, in one graph with the model so that a compiler sees both."""

    def __init__(self, model: Nano) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
        """The mean over weights."""
        logits = self.model(ids, positions, block_mask(segments, torch.bfloat16))
        losses = F.cross_entropy(logits.float().flatten(0, 1), targets.flatten(), reduction="none")
        return (losses * weights.flatten()).sum() / weights.sum()


def tensors(batch: Batch, device: str = "cpu") -> tuple[Tensor, ...]:
    """The batch as Loss takes it."""
    return tuple(torch.from_numpy(getattr(batch, field.name)).to(device) for field in dataclasses.fields(batch))


class Optimizer:
    """Muon for the matrices of the blocks, AdamW for the embedding and the gains; one schedule."""

    def __init__(self, model: Nano, *, rate: float, muon: bool) -> None:
        matrices = [p for n, p in model.named_parameters() if p.dim() == 2 and "embedding" not in n]
        rest = [p for n, p in model.named_parameters() if p.dim() < 2 or "embedding" in n]
        first: torch.optim.Optimizer
        if muon and matrices[0].is_cuda:
            first = torch.optim.Muon(
                matrices, lr=rate, weight_decay=_DECAY, momentum=_MOMENTUM, adjust_lr_fn="match_rms_adamw"
            )
        elif muon:
            first = Muon(matrices, lr=rate)
        else:
            first = torch.optim.AdamW(matrices, lr=rate, betas=(0.9, 0.95), weight_decay=_DECAY, fused=True)
        self._parts = (first, torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True))
        self._rate = rate

    def step(self, scale: float) -> None:
        """One step at a share of the full rate; clears the gradients."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = self._rate * scale
            part.step()
            part.zero_grad(set_to_none=True)

    def state(self) -> list[Any]:
        """For a checkpoint."""
        return [p.state_dict() for p in self._parts]

    def restore(self, state: list[Any]) -> None:
        """From a checkpoint."""
        for part, one in zip(self._parts, state, strict=True):
            part.load_state_dict(one)


class Muon(torch.optim.Optimizer):
    """The optimizer as PyTorch has it, in float32.

    ``torch.optim.Muon`` computes in bfloat16. A CPU without instructions for that needs 16 s for a step of nano's
    matrices, and 0.4 s in float32 (two cores of an EPYC with AVX2).
    """

    def __init__(self, matrices: Iterable[Tensor], *, lr: float) -> None:
        super().__init__(matrices, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Makes one step at the groups' learning rates, and returns what the closure does, which computes gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for matrix in group["params"]:
                if matrix.grad is not None:
                    self._move(matrix, matrix.grad, group["lr"])
        return loss

    def _move(self, matrix: Tensor, gradient: Tensor, rate: float) -> None:
        state = self.state[matrix]
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        state["momentum"].lerp_(gradient, 1 - _MOMENTUM)
        update = _orthogonal(gradient.lerp(state["momentum"], _MOMENTUM))
        matrix.mul_(1 - rate * _DECAY)
        matrix.add_(update, alpha=-rate * _RMS * math.sqrt(max(matrix.shape)))


def _orthogonal(update: Tensor) -> Tensor:
    """The nearest matrix with singular values of about 1, by a Newton-Schulz iteration."""
    tall = update.shape[0] > update.shape[1]
    x = update.T if tall else update
    x = x / x.norm().clamp(min=_LEAST)
    for _ in range(_TIMES):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=_B, alpha=_C), x, beta=_A)
    return x.T if tall else x


# --- a fine-tuning ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LossPoint:
    """The state of a training after a step."""

    step: int
    share: float
    """Part of the budget that is spent, from 0 to 1."""
    loss: float
    apart: float | None
    """Loss on phrases kept apart, where it was measured after this step."""
    tokens_per_s: float
    left_s: float


@dataclass(frozen=True, slots=True)
class TrainingBudget:
    """The end of a training: seconds of the clock, or steps, which a seed makes repeatable."""

    seconds: float | None = None
    steps: int | None = None

    def share(self, elapsed_s: float, step: int) -> float:
        """The part that is spent."""
        spent = [elapsed_s / self.seconds] if self.seconds else []
        return max([*spent, *([step / self.steps] if self.steps else [])], default=1.0)


def tune(
    weights: Weights,
    batches: Iterator[Batch],
    budget: TrainingBudget,
    *,
    apart: Batch | None,
    rate: float,
    told: Callable[[LossPoint], object],
) -> dict[str, Tensor]:
    """Trains a model further.

    Args:
        apart: Rows whose loss is measured now and then, and that are never trained on.
        rate: The highest learning rate.
        told: Called after each step.

    Returns:
        The new weights.
    """
    torch.manual_seed(0)
    model = Nano(weights.shape)
    model.load_state_dict(weights.state)
    loss_of, optimizer = Loss(model), Optimizer(model, rate=rate, muon=True)
    begun = time.monotonic()
    half = _fastest(loss_of, next(batches))
    step, looked, seen = 0, -1, 0
    for batch in batches:
        share = budget.share(time.monotonic() - begun, step)
        if share >= 1:
            break
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = loss_of(*tensors(batch))
        loss.backward()  # type: ignore[no-untyped-call,unused-ignore]
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), _CLIP)
        if math.isfinite(float(norm)):
            optimizer.step(min(1.0, (step + 1) / _WARMUP, (1 - share) / (1 - _HOLD)))
        else:
            model.zero_grad(set_to_none=True)
        step, seen = step + 1, seen + batch.ids.size
        elapsed = time.monotonic() - begun
        share = min(1.0, budget.share(elapsed, step))
        measured: float | None = None
        if apart is not None and int(share * _LOOKS) > looked:
            looked = int(share * _LOOKS)
            measured = _measured(loss_of, apart, half=half)
        told(LossPoint(step, share, float(loss.detach()), measured, seen / elapsed, elapsed * (1 - share) / share))
    return {name: tensor.detach() for name, tensor in model.state_dict().items()}


@torch.no_grad()
def _measured(loss_of: Loss, batch: Batch, *, half: bool) -> float:
    with torch.autocast("cpu", torch.bfloat16, enabled=half):
        return float(loss_of(*tensors(batch)))


def _fastest(loss_of: Loss, batch: Batch) -> bool:
    """Compares float32 with bfloat16, then one thread with all; leaves PyTorch with the better number of threads.

    bfloat16 is several times as fast on some CPUs and as slow on others. On a machine with other work threads that wait
    for each other are slower than one.

    Returns:
        True for bfloat16.
    """
    row = Batch(*(getattr(batch, field.name)[:1] for field in dataclasses.fields(batch)))

    def taken(threads: int, *, half: bool) -> float:
        """Seconds of a pass."""
        torch.set_num_threads(threads)
        begun = time.monotonic()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss_of(*tensors(row)).backward()
        loss_of.zero_grad(set_to_none=True)
        return time.monotonic() - begun

    ways = {half: min(taken(1, half=half) for _ in range(_TRIALS)) for half in (True, False)}
    half = ways[True] < ways[False]
    every = usable_cores()
    # a first pass warms up, but not for so long
    if every > 1 and (taken(every, half=half) > _HOPELESS * ways[half] or taken(every, half=half) > ways[half]):
        torch.set_num_threads(1)
    return half
