"""Reports of the robot on a command: ``CommandReport`` and the texts that several commands share."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent.house.flat import FlatRoom, Landmark
from edgeagent.house.motion import ProgramEnd
from edgeagent.messages import ToolCall

_ARTICLES: Final = frozenset({"the", "a", "an", "my", "your", "our", "this", "that"})
_LONGEST_NAME: Final = 40
_INDEFINITE: Final = frozenset({"wall", "shelf", "chair", "box", "bench", "plant"})
"""Obstacles of which there is more than one, or that nobody has spoken of."""


def plain_name(text: str) -> str:
    """A place or an object as the flat lists it: lower case, one space between words, no article.

    A name that is not in the flat ends up in an error text, so it is cut to 40 printable characters.
    """
    printable = "".join(c if c.isprintable() else " " for c in text[: 10 * _LONGEST_NAME])
    words = re.sub(r"[\s_]+", " ", printable).strip(" .,!?'\"").casefold().split(" ")
    while len(words) > 1 and words[0] in _ARTICLES:
        words = words[1:]
    return " ".join(words)[:_LONGEST_NAME].strip()


def number(value: float, decimals: int = 1) -> str:
    """Rounded, without trailing zeros: 2, 0.5, 1.25."""
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def with_article(obstacle: str) -> str:
    """ "a wall", "the sofa"."""
    return f"{'a' if obstacle in _INDEFINITE else 'the'} {obstacle}"


def plural(count: int, noun: str) -> str:
    """ "1 second", "300 seconds"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


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
            return f"Driving {'back ' if distance_m < 0 else ''}{_metres(abs(distance_m))}."
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


def _metres(value: float) -> str:
    return f"{number(value, 2)} meter{'' if value == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class CommandReport:
    """Done, failed, or stopped by somebody on the way; and the text that says so."""

    kind: Literal["done", "failed", "stopped"]
    text: str


def arrival(place: FlatRoom | Landmark) -> str:
    """ "in the kitchen", "at the sofa"."""
    return f"{'in' if isinstance(place, FlatRoom) else 'at'} the {place.name}"


def unknown(kind: str, name: str) -> CommandReport:
    """There is no such place, object or light."""
    plain = plain_name(name)
    return CommandReport("failed", f"there is no {kind} called {plain}" if plain else f"the {kind} has no name")


def number_error(value: object, what: str, span: tuple[float, float], unit: str) -> str:
    """Why a number can't be driven or turned, empty if it can; the sign is free."""
    least, most = span
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        return f"the {what} is not a number"
    if abs(value) < least:
        return f"the {what} must be at least {number(least, 2)} {unit}"
    if abs(value) > most:
        return f"the {what} must be at most {number(most)} {unit}"
    return ""


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
