"""Following the person: a motion program of its own.

The robot knows where the person is while no wall stands between them, and at first from the voice that called it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from edgeagent.house.drivetrain import STEP_S
from edgeagent.house.geometry import Point, wrap
from edgeagent.house.motion import DONE, Program, ProgramEnd
from edgeagent.house.planner import the_planner
from edgeagent.house.scene import Scene
from edgeagent.house.tracker import Tracker

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
            error = wrap(base.point.bearing(sight.at) - base.heading)
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
    if scene.obstacles.clear_line(here, goal, scene.base.limits.radius_m + 0.02):
        return Tracker(scene.base, (here, goal))
    way = the_planner().plan(here, goal)
    return Tracker(scene.base, way) if way else None
