"""The loss curve of a training as a PNG. Any thread."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from edgeagent.errors import ConfigError
from edgeagent.resources import whole_file

SIZE: Final = (720, 420)
"""Pixels, width and height."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 20, 44, 44
_SMOOTHING: Final = 0.1
"""Weight of a new value in the running mean that is drawn."""
_PALE, _STRONG, _APART, _INK, _LINES = "#c9d7ea", "#2b62a8", "#c8582a", "#333333", "#e4e4e4"
_TEXT: Final = 13
_ROWS: Final = 5
"""Lines of the grid."""

Curve = Sequence[tuple[float, float]]
"""Steps, and the loss at each."""


def draw_curve(path: Path, losses: Curve, apart: Curve, title: str) -> None:
    """Draws the loss of training, and of phrases kept apart, over the steps. The file is whole or not there.

    Raises:
        ConfigError: The file can't be written.
    """
    image = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(_TEXT)
    every = [loss for _, loss in (*losses, *apart) if math.isfinite(loss)]
    top = max(every, default=1.0) * 1.05 or 1.0
    last = max([step for step, _ in (*losses, *apart)], default=1) or 1

    def place(step: float, loss: float) -> tuple[float, float]:
        width, height = SIZE[0] - _LEFT - _RIGHT, SIZE[1] - _TOP - _BOTTOM
        return _LEFT + step / last * width, _TOP + (1 - min(loss, top) / top) * height

    for row in range(_ROWS + 1):
        value = top * row / _ROWS
        x, y = place(0, value)
        pen.line([(x, y), (SIZE[0] - _RIGHT, y)], fill=_LINES)
        pen.text((_LEFT - 8, y), f"{value:.2f}", fill=_INK, font=font, anchor="rm")
        x, y = place(last * row / _ROWS, 0)
        pen.text((x, y + 8), f"{last * row / _ROWS:.0f}", fill=_INK, font=font, anchor="mt")
    pen.text((SIZE[0] - _RIGHT, SIZE[1] - 8), "steps", fill=_INK, font=font, anchor="rb")
    pen.text((_LEFT, 8), title, fill=_INK, font=font)
    pen.text((_LEFT, 24), "loss of training", fill=_STRONG, font=font)
    if apart:
        pen.text((_LEFT + 130, 24), "loss on phrases kept apart", fill=_APART, font=font)
    _line(pen, [place(*point) for point in losses if math.isfinite(point[1])], _PALE, 1)
    _line(pen, [place(*point) for point in _smooth(losses)], _STRONG, 2)
    _line(pen, [place(*point) for point in apart if math.isfinite(point[1])], _APART, 2)
    try:
        with whole_file(path) as file:
            image.save(file, "PNG")
    except OSError as error:
        raise ConfigError(f"{path}: the loss curve can't be written: {error.strerror or error}") from None


def _line(pen: ImageDraw.ImageDraw, points: list[tuple[float, float]], colour: str, width: int) -> None:
    if len(points) > 1:
        pen.line(points, fill=colour, width=width)


def _smooth(curve: Curve) -> Curve:
    """A running mean that does not lean on the first value."""
    made: list[tuple[float, float]] = []
    total = weight = 0.0
    for step, loss in curve:
        if math.isfinite(loss):
            total += _SMOOTHING * (loss - total)
            weight += _SMOOTHING * (1 - weight)
            made.append((step, total / weight))
    return made
