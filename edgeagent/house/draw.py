"""``/map``: the flat as text for a terminal, and as a picture in a file.

Pillow draws the PNG: it has the font and the anti-aliasing that a readable map needs.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from edgeagent.errors import EdgeAgentError
from edgeagent.house.geometry import Point
from edgeagent.house.picture import FRAME, PAPER, PIXELS_PER_M, Box, Disc, Label, Polygon, Polyline, Shape, picture, svg
from edgeagent.house.scene import Snapshot
from edgeagent.house.terminal import terminal_map

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont


__all__ = ["map_png", "map_svg", "terminal_map", "write_map"]

_KINDS: Final = (".svg", ".png")


def map_svg(now: Snapshot) -> str:
    """The map as an SVG document."""
    return svg(picture(now))


def map_png(now: Snapshot) -> bytes:
    """The map as a PNG file.

    Raises:
        EdgeAgentError: Pillow is not installed.
    """
    return png(picture(now))


def write_map(now: Snapshot, path: str | Path) -> Path:
    """Writes the map to a file whose name ends in .svg or .png.

    Raises:
        ValueError: The name has another ending.
        OSError: The file can't be written.
        EdgeAgentError: It shall be a PNG, and Pillow is not installed.
    """
    path = Path(path)
    match path.suffix.lower():
        case ".svg":
            path.write_text(map_svg(now), encoding="utf-8")
        case ".png":
            path.write_bytes(map_png(now))
        case other:
            raise ValueError(f"a map is written as {' or '.join(_KINDS)}, not {other or 'without an ending'}")
    return path


# --- PNG --------------------------------------------------------------------------------------------------------------


_OVERSAMPLING: Final = 3
_SCALE: Final = PIXELS_PER_M * _OVERSAMPLING
_EDGE: Final = _OVERSAMPLING * 2
_HALO: Final = 0.12
"""On each side, of the size of the text."""
_ANCHORS: Final = {"start": "lm", "middle": "mm", "end": "rm"}


def png(shapes: Sequence[Shape]) -> bytes:
    """A complete PNG file of 1260 x 960 pixels.

    Raises:
        EdgeAgentError: Pillow is not installed.
    """
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise EdgeAgentError("a PNG needs Pillow: pip install pillow; or write an .svg, which needs nothing") from error

    size = round((FRAME.x1 - FRAME.x0) * _SCALE), round((FRAME.y1 - FRAME.y0) * _SCALE)
    image = Image.new("RGB", size, PAPER)
    for shape in shapes:
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
                anchor=_ANCHORS[anchor],
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
