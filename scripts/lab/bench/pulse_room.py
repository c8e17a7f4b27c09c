"""A person and a robot on a private sound server: the loudspeaker is heard by the microphone, and both are recorded.

The robot is a process of its own, since PortAudio finds its devices once, by the environment; it is asked and tells in
lines of JSON.

Of both recordings each sample's time is that at which it arrived here, by the least late arrivals nearby: what
PulseAudio's monitors and the recorders delay is in both, so that it is in no difference between them.
"""

from __future__ import annotations

import json
import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from bench.mouth_player import SILENT

from edgeagent.audio import Samples
from edgeagent.models import user_models_dir
from edgeagent.testing import synthesised
from tests.audio.pulse import Pulse

RATE_HZ: Final = 48_000
VOICES: Final = ("slt", "rms", "awb")
"""flite's, which no threshold was set on."""
ECHO_GAIN_DB: Final = -6.0
BLOCK: Final = 480
_BLOCK_S: Final = 0.010
_PERSON_RMS: Final = 0.1
_NOISE_VOLUME: Final = 8_000
"""PulseAudio's, of white noise at full scale."""
_END_DB: Final = -40.0
"""Speech ends with the last 10 ms that are so near to the peak of the clean line."""
_NEAR_S: Final = 1.0
LIMIT_S: Final = 60.0


Told = dict[str, Any]
"""What the process tells: its kind, and more."""


class Line:
    """What a person says, as loud as every other line."""

    def __init__(self, text: str, voice: str) -> None:
        self.text, self.voice = text, voice
        sound = synthesised(text, voice, RATE_HZ)
        loud = np.flatnonzero(peaks(sound) > np.abs(sound).max() * 10 ** (_END_DB / 20))
        self.onset_s = float(loud[0]) * _BLOCK_S
        self.end_s = float(loud[-1] + 1) * _BLOCK_S
        """Of speech, from the line's first sample."""
        self.sound: Samples = np.clip(sound * (_PERSON_RMS / rms(sound)), -1, 1).astype(np.float32)


class Take:
    """A piece of a recording."""

    def __init__(self, raw: bytes, arrivals: list[tuple[int, float]], before: int) -> None:
        self.samples = np.frombuffer(raw[: len(raw) // 2 * 2], "<i2").astype(np.float32) / 32_768
        self._arrivals = [(count - before, when_s) for count, when_s in arrivals]

    def time(self, sample: float) -> float:
        """When a sample was heard."""
        near = [
            when_s - count / RATE_HZ for count, when_s in self._arrivals if abs(count - sample) < _NEAR_S * RATE_HZ
        ] or [when_s - count / RATE_HZ for count, when_s in self._arrivals]
        return min(near) + sample / RATE_HZ

    def sample(self, at_s: float) -> int:
        """The other way round, to a millisecond."""
        guess = (at_s - self.time(0)) * RATE_HZ
        return round(guess + (at_s - self.time(guess)) * RATE_HZ)

    def begins_s(self, line: Line) -> float:
        """When the first sample of a line was heard in it: where it correlates best."""
        size = 1 << (len(self.samples) + len(line.sound)).bit_length()
        found = np.fft.irfft(np.fft.rfft(self.samples, size) * np.conj(np.fft.rfft(line.sound, size)), size)
        return self.time(int(np.argmax(found[: max(len(self.samples) - len(line.sound), 1)])))

    def loud(self, from_s: float, to_s: float) -> tuple[np.ndarray[Any, Any], float]:
        """Of each block of 10 ms between two moments, whether there is sound in it; and the time of the first block."""
        first, last = max(self.sample(from_s), 0), max(self.sample(to_s), 0)
        return peaks(self.samples[first:last]) > SILENT, self.time(first)

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


class Tape:
    """A recording that goes on; a thread of its own reads it."""

    def __init__(self, pulse: Pulse, source: str) -> None:
        self._process = pulse.recorder(source)
        self._changed = threading.Condition()
        self._pieces: list[bytes] = []
        self._arrivals: list[tuple[int, float]] = []
        self._count = self._before = 0
        threading.Thread(target=self._read, name=source, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        while piece := os.read(self._process.stdout.fileno(), 4096):
            with self._changed:
                self._pieces.append(piece)
                self._count += len(piece) // 2
                self._arrivals.append((self._count, time.monotonic()))
                self._changed.notify_all()

    def cut(self) -> Take:
        """What was recorded since the last cut."""
        with self._changed:
            raw, arrivals, before = b"".join(self._pieces), self._arrivals, self._before
            self._pieces, self._arrivals, self._before = [], [], self._count
        return Take(raw, arrivals, before)

    def wait_until(self, at_s: float) -> None:
        """Until it has recorded up to a moment.

        Raises:
            TimeoutError: The recorder has stopped.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: bool(self._arrivals) and self._arrivals[-1][1] > at_s, LIMIT_S):
                raise TimeoutError("the recorder has stopped")


class PulseRoom:
    """The sound server, a person, and the robot's process. A context manager.

    Args:
        module: Of the process, which tells ``ready`` as soon as it hears.
        arguments: Its own.

    Attributes:
        pulse: The server; loudspeaker and microphone have one clock, as those of a sound card.
        microphone: What the robot hears.
        pid: Of the process.

    Raises:
        TimeoutError: It is not ready in time.
    """

    def __init__(self, module: str, *arguments: str) -> None:
        self.pulse = Pulse(card=True)
        self._queue: queue.SimpleQueue[Told | None] = queue.SimpleQueue()
        root = Path(__file__).parents[3]
        try:
            self.microphone = Tape(self.pulse, "room.monitor")
            self._errors = (self.pulse.folder / "errors").open("w+")
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env=self.pulse.environment
                | {
                    "PYTHONPATH": f"{root}{os.pathsep}{root / 'scripts' / 'lab'}",
                    "EDGEAGENT_MODELS": str(user_models_dir()),  # the server has a home of its own
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
            self.pid = self._process.pid
            threading.Thread(target=self._read, name="told", daemon=True).start()
            self.wait(lambda told: told["kind"] == "ready", LIMIT_S)
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        for line in self._process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def close(self) -> None:
        """Ends the process and the server."""
        if hasattr(self, "_process"):
            assert self._process.stdin is not None  # noqa: S101  it is a pipe
            self._process.stdin.close()
            try:
                self._process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._errors.close()
        self.pulse.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the process ----------------------------------------------------------------------------------------------

    def ask(self, op: str, **what: Any) -> None:
        """Something that the process does."""
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        self._process.stdin.write(json.dumps({"op": op, **what}) + "\n")
        self._process.stdin.flush()

    def take(self, told: Told) -> None:
        """Called with everything that is told, when somebody waits for it."""

    def wait(self, seen: Callable[[Told], bool], timeout_s: float) -> Told:
        """The next of what it tells that is of a kind.

        Raises:
            TimeoutError: It has not come in time, or the process has ended.
        """
        end_s = time.monotonic() + timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                told = self._queue.get(timeout=left_s)
            except queue.Empty:
                break
            if told is None:
                raise TimeoutError(f"the robot has ended: {self._error()}")
            self.take(told)
            if seen(told):
                return told
        raise TimeoutError(f"it did not come in {timeout_s:g} s")

    def told(self) -> Iterator[Told]:
        """What it has told and nobody has waited for."""
        while not self._queue.empty():
            if (told := self._queue.get()) is not None:
                yield told

    def _error(self) -> str:
        self._errors.seek(0)
        return (self._errors.read().strip().splitlines() or ["without a word"])[-1]

    # --- the person -----------------------------------------------------------------------------------------------

    def speak(self, line: Line) -> None:
        """Somebody in the room says it, and has said it when this returns."""
        argv = ["pacat", "--latency-msec=100", f"--rate={RATE_HZ}", "--channels=1", "--format=s16le", "-d", "room"]
        sound = (line.sound * 32_767).astype("<i2").tobytes() + bytes(RATE_HZ // 5)
        subprocess.run(argv, input=sound, env=self.pulse.environment, check=True, timeout=LIMIT_S)

    @contextmanager
    def noise(self) -> Iterator[None]:
        """As every microphone has: -60 dBFS, 40 dB under a person."""
        argv = ["pacat", "--latency-msec=100", f"--rate={RATE_HZ}", "--channels=1", "--format=s16le", "-d", "room"]
        child = subprocess.Popen([*argv, f"--volume={_NOISE_VOLUME}", "/dev/urandom"], env=self.pulse.environment)
        try:
            yield
        finally:
            child.kill()
            child.wait(LIMIT_S)

    def set_echo(self) -> float:
        """Makes the echo as much softer than the person as it shall be; returns what it was measured to be, in dB."""
        person_db = 20 * math.log10(_PERSON_RMS)
        self.pulse.set_echo_volume(0.0)
        self.pulse.set_echo_volume(person_db + ECHO_GAIN_DB - self.echo_db())
        return self.echo_db() - person_db

    def echo_db(self) -> float:
        """Level of the echo at the microphone, while the robot speaks."""
        raise NotImplementedError


def rms(sound: Samples) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))


def peaks(sound: Samples) -> np.ndarray[Any, Any]:
    """Of each whole block of 10 ms."""
    whole = np.abs(sound[: len(sound) // BLOCK * BLOCK]).reshape(-1, BLOCK)
    return whole.max(axis=1) if len(whole) else np.zeros(0)
