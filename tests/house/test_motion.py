"""Motion programs on a bare scene: they arrive, they never cross a wall, and they wait for the person."""

import itertools
import math
import random

import numpy as np
import pytest

from edgeagent.house import PERSON, START, WALL, Point, Scene, motion, the_flat, the_planner

from .conftest import Play, length

FLAT = the_flat()
PLACES = (*FLAT.rooms, *FLAT.landmarks)
RADIUS_M = 0.2


def away(scene: Scene) -> Scene:
    """Sends the person to the bathroom for good."""
    scene.person.place(Point(7.2, 6.75))
    scene.person.stand(1e6)
    return scene


def clearance(points: np.ndarray) -> np.ndarray:
    """Metres from every point, shape (n, 2), to the nearest rectangle."""
    best = np.full(len(points), np.inf)
    for one in FLAT.obstacles:
        box = one.outline
        dx = np.maximum(np.maximum(box.x0 - points[:, 0], points[:, 0] - box.x1), 0)
        dy = np.maximum(np.maximum(box.y0 - points[:, 1], points[:, 1] - box.y1), 0)
        best = np.minimum(best, np.hypot(dx, dy))
    return best


@pytest.mark.parametrize("seed", range(2))
def test_80_random_journeys_never_cross_a_wall(seed: int, play: Play) -> None:
    scene, dice = Scene(seed), random.Random(seed)
    seen: list[tuple[float, float]] = []
    ends = []
    for _ in range(80):
        scene.battery.energy_mj = 10**8
        journey = motion.reach(scene, dice.choice(PLACES))
        ends.append(play(scene, journey, lambda now: seen.append((now.base.x, now.base.y))))
    points = np.array(seen)
    assert clearance(points).min() >= RADIUS_M
    rooms = [FLAT.locate(x, y) for x, y in seen[::5]]
    around = {room.name for room in FLAT.rooms} - {"hallway", "balcony"}
    doors = {frozenset(("hallway", room)) for room in around} | {frozenset(("living room", "balcony"))}
    assert {frozenset(pair) for pair in itertools.pairwise(rooms) if pair[0] != pair[1]} <= doors
    assert {end.obstacle for end in ends if not end.ok} <= {PERSON}
    assert sum(end.ok for end in ends) >= 76, "the person stands in the way too often"


def test_the_way_driven_is_within_15_percent_of_the_shortest(play: Play) -> None:
    scene, dice = away(Scene()), random.Random(3)
    for _ in range(40):
        goal, start, before_m = dice.choice(PLACES), scene.base.point, scene.base.odometer_m
        assert play(scene, motion.reach(scene, goal)).ok
        shortest = length(the_planner().plan(start, scene.base.point) or ())
        if shortest > 1.0:
            assert scene.base.odometer_m - before_m <= 1.05 * shortest


@pytest.mark.parametrize("distance", [2.0, 0.37, -0.5, 0.01, 4.0])
def test_a_drive_is_as_long_as_asked(distance: float, play: Play) -> None:
    scene = away(Scene())
    assert play(scene, motion.drive(scene, distance)).ok
    assert math.isclose(scene.base.x - START.x, distance, abs_tol=1e-4)
    assert math.isclose(scene.base.y, START.y, abs_tol=1e-9)


@pytest.mark.parametrize("angle", [90.0, -90.0, 180.0, 360.0, 1.0, -720.0])
def test_a_turn_is_as_wide_as_asked_and_stays_on_the_spot(angle: float, play: Play) -> None:
    scene = Scene()
    assert play(scene, motion.turn(scene, math.radians(angle))).ok
    assert math.isclose(math.degrees(scene.base.rotated), angle, abs_tol=0.01)
    assert scene.base.point == START.point


def test_a_drive_stops_short_of_a_wall(play: Play) -> None:
    scene = away(Scene())
    outcome = play(scene, motion.drive(scene, 9.0))
    assert (outcome.end, outcome.obstacle) == ("blocked", WALL)
    assert 0 < 8.55 - RADIUS_M - scene.base.x < 0.05
    assert scene.base.contact == ""


def test_a_drive_waits_for_somebody_who_crosses(play: Play) -> None:
    scene = Scene()
    scene.person.place(Point(6.3, 2.2))
    scene.person.walk(Point(6.3, 4.5), 0.5)
    assert play(scene, motion.drive(scene, 3.0)).ok
    assert math.isclose(scene.base.x, START.x + 3.0, abs_tol=1e-4)


def test_a_drive_gives_up_behind_somebody_who_stays(play: Play) -> None:
    scene = Scene()
    scene.person.place(Point(6.3, 3.2))
    outcome = play(scene, motion.drive(scene, 3.0))
    assert (outcome.end, outcome.obstacle) == ("blocked", PERSON)
    assert 0.45 < scene.base.point.distance(scene.person.point) < 0.6


def test_a_journey_leads_around_somebody_who_stays(play: Play) -> None:
    scene = Scene()
    scene.person.place(Point(6.0, 4.1))
    nearest: list[float] = []
    outcome = play(
        scene,
        motion.go(scene, Point(5.5, 5.65)),
        lambda now: nearest.append(now.base.point.distance(now.person.point)),
    )
    assert outcome.ok
    assert min(nearest) > 0.45


def test_a_journey_gives_up_before_somebody_in_the_only_door(play: Play) -> None:
    scene = Scene()
    scene.person.place(Point(7.2, 1.4))
    outcome = play(scene, motion.go(scene, Point(6.9, 0.7)))
    assert (outcome.end, outcome.obstacle) == ("blocked", PERSON)
    assert scene.room == "living room"


def test_the_robot_never_touches_the_person_wherever_both_go(play: Play) -> None:
    scene, dice = Scene(5), random.Random(5)
    gaps: list[float] = []
    for _ in range(30):
        if not scene.person.walking:
            scene.person.walk(dice.choice(FLAT.rooms).people[0])
        journey = motion.reach(scene, dice.choice(PLACES))
        play(scene, journey, lambda now: gaps.append(now.base.point.distance(now.person.point)))
    assert min(gaps) > 0.45


def test_the_bumper_stops_a_base_that_is_driven_into_the_person() -> None:
    scene = Scene()
    scene.person.place(Point(5.3, 3.2))
    for _ in range(400):
        scene.step(0.5, 0.0)
    assert scene.base.contact == PERSON
    assert scene.base.point.distance(scene.person.point) >= 0.45
    for _ in range(100):
        scene.step(-0.5, 0.0)
    assert scene.base.point.distance(scene.person.point) > 0.8, "it may back off"


@pytest.mark.parametrize("seed", range(2))
def test_every_object_can_be_fetched_and_brought(seed: int, play: Play) -> None:
    scene = away(Scene(seed))
    for thing, place in zip(list(scene.things.values()), itertools.cycle(PLACES), strict=False):
        scene.battery.energy_mj = 10**8
        assert play(scene, motion.fetch(scene, thing)).ok
        assert scene.held == thing.name
        assert scene.base.point.distance(thing.at) <= 0.65, "the gripper is not that long"
        assert play(scene, motion.bring(scene, place)).ok
        assert scene.held == ""
        laid = scene.things[thing.name].at
        assert scene.base.point.distance(laid) < 0.9
        assert FLAT.locate(laid.x, laid.y) is not None
    for thing in list(scene.things.values()):
        assert play(scene, motion.fetch(scene, thing)).ok, f"{thing} cannot be fetched again"
        scene.held = ""
