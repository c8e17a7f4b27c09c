"""Bases for tests, and a motor board behind a pseudo-terminal. Drivers' processes import this module, too."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pty
import resource
import select
import struct
import sys
import threading
import time
import tty
from binascii import crc_hqx
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from edgeagent.robot import BaseLimits, Drive, GpioBase, Odometry, SimulatedBase, Velocity

LIMIT_S = 20.0
"""For what must happen, on a busy machine."""


def until(is_so, limit_s: float = LIMIT_S) -> bool:
    """Waits until something that another process does has happened."""
    end_s = time.monotonic() + limit_s
    pause = threading.Event()
    while not is_so():
        if time.monotonic() > end_s:
            return False
        pause.wait(0.005)
    return True


def fill_the_memory() -> None:
    """Takes all the memory that this process can get, but for what its caller gives back.

    Raises:
        MemoryError: There is no more.
    """
    used_bytes = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used_bytes, -1))
    taken, size = None, 1 << 20
    while True:
        try:
            taken = (taken, bytes(size))
        except MemoryError:
            if size == 1:
                raise
            size //= 2


def drive_without_memory(drive: Drive) -> None:
    """Drives until that needs memory which is not there."""
    taken: object = None
    try:
        fill_the_memory()
    except MemoryError as error:
        taken = error  # and with it all that was taken
    while True:
        drive.set(0.2)
        taken = (taken, bytes(64))


def drive_until_the_kernel_kills(drive: Drive, group: Path, pids: Iterable[int]) -> None:
    """Drives and takes memory, in a control group of little memory with these processes, until the kernel kills."""
    for pid in pids:
        (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
    taken: object = None
    while True:
        drive.set(0.2)
        taken = (taken, b"x" * (1 << 20))  # touched, so that it is really taken


def drive_on_a_full_disk(drive: Drive) -> None:
    """Drives until what it writes down can't be written."""
    with Path("/dev/full").open("w", encoding="ascii") as file:
        while True:
            drive.set(0.2)
            file.write("x" * 1000)


def drive_without_files(drive: Drive) -> None:
    """Drives on in a process that has no descriptor to spare."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    with contextlib.suppress(OSError):
        while True:
            os.dup(0)
    pause = threading.Event()
    while True:
        drive.set(0.2)
        pause.wait(0.01)


def calls(log: Path) -> list[tuple[float, str]]:
    """What a base was called with, and when."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [(float(at), text) for at, _, text in (line.partition(" ") for line in lines)]


class WithoutStop(SimulatedBase):
    """Loses its method ``stop`` where it is opened."""

    def __getattribute__(self, name: str) -> object:
        if name == "stop" and "_way" in vars(self):
            raise AttributeError("no stop")
        return super().__getattribute__(name)


@dataclass
class BrokenBase(SimulatedBase):
    """Goes wrong while it drives, in one of several ways."""

    how: str = ""

    def set_velocity(self, velocity: Velocity) -> None:
        if self.how == "can not be stopped" and velocity.is_zero and not self._velocity.is_zero:
            raise OSError("the board is gone")
        super().set_velocity(velocity)
        if velocity.is_zero:
            return
        match self.how:
            case "raises":
                raise OSError("the cable is out")
            case "exits":
                sys.exit(3)
            case "late":
                time.sleep(0.6)  # the fault itself
            case "slow":
                time.sleep(0.15)  # the fault itself
            case "never":
                threading.Event().wait()
            case "cancels":
                raise asyncio.CancelledError("nobody waits")
            case "tells much":
                raise OSError("x" * 100_000)
            case "no memory":
                fill_the_memory()

    def odometry(self) -> Odometry:
        way = super().odometry()
        if self.how == "nan at first":
            return Odometry(float("nan"), 0.0)
        if self.how == "a tuple":
            return (way.travelled_m, way.turned_rad)
        if self.how == "stands still":
            return Odometry()
        if self.how == "the wrong way":
            return Odometry(-way.travelled_m, -way.turned_rad)
        if self._velocity.is_zero:
            return way
        match self.how:
            case "nan":
                return Odometry(float("nan"), 0.0)
            case "jumps":
                return Odometry(way.travelled_m + 5.0, way.turned_rad)
            case "odometer never":
                threading.Event().wait()
        return way

    def battery_v(self) -> float:
        if self.how == "battery never" and not self._velocity.is_zero:
            threading.Event().wait()
        return 12.0

    def stop(self) -> None:
        if self.how in ("stop raises", "can not be stopped"):
            raise OSError("the brake is out")
        super().stop()
        if self.how == "hangs at the end":
            threading.Event().wait()

    def open(self) -> None:
        super().open()
        if self.how == "not there":
            raise FileNotFoundError("/dev/ttyUSB7 is not there")
        if self.how == "opens for ever":
            threading.Event().wait()
        if self.how == "opens when the file is there":
            assert self.log is not None
            assert until(self.log.with_suffix(".go").exists)


@dataclass
class SlowBase(SimulatedBase):
    """Takes its time for what it is asked while it drives.

    Attributes:
        odometer_s: Seconds of each reading.
        once_s: Seconds of one command on the way.
    """

    odometer_s: float = 0.0
    once_s: float = 0.0

    def set_velocity(self, velocity: Velocity) -> None:
        super().set_velocity(velocity)
        if self.once_s and self.odometry().travelled_m > 0.1:
            time.sleep(self.once_s)  # its slowness is what is tried
            self.once_s = 0.0

    def odometry(self) -> Odometry:
        if not self._velocity.is_zero:
            time.sleep(self.odometer_s)  # the same
        return super().odometry()


@dataclass
class CountedBase(SimulatedBase):
    """Writes down every velocity, the same one again too."""

    def set_velocity(self, velocity: Velocity) -> None:
        super().set_velocity(velocity)
        self._note("told")


@dataclass
class ThreadedBase(SimulatedBase):
    """Begins a thread that it never ends."""

    def open(self) -> None:
        super().open()
        threading.Thread(target=threading.Event().wait).start()


@dataclass
class SlowAtTheLastBase(SimulatedBase):
    """Takes 0.45 s for one command, which begins just before a lease of 0.3 s that nobody renews is over."""

    _moves_s: float = math.inf

    def set_velocity(self, velocity: Velocity) -> None:
        self._moves_s = min(self._moves_s, time.monotonic()) if not velocity.is_zero else math.inf
        super().set_velocity(velocity)
        if time.monotonic() - self._moves_s > 0.27:
            self._note("slow")
            time.sleep(0.45)  # its slowness is what is tried


@dataclass
class GearedBase(SimulatedBase):
    """Wheels that do not turn at low speed."""

    def set_velocity(self, velocity: Velocity) -> None:
        turns = abs(velocity.forward_mps) >= 0.08 or velocity.turn_rps
        super().set_velocity(velocity if turns else Velocity())


@dataclass
class BlindBase(SimulatedBase):
    """A base without encoders that measures its battery."""

    volts: float = 12.1

    def odometry(self) -> None:
        return None

    def battery_v(self) -> float:
        return self.volts


@dataclass(kw_only=True)
class WatchedGpioBase(GpioBase):
    """A base on gpiozero's mock pins that writes down their levels after each call."""

    log: Path

    def open(self) -> None:
        os.environ |= {"GPIOZERO_PIN_FACTORY": "mock", "GPIOZERO_MOCK_PIN_CLASS": "mockpwmpin"}
        super().open()
        from gpiozero import Device

        self._pins = [Device.pin_factory.pin(number) for number in (*self.left, *self.right, self.enable)]
        self._note("open")

    def set_velocity(self, velocity: Velocity) -> None:
        super().set_velocity(velocity)
        self._note("velocity")

    def stop(self) -> None:
        super().stop()
        self._note("stop")

    def close(self) -> None:
        super().close()
        self._note("close")

    def _note(self, call: str) -> None:
        levels = " ".join(f"{pin.function}:{float(pin.state):.2f}" for pin in self._pins)
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{time.monotonic():.4f} {call} {levels}\n")


class Board:
    """A RoboClaw at the other end of a pseudo-terminal: answers its packets, and stops when its time-out runs out.

    Attributes:
        port: Name of the terminal.
        wheels: Speeds of M1 and M2 in pulses a second.
        stopped_itself: How often the time-out has stopped the wheels.
    """

    def __init__(self, answers: bool = True, stops_itself: bool = True) -> None:
        master, slave = pty.openpty()
        self._master = master
        tty.setraw(master)
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        self._ends = (master, slave)
        self.wheels = (0, 0)
        self.stopped_itself = 0
        self.timeout_s = 0.0
        self.battery_v = 12.1
        self.answers, self.stops_itself = answers, stops_itself
        self._pulses = [4_294_967_000.0, 100.0]  # near the end of the counter, which wraps
        self._moved_s = time.monotonic()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)
        self._thread.start()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.pull()

    def pull(self) -> None:
        """Pulls the cable."""
        self._closing.set()
        self._thread.join()
        for fd in self._ends:
            os.close(fd)
        self._ends = ()

    def _run(self) -> None:
        data, heard_s = b"", time.monotonic()
        while not self._closing.is_set():
            ready, _, _ = select.select([self._master], [], [], 0.01)
            now_s = time.monotonic()
            if ready:
                data, heard_s = data + os.read(self._master, 256), now_s
            elif self.stops_itself and self.timeout_s and now_s - heard_s > self.timeout_s and self.wheels != (0, 0):
                self._move()
                self.wheels = (0, 0)
                self.stopped_itself += 1
            while data:
                used, answer = self._answered(data)
                if not used:
                    break
                data = data[used:]
                if self.answers:
                    os.write(self._master, answer)

    def _answered(self, data: bytes) -> tuple[int, bytes]:
        """The length of the first packet, 0 while it is not whole, and the answer to it."""
        if len(data) < 2:
            return 0, b""
        address, command = data[:2]
        assert address == 0x80
        size = {14: 1, 15: 0, 24: 0, 37: 8, 78: 0}[command]
        if not size:
            return 2, self._told(data[:2])
        if len(data) < 2 + size + 2:
            return 0, b""
        packet, crc = data[: 2 + size], data[2 + size : 4 + size]
        assert crc_hqx(packet, 0).to_bytes(2) == crc
        if command == 14:
            self.timeout_s = packet[2] / 10
        else:
            self._move()
            self.wheels = struct.unpack(">ii", packet[2:])
        return 4 + size, b"\xff"

    def _told(self, question: bytes) -> bytes:
        if question[1] == 15:
            values = bytes([round(self.timeout_s * 10)])
        elif question[1] == 24:
            values = round(self.battery_v * 10).to_bytes(2)
        else:
            self._move()
            values = struct.pack(">II", *(int(pulses) % (1 << 32) for pulses in self._pulses))
        return values + crc_hqx(question + values, 0).to_bytes(2)

    def _move(self) -> None:
        now_s = time.monotonic()
        for wheel, speed in enumerate(self.wheels):
            self._pulses[wheel] += speed * (now_s - self._moved_s)
        self._moved_s = now_s


QUICK = BaseLimits(speed_mps=0.8, turn_rps=6.0, acceleration_mps2=4.0, turn_acceleration_rps2=20.0, board_timeout_s=0.1)
SHORT = BaseLimits(
    distance_m=0.2, turn_rad=0.5, acceleration_mps2=100.0, turn_acceleration_rps2=100.0, board_timeout_s=0.1
)
