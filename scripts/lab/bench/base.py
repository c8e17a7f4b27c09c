"""``scripts/bench base``: how soon a base stands when what drives it is killed, stopped or hangs.

Every trial is an agent in a process of its own, which drives a base and writes down each lease: a simulated one, and
for what may stop an agent also a RoboClaw at a pseudo-terminal and gpiozero's mock pins. The time runs from the last
lease to zero velocity; for a killed driver from the kill to the moment when the board stops by itself.
Ends with exit code 1 when a trial takes longer than promised. ``--drive`` talks and drives in the simulated flat
instead, and fails when something stops the base that no command did.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from edgeagent.robot import BaseDriver, RoboClaw
from tests.robot.bases import Board, calls, until

PROMISED_S: Final = 0.5
"""Seconds from the last lease to zero velocity."""
_GROUPS: Final = (
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/proc/self/cgroup"), ":memory:"),
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/cgroup.subtree_control"), "memory"),
)
"""For control groups of version 1 and 2: where a limit of memory would stand, and a file with a word that says so."""
_GROUP_BYTES: Final = 64 << 20
_GROUP_ENDS_S: Final = 10.0
_AGENT: Final = """
    import ctypes, os, resource, sys, threading, time
    from pathlib import Path
    from edgeagent.robot import BaseDriver, RoboClaw, SimulatedBase
    from tests.robot import bases

    driver = BaseDriver({base})
    driver.start()
    begun, pause = time.monotonic(), threading.Event()

    class Noted:
        def set(self, forward_mps):
            drive.set(forward_mps)
            print(time.monotonic(), flush=True)

    def leases():
        while True:
            noted.set(0.2)
            pause.wait(0.02)
            yield time.monotonic() - begun

    with driver.drive() as drive:
        noted = Noted()
        for passed_s in leases():
            if passed_s > {drive_s}:
                {then}
"""
_KILLED: Final = "agent: killed by the kernel, no memory"
_EVENTS: Final = {
    "agent: kill -9": ("pass", signal.SIGKILL),
    "agent: SIGSTOP": ("pass", signal.SIGSTOP),
    "agent: SIGTERM": ("pass", signal.SIGTERM),
    "C call holds the interpreter": ("ctypes.PyDLL(None).sleep(100)", None),
    "body hangs": ("pause.wait()", None),
    "agent: no memory left": ("bases.drive_without_memory(noted)", None),
    _KILLED: ("bases.drive_until_the_kernel_kills(noted, Path(sys.argv[1]), (os.getpid(), driver.pid))", None),
    "agent: the disk is full": ("bases.drive_on_a_full_disk(noted)", None),
    "agent: no files left, kill -9": ("bases.drive_without_files(noted)", signal.SIGKILL),
    "driver: no memory, agent: kill -9": ("resource.prlimit(driver.pid, resource.RLIMIT_AS, (1, 1))", signal.SIGKILL),
}
_SIMULATED: Final = "simulated base"
_SERIAL: Final = "RoboClaw"
_PINS: Final = "mock pins"
_ON_EVERY_BODY: Final = ("agent: kill -9", "agent: SIGSTOP", "C call holds the interpreter", "body hangs")


@dataclass(frozen=True, slots=True)
class _Body:
    """A base and what is seen of its motors.

    Attributes:
        source: The base as an agent makes it, with further arguments of ``BaseDriver``.
        drives: True if the motors turn.
        stood_s: When they were given zero after a time, by the monotonic clock; None while they were not.
        closed: True when the driver drives no more, nor writes a log.
    """

    source: str
    drives: Callable[[], bool]
    stood_s: Callable[[float], float | None]
    closed: Callable[[], bool]


def main() -> None:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(prog="scripts/bench base", description="Zero velocity after a fault.")
    parser.add_argument("--trials", type=int, default=10, help="of each event (default: %(default)s)")
    parser.add_argument("--load", type=int, default=0, help="busy processes beside it (default: %(default)s)")
    parser.add_argument("--drive", type=float, metavar="MINUTES", help="talk and drive instead, for false stops")
    parser.add_argument(
        "--nice", type=int, default=0, help="of the agent that talks and drives; a unit for the system has -10"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.drive:
        from bench.base_flat import drive

        print(f"talk and drive, load {given.load}, nice {given.nice}, seed {given.seed}", flush=True)
        with _busy(given.load) as used_s:
            begun_s = time.monotonic()
            good = drive(given.drive, given.seed, nice=given.nice)
            cores = used_s() / (time.monotonic() - begun_s)
        print(
            f"the {given.load} busy processes had {cores:.2f} of {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}"
        )
        sys.exit(not good)
    draw = random.Random(given.seed)
    print(f"{given.trials} trials each, load {given.load}, seed {given.seed}")
    print(f"{'event':<38} {'median':>8} {'most':>8}  zero velocity, seconds after the last lease")
    worst_s = 0.0
    with _busy(given.load):
        for event, (then, number) in _EVENTS.items():
            if event == _KILLED and _group_limit() is None:
                print(f"{event:<38} not run: it needs root and a memory control group")
                continue
            for body in (_SIMULATED, _SERIAL, _PINS) if event in _ON_EVERY_BODY else (_SIMULATED,):
                times = [_trial(body, then, number, draw.uniform(0.3, 0.6)) for _ in range(given.trials)]
                worst_s = max(worst_s, *times)
                name = event if body == _SIMULATED else f"    {body}"
                print(f"{name:<38} {statistics.median(times):8.3f} {max(times):8.3f}", flush=True)
        for name in ("SIGKILL", "SIGSTOP"):
            times = [_board_trial(signal.Signals[name]) for _ in range(given.trials)]
            worst_s = max(worst_s, *times)
            print(f"{'driver: ' + name + ', board':<38} {statistics.median(times):8.3f} {max(times):8.3f}", flush=True)
    print(f"promised {PROMISED_S} s, worst {worst_s:.3f} s: {'met' if worst_s <= PROMISED_S else 'NOT met'}")
    sys.exit(worst_s > PROMISED_S)


def _trial(body_name: str, then: str, number: signal.Signals | None, drive_s: float) -> float:
    """One agent that drives until something happens. Returns seconds from its last lease to zero velocity."""
    with tempfile.TemporaryDirectory() as folder, _little_memory() as group, _body(body_name, Path(folder)) as body:
        leases = Path(folder, "leases")
        program = textwrap.dedent(_AGENT).format(base=body.source, then=then, drive_s=0 if number else drive_s)
        with leases.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [sys.executable, "-c", program, str(group)], stdout=file, stderr=subprocess.DEVNULL
            )
        try:
            if not until(body.drives):
                raise TimeoutError("the base does not drive")
            driven_s = time.monotonic()
            if number is not None:
                time.sleep(drive_s)  # the moment that was drawn
                process.send_signal(number)
            if not until(lambda: body.stood_s(driven_s) is not None):
                raise TimeoutError("the base drives on")
            if "kernel" in then and process.wait(_GROUP_ENDS_S) != -signal.SIGKILL:
                raise RuntimeError("the kernel did not kill the agent")
            last_s = float(leases.read_text(encoding="utf-8").split()[-1])
            stood_s = body.stood_s(last_s)
            if stood_s is None:
                raise TimeoutError("the base was driven after it stood")
            return stood_s - last_s
        finally:
            process.kill()
            process.wait()
            until(body.closed)  # its driver writes into the folder until then


@contextmanager
def _body(name: str, folder: Path) -> Iterator[_Body]:
    """A base of one trial; what it logs stands in the folder."""
    log = folder / "base"
    if name == _SERIAL:
        board = TimedBoard()
        with board:
            source = f"RoboClaw(port={board.port!r}, pulses_per_m=10_000, track_m=0.3)"
            yield _Body(source, lambda: board.wheels[0] > 0, board.stood_s, lambda: board.wheels == (0, 0))
            if board.stopped_itself:
                raise RuntimeError("the board's own time-out has stopped it, and not its driver")
        return
    pins = "left=(4, 14), right=(17, 27), enable=22, full_speed_mps=0.5, track_m=0.3"
    source = f"SimulatedBase(log=Path({str(log)!r}))"
    if name == _PINS:
        source = f"bases.WatchedGpioBase({pins}, log=Path({str(log)!r})), without_timeout=True"

    def closed() -> bool:
        told = calls(log)
        return not told or told[-1][1].startswith("close")

    yield _Body(
        source,
        lambda: any(text.startswith("velocity") and _turns(text) for _, text in calls(log)),
        lambda after_s: next(
            (at_s for at_s, text in calls(log) if at_s > after_s and text.startswith(("stop", "close"))), None
        ),
        closed,
    )


def _turns(call: str) -> bool:
    """True if a logged velocity is not zero, or a logged pin is high."""
    return any(float(value.rpartition(":")[2]) for value in call.split()[1:5])


class TimedBoard(Board):
    """A RoboClaw at a pseudo-terminal that keeps the moments at which its wheels were told to stand."""

    def __init__(self) -> None:
        self._speeds = (0, 0)
        self._stood_s: list[float] = []
        super().__init__()

    @property
    def wheels(self) -> tuple[int, int]:
        return self._speeds

    @wheels.setter
    def wheels(self, speeds: tuple[int, int]) -> None:
        if speeds == (0, 0) != self._speeds:
            self._stood_s.append(time.monotonic())
        self._speeds = speeds

    def stood_s(self, after_s: float) -> float | None:
        return next((at_s for at_s in tuple(self._stood_s) if at_s > after_s), None)


def _group_limit() -> Path | None:
    """A control group's limit of memory, in the folder in which groups are made; None where this user may not."""
    for limit, sign, word in _GROUPS:
        if sign.exists() and word in sign.read_text(encoding="ascii") and os.access(limit.parent, os.W_OK):
            return limit
    return None


@contextmanager
def _little_memory() -> Iterator[Path | None]:
    """A control group with 64 MB, none where this user may not make one."""
    limit = _group_limit()
    if limit is None:
        yield None
        return
    group = limit.with_name(f"edgeagent-bench-{os.getpid()}")
    group.mkdir()
    try:
        (group / limit.name).write_text(str(_GROUP_BYTES), encoding="ascii")
        yield group
    finally:
        until(lambda: not (group / "cgroup.procs").read_text(encoding="ascii"))
        group.rmdir()


def _board_trial(number: signal.Signals) -> float:
    """One driver that is killed or stopped while its board drives. Returns seconds until the board stands."""
    with (
        Board() as board,
        BaseDriver(RoboClaw(port=board.port, pulses_per_m=10_000, track_m=0.3)) as driver,
        driver.drive() as drive,
    ):
        while not board.wheels[0]:
            drive.set(0.2)
            time.sleep(0.01)  # between two leases
        os.kill(driver.pid or 0, number)
        begun_s = time.monotonic()
        if not until(lambda: board.wheels == (0, 0)):
            raise TimeoutError("the board drives on")
        return time.monotonic() - begun_s


@contextmanager
def _busy(count: int) -> Iterator[Callable[[], float]]:
    """Keeps so many processes computing. Yields what tells the seconds of a core that they have used."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]

    def used_s() -> float:
        stats = [Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii") for process in processes]
        ticks = [sum(map(int, stat.rpartition(")")[2].split()[11:13])) for stat in stats]
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    try:
        yield used_s
    finally:
        for process in processes:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
