"""A robot behind Zenoh that drives as it is told, as a process: ``python -m tests.robot.zenoh_robot ENDPOINT LOG HOW``.

Writes a line for each velocity that comes, with the seconds of the monotonic clock, and tells its odometry at 50 Hz. At
its first motion the odometry goes wrong in the way that HOW names.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from pathlib import Path

from edgeagent.robot import RosPose, Velocity, decode_twist, encode_odometry, open_session

RATE_HZ = 50


class Robot:
    """Stands at first; integrates what it is told."""

    def __init__(self, log: Path, how: str) -> None:
        self._log, self._how = log, how
        self._velocity = Velocity()
        self._moved_s = time.monotonic()
        self._x_m = self._y_m = self._yaw_rad = 0.0
        self._has_moved = False

    def drive(self, velocity: Velocity) -> None:
        self._move()
        if velocity != self._velocity:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(f"{time.monotonic():.4f} velocity {velocity.forward_mps:.4f} {velocity.turn_rps:.4f}\n")
        self._velocity = velocity
        self._has_moved = self._has_moved or not velocity.is_zero

    def odometry(self) -> bytes | None:
        """The message to tell now; None for silence."""
        self._move()
        x_m, qz, qw = self._x_m, math.sin(self._yaw_rad / 2), math.cos(self._yaw_rad / 2)
        match self._how if self._has_moved else "":
            case "silent":
                return None
            case "jumps":
                return encode_odometry(RosPose(x_m, self._y_m + 5.0, qz=qz, qw=qw), self._velocity, time.time_ns())
            case "nan":
                x_m = math.nan
            case "garbage":
                return b"\xff\x00 what a day"
        return encode_odometry(RosPose(x_m, self._y_m, qz=qz, qw=qw), self._velocity, time.time_ns())

    def _move(self) -> None:
        now_s = time.monotonic()
        passed_s, self._moved_s = now_s - self._moved_s, now_s
        self._yaw_rad += self._velocity.turn_rps * passed_s
        self._x_m += self._velocity.forward_mps * passed_s * math.cos(self._yaw_rad)
        self._y_m += self._velocity.forward_mps * passed_s * math.sin(self._yaw_rad)


def main(endpoint: str, log: str, how: str = "") -> None:
    robot = Robot(Path(log), how)
    with open_session(connect=endpoint) as session:
        odometry = session.declare_publisher("odom")
        session.declare_subscriber("cmd_vel", lambda sample: robot.drive(decode_twist(sample.payload.to_bytes())))
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        pause = threading.Event()
        while not pause.wait(1 / RATE_HZ):
            message = robot.odometry()
            if message is not None:
                odometry.put(message)


if __name__ == "__main__":
    main(*sys.argv[1:])
