"""The tools a dialogue offers, in the form a chat template takes them.

Knows the house robot's fifteen tools and how to declare one; knows nothing of phrases or dialogues.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

ToolSpec = dict[str, Any]
"""One OpenAI-style tool: {"type": "function", "function": {"name", "description", "parameters"}}."""

HOUSE_SYSTEM: Final = "You are the house robot of a small flat. Act with the tools; answer in one short sentence."
"""The house robot's system prompt; the product uses the same words."""

_HOUSE: Final = (
    ("drive(distance_m: number)", "Drive straight; negative is backwards."),
    ("turn(angle_deg: number)", "Turn on the spot; positive is left."),
    ("go_to(place: string)", "Drive to a room or landmark."),
    ("stop()", "Stop whatever is moving."),
    ("get_battery()", "Battery level."),
    ("get_location()", "Where the robot is."),
    ("scan()", "Nearest obstacle."),
    ("pick_up(object: string)", "Fetch an object."),
    ("put_down(place: string)", "Bring the held object to a place."),
    ("set_light(place: string, on: boolean)", "Switch a room's light."),
    ("set_timer(duration_s: integer)", "Start a timer."),
    ("get_time()", "Time of day."),
    ("follow()", "Follow the person."),
    ("dock()", "Return to the charging dock."),
    ("look(direction: left|right|up|down|ahead)", "Point the camera."),
)

_SIGNATURE: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*\(([^)]*)\)\s*$")
_TYPES: Final = {"string", "number", "integer", "boolean"}


def declare(signature: str, description: str = "") -> ToolSpec:
    """Builds a tool from a compact signature such as ``wave(times: integer, hand: left|right)``.

    Raises:
        ValueError: the signature is not NAME(ARG: TYPE, ...).
    """
    match = _SIGNATURE.match(signature)
    if match is None:
        raise ValueError(f"not a tool signature: {signature!r}")
    name, inside = match.groups()
    properties: dict[str, Any] = {}
    required: list[str] = []
    for part in filter(None, (p.strip() for p in inside.split(","))):
        arg, sep, kind = (s.strip() for s in part.partition(":"))
        if not sep:
            raise ValueError(f"argument without a type in {signature!r}")
        if kind in _TYPES:
            properties[arg] = {"type": kind}
        elif "|" in kind:
            properties[arg] = {"type": "string", "enum": kind.split("|")}
        else:
            raise ValueError(f"unknown type {kind!r} in {signature!r}")
        required.append(arg)
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def name_of(tool: ToolSpec) -> str:
    """The tool's name."""
    return str(tool["function"]["name"])


def parameters_of(tool: ToolSpec) -> dict[str, Any]:
    """The tool's parameters: name to JSON schema."""
    return dict(tool["function"]["parameters"]["properties"])


HOUSE_TOOLS: Final[tuple[ToolSpec, ...]] = tuple(declare(s, d) for s, d in _HOUSE)
"""The house robot's tools in the product's order."""


def listed(tools: Iterable[ToolSpec]) -> str:
    """Lists tools in TOML for the file beside the weights, by which the product knows what a model was trained for."""
    lines = [f"{name_of(tool)} = {json.dumps(list(parameters_of(tool)))}\n" for tool in tools]
    head = "# Tools that nano was trained for: name and parameters. Written by scripts/lab/train_nano/export.py."
    return f"{head}\n\n[tools]\n{''.join(lines)}"
