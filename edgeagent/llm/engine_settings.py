"""Use that the engine makes of the machine: values that a person may set, values chosen where nobody did, and memory.

The memory of a model is its weights, keys and values of its window, and buffers for computing. It is counted from sizes
that a GGUF header or a catalogue tells; docs/models.md compares the sums with what llama.cpp allocates. Loads nothing.
Any thread.
"""

from __future__ import annotations

import resource
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import native
from edgeagent.llm.gguf import Header
from edgeagent.models.catalog import ModelSizes

KvType = Literal["f16", "q8_0"]
FlashAttention = Literal["auto", "on", "off"]

CHUNK_TOKENS: Final = 64
"""Prompt tokens between two looks at the stop event (docs/models.md has the measurement)."""

MIN_CONTEXT_TOKENS: Final = 512
"""Tokens of the smallest window that a model gets."""

KV_TYPES: Final[dict[str, int]] = {"f16": 1, "q8_0": 8}
"""ggml's numbers of the types of keys and values."""

_PREFIX_SHARE: Final = 0.1
_MOST_PREFIX_MB: Final = 512


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings for the engine's use of the machine. None leaves the choice to the properties of the machine.

    Raises:
        ConfigError: A value is wrong; the text says which and what is right.
    """

    threads: int | None = None
    """Threads of a decode. At or over the free cores a token can take a hundred times as long."""
    batch_threads: int | None = None
    """Threads of prompt evaluation; as ``threads`` by default."""
    chunk_tokens: int | None = None
    """Prompt tokens evaluated between two looks at the stop event."""
    kv_type: KvType = "f16"
    """Of keys and values; q8_0 takes half the memory and needs flash attention."""
    flash_attention: FlashAttention = "auto"
    gpu_layers: int = -1
    """Layers on the GPU, where llama.cpp was built with one; -1 is all."""
    mmap: bool = True
    """Map the file instead of reading it: quicker to load, and pages can be dropped when memory is short."""
    mlock: bool = False
    """Keep the weights in memory; a robot whose memory is short answers late otherwise."""
    prefix_memory_mb: int | None = None
    """Memory for what other agents' prompts need; 0 keeps nothing of them."""
    prefix_file: bool = True
    """Keep an agent's prefix in a file of the user's cache folder, so that the next start is warm."""
    prefix_file_after_s: float = 1.0
    """Not for a prefix that is evaluated faster than this: a memory card wears out."""

    def __post_init__(self) -> None:
        for name in ("threads", "batch_threads", "chunk_tokens"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ConfigError(f"{name} is {value!r}; it should be a whole number from 1 on")
        if self.kv_type not in KV_TYPES:
            raise ConfigError(f"kv_type is {self.kv_type!r}; choose f16, or q8_0: coarser keys spoil tool calls")
        if self.flash_attention not in ("auto", "on", "off"):
            raise ConfigError(f"flash_attention is {self.flash_attention!r}; choose auto, on or off")
        if self.kv_type != "f16" and self.flash_attention == "off":
            raise ConfigError(f"kv_type {self.kv_type} needs flash attention: leave flash_attention on auto")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen(EngineSettings):
    """The settings of one engine, with a value for each, and why."""

    threads: int
    batch_threads: int
    chunk_tokens: int
    prefix_memory_bytes: int
    reasons: dict[str, str] = field(default_factory=dict, compare=False)
    """By the name of a setting, why it has its value."""


def choose(settings: EngineSettings, context_tokens: int) -> Chosen:
    """The settings for this machine."""
    cores, physical = native.usable_cores(), native.physical_cores()
    threads = settings.threads or default_threads()
    left = f"{physical} core{'' if physical == 1 else 's'}" + (", one left for audio" if threads < cores else "")
    memory = native.available_bytes()
    prefix_mb = settings.prefix_memory_mb
    reasons = {
        "threads": "set" if settings.threads else left,
        "chunk_tokens": "set" if settings.chunk_tokens else "nine tenths of full speed, and stops soon",
        "kv_type": "half the memory of f16" if settings.kv_type == "q8_0" else "exact",
        "prefix_memory": "set" if prefix_mb is not None else "a tenth of the free memory, 512 MB at most",
    }
    if prefix_mb is None:
        prefix_mb = min(_MOST_PREFIX_MB, int(memory * _PREFIX_SHARE) >> 20)
    mlock = settings.mlock
    if mlock and resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] not in (-1, resource.RLIM_INFINITY):
        mlock = False
        reasons["mlock"] = "not allowed to this user: raise `ulimit -l`"
    return Chosen(
        **asdict(settings)
        | {
            "threads": threads,
            "batch_threads": settings.batch_threads or threads,
            "chunk_tokens": min(settings.chunk_tokens or CHUNK_TOKENS, context_tokens),
            "mlock": mlock,
            "prefix_memory_bytes": prefix_mb << 20,
            "reasons": reasons,
        }
    )


def default_threads() -> int:
    """A thread for each physical core, with one core left to audio and the app: a full machine stalls every token."""
    return max(1, min(native.physical_cores(), native.usable_cores() - 1))


# --- memory -----------------------------------------------------------------------------------------------------------


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
    weights: int, sizes: ModelSizes, free: int, most: int, *, kv_type: KvType, chunk_tokens: int
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
