"""Words for calls: a call as it is read back, and the direction and the number of an argument."""

from __future__ import annotations

from typing import Final, TypeGuard

from edgeagent.english.amounts import Directions, orientation, unit_of
from edgeagent.english.word_data import lists
from edgeagent.tools import Tool

_WAYS: Final = lists("amounts")
_DIRECTIONS: Final = _WAYS.left | _WAYS.right | _WAYS.up | _WAYS.down | _WAYS.forward
SAY_YES: Final = "Say yes."
_UNITS: Final[dict[str, str]] = {
    "length": "meter",
    "angle": "degree",
    "time": "second",
    "percent": "percent",
    "volume": "liter",
    "mass": "kilogram",
}


def is_figure(value: object) -> TypeGuard[int | float]:
    """True if an argument is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def ways_of(tool: Tool, name: str) -> Directions | None:
    """The directions of a parameter by its sign, as its tool describes them; None where it has none."""
    described = tool.parameters.get("properties", {}).get(name, {}).get("description", "")
    return orientation(f"{described}; {tool.description}")


def wording(tool: Tool, name: str, value: float) -> str:
    """A call as it is read back: "drive back 3 meters"."""
    directions, unit = ways_of(tool, name), unit_of(name)
    verb = tool.name.replace("_", " ").replace("-", " ")
    way = ""
    if directions is not None and (value < 0 or directions[0][0] != "forward"):
        way = f" {directions[value < 0][0]}"
        value = abs(value)
    number = f"{value:.2f}".rstrip("0").rstrip(".")
    if unit is None:
        return f"{verb}, {name.replace('_', ' ')} {number}"
    word = _UNITS[unit[0]]
    value *= unit[1]
    number = f"{value:.2f}".rstrip("0").rstrip(".")
    return f"{verb}{way} {number} {word}{'' if abs(value) == 1 or word == 'percent' else 's'}"


def proposal(tool: Tool, name: str, value: float) -> str:
    """The question about a number: "Drive back 3 meters? Say yes."."""
    told = wording(tool, name, value)
    return f"{told[:1].upper()}{told[1:]}? {SAY_YES}"


def with_article(name: str) -> str:
    """A name as it is asked about: "the kitchen", but "left" and "A-17"."""
    return f"the {name}" if name.islower() and name not in _DIRECTIONS else name
