"""Talk and drive: a base in the simulated flat, driven by what people say to ``edgeagent talk``.

``scripts/bench base --drive MINUTES``. The command hears a file by the wall's clock, and the base is a process of its
own, as on a robot. Counts the stops of the motors that no command made.
"""

from __future__ import annotations

import itertools
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
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Final

import numpy as np

from edgeagent import Agent, Tool, ToolResult
from edgeagent.audio import WavWriter
from edgeagent.house import TOUCHED, FlatBase, Pose
from edgeagent.robot import BaseDriver, BaseLimits, Drive, Velocity, base_tools
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
    "spin right by thirty degrees",
    "roll ahead half a meter",
    "go back two meters please",
    "tell me your position",
    "how much charge have you got left",
)
"""The last five, and the last voice, are unknown to the network that hears stop words."""
_VOICES: Final = ("slt", "rms", "awb", "heart", "en-gb-x-gbclan")
_PAUSE_S: Final = (4.0, 12.0)
"""Seconds between two lines: some are said while the base drives."""
LEASE_S: Final = 0.3
"""Seconds between two renewals after which the base stands: the driver's own."""
BOARD_S: Final = 0.5
"""Time-out of the simulated board, in seconds."""
_FAULTS: Final = ("interrupted", "motor fault", "the battery is low", "the sensor does not answer")
"""Beginnings of the results of drives that ended though no command ended them, and no wall that the sensor saw."""
_BLOCKED: Final = "a wheel is blocked"
"""What the driver says of a base that was backed against a wall: nobody looks there."""
_TRIPPED: Final = "■ stopped ("
"""Beginning of the line that a conversation prints of a stop word."""
_RATE_HZ: Final = 16_000
_APP: Final = """
from pathlib import Path
from bench.base_flat import rover
agent, close = rover(Path({folder!r}))
"""


@dataclass
class Rover(FlatBase):
    """Keeps the seconds between commands, and stands where it stood when it is opened again.

    Attributes:
        folder: Takes the files "ticks" and "pose".
    """

    folder: Path = Path()

    def open(self) -> None:
        if place := _numbers(self.folder / "pose"):
            self.start = Pose(*place)
        self._ticked_s, self._ticks_s = 0.0, _numbers(self.folder / "ticks")
        super().open()

    def set_velocity(self, velocity: Velocity) -> None:
        super().set_velocity(velocity)
        now_s = time.monotonic()
        if not velocity.is_zero and self._ticked_s:
            self._ticks_s.append(now_s - self._ticked_s)
        self._ticked_s = 0.0 if velocity.is_zero else now_s

    def close(self) -> None:
        super().close()
        (self.folder / "ticks").write_text(json.dumps(self._ticks_s), encoding="utf-8")
        (self.folder / "pose").write_text(json.dumps(astuple(self._wheels.pose)), encoding="utf-8")

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
    base: Rover
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
        """Metres to what stands ahead of where the base is by dead reckoning."""
        return self.base.wall_ahead_m(self.position)


def drive(minutes: float, seed: int, *, nice: int = 0) -> bool:
    """Talks and drives for so long, and prints what stopped the base. Returns True if nothing did but its commands.

    Args:
        nice: That of the agent and all its processes, as a unit of systemd may set it.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = _write_lines(folder / "lines.wav", minutes * 60, random.Random(seed))
        (folder / "app.py").write_text(_APP.format(folder=name), encoding="utf-8")
        talk = [sys.executable, "-m", "edgeagent", "talk", "--app", "app.py", "--input", "lines.wav", "--log", "events"]
        done = subprocess.run(
            ["nice", f"--adjustment={nice}", *talk, "--output", "answers.wav"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"edgeagent talk ended with {done.returncode}: {done.stderr[-500:]}")
        told = json.loads((folder / "told.json").read_text(encoding="utf-8"))
        log, spotted = calls(folder / "base"), _spotted(folder / "events")
        gaps_s, ticks_s = (_numbers(folder / name) for name in ("gaps", "ticks"))
    noted = Counter(text for _, text in log)
    # each drive and each hold stops the motors once, and so does each closing
    false = max(0, noted["stop"] - told["drives"] - told["holds"] - noted["close"])
    failed = Counter((text, cause) for _, status, text, cause in told["results"] if status == "error")
    faults = {why: times for why, times in failed.items() if why[0].startswith(_FAULTS)}
    blocked = sum(times for (_, cause), times in faults.items() if _BLOCKED in (cause or ""))
    ended = dict(Counter(f"{name} {status}" for name, status, *_ in told["results"]))
    print(f"{minutes:g} minutes, {said} lines: {told['drives']} drives, {told['holds']} holds; {ended}")
    for (text, cause), times in failed.items():
        print(f"  {times} x {text}" + (f" ({cause})" if cause else ""))
    print(f"{'milliseconds':<44} {'number':>7} {'p50':>6} {'p99':>6} {'p99.9':>6} {'most':>6} {'allowed':>8}")
    _print_gaps("from one renewal of a lease to the next", gaps_s, LEASE_S)
    _print_gaps("from one command to the board to the next", ticks_s, BOARD_S)
    print(f"walls touched: {noted[TOUCHED]}; drives that ended at one: {blocked}")
    tripped = _trips(done.stdout)
    for before, text in tripped:
        print(f"  {text} after: {before}")
    for phrase, heard in spotted:
        print(f"  spotted and not denied: {phrase!r} in {heard!r}")
    print(
        f"stops that no command made: {false}; faults without a wall: {sum(faults.values()) - blocked}; "
        f"stop words that nobody said: {len(tripped)}"
    )
    return not false and not tripped and sum(faults.values()) == blocked <= noted[TOUCHED]


def _trips(printed: str) -> list[tuple[str, str]]:
    """Stops by the latch that a conversation prints, each behind the line before it."""
    lines = printed.splitlines()
    return [(before, text) for before, text in itertools.pairwise(["", *lines]) if text.startswith(_TRIPPED)]


def _spotted(log: Path) -> list[tuple[str, str]]:
    """Stop words that were spotted, and that no transcript denied, each with the transcript that came next."""
    words: list[tuple[str, str]] = []
    for event in map(json.loads, log.read_text(encoding="utf-8").splitlines() if log.exists() else ()):
        match event:
            case {"kind": "keyword", "phrase": phrase, "confirmed": None}:
                words.append((phrase, ""))
            case {"kind": "keyword", "confirmed": False} if words:
                words.pop()
            case {"kind": "transcript", "text": text} if words and not words[-1][1]:
                words[-1] = (words[-1][0], text)
    return words


def _numbers(path: Path) -> list[float]:
    """Reads what a process has written at its end; nothing if it was killed."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def _print_gaps(name: str, gaps_s: list[float], allowed_s: float) -> None:
    shares = np.percentile(gaps_s or [math.nan], [50, 99, 99.9, 100]) * 1000
    print(f"{name:<44} {len(gaps_s):>7} " + " ".join(f"{ms:6.1f}" for ms in shares) + f" {allowed_s * 1000:8.0f}")


def rover(folder: Path) -> tuple[Agent, Callable[[], None]]:
    """The agent of the app file, and what closes it and writes down what it did."""
    driver = CountedDriver(Rover(BaseLimits(board_timeout_s=BOARD_S), log=folder / "base", folder=folder))
    driver.gaps_s = []
    results: list[tuple[str, str, str, str | None]] = []

    def recorded(tool: Tool) -> Tool:
        """The tool, whose results are kept, also those of a goal that outlived its run."""
        body = tool.function

        def kept(*args: object, **keywords: object) -> ToolResult:
            result: ToolResult = body(*args, **keywords)
            results.append((tool.name, result.status, result.text, result.value if result.is_error else None))
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
