"""A model and a machine: the memory that the model takes there, and whether the machine has it.

Loads no model. Any thread.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.llm import native
from edgeagent.llm.gguf import read_header
from edgeagent.llm.memory_estimate import PROCESS_BYTES, Memory, memory_needed, sizes_of
from edgeagent.models import store
from edgeagent.models.catalog import Entry, LanguageModel, ModelSizes, Voice
from edgeagent.models.profiles import SYSTEM_BYTES, Profile

Verdict = Literal["fits", "tight", "no"]
"""``tight``: the machine has the memory, but something else has taken it."""

WINDOW: Final = 4096
"""Tokens of the window with which a mind is judged, if it was trained for so many: the default of ``LlamaLLM``."""

_RECOGNISER_BYTES: Final = 80_000_000
"""Bytes that a recogniser takes beside its files: 71 MB with tiny.en, 49 with base."""
_VOICE_BYTES: Final = 170_000_000
"""Bytes that a neural voice takes beside its files: 168 MB with joe, 162 with heart, of which 97 are dictionaries."""
_SHORT: Final = ("armv6l", "armv7l", "i386", "i686")
"""Machines of 32 bits, for which neither llama.cpp nor onnxruntime is packaged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Properties of a machine that decide about models."""

    name: str
    total: int
    """Bytes of memory."""
    free: int
    """Bytes that a process could take now."""
    cores: int
    architecture: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFit:
    """The verdict about a model on a machine."""

    verdict: Verdict
    why: str
    """The reason in words; empty where the model fits."""


def this_machine() -> Machine:
    """The machine that runs this, with the limits of its container."""
    return Machine(
        name="this machine",
        total=native.total_bytes(),
        free=native.available_bytes(),
        cores=native.usable_cores(),
        architecture=platform.machine(),
    )


def machine_of(profile: Profile) -> Machine:
    """The machine of a profile, when nothing else runs on it."""
    return Machine(
        name=profile.board,
        total=profile.memory_bytes,
        free=profile.memory_bytes - SYSTEM_BYTES,
        cores=profile.cores,
        architecture=profile.architecture,
    )


def sizes(model: LanguageModel) -> ModelSizes | None:
    """Sizes of a mind, from its file where that is here; None when nobody has told.

    Raises:
        ModelError: The file can't be read, or is not whole.
    """
    (path,) = store.paths(model)
    return sizes_of(read_header(path)) if path.is_file() else model.sizes


def window_of(model: LanguageModel, window: int = WINDOW) -> int:
    """The window of a mind, at most what it was trained for."""
    told = sizes(model)
    return min(window, told.window) if told is not None and told.window is not None else window


def memory(entry: Entry, window: int = WINDOW) -> Memory | None:
    """The memory that a model takes; None when nobody has told its size.

    Args:
        window: Tokens of a mind's window; at most what it was trained for counts.

    Raises:
        ModelError: The file can't be read, or is not whole.
    """
    weights = size_of(entry)
    if isinstance(entry, LanguageModel):
        told = sizes(entry)
        if weights is None or told is None:
            return None
        return memory_needed(weights, told, window_of(entry, window))
    if isinstance(entry, Voice):
        if entry.engine == "espeak":
            return None
        return Memory(weights=weights or 0, context=0, compute=_VOICE_BYTES - PROCESS_BYTES)
    return None if weights is None else Memory(weights=weights, context=0, compute=_RECOGNISER_BYTES - PROCESS_BYTES)


def size_of(entry: Entry) -> int | None:
    """Bytes of a model's files: those that are here, or what the catalogue tells; None when neither is known.

    The small files of a recogniser or a voice that nobody has told count as nothing.
    """
    paths = store.paths(entry)
    if paths and all(path.is_file() for path in paths):
        return sum(path.stat().st_size for path in paths)
    told = [file.bytes for file in entry.files if file.bytes is not None]
    return sum(told) if told else None


def fit(needed: Memory | None, machine: Machine) -> ModelFit | None:
    """The verdict about a model that needs so much; None when nobody has told."""
    if machine.architecture in _SHORT:
        return ModelFit(verdict="no", why=f"{machine.architecture} has 32 bits: install a 64-bit system")
    if needed is None:
        return None
    if needed.total > machine.total:
        return ModelFit(verdict="no", why=f"{_mb(needed.total)} of {_mb(machine.total)}")
    if needed.total > machine.free:
        return ModelFit(verdict="tight", why=f"{_mb(needed.total)}, and {_mb(machine.free)} are free: close something")
    return ModelFit(verdict="fits", why="")


def _mb(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
