"""``edgeagent talk``, for real: two people in a room with a loudspeaker that the microphone hears, on a sound server.

A conversation from its beginning to Ctrl-C, and one in which nobody interrupts the robot. The model is the one that is
shipped, the people are two of flite, and what the robot says is recorded from its loudspeaker and compared with what it
should say.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any, Self

import numpy as np
import pytest

from edgeagent.audio import Resampler, Samples
from edgeagent.testing import synthesised
from edgeagent.tts import make_speaker
from tests.audio.pulse import Pulse, missing
from tests.processes import descendants, left

RATE_HZ = 48_000
LIMIT_S = 30
AGAIN_S = 10
TIMES = 8
END_S = 8
PIECE = 4_800
"""Samples of what the robot says, 0.3 s, that are looked for in the recording."""
MOVES = "I can move again"
PERSON_RMS = 0.1
"""Of the people's voices at the microphone."""
ECHO_DB = -6.0
"""Level of the robot's voice there, beside theirs."""
VOICE = "heart"
ANNOUNCED = "On my way to the kitchen."
IN_ROOM = [f"--rate={RATE_HZ}", "--channels=1", "--format=s16le", "-d", "room"]
MAIN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from edgeagent.cli import main; main()"

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.timeout(240),  # of 30 s, as a rule; on a busy machine lines have to be said again
]


class Talk:
    """The command, and everything that it has told so far."""

    def __init__(self, pulse: Pulse, home: Path, checkout: Path, cache: Path) -> None:
        self._pulse = pulse
        self.log: list[dict[str, Any]] = []
        self._told: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self.errors: list[str] = []
        self.stopped = False
        self._ready = Event()
        environment = pulse.environment | {
            "XDG_CACHE_HOME": str(cache),
            "PYTHONPATH": str(checkout),
            "EDGEAGENT_VOICE": VOICE,
        }
        # slowly, so that it still drives when a line has to be said again
        argv = [sys.executable, "-c", MAIN, "talk", "--json", "--speed", "0.2"]
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        if error is not None:  # pytest shows its notes
            while not self._told.empty():
                self.log.append(self._told.get())
            error.add_note("\n".join([*filter(None, map(self._line, self.log)), *self.errors]))
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

    @staticmethod
    def _line(event: dict[str, Any]) -> str:
        untold = ("message_update", "partial", "playback")
        return "" if event["kind"] in untold else json.dumps(event)[:200]

    def say(self, text: str, voice: str) -> None:
        """Somebody in the room says it, and has said it when this returns."""
        sound = synthesised(text, voice, RATE_HZ)
        sound = np.clip(sound * (32_767 * PERSON_RMS / rms(sound)), -32_768, 32_767).astype("<i2")
        argv = ["pacat", *IN_ROOM, "--latency-msec=400"]  # a player that is in a hurry stumbles on a busy machine
        subprocess.run(argv, input=sound.tobytes(), env=self._pulse.environment, check=True, timeout=LIMIT_S)

    def ask(self, text: str, voice: str, seen: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Says it and waits for an event; says it again if that does not come, as people do on a bad line.

        A robot that has stopped by mistake is told to go on first.
        """
        for _ in range(TIMES):
            if self.stopped:
                self.say("continue", voice)
                self.next(lambda event: not self.stopped, AGAIN_S)
            self.say(text, voice)
            if (event := self.next(seen, AGAIN_S)) is not None:
                return event
        raise AssertionError(f"“{text}” had no effect")

    def next(self, seen: Callable[[dict[str, Any]], bool], limit_s: float = LIMIT_S) -> dict[str, Any] | None:
        """Waits for an event, after those that were waited for before."""
        end_s = time.monotonic() + limit_s
        while (left_s := end_s - time.monotonic()) > 0:
            try:
                event = self._told.get(timeout=left_s)
            except Empty:
                return None
            self.log.append(event)
            self.stopped = (self.stopped or tripped(event)) and not heard(MOVES)(event)
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


def interruptions(log: list[dict[str, Any]]) -> list[str]:
    """What began a turn, or had the robot pause, while it spoke."""
    speaks, found = False, []
    for event in log:
        if event["kind"] == "voice_state" and event["why"] == "first sound":
            speaks = True
        elif event["kind"] == "heard":
            speaks = False
        elif speaks and event["kind"] in ("speech_start", "barge_in"):
            found.append(event["kind"])
    return found


class Recording:
    """What the loudspeaker plays, from the beginning."""

    def __init__(self, pulse: Pulse) -> None:
        self._process = pulse.recorder()
        self._parts: list[bytes] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._thread.join(LIMIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while part := os.read(self._process.stdout.fileno(), 1 << 16):
            self._parts.append(part)

    def samples(self) -> Samples:
        """At 16 kHz."""
        sound = b"".join(self._parts)
        ints = np.frombuffer(sound[: len(sound) // 2 * 2], "<i2")
        return Resampler(RATE_HZ, 16_000).process((ints / 32_768).astype(np.float32), last=True)


def rms(sound: Samples) -> float:
    """Of what is louder than silence."""
    return float(np.sqrt(np.mean(np.square(sound[np.abs(sound) > 1e-3], dtype=np.float64))))


def in_robots_voice(text: str) -> Samples:
    """At 16 kHz."""
    with closing(make_speaker(VOICE)) as voice:
        chunks = [chunk.samples for chunk in voice.speak(text, Event())]
        return Resampler(voice.rate_hz, 16_000).process(np.concatenate(chunks), last=True)


def likeness(sound: Samples, text: str) -> tuple[float, float]:
    """How much the likest moment of a sound is like a piece of that sentence in the robot's voice, and how loud it is.

    Of the first, 1 is the same; of the second, 1 is as loud as the voice itself.
    """
    said = in_robots_voice(text)
    return max(_likest(sound, said[at : at + PIECE]) for at in range(PIECE, len(said) - PIECE, PIECE))


def _likest(sound: Samples, piece: Samples) -> tuple[float, float]:
    count = 1 << (len(sound) + len(piece)).bit_length()
    spectra = np.fft.rfft(sound, count) * np.conj(np.fft.rfft(piece, count))
    products = np.fft.irfft(spectra, count)[: len(sound) - len(piece)]
    energy = np.concatenate([[0.0], np.cumsum(np.square(sound, dtype=np.float64))])
    energies = energy[len(piece) :][: len(products)] - energy[: len(products)]
    own = np.square(piece).sum()
    likenesses = products / np.sqrt((energies + 1e-3) * own)
    at = int(np.argmax(likenesses))
    return float(likenesses[at]), math.sqrt(energies[at] / own)


@pytest.fixture
def pulse() -> Iterator[Pulse]:
    """A room with a little noise, as every one has, and an open loudspeaker on the card of the microphone."""
    with Pulse(card=True) as server:
        server.set_echo_volume(ECHO_DB + 20 * math.log10(PERSON_RMS / rms(in_robots_voice(ANNOUNCED))))
        noise = subprocess.Popen(
            ["pacat", *IN_ROOM, "--latency-msec=100", "--volume=6000", "/dev/urandom"], env=server.environment
        )
        try:
            yield server
        finally:
            noise.kill()
            noise.wait(LIMIT_S)


def test_a_conversation_with_two_people_while_it_drives(
    pulse: Pulse, tmp_path: Path, checkout: Path, ears_cache: Path
) -> None:
    with Talk(pulse, tmp_path, checkout, ears_cache) as talk, Recording(pulse) as recording:
        talk.ask("what time is it", "slt", heard("It is 14:0"))

        before = len(recording.samples())
        talk.ask("go to the kitchen", "slt", heard("On my way to the kitchen"))
        driven = [event["call"]["arguments"] for event in talk.log if tool("tool_execution_start", "go_to")(event)]
        assert driven[-1] == {"place": "kitchen"}
        played = recording.samples()[before:]
        like, loud = likeness(played, ANNOUNCED)
        unlike, _ = likeness(played, "The battery is full again.")
        assert like > max(0.55, unlike), "all that it said since; the more that is, the likelier is any sentence"
        assert loud == pytest.approx(1, rel=0.3), "the echo has another level"
        assert talk.next(tool("tool_execution_update", "go_to")), "it does not move"

        talk.ask("where are you", "rms", heard("I am in"))

        talk.ask("stop", "slt", tripped)

        below = descendants(talk.process.pid)
        assert below, "the recognisers are processes of their own"
        os.killpg(talk.process.pid, signal.SIGINT)
        assert talk.process.wait(END_S) == 130
        assert left(below) == []


def test_the_robot_is_not_interrupted_by_its_own_voice(
    pulse: Pulse, tmp_path: Path, checkout: Path, ears_cache: Path
) -> None:
    """A sound server that stumbles moves the echo, which is learnt anew then: so it may be once of four times, where it
    was in every second sentence while the far end followed the server's times."""
    with Talk(pulse, tmp_path, checkout, ears_cache) as talk:
        for place in ("kitchen", "bedroom", "kitchen", "bedroom"):
            talk.ask(f"go to the {place}", "slt", heard(f"On my way to the {place}"))
        assert interruptions(talk.log).count("speech_start") <= 1
