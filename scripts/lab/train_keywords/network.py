"""The keyword network: causal depthwise convolutions over log-mel frames, on the lines of microWakeWord's MixedNet.

Trains on whole stretches and runs block by block: what the convolutions remember travels as one tensor, so that the
exported graph has no state of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import onnx
import torch
from mixing import FLOOR, MELS, WORDS, filters
from torch import Tensor, nn

CHANNELS: Final = 112
DILATIONS: Final = (1, 2, 4, 1, 2, 4)
"""With five taps at 20 ms a step, 1.2 s of the past."""
SHARED: Final = 3
"""Blocks that both parts begin with: the second one's own have the dilations of the others."""
_TAPS: Final = 5
_SHIFT, _SCALE = 4.0, 4.0
"""Of the features, so that they are about 0 and 1 wide."""


class _Causal(nn.Module):
    """A convolution over time and what it remembers between blocks."""

    def __init__(self, conv: nn.Conv1d) -> None:
        super().__init__()
        self.conv = conv
        self.past = (conv.kernel_size[0] - 1) * conv.dilation[0] + 1 - conv.stride[0]
        self.width = conv.in_channels

    def forward(self, x: Tensor, past: Tensor | None) -> tuple[Tensor, Tensor]:
        """Shape (batch, channels, steps); ``past`` as returned by the block before, None: silence."""
        joined = nn.functional.pad(x, (self.past, 0)) if past is None else torch.cat((past, x), dim=2)
        return self.conv(joined), joined[:, :, -self.past :]


class _Block(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        wide = nn.Conv1d(CHANNELS, CHANNELS, _TAPS, dilation=dilation, groups=CHANNELS, bias=False)
        self.deep = _Causal(wide)
        self.after = nn.Sequential(
            nn.BatchNorm1d(CHANNELS), nn.ReLU(), nn.Conv1d(CHANNELS, CHANNELS, 1, bias=False), nn.BatchNorm1d(CHANNELS)
        )

    def forward(self, x: Tensor, past: Tensor | None) -> tuple[Tensor, Tensor]:
        deep, kept = self.deep(x, past)
        return torch.relu(x + self.after(deep)), kept


class KeywordNetwork(nn.Module):
    """Log-mel frames of 10 ms in, log probabilities of nothing and of each word out, every 20 ms: once of the stop
    words, once of the phrases that make motion wait.

    The second part begins with the first blocks of the first one, and may be trained without a change to that.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = _Causal(nn.Conv1d(MELS, CHANNELS, 3, stride=2, bias=False))
        self.norm = nn.BatchNorm1d(CHANNELS)
        self.blocks = nn.ModuleList(_Block(dilation) for dilation in DILATIONS)
        self.head = nn.Conv1d(CHANNELS, WORDS + 1, 1)
        self.waits = nn.ModuleList(_Block(dilation) for dilation in DILATIONS[SHARED:])
        self.waits_head = nn.Conv1d(CHANNELS, WORDS + 1, 1)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Channels and steps of what each convolution remembers."""
        deep = (block.deep for block in (*self.blocks, *self.waits))
        return [(one.width, one.past) for one in (self.first, *deep)]

    def forward(self, frames: Tensor, pasts: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor, list[Tensor]]:
        """Shapes (batch, frames, MELS) to (batch, frames / 2, WORDS + 1), twice, and what is remembered."""
        x = (frames.transpose(1, 2) + _SHIFT) / _SCALE
        given: Sequence[Tensor | None] = pasts or [None] * len(self.sizes)
        x, kept = self.first(x, given[0])
        left = [kept]
        shared = x = torch.relu(self.norm(x))
        for number, block in enumerate(self.blocks, start=1):
            x, kept = block(x, given[len(left)])
            left.append(kept)
            shared = x if number == SHARED else shared
        words = torch.log_softmax(self.head(x).transpose(1, 2), dim=2)
        x = shared
        for block in self.waits:
            x, kept = block(x, given[len(left)])
            left.append(kept)
        return words, torch.log_softmax(self.waits_head(x).transpose(1, 2), dim=2), left


def exported(path: Path) -> KeywordNetwork:
    """Returns the first part of the network of a file that ``Streaming`` was written to; the second is new. Its
    normalisation is in the weights there, so the first part is in evaluation mode, also for more training."""
    graph = onnx.load(path).graph
    kept = {each.name: torch.tensor(onnx.numpy_helper.to_array(each)) for each in graph.initializer}
    network = KeywordNetwork().eval()
    convolutions = [node.input[1:] for node in graph.node if node.op_type == "Conv"]
    with torch.no_grad():
        for (conv, norm), (weight, bias) in zip(_normalised(network), convolutions, strict=False):
            conv.weight.copy_(kept[weight])
            norm.bias.copy_(kept[bias])
            norm.running_var.fill_(1.0 - norm.eps)
        network.head.weight.copy_(kept["network.head.weight"])
        network.head.bias.copy_(kept["network.head.bias"])
    return network


def _normalised(network: KeywordNetwork) -> Iterator[tuple[nn.Conv1d, nn.BatchNorm1d]]:
    yield network.first.conv, network.norm
    for block in network.blocks:
        yield block.deep.conv, block.after[0]
        yield block.after[2], block.after[3]


class Streaming(nn.Module):
    """The network as it is exported: power spectra of frames and one tensor of the past in, probabilities and the next
    past out."""

    mel: Tensor

    def __init__(self, network: KeywordNetwork) -> None:
        super().__init__()
        self.network = network
        self.lengths = [width * steps for width, steps in network.sizes]
        self.register_buffer("mel", torch.as_tensor(filters()).T.contiguous())

    def forward(self, powers: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        parts = torch.split(past, self.lengths, dim=1)
        pasts = [part.reshape(1, *size) for part, size in zip(parts, self.network.sizes, strict=True)]
        words, waits, left = self.network(torch.log(powers @ self.mel + FLOOR), pasts)
        return torch.cat((words, waits), dim=2).exp(), torch.cat([one.reshape(1, -1) for one in left], dim=1)
