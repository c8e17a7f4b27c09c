"""The network, and how it becomes a file for onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import torch
from torch import Tensor, nn

BANDS: Final = 25
FEATURES: Final = 183
UNITS: Final = 224
NARROW: Final = 192
"""Of the layer before the recurrent ones."""
MOST: Final = 7.0
"""Change of a band: 30 dB."""


class Network(nn.Module):
    """Two recurrent layers, and what they make of each band.

    Args:
        mean, std: Of the features. Shape (183,).
    """

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.narrow = nn.Linear(FEATURES, NARROW)
        self.first = nn.GRU(NARROW, UNITS, batch_first=True)
        self.second = nn.GRU(UNITS, UNITS, batch_first=True)
        self.out = nn.Linear(2 * UNITS, BANDS)

    def forward(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Of (batch, frames, 183) and a state of (2, batch, 224).

        Returns:
            By how much the energy of each band is to be changed, a natural logarithm, shape (batch, frames, 25), of the
            frame that came ``edgeagent.stt.enhancer.LATE`` frames before; and the new state.
        """
        given = torch.relu(self.narrow((features - self.mean) / self.std))
        first, one = self.first(given, state[:1])
        second, two = self.second(first, state[1:])
        change = MOST * torch.tanh(self.out(torch.cat((first, second), -1)) / MOST)
        return change, torch.cat((one, two))


def silent(batch: int) -> Tensor:
    """The state at the beginning."""
    return torch.zeros(2, batch, UNITS)


def export(network: Network, path: Path) -> None:
    """Write it for onnxruntime."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        network.eval(),
        (torch.zeros(1, 10, FEATURES), silent(1)),
        str(path),
        input_names=["features", "state"],
        output_names=["change", "new_state"],
        dynamic_axes={"features": {1: "frames"}, "change": {1: "frames"}},
        opset_version=17,
        dynamo=False,
    )
