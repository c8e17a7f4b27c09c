"""The house robot as a base: its wheels among the walls of the flat, by the wall's clock, for ``base_tools``."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Final

from edgeagent.house.drivetrain import STEP_S, Drivetrain, Limits
from edgeagent.house.flat import START
from edgeagent.house.geometry import Point, Pose
from edgeagent.house.planner import the_obstacles
from edgeagent.robot import Odometry, Position, SimulatedBase, Velocity

TOUCHED: Final = "touched a wall"
"""Line of the log for each time that the base runs against something."""
_SENSOR_M: Final = 0.01
"""Metres that the sensor stands behind the robot's edge: it never tells zero, which is no distance."""


@dataclass
class FlatBase(SimulatedBase):
    """Speeds up and brakes as the house robot does, and stands at a wall, where its wheels are blocked.

    Attributes:
        start: Where it stands in the flat when it is opened.
    """

    start: Pose = START

    def open(self) -> None:
        super().open()
        hit, radius_m = the_obstacles().hit, Limits().radius_m
        self._wheels = Drivetrain(self.start, lambda x, y: TOUCHED if hit(x, y, radius_m) else "")

    def odometry(self) -> Odometry:
        ends_s = self._told_s + (self.limits.board_timeout_s or math.inf)
        for _ in range(int((time.monotonic() - self._since_s) / STEP_S)):
            self._since_s += STEP_S
            velocity = self._velocity if self._since_s < ends_s else Velocity()
            touches = self._wheels.contact
            self._wheels.step(velocity.forward_mps, velocity.turn_rps)
            if self._wheels.contact and not touches:
                self._note(TOUCHED)
        return Odometry(self._wheels.travelled_m, self._wheels.rotated)

    def wall_ahead_m(self, at: Position) -> float:
        """Metres to what stands ahead of a robot at that position: its distance sensor."""
        turned, radius_m = self.start.heading, Limits().radius_m
        x = self.start.x + at.ahead_m * math.cos(turned) - at.left_m * math.sin(turned)
        y = self.start.y + at.ahead_m * math.sin(turned) + at.left_m * math.cos(turned)
        return the_obstacles().free_way(Point(x, y), turned + at.heading_rad, radius_m)[0] + _SENSOR_M
