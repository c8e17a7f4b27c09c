"""The machine: Python, processor, memory, disk, and whether it is too hot."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from edgeagent.doctor.report import Row
from edgeagent.llm import native
from edgeagent.models.store import user_models_dir

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
    folder = user_models_dir()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    free = shutil.disk_usage(there).free
    words = f"{free / 1e9:.1f} GB free for models ({folder})"
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
