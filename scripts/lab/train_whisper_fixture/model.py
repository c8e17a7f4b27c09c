"""Whisper's architecture, as small as it gets: 80 mels, a window of 30 s, two layers on each side.

Knows nothing of data, and nothing of files but the export to CTranslate2. Names of the parts follow OpenAI's code.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional

MELS: Final = 80
WINDOW: Final = 1500
"""Positions of the encoder, 20 ms each: 30 s."""
CONTEXT: Final = 448
"""Positions of the decoder."""


class Attention(nn.Module):
    """Multi-head attention; keys have no bias, as in Whisper."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.value, self.out = (nn.Linear(width, width) for _ in range(3))
        self.key = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, source: Tensor, causal: bool, weights: bool = False) -> tuple[Tensor, Tensor | None]:
        """Gives the result, shape (batch, length, width), and the log of the weights if asked for."""
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, -1, self.heads, width // self.heads).transpose(1, 2)
            for part in (self.query(x), self.key(source), self.value(source))
        )
        if not weights:
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            return self.out(mixed.transpose(1, 2).reshape(batch, length, width)), None
        scores = functional.log_softmax(q @ k.transpose(2, 3) / math.sqrt(width // self.heads), dim=-1)
        return self.out((scores.exp() @ v).transpose(1, 2).reshape(batch, length, width)), scores


class Layer(nn.Module):
    """A layer of the encoder, or with ``cross`` of the decoder."""

    def __init__(self, width: int, heads: int, *, cross: bool) -> None:
        super().__init__()
        self.attn, self.attn_ln = Attention(width, heads), nn.LayerNorm(width)
        self.cross_attn = Attention(width, heads) if cross else None
        self.cross_attn_ln = nn.LayerNorm(width) if cross else None
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.mlp_ln = nn.LayerNorm(width)
        self.drop = nn.Dropout(0.05)

    def forward(self, x: Tensor, source: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        """Gives the result and the log of the cross attention's weights."""
        normed, weights = self.attn_ln(x), None
        x = x + self.drop(self.attn(normed, normed, source is not None)[0])
        if self.cross_attn is not None and self.cross_attn_ln is not None and source is not None:
            mixed, weights = self.cross_attn(self.cross_attn_ln(x), source, False, weights=True)
            x = x + self.drop(mixed)
        return x + self.drop(self.mlp(self.mlp_ln(x))), weights


class Whisper(nn.Module):
    """The model. Features are (batch, 80, frames) with any even number of frames up to 3,000."""

    def __init__(self, vocabulary: int, width: int = 64, heads: int = 2, layers: int = 2) -> None:
        super().__init__()
        self.heads, self.layers = heads, layers
        self.conv1 = nn.Conv1d(MELS, width, 3, padding=1)
        self.conv2 = nn.Conv1d(width, width, 3, stride=2, padding=1)
        rate = torch.exp(-math.log(10_000) / (width // 2 - 1) * torch.arange(width // 2))
        angle = torch.arange(WINDOW)[:, None] * rate[None]
        self.register_buffer("positions", torch.cat([angle.sin(), angle.cos()], dim=1))
        self.encoder = nn.ModuleList(Layer(width, heads, cross=False) for _ in range(layers))
        self.encoder_ln = nn.LayerNorm(width)
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(CONTEXT, width) * 0.01)
        self.decoder = nn.ModuleList(Layer(width, heads, cross=True) for _ in range(layers))
        self.decoder_ln = nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, features: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (batch, length, vocabulary), and the log of the last layer's attention to the sound."""
        x = functional.gelu(self.conv2(functional.gelu(self.conv1(features)))).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        for layer in self.encoder:
            x, _ = layer(x)
        source = self.encoder_ln(x)
        x = self.tokens(tokens) + self.places[: tokens.shape[1]]
        weights = x
        for layer in self.decoder:
            x, weights = layer(x, source)
        return self.decoder_ln(x) @ self.tokens.weight.T, weights


def export(model: Whisper, folder: Path, vocabulary: list[str], suppressed: list[int], first: list[int]) -> None:
    """Write config.json, model.bin (float16) and vocabulary.json for CTranslate2.

    Args:
        suppressed, first: Tokens that are never said, and those that no text begins with.
    """
    from ctranslate2.specs import whisper_spec

    def norm(spec: Any, part: nn.LayerNorm) -> None:
        spec.gamma, spec.beta = part.weight.data, part.bias.data

    def linear(spec: Any, *parts: nn.Linear) -> None:
        spec.weight = torch.cat([part.weight.data for part in parts])
        spec.bias = torch.cat(
            [part.bias.data if part.bias is not None else torch.zeros(len(part.weight)) for part in parts]
        )

    def layer(spec: Any, part: Layer) -> None:
        linear(spec.self_attention.linear[0], part.attn.query, part.attn.key, part.attn.value)
        linear(spec.self_attention.linear[1], part.attn.out)
        norm(spec.self_attention.layer_norm, part.attn_ln)
        if part.cross_attn is not None and part.cross_attn_ln is not None:
            linear(spec.attention.linear[0], part.cross_attn.query)
            linear(spec.attention.linear[1], part.cross_attn.key, part.cross_attn.value)
            linear(spec.attention.linear[2], part.cross_attn.out)
            norm(spec.attention.layer_norm, part.cross_attn_ln)
        linear(spec.ffn.linear_0, part.mlp[0])
        linear(spec.ffn.linear_1, part.mlp[2])
        norm(spec.ffn.layer_norm, part.mlp_ln)

    spec = whisper_spec.WhisperSpec(model.layers, model.heads, model.layers, model.heads)
    for one, conv in ((spec.encoder.conv1, model.conv1), (spec.encoder.conv2, model.conv2)):
        one.weight, one.bias = conv.weight.data, conv.bias.data
    spec.encoder.position_encodings.encodings = model.positions
    spec.decoder.position_encodings.encodings = model.places.data
    spec.decoder.embeddings.weight = model.tokens.weight.data
    spec.decoder.projection.weight = model.tokens.weight.data
    for part, parts in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        for one, made in zip(part.layer, parts, strict=True):
            layer(one, made)
    norm(spec.encoder.layer_norm, model.encoder_ln)
    norm(spec.decoder.layer_norm, model.decoder_ln)
    spec.config.suppress_ids, spec.config.suppress_ids_begin = suppressed, first
    spec.config.lang_ids = []
    spec.config.alignment_heads = [[model.layers - 1, head] for head in range(model.heads)]
    spec.register_vocabulary(vocabulary)
    spec.validate()
    spec.optimize(quantization="float16")
    spec.save(str(folder))
