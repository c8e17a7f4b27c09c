"""Hundreds of spoken turns through the whole embedded stack, in the simulated room: does anything grow?

The room's clock is virtual, so that it takes as long as the machine needs. Run as a program it prints its figures as
JSON: in a process of its own, of which only that is measured.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

from bench.pulse_room import VOICES
from bench.report import Rows
from bench.voice_latency import MOTIONS, OVER, QUESTIONS
from bench.voice_stack import family, pss_mb

from edgeagent.app import App, Conversation, build
from edgeagent.config import Config
from edgeagent.testing import Room, RoomSettings, synthesised

_STEP_S: Final = 0.04
_SETTLE_S: Final = 20.0
_AFTER_S: Final = 1.4
"""From the end of what is said to the next line: some answers are interrupted by it."""
_WARM_SHARE: Final = 0.2
"""Of the turns: until then the model's context, caches and the allocator grow."""
_LIMIT_S: Final = 2400.0
_RATE_HZ: Final = 48_000
_TARGET_MB: Final = 8.0
"""That the memory of all processes may differ by between the first fifth and the end."""


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target; and what does not work."""
    turns = 25 if quick else 500
    argv = [sys.executable, "-m", "bench.voice_soak", str(turns)]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=_LIMIT_S, check=False)
    if done.returncode:
        return [(f"soak of {turns} turns", f"failed: exit code {done.returncode}", "")], ["soak"]
    told: dict[str, Any] = json.loads(done.stdout)
    made: Rows = [(f"soak of {turns} spoken turns: answered", f"{told['answered']} in {told['took_s']:.0f} s", "")]
    for what in ("threads", "processes", "descriptors"):
        made.append((f"  {what}, after {told['warm']} and at the end", _both(told, what, "d"), "the same"))
    made.append((f"  memory (PSS), after {told['warm']} and at the end, MB", _both(told, "memory", ".1f"), "flat"))
    grown = [what for what in ("threads", "processes", "descriptors") if told["after"][what] > told["before"][what]]
    if not quick and told["after"]["memory"] - told["before"]["memory"] > _TARGET_MB:
        grown.append("memory")
    return made, [f"soak: more {what}" for what in grown]


def _both(told: dict[str, Any], what: str, form: str) -> str:
    return f"{told['before'][what]:{form}} and {told['after'][what]:{form}}"


def state() -> dict[str, float]:
    """Of this process and all below it."""
    pids = list(family(os.getpid()))
    return {
        "threads": sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids),
        "processes": len(pids),
        "descriptors": sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in pids),
        "memory": sum(map(pss_mb, pids)),
    }


class Soak:
    """A conversation in a room, and a person who speaks without an end."""

    def __init__(self, app: App, room: Room, conversation: Conversation) -> None:
        self._app, self._room, self._conversation = app, room, conversation
        self._rng = random.Random(5)
        self._lines = [(text, VOICES[i % 3]) for i, text in enumerate((*MOTIONS, *QUESTIONS, *OVER, "stop"))]
        self.answered = 0
        conversation.subscribe(self._count)

    def _count(self, event: Any) -> None:
        if event.kind == "agent_end":
            self.answered += 1

    def turn(self) -> None:
        """One line, and a part of what it brings about."""
        text, voice = self._rng.choice(self._lines)
        said = self._room.say(synthesised(text, voice, _RATE_HZ), _RATE_HZ)
        self.go(said.end_s + _AFTER_S * self._rng.uniform(0.5, 1.5) - self._room.now())
        self._conversation.rearm()

    def go(self, seconds: float) -> None:
        """Lets the room's time pass.

        Raises:
            TimeoutError: The conversation has stopped.
        """
        end_s = self._room.now() + seconds
        while self._room.now() < end_s:
            self._room.run(_STEP_S)
            if not self._conversation.dialogue.settle(_SETTLE_S):
                raise TimeoutError("the conversation does not settle")
            if self._app.robot is not None:
                self._app.robot.world.settle()


def soak(turns: int) -> dict[str, Any]:
    """That many turns, and what is there before and after."""
    config = Config(conversation={"chimes": False})
    room = Room(RoomSettings(echo_gain_db=-6.0, record=False))
    warm = max(round(turns * _WARM_SHARE), 1)
    begun_s = time.monotonic()
    before: dict[str, float] = {}
    with (
        build(config, live=True, voice=True, clock=room.now) as app,
        Conversation(app.agent, config=config, input=room, session=app.session, telling=app.telling) as conversation,
    ):
        app.load()
        conversation.start()
        soaked = Soak(app, room, conversation)
        soaked.go(2.0)
        for i in range(turns):
            soaked.turn()
            if i + 1 == warm:
                before = _calm(soaked)
            if (i + 1) % 50 == 0:
                print(f"  {i + 1} turns, {time.monotonic() - begun_s:.0f} s: {state()}", file=sys.stderr, flush=True)
        after = _calm(soaked)
    took_s = time.monotonic() - begun_s
    return {"answered": soaked.answered, "took_s": took_s, "warm": warm, "before": before, "after": after}


def _calm(soaked: Soak) -> dict[str, float]:
    """The state when nothing goes on."""
    soaked._conversation.stop("to look")
    soaked.go(3.0)
    soaked._conversation.rearm()
    threading.Event().wait(0.5)
    return state()


if __name__ == "__main__":
    print(json.dumps(soak(int(sys.argv[1]))))
