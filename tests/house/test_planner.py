"""Ways are short, free, and there."""

import functools
import heapq
import itertools
import math
import random

import numpy as np
import pytest

from edgeagent.house import (
    CLEARANCE_M,
    HEIGHT_M,
    START,
    WIDTH_M,
    Bystander,
    Point,
    the_flat,
    the_obstacles,
    the_planner,
)

from .conftest import length

CELL_M = 0.05
RADIUS_M = 0.2
FLAT = the_flat()
PLACES = [room.spot for room in FLAT.rooms] + [landmark.stand.point for landmark in FLAT.landmarks]


def random_spots(count: int, seed: int = 1) -> list[Point]:
    """Free places anywhere in the flat."""
    dice, spots = random.Random(seed), []
    while len(spots) < count:
        spot = Point(dice.uniform(0, WIDTH_M), dice.uniform(0, HEIGHT_M))
        if the_planner().is_open(spot):
            spots.append(spot)
    return spots


@functools.cache
def grid() -> np.ndarray:
    """An independent map: which cells of 5 cm the robot's middle may be in, computed from the rectangles alone."""
    xs, ys = (np.arange(round(side / CELL_M) + 1) * CELL_M for side in (WIDTH_M, HEIGHT_M))
    free = np.ones((len(ys), len(xs)), bool)
    for one in FLAT.obstacles:
        box = one.outline
        dx = np.maximum(np.maximum(box.x0 - xs, xs - box.x1), 0)
        dy = np.maximum(np.maximum(box.y0 - ys, ys - box.y1), 0)
        free &= np.hypot(dx[None, :], dy[:, None]) >= RADIUS_M
    return free


def shortest_from(start: Point) -> dict[tuple[int, int], float]:
    """Dijkstra over that map with moves in 16 directions: at most 2.8 % longer than the shortest way of all."""
    free = grid().tolist()
    rows, columns = len(free), len(free[0])
    moves = [
        (dy, dx, math.hypot(dx, dy) * CELL_M)
        for dy, dx in itertools.product(range(-2, 3), repeat=2)
        if math.gcd(dx, dy) == 1
    ]
    first = round(start.y / CELL_M), round(start.x / CELL_M)
    best, queue = {first: 0.0}, [(0.0, first)]
    while queue:
        cost, (row, column) = heapq.heappop(queue)
        if cost > best[row, column]:
            continue
        for dy, dx, step in moves:
            r, c = row + dy, column + dx
            if 0 <= r < rows and 0 <= c < columns and free[r][c] and free[row + dy // 2][column + dx // 2]:
                total = cost + step
                if total < best.get((r, c), math.inf):
                    best[r, c] = total
                    heapq.heappush(queue, (total, (r, c)))
    return best


@pytest.mark.parametrize("start", [START.point, PLACES[2], PLACES[6], PLACES[12]], ids=str)
def test_ways_are_within_15_percent_of_the_shortest_found_independently(start: Point) -> None:
    reference = shortest_from(start)
    worst = 0.0
    for goal in PLACES + random_spots(60):
        way = the_planner().plan(start, goal)
        assert way is not None
        assert way[0] == start
        assert way[-1] == goal
        shortest = reference[round(goal.y / CELL_M), round(goal.x / CELL_M)]
        if shortest > 1.0:
            assert length(way) >= shortest / 1.028 - 2 * CELL_M, "shorter than possible"
            worst = max(worst, length(way) / shortest)
    assert worst < 1.10


def test_ways_keep_their_distance_from_every_obstacle() -> None:
    spots = random_spots(60, seed=2)
    for start, goal in itertools.pairwise(spots):
        way = the_planner().plan(start, goal)
        assert way is not None
        for a, b in itertools.pairwise(way):
            for part in range(51):
                x, y = a.x + (b.x - a.x) * part / 50, a.y + (b.y - a.y) * part / 50
                assert the_obstacles().nearest(x, y).outline.distance(x, y) >= CLEARANCE_M - 1e-6


def test_a_way_around_somebody_keeps_the_distance_asked_for() -> None:
    start, goal, person = Point(2.8, 3.05), Point(7.5, 3.2), Point(5.0, 3.1)
    direct, around = the_planner().plan(start, goal), the_planner().plan(start, goal, Bystander(person, 0.55))
    assert direct is not None
    assert around is not None
    assert length(direct) < length(around) < length(direct) + 0.5
    for a, b in itertools.pairwise(around):
        for part in range(51):
            assert person.distance(Point(a.x + (b.x - a.x) * part / 50, a.y + (b.y - a.y) * part / 50)) > 0.55 - 1e-6


def test_there_is_no_way_past_somebody_in_the_only_door() -> None:
    bedroom_door, bedroom, hallway = Point(9.5, 5.0), Point(9.8, 3.0), Point(5.5, 5.65)
    assert the_planner().plan(hallway, bedroom) is not None
    assert the_planner().plan(hallway, bedroom, Bystander(bedroom_door, 0.55)) is None


def test_a_way_from_close_to_a_wall_first_leads_away_from_it() -> None:
    start = Point(8.33, 3.0)
    assert not the_planner().is_open(start)
    way = the_planner().plan(start, Point(5.0, 3.0))
    assert way is not None
    assert way[0] == start
    assert the_planner().is_open(way[1])


def test_a_way_from_too_close_to_somebody_first_steps_back() -> None:
    start, person = Point(5.0, 3.0), Point(5.48, 3.0)
    way = the_planner().plan(start, Point(7.5, 3.0), Bystander(person, 0.55))
    assert way is not None
    assert person.distance(way[1]) > 0.55


def test_a_goal_in_a_wall_has_no_way() -> None:
    assert the_planner().plan(START.point, Point(-3.0, -3.0)) is None
