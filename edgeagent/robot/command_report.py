"""Reports of the robot on a command: ``CommandReport`` and the texts that several commands share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from edgeagent.robot.flat import FlatRoom, Landmark
from edgeagent.robot.house_words import number, plain_name, with_article
from edgeagent.robot.motion import ProgramEnd


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
