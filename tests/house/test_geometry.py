"""Rectangles, discs and angles, against brute force."""

import math

from hypothesis import given
from hypothesis import strategies as st

from edgeagent.house import Point, Rect, disc_reached, the_obstacles

BOX = Rect(-1.0, -0.5, 1.0, 0.5)
COORDINATES = st.floats(-4, 4)
ANGLES = st.floats(-math.pi, math.pi)
RADIUS_M = 0.2


@given(COORDINATES, COORDINATES, ANGLES)
def test_a_disc_stops_where_it_touches_and_not_before(x: float, y: float, heading: float) -> None:
    start = Point(x, y)
    reach = BOX.reached_by_disc(start, heading, RADIUS_M)
    gap = BOX.distance(x, y)
    if gap <= RADIUS_M + 1e-6:
        return
    ways = [step * 0.01 for step in range(1200)]
    gaps = [BOX.distance(*_xy(start.along(heading, way))) for way in ways]
    touching = next((way for way, gap in zip(ways, gaps, strict=True) if gap < RADIUS_M), math.inf)
    if math.isfinite(reach):
        assert abs(BOX.distance(*_xy(start.along(heading, reach))) - RADIUS_M) < 1e-6
    assert touching >= reach - 1e-9
    assert touching <= reach + 0.011 or touching == reach == math.inf or _grazes(start, heading, reach)


def _grazes(start: Point, heading: float, reach: float) -> bool:
    """The disc cuts a corner by less than the brute force can see between two of its points."""
    middle = [BOX.distance(*_xy(start.along(heading, reach + step * 0.001))) for step in range(200)]
    return min(middle) > RADIUS_M - 1e-3


def _xy(point: Point) -> tuple[float, float]:
    return point.x, point.y


@given(COORDINATES, COORDINATES, ANGLES)
def test_a_disc_that_touches_may_leave_but_not_push(x: float, y: float, heading: float) -> None:
    start = Point(x, y)
    if not 0 < BOX.distance(x, y) < RADIUS_M:
        return
    nearer = BOX.distance(*_xy(start.along(heading, 1e-6))) < BOX.distance(x, y)
    reach = BOX.reached_by_disc(start, heading, RADIUS_M)
    assert reach in (0.0, math.inf)
    if reach == math.inf:
        assert not nearer or BOX.distance(x, y) - BOX.distance(*_xy(start.along(heading, 1e-6))) < 1e-9


def test_a_disc_at_exactly_the_distance_of_contact_may_move_away_and_along() -> None:
    start = Point(0.0, -0.7)
    assert BOX.reached_by_disc(start, -math.pi / 2, RADIUS_M) == math.inf
    assert BOX.reached_by_disc(start, 0.0, RADIUS_M) == math.inf
    assert BOX.reached_by_disc(start, math.pi / 2, RADIUS_M) == 0.0


@given(COORDINATES, COORDINATES, COORDINATES, COORDINATES)
def test_a_line_crosses_a_rectangle_if_one_of_its_points_lies_inside(
    x0: float, y0: float, x1: float, y1: float
) -> None:
    a, b = Point(x0, y0), Point(x1, y1)
    inside = any(BOX.contains(x0 + (x1 - x0) * t / 500, y0 + (y1 - y0) * t / 500) for t in range(501))
    if inside:
        assert BOX.crossed_by(a, b)
    elif BOX.crossed_by(a, b):
        assert min(BOX.distance(x0 + (x1 - x0) * t / 500, y0 + (y1 - y0) * t / 500) for t in range(501)) < 0.02


@given(COORDINATES, COORDINATES, ANGLES)
def test_whoever_moves_away_reaches_nobody(x: float, y: float, heading: float) -> None:
    start, target = Point(x, y), Point(0.0, 0.0)
    reach = disc_reached(start, heading, target, 0.5)
    if abs(math.remainder(start.bearing(target) - heading, math.tau)) > math.pi / 2 + 1e-9:
        assert reach == math.inf
    if 0 < reach < math.inf:
        assert abs(start.along(heading, reach).distance(target) - 0.5) < 1e-6


@given(st.floats(0, 12), st.floats(0, 9), st.floats(0.05, 0.5))
def test_the_grid_of_distances_never_hides_a_collision(x: float, y: float, radius_m: float) -> None:
    obstacles = the_obstacles()
    nearest = min(one.outline.distance(x, y) for one in obstacles.all)
    hit = obstacles.hit(x, y, radius_m)
    assert (hit is not None) == (nearest < radius_m)
