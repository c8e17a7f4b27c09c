"""Texts of the house robot: announcements of a command, and parts that several reports share."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.house.flat import FlatRoom, Landmark
from edgeagent.house.motion import ProgramEnd
from edgeagent.messages import ToolCall
from edgeagent.robot.commands import number, plain_name

_INDEFINITE: Final = frozenset({"wall", "shelf", "chair", "box", "bench", "plant"})
"""Obstacles of which there is more than one, or that nobody has spoken of."""


def with_article(obstacle: str) -> str:
    """ "a wall", "the sofa"."""
    return f"{'a' if obstacle in _INDEFINITE else 'the'} {obstacle}"


_PAST: Final = re.compile(r"(drove|turned|picked up|put the|followed|stopped)\b")
_ARRIVED: Final = re.compile(r"arrived (?=(?:in|at) the )")


def announcement(call: ToolCall) -> str:
    """ "On my way to the kitchen."; empty for what is no skill of the house robot."""
    arguments = call.arguments
    match call.name:
        case "go_to":
            return f"On my way to the {_name(arguments.get('place'))}."
        case "drive":
            distance_m = _value(arguments.get("distance_m"))
            way = f"{number(abs(distance_m), 2)} meter{'' if abs(distance_m) == 1 else 's'}"
            return f"Driving {'back ' if distance_m < 0 else ''}{way}."
        case "turn":
            angle_deg = _value(arguments.get("angle_deg"))
            return f"Turning {'right' if angle_deg < 0 else 'left'}."
        case "pick_up":
            return f"I will get the {_name(arguments.get('object'))}."
        case "put_down":
            return f"I will bring it to the {_name(arguments.get('place'))}."
        case "follow":
            return "I am following you."
        case "dock":
            return "On my way to the dock."
    return ""


def report(name: str, text: str) -> str:
    """Tells a skill's result, good or bad."""
    if _ARRIVED.match(text):
        return f"{_ARRIVED.sub('I am ', text)}."
    if text == "docked and charging":
        return "I am docked and charging."
    if _PAST.match(text):
        return f"I {text}."
    doing = {"go_to": "go there", "pick_up": "get it", "put_down": "bring it", "follow": "follow you"}
    return f"I could not {doing.get(name, name.replace('_', ' '))}: {text}."


def _name(value: object) -> str:
    return plain_name(value) if isinstance(value, str) else "place"


def _value(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def arrival(place: FlatRoom | Landmark) -> str:
    """ "in the kitchen", "at the sofa"."""
    return f"{'in' if isinstance(place, FlatRoom) else 'at'} the {place.name}"


def failure(outcome: ProgramEnd, way_m: float, passed_s: float, timeout_s: float) -> str:
    """Why a motion did not reach its goal, after that way and that simulated time."""
    match outcome.end:
        case "blocked":
            return f"blocked by {with_article(outcome.obstacle)} after {number(way_m)} m"
        case "lost":
            return f"lost you after {number(passed_s, 0)} s"
        case "timed_out":
            return f"gave up after {number(timeout_s, 0)} s"
        case "empty":
            return f"the battery ran out after {number(way_m)} m"
        case _:
            return f"stopped after {number(way_m)} m"
