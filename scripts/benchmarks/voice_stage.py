"""A person and the robot on a private sound server: the loudspeaker is heard by the microphone, and both are recorded.

Of both recordings each sample's time is that at which it arrived here, by the least late arrivals nearby: what
PulseAudio's monitors and the recorders delay is in both, so that it is in no difference between them.
"""

from __future__ import annotations

import json
import math
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
from benchmarks.mouth_player import SILENT

from edgeagent.audio.types import Samples
from edgeagent.testing import synthesised
from tests.audio.pulse import Pulse

RATE_HZ: Final = 48_000
VOICES: Final = ("slt", "rms", "awb")
"""flite's, which no threshold was set on."""
ECHO_GAIN_DB: Final = -6.0
_BLOCK: Final = 480
_BLOCK_S: Final = 0.010
_PERSON_RMS: Final = 0.1
_END_DB: Final = -40.0
"""Speech ends with the last 10 ms that are so near to the peak of the clean line."""
_NEAR_S: Final = 1.0
_LIMIT_S: Final = 60.0
_SECOND: Final = RATE_HZ
_ALONE: Final = 6
"""Texts of five seconds."""
_ALOUD: Final = "I will go through the flat now and tell you everything that I find on my way there"


class Line:
    """What a person says, as loud as every other line."""

    def __init__(self, text: str, voice: str) -> None:
        self.text, self.voice = text, voice
        sound = synthesised(text, voice, RATE_HZ)
        loud = np.flatnonzero(_peaks(sound) > np.abs(sound).max() * 10 ** (_END_DB / 20))
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
        return _peaks(self.samples[first:last]) > SILENT, self.time(first)

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
            if not self._changed.wait_for(lambda: bool(self._arrivals) and self._arrivals[-1][1] > at_s, _LIMIT_S):
                raise TimeoutError("the recorder has stopped")


class Stage:
    """The robot, a person, and what both of them hear. A context manager.

    Args:
        one_card: Loudspeaker and microphone have one clock, as those of a sound card. Otherwise each null sink has its
            own, which differ by more than those of any two cards.
        settings: Of the conversation.

    Raises:
        TimeoutError: The robot is not ready in time.
    """

    def __init__(self, *, one_card: bool = True, **settings: Any) -> None:
        self._pulse = Pulse(echo=not one_card)
        self._way = "module-remap-sink" if one_card else "module-loopback"
        """Of the loudspeaker's sound into the room."""
        if one_card:
            self._pulse.control("load-module", "module-remap-sink", "sink_name=card", "master=room")
            self._pulse.control("set-default-sink", "card")
        self._log: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.seen: list[dict[str, Any]] = []
        """The log since the last ``rest``."""
        self.trials = 0
        """How often it has rested."""
        try:
            self.tape = Tape(self._pulse, "card.monitor" if one_card else "speaker.monitor")
            self.microphone = Tape(self._pulse, "room.monitor")
            root = Path(__file__).parents[2]
            self._errors = (self._pulse.folder / "robot").open("w+")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.voice_robot", json.dumps(settings)],
                env=self._pulse.environment | {"PYTHONPATH": f"{root}{os.pathsep}{root / 'scripts'}"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
            threading.Thread(target=self._read, name="robot", daemon=True).start()
            self.pid = int(self.wait(lambda event: event["kind"] == "ready", _LIMIT_S)["pid"])
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it is a pipe
        for line in self._process.stdout:
            self._log.put(json.loads(line))
        self._log.put(None)

    def close(self) -> None:
        """Ends the robot and the sound server."""
        if hasattr(self, "_process"):
            assert self._process.stdin is not None  # noqa: S101  it is a pipe
            self._process.stdin.close()
            try:
                self._process.wait(_LIMIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pulse.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the robot ------------------------------------------------------------------------------------------------

    def ask(self, op: str, **what: Any) -> None:
        """Something that ``voice_robot`` does."""
        assert self._process.stdin is not None  # noqa: S101  it is a pipe
        self._process.stdin.write(json.dumps({"op": op, **what}) + "\n")
        self._process.stdin.flush()

    def wait(self, seen: Callable[[dict[str, Any]], bool], timeout_s: float) -> dict[str, Any]:
        """The next event of a kind.

        Raises:
            TimeoutError: It has not come in time, or the robot has ended.
        """
        end_s = time.monotonic() + timeout_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                event = self._log.get(timeout=left_s)
            except queue.Empty:
                break
            if event is None:
                raise TimeoutError(f"the robot has ended: {self._error()}")
            self.seen.append(event)
            if seen(event):
                return event
        raise TimeoutError(f"it did not come in {timeout_s:g} s")

    def _error(self) -> str:
        self._errors.seek(0)
        return (self._errors.read().strip().splitlines() or ["without a word"])[-1]

    def rest(self) -> dict[str, Any]:
        """Between two trials: everything ends, and what was recorded and told is forgotten."""
        self.ask("rest")
        state = self.wait(lambda event: event["kind"] == "rests", _LIMIT_S)
        self.tape.wait_until(time.monotonic() + 0.3)
        self.tape.cut()
        self.microphone.cut()
        self.seen.clear()
        self.trials += 1
        return state

    def takes(self, until_s: float) -> tuple[Take, Take]:
        """What loudspeaker and microphone heard since the trial began."""
        for tape in (self.tape, self.microphone):
            tape.wait_until(until_s)
        return self.tape.cut(), self.microphone.cut()

    # --- the person -----------------------------------------------------------------------------------------------

    def speak(self, line: Line) -> None:
        """Somebody in the room says it, and has said it when this returns."""
        argv = ["pacat", "--latency-msec=100", f"--rate={RATE_HZ}", "--channels=1", "--format=s16le", "-d", "room"]
        sound = (line.sound * 32_767).astype("<i2").tobytes() + bytes(_SECOND // 5)
        subprocess.run(argv, input=sound, env=self._pulse.environment, check=True, timeout=_LIMIT_S)

    def set_echo(self) -> float:
        """Makes the echo as much softer than the person as it shall be; returns what it was measured to be, in dB."""
        listed = self._pulse.control("list", "short", "sink-inputs").stdout.decode()
        found = re.search(rf"^(\d+)\t.*{self._way}", listed, re.MULTILINE)
        assert found is not None  # noqa: S101  the server was started with it
        self._pulse.control("set-sink-input-volume", found[1], "0dB")
        wanted_db = 20 * math.log10(_PERSON_RMS) + ECHO_GAIN_DB
        volume_db = wanted_db - self._echo_db()
        self._pulse.control("set-sink-input-volume", found[1], f"{volume_db:.2f}dB")
        return self._echo_db() - 20 * math.log10(_PERSON_RMS)

    def warm_up(self) -> None:
        """Has the robot speak alone for half a minute, so that it knows its own voice in this room."""
        for _ in range(_ALONE):
            self._echo_db()

    def _echo_db(self) -> float:
        """Level of the echo at the microphone, while the robot speaks."""
        self.rest()
        self.ask("say", text=_ALOUD)
        self.wait(lambda event: event["kind"] == "heard", _LIMIT_S)
        _, microphone = self.takes(time.monotonic() + 0.5)
        loud = np.repeat(_peaks(microphone.samples) > SILENT, _BLOCK)
        return 20 * math.log10(rms(microphone.samples[: len(loud)][loud]))


def rms(sound: Samples) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(np.square(sound, dtype=np.float64))))


def _peaks(sound: Samples) -> np.ndarray[Any, Any]:
    """Of each whole block of 10 ms."""
    whole = np.abs(sound[: len(sound) // _BLOCK * _BLOCK]).reshape(-1, _BLOCK)
    return whole.max(axis=1) if len(whole) else np.zeros(0)
