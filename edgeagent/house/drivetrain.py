"""The differential-drive base: two wheels with limits on speed and acceleration, and a bumper.

Stepped by the scene, 10 ms at a time, under the world's lock. Knows nothing of maps: what is in the way it asks.
``FlatBase`` puts it among the walls of the flat, by the wall's clock, for ``base_tools``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from edgeagent.house.flat import START
from edgeagent.house.geometry import Point, Pose
from edgeagent.house.planner import BODY_M, the_obstacles
from edgeagent.robot import Odometry, Position, SimulatedBase, Velocity

_MJ_PER_WH: Final = 3_600_000
CAPACITY_MJ: Final = 40 * _MJ_PER_WH
START_PERCENT: Final = 80

#: Millijoules in a step of 10 ms: 6 W at rest, 30 W while the wheels turn, 60 W from the dock.
_IDLE_MJ: Final = 60
_MOVING_MJ: Final = 300
_CHARGING_MJ: Final = 600


class Battery:
    """Drains all the time, faster while the base moves, and charges while the robot stands in its dock."""

    def __init__(self) -> None:
        self.energy_mj = CAPACITY_MJ * START_PERCENT // 100

    @property
    def percent(self) -> int:
        """Rounded; 0 only when it is empty."""
        rounded = (self.energy_mj * 100 + CAPACITY_MJ // 2) // CAPACITY_MJ
        return rounded or int(not self.empty)

    @property
    def empty(self) -> bool:
        return self.energy_mj == 0

    def step(self, *, moving: bool, charging: bool, steps: int = 1) -> None:
        """Lets that many steps of 10 ms pass, all alike."""
        gain = _CHARGING_MJ if charging else -(_MOVING_MJ if moving else _IDLE_MJ)
        self.energy_mj = min(CAPACITY_MJ, max(0, self.energy_mj + gain * steps))


STEP_S: Final = 0.01
"""The fixed step of the simulation."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Abilities of the base."""

    radius_m: float = BODY_M
    speed_mps: float = 0.5
    acceleration_mps2: float = 1.0
    braking_mps2: float = 4.0
    turn_rate_rps: float = math.radians(90)
    turn_acceleration_rps2: float = math.radians(540)
    turn_braking_rps2: float = math.radians(900)


class Drivetrain:
    """The base.

    Attributes:
        speed: Forward, m/s. turn_rate: To the left, rad/s.
        travelled_m: Way forward minus way back. rotated: Angle to the left, in radians, never wrapped.
        odometer_m: All the way driven, never less.
        contact: What the bumper touches, empty when nothing.
        speed_limit: 0 to 1, a factor on both speeds; 0 brakes to a standstill.
        halted: Brakes to a standstill, whatever is commanded.
    """

    def __init__(self, start: Pose, obstacle_at: Callable[[float, float], str]) -> None:
        self.limits = Limits()
        self.x, self.y, self.heading = start.x, start.y, start.heading
        self.speed = self.turn_rate = 0.0
        self.travelled_m = self.rotated = self.odometer_m = 0.0
        self.contact = ""
        self.speed_limit = 1.0
        self.halted = False
        self._obstacle_at = obstacle_at

    @property
    def pose(self) -> Pose:
        return Pose(self.x, self.y, math.remainder(self.heading, math.tau))

    @property
    def point(self) -> Point:
        return Point(self.x, self.y)

    @property
    def still(self) -> bool:
        return self.speed == 0.0 and self.turn_rate == 0.0

    def step(self, speed: float, turn_rate: float) -> None:
        """Moves on by one step towards the commanded speeds, in m/s and rad/s."""
        limits = self.limits
        limit = 0.0 if self.halted else self.speed_limit
        top, top_turn = limits.speed_mps * limit, limits.turn_rate_rps * limit
        speed = min(max(speed, -top), top)
        turn_rate = min(max(turn_rate, -top_turn), top_turn)
        self.speed = _approach(self.speed, speed, limits.acceleration_mps2, limits.braking_mps2)
        self.turn_rate = _approach(self.turn_rate, turn_rate, limits.turn_acceleration_rps2, limits.turn_braking_rps2)
        if not self.still:
            self._move()

    def _move(self) -> None:
        turned = self.turn_rate * STEP_S
        if self.speed != 0.0:
            forward = self.speed * STEP_S
            middle = self.heading + turned / 2
            x, y = self.x + forward * math.cos(middle), self.y + forward * math.sin(middle)
            self.contact = self._obstacle_at(x, y)
            if self.contact:
                self.speed = 0.0
            else:
                self.x, self.y = x, y
                self.travelled_m += forward
                self.odometer_m += abs(forward)
        self.heading += turned
        self.rotated += turned


def _approach(now: float, goal: float, gain: float, braking: float) -> float:
    """One step from a speed towards another: ``gain`` away from zero, ``braking`` towards it."""
    if goal > now:
        return min(goal, now + (gain if now >= 0.0 else braking) * STEP_S)
    if goal < now:
        return max(goal, now - (gain if now <= 0.0 else braking) * STEP_S)
    return now


# --- a base of base_tools ---------------------------------------------------------------------------------------------


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
