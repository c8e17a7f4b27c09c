"""Motion programs: generators that look at the scene and yield the speeds of the base for the next 10 ms.

They run under the world's lock, step by step, and know nothing of threads, pacing or words. A program may be closed
at any yield; the world then brakes. ``Tracker`` keeps the base on a polyline: pure pursuit with a short look-ahead
(Coulter, 1992), slow in sharp corners.

A robot that follows the person knows where the person is while no wall stands between them, and at first from the voice
that called it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.house.drivetrain import STEP_S, Drivetrain
from edgeagent.house.flat import DOCK, DOCKED, WALL, FlatRoom, Landmark, Thing
from edgeagent.house.geometry import Point, disc_reached
from edgeagent.house.planner import Bystander, the_planner
from edgeagent.house.scene import DETOUR_M, PASS_M, PERSON, STOP_M, Scene

DECELERATION_MPS2: Final = 1.5
"""Comfortable; the brakes can do more."""
_LOOK_AHEAD_M: Final = 0.12
_ON_THE_SPOT: Final = math.radians(40)
"""Beyond this error of direction the base stands and turns."""
_BEND_DECELERATION_RPS2: Final = 4.0
_ARRIVED_M: Final = 0.003
_CORNER_M: Final = 0.005
_SHARP: Final = math.cos(math.radians(50))
"""Round a corner that turns less than this the base goes without a stop; in others it stands and turns."""


def speed_towards(left_m: float, top_mps: float) -> float:
    """The speed, in m/s, from which the base can still stop comfortably in that distance."""
    return min(top_mps, math.sqrt(2 * DECELERATION_MPS2 * left_m), left_m / STEP_S)


class Tracker:
    """Follows a way, and knows how far the base has come on it.

    Attributes:
        heading: Direction to the point that it steers for. left_m: Metres to the end. arrived: Nothing is left.
    """

    def __init__(self, base: Drivetrain, way: tuple[Point, ...]) -> None:
        self._base = base
        #: Segments: start, unit vector, length.
        self._way = [
            (a.x, a.y, (b.x - a.x) / a.distance(b), (b.y - a.y) / a.distance(b), a.distance(b))
            for a, b in itertools.pairwise(way)
            if a.distance(b) > _CORNER_M
        ]
        self._tails = [sum(segment[4] for segment in self._way[index + 1 :]) for index in range(len(self._way))]
        pairs = itertools.pairwise(self._way)
        self._sharp = [a[2] * b[2] + a[3] * b[3] < _SHARP for a, b in pairs] + [True]
        self._index = 0
        self._stop_m = 0.0
        self._aim_x, self._aim_y = way[-1].x, way[-1].y
        self.arrived = False
        self.left_m = 0.0
        self.heading = 0.0
        self.update()

    def update(self) -> None:
        """Finds the base on the way and the point to steer for."""
        base, way = self._base, self._way
        while True:
            index = self._index
            if index == len(way):
                self.left_m, self.arrived = 0.0, True
                return
            x0, y0, ux, uy, length = way[index]
            along = (base.x - x0) * ux + (base.y - y0) * uy
            if along < length - (_CORNER_M if index + 1 < len(way) else _ARRIVED_M):
                break
            self._index += 1
        self.left_m = length - along + self._tails[index]
        self._stop_m = length - along if self._sharp[index] else self.left_m
        ahead = max(0.0, along) + _LOOK_AHEAD_M
        while ahead > length and not self._sharp[index]:
            ahead -= length
            index += 1
            x0, y0, ux, uy, length = way[index]
        self._aim_x, self._aim_y = x0 + ux * ahead, y0 + uy * ahead
        self.heading = math.atan2(self._aim_y - base.y, self._aim_x - base.x)

    def command(self, free_m: float) -> tuple[float, float]:
        """Speed and turn rate for the next step, slow enough to stop within ``free_m``."""
        base = self._base
        top_turn = base.limits.turn_rate_rps
        error = math.remainder(self.heading - base.heading, math.tau)
        if abs(error) > _ON_THE_SPOT:
            return 0.0, math.copysign(min(top_turn, math.sqrt(2 * _BEND_DECELERATION_RPS2 * abs(error))), error)
        speed = speed_towards(min(self._stop_m, free_m), base.limits.speed_mps)
        bend = 2 * math.sin(error) / _LOOK_AHEAD_M
        if speed * abs(bend) > top_turn:
            speed = top_turn / abs(bend)
        return speed, speed * bend


End = Literal["done", "blocked", "lost", "halted", "timed_out", "empty"]

STOP_GAP_M: Final = 0.02
"""The robot stops this far before it would touch something."""
_PATIENCE_STEPS: Final = round(2.0 / STEP_S)
"""For so long the robot waits for the person to make way."""
_DETOURS: Final = 2
_TURN_DECELERATION_RPS2: Final = 3.0
_NEAR_M: Final = 1.5
_GRIP_STEPS: Final = round(2.0 / STEP_S)


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    """End of a program; ``obstacle`` names what blocked it."""

    end: End
    obstacle: str = ""

    @property
    def ok(self) -> bool:
        return self.end == "done"


Program = Generator[tuple[float, float], None, ProgramEnd]

DONE: Final = ProgramEnd("done")


def drive(scene: Scene, distance_m: float) -> Program:
    """Straight on, backwards if negative; stops before it touches anything."""
    base = scene.base
    sign = math.copysign(1.0, distance_m)
    heading = base.heading if distance_m > 0 else base.heading + math.pi
    start, goal = base.travelled_m, abs(distance_m)
    free, obstacle = scene.obstacles.free_way(base.point, heading, base.limits.radius_m + STOP_GAP_M)
    end = DONE if free >= goal else ProgramEnd("blocked", obstacle.name)
    goal = min(goal, free)
    waited = 0
    while (left := goal - (base.travelled_m - start) * sign) > 1e-6:
        if base.contact:
            return ProgramEnd("blocked", base.contact)
        gap = _way_to_person(scene, heading, PASS_M)
        if gap < min(left, STOP_GAP_M):
            waited += 1
            if waited > _PATIENCE_STEPS:
                return ProgramEnd("blocked", PERSON)
            yield 0.0, 0.0
            continue
        waited = 0
        yield sign * speed_towards(min(left, gap), base.limits.speed_mps), 0.0
    return end


def turn(scene: Scene, angle: float) -> Program:
    """On the spot, by that many radians to the left."""
    base = scene.base
    goal = base.rotated + angle
    while abs(left := goal - base.rotated) > 1e-6:
        rate = min(base.limits.turn_rate_rps, math.sqrt(2 * _TURN_DECELERATION_RPS2 * abs(left)), abs(left) / STEP_S)
        yield 0.0, math.copysign(rate, left)
    return DONE


def face(scene: Scene, heading: float) -> Program:
    """Turns the short way until the robot looks in that direction."""
    return (yield from turn(scene, math.remainder(heading - scene.base.heading, math.tau)))


def go(scene: Scene, goal: Point, heading: float | None = None) -> Program:
    """Drives the shortest way to that point and, if asked, turns to that heading there.

    Waits for a person who stands in the way, then tries to get around.
    """
    outcome = yield from _go_once(scene, goal, None)
    for _ in range(_DETOURS):
        if outcome.obstacle == PERSON:
            outcome = yield from _go_once(scene, goal, Bystander(scene.person.point, DETOUR_M))
    if outcome.ok and heading is not None:
        outcome = yield from face(scene, heading)
    return outcome


def _go_once(scene: Scene, goal: Point, avoid: Bystander | None) -> Program:
    base, keep_m = scene.base, PASS_M if avoid else STOP_M
    way = the_planner().plan(base.point, goal, avoid)
    if way is None:
        return ProgramEnd("blocked", PERSON if avoid else WALL)
    tracker = Tracker(base, way)
    waited = 0
    while not tracker.arrived:
        if base.contact:
            return ProgramEnd("blocked", base.contact)
        gap = _way_to_person(scene, tracker.heading, keep_m)
        if gap < min(tracker.left_m, STOP_GAP_M):
            waited += 1
            if waited > _PATIENCE_STEPS:
                return ProgramEnd("blocked", PERSON)
            yield 0.0, 0.0
        else:
            waited = 0
            yield tracker.command(gap)
        tracker.update()
    return DONE


def reach(scene: Scene, place: FlatRoom | Landmark) -> Program:
    """Drives to a room or a landmark. With the person standing on the very spot, near is good enough."""
    if isinstance(place, FlatRoom):
        outcome = yield from go(scene, place.spot)
        there = scene.room == place.name
    else:
        outcome = yield from go(scene, place.stand.point, place.stand.heading)
        there = scene.room == place.room and scene.base.point.distance(place.stand) < _NEAR_M
    return DONE if there and outcome.obstacle == PERSON else outcome


def fetch(scene: Scene, thing: Thing) -> Program:
    """Drives to an object, faces it and takes it."""
    spot = the_planner().approach(thing.at)
    if spot is None:
        return ProgramEnd("blocked", WALL)
    outcome = yield from go(scene, spot, spot.bearing(thing.at))
    if outcome.ok:
        yield from _rest(_GRIP_STEPS)
        scene.held = thing.name
    return outcome


def bring(scene: Scene, place: FlatRoom | Landmark) -> Program:
    """Drives to a place and puts down there what the gripper holds."""
    outcome = yield from reach(scene, place)
    if outcome.ok:
        yield from _rest(_GRIP_STEPS)
        scene.put_down(place)
    return outcome


def dock(scene: Scene) -> Program:
    """Drives onto the charging dock and closes its contacts; does nothing if it stands there already."""
    if not scene.docked:
        outcome = yield from go(scene, DOCKED.point, DOCKED.heading)
        if not outcome.ok:
            return outcome
        yield 0.0, 0.0
    return DONE if scene.dock() else ProgramEnd("blocked", DOCK)


def _rest(steps: int) -> Generator[tuple[float, float], None, None]:
    for _ in range(steps):
        yield 0.0, 0.0


def _way_to_person(scene: Scene, heading: float, keep_m: float) -> float:
    """Metres that the robot may move in that direction before it comes too near to the person."""
    base, person = scene.base, scene.person
    dx, dy = person.x - base.x, person.y - base.y
    if dx * dx + dy * dy > _NEAR_M * _NEAR_M:
        return math.inf
    return disc_reached(base.point, heading, person.point, keep_m)


# --- following the person ---------------------------------------------------------------------------------------------


FOLLOW_S: Final = 60.0
STANDSTILL_S: Final = 5.0
GAP_M: Final = 0.9
"""The robot keeps this far behind, middle to middle."""

_CAUGHT_UP_M: Final = GAP_M + 0.4
_LOOK_STEPS: Final = round(0.2 / STEP_S)
_THERE_M: Final = 0.3
_COMPANY_M: Final = 2.0
"""The person waits until the robot is this near before leading it somewhere."""
_FURTHER_M: Final = 1.5
_LOST_STEPS: Final = round(3.0 / STEP_S)
_LOST_AT_LAST_STEPS: Final = round(15.0 / STEP_S)
_TURN_GAIN: Final = 2.0


@dataclass(slots=True)
class _Sight:
    """Knowledge of the robot about the person."""

    at: Point
    heading: float = 0.0
    seen: bool = False
    ever: bool = False
    unseen_steps: int = 0


def follow(scene: Scene) -> Program:
    """Drives behind the person until that one stands still, is lost, or the time is over."""
    base, person = scene.base, scene.person
    started = scene.steps
    led: int | None = None
    person.wait(FOLLOW_S)
    sight = _Sight(person.point)
    tracker: Tracker | None = None
    while (passed := scene.steps - started) < round(FOLLOW_S / STEP_S):
        if passed % _LOOK_STEPS == 0:
            _look(scene, sight)
            if led is None and sight.seen and base.point.distance(sight.at) < _COMPANY_M:
                led = scene.steps
                person.lead()
            if led is not None and sight.seen and _stands(scene, scene.steps - led):
                return DONE
            if not sight.seen and _is_lost(sight, base.point):
                return ProgramEnd("lost")
            tracker = _way_to(scene, sight.at)
        near = base.point.distance(sight.at) < (GAP_M if sight.seen else _THERE_M)
        if near or tracker is None or tracker.arrived:
            error = math.remainder(base.point.bearing(sight.at) - base.heading, math.tau)
            yield 0.0, error * _TURN_GAIN if sight.seen else 0.0
        else:
            gap = base.point.distance(person.point) - GAP_M if sight.seen else tracker.left_m
            yield tracker.command(max(0.0, gap))
            tracker.update()
    return DONE if sight.ever else ProgramEnd("lost")


def _look(scene: Scene, sight: _Sight) -> None:
    """Looks for the person; one who has just vanished will be a little further on in the same direction."""
    lost_sight = sight.seen
    sight.seen = scene.sees_person()
    if sight.seen:
        sight.at, sight.heading = scene.person.point, scene.person.heading
        sight.ever, sight.unseen_steps = True, 0
        return
    sight.unseen_steps += _LOOK_STEPS
    if lost_sight:
        free, _ = scene.obstacles.free_way(sight.at, sight.heading, scene.base.limits.radius_m)
        sight.at = sight.at.along(sight.heading, min(free, _FURTHER_M))


def _stands(scene: Scene, led: int) -> bool:
    """The person has stood still for long enough since setting off, and the robot has caught up."""
    still = min(scene.person.still_steps, led)
    return still >= round(STANDSTILL_S / STEP_S) and scene.base.point.distance(scene.person.point) < _CAUGHT_UP_M


def _is_lost(sight: _Sight, here: Point) -> bool:
    if sight.ever and sight.unseen_steps >= _LOST_AT_LAST_STEPS:
        return True
    return sight.unseen_steps >= _LOST_STEPS and here.distance(sight.at) < _THERE_M


def _way_to(scene: Scene, goal: Point) -> Tracker | None:
    """Straight if nothing stands between, else as the planner says."""
    here = scene.base.point
    if scene.obstacles.clear_line(here, goal, scene.base.limits.radius_m + STOP_GAP_M):
        return Tracker(scene.base, (here, goal))
    way = the_planner().plan(here, goal)
    return Tracker(scene.base, way) if way else None
