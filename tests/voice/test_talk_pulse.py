"""``edgeagent talk``, for real: two people in a room with a loudspeaker that the microphone hears, on a sound server.

One conversation, from its beginning to Ctrl-C: the model is the one that is shipped, the people are flite and
espeak-ng, and what the robot says is recorded from its loudspeaker and understood by our own recogniser.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, Self

import numpy as np
import pytest

from edgeagent.app.phrases import house_phrases
from edgeagent.audio.resample import Resampler
from edgeagent.audio.types import Samples
from edgeagent.stt.sphinx import SphinxTranscriber
from edgeagent.testing import synthesised
from tests.audio.pulse import Pulse, missing

RATE_HZ = 48_000
LIMIT_S = 30
AGAIN_S = 8
TIMES = 4
END_S = 8
STOP_WORDS = "stop/1e-12"
"""Stricter than usual: these sinks' clocks differ more than any card's, and what is left of the robot's voice has passed
for the word. What is not spotted now, its transcript tells."""
PEAK = 0.5
"""Of the people's voices."""
IN_ROOM = [f"--rate={RATE_HZ}", "--channels=1", "--format=s16le", "-d", "room"]
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from edgeagent.cli import main; main()"

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


class Talk:
    """The command, and everything that it has told so far."""

    def __init__(self, pulse: Pulse, home: Path, checkout: Path) -> None:
        self._pulse = pulse
        self.log: list[dict[str, Any]] = []
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.errors: list[str] = []
        self._ready = Event()
        environment = pulse.environment | {
            "XDG_CACHE_HOME": str(home),
            "PYTHONPATH": str(checkout),
            "EDGEAGENT_STOP_WORDS": STOP_WORDS,
        }
        argv = [sys.executable, "-c", MAIN, "talk", "--json"]
        self.process = subprocess.Popen(
            argv,
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        for work in (self._read, self._read_errors):
            threading.Thread(target=work, daemon=True).start()
        assert self._ready.wait(LIMIT_S), self.errors

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(LIMIT_S)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._told.put(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.errors.append(line)
            if line.startswith("ready"):
                self._ready.set()

    def say(self, text: str, voice: str) -> None:
        """Somebody in the room says it, and has said it when this returns."""
        sound = synthesised(text, voice, RATE_HZ)
        sound = (sound * (32_767 * PEAK / np.abs(sound).max())).astype("<i2")
        argv = ["pacat", *IN_ROOM, "--latency-msec=400"]  # a player that is in a hurry stumbles on a busy machine
        subprocess.run(argv, input=sound.tobytes(), env=self._pulse.environment, check=True, timeout=LIMIT_S)

    def ask(self, text: str, voice: str, seen: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Says it and waits for an event; says it again if that does not come, as people do on a bad line."""
        for _ in range(TIMES):
            self.say(text, voice)
            if (event := self.next(seen, AGAIN_S)) is not None:
                return event
        shown = "\n".join(str(event)[:200] for event in self.log if event["kind"] not in ("message_update", "partial"))
        raise AssertionError(f"“{text}” had no effect; stderr: {self.errors}\n{shown}")

    def next(self, seen: Callable[[dict[str, Any]], bool], limit_s: float = LIMIT_S) -> dict[str, Any] | None:
        """Waits for an event, after those that were waited for before."""
        end_s = time.monotonic() + limit_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                event = self._told.get(timeout=left_s)
            except Empty:
                return None
            self.log.append(event)
            if seen(event):
                return event
        return None


def heard(part: str) -> Callable[[dict[str, Any]], bool]:
    """The robot has said something with that in it, and it was heard."""
    return lambda event: event["kind"] == "heard" and part in event["text"]


def tool(kind: str, name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda event: event["kind"] == kind and event["call"]["name"] == name


def tripped(event: dict[str, Any]) -> bool:
    return event["kind"] == "voice_state" and event["why"] == "trip"


def children(pid: int) -> set[int]:
    """All below a process."""
    found = set[int]()
    for task in Path(f"/proc/{pid}/task").glob("*"):
        for child in (task / "children").read_text().split():
            found |= {int(child)} | children(int(child))
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Recording:
    """What the loudspeaker plays, from the beginning."""

    def __init__(self, pulse: Pulse) -> None:
        self._process = pulse.recorder()
        self._parts: list[bytes] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while part := os.read(self._process.stdout.fileno(), 1 << 16):
            self._parts.append(part)

    def samples(self) -> Samples:
        """At 16 kHz."""
        sound = b"".join(self._parts)
        ints = np.frombuffer(sound[: len(sound) // 2 * 2], "<i2")
        return Resampler(RATE_HZ, 16_000).process((ints / 32_768).astype(np.float32), last=True)


def transcribed(sound: Samples, cache: Path) -> str:
    loud = np.flatnonzero(np.abs(sound) > 0.01)
    assert len(loud), "nothing was played"
    transcriber = SphinxTranscriber([*house_phrases(), "on my way to the kitchen"])
    try:
        transcriber.begin()
        transcriber.feed(sound[max(loud[0] - 3_200, 0) : loud[-1] + 3_200])
        return transcriber.finish(Event()).text
    finally:
        transcriber.close()


@pytest.fixture
def pulse() -> Iterator[Pulse]:
    """A room with a little noise, since none is as silent as zeros, in which the robot is not louder than the people."""
    with Pulse(echo=True) as server:
        inputs = server.control("list", "short", "sink-inputs").stdout.decode().splitlines()
        (loop,) = [line.split()[0] for line in inputs if "module-loopback" in line]
        assert server.control("set-sink-input-volume", loop, "-12dB").returncode == 0
        noise = subprocess.Popen(
            ["pacat", *IN_ROOM, "--latency-msec=100", "--volume=6000", "/dev/urandom"], env=server.environment
        )
        try:
            yield server
        finally:
            noise.kill()
            noise.wait(LIMIT_S)


def test_a_conversation_with_two_people_while_it_drives(pulse: Pulse, tmp_path: Path, checkout: Path) -> None:
    with Talk(pulse, tmp_path, checkout) as talk:
        recording = Recording(pulse)

        talk.ask("what time is it", "slt", heard("It is 14:0"))

        before = len(recording.samples())
        started = talk.ask("go to the kitchen", "slt", tool("tool_execution_start", "go_to"))
        assert started["call"]["arguments"] == {"place": "kitchen"}
        assert talk.next(heard("On my way to the kitchen"))
        assert "kitchen" in transcribed(recording.samples()[before:], tmp_path)
        assert talk.next(tool("tool_execution_update", "go_to")), "it does not move"

        talk.ask("where are you", "en-us", heard("I am in the living room"))

        talk.ask("stop", "slt", tripped)

        below = children(talk.process.pid)
        assert below, "the recognisers are processes of their own"
        os.killpg(talk.process.pid, signal.SIGINT)
        assert talk.process.wait(END_S) == 130
        assert [pid for pid in below if alive(pid)] == []
