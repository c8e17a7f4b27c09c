"""Speed of Whisper on this machine, and the number of threads with which it is fastest: measured once, and remembered.

More threads are not always faster: on two shared cores a decoder with five paths takes 195 ms with two threads and 105
with one, since the threads wait for each other after each of its many small steps.
"""

from __future__ import annotations

import json
import logging
import math
import os
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from edgeagent.resources import whole_file
from edgeagent.stt.hearing import RATE_HZ
from edgeagent.stt.whisper import most_threads, open_model
from edgeagent.stt.whisper_model import WhisperOptions

log: Final = logging.getLogger("edgeagent.stt")

MOST_S: Final = 1.5
"""Whisper may take so long for an utterance; an answer begins that much later, and people wait for no longer."""
_AGAIN_S: Final = 24 * 3600.0
"""A machine that was too slow is measured again after so long: it may have been busy."""
_WORTH: Final = 0.9
"""Share of the time with fewer threads that more of them may take at most: other parts of the robot need cores too."""
_SPEECH_S: Final = 3.0
_LANGUAGE: Final = "en"
_CANDIDATES: Final = 6
"""Of an utterance in the mean."""
_CANDIDATE: Final = "Go to the kitchen and turn on the light."
_TIMES: Final = 2
_FILE: Final = "whisper.json"


class Speed(NamedTuple):
    """Seconds that Whisper takes for an utterance and some candidates, and the threads with which it does."""

    seconds: float
    threads: int


def speed(folder: Path, options: WhisperOptions, *, cache: Path | None = None) -> Speed:
    """Returns the speed of a model; from the cache if it is known.

    Args:
        options: With ``threads`` None, several numbers of them are tried.
        cache: Folder; None: the user's.

    Raises:
        RecognitionError: The model can't be loaded.
    """
    if (known := known_speed(folder, options, cache=cache)) is not None:
        return known
    threads = options.threads or most_threads()
    best = _measured(folder, options, threads)
    while options.threads is None and (threads := threads // 2):
        other = _measured(folder, options, threads)
        if best.seconds < _WORTH * other.seconds:
            break
        best = other
    _remember(_key(folder, options), best, cache)
    return best


def known_speed(folder: Path, options: WhisperOptions, *, cache: Path | None = None) -> Speed | None:
    """Returns the speed that the cache has; None if it has none, or one that is too old to count against the
    machine."""
    entry = _read(cache).get(_key(folder, options), {})
    try:
        seconds, threads, measured_s = float(entry["seconds"]), int(entry["threads"]), float(entry["measured_s"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if threads < 1 or not math.isfinite(seconds) or (seconds > MOST_S and abs(time.time() - measured_s) > _AGAIN_S):
        return None
    return Speed(seconds, threads)


def _measured(folder: Path, options: WhisperOptions, threads: int) -> Speed:
    model = open_model(folder, replace(options, threads=threads))
    noise = np.random.default_rng(0).normal(0, 0.01, round(_SPEECH_S * RATE_HZ)).astype(np.float32)
    taken = []
    for _ in range(_TIMES):  # the first one also loads
        begun_s = time.perf_counter()
        encoded = model.encode(noise, options.window_s)
        model.decode(encoded, _LANGUAGE, beam_size=options.beam_size)
        for _ in range(_CANDIDATES):
            model.fit(encoded, _LANGUAGE, _CANDIDATE)
        taken.append(time.perf_counter() - begun_s)
    return Speed(min(taken), threads)


def _remember(key: str, measured: Speed, cache: Path | None) -> None:
    entry = {"seconds": round(measured.seconds, 3), "threads": measured.threads, "measured_s": round(time.time())}
    known = _read(cache) | {key: entry}
    path = _path(cache)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as file:
            file.write_text(json.dumps(known), encoding="utf-8")
    except OSError as error:  # it is measured again next time
        log.info("how fast Whisper is here can't be kept: %s", error)


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
