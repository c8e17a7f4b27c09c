"""``/map``: the flat as text for a terminal, and as a picture in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from edgeagent.house.picture import picture
from edgeagent.house.scene import Snapshot
from edgeagent.house.terminal import terminal_map

__all__ = ["map_png", "map_svg", "terminal_map", "write_map"]

_KINDS: Final = (".svg", ".png")


def map_svg(now: Snapshot) -> str:
    """The map as an SVG document."""
    from edgeagent.house.picture import svg

    return svg(picture(now))


def map_png(now: Snapshot) -> bytes:
    """The map as a PNG file.

    Raises:
        EdgeAgentError: Pillow is not installed.
    """
    from edgeagent.house.png import png

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
