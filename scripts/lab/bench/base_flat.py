"""Talk and drive: a base in the simulated flat, driven by what people say to ``edgeagent talk``.

``scripts/bench base --drive MINUTES``. The command hears a file by the wall's clock, and the base is a process of its
own, as on a robot. Counts the stops of the motors that no command made.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from edgeagent import Agent, Tool, ToolResult
from edgeagent.audio import WavWriter
from edgeagent.house import START, STEP_S, Drivetrain, Point, the_obstacles
from edgeagent.robot import BaseDriver, BaseLimits, Drive, Odometry, SimulatedBase, Velocity, base_tools
from edgeagent.testing import synthesised
from tests.robot.bases import calls

_LINES: Final = (
    "drive forward two meters",
    "drive back one meter",
    "turn left ninety degrees",
    "turn around",
    "you can move again",
    "where are you",
    "how full is your battery",
)
_VOICES: Final = ("slt", "rms", "awb")
_PAUSE_S: Final = (4.0, 12.0)
"""Seconds between two lines: some are said while the base drives."""
LEASE_S: Final = 0.3
"""Seconds between two renewals after which the base stands: the driver's own."""
BOARD_S: Final = 0.5
"""Time-out of the simulated board, in seconds."""
_FAULTS: Final = ("interrupted", "motor fault", "the battery is low", "the sensor does not answer")
"""Beginnings of the results of drives that ended though no command and no wall ended them."""
_RATE_HZ: Final = 16_000
_RADIUS_M: Final = 0.2
_APP: Final = """
from pathlib import Path
from bench.base_flat import rover
agent, close = rover(Path({folder!r}))
"""


@dataclass
class FlatBase(SimulatedBase):
    """A base with the house robot's wheels and walls: it takes time to speed up, and stands at a wall."""

    def open(self) -> None:
        hit = the_obstacles().hit
        self._wheels = Drivetrain(START, lambda x, y: "wall" if hit(x, y, _RADIUS_M) else "")
        self._stepped_s = time.monotonic()
        self._ticked_s, self._ticks_s = 0.0, list[float]()
        super().open()

    def set_velocity(self, velocity: Velocity) -> None:
        super().set_velocity(velocity)
        now_s = time.monotonic()
        if not velocity.is_zero and self._ticked_s:
            self._ticks_s.append(now_s - self._ticked_s)
        self._ticked_s = 0.0 if velocity.is_zero else now_s

    def close(self) -> None:
        super().close()
        if self.log is not None:
            self.log.with_name("ticks").write_text(json.dumps(self._ticks_s), encoding="utf-8")

    def odometry(self) -> Odometry:
        steps = int((time.monotonic() - self._stepped_s) / STEP_S)
        self._stepped_s += steps * STEP_S
        for _ in range(steps):
            self._wheels.step(self._velocity.forward_mps, self._velocity.turn_rps)
        return Odometry(self._wheels.travelled_m, self._wheels.rotated)

    def battery_v(self) -> float:
        return 12.0


class TimedDrive(Drive):
    """Keeps the seconds from each renewal of the lease to the next."""

    def __init__(self, driver: BaseDriver, number: int, gaps_s: list[float]) -> None:
        super().__init__(driver, number)
        self._gaps_s, self._renewed_s = gaps_s, 0.0

    def set(self, forward_mps: float = 0.0, turn_rps: float = 0.0) -> None:
        super().set(forward_mps, turn_rps)
        now_s = time.monotonic()
        if self._renewed_s:
            self._gaps_s.append(now_s - self._renewed_s)
        self._renewed_s = now_s


class CountedDriver(BaseDriver):
    """Counts what stops its base on purpose: the end of each drive, and holds, which a stop word makes. Keeps the
    seconds between renewals of the lease."""

    drives = holds = 0
    gaps_s: list[float]

    @contextmanager
    def drive(self, *, stops: int | None = None) -> Iterator[Drive]:
        self.drives += 1
        with super().drive(stops=stops) as drive:
            yield TimedDrive(self, drive.number, self.gaps_s)

    def hold(self) -> None:
        self.holds += 1
        super().hold()

    def ahead_m(self) -> float:
        """Metres to a wall, where the base is by dead reckoning: its distance sensor."""
        at, turned = self.position, START.heading
        x = START.x + at.ahead_m * math.cos(turned) - at.left_m * math.sin(turned)
        y = START.y + at.ahead_m * math.sin(turned) + at.left_m * math.cos(turned)
        return the_obstacles().free_way(Point(x, y), turned + at.heading_rad, _RADIUS_M)[0] + 0.01


def drive(minutes: float, seed: int) -> bool:
    """Talks and drives for so long, and prints what stopped the base. Returns True if nothing did but its commands."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = _write_lines(folder / "lines.wav", minutes * 60, random.Random(seed))
        (folder / "app.py").write_text(_APP.format(folder=name), encoding="utf-8")
        talk = [sys.executable, "-m", "edgeagent", "talk", "--app", "app.py", "--input", "lines.wav"]
        done = subprocess.run(
            [*talk, "--output", "answers.wav"], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"edgeagent talk ended with {done.returncode}: {done.stderr[-500:]}")
        told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
        log = calls(folder / "base")
        gaps_s, ticks_s = (_numbers(folder / name) for name in ("gaps", "ticks"))
    stops = [at_s for at_s, text in log if text == "stop"]
    # each drive and each hold stops the motors once, and so does closing
    false = max(0, len(stops) - told["drives"] - told["holds"] - 1)
    failed = Counter(text for _, status, text in told["results"] if status == "error")
    ended = dict(Counter(f"{name} {status}" for name, status, _ in told["results"]))
    print(f"{minutes:g} minutes, {said} lines: {told['drives']} drives, {told['holds']} holds; {ended}")
    for text, times in failed.items():
        print(f"  {times} x {text}")
    print(f"{'milliseconds':<44} {'number':>7} {'p50':>6} {'p99':>6} {'p99.9':>6} {'most':>6} {'allowed':>8}")
    _print_gaps("from one renewal of a lease to the next", gaps_s, LEASE_S)
    _print_gaps("from one command to the board to the next", ticks_s, BOARD_S)
    print(f"stops that no command made: {false}")
    return not false and not any(text.startswith(_FAULTS) for text in failed)


def _numbers(path: Path) -> list[float]:
    """Reads what a process has written at its end; nothing if it was killed."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _print_gaps(name: str, gaps_s: list[float], allowed_s: float) -> None:
    shares = np.percentile(gaps_s or [math.nan], [50, 99, 99.9, 100]) * 1000
    print(f"{name:<44} {len(gaps_s):>7} " + " ".join(f"{ms:6.1f}" for ms in shares) + f" {allowed_s * 1000:8.0f}")


def rover(folder: Path) -> tuple[Agent, Callable[[], None]]:
    """The agent of the app file, and what closes it and writes down what it did."""
    driver = CountedDriver(FlatBase(BaseLimits(board_timeout_s=BOARD_S), log=folder / "base"))
    driver.gaps_s = []
    results: list[tuple[str, str, str]] = []

    def recorded(tool: Tool) -> Tool:
        """The tool, whose results are kept, also those of a goal that outlived its run."""
        body = tool.function

        def kept(*args: object, **keywords: object) -> ToolResult:
            result: ToolResult = body(*args, **keywords)
            results.append((tool.name, result.status, result.text))
            write()
            return result

        tool.function = kept
        return tool

    def write() -> None:
        told = {"drives": driver.drives, "holds": driver.holds, "results": results}
        (folder / "told.json").write_text(json.dumps(told), encoding="utf-8")

    def close() -> None:
        driver.close()
        write()
        (folder / "gaps").write_text(json.dumps(driver.gaps_s), encoding="utf-8")

    tools = [recorded(tool) for tool in base_tools(driver, places={"kitchen": (1.0, 0.0)}, distance=driver.ahead_m)]
    return Agent("rover", "You are a robot. Act with the tools.", tools=tools, phrases=_LINES), close


def _write_lines(path: Path, seconds: float, draw: random.Random) -> int:
    """Writes what people say in so much time, in a quiet room. Returns the number of lines."""
    noise, count, left_s = np.random.default_rng(1), 0, seconds
    with WavWriter(path, _RATE_HZ) as file:
        while left_s > 0:
            pause = noise.normal(0, 1e-3, round(draw.uniform(*_PAUSE_S) * _RATE_HZ))
            sound = np.concatenate([pause, synthesised(draw.choice(_LINES), draw.choice(_VOICES), _RATE_HZ)])
            file.write(sound.astype(np.float32))
            left_s -= len(sound) / _RATE_HZ
            count += 1
        file.write(noise.normal(0, 1e-3, 10 * _RATE_HZ).astype(np.float32))
    return count
