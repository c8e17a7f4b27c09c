"""The flat is the one of the specification, and fits the robot."""

import math

import pytest

from edgeagent.house import (
    CLEARANCE_M,
    DOCKED,
    HEIGHT_M,
    OBJECTS,
    START,
    WIDTH_M,
    Limits,
    Point,
    Rect,
    lay_out,
    the_flat,
    the_obstacles,
    the_planner,
)

ROOMS = ["kitchen", "living room", "bedroom", "bathroom", "hallway", "office", "garage", "balcony"]
LANDMARKS = ["front door", "charging dock", "dining table", "sofa", "desk", "fridge", "window"]
FLAT = the_flat()
RADIUS_M = Limits().radius_m


def test_it_has_the_rooms_and_landmarks_of_the_specification() -> None:
    assert [room.name for room in FLAT.rooms] == ROOMS
    assert [landmark.name for landmark in FLAT.landmarks] == LANDMARKS


def test_rooms_do_not_overlap_and_lie_within_the_flat() -> None:
    for room in FLAT.rooms:
        box = room.outline
        assert 0 <= box.x0 < box.x1 <= WIDTH_M
        assert 0 <= box.y0 < box.y1 <= HEIGHT_M
        for other in FLAT.rooms:
            if other is not room:
                wide = min(box.x1, other.outline.x1) - max(box.x0, other.outline.x0)
                high = min(box.y1, other.outline.y1) - max(box.y0, other.outline.y0)
                assert wide <= 0 or high <= 0


def test_every_room_is_reached_through_doors_of_at_least_90_cm() -> None:
    assert all(max(door.x1 - door.x0, door.y1 - door.y0) >= 0.9 - 1e-9 for door in FLAT.doors)
    pairs = [_beside(door) for door in FLAT.doors]
    reached: set[str | None] = {"living room"}
    for _ in ROOMS:
        reached |= {room for pair in pairs if pair & reached for room in pair}
    assert reached == set(ROOMS)


def test_a_door_is_a_gap_between_two_rooms() -> None:
    for door in FLAT.doors:
        x, y = door.centre.x, door.centre.y
        assert the_obstacles().nearest(x, y).outline.distance(x, y) >= 0.45 - 1e-9
        assert len(_beside(door)) == 2


def _beside(door: Rect) -> set[str | None]:
    """The rooms beside a door."""
    x, y = door.centre.x, door.centre.y
    return {FLAT.locate(x + dx, y + dy) for dx, dy in ((0.3, 0), (-0.3, 0), (0, 0.3), (0, -0.3))}


def test_the_robot_starts_in_the_middle_of_the_living_room_facing_4_m_of_free_floor() -> None:
    living_room = FLAT.room("living room")
    assert living_room is not None
    assert START.point.distance(living_room.outline.centre) < 0.1
    free_m, _ = the_obstacles().free_way(START.point, START.heading, RADIUS_M)
    assert free_m >= 4.0


@pytest.mark.parametrize("name", ROOMS)
def test_the_spot_of_a_room_is_in_it_and_free(name: str) -> None:
    room = FLAT.room(name)
    assert room is not None
    for spot in (room.spot, *room.people):
        assert FLAT.locate(spot.x, spot.y) == name
        assert the_planner().is_open(spot)


@pytest.mark.parametrize("name", LANDMARKS)
def test_the_robot_stands_in_front_of_a_landmark_and_faces_it(name: str) -> None:
    landmark = FLAT.landmark(name)
    assert landmark is not None
    stand = landmark.stand
    assert FLAT.locate(stand.x, stand.y) == landmark.room
    assert the_planner().is_open(stand.point)
    towards = landmark.outline.nearest(stand.x, stand.y)
    assert stand.point.distance(towards) - RADIUS_M < 0.35
    assert abs(math.remainder(stand.point.bearing(towards) - stand.heading, math.tau)) < 0.1


def test_people_stand_where_they_leave_the_robot_room_to_work() -> None:
    robots = [room.spot for room in FLAT.rooms] + [mark.stand.point for mark in FLAT.landmarks] + [DOCKED.point]
    robots += [spot for _, at in FLAT.surfaces if (spot := the_planner().approach(at))]
    for room in FLAT.rooms:
        for person in room.people:
            assert min(person.distance(robot) for robot in robots) >= 0.6


def test_nowhere_is_a_room_outside_the_flat() -> None:
    assert FLAT.locate(-1.0, 5.0) is None
    assert FLAT.locate(1.0, 0.5) is None, "the corner beside the balcony is outdoors"


def test_the_seed_moves_the_objects_and_each_has_a_spot_of_its_own() -> None:
    layouts = [lay_out(FLAT, seed) for seed in range(20)]
    assert all(list(layout) == list(OBJECTS) for layout in layouts)
    assert all(len({thing.at for thing in layout.values()}) == len(OBJECTS) for layout in layouts)
    assert len({layout["cup"].at for layout in layouts}) > 5
    assert lay_out(FLAT, 7) == lay_out(FLAT, 7)


@pytest.mark.parametrize(("on", "at"), FLAT.surfaces)
def test_every_spot_of_an_object_can_be_reached(on: str, at: Point) -> None:
    spot = the_planner().approach(at)
    assert spot is not None
    assert spot.distance(at) <= 0.6
    assert FLAT.locate(spot.x, spot.y) == FLAT.locate(at.x, at.y)
    if on:
        assert any(one.name == on and one.outline.contains(at.x, at.y) for one in FLAT.obstacles)
    else:
        assert the_obstacles().nearest(at.x, at.y).outline.distance(at.x, at.y) > CLEARANCE_M
