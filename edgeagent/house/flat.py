"""The flat: rooms, walls, doors, landmarks and furniture. Data and look-ups; knows nothing of time or of the robot.

    x 0          3.6        6.8     8.8       12
y 9   +-----------+----------+-------+---------+
      |  garage   | kitchen  | bath  | office  |
  6.3 +---    ----+---    ---+-    --+--    ---+
front |                hallway                dock
  5.0 +-    -------------    --------+--   ----+
      |  living room                 |         |
      |        (robot starts here)   | bedroom |
  1.4 +-----------+--------      ----+         |
                  |     balcony      |         |
  0               +------------------+---------+
"""

from __future__ import annotations

import functools
import math
import random
from dataclasses import dataclass
from typing import Final

from edgeagent.house.geometry import Point, Pose, Rect

OBJECTS: Final = (
    "red cube",
    "blue ball",
    "green box",
    "bottle",
    "cup",
    "book",
    "apple",
    "remote control",
    "keys",
    "phone",
    "screwdriver",
    "towel",
)


@dataclass(frozen=True, slots=True)
class Thing:
    """An object: where it lies and on what, empty for the floor."""

    name: str
    at: Point
    on: str = ""


def lay_out(flat: Flat, seed: int) -> dict[str, Thing]:
    """Puts every object on a spot of its own; the seed decides which."""
    spots = list(flat.surfaces)
    random.Random(f"things {seed}").shuffle(spots)
    return {name: Thing(name, at, on) for name, (on, at) in zip(OBJECTS, spots, strict=False)}


WIDTH_M: Final = 12.0
HEIGHT_M: Final = 9.0
WALL_M: Final = 0.1
"""Thickness of every wall; the room boundaries are the middles of the walls."""

START: Final = Pose(4.3, 3.2, 0.0)
"""Where the robot starts: the middle of the living room, facing 4 m of free floor to the east."""

WALL: Final = "wall"
FRONT_DOOR: Final = "front door"
DOCK: Final = "charging dock"
DOCKED: Final = Pose(11.6, 5.65, 0.0)
"""Where the robot stands when it charges."""


@dataclass(frozen=True, slots=True)
class FlatRoom:
    """A room: its outline, where the robot stops when it is sent there, and where people like to stand."""

    name: str
    outline: Rect
    spot: Point
    people: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that stops the robot. ``room`` is empty for walls."""

    name: str
    outline: Rect
    room: str = ""


@dataclass(frozen=True, slots=True)
class Landmark:
    """A named place that is not a room: what it is, and where the robot stands when it has arrived, facing it."""

    name: str
    room: str
    outline: Rect
    stand: Pose


@dataclass(frozen=True, slots=True)
class Flat:
    """Everything that does not move."""

    rooms: tuple[FlatRoom, ...]
    obstacles: tuple[Obstacle, ...]
    doors: tuple[Rect, ...]
    """Openings in walls between two rooms."""
    landmarks: tuple[Landmark, ...]
    surfaces: tuple[tuple[str, Point], ...]
    """Spots where objects lie: the furniture's name, empty for the floor, and the point."""

    def locate(self, x: float, y: float) -> str | None:
        """The room at that point, None outside the flat."""
        return next((room.name for room in self.rooms if room.outline.contains(x, y)), None)

    def room(self, name: str) -> FlatRoom | None:
        return next((room for room in self.rooms if room.name == name), None)

    def landmark(self, name: str) -> Landmark | None:
        return next((landmark for landmark in self.landmarks if landmark.name == name), None)


def _rooms() -> tuple[FlatRoom, ...]:
    def room(name: str, outline: Rect, spot: tuple[float, float], *people: tuple[float, float]) -> FlatRoom:
        return FlatRoom(name, outline, Point(*spot), tuple(Point(x, y) for x, y in people))

    return (
        room("kitchen", Rect(3.6, 6.3, 6.8, 9.0), (5.1, 7.4), (4.2, 7.5), (6.2, 7.0)),
        room("living room", Rect(0.0, 1.4, 8.6, 5.0), (4.9, 2.9), (7.1, 4.2), (3.0, 2.2)),
        room("bedroom", Rect(8.6, 0.0, 12.0, 5.0), (9.8, 3.9), (10.9, 4.3), (9.7, 1.2)),
        room("bathroom", Rect(6.8, 6.3, 8.8, 9.0), (7.9, 7.0), (7.2, 6.75)),
        room("hallway", Rect(0.0, 5.0, 12.0, 6.3), (5.5, 5.65), (4.3, 5.33), (8.0, 5.33)),
        room("office", Rect(8.8, 6.3, 12.0, 9.0), (9.9, 7.5), (9.3, 7.6), (10.5, 6.8)),
        room("garage", Rect(0.0, 6.3, 3.6, 9.0), (1.9, 7.4), (2.7, 6.8), (1.2, 7.2)),
        room("balcony", Rect(3.6, 0.0, 8.6, 1.4), (6.9, 0.7), (5.6, 0.95), (8.15, 0.95)),
    )


#: Lines of wall: horizontal?, the fixed coordinate, from, to, and the doors in it: from, to.
_WALLS: Final[tuple[tuple[bool, float, float, float, tuple[tuple[float, float], ...]], ...]] = (
    (True, 9.0, 0.0, 12.0, ()),
    (True, 6.3, 0.0, 12.0, ((1.4, 2.4), (4.6, 5.6), (7.6, 8.5), (9.2, 10.2))),
    (True, 5.0, 0.0, 12.0, ((0.7, 1.6), (5.8, 6.8), (9.0, 10.0))),
    (True, 1.4, 0.0, 8.6, ((6.6, 7.8),)),
    (True, 0.0, 3.6, 12.0, ()),
    (False, 0.0, 1.4, 5.2, ()),
    (False, 0.0, 6.1, 9.0, ()),
    (False, 3.6, 0.0, 1.4, ()),
    (False, 3.6, 6.3, 9.0, ()),
    (False, 6.8, 6.3, 9.0, ()),
    (False, 8.8, 6.3, 9.0, ()),
    (False, 8.6, 0.0, 5.0, ()),
    (False, 12.0, 0.0, 9.0, ()),
)

#: Furniture: name, room, outline.
_FURNITURE: Final = (
    ("sofa", "living room", Rect(3.2, 4.1, 5.2, 4.95)),
    ("dining table", "living room", Rect(1.0, 2.5, 2.4, 3.6)),
    ("shelf", "living room", Rect(3.8, 1.45, 5.6, 1.8)),
    ("chair", "living room", Rect(7.7, 4.15, 8.45, 4.9)),
    ("bed", "bedroom", Rect(9.95, 1.6, 11.95, 3.3)),
    ("wardrobe", "bedroom", Rect(8.65, 0.6, 9.2, 2.6)),
    ("dresser", "bedroom", Rect(10.3, 0.05, 11.6, 0.5)),
    ("counter", "kitchen", Rect(3.65, 8.35, 5.95, 8.95)),
    ("fridge", "kitchen", Rect(6.05, 8.3, 6.75, 8.95)),
    ("bathtub", "bathroom", Rect(6.85, 7.2, 7.55, 8.95)),
    ("sink", "bathroom", Rect(8.3, 8.3, 8.75, 8.95)),
    ("toilet", "bathroom", Rect(8.25, 7.2, 8.75, 7.65)),
    ("desk", "office", Rect(11.2, 7.0, 11.95, 8.6)),
    ("shelf", "office", Rect(9.0, 8.6, 10.6, 8.95)),
    ("workbench", "garage", Rect(0.05, 8.35, 2.3, 8.95)),
    ("shelf", "garage", Rect(3.2, 7.0, 3.55, 8.8)),
    ("box", "garage", Rect(0.05, 6.5, 0.7, 7.15)),
    ("shelf", "hallway", Rect(2.7, 5.05, 3.9, 5.35)),
    ("bench", "balcony", Rect(3.65, 0.05, 4.9, 0.45)),
    ("plant", "balcony", Rect(8.1, 0.05, 8.55, 0.5)),
)

#: Spots where objects lie: the furniture's name, empty for the floor, and the point.
_SURFACES: Final = (
    ("dining table", 2.2, 2.8),
    ("dining table", 1.3, 3.4),
    ("sofa", 3.6, 4.3),
    ("sofa", 4.9, 4.3),
    ("shelf", 4.1, 1.7),
    ("shelf", 5.3, 1.7),
    ("counter", 4.1, 8.5),
    ("counter", 4.9, 8.5),
    ("counter", 5.7, 8.5),
    ("desk", 11.35, 7.3),
    ("desk", 11.35, 8.3),
    ("shelf", 9.4, 8.7),
    ("bed", 10.1, 2.2),
    ("bed", 10.4, 3.15),
    ("dresser", 10.7, 0.4),
    ("sink", 8.4, 8.5),
    ("bathtub", 7.45, 7.6),
    ("workbench", 0.6, 8.5),
    ("workbench", 1.9, 8.5),
    ("shelf", 3.3, 7.6),
    ("shelf", 3.3, 5.25),
    ("bench", 4.3, 0.35),
    ("", 7.9, 2.1),
    ("", 11.3, 4.3),
)

WINDOW_OUTLINE: Final = Rect(0.8, 1.35, 2.6, 1.45)
FRONT_DOOR_OUTLINE: Final = Rect(-0.05, 5.2, 0.05, 6.1)
DOCK_OUTLINE: Final = Rect(11.3, 5.4, 11.95, 5.9)
"""A plate on the floor that the robot rolls onto: no obstacle."""

_EAST, _NORTH, _WEST, _SOUTH = 0.0, math.pi / 2, math.pi, -math.pi / 2


def _walls() -> tuple[tuple[Obstacle, ...], tuple[Rect, ...]]:
    half = WALL_M / 2
    walls: list[Obstacle] = []
    doors: list[Rect] = []
    for horizontal, at, start, end, openings in _WALLS:
        edge = start - half
        for low, high in openings:
            walls.append(Obstacle(WALL, _bar(horizontal, at, edge, low)))
            doors.append(_bar(horizontal, at, low, high))
            edge = high
        walls.append(Obstacle(WALL, _bar(horizontal, at, edge, end + half)))
    return tuple(walls), tuple(doors)


def _bar(horizontal: bool, at: float, start: float, end: float) -> Rect:
    low, high = at - WALL_M / 2, at + WALL_M / 2
    return Rect(start, low, end, high) if horizontal else Rect(low, start, high, end)


@functools.cache
def the_flat() -> Flat:
    """The one flat there is; it is immutable and shared."""
    walls, doors = _walls()
    furniture = tuple(Obstacle(name, outline, room) for name, room, outline in _FURNITURE)
    outlines = {piece.name: piece.outline for piece in furniture if piece.name != "shelf"}
    landmarks = (
        Landmark(FRONT_DOOR, "hallway", FRONT_DOOR_OUTLINE, Pose(0.5, 5.65, _WEST)),
        Landmark(DOCK, "hallway", DOCK_OUTLINE, Pose(10.95, 5.65, _EAST)),
        Landmark("dining table", "living room", outlines["dining table"], Pose(2.8, 3.05, _WEST)),
        Landmark("sofa", "living room", outlines["sofa"], Pose(4.2, 3.7, _NORTH)),
        Landmark("desk", "office", outlines["desk"], Pose(10.8, 7.8, _EAST)),
        Landmark("fridge", "kitchen", outlines["fridge"], Pose(6.4, 7.9, _NORTH)),
        Landmark("window", "living room", WINDOW_OUTLINE, Pose(1.7, 1.85, _SOUTH)),
    )
    surfaces = tuple((name, Point(x, y)) for name, x, y in _SURFACES)
    obstacles = (*walls, Obstacle(FRONT_DOOR, FRONT_DOOR_OUTLINE), *furniture)
    return Flat(_rooms(), obstacles, doors, landmarks, surfaces)
