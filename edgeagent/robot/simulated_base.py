"""A base without motors: the way is what was commanded. For trying an app before there is a robot, and for tests."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from edgeagent.robot.base import ZERO, BaseLimits, Odometry, Velocity

ENDS_WITH_ITS_PROCESS_S: Final = 0.1
"""Time-out of a board that does not exist: its motion is in the process, and ends with it."""


@dataclass
class SimulatedBase:
    """Moves as it is told, at once and exactly. Stands without a command for the time-out, as a board with one does.

    Attributes:
        limits: Limits for the driver's process, and the time-out.
        log: A file that takes a line for each change of the velocity and each other call, with the seconds of the
            monotonic clock; None for none.
    """

    limits: BaseLimits = field(default_factory=lambda: BaseLimits(board_timeout_s=ENDS_WITH_ITS_PROCESS_S))
    log: Path | None = None

    def open(self) -> None:
        self._velocity, self._since_s = ZERO, time.monotonic()
        self._told_s = self._since_s
        self._way = Odometry()
        self._note("open")

    def set_velocity(self, velocity: Velocity) -> None:
        self.odometry()
        if velocity != self._velocity:
            self._note(f"velocity {velocity.forward_mps:.4f} {velocity.turn_rps:.4f}")
        self._velocity, self._told_s = velocity, time.monotonic()

    def odometry(self) -> Odometry:
        now_s = time.monotonic()
        driven_s = min(now_s, self._told_s + (self.limits.board_timeout_s or math.inf))
        passed_s, self._since_s = max(0.0, driven_s - self._since_s), now_s
        self._way = Odometry(
            self._way.travelled_m + self._velocity.forward_mps * passed_s,
            self._way.turned_rad + self._velocity.turn_rps * passed_s,
        )
        return self._way

    def stop(self) -> None:
        self.odometry()
        self._velocity = ZERO
        self._note("stop")

    def close(self) -> None:
        self._note("close")

    def _note(self, text: str) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"{time.monotonic():.4f} {text}\n")
