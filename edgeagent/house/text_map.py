"""``/map`` as text: at most 80 columns and 23 lines.

Walls are box-drawing lines, objects capital letters that the legend explains; colour, as rich markup, only if asked.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from edgeagent.house.flat import (
    DOCK,
    FRONT_DOOR,
    FRONT_DOOR_OUTLINE,
    HEIGHT_M,
    OBJECTS,
    WALL,
    WIDTH_M,
    WINDOW_OUTLINE,
    Flat,
    FlatRoom,
    the_flat,
)
from edgeagent.house.geometry import Point, Rect
from edgeagent.house.scene import Snapshot

_MAP_COLUMNS: Final = 59
_MAP_ROWS: Final = 22
_LEFT, _RIGHT, _UP, _DOWN = 1, 2, 4, 8
_LINES: Final = " ───│┘└┴│┐┌┬│┤├┼"
"""By the sum of the sides to which the line goes on."""
_ARROWS: Final = "→↗↑↖←↙↓↘"
_PERSON: Final = "☺"
_FURNITURE: Final = "░"
_WAY: Final = "·"
_LETTERS: Final = {name: chr(ord("A") + index) for index, name in enumerate(OBJECTS)}

_STYLE_ROBOT: Final = "bold white on blue"
_STYLE_PERSON: Final = "bold bright_yellow"
_STYLE_WAY: Final = "blue"
_STYLE_THING: Final = "bold magenta"
_STYLE_ROOM: Final = "bold green"
_STYLE_LIT: Final = "bold yellow"
_STYLE_PALE: Final = "dim"

_Cell = tuple[int, int]
"""Row and column."""


class _Grid:
    """Characters and their styles; what is written first stays."""

    def __init__(self) -> None:
        self._cells: dict[_Cell, tuple[str, str]] = {}

    def put(self, cell: _Cell, character: str, style: str) -> None:
        self._cells.setdefault(cell, (character, style))

    def free(self, cells: Iterable[_Cell], *, but: str = "") -> bool:
        """True if nothing, or nothing but that character, stands in the cells."""
        return all(cell not in self._cells or (but and self._cells[cell][0] == but) for cell in cells)

    def write(self, at: _Cell, text: str, style: str) -> None:
        """Writes a name over whatever is there."""
        row, column = at
        for offset, character in enumerate(text):
            self._cells[row, column + offset] = (character, style)

    def lines(self, *, colour: bool) -> Iterator[str]:
        for row in range(_MAP_ROWS):
            cells = [self._cells.get((row, column), (" ", "")) for column in range(_MAP_COLUMNS)]
            yield "".join(
                _styled("".join(character for character, _ in run), style if colour else "")
                for style, run in itertools.groupby(cells, key=lambda cell: cell[1])
            )


def terminal_map(now: Snapshot, *, colour: bool = False) -> str:
    """The map with a legend on its right, without a newline at the end.

    Args:
        colour: Marks it up for rich; else it is plain text.
    """
    flat, grid = the_flat(), _Grid()
    _draw_walls(grid, flat)
    grid.put(_inside(now.robot.point, flat), _ARROWS[round(now.robot.heading / (math.pi / 4)) % 8], _STYLE_ROBOT)
    grid.put(_inside(now.person.point, flat), _PERSON, _STYLE_PERSON)
    for thing in now.things:
        grid.put(_beside(grid, _inside(thing.at, flat)), _LETTERS[thing.name], _STYLE_THING)
    for point in now.trail:
        grid.put(_inside(point, flat), _WAY, _STYLE_WAY)
    for one in flat.obstacles:
        if one.room:
            for cell in _cells(one.outline, flat):
                grid.put(cell, _FURNITURE, _STYLE_PALE)
    _write_names(grid, flat, now)
    legend = list(_legend(now, colour=colour))
    rows = itertools.zip_longest(grid.lines(colour=colour), legend, fillvalue="")
    return "\n".join(f"{left} {right}".rstrip() for left, right in rows)


def _styled(text: str, style: str) -> str:
    return f"[{style}]{text}[/]" if style and text.strip() else text


def _column(x: float) -> int:
    return round(x / WIDTH_M * (_MAP_COLUMNS - 1))


def _row(y: float) -> int:
    return round((HEIGHT_M - y) / HEIGHT_M * (_MAP_ROWS - 1))


def _inside(point: Point, flat: Flat) -> _Cell:
    """The cell of a point; never on a wall of its room."""
    room = flat.locate(point.x, point.y)
    outline = next((one.outline for one in flat.rooms if one.name == room), Rect(0.0, 0.0, WIDTH_M, HEIGHT_M))
    if any(door.contains(point.x, point.y) for door in flat.doors):
        return _row(point.y), _column(point.x)
    row = min(max(_row(point.y), _row(outline.y1) + 1), _row(outline.y0) - 1)
    return row, min(max(_column(point.x), _column(outline.x0) + 1), _column(outline.x1) - 1)


def _beside(grid: _Grid, cell: _Cell) -> _Cell:
    """The cell itself, or a free one beside it."""
    row, column = cell
    offsets = ((0, 0), (0, 1), (0, -1), (0, 2), (0, -2), (1, 0), (-1, 0))
    return next(((row + r, column + c) for r, c in offsets if grid.free([(row + r, column + c)])), cell)


def _cells(outline: Rect, flat: Flat) -> list[_Cell]:
    top, left = _inside(Point(outline.x0, outline.y1), flat)
    bottom, right = _inside(Point(outline.x1, outline.y0), flat)
    return [(row, column) for row in range(top, bottom + 1) for column in range(left, right + 1)]


def _draw_walls(grid: _Grid, flat: Flat) -> None:
    links: defaultdict[_Cell, int] = defaultdict(int)
    for one in flat.obstacles:
        box = one.outline
        row, column = _row(box.centre.y), _column(box.centre.x)
        if one.name not in (WALL, FRONT_DOOR):
            continue
        if box.x1 - box.x0 > box.y1 - box.y0:
            for at in range(_column(box.x0), _column(box.x1)):
                links[row, at] |= _RIGHT
                links[row, at + 1] |= _LEFT
        else:
            for at in range(_row(box.y1), _row(box.y0)):
                links[at, column] |= _DOWN
                links[at + 1, column] |= _UP
    box = FRONT_DOOR_OUTLINE
    for row in range(_row(box.y1), _row(box.y0) + 1):
        grid.put((row, _column(box.centre.x)), "┃", _STYLE_LIT)
    box = WINDOW_OUTLINE
    for column in range(_column(box.x0), _column(box.x1) + 1):
        grid.put((_row(box.centre.y), column), "═", "cyan")
    for cell, link in links.items():
        grid.put(cell, _LINES[link], "")


def _write_names(grid: _Grid, flat: Flat, now: Snapshot) -> None:
    """Room names into free space, names of furniture onto it where they fit, landmarks near where they are."""
    for room in flat.rooms:
        lit = room.name in now.lit
        _write_near(
            grid, room, f"{room.name}{'*' if lit else ''}", room.outline.centre, _STYLE_LIT if lit else _STYLE_ROOM
        )
    for one in flat.obstacles:
        if one.room and flat.landmark(one.name) is None:
            _write_on(grid, _cells(one.outline, flat), one.name)
    for landmark in flat.landmarks:
        around = next(room for room in flat.rooms if room.name == landmark.room)
        on = [one for one in flat.obstacles if one.room and one.name == landmark.name]
        if not (on and _write_on(grid, _cells(on[0].outline, flat), landmark.name)):
            name = "dock" if landmark.name == DOCK else landmark.name
            _write_near(grid, around, name, landmark.outline.centre, _STYLE_PALE)


def _write_on(grid: _Grid, cells: list[_Cell], name: str) -> bool:
    """Onto a piece of furniture, if its longest free row takes the name."""
    columns = sorted({column for _, column in cells})
    for row in sorted({row for row, _ in cells}, reverse=True):
        for start in _middle_first(columns[0], columns[-1] - len(name) + 1):
            if grid.free([(row, start + offset) for offset in range(len(name))], but=_FURNITURE):
                grid.write((row, start), name, _STYLE_PALE)
                return True
    return False


def _middle_first(low: int, high: int) -> list[int]:
    return sorted(range(low, high + 1), key=lambda value: abs(2 * value - low - high))


def _write_near(grid: _Grid, room: FlatRoom, name: str, point: Point, style: str) -> None:
    """Into the free row of cells of the room that is nearest to the point; with a space on both sides."""
    box, aim = room.outline, _inside(point, the_flat())
    places = (
        (row, column)
        for row in range(_row(box.y1) + 1, _row(box.y0))
        for column in range(_column(box.x0) + 1, _column(box.x1) - len(name) + 1)
        if grid.free([(row, column + offset) for offset in range(-1, len(name) + 1) if _within(box, column + offset)])
    )
    centre = aim[1] - (len(name) - 1) / 2
    best = min(places, key=lambda at: (2.2 * (at[0] - aim[0])) ** 2 + (at[1] - centre) ** 2, default=None)
    if best is not None:
        grid.write(best, name, style)


def _within(box: Rect, column: int) -> bool:
    return _column(box.x0) < column < _column(box.x1)


def _legend(now: Snapshot, *, colour: bool) -> Iterator[str]:
    def line(text: str, style: str = "") -> str:
        return _styled(text, style if colour else "")

    arrow = _ARROWS[round(now.robot.heading / (math.pi / 4)) % 8]
    yield line(f"{now.clock}  battery {now.battery_percent} %", "bold")
    yield line("charging" if now.charging else f"{now.time_s:.0f} s simulated", _STYLE_PALE)
    yield ""
    yield f"{line(arrow, _STYLE_ROBOT)} robot   {line(_PERSON, _STYLE_PERSON)} person"
    yield f"{line(_WAY, _STYLE_WAY)} way     {line('*', _STYLE_LIT)} light on"
    yield ""
    for name, letter in _LETTERS.items():
        held = " (held)" if name == now.holding else ""
        yield f"{line(letter, _STYLE_THING)} {name}{held}"
    yield ""
    yield line("├───────┤ 2 m", _STYLE_PALE)
