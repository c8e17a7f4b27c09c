"""Talk and drive: a base in the simulated flat, driven by what people say in the simulated room.

``scripts/bench base --drive MINUTES``. The base is a process of its own, as on a robot, and moves by the wall's clock;
the room's time is kept no faster. Ears, voice and model are those of ``edgeagent talk``.
"""

from __future__ import annotations

import math
import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from edgeagent import Agent, Conversation, LlamaLLM, Tool, ToolResult
from edgeagent.config import Config
from edgeagent.house import START, STEP_S, Drivetrain, Point, Pose, the_obstacles
from edgeagent.robot import BaseDriver, BaseLimits, Drive, Odometry, SimulatedBase, base_tools
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.robot.bases import calls

_LINES: Final = (
    "drive forward two meters",
    "drive back one meter",
    "turn left ninety degrees",
    "turn around",
    "turn right forty five degrees",
    "where are you",
    "how full is your battery",
)
_VOICES: Final = ("slt", "rms", "awb")
_EVERY_S: Final = 8.0
"""Seconds of the room's time from one line to the next: some are said while the base drives."""
_STEP_ROOM_S: Final = 0.04
_SETTLE_S: Final = 60.0
_RATE_HZ: Final = 48_000


@dataclass
class FlatBase(SimulatedBase):
    """A base with the house robot's wheels and walls: it takes time to speed up, and stands at a wall."""

    def open(self) -> None:
        obstacles, radius_m = the_obstacles(), 0.2
        self._wheels = Drivetrain(START, lambda x, y: "wall" if obstacles.hit(x, y, radius_m) else "")
        self._stepped_s = time.monotonic()
        super().open()

    def odometry(self) -> Odometry:
        steps = int((time.monotonic() - self._stepped_s) / STEP_S)
        self._stepped_s += steps * STEP_S
        for _ in range(steps):
            self._wheels.step(self._velocity.forward_mps, self._velocity.turn_rps)
        return Odometry(self._wheels.travelled_m, self._wheels.rotated)

    def battery_v(self) -> float:
        return 12.0


class CountedDriver(BaseDriver):
    """Counts what stops its base on purpose: the end of each drive, and holds, which a stop word makes."""

    drives = holds = 0

    def drive(self) -> AbstractContextManager[Drive]:
        self.drives += 1
        return super().drive()

    def hold(self) -> None:
        self.holds += 1
        super().hold()

    def ahead_m(self) -> float:
        """Metres to a wall, where the base is by dead reckoning: its distance sensor."""
        at, turned = self.position, START.heading
        x = START.x + at.ahead_m * math.cos(turned) - at.left_m * math.sin(turned)
        y = START.y + at.ahead_m * math.sin(turned) + at.left_m * math.cos(turned)
        pose = Pose(x, y, turned + at.heading_rad)
        return the_obstacles().free_way(Point(pose.x, pose.y), pose.heading, 0.2)[0] + 0.01


def drive(minutes: float, seed: int) -> bool:
    """Talks and drives for so long, and prints what stopped the base. Returns True if nothing did but its commands."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "base")
        base = FlatBase(BaseLimits(board_timeout_s=0.5), log=log)
        results: list[tuple[str, ToolResult]] = []
        with CountedDriver(base) as driver:
            _talk(driver, minutes * 60, random.Random(seed), results)
            driven = driver.way
        # each drive and hold stops the motors once, and so does closing
        stops = sum(text == "stop" for _, text in calls(log)) - 1
    false = max(0, stops - driver.drives - driver.holds)
    ended = dict(Counter(f"{name} {result.status}" for name, result in results))
    failed = Counter(result.text for _, result in results if result.is_error)
    print(f"{minutes:g} minutes: {driver.drives} drives, {driver.holds} holds, {driven.travelled_m:.1f} m; {ended}")
    for text, times in failed.items():
        print(f"  {times} x {text}")
    print(f"stops that no command made: {false}")
    return not false and not any(text.startswith("stopped after") for text in failed)


def _recorded(tool: Tool, results: list[tuple[str, ToolResult]]) -> Tool:
    """The tool, whose results are kept, also those of a goal that outlived its run."""
    body = tool.function

    def kept(*args: object, **keywords: object) -> ToolResult:
        result: ToolResult = body(*args, **keywords)
        results.append((tool.name, result))
        return result

    tool.function = kept
    return tool


def _talk(driver: CountedDriver, seconds: float, draw: random.Random, results: list[tuple[str, ToolResult]]) -> None:
    room, config = Room(RoomSettings(echo_gain_db=-6.0, record=False)), Config(conversation={"chimes": False})
    tools = base_tools(driver, places={"kitchen": (1.0, 0.0)}, distance=driver.ahead_m)
    agent = Agent(
        "rover",
        "You are a robot. Act with the tools.",
        llm=LlamaLLM("nano"),
        tools=[_recorded(tool, results) for tool in tools],
        phrases=_LINES,
    )
    pause = threading.Event()
    with Conversation(agent, config=config, input=room) as conversation:
        conversation.start()
        begun_s = time.monotonic()
        say_s = 1.0
        while (passed_s := time.monotonic() - begun_s) < seconds:
            if room.now() >= say_s:
                said = room.say(synthesised(draw.choice(_LINES), draw.choice(_VOICES), _RATE_HZ), _RATE_HZ)
                say_s = said.end_s + _EVERY_S * draw.uniform(0.5, 1.5)
                conversation.rearm()
            room.run(_STEP_ROOM_S)
            if not conversation.dialogue.settle(_SETTLE_S):
                raise TimeoutError("the conversation does not settle")
            pause.wait(max(0.0, room.now() - passed_s - _STEP_ROOM_S))
        conversation.stop("the bench is over")
