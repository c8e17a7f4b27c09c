"""A Llama decoder in plain PyTorch, shaped as llama.cpp's "llama" architecture expects it.

RMSNorm, interleaved rotary positions, SwiGLU, tied embeddings, no biases. Needs the extra ``train``; the trainer of
``scripts/lab/train_nano`` uses it too. Knows nothing of files, tokens or tools.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import torch
import torch.nn.functional as F  # noqa: N812 - everybody calls it so
from torch import Tensor, nn

_WRITTEN_OUT: Final = 1024
"""Longest row whose scores are written out."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model; every width is a multiple of 32, so that Q8_0 fits."""

    vocabulary: int = 2048
    width: int = 256
    layers: int = 7
    heads: int = 4
    hidden: int = 704
    window: int = 4096
    rope_base: float = 10000.0
    epsilon: float = 1e-5


class RMSNorm(nn.Module):
    """Root mean square norm with a gain."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """x: (..., width)."""
        x32 = x.float()
        return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight).to(x.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotates pairs of neighbours (2i, 2i + 1).

    x: (rows, length, heads, head); cos, sin: (rows, length, 1, head / 2).
    """
    a, b = x.float().unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2).to(x.dtype)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention over (rows, heads, length, head).

    On a CPU short rows are written out: the compiler fuses the softmax, and two matrix products on AMX take half the
    time of the flash kernel's backward pass (measured at length 512). Long ones would not fit.
    """
    if q.is_cuda or q.shape[2] > _WRITTEN_OUT:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2) + mask
    return scores.softmax(-1, dtype=torch.float32).to(v.dtype) @ v


class DecoderBlock(nn.Module):
    """Attention and feed-forward, each behind a norm."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.attn_norm = RMSNorm(shape.width, shape.epsilon)
        self.ffn_norm = RMSNorm(shape.width, shape.epsilon)
        self.q = nn.Linear(shape.width, shape.width, bias=False)
        self.k = nn.Linear(shape.width, shape.width, bias=False)
        self.v = nn.Linear(shape.width, shape.width, bias=False)
        self.o = nn.Linear(shape.width, shape.width, bias=False)
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False)
        self.up = nn.Linear(shape.width, shape.hidden, bias=False)
        self.down = nn.Linear(shape.hidden, shape.width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """x: (rows, length, width); mask: (rows, 1, length, length), added to the scores."""
        h = self.attn_norm(x)
        q, k, v = (f(h).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        a = attend(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), mask)
        x = x + self.o(a.transpose(1, 2).flatten(2))
        h = self.ffn_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Nano(nn.Module):
    """The decoder."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(DecoderBlock(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.width, shape.epsilon)
        half = shape.width // shape.heads // 2
        frequencies = shape.rope_base ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = torch.arange(shape.window, dtype=torch.float32)[:, None] * frequencies
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                scale = 1 / math.sqrt(2 * shape.layers) if name.endswith(("o.weight", "down.weight")) else 1.0
                nn.init.normal_(parameter, std=0.02 if "embedding" in name else scale / math.sqrt(parameter.shape[1]))

    def forward(self, ids: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Logits, (rows, length, vocabulary), of ids and positions (rows, length) and an additive mask."""
        x = self.embedding(ids)
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return F.linear(self.norm(x), self.embedding.weight)


def block_mask(segments: Tensor, dtype: torch.dtype) -> Tensor:
    """Lets a token see earlier ones of the prefix (segment 0) and of its own segment. (rows, 1, length, length)."""
    length, device = segments.shape[1], segments.device
    same = (segments[:, None, :] == segments[:, :, None]) | (segments[:, None, :] == 0)
    seen = same & torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))[:, None]
