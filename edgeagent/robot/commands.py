"""Commands to a robot that drives: the tools that they are for a model, and their reports in words.

The names, the parameters and the descriptions are those that the nano model is trained with. The simulated house robot
and ``base_tools`` share them. Knows nothing of motors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Protocol

from edgeagent.messages import ToolResult
from edgeagent.tools import GoalHandle, Tool, skill, tool

_ARTICLES: Final = frozenset({"the", "a", "an", "my", "your", "our", "this", "that"})
_LONGEST_NAME: Final = 40


@dataclass(frozen=True, slots=True)
class CommandReport:
    """Done, failed, or stopped by somebody on the way; and the text that says so.

    Attributes:
        cause: What is wrong, for people who can mend it. Not for a model: a small one reads a long error as an order.
    """

    kind: Literal["done", "failed", "stopped"]
    text: str
    cause: str | None = None

    def result(self, goal: GoalHandle | None = None) -> ToolResult:
        """The report for a model. Who cancels a goal tells that it is interrupted; any other stop is a failure."""
        if self.kind == "done" or (self.kind == "stopped" and goal is not None and goal.cancelled):
            return ToolResult.ok(self.text)
        return ToolResult("", "", "error", self.text, self.cause)


class Mover(Protocol):
    """A robot that drives by command. No method raises for what a user or a model can get wrong."""

    def drive(self, distance_m: float, *, goal: GoalHandle) -> CommandReport: ...
    def turn(self, angle_deg: float, *, goal: GoalHandle) -> CommandReport: ...
    def go_to(self, place: str, *, goal: GoalHandle) -> CommandReport: ...
    def stop(self) -> CommandReport: ...


def driving_tools(
    robot: Mover,
    *,
    stop: Callable[[], object],
    pause: Callable[[], object],
    resume: Callable[[], object],
    phrases: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> tuple[Tool, Tool, Tool, Tool]:
    """The tools drive, turn, go_to and stop.

    Args:
        stop, pause, resume: Reach the motors, as ``skill`` has them.
        phrases: Phrases of people who want the tool of a name.
    """

    @skill(resources=["base"], stop=stop, pause=pause, resume=resume, phrases=phrases.get("drive", ()))
    def drive(distance_m: float, goal: GoalHandle) -> ToolResult:
        """Drive straight; negative is backwards."""
        return robot.drive(distance_m, goal=goal).result(goal)

    @skill(resources=["base"], stop=stop, pause=pause, resume=resume, phrases=phrases.get("turn", ()))
    def turn(angle_deg: float, goal: GoalHandle) -> ToolResult:
        """Turn on the spot; positive is left."""
        return robot.turn(angle_deg, goal=goal).result(goal)

    @skill(resources=["base"], stop=stop, pause=pause, resume=resume, phrases=phrases.get("go_to", ()))
    def go_to(place: str, goal: GoalHandle) -> ToolResult:
        """Drive to a room or landmark."""
        return robot.go_to(place, goal=goal).result(goal)

    @tool(name="stop")
    def halt() -> ToolResult:
        """Stop whatever is moving."""
        return robot.stop().result()

    return drive, turn, go_to, halt


def asking_tool(name: str, description: str, report: Callable[[], CommandReport]) -> Tool:
    """A tool without parameters that changes nothing."""

    @tool(name=name, description=description, read_only=True)
    def ask() -> ToolResult:
        return report().result()

    return ask


BATTERY: Final = ("get_battery", "Battery level.")
LOCATION: Final = ("get_location", "Where the robot is.")
SCAN: Final = ("scan", "Nearest obstacle.")


def plain_name(text: str) -> str:
    """A place or an object as a list of them has it: lower case, one space between words, no article.

    A name that is on no list ends up in an error text, so it is cut to 40 printable characters.
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


def unknown(kind: str, name: str) -> CommandReport:
    """There is no such place, object or light."""
    plain = plain_name(name)
    return CommandReport("failed", f"there is no {kind} called {plain}" if plain else f"the {kind} has no name")


def number_error(value: object, what: str, span: tuple[float, float], unit: str) -> str:
    """Why a number can't be driven or turned, empty if it can; the sign is free."""
    least, most = span
    is_nan = isinstance(value, float) and math.isnan(value)  # an integer may be too large for a float
    if isinstance(value, bool) or not isinstance(value, int | float) or is_nan:
        return f"the {what} is not a number"
    if abs(value) < least:
        return f"the {what} must be at least {number(least, 2)} {unit}"
    if abs(value) > most:
        return f"the {what} must be at most {number(most)} {unit}"
    return ""
