"""A person who takes a voice test in the simulated room, on the room's clock."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgeagent.app import ears_setup as parts
from edgeagent.audio import PlaybackQueue
from edgeagent.check import Attempt, PlannedLine, Tapped, VoiceRecordings, VoiceReport, VoiceRun, VoiceScore, advice
from edgeagent.config import Config
from edgeagent.stt import Level
from edgeagent.testing import Room, RoomSettings, synthesised
from edgeagent.tts import Mouth, make_speaker

COMMANDS = ("go to the kitchen", "turn left", "where are you", "what time is it", "look to the left", "follow me")
RATE_HZ = 16_000
STEP_S = 0.02
ANSWERS_S = 0.4
OVER_S = 2.0


class Person:
    """Says what he is asked for, and keeps what he is shown.

    Args:
        gain: Of his voice at the microphone, which clips what is too loud.
        quits: After so many lines, by Ctrl-C.
    """

    def __init__(self, room: Room, *, gain: float = 1.0, quits: int | None = None) -> None:
        self.room, self.gain, self.quits = room, gain, quits
        self.shown: list[Attempt] = []
        self.asked: list[str] = []
        self.told: list[str] = []
        self.places: list[str] = []

    def tell(self, text: str) -> None:
        self.told.append(text)

    def ask(self, number: int, count: int, line: PlannedLine) -> None:
        if self.quits is not None and number > self.quits:
            raise KeyboardInterrupt
        self.asked.append(line.text)

    def listen(self, line: PlannedLine) -> None:
        sound = synthesised(line.text, "slt", RATE_HZ)
        after_s = OVER_S if line.kind == "stop_over" else ANSWERS_S
        self.room.say(sound, RATE_HZ, self.room.now() + after_s, level_db=20 * float(np.log10(self.gain)))

    def level(self, level: Level) -> None:
        pass

    def show(self, attempt: Attempt) -> None:
        self.shown.append(attempt)

    def move(self, distance: str) -> None:
        self.places.append(distance)


class VoiceTaken:
    """A test that was taken; ``advice`` has the names of what is to be changed."""

    def __init__(
        self,
        lines: Sequence[PlannedLine],
        folder: Path,
        room: RoomSettings | None = None,
        *,
        silent: bool = False,
        gain: float = 1.0,
        quits: int | None = None,
    ) -> None:
        self.config = Config(ears={"engine": "sphinx"})
        self.room = Room(room or RoomSettings(rate_hz=RATE_HZ, echo_gain_db=-6, noise_snr_db=45, record=False))
        self.person = Person(self.room, gain=gain, quits=quits)
        self.recordings = VoiceRecordings(lambda told: None, person="anna", among=folder)
        self.interrupted = False
        voice = make_speaker("en")
        mouth = None if silent else Mouth(voice, PlaybackQueue(RATE_HZ))
        tapped = Tapped(self.room)
        run = VoiceRun(
            tapped,
            mouth,
            self.person,
            self.recordings.keep,
            person="anna",
            stop_words=parts.stop_words(self.config),
            in_step=True,
        )
        ears = parts.build_ears(self.config, tapped, parts.Vocabulary(phrases=COMMANDS), run.put, in_step=True)
        done = threading.Event()
        clock = threading.Thread(target=self._pass_time, args=(mouth, done), daemon=True)
        clock.start()
        try:
            run.run(ears, lines)
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            done.set()
            clock.join(30)
            ears.close()
            if mouth is not None:
                mouth.close()
            voice.close()
        if run.room is not None:
            self.recordings.keep_room(run.room)
        self.attempts, self.sound = run.attempts, run.room
        self.report = VoiceReport(VoiceScore(run.attempts), run.room, "sphinx")

    @property
    def advice(self) -> list[str]:
        return [one.name for one in advice(self.report, self.config)]

    def _pass_time(self, mouth: Mouth | None, done: threading.Event) -> None:
        while not done.is_set():
            self.room.run(STEP_S)
            if mouth is not None:
                mouth.settle()
