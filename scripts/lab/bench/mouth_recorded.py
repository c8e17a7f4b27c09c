"""The mouth on a real device: PulseAudio's null sink, recorded from its monitor while another process speaks.

Times of the recording are those at which its samples arrived here, so PulseAudio's and the recorder's own delay is in
every figure.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from bench.mouth_player import SILENT
from bench.report import Rows, percentile

from edgeagent.audio import Resampler
from edgeagent.models import FOLDER_VARIABLE, user_models_dir
from tests.audio.pulse import Pulse, missing

RATE_HZ: Final = 48_000
_BLOCK: Final = 480
_BLOCK_S: Final = 0.010
_NEAR_S: Final = 1.0
"""The times of so much of the recording around a moment say when its samples were heard."""
_PAUSE_S: Final = 0.080
"""A silence that is one between words or sentences, not a consonant."""
_LATE_MS: Final = 60.0
"""Between two calls of the device: longer than its latency."""
_LIMIT_S: Final = 400.0


class PlayerError(Exception):
    """The process that speaks failed; the text is its last line."""


class Recording:
    """What the loudspeaker plays, and when. A thread of its own reads it."""

    def __init__(self, pulse: Pulse) -> None:
        self._process = pulse.recorder()
        self._pieces: list[bytes] = []
        self._arrivals: list[tuple[int, float]] = []
        self._thread = threading.Thread(target=self._read, name="recorder", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        count = 0
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        while piece := os.read(self._process.stdout.fileno(), 4096):
            count += len(piece)
            self._arrivals.append((count // 2, time.monotonic()))
            self._pieces.append(piece)

    def stop(self) -> None:
        """Ends it; the samples are complete."""
        self._process.terminate()
        self._thread.join(5)
        raw = b"".join(self._pieces)
        samples = np.frombuffer(raw[: len(raw) // (2 * _BLOCK) * 2 * _BLOCK], "<i2").astype(np.float32) / 32768
        self._loud = np.abs(samples).reshape(-1, _BLOCK).max(axis=1) > SILENT

    def loud(self, from_s: float, to_s: float) -> tuple[np.ndarray, float]:
        """Of each block of 10 ms between two moments, whether there is sound in it; and the time of the first block."""
        near = [when_s - count / RATE_HZ for count, when_s in self._arrivals if abs(when_s - from_s) < _NEAR_S]
        if not near:
            return np.zeros(0, bool), from_s
        begun_s = min(near)  # the least late arrival
        first = max(math.floor((from_s - begun_s) / _BLOCK_S), 0)
        last = math.ceil((to_s - begun_s) / _BLOCK_S)
        return self._loud[first:last], begun_s + first * _BLOCK_S

    def first_sound_s(self, from_s: float, to_s: float) -> float:
        """Seconds until the first block with sound begins; infinity if there is none."""
        loud, begun_s = self.loud(from_s, to_s)
        return begun_s + int(np.argmax(loud)) * _BLOCK_S - from_s if loud.any() else math.inf

    def silence_s(self, from_s: float, to_s: float) -> float:
        """Seconds until the last block with sound has ended; infinity if there is still sound at the end."""
        loud, begun_s = self.loud(from_s, to_s)
        if not len(loud) or loud[-1]:
            return math.inf
        return max(begun_s + (int(np.flatnonzero(loud)[-1]) + 1) * _BLOCK_S - from_s, 0.0) if loud.any() else 0.0


def spoken(pulse: Pulse, task: str, *, record: bool = True, **arguments: Any) -> tuple[list[dict[str, Any]], Any]:
    """Has a process speak; gives what it told, and the recording.

    Raises:
        PlayerError: It failed, or took too long.
    """
    recording = Recording(pulse) if record else None
    argv = [sys.executable, "-m", "bench.mouth_player", json.dumps({"task": task} | arguments)]
    env = pulse.environment | {FOLDER_VARIABLE: str(user_models_dir())}  # its home is the server's
    try:
        with subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                out, err = process.communicate(timeout=_LIMIT_S)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired as error:
        raise PlayerError(f"{task} does not end") from error
    finally:
        if recording is not None:
            recording.stop()
    if process.returncode:
        raise PlayerError(f"{task}: {(err.strip().splitlines() or ['it ended'])[-1]}")
    return [json.loads(line) for line in out.splitlines()], recording


def rows(voice: str, name: str, *, quick: bool, model_s: int) -> tuple[Rows, list[str]]:
    """Name, figure and target of what is measured on the loudspeaker; and what does not work.

    Args:
        model_s: Seconds beside a model; 0 leaves them out.
    """
    if (why := missing()) is not None:
        return [(f"{name}: on the loudspeaker", f"not measured: {why}", "")], []
    made: Rows = []
    wrong: list[str] = []
    with Pulse() as pulse:
        measures: list[tuple[str, Callable[[], tuple[Rows, list[str]]]]] = [
            ("held and flushed", lambda: _interrupts(pulse, voice, name, quick)),
            ("sentences", lambda: _gaps(pulse, voice, name, quick)),
        ]
        if model_s:
            measures.append(("beside a model", lambda: _beside_a_model(pulse, voice, name, model_s)))
        for what, measure in measures:
            try:
                part, bad = measure()
            except PlayerError as error:
                part, bad = [(f"{name}: {what}", f"failed: {error}", "")], [str(error)]
            made += part
            wrong += bad
    return made, wrong


def _interrupts(pulse: Pulse, voice: str, name: str, quick: bool) -> tuple[Rows, list[str]]:
    (*trials, state), recording = spoken(pulse, "interrupts", voice=voice, count=4 if quick else 30)
    first = [recording.first_sound_s(trial["said"], trial["held"] + 0.2) * 1e3 for trial in trials]
    held = [recording.silence_s(trial["held"], trial["resumed"]) * 1e3 for trial in trials]
    again = [recording.first_sound_s(trial["resumed"], trial["flushed"] + 0.2) * 1e3 for trial in trials]
    flushed = [recording.silence_s(trial["flushed"], trial["ended"]) * 1e3 for trial in trials]
    latency = f"of it the device {state['latency_ms']:.0f} ms as granted, {state['ahead_ms']:.0f} by its times"
    made = [
        (f"{name}: text to first sound recorded, {len(trials)} times", f"{_spread(first)}; {latency}", ""),
        (f"{name}: flush to silence recorded", f"{_blocks(flushed)}; {latency}", ""),
        (f"{name}: hold to silence recorded", f"{_blocks(held)}; {latency}", ""),
        (f"{name}: resume to sound recorded", _spread(again), ""),
    ]
    for what in ("flushed", "held"):
        counts = [trial[f"{what}_blocks"] for trial in trials]
        figure = f"p95 {percentile(counts, 0.95):g} blocks of 10 ms, most {max(counts):g}"
        made.append((f"{name}: {'flush' if what == 'flushed' else 'hold'} to silence at the callback", figure, "1"))
    errors = [trial["error"] for trial in trials]
    figure = f"mean {sum(errors) / len(errors):.2f} words, most {max(errors)}"
    made.append((f"{name}: error of the heard text on the device", figure, "<= 1 word"))
    made.append(
        (
            f"{name}: the device meanwhile",
            f"{state['under']} under-runs, longest time between two calls {state['most_late_ms']:.0f} ms",
            "",
        )
    )
    misses = [what for what, times in (("begin", first), ("flush", flushed), ("hold", held)) if math.inf in times]
    return made, [] if _late(state) else [f"{name}: {what}: missed on the recording" for what in misses]


def _late(state: dict[str, Any]) -> bool:
    """Whether the machine was too slow for its sound; a mouth can do nothing about that."""
    return bool(state["under"] or state["most_late_ms"] > _LATE_MS)


def _spread(times_ms: list[float]) -> str:
    return f"p50 {percentile(times_ms, 0.5):.0f} ms, p95 {percentile(times_ms, 0.95):.0f} ms"


def _blocks(times_ms: list[float]) -> str:
    """Percentiles as whole blocks."""
    p50, p95 = (percentile(times_ms, share) / (_BLOCK_S * 1e3) for share in (0.5, 0.95))
    whole = [f"{math.ceil(blocks - 1e-6)}" if math.isfinite(blocks) else "inf" for blocks in (p50, p95)]
    return f"p95 {whole[1]} blocks of 10 ms (p50 {whole[0]})"


def _gaps(pulse: Pulse, voice: str, name: str, quick: bool) -> tuple[Rows, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "synthesised.npy"
        (told, state), recording = spoken(pulse, "gaps", voice=voice, seconds=6 if quick else 30, path=str(path))
        made_by_voice = Resampler(told["rate_hz"], RATE_HZ).process(np.load(path), last=True)
    whole = made_by_voice[: len(made_by_voice) // _BLOCK * _BLOCK]
    wanted = _pauses_s(np.abs(whole).reshape(-1, _BLOCK).max(axis=1) > SILENT)
    loud, _ = recording.loud(told["said"], told["ended"])
    got = _pauses_s(loud)
    length = [sum(each) for each in (got[1], wanted[1])]
    figure = f"{(length[0] - length[1]) * 1e3:+.0f} ms in {length[1]:.0f} s"
    if len(got[0]) == len(wanted[0]):
        most = max((one - other for one, other in zip(got[0], wanted[0], strict=True)), default=0.0)
        figure += f"; the most at one of {len(wanted[0])} pauses {most * 1e3:+.0f} ms"
    else:
        figure += f"; {len(got[0])} pauses where {len(wanted[0])} were made"
    figure += f"; {state['starved']} starved blocks, {state['under']} under-runs"
    return [
        (f"{name}: silence beyond that of the samples", figure, "0"),
        (f"{name}: playing aloud, share of a core", f"{told['share']:.1%}", ""),
    ], [] if loud.any() else [f"{name}: nothing was heard"]


def _pauses_s(loud: np.ndarray) -> tuple[list[float], list[float]]:
    """Lengths of the pauses between the first sound and the last, and of everything between them."""
    sounding = np.flatnonzero(loud)
    steps = [int(after - before) for before, after in pairwise(sounding)]
    pauses = [(step - 1) * _BLOCK_S for step in steps if (step - 1) * _BLOCK_S >= _PAUSE_S]
    return pauses, [step * _BLOCK_S for step in steps]


def _beside_a_model(pulse: Pulse, voice: str, name: str, seconds: int) -> tuple[Rows, list[str]]:
    (state, told), _ = spoken(pulse, "beside_a_model", record=False, voice=voice, seconds=seconds)
    figure = f"{state['under']} of the device, {state['starved']} starved blocks"
    model = f"{told['tokens_per_s']:.0f} tokens/s, {told['cores']:.2f} cores in all"
    row = f"{name}: under-runs in {seconds} s at {state['latency_ms']:.0f} ms beside nano"
    made = [(row, f"{figure}  ({model}; longest time between two calls {state['most_late_ms']:.0f} ms)", "0")]
    return made, [] if state["played_s"] > seconds / 2 else [f"{name}: beside a model it was not spoken"]


def echo_rows(voice: str, *, quick: bool) -> tuple[Rows, list[str]]:
    """The echo that is removed where PulseAudio loops the loudspeaker into the microphone."""
    name = "echo through PulseAudio, one clock"
    try:
        from edgeagent.audio import EchoCanceller  # noqa: F401 - whether it is there
    except ImportError as error:
        return [(name, f"not measured: {error}", "")], []
    if (why := missing()) is not None:
        return [(name, f"not measured: {why}", "")], []
    made: Rows = []
    wrong: list[str] = []
    ways = [
        (name, True, None),
        ("echo through PulseAudio, two clocks", False, None),
        (f"{name}, its buffer 500 ms", True, "500"),
    ]
    for label, one_clock, asked_ms in ways[:1] if quick else ways:
        with Pulse(echo=True, one_clock=one_clock) as pulse:
            if asked_ms is not None:
                pulse.environment["PULSE_LATENCY_MSEC"] = asked_ms
            try:
                (told, state), _ = spoken(pulse, "echo", record=False, voice=voice, seconds=10 if quick else 25)
            except PlayerError as error:
                made.append((label, f"failed: {error}", ""))
                wrong.append(str(error))
                continue
        if told["aligned_s"] is None or told["measured_db"] is None:
            figure = f"no echo was found; {state['under']} under-runs, longest time between two calls "
            made.append((label, f"{figure}{state['most_late_ms']:.0f} ms", ""))
            wrong += [] if _late(state) else [f"{label}: no echo was found"]
            continue
        own = "" if told["removed_db"] is None else f" (it says {told['removed_db']:.0f})"
        figure = f"{told['measured_db']:.1f} dB{own}; delay {told['delay_ms']:.0f} ms, found after "
        figure += f"{told['aligned_s']:.1f} s; {state['under']} under-runs, {told['over']} over-runs"
        made.append((label, figure, ""))
    return made, wrong
