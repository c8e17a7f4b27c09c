"""Measures a Whisper model's time for an utterance on this machine, once, and remembers it in the user's cache.

A machine that is too slow for it hears with PocketSphinx alone. Any thread, any process.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgeagent.stt.transcriber import RATE_HZ
from edgeagent.stt.whisper import WhisperOptions
from edgeagent.stt.whisper_model import WhisperModel

log: Final = logging.getLogger("edgeagent.stt")

MOST_S: Final = 1.5
"""Whisper may take so long for an utterance; an answer begins that much later, and people wait for no longer."""
_AGAIN_S: Final = 24 * 3600.0
"""A machine that was too slow is measured again after so long: it may have been busy."""
_SPEECH_S: Final = 3.0
_LANGUAGE: Final = "en"
_CANDIDATES: Final = 6
"""Of an utterance in the mean."""
_CANDIDATE: Final = "Go to the kitchen and turn on the light."
_TIMES: Final = 2
_FILE: Final = "whisper.json"


def cost(model: WhisperModel, folder: Path, options: WhisperOptions, *, cache: Path | None = None) -> float:
    """Returns the seconds that Whisper takes for an utterance and some candidates; from the cache if it is known."""
    if (known := known_cost(folder, options, cache=cache)) is not None:
        return known
    noise = np.random.default_rng(0).normal(0, 0.01, round(_SPEECH_S * RATE_HZ)).astype(np.float32)
    taken = []
    for _ in range(_TIMES):  # the first one also loads
        begun_s = time.perf_counter()
        encoded = model.encode(noise, options.window_s)
        model.decode(encoded, _LANGUAGE, beam_size=options.beam_size)
        for _ in range(_CANDIDATES):
            model.fit(encoded, _LANGUAGE, _CANDIDATE)
        taken.append(time.perf_counter() - begun_s)
    _remember(_key(folder, options), min(taken), cache)
    return min(taken)


def known_cost(folder: Path, options: WhisperOptions, *, cache: Path | None = None) -> float | None:
    """The same if it was measured; None if it was not, or too long ago to count against the machine."""
    entry = _read(cache).get(_key(folder, options), {})
    try:
        seconds, measured_s = float(entry["seconds"]), float(entry["measured_s"])
    except (KeyError, TypeError, ValueError):
        return None
    if not math.isfinite(seconds) or (seconds > MOST_S and abs(time.time() - measured_s) > _AGAIN_S):
        return None
    return seconds


def _remember(key: str, seconds: float, cache: Path | None) -> None:
    known = _read(cache) | {key: {"seconds": round(seconds, 3), "measured_s": round(time.time())}}
    path = _path(cache)
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps(known), encoding="utf-8")
        beside.replace(path)
    except OSError as error:  # it is measured again next time
        log.info("how fast Whisper is here can't be kept: %s", error)
        with suppress(OSError):
            beside.unlink()


def _read(cache: Path | None) -> dict[str, Any]:
    try:
        known = json.loads(_path(cache).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _path(cache: Path | None) -> Path:
    import platformdirs

    return (cache or platformdirs.user_cache_path("edgeagent")) / _FILE


def _key(folder: Path, options: WhisperOptions) -> str:
    """Of this machine, model and options: a cache may be on a disk that moves from robot to robot."""
    try:
        size = (folder / "model.bin").stat().st_size
    except OSError:
        size = 0
    machine = f"{platform.node()} {platform.machine()} {len(os.sched_getaffinity(0))} cores"
    asked = f"{options.threads} {options.window_s:g} {options.beam_size} {options.compute_type}"
    return f"{machine}, {folder.name} {size}, {asked}"
