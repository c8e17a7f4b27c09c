"""The memory that a language model takes: weights, keys and values of its window, and buffers for computing.

Counts from sizes that a GGUF header or a catalogue tells; loads nothing. Any thread.

docs/models.md compares the sums with what llama.cpp allocates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from edgeagent.errors import ModelError
from edgeagent.llm import native
from edgeagent.llm.engine_settings import CHUNK_TOKENS, MIN_CONTEXT_TOKENS, KvType
from edgeagent.llm.gguf import Header
from edgeagent.models.catalog import ModelSizes

PROCESS_BYTES: Final = 32 << 20
"""Bytes of vocabulary tables, samplers and growth while a prompt is evaluated: 11 to 32 MB were measured."""

_KV_BITS: Final = {"f16": 16.0, "q8_0": 8.5}
_F32_BYTES: Final = 4
_WIDTHS: Final = 2
"""Vectors of the model's width, in 32 bits, that a chunk's graph keeps beside its logits, for each token."""
_WINDOW_STEP: Final = 512
"""Tokens between two windows that are proposed to a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The bytes of a model with its window."""

    weights: int
    context: int
    """Keys and values of a full window, and recurrent states."""
    compute: int
    """Logits and vectors of one chunk of a prompt."""

    @property
    def total(self) -> int:
        """All of them, and what the process takes beside."""
        return self.weights + self.context + self.compute + PROCESS_BYTES


def sizes_of(header: Header) -> ModelSizes:
    """The sizes of a model file; numbers that its header does not tell count as 0."""

    def told(key: str) -> Any:
        return header.metadata.get(f"{header.architecture}.{key}") or 0

    layers, width, heads = (
        _largest(told("block_count")),
        _largest(told("embedding_length")),
        told("attention.head_count"),
    )
    head = width // _largest(heads) if _largest(heads) else 0
    head_numbers = (told("attention.key_length") or head) + (told("attention.value_length") or head)
    kv_heads = _of_layers(told("attention.head_count_kv") or heads, layers)
    interval = told("full_attention_interval")  # Qwen 3.5: the other layers are delta nets
    if interval:
        kv_heads = [count if (layer + 1) % interval == 0 else 0 for layer, count in enumerate(kv_heads)]
    convolved = told("ssm.inner_size") + 2 * told("ssm.group_count") * told("ssm.state_size")
    state = (
        max(0, told("ssm.conv_kernel") - 1) * convolved
        + told("ssm.state_size") * told("ssm.inner_size")
        + max(0, told("shortconv.l_cache") - 1) * width
    )
    return ModelSizes(
        window=header.trained_tokens,
        kv_numbers=sum(kv_heads) * head_numbers,
        state_bytes=kv_heads.count(0) * state * _F32_BYTES,
        width=width,
        vocabulary=header.vocabulary,
    )


def _largest(value: Any) -> int:
    return max(value, default=0) if isinstance(value, tuple) else int(value)


def _of_layers(value: Any, layers: int) -> list[int]:
    """One number for each layer, of a header that tells one for all or one for each."""
    return list(value) if isinstance(value, tuple) else [int(value)] * layers


def memory_needed(
    weights: int, sizes: ModelSizes, window: int, *, kv_type: KvType = "f16", chunk_tokens: int = CHUNK_TOKENS
) -> Memory:
    """The memory of a model with a full window.

    A sliding window counts as a whole one, because llama.cpp keeps it whole by default.

    Args:
        weights: Bytes of the file.
        window: Tokens of prompt and reply together.
        kv_type: Type of keys and values.
        chunk_tokens: Tokens of a prompt that are evaluated at once.
    """
    chunk = min(chunk_tokens, window)
    return Memory(
        weights=weights,
        context=int(window * sizes.kv_numbers * _KV_BITS[kv_type] / 8) + sizes.state_bytes,
        compute=chunk * (sizes.vocabulary + _WIDTHS * sizes.width) * _F32_BYTES,
    )


def largest_window(
    weights: int, sizes: ModelSizes, free: int, most: int, *, kv_type: KvType = "f16", chunk_tokens: int = CHUNK_TOKENS
) -> int | None:
    """The largest window, in steps of 512 tokens, with which a model fits; None if none does.

    Args:
        weights: Bytes of the file.
        free: Bytes that may be taken.
        most: Tokens that the window has at most.
    """
    for window in range(most // _WINDOW_STEP * _WINDOW_STEP, MIN_CONTEXT_TOKENS - 1, -_WINDOW_STEP):
        if memory_needed(weights, sizes, window, kv_type=kv_type, chunk_tokens=chunk_tokens).total <= free:
            return window
    return None


def check_memory(header: Header, window: int, *, kv_type: KvType, chunk_tokens: int) -> None:
    """Refuses a model that would not fit, before anything of it is loaded.

    Raises:
        ModelError: With what the model needs, what is free, and what would help.
    """
    sizes, free = sizes_of(header), native.available_bytes()
    needed = memory_needed(header.bytes, sizes, window, kv_type=kv_type, chunk_tokens=chunk_tokens)
    if needed.total <= free:
        return
    smaller = largest_window(header.bytes, sizes, free, window, kv_type=kv_type, chunk_tokens=chunk_tokens)
    remedy = f"set context_window to {smaller}" if smaller else "choose a smaller model (edgeagent models list)"
    raise ModelError(
        f"{header.path} needs about {needed.total / 1e6:,.0f} MB with a window of {window} tokens "
        f"(weights {needed.weights / 1e6:,.0f}, window {needed.context / 1e6:,.0f}, "
        f"buffers {(needed.compute + PROCESS_BYTES) / 1e6:,.0f}), and {free / 1e6:,.0f} MB are free: "
        f"{remedy}, or close something"
    )
