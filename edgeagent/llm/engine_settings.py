"""Settings for the engine's use of the machine: values that a person may set, and values chosen where nobody did."""

from __future__ import annotations

import resource
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from edgeagent.errors import ConfigError
from edgeagent.llm import native

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


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings of one engine, all of them, and why."""

    threads: int
    batch_threads: int
    chunk_tokens: int
    kv_type: KvType
    flash_attention: FlashAttention
    gpu_layers: int
    mmap: bool
    mlock: bool
    prefix_memory_bytes: int
    reasons: dict[str, str] = field(default_factory=dict, compare=False)
    """By the name of a setting, why it has its value."""

    def identity(self) -> dict[str, Any]:
        """Returns the settings on which a saved state depends."""
        return {"kv_type": self.kv_type, "flash_attention": self.flash_attention, "gpu_layers": self.gpu_layers}


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
        threads=threads,
        batch_threads=settings.batch_threads or threads,
        chunk_tokens=min(settings.chunk_tokens or CHUNK_TOKENS, context_tokens),
        kv_type=settings.kv_type,
        flash_attention=settings.flash_attention,
        gpu_layers=settings.gpu_layers,
        mmap=settings.mmap,
        mlock=mlock,
        prefix_memory_bytes=prefix_mb << 20,
        reasons=reasons,
    )


def default_threads() -> int:
    """A thread for each physical core, with one core left to audio and the app: a full machine stalls every token."""
    return max(1, min(native.physical_cores(), native.usable_cores() - 1))
