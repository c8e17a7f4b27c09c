"""``/map`` as a picture: a list of shapes, in metres, and SVG and PNG as two ways to draw them.

Later shapes lie on top of earlier ones.
"""

from __future__ import annotations

import functools
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from xml.sax.saxutils import escape

from edgeagent.house.flat import (
    DOCK_OUTLINE,
    FRONT_DOOR_OUTLINE,
    HEIGHT_M,
    WALL,
    WIDTH_M,
    WINDOW_OUTLINE,
    Flat,
    the_flat,
)
from edgeagent.house.geometry import Point, Pose, Rect, box_around
from edgeagent.house.scene import Snapshot

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont


_LETTER: Final = 0.54
"""Mean width of a letter, of the size of the text."""
_LINE: Final = 1.1
"""Height of a line, of the size of the text."""


def text_width(text: str, size_m: float) -> float:
    """About how wide a text is drawn, in metres."""
    return len(text) * size_m * _LETTER


class Placer:
    """Remembers what is taken; places labels greedily, one after the other."""

    def __init__(self, taken: Iterable[Rect]) -> None:
        self._taken: list[Rect] = list(taken)

    def take(self, outline: Rect) -> None:
        """Keeps labels away from there."""
        self._taken.append(outline)

    def place(self, text: str, size_m: float, middles: Iterable[Point]) -> Point:
        """The middle, of those offered, where the text covers least; the first of equals. Takes it."""
        half_width, half_height = text_width(text, size_m) / 2, size_m * _LINE / 2

        def box(middle: Point) -> Rect:
            return Rect(middle.x - half_width, middle.y - half_height, middle.x + half_width, middle.y + half_height)

        def covered(middle: Point) -> float:
            return round(sum(_common(box(middle), one) for one in self._taken), 6)

        best = min(middles, key=covered)
        self.take(box(best))
        return best


def _common(a: Rect, b: Rect) -> float:
    """Square metres that two rectangles have in common."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return width * height if width > 0 and height > 0 else 0.0


MARGIN_M: Final = 0.3
FRAME: Final = Rect(-MARGIN_M, -MARGIN_M, WIDTH_M + MARGIN_M, HEIGHT_M + MARGIN_M)
"""Part of the world that the picture shows."""

PAPER: Final = "#fbfaf7"
_INK: Final = "#3b3a39"
_PALE_INK: Final = "#8b857c"
_WALL: Final = "#4a4744"
_FURNITURE: Final = "#e2d8c6"
_FURNITURE_EDGE: Final = "#b9ab92"
_WAY: Final = "#2f7fd1"
_ROBOT: Final = "#1b5fae"
_PERSON: Final = "#d9782d"
_LAMP: Final = "#f5c518"
_ROOMS: Final = {
    "kitchen": ("#fdeccf", Point(5.2, 6.85)),
    "living room": ("#e6f0dc", Point(6.9, 2.6)),
    "bedroom": ("#e9e3f3", Point(10.4, 1.05)),
    "bathroom": ("#d9eef3", Point(8.02, 6.72)),
    "hallway": ("#f1eee8", Point(6.9, 5.65)),
    "office": ("#dfe8f7", Point(10.9, 6.62)),
    "garage": ("#e6e4e1", Point(1.8, 7.85)),
    "balcony": ("#dff0e6", Point(6.1, 0.35)),
}
"""Colour of each room, and where its name stands, in metres."""
_THINGS: Final = {"red cube": "#d33a2f", "blue ball": "#2f6fd3", "green box": "#3a9a4a", "apple": "#c8434f"}
_THING: Final = "#8a5a2b"
_THING_M: Final = 0.07
_SQUARE: Final = frozenset({"red cube", "green box", "book"})

_ROOM_TEXT_M: Final = 0.26
_TEXT_M: Final = 0.17
_SMALL_TEXT_M: Final = 0.15
_PARTS: Final = (0.5, 0.25, 0.75, 0.12, 0.88)
"""Where in the width and the height of a piece of furniture its name may stand."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with rounded corners; ``edge`` empty: none."""

    outline: Rect
    fill: str
    edge: str = ""
    corner_m: float = 0.0


@dataclass(frozen=True, slots=True)
class Polyline:
    """A polyline with round ends. ``opacity`` 0 to 1."""

    points: tuple[Point, ...]
    colour: str
    width_m: float
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Disc:
    """A filled circle; ``edge`` empty: none."""

    centre: Point
    radius_m: float
    fill: str
    edge: str = ""


@dataclass(frozen=True, slots=True)
class Polygon:
    """A filled outline."""

    points: tuple[Point, ...]
    fill: str


@dataclass(frozen=True, slots=True)
class Label:
    """Text around or beside a point, with a halo of paper so that it can be read on lines."""

    text: str
    at: Point
    size_m: float
    colour: str
    anchor: Literal["start", "middle", "end"] = "middle"
    halo: bool = False


Shape = Box | Polyline | Disc | Polygon | Label


def _picture(now: Snapshot) -> tuple[Shape, ...]:
    """The flat with everything in it at that moment."""
    flat = the_flat()
    walls = [one.outline for one in flat.obstacles if not one.room]
    placer = Placer([*walls, *(box_around(thing.at, thing.at, _THING_M) for thing in now.things)])
    robot, person = _robot(now.robot, now.holding, placer), _person(now.person, placer)
    names = _room_names(flat, now, placer)
    things = _things(now, placer)
    shapes: list[Shape] = [Box(FRAME, PAPER)]
    shapes += [Box(room.outline, _ROOMS[room.name][0]) for room in flat.rooms]
    shapes.append(Box(DOCK_OUTLINE, "#cdeccd", "#4f9d57", 0.06))
    shapes += [Box(one.outline, _FURNITURE, _FURNITURE_EDGE, 0.06) for one in flat.obstacles if one.room]
    shapes += [Box(one.outline, _WALL) for one in flat.obstacles if one.name == WALL]
    shapes += [Box(door, "#f7f1e3") for door in flat.doors]
    shapes += [Box(WINDOW_OUTLINE, "#8fd0ee", "#4f93b3"), Box(FRONT_DOOR_OUTLINE, "#a8713c", "#7d5128")]
    shapes += _way(now)
    shapes += names
    shapes += _other_names(flat, placer)
    return (*shapes, *things, *person, *robot, *_legend(now))


def _room_names(flat: Flat, now: Snapshot, placer: Placer) -> list[Shape]:
    shapes: list[Shape] = []
    for room in flat.rooms:
        at, half = _ROOMS[room.name][1], text_width(room.name, _ROOM_TEXT_M) / 2
        shapes.append(Label(room.name, at, _ROOM_TEXT_M, _INK))
        placer.take(Rect(at.x - half - 0.3, at.y - 0.15, at.x + half, at.y + 0.15))
        if room.name in now.lit:
            lamp = Point(at.x - half - 0.12, at.y)
            shapes += [Disc(lamp, 0.13, "#fdf0b8"), Disc(lamp, 0.075, _LAMP, "#c79a00")]
    return shapes


def _other_names(flat: Flat, placer: Placer) -> list[Shape]:
    """Names of furniture on it, small enough for it; of the other landmarks beside them."""
    shapes: list[Shape] = [
        Label("front door", Point(0.12, 5.65), _TEXT_M, _PALE_INK, "start"),
        Label("window", Point(1.7, 1.58), _TEXT_M, _PALE_INK),
        Label("charging dock", Point(11.9, 6.08), _TEXT_M, "#4f7d57", "end"),
    ]
    for one in flat.obstacles:
        if one.room:
            box = one.outline
            size = min(_SMALL_TEXT_M, _SMALL_TEXT_M * 0.95 * (box.x1 - box.x0) / text_width(one.name, _SMALL_TEXT_M))
            parts = ((x, y) for y in _PARTS for x in _PARTS)
            spots = (Point(box.x0 + x * (box.x1 - box.x0), box.y0 + y * (box.y1 - box.y0)) for x, y in parts)
            half = text_width(one.name, size) / 2 - 0.02
            inside = [spot for spot in spots if box.x0 <= spot.x - half and spot.x + half <= box.x1]
            shapes.append(Label(one.name, placer.place(one.name, size, inside or [box.centre]), size, _PALE_INK))
    return shapes


def _way(now: Snapshot) -> list[Shape]:
    if len(now.trail) < 2:
        return []
    return [Polyline(now.trail, _WAY, 0.06, 0.6), Disc(now.trail[0], 0.07, PAPER, _WAY)]


def _things(now: Snapshot, placer: Placer) -> list[Shape]:
    shapes: list[Shape] = []
    for thing in now.things:
        colour = _THINGS.get(thing.name, _THING)
        if thing.name in _SQUARE:
            shapes.append(Box(box_around(thing.at, thing.at, _THING_M), colour, PAPER, 0.02))
        else:
            shapes.append(Disc(thing.at, _THING_M, colour, PAPER))
    for thing in now.things:
        at, aside = thing.at, text_width(thing.name, _SMALL_TEXT_M) / 2 + 0.13
        spots = [
            Point(at.x, at.y + 0.17),
            Point(at.x, at.y - 0.17),
            Point(at.x + aside, at.y),
            Point(at.x - aside, at.y),
        ]
        spots += [Point(at.x + dx * aside, at.y + dy * 0.15) for dx in (0.6, -0.6) for dy in (1, -1)]
        middle = placer.place(thing.name, _SMALL_TEXT_M, spots)
        shapes.append(Label(thing.name, middle, _SMALL_TEXT_M, _INK, halo=True))
    return shapes


def _person(person: Pose, placer: Placer) -> list[Shape]:
    at = person.point
    left, right = at.along(person.heading + math.pi / 2, 0.14), at.along(person.heading - math.pi / 2, 0.14)
    nose = at.along(person.heading, 0.13)
    placer.take(box_around(at, at, 0.22))
    name_at = placer.place("person", _TEXT_M, (Point(at.x, at.y - 0.34), Point(at.x, at.y + 0.34)))
    return [
        Polyline((left, right), _PERSON, 0.2),
        Disc(nose, 0.045, "#8a4b1b"),
        Disc(at, 0.115, "#f2c9a1", "#8a4b1b"),
        Label("person", name_at, _TEXT_M, _PERSON, halo=True),
    ]


def _robot(robot: Pose, holding: str, placer: Placer) -> list[Shape]:
    at = robot.point
    tip = at.along(robot.heading, 0.17)
    back = [at.along(robot.heading + turn, 0.13) for turn in (2.4, math.pi, -2.4)]
    hollow = at.along(robot.heading + math.pi, 0.05)
    text = f"robot with the {holding}" if holding else "robot"
    placer.take(box_around(at, at, 0.22))
    name_at = placer.place(text, _TEXT_M, (Point(at.x, at.y - 0.33), Point(at.x, at.y + 0.33)))
    return [
        Disc(at, 0.2, _ROBOT, PAPER),
        Polygon((tip, back[0], hollow, back[2]), "#ffffff"),
        Label(text, name_at, _TEXT_M, _ROBOT, halo=True),
    ]


def _legend(now: Snapshot) -> list[Shape]:
    """In the corner beside the balcony, where there is no flat."""
    room = the_flat().locate(now.robot.x, now.robot.y)
    lines = (
        f"{now.clock} · battery {now.battery_percent} %{', charging' if now.charging else ''}",
        f"in the {room}" + (f", holding the {now.holding}" if now.holding else ""),
    )
    texts = [Label(text, Point(0.0, 0.95 - 0.26 * row), 0.19, _INK, "start") for row, text in enumerate(lines)]
    bar_y = 0.12
    parts = [(0.5 * part, _INK if part % 2 == 0 else PAPER) for part in range(4)]
    bars = [Box(Rect(x, bar_y, x + 0.5, bar_y + 0.07), fill, _INK) for x, fill in parts]
    ends = [Label(text, Point(x, bar_y + 0.22), _TEXT_M, _INK) for x, text in ((0.0, "0"), (1.0, "1"), (2.0, "2 m"))]
    return [*texts, *bars, *ends]


# --- SVG --------------------------------------------------------------------------------------------------------------


_PIXELS_PER_M: Final = 100
_EDGE_M: Final = 0.02
"""Width of an outline."""
_HALO: Final = 0.11
"""Width of the paper around a label, of the size of its text."""


def map_svg(now: Snapshot) -> bytes:
    """The map as an SVG document in UTF-8."""
    width, height = FRAME.x1 - FRAME.x0, FRAME.y1 - FRAME.y0
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * _PIXELS_PER_M:.0f}" '
        f'height="{height * _PIXELS_PER_M:.0f}" viewBox="0 0 {_n(width)} {_n(height)}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" stroke-linecap="round" stroke-linejoin="round">'
    )
    return "\n".join((head, *(_element(shape) for shape in _picture(now)), "</svg>", "")).encode()


def _element(shape: Shape) -> str:
    match shape:
        case Box(outline, fill, edge, corner):
            return (
                f'<rect x="{_x(outline.x0)}" y="{_y(outline.y1)}" width="{_n(outline.x1 - outline.x0)}" '
                f'height="{_n(outline.y1 - outline.y0)}" rx="{_n(corner)}" fill="{fill}"{_stroke(edge)}/>'
            )
        case Polyline(points, colour, width, opacity):
            return (
                f'<polyline points="{_points(points)}" fill="none" stroke="{colour}" '
                f'stroke-width="{_n(width)}" stroke-opacity="{_n(opacity)}"/>'
            )
        case Disc(centre, radius, fill, edge):
            at = f'cx="{_x(centre.x)}" cy="{_y(centre.y)}"'
            return f'<circle {at} r="{_n(radius)}" fill="{fill}"{_stroke(edge)}/>'
        case Polygon(points, fill):
            return f'<polygon points="{_points(points)}" fill="{fill}"/>'
        case Label(text, at, size, colour, anchor, halo):
            ring = f' stroke="{PAPER}" stroke-width="{_n(2 * size * _HALO)}" paint-order="stroke"' if halo else ""
            # Browsers place the baseline; 0.35 of the size below the middle of lower-case letters.
            return (
                f'<text x="{_x(at.x)}" y="{_y(at.y - 0.35 * size)}" font-size="{_n(size)}" fill="{colour}" '
                f'text-anchor="{anchor}"{ring}>{escape(text)}</text>'
            )


def _stroke(edge: str) -> str:
    return f' stroke="{edge}" stroke-width="{_EDGE_M}"' if edge else ""


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{_x(point.x)},{_y(point.y)}" for point in points)


def _x(metres: float) -> str:
    return _n(metres - FRAME.x0)


def _y(metres: float) -> str:
    return _n(FRAME.y1 - metres)


def _n(value: float) -> str:
    return re.sub(r"\.?0+$", "", f"{value:.3f}")


# --- PNG --------------------------------------------------------------------------------------------------------------


_OVERSAMPLING: Final = 3
_SCALE: Final = _PIXELS_PER_M * _OVERSAMPLING
_EDGE: Final = round(_EDGE_M * _SCALE)


def map_png(now: Snapshot) -> bytes:
    """The map as a PNG file of 1260 x 960 pixels. Pillow draws it: it has a font and smooth edges."""
    from PIL import Image, ImageDraw

    size = round((FRAME.x1 - FRAME.x0) * _SCALE), round((FRAME.y1 - FRAME.y0) * _SCALE)
    image = Image.new("RGB", size, PAPER)
    for shape in _picture(now):
        if isinstance(shape, Polyline) and shape.opacity < 1.0:
            # What is drawn twice must not become darker: draw the line into a mask, and paint once through it.
            mask = Image.new("L", size, 0)
            _line(ImageDraw.Draw(mask), shape, round(255 * shape.opacity))
            image.paste(Image.new("RGB", size, shape.colour), mask=mask)
        else:
            _draw(ImageDraw.Draw(image), shape)
    small = image.resize((size[0] // _OVERSAMPLING, size[1] // _OVERSAMPLING), Image.Resampling.BOX)
    file = io.BytesIO()
    small.save(file, "PNG", optimize=True)
    return file.getvalue()


def _draw(canvas: ImageDraw.ImageDraw, shape: Shape) -> None:
    match shape:
        case Box(outline, fill, edge, corner):
            corners = (*_at(Point(outline.x0, outline.y1)), *_at(Point(outline.x1, outline.y0)))
            width = _EDGE if edge else 0
            canvas.rounded_rectangle(corners, corner * _SCALE, fill=fill, outline=edge or None, width=width)
        case Polyline():
            _line(canvas, shape, shape.colour)
        case Disc(centre, radius, fill, edge):
            canvas.circle(_at(centre), radius * _SCALE, fill=fill, outline=edge or None, width=_EDGE if edge else 0)
        case Polygon(points, fill):
            canvas.polygon([_at(point) for point in points], fill=fill)
        case Label(text, at, size, colour, anchor, halo):
            canvas.text(
                _at(at),
                text,
                fill=colour,
                font=_font(round(size * _SCALE)),
                anchor={"start": "lm", "middle": "mm", "end": "rm"}[anchor],
                stroke_width=round(size * _HALO * _SCALE) if halo else 0,
                stroke_fill=PAPER,
            )


def _line(canvas: ImageDraw.ImageDraw, line: Polyline, colour: str | int) -> None:
    points = [_at(point) for point in line.points]
    canvas.line(points, fill=colour, width=round(line.width_m * _SCALE), joint="curve")
    for point in (points[0], points[-1]):
        canvas.circle(point, line.width_m * _SCALE / 2, fill=colour)


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Aileron, which comes with Pillow."""
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _at(point: Point) -> tuple[float, float]:
    return (point.x - FRAME.x0) * _SCALE, (FRAME.y1 - point.y) * _SCALE
