"""Obstacles in the way, and the shortest way for a disc between two points of the flat.

Obstacles answer fast: collision tests, sweeps and lines of sight against everything that does not move. They are built
once per flat and immutable after that, apart from a cache that only grows.

A way comes from a visibility graph: every obstacle is grown by the clearance into an octagon, the corners of the
octagons that lie in free space are joined wherever the straight line between them is free, and A* finds the way
(Lozano-Perez and Wesley, 1979). The static part is built once, at the first question, in about 0.1 s. Knows nothing of
time; thread-safe.
"""

from __future__ import annotations

import functools
import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.house.flat import HEIGHT_M, WALL, WIDTH_M, Obstacle, the_flat
from edgeagent.house.geometry import Point, Rect, box_around

_CELL_M: Final = 0.05
_MARGIN_M: Final = 0.5
"""The grid reaches this far beyond the flat."""


class Obstacles:
    """The obstacles of a flat, with a grid of distances in front of them.

    A look-up in the grid answers nearly every collision test of a 10 ms step; only near an obstacle the exact
    distances are computed.
    """

    def __init__(self, obstacles: Sequence[Obstacle]) -> None:
        self.all: Final = tuple(obstacles)
        self._columns: Final = round((WIDTH_M + 2 * _MARGIN_M) / _CELL_M)
        self._rows: Final = round((HEIGHT_M + 2 * _MARGIN_M) / _CELL_M)
        self._clearance_mm: Final = self._grid()
        self._near: dict[int, tuple[Obstacle, ...]] = {}

    def hit(self, x: float, y: float, radius_m: float) -> Obstacle | None:
        """The nearest obstacle that a disc at that point overlaps; None if it overlaps none."""
        column, row = int((x + _MARGIN_M) / _CELL_M), int((y + _MARGIN_M) / _CELL_M)
        if not (0 <= column < self._columns and 0 <= row < self._rows):
            return self.all[0]
        cell = row * self._columns + column
        if self._clearance_mm[cell] > radius_m * 1000:
            return None
        near = self._near.get(cell)
        if near is None:
            near = self._near[cell] = self._close_to(column, row)
        found, least = None, radius_m
        for obstacle in near:
            distance = obstacle.outline.distance(x, y)
            if distance < least:
                found, least = obstacle, distance
        return found

    def nearest(self, x: float, y: float) -> Obstacle:
        """The nearest obstacle of a point."""
        return min(self.all, key=lambda one: one.outline.distance(x, y))

    def free_way(self, start: Point, heading: float, radius_m: float) -> tuple[float, Obstacle]:
        """Metres that a disc can move in a straight line, and what it then touches."""
        ways = ((one.outline.reached_by_disc(start, heading, radius_m), one) for one in self.all)
        return min(ways, key=lambda way: way[0])

    def clear_line(self, start: Point, end: Point, radius_m: float) -> bool:
        """True if a disc can move straight from start to end."""
        heading, distance = start.bearing(end), start.distance(end)
        swept = box_around(start, end, radius_m)
        return all(
            one.outline.reached_by_disc(start, heading, radius_m) >= distance
            for one in self.all
            if swept.overlaps(one.outline)
        )

    def in_sight(self, a: Point, b: Point) -> bool:
        """True if no wall stands between the two; furniture is low enough to look over."""
        seen = box_around(a, b, 0.0)
        return not any(
            one.outline.crossed_by(a, b) for one in self.all if one.name == WALL and seen.overlaps(one.outline)
        )

    def _grid(self) -> bytes | memoryview:
        """Millimetres that are certainly free around every point of a cell."""
        xs = (np.arange(self._columns) + 0.5) * _CELL_M - _MARGIN_M
        ys = (np.arange(self._rows) + 0.5) * _CELL_M - _MARGIN_M
        squared = np.full((self._rows, self._columns), np.inf)
        for obstacle in self.all:
            box = obstacle.outline
            dx = np.maximum(np.maximum(box.x0 - xs, xs - box.x1), 0.0)
            dy = np.maximum(np.maximum(box.y0 - ys, ys - box.y1), 0.0)
            np.minimum(squared, dx[None, :] ** 2 + dy[:, None] ** 2, out=squared)
        free = np.sqrt(squared) - _CELL_M * math.sqrt(0.5)
        return memoryview(np.clip(free * 1000, 0, 65535).astype(np.uint16).ravel())

    def _close_to(self, column: int, row: int) -> tuple[Obstacle, ...]:
        """The obstacles within a metre of a cell: more than any disc that asks is wide."""
        x, y = (column + 0.5) * _CELL_M - _MARGIN_M, (row + 0.5) * _CELL_M - _MARGIN_M
        return tuple(one for one in self.all if one.outline.distance(x, y) < 1.0)


@functools.cache
def the_obstacles() -> Obstacles:
    """The obstacles of the one flat there is."""
    return Obstacles(the_flat().obstacles)


BODY_M: Final = 0.2
"""The radius of the robot, which really must not touch anything."""
CLEARANCE_M: Final = BODY_M + 0.05
"""The middle of the robot keeps this far from everything that does not move."""

_NUDGE_M: Final = 1e-3
"""Corners lie this far outside their octagon, so that the line along its side counts as free."""
_OCTANT: Final = math.tan(math.pi / 8)
_CIRCUMSCRIBED: Final = 1 / math.cos(math.pi / 8)
"""An octagon's corners are this much further out than its sides."""
_ESCAPE_STEP_M: Final = 0.05
_ESCAPE_REACH_M: Final = 0.6
_STEP_BACK_M: Final = 0.03

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bystander:
    """Somebody who stands in the way: keep this far from that point."""

    centre: Point
    keep_m: float


class _Octagons:
    """Convex obstacles as four slabs each: bounds of x, y, x + y and x - y. Shape of the bounds: (4, obstacles)."""

    def __init__(self, boxes: list[tuple[Rect, float]]) -> None:
        self.low: Final[_Floats] = np.empty((4, len(boxes)))
        self.high: Final[_Floats] = np.empty((4, len(boxes)))
        for index, (box, grow) in enumerate(boxes):
            slant = grow * math.sqrt(2)
            self.low[:, index] = (box.x0 - grow, box.y0 - grow, box.x0 + box.y0 - slant, box.x0 - box.y1 - slant)
            self.high[:, index] = (box.x1 + grow, box.y1 + grow, box.x1 + box.y1 + slant, box.x1 - box.y0 + slant)

    def contain(self, points: _Floats) -> NDArray[np.bool_]:
        """Which of the points, shape (n, 2), lie inside an octagon."""
        at = _slabs(points)[:, :, None]
        inside = (at > self.low[:, None, :]) & (at < self.high[:, None, :])
        within: NDArray[np.bool_] = np.all(inside, axis=0)
        return np.asarray(np.any(within, axis=1))

    def block(self, start: _Floats, ends: _Floats) -> NDArray[np.bool_]:
        """Which of the lines from start, shape (2,) or (n, 2), to the ends, shape (n, 2), cross an octagon."""
        origin = _slabs(np.atleast_2d(start))[:, :, None]
        step = _slabs(ends)[:, :, None] - origin
        step = np.where(step == 0.0, 1e-15, step)
        one, two = (self.low[:, None, :] - origin) / step, (self.high[:, None, :] - origin) / step
        entry = np.maximum(np.minimum(one, two).max(axis=0), 0.0)
        leave = np.minimum(np.maximum(one, two).min(axis=0), 1.0)
        return np.asarray((entry < leave - 1e-9).any(axis=1))


def _slabs(points: _Floats) -> _Floats:
    x, y = points[:, 0], points[:, 1]
    return np.stack((x, y, x + y, x - y))


def _corners(box: Rect, grow: float) -> list[tuple[float, float]]:
    """The eight corners of the octagon."""
    far, near = grow + _NUDGE_M, (grow + _NUDGE_M) * _OCTANT
    sides = ((box.x0, -1), (box.x1, 1)), ((box.y0, -1), (box.y1, 1))
    return [(x + sx * a, y + sy * b) for x, sx in sides[0] for y, sy in sides[1] for a, b in ((far, near), (near, far))]


def _around(point: Point, rings: range) -> Iterator[Point]:
    """Points on rings around a point, the innermost first."""
    return (point.along(turn * math.tau / 24, ring * _ESCAPE_STEP_M) for ring in rings for turn in range(24))


class Planner:
    """Plans ways that keep ``CLEARANCE_M`` from all obstacles."""

    def __init__(self, obstacles: Obstacles) -> None:
        self._obstacles: Final = obstacles
        self._octagons: Final = _Octagons([(one.outline, CLEARANCE_M) for one in obstacles.all])
        self.plan: Final = functools.lru_cache(maxsize=1024)(self._plan)

    def _plan(self, start: Point, goal: Point, avoid: Bystander | None = None) -> tuple[Point, ...] | None:
        """The corners of the shortest way, start and goal included; None if there is none.

        From a start that is too near to an obstacle, or to whom it shall avoid, the way first leads straight into the
        open. A goal too near to an obstacle is replaced by the nearest free point.
        """
        free_start, free_goal = self._way_out(start, avoid) or self.open_spot(start), self.open_spot(goal)
        if free_start is None or free_goal is None:
            return None
        middle = self._search(free_start, free_goal, avoid)
        if middle is None:
            return None
        return middle if free_start == start else (start, *middle)

    def is_open(self, point: Point) -> bool:
        """True if a way may begin or end there."""
        inside = self._octagons.contain(np.array([(point.x, point.y)]))
        return not inside[0] and the_flat().locate(point.x, point.y) is not None

    def open_spot(self, point: Point) -> Point | None:
        """The point itself if it is open, else the nearest open one that can be reached straight from it."""
        if self.is_open(point):
            return point
        spots = _around(point, range(1, round(_ESCAPE_REACH_M / _ESCAPE_STEP_M) + 1))
        reached = (spot for spot in spots if self.is_open(spot) and self._obstacles.clear_line(point, spot, BODY_M))
        return next(reached, None)

    def _way_out(self, start: Point, avoid: Bystander | None) -> Point | None:
        """Finds a place to step back to from somebody who is too near; None if that is not needed, or not possible."""
        if avoid is None:
            return None
        wanted_m = avoid.keep_m * _CIRCUMSCRIBED + _STEP_BACK_M
        if start.distance(avoid.centre) >= wanted_m - _STEP_BACK_M / 2:
            return None
        away = avoid.centre.bearing(start)
        for turn in (0, 1, -1, 2, -2, 3, -3, 4, -4):
            line = (start.along(away + turn * math.pi / 10, ring * _ESCAPE_STEP_M) for ring in range(1, 13))
            spot = next((spot for spot in line if spot.distance(avoid.centre) >= wanted_m), None)
            if spot is not None and self.is_open(spot) and self._obstacles.clear_line(start, spot, BODY_M):
                return spot
        return None

    def approach(self, target: Point) -> Point | None:
        """Finds a place to stand to reach something that lies on a piece of furniture or on the floor."""
        room = the_flat().locate(target.x, target.y)
        spots = (spot for spot in _around(target, range(6, 19)) if the_flat().locate(spot.x, spot.y) == room)
        return next(filter(self.is_open, spots), None)

    @functools.cached_property
    def _graph(self) -> tuple[_Floats, list[list[tuple[int, float]]]]:
        """The corners that lie in free space, shape (n, 2), and of each those that it sees, with the metres to them.

        Two threads that ask for it first build the same one twice.
        """
        corners = np.array([c for one in self._obstacles.all for c in _corners(one.outline, CLEARANCE_M)])
        inside = np.array([the_flat().locate(x, y) is not None for x, y in corners])
        nodes = np.unique(corners[inside & ~self._octagons.contain(corners)], axis=0)
        edges: list[list[tuple[int, float]]] = [[] for _ in nodes]
        for index, node in enumerate(nodes[:-1]):
            for offset in np.flatnonzero(~self._octagons.block(node, nodes[index + 1 :])):
                other = index + 1 + int(offset)
                distance = float(np.hypot(*(nodes[other] - node)))
                edges[index].append((other, distance))
                edges[other].append((index, distance))
        return nodes, edges

    def _search(self, start: Point, goal: Point, avoid: Bystander | None) -> tuple[Point, ...] | None:
        """A* over the graph with start, goal and the corners around ``avoid`` added."""
        nodes, extra = self._graph[0], [(goal.x, goal.y), (start.x, start.y)]
        around: _Octagons | None = None
        if avoid is not None:
            keep = min(avoid.keep_m, (start.distance(avoid.centre) - 0.01) / _CIRCUMSCRIBED)
            box = Rect(avoid.centre.x, avoid.centre.y, avoid.centre.x, avoid.centre.y)
            around = _Octagons([(box, keep)])
            ring = np.array(_corners(box, keep))
            extra += [tuple(corner) for corner in ring[~self._octagons.contain(ring)]]
            if around.contain(np.array(extra[:1]))[0]:
                return None
        points = np.concatenate((nodes, np.array(extra)))
        goal_index, start_index = len(nodes), len(nodes) + 1
        links: dict[int, list[tuple[int, float]]] = {}
        for index in range(goal_index, len(points)):
            blocked = self._octagons.block(points[index], points)
            if around is not None:
                blocked |= around.block(points[index], points)
            blocked[index] = True
            for other in map(int, np.flatnonzero(~blocked)):
                distance = float(np.hypot(*(points[other] - points[index])))
                links.setdefault(index, []).append((other, distance))
                links.setdefault(other, []).append((index, distance))
        xy: list[tuple[float, float]] = points.tolist()
        best = {start_index: 0.0}
        came: dict[int, int] = {}
        queue: list[tuple[float, int]] = [(0.0, start_index)]
        done: set[int] = set()
        while queue:
            _, here = heapq.heappop(queue)
            if here == goal_index:
                return _unwind(xy, came, here)
            if here in done:
                continue
            done.add(here)
            steps: list[tuple[int, float]] = links.get(here, [])
            if here < goal_index:
                steps = steps + self._edges_from(here, points, around)
            for other, distance in steps:
                cost = best[here] + distance
                if cost < best.get(other, math.inf):
                    best[other], came[other] = cost, here
                    x, y = xy[other]
                    heapq.heappush(queue, (cost + math.hypot(goal.x - x, goal.y - y), other))
        return None

    def _edges_from(self, index: int, points: _Floats, around: _Octagons | None) -> list[tuple[int, float]]:
        edges = self._graph[1][index]
        if around is None or not edges:
            return edges
        blocked = around.block(points[index], points[[other for other, _ in edges]])
        return [edge for edge, bad in zip(edges, blocked, strict=True) if not bad]


def _unwind(xy: list[tuple[float, float]], came: dict[int, int], last: int) -> tuple[Point, ...]:
    way = [Point(*xy[last])]
    while last in came:
        last = came[last]
        way.append(Point(*xy[last]))
    return tuple(reversed(way))


@functools.cache
def the_planner() -> Planner:
    """The planner of the one flat there is; it keeps its graph for the life of the process."""
    return Planner(the_obstacles())
