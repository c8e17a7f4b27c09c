"""What llama.cpp wants of a model file, by architecture: the keys of its header, the names and shapes of its tensors.

Only what a text model needs. Shapes have rows (outputs) before columns (inputs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

Layout = dict[str, tuple[int, ...]]
"""Tensors by name."""

#: What the norm before the output is called; LFM2 got a name of its own.
FINAL_NORMS: Final = ("output_norm.weight", "token_embd_norm.weight")

NORM_EPSILON: Final = 1e-6

_CONVOLUTION: Final = 4
_SHORT_CONVOLUTION: Final = 3
_STATE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How large a model is."""

    architecture: str
    layers: int = 2
    width: int = 64
    heads: int = 2
    kv_heads: int = 1
    head: int = 32
    """Numbers in one attention head. 32 are a block of a quantised KV cache."""
    feed_forward: int = 128
    trained_tokens: int = 8192
    tied: bool = False
    """Whether one table serves as embedding and as output."""

    @property
    def kv_width(self) -> int:
        """Numbers in the keys of one token and layer."""
        return self.head * self.kv_heads


def keys(shape: Shape) -> dict[str, Any]:
    """The header's keys, for ``gguf_file.packed``."""
    general = {
        "context_length": shape.trained_tokens,
        "embedding_length": shape.width,
        "block_count": shape.layers,
        "feed_forward_length": shape.feed_forward,
        "attention.head_count": shape.heads,
        "attention.head_count_kv": shape.kv_heads,
        "attention.key_length": shape.head,
        "attention.value_length": shape.head,
        "attention.layer_norm_rms_epsilon": NORM_EPSILON,
        "rope.dimension_count": shape.head,
    }
    own = general | (_KEYS[shape.architecture](shape) if shape.architecture in _KEYS else {})
    return {"general.architecture": shape.architecture} | {f"{shape.architecture}.{key}": own[key] for key in own}


def tensors(shape: Shape, vocabulary: int) -> Layout:
    """The tensors of such a model with so many tokens, in the order of the file."""
    layout: Layout = {"token_embd.weight": (vocabulary, shape.width)}
    if shape.architecture == "gemma4":
        layout["rope_freqs.weight"] = (shape.head // 2,)
    for i in range(shape.layers):
        layout |= {f"blk.{i}.{name}": size for name, size in _BLOCKS[shape.architecture](shape, i).items()}
    layout[FINAL_NORMS[shape.architecture == "lfm2"]] = (shape.width,)
    if not shape.tied:
        layout["output.weight"] = (vocabulary, shape.width)
    return layout


def _attention(shape: Shape) -> Layout:
    queries, width = shape.head * shape.heads, shape.width
    return {
        "attn_norm.weight": (width,),
        "attn_q.weight": (queries, width),
        "attn_k.weight": (shape.kv_width, width),
        "attn_v.weight": (shape.kv_width, width),
        "attn_output.weight": (width, queries),
    }


def _feed_forward(shape: Shape) -> Layout:
    inner, width = shape.feed_forward, shape.width
    return {
        "ffn_norm.weight": (width,),
        "ffn_gate.weight": (inner, width),
        "ffn_up.weight": (inner, width),
        "ffn_down.weight": (width, inner),
    }


def _head_norms(shape: Shape) -> Layout:
    return {"attn_q_norm.weight": (shape.head,), "attn_k_norm.weight": (shape.head,)}


def _llama(shape: Shape, _: int) -> Layout:
    return _attention(shape) | _feed_forward(shape)


def _qwen2(shape: Shape, layer: int) -> Layout:
    return _llama(shape, layer) | {
        "attn_q.bias": (shape.width,),
        "attn_k.bias": (shape.kv_width,),
        "attn_v.bias": (shape.kv_width,),
    }


def _qwen3(shape: Shape, layer: int) -> Layout:
    return _llama(shape, layer) | _head_norms(shape)


def _qwen35(shape: Shape, layer: int) -> Layout:
    """Every second layer attends, with a gate on its output; the others are gated delta nets."""
    width, values = shape.width, _delta_values(shape)
    ends = {"attn_norm.weight": (width,), "post_attention_norm.weight": (width,)} | _feed_forward(shape)
    del ends["ffn_norm.weight"]
    if layer % 2:
        queries = {"attn_q.weight": (2 * shape.head * shape.heads, width)}
        return _attention(shape) | queries | _head_norms(shape) | ends
    mixed = 2 * _STATE * shape.kv_heads + values
    return ends | {
        "attn_qkv.weight": (mixed, width),
        "attn_gate.weight": (values, width),
        "ssm_conv1d.weight": (mixed, _CONVOLUTION),
        "ssm_dt.bias": (shape.heads,),
        "ssm_a": (shape.heads,),
        "ssm_beta.weight": (shape.heads, width),
        "ssm_alpha.weight": (shape.heads, width),
        "ssm_norm.weight": (_STATE,),
        "ssm_out.weight": (width, values),
    }


def _delta_values(shape: Shape) -> int:
    return _STATE * shape.heads


def _gemma(shape: Shape, layer: int) -> Layout:
    after = {"post_attention_norm.weight": (shape.width,), "post_ffw_norm.weight": (shape.width,)}
    return _llama(shape, layer) | after


def _gemma4(shape: Shape, layer: int) -> Layout:
    return _gemma(shape, layer) | _head_norms(shape) | {"layer_output_scale.weight": (1,)}


def _phi3(shape: Shape, layer: int) -> Layout:
    """Queries, keys and values in one matrix, gate and up in another."""
    fused = _llama(shape, layer)
    for name in ("attn_q", "attn_k", "attn_v", "ffn_gate"):
        del fused[f"{name}.weight"]
    return fused | {
        "attn_qkv.weight": (shape.width + 2 * shape.kv_width, shape.width),
        "ffn_up.weight": (2 * shape.feed_forward, shape.width),
    }


def _lfm2(shape: Shape, layer: int) -> Layout:
    """Every second layer attends, the others are gated short convolutions."""
    if layer % 2:
        return _qwen3(shape, layer)
    width = shape.width
    return _feed_forward(shape) | {
        "attn_norm.weight": (width,),
        "shortconv.conv.weight": (width, _SHORT_CONVOLUTION),
        "shortconv.in_proj.weight": (3 * width, width),
        "shortconv.out_proj.weight": (width, width),
    }


def _mamba(shape: Shape, _: int) -> Layout:
    width, inner, rank = shape.width, 2 * shape.width, _time_step_rank(shape)
    return {
        "attn_norm.weight": (width,),
        "ssm_in.weight": (2 * inner, width),
        "ssm_conv1d.weight": (inner, _CONVOLUTION),
        "ssm_conv1d.bias": (inner,),
        "ssm_x.weight": (rank + 2 * _STATE, inner),
        "ssm_dt.weight": (inner, rank),
        "ssm_dt.bias": (inner,),
        "ssm_a": (inner, _STATE),
        "ssm_d": (inner,),
        "ssm_out.weight": (width, inner),
    }


def _time_step_rank(shape: Shape) -> int:
    return shape.width // 16


def _sliding(shape: Shape) -> dict[str, Any]:
    """A sliding window on every second layer, shorter than a test's prompt."""
    return {"attention.sliding_window": 64, "final_logit_softcapping": 30.0}


_BLOCKS: Final[dict[str, Callable[[Shape, int], Layout]]] = {
    "llama": _llama,
    "granite": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "qwen35": _qwen35,
    "gemma2": _gemma,
    "gemma4": _gemma4,
    "phi3": _phi3,
    "lfm2": _lfm2,
    "mamba": _mamba,
}
_KEYS: Final[dict[str, Callable[[Shape], dict[str, Any]]]] = {
    "granite": lambda _: {"logit_scale": 8.0, "residual_scale": 0.22, "embedding_scale": 12.0},
    "qwen35": lambda shape: {
        "full_attention_interval": 2,
        "rope.dimension_sections": np.array([shape.head // 4, shape.head // 4, 0, 0], np.int32),
        "ssm.conv_kernel": _CONVOLUTION,
        "ssm.inner_size": _delta_values(shape),
        "ssm.state_size": _STATE,
        "ssm.time_step_rank": shape.heads,
        "ssm.group_count": shape.kv_heads,
    },
    "gemma2": lambda shape: _sliding(shape) | {"attn_logit_softcapping": 50.0},
    "gemma4": lambda shape: (
        _sliding(shape)
        | {
            "attention.sliding_window_pattern": np.arange(shape.layers) % 2 == 0,
            "attention.shared_kv_layers": 0,
            "attention.key_length_swa": shape.head,
            "attention.value_length_swa": shape.head,
            "rope.dimension_count_swa": shape.head,
            "rope.freq_base_swa": 10000.0,
            "embedding_length_per_layer_input": 0,
        }
    ),
    "lfm2": lambda shape: {
        "attention.head_count_kv": np.arange(shape.layers, dtype=np.int32) % 2 * np.int32(shape.kv_heads),
        "shortconv.l_cache": _SHORT_CONVOLUTION,
    },
    "mamba": lambda shape: {
        "attention.head_count": 0,
        "attention.head_count_kv": 0,
        "feed_forward_length": 0,
        "ssm.conv_kernel": _CONVOLUTION,
        "ssm.inner_size": 2 * shape.width,
        "ssm.state_size": _STATE,
        "ssm.time_step_rank": _time_step_rank(shape),
    },
}
