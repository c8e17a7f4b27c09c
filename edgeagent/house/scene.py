"""Everything in the flat that changes, and how it changes in one step of 10 ms: the robot, things, and the person.

A pure state machine: no threads, no clock, no locks; the same seed and the same commands give the same states, bit for
bit. ``World`` owns one, and lets time pass in it under its lock.

The person stands somewhere for a while, then walks to another room, by a seeded schedule, and exactly on the planner's
ways, so never through a wall.
"""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.house.drivetrain import STEP_S, Battery, Drivetrain
from edgeagent.house.flat import DOCKED, START, Flat, FlatRoom, Landmark, Thing, lay_out, the_flat
from edgeagent.house.geometry import Point, Pose
from edgeagent.house.planner import BODY_M, Bystander, Obstacles, the_obstacles, the_planner

RADIUS_M: Final = 0.25
"""Of the person."""
_CONTACT_M: Final = BODY_M + RADIUS_M
"""Distance of robot and person, middle to middle, at which they touch."""
STOP_M: Final = _CONTACT_M + 0.17
"""At this distance each of them stops for the other on its way to somewhere,"""
PASS_M: Final = _CONTACT_M + 0.02
"""at this one on a way that leads around the other, and the robot when it drives straight on,"""
DETOUR_M: Final = _CONTACT_M + 0.1
"""where that way keeps this distance."""
WALK_MPS: Final = 0.8
LEAD_MPS: Final = (0.35, 0.5)
"""Somebody who leads the robot walks at a pace in this range."""
_STAND_S: Final = (30.0, 120.0)
_FIRST_STAND_S: Final = (60.0, 120.0)
_BEFORE_LEADING_S: Final = 1.5
_PATIENCE_STEPS: Final = round(1.0 / STEP_S)
"""For so long the person waits for the robot to make way, then walks around it or, if that can't be, elsewhere."""


class Inhabitant:
    """Attributes: position x, y, heading; ``pace_mps`` while walking; ``still_steps`` without a move; ``walking``."""

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
        if gap < (PASS_M if self._detours else STOP_M) and gap < math.hypot(self.x - robot_x, self.y - robot_y):
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
        way = the_planner().plan(self.point, self._way[0], Bystander(robot, DETOUR_M))
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


Direction = Literal["left", "right", "up", "down", "ahead"]

PERSON: Final = "person"
_TRAIL_STEP_M: Final = 0.05
_TRAIL_POINTS: Final = 4000
"""200 m of way; of a longer one every second point is dropped."""
_DOCKED_M: Final = 0.05
_SIGHT_M: Final = 8.0
_WITH_TOP: Final = frozenset({"dining table", "sofa", "desk", "fridge", "window"})
_REACH_M: Final = 0.4
"""From the middle of the robot to where its gripper puts something down."""
_FROM_EDGE_M: Final = 0.12
_ASIDE_M: Final = 0.15
_ASIDE: Final = tuple(sorted(((x, y) for x in range(-3, 4) for y in range(-3, 4)), key=lambda p: p[0] ** 2 + p[1] ** 2))
"""Where an object goes, in units of ``_ASIDE_M``, when another one lies there already: the nearest first."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The scene at one moment, for drawing and for comparing."""

    time_s: float
    clock: str
    robot: Pose
    person: Pose
    battery_percent: int
    charging: bool
    holding: str
    lit: frozenset[str]
    things: tuple[Thing, ...]
    """Without the one in the gripper."""
    trail: tuple[Point, ...]
    """The way driven, oldest first."""


class Scene:
    """The flat with the robot and the person in it, at ``steps`` steps after the start.

    Args:
        seed: Moves the objects and decides what the person does.

    Attributes:
        start_of_day_s: Seconds after midnight when the simulation starts.
    """

    def __init__(self, seed: int = 0) -> None:
        self.flat: Final[Flat] = the_flat()
        self.obstacles: Final[Obstacles] = the_obstacles()
        self.steps = 0
        self.start_of_day_s = 14 * 3600
        self.person: Final = Inhabitant(seed)
        self.base: Final = Drivetrain(START, self._bumped)
        self.battery: Final = Battery()
        self.docked = False
        self.looking: Direction = "ahead"
        self.lit = {"living room"}
        self.things = lay_out(self.flat, seed)
        self.held: str = ""
        self.trail: list[Point] = [START.point]
        self._trail_step_m = _TRAIL_STEP_M
        self._alarms: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = itertools.count()

    @property
    def time_s(self) -> float:
        """Simulated seconds since the start."""
        return self.steps * STEP_S

    @property
    def clock(self) -> str:
        """The time of day, such as 14:05."""
        minutes = int(self.start_of_day_s + self.time_s) // 60
        return f"{minutes // 60 % 24}:{minutes % 60:02d}"

    @property
    def room(self) -> str:
        """The room the robot is in."""
        return self.flat.locate(self.base.x, self.base.y) or "flat"

    @property
    def person_room(self) -> str:
        """The room the person is in."""
        return self.flat.locate(self.person.x, self.person.y) or "flat"

    def step(self, speed: float = 0.0, turn_rate: float = 0.0) -> None:
        """Lets 10 ms pass while the base is commanded these speeds."""
        self.steps += 1
        base, person = self.base, self.person
        person.step(base.x, base.y)
        if self.battery.empty:
            speed = turn_rate = 0.0
        base.step(speed, turn_rate)
        moving = not base.still
        if moving:
            self.docked = False
            last = self.trail[-1]
            if abs(base.x - last.x) + abs(base.y - last.y) > self._trail_step_m:
                self._leave_trail()
        self.battery.step(moving=moving, charging=self.docked)

    def skip(self, steps: int) -> None:
        """The same as that many ``step()`` while nothing moves; not more than ``quiet_steps``."""
        self.steps += steps
        self.person.skip(steps)
        self.battery.step(moving=False, charging=self.docked, steps=steps)

    def quiet_steps(self) -> int:
        """Number of steps without a command that change nothing but the time, the battery and the person's patience."""
        if not self.base.still:
            return 0
        quiet = self.person.quiet_steps()
        return min(quiet, self._alarms[0][0] - self.steps - 1) if self._alarms else quiet

    def dock(self) -> bool:
        """Closes the contacts; False if the robot does not stand in its dock."""
        self.docked = self.base.still and self.base.point.distance(DOCKED) < _DOCKED_M
        return self.docked

    def put_down(self, place: FlatRoom | Landmark) -> None:
        """Lays what the gripper holds on that landmark, if it has a top, else on the floor in front of the robot."""
        base = self.base
        on = place.name if place.name in _WITH_TOP else ""
        ahead = base.point.along(base.heading, _REACH_M)
        at = place.outline.inset(_FROM_EDGE_M).nearest(ahead.x, ahead.y) if on else ahead
        spots = (Point(at.x + dx * _ASIDE_M, at.y + dy * _ASIDE_M) for dx, dy in _ASIDE)
        free = (spot for spot in spots if on or self._on_free_floor(spot))
        taken = [thing.at for thing in self.things.values() if thing.name != self.held]
        at = next((spot for spot in free if all(spot.distance(one) >= _ASIDE_M for one in taken)), base.point)
        self.things[self.held] = Thing(self.held, at, on)
        self.held = ""

    def call_at(self, time_s: float, call: Callable[[], object]) -> None:
        """Has ``due`` hand out that call as soon as this much simulated time has passed since the start."""
        step = max(self.steps + 1, math.ceil(round(time_s / STEP_S, 6)))
        heapq.heappush(self._alarms, (step, next(self._numbers), call))

    @property
    def is_due(self) -> bool:
        return bool(self._alarms) and self._alarms[0][0] <= self.steps

    def due(self) -> list[Callable[[], object]]:
        """Takes the calls whose time has come, in order."""
        calls = []
        while self.is_due:
            calls.append(heapq.heappop(self._alarms)[2])
        return calls

    def sees_person(self) -> bool:
        """True if no wall stands between the robot and the person, who is near enough."""
        me, you = self.base.point, self.person.point
        return me.distance(you) <= _SIGHT_M and self.obstacles.in_sight(me, you)

    def snapshot(self) -> Snapshot:
        """A copy that shares nothing mutable."""
        base, person = self.base, self.person
        return Snapshot(
            time_s=self.time_s,
            clock=self.clock,
            robot=base.pose,
            person=Pose(person.x, person.y, person.heading),
            battery_percent=self.battery.percent,
            charging=self.docked,
            holding=self.held,
            lit=frozenset(self.lit),
            things=tuple(thing for thing in self.things.values() if thing.name != self.held),
            trail=(*self.trail, base.point),
        )

    def _on_free_floor(self, spot: Point) -> bool:
        return self.flat.locate(spot.x, spot.y) == self.room and self.obstacles.hit(spot.x, spot.y, 0.05) is None

    def _bumped(self, x: float, y: float) -> str:
        """Names what the base would touch there; touching while moving away is allowed."""
        base, person = self.base, self.person
        radius = base.limits.radius_m
        dx, dy = x - person.x, y - person.y
        gap_squared = dx * dx + dy * dy
        gap_before_squared = (base.x - person.x) ** 2 + (base.y - person.y) ** 2
        if gap_squared < (radius + RADIUS_M) ** 2 and gap_squared < gap_before_squared:
            return PERSON
        hit = self.obstacles.hit(x, y, radius)
        if hit is None or hit.outline.distance(x, y) > hit.outline.distance(base.x, base.y):
            return ""
        return hit.name

    def _leave_trail(self) -> None:
        self.trail.append(self.base.point)
        if len(self.trail) > _TRAIL_POINTS:
            del self.trail[1::2]
            self._trail_step_m *= 2
