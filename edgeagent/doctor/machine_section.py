"""The machine, the engine on it, and the models that fit.

Rows tell processor, memory, disk and heat; llama.cpp as it was built, and the settings that it gets; and one model,
which is read, loaded and asked.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, Literal

from edgeagent.doctor import Row
from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import LLMRequest, native
from edgeagent.llm.engine_settings import PROCESS_BYTES, Memory, memory_needed, sizes_of
from edgeagent.llm.gguf import read_header
from edgeagent.messages import Message
from edgeagent.models import store
from edgeagent.models.catalog import SYSTEM_BYTES, Entry, LanguageModel, ModelSizes, Profile, Voice

if TYPE_CHECKING:
    from edgeagent.llm.llama import LlamaLLM

_LITTLE_MEMORY: Final = 600 << 20  # the voice stack and a small model
_LITTLE_DISK: Final = 2 << 30  # a model of 1.7B in four bits
_HOT_C: Final = 80  # a Raspberry Pi slows down from here on
_FEATURES: Final = ("avx2", "avx512f", "amx_int8", "fma", "f16c", "asimddp", "i8mm", "sve", "asimd", "neon")


def machine() -> Iterator[Row]:
    """The rows of this machine."""
    yield Row("python", f"{platform.python_version()} ({sys.executable})", value=platform.python_version())
    yield Row("system", f"{platform.system()} {platform.release()} {platform.machine()}", value=platform.machine())
    board = _text("/proc/device-tree/model")
    if board:
        yield Row("board", board.rstrip("\x00"))
    yield _processor()
    yield _memory()
    yield _disk()
    heat = _temperature_c()
    if heat is not None:
        hot = heat >= _HOT_C
        advice = "it slows down from 80 on: a heat sink or a fan" if hot else ""
        yield Row("temperature", f"{heat:.0f} °C", "note" if hot else "ok", advice, heat)


def features() -> list[str]:
    """Lists the features of the processor that matter to llama.cpp."""
    for line in _text("/proc/cpuinfo").splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return [feature for feature in _FEATURES if feature in words.split()]
    return []


def _processor() -> Row:
    lines = dict(line.split(":", 1) for line in _text("/proc/cpuinfo").splitlines() if ":" in line)
    name = next((value.strip() for key, value in lines.items() if key.strip() == "model name"), platform.machine())
    cores, physical = native.usable_cores(), native.physical_cores()
    words = f"{name}, {cores} core{'' if cores == 1 else 's'}" + (
        f" ({physical} physical)" if physical != cores else ""
    )
    known = features()
    words += f", {' '.join(known)}" if known else ""
    value = {"cores": cores, "physical": physical, "features": known}
    if cores == 1:
        return Row("processor", words, "note", "audio and model share the one core: expect gaps in speech", value)
    return Row("processor", words, value=value)


def _memory() -> Row:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = native.available_bytes()
    words = f"{total / 1e9:.1f} GB, {free / 1e9:.1f} free"
    if free < _LITTLE_MEMORY:
        return Row("memory", words, "note", "little for a model: close something, or take nano", free)
    return Row("memory", words, value=free)


def _disk() -> Row:
    free = store.free_bytes()
    words = f"{free / 1e9:.1f} GB free for models ({store.user_models_dir()})"
    if free < _LITTLE_DISK:
        return Row("disk", words, "note", "little for a model: set EDGEAGENT_MODELS to a folder with more room", free)
    return Row("disk", words, value=free)


def _temperature_c() -> float | None:
    zones = sorted(Path("/sys/class/thermal").glob("thermal_zone*/temp"))
    read = [_text(str(zone)).strip() for zone in zones]
    degrees = [int(text) / 1000 for text in read if text.lstrip("-").isdigit()]
    return max(degrees, default=None)


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


# --- the engine -------------------------------------------------------------------------------------------------------


# What llama_print_system_info calls what /proc/cpuinfo calls otherwise.
_BUILT: Final = {
    "avx2": "AVX2",
    "avx512f": "AVX512",
    "fma": "FMA",
    "f16c": "F16C",
    "asimddp": "DOTPROD",
    "i8mm": "MATMUL_INT8",
}
_GPUS: Final = ("CUDA", "VULKAN", "METAL", "ROCM", "SYCL")
_PROMPT: Final = "The robot looks around in the flat and tells what it sees. " * 6
_REPLY_TOKENS: Final = 24


def engine(make: Callable[[], LlamaLLM]) -> Iterator[Row]:
    """The rows of llama.cpp and of the model that ``make`` makes."""
    try:
        yield Row("llama.cpp", f"llama-cpp-python {version('llama-cpp-python')}", value=version("llama-cpp-python"))
        info = native.library().llama_print_system_info().decode()
    except (PackageNotFoundError, ModelError) as error:
        yield Row("llama.cpp", str(error), "problem", "pip install llama-cpp-python, on this machine")
        return
    yield _build(info)
    gpu = [name for name in _GPUS if name in info.upper()]
    yield Row("gpu", ", ".join(gpu) or "none in this build", value=gpu)
    try:
        llm = make()
    except (ModelError, ConfigError) as error:
        yield Row("model", str(error), "problem")
        return
    yield from _header(llm)
    try:
        yield from _speed(llm)
    except ModelError as error:
        yield Row("load", str(error), "problem")
    finally:
        llm.close()


def _build(info: str) -> Row:
    """Tells whether llama.cpp was built for this processor."""
    has = features()
    on = {word.split(" = ")[0].strip() for word in re.split(r"[|:]", info) if word.strip().endswith(" = 1")}
    lacks = [name for name in has if name in _BUILT and _BUILT[name] not in on]
    built = [name for name, flag in _BUILT.items() if flag in on]
    too_much = [name for name in built if has and name not in has]
    if too_much:
        advice = "rebuild it here: pip install --force-reinstall --no-binary :all: llama-cpp-python"
        return Row("build", f"uses {' '.join(too_much)}, which this processor lacks", "problem", advice, built)
    words = " ".join(built) or "no special instructions"
    if lacks:
        advice = "it would be faster if it were built on this machine: pip install --no-binary :all: llama-cpp-python"
        return Row("build", f"{words}, without {' '.join(lacks)}", "note", advice, built)
    return Row("build", words, value=built)


def _header(llm: LlamaLLM) -> Iterator[Row]:
    header = llm.header
    words = f"{llm.name}, {header.architecture}, {header.bytes / 1e6:,.1f} MB ({llm.path})"
    yield Row("model", words, value={"name": llm.name, "path": str(llm.path), "architecture": header.architecture})
    trained = f"{header.trained_tokens:,}" if header.trained_tokens else "an unknown number of"
    yield Row("window", f"{llm.context_window:,} tokens, trained for {trained}", value=llm.context_window)
    needed = memory_needed(header.bytes, sizes_of(header), llm.context_window).total
    yield Row("takes", f"about {needed / 1e6:,.0f} MB of memory with this window", value=needed)
    if llm.tool_format is None:
        advice = "it can talk, but call no tools: choose another model, or name its tool_format"
        yield Row("calls", "in no format that edgeagent reads", "note", advice)
    else:
        yield Row("calls", llm.tool_format, value=llm.tool_format)


def _speed(llm: LlamaLLM) -> Iterator[Row]:
    llm.load()
    reply = llm.complete(LLMRequest(messages=[Message.user(_PROMPT)], max_tokens=_REPLY_TOKENS), Event())
    stats = llm.stats
    chosen = stats.chosen
    if chosen is not None:
        reason = chosen.reasons
        yield Row("threads", f"{chosen.threads} ({reason['threads']})", value=chosen.threads)
        yield Row("chunk", f"{chosen.chunk_tokens} tokens ({reason['chunk_tokens']})", value=chosen.chunk_tokens)
        words = f"{chosen.kv_type} ({reason['kv_type']}), flash attention {chosen.flash_attention}"
        yield Row("keys and values", words, value=chosen.kv_type)
        prefix_mb = chosen.prefix_memory_bytes >> 20
        yield Row("prefix memory", f"{prefix_mb} MB ({reason['prefix_memory']})", value=chosen.prefix_memory_bytes)
        if "mlock" in reason:
            yield Row("mlock", reason["mlock"], "note")
    yield Row("load", f"{stats.load_s:.2f} s, {stats.resident_bytes / 1e6:,.0f} MB resident in all", value=stats.load_s)
    if reply.error is not None:
        yield Row("answer", reply.error, "problem")
        return
    speed = {"prompt": round(stats.prompt_tokens_per_s), "reply": round(stats.tokens_per_s)}
    yield Row("speed", f"reads {speed['prompt']:,} tokens/s, writes {speed['reply']:,}", value=speed)


# --- models that fit --------------------------------------------------------------------------------------------------


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
