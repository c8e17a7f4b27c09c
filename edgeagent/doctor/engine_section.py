"""The engine: llama.cpp as it was built, the settings that it gets, and one model, read, loaded and asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from threading import Event
from typing import Final

from edgeagent.doctor import Row
from edgeagent.doctor.machine_section import features
from edgeagent.errors import ConfigError, ModelError
from edgeagent.llm import LLMRequest, native
from edgeagent.llm.engine_settings import memory_needed, sizes_of
from edgeagent.llm.llama import LlamaLLM
from edgeagent.messages import Message

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
