"""Muon in float32: momentum whose updates are made orthogonal, for the matrices of a model on a CPU.

Needs the extra ``train``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch
from torch import Tensor

_MOMENTUM: Final = 0.95
_DECAY: Final = 0.05
_A, _B, _C = 3.4445, -4.775, 2.0315
"""Coefficients of the iteration, which brings singular values to about 1 and no nearer (Jordan et al. 2024, Muon)."""
_TIMES: Final = 5
_LEAST: Final = 1e-7
_RMS: Final = 0.2
"""Root mean square of AdamW's updates, which these match, so that both take one learning rate (Liu et al. 2025, Muon is
scalable)."""


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
