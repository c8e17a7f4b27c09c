"""Motion programs: generators that look at the scene and yield the speeds of the base for the next 10 ms.

They run under the world's lock, step by step, and know nothing of threads, pacing or words. A program may be closed
at any yield; the world then brakes.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.house.drivetrain import STEP_S
from edgeagent.house.flat import DOCK, DOCKED, WALL, FlatRoom, Landmark, Thing
from edgeagent.house.geometry import Point, disc_reached, wrap
from edgeagent.house.inhabitant import RADIUS_M
from edgeagent.house.planner import Bystander, the_planner
from edgeagent.house.scene import PERSON, Scene
from edgeagent.house.tracker import Tracker, speed_towards

End = Literal["done", "blocked", "lost", "halted", "timed_out", "empty"]

STOP_GAP_M: Final = 0.02
"""The robot stops this far before it would touch something."""
_CONTACT_M: Final = 0.2 + RADIUS_M
"""Distance of robot and person, middle to middle, at which they touch."""
_STOP_M: Final = _CONTACT_M + 0.17
"""At this distance the robot stops for the person on its way to somewhere,"""
_PASS_M: Final = _CONTACT_M + 0.02
"""at this one on a way that leads around the person, and when it drives straight on,"""
_DETOUR_M: Final = _CONTACT_M + 0.1
"""where that way keeps this distance."""
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
        gap = _way_to_person(scene, heading, _PASS_M)
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
    return (yield from turn(scene, wrap(heading - scene.base.heading)))


def go(scene: Scene, goal: Point, heading: float | None = None) -> Program:
    """Drives the shortest way to that point and, if asked, turns to that heading there.

    Waits for a person who stands in the way, then tries to get around.
    """
    outcome = yield from _go_once(scene, goal, None)
    for _ in range(_DETOURS):
        if outcome.obstacle == PERSON:
            outcome = yield from _go_once(scene, goal, Bystander(scene.person.point, _DETOUR_M))
    if outcome.ok and heading is not None:
        outcome = yield from face(scene, heading)
    return outcome


def _go_once(scene: Scene, goal: Point, avoid: Bystander | None) -> Program:
    way = the_planner().plan(scene.base.point, goal, avoid)
    if way is None:
        return ProgramEnd("blocked", PERSON if avoid else WALL)
    return (yield from track(scene, way, keep_m=_PASS_M if avoid else _STOP_M))


def track(scene: Scene, way: tuple[Point, ...], *, keep_m: float = _STOP_M) -> Program:
    """Drives along a polyline that begins where the robot is.

    Args:
        keep_m: Distance from the person, middle to middle, at which to stop.
    """
    base = scene.base
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
