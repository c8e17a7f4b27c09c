"""Plane geometry of the flat: metres, x to the east, y to the north; angles in radians, counter-clockwise from east."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

_EPSILON: Final = 1e-12
_TOUCH_M: Final = 1e-9
"""Nearer than this counts as touching."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place on the floor, in metres."""

    x: float
    y: float

    def distance(self, other: Point | Pose) -> float:
        """Metres between the two."""
        return math.hypot(other.x - self.x, other.y - self.y)

    def bearing(self, other: Point | Pose) -> float:
        """Direction from here to the other one."""
        return math.atan2(other.y - self.y, other.x - self.x)

    def along(self, heading: float, distance_m: float) -> Point:
        """The point that many metres away in that direction."""
        return Point(self.x + distance_m * math.cos(heading), self.y + distance_m * math.sin(heading))


@dataclass(frozen=True, slots=True)
class Pose:
    """A place on the floor and a direction."""

    x: float
    y: float
    heading: float

    @property
    def point(self) -> Point:
        return Point(self.x, self.y)


@dataclass(frozen=True, slots=True)
class Rect:
    """An axis-aligned rectangle, in metres; every wall and every piece of furniture is one."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def centre(self) -> Point:
        return Point((self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2)

    def inset(self, margin_m: float) -> Rect:
        """The rectangle without its margin; as thin as a line where it is narrower than two margins."""
        dx, dy = min(margin_m, (self.x1 - self.x0) / 2), min(margin_m, (self.y1 - self.y0) / 2)
        return Rect(self.x0 + dx, self.y0 + dy, self.x1 - dx, self.y1 - dy)

    def contains(self, x: float, y: float) -> bool:
        """True inside and on the edge."""
        return self.x0 <= x <= self.x1 and self.y0 <= y <= self.y1

    def overlaps(self, other: Rect) -> bool:
        """True if the two have a point in common."""
        return self.x0 <= other.x1 and other.x0 <= self.x1 and self.y0 <= other.y1 and other.y0 <= self.y1

    def nearest(self, x: float, y: float) -> Point:
        """The point of the rectangle that is nearest to (x, y)."""
        return Point(min(max(x, self.x0), self.x1), min(max(y, self.y0), self.y1))

    def distance(self, x: float, y: float) -> float:
        """Metres from (x, y) to the rectangle, 0 inside."""
        return math.hypot(max(self.x0 - x, 0.0, x - self.x1), max(self.y0 - y, 0.0, y - self.y1))

    def crossed_by(self, a: Point, b: Point) -> bool:
        """True if the straight line from a to b meets the rectangle."""
        return self._entry(a, b.x - a.x, b.y - a.y) is not None

    def reached_by_disc(self, start: Point, heading: float, radius_m: float) -> float:
        """Metres that a disc can move in a straight line before it touches the rectangle.

        Returns:
            Metres; infinite if it never touches, or only moves away from what it already touches; 0 if it pushes.
        """
        dx, dy = math.cos(heading), math.sin(heading)
        touch = self.nearest(start.x, start.y)
        gap = start.distance(touch)
        if gap <= radius_m + _TOUCH_M:
            away = (start.x - touch.x) * dx + (start.y - touch.y) * dy
            return math.inf if away >= 0 and gap > 0 else 0.0
        # The rectangle grown by the disc is two boxes and four corner discs.
        grown = (
            Rect(self.x0 - radius_m, self.y0, self.x1 + radius_m, self.y1),
            Rect(self.x0, self.y0 - radius_m, self.x1, self.y1 + radius_m),
        )
        entries = [box._entry(start, dx, dy, limit=math.inf) for box in grown]
        corners = (Point(x, y) for x in (self.x0, self.x1) for y in (self.y0, self.y1))
        entries += [disc_reached(start, heading, corner, radius_m) for corner in corners]
        return min((entry for entry in entries if entry is not None), default=math.inf)

    def _entry(self, start: Point, dx: float, dy: float, limit: float = 1.0) -> float | None:
        """Returns the t at which start + t * (dx, dy) enters, 0 <= t <= limit; None if it does not."""
        first, last = 0.0, limit
        for origin, step, low, high in ((start.x, dx, self.x0, self.x1), (start.y, dy, self.y0, self.y1)):
            if abs(step) < _EPSILON:
                if not low <= origin <= high:
                    return None
                continue
            near, far = sorted(((low - origin) / step, (high - origin) / step))
            first, last = max(first, near), min(last, far)
        return first if first <= last else None


def disc_reached(start: Point, heading: float, centre: Point, reach_m: float) -> float:
    """Metres along a straight line until it comes within reach of a point; infinite if it never does or moves away."""
    ahead = (centre.x - start.x) * math.cos(heading) + (centre.y - start.y) * math.sin(heading)
    aside_squared = start.distance(centre) ** 2 - ahead**2
    half_chord_squared = reach_m**2 - aside_squared
    if ahead <= 0 or half_chord_squared <= 0:
        return math.inf
    return max(0.0, ahead - math.sqrt(half_chord_squared))


def box_around(a: Point, b: Point, margin_m: float) -> Rect:
    """The box around two points, grown on every side."""
    return Rect(min(a.x, b.x) - margin_m, min(a.y, b.y) - margin_m, max(a.x, b.x) + margin_m, max(a.y, b.y) + margin_m)
