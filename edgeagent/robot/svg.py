"""Draws a picture as SVG text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.sax.saxutils import escape

from edgeagent.robot.geometry import Point
from edgeagent.robot.picture import FRAME, PAPER, Box, Disc, Label, Polygon, Polyline, Shape

PIXELS_PER_M: Final = 100
_EDGE_M: Final = 0.02
_HALO: Final = 0.22
"""Of the size of the text."""


def svg(shapes: Sequence[Shape]) -> str:
    """A complete SVG document."""
    width, height = FRAME.x1 - FRAME.x0, FRAME.y1 - FRAME.y0
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * PIXELS_PER_M:.0f}" '
        f'height="{height * PIXELS_PER_M:.0f}" viewBox="0 0 {_n(width)} {_n(height)}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" stroke-linecap="round" stroke-linejoin="round">'
    )
    return "\n".join((head, *(_element(shape) for shape in shapes), "</svg>", ""))


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
            ring = f' stroke="{PAPER}" stroke-width="{_n(size * _HALO)}" paint-order="stroke"' if halo else ""
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
