"""Finds a place for each label of a picture, so that labels cover neither walls, objects nor one another."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from edgeagent.robot.geometry import Point, Rect

_LETTER: Final = 0.54
"""Mean width of a letter, of the size of the text."""
_LINE: Final = 1.1
"""Height of a line, of the size of the text."""
_ENOUGH: Final = 1e-6


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

        best, least = None, 0.0
        for middle in middles:
            covered = sum(_common(box(middle), one) for one in self._taken)
            if best is None or covered < least - _ENOUGH:
                best, least = middle, covered
        if best is None:
            raise ValueError("a label needs at least one place")
        self.take(box(best))
        return best


def _common(a: Rect, b: Rect) -> float:
    """Square metres that two rectangles have in common."""
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    return width * height if width > 0 and height > 0 else 0.0
