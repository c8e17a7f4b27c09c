"""The robot of ``scripts/bench voice`` and a person, on a private sound server; what both of them hear."""

from __future__ import annotations

import json
import math
import time
from typing import Any, Final

import numpy as np
from bench.mouth_player import SILENT
from bench.pulse_room import BLOCK, LIMIT_S, PulseRoom, Take, Tape, Told, peaks, rms

_ALONE: Final = 6
"""Texts of five seconds."""
_ALOUD: Final = "I will go through the flat now and tell you everything that I find on my way there"


class Stage(PulseRoom):
    """The robot, a person, and what both of them hear. A context manager.

    Args:
        settings: Of the conversation.

    Attributes:
        tape: What the loudspeaker plays.
        seen: The log since the last ``rest``.
        trials: How often it has rested.

    Raises:
        TimeoutError: The robot is not ready in time.
    """

    def __init__(self, **settings: Any) -> None:
        self.seen: list[Told] = []
        self.trials = 0
        super().__init__("bench.voice_robot", json.dumps(settings))
        self.tape = Tape(self.pulse, f"{self.pulse.loudspeaker}.monitor")

    def take(self, told: Told) -> None:
        self.seen.append(told)

    def rest(self) -> Told:
        """Between two trials: everything ends, and what was recorded and told is forgotten."""
        self.ask("rest")
        state = self.wait(lambda event: event["kind"] == "rests", LIMIT_S)
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

    def warm_up(self) -> None:
        """Has the robot speak alone for half a minute, so that it knows its own voice in this room."""
        for _ in range(_ALONE):
            self.echo_db()

    def echo_db(self) -> float:
        """Level of the echo at the microphone, while the robot speaks."""
        self.rest()
        self.ask("say", text=_ALOUD)
        self.wait(lambda event: event["kind"] == "heard", LIMIT_S)
        _, microphone = self.takes(time.monotonic() + 0.5)
        loud = np.repeat(peaks(microphone.samples) > SILENT, BLOCK)
        return 20 * math.log10(rms(microphone.samples[: len(loud)][loud]))
