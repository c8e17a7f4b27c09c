"""The objects of the flat and where they lie. Immutable values and a seeded layout."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from edgeagent.robot.flat import Flat
from edgeagent.robot.geometry import Point

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
