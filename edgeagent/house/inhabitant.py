"""The person who lives in the flat: stands somewhere for a while, then walks to another room, by a seeded schedule.

Stepped by the scene under the world's lock. Walks exactly on the planner's ways, so never through a wall.
"""

from __future__ import annotations

import math
import random
from typing import Final

from edgeagent.house.drivetrain import STEP_S
from edgeagent.house.flat import the_flat
from edgeagent.house.geometry import Point
from edgeagent.house.planner import Bystander, the_planner

RADIUS_M: Final = 0.25
WALK_MPS: Final = 0.8
LEAD_MPS: Final = (0.35, 0.5)
"""Somebody who leads the robot walks at a pace in this range."""
_STAND_S: Final = (30.0, 120.0)
_FIRST_STAND_S: Final = (60.0, 120.0)
_BEFORE_LEADING_S: Final = 1.5
_PATIENCE_STEPS: Final = round(1.0 / STEP_S)
"""For so long the person waits for the robot to make way, then walks around it or, if that can't be, elsewhere."""
_STOP_M: Final = RADIUS_M + 0.2 + 0.17
"""The person stops this far from the robot, middle to middle,"""
_PASS_M: Final = RADIUS_M + 0.2 + 0.02
"""but comes as near as this when walking around it,"""
_DETOUR_M: Final = RADIUS_M + 0.2 + 0.1
"""on a way that keeps this distance."""


class Inhabitant:
    """Attributes: position x, y, heading; ``pace_mps`` while walking; ``still_steps`` without a move; ``walking``."""

    __slots__ = (
        "_detours",
        "_random",
        "_waited",
        "_way",
        "heading",
        "pace_mps",
        "standing_steps",
        "still_steps",
        "x",
        "y",
    )

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"person {seed}")
        living_room = the_flat().room("living room")
        start = living_room.people[0] if living_room else Point(0.0, 0.0)
        self.x, self.y, self.heading = start.x, start.y, -math.pi / 2
        self.pace_mps = WALK_MPS
        self.still_steps = 0
        self.standing_steps = self._draw_steps(_FIRST_STAND_S)
        self._way: list[Point] = []
        self._waited = 0
        self._detours = False

    @property
    def point(self) -> Point:
        return Point(self.x, self.y)

    @property
    def walking(self) -> bool:
        return bool(self._way)

    def lead(self) -> None:
        """Says "follow me": walks off to another room in a moment, at the robot's pace, or slows down to it."""
        self.pace_mps = self._random.uniform(*LEAD_MPS)
        if not self._way:
            self.standing_steps = round(_BEFORE_LEADING_S / STEP_S)

    def wait(self, duration_s: float) -> None:
        """Stays for that long, unless walking already."""
        if not self._way:
            self.standing_steps = max(self.standing_steps, round(duration_s / STEP_S))

    def stand(self, duration_s: float) -> None:
        """Stops here and stays for that long."""
        self._way = []
        self.standing_steps = round(duration_s / STEP_S)

    def place(self, point: Point) -> None:
        """Puts the person somewhere else, standing."""
        self.x, self.y = point.x, point.y
        self.still_steps = 0
        self.stand(_STAND_S[1])

    def walk(self, goal: Point, pace_mps: float = WALK_MPS) -> None:
        """Sets off to that point."""
        self.pace_mps = pace_mps
        self._way = list(the_planner().plan(self.point, goal) or ())[:0:-1]
        self._detours = False

    def quiet_steps(self) -> int:
        """Number of steps that will change nothing but the counters."""
        return 0 if self._way else max(0, self.standing_steps - 1)

    def skip(self, steps: int) -> None:
        """Lets quiet steps pass at once."""
        self.standing_steps -= steps
        self.still_steps += steps

    def step(self, robot_x: float, robot_y: float) -> None:
        """Moves on by one step; stops rather than bump into the robot."""
        if not self._way:
            self.still_steps += 1
            self.standing_steps -= 1
            if self.standing_steps <= 0:
                self._set_off()
            return
        goal = self._way[-1]
        dx, dy = goal.x - self.x, goal.y - self.y
        distance = math.hypot(dx, dy)
        stride = self.pace_mps * STEP_S
        last = distance <= stride
        x, y = (goal.x, goal.y) if last else (self.x + dx / distance * stride, self.y + dy / distance * stride)
        gap = math.hypot(x - robot_x, y - robot_y)
        if gap < (_PASS_M if self._detours else _STOP_M) and gap < math.hypot(self.x - robot_x, self.y - robot_y):
            self._wait(Point(robot_x, robot_y))
            return
        self._waited = self.still_steps = 0
        if distance > 0:
            self.heading = math.atan2(dy, dx)
        self.x, self.y = x, y
        if last:
            self._way.pop()
            if not self._way:
                self.pace_mps = WALK_MPS
                self.standing_steps = self._draw_steps(_STAND_S)

    def _wait(self, robot: Point) -> None:
        self.still_steps += 1
        self._waited += 1
        if self._waited < _PATIENCE_STEPS:
            return
        self._waited = 0
        way = the_planner().plan(self.point, self._way[0], Bystander(robot, _DETOUR_M))
        if way and not self._detours:
            self._way = list(way)[:0:-1]
            self._detours = True
        else:
            self._set_off()

    def _set_off(self) -> None:
        """Goes to a spot in another room, at the pace that is set."""
        here = the_flat().locate(self.x, self.y)
        goals = [spot for room in the_flat().rooms if room.name != here for spot in room.people]
        self.walk(self._random.choice(goals), self.pace_mps)
        if not self._way:
            self.standing_steps = self._draw_steps(_STAND_S)

    def _draw_steps(self, span_s: tuple[float, float]) -> int:
        return round(self._random.uniform(*span_s) / STEP_S)
