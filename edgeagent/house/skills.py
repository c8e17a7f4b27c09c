"""The house robot's fifteen tools, as a model sees them. Thin: what they do is in ``house``.

The names, the parameters and the descriptions are those that the nano model is trained with. Skills have no time-out of
the loop: the house gives up by itself, after simulated time.
"""

from __future__ import annotations

from typing import Final

from edgeagent.house.command_report import CommandReport
from edgeagent.house.house import HouseRobot
from edgeagent.house.scene import Direction
from edgeagent.messages import ToolResult
from edgeagent.tools import GoalHandle, Tool, skill, tool

_BASE: Final = ("base",)
_ARM: Final = ("base", "gripper")


def house_tools(house: HouseRobot) -> list[Tool]:
    """The tools of one robot, in the order in which they stand in the prompt."""
    drive, turn, go_to, follow, dock = _driving(house)
    pick_up, put_down = _carrying(house)
    get_battery, get_location, scan, get_time = _questions(house)
    stop, set_light, set_timer, look = _switches(house)
    first = [drive, turn, go_to, stop, get_battery, get_location, scan, pick_up, put_down]
    return [*first, set_light, set_timer, get_time, follow, dock, look]


def _driving(house: HouseRobot) -> tuple[Tool, ...]:
    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def drive(distance_m: float, goal: GoalHandle) -> ToolResult:
        """Drive straight; negative is backwards."""
        return _result(house.drive(distance_m, goal=goal), goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def turn(angle_deg: float, goal: GoalHandle) -> ToolResult:
        """Turn on the spot; positive is left."""
        return _result(house.turn(angle_deg, goal=goal), goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def go_to(place: str, goal: GoalHandle) -> ToolResult:
        """Drive to a room or landmark."""
        return _result(house.go_to(place, goal=goal), goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def follow(goal: GoalHandle) -> ToolResult:
        """Follow the person."""
        return _result(house.follow(goal=goal), goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def dock(goal: GoalHandle) -> ToolResult:
        """Return to the charging dock."""
        return _result(house.dock(goal=goal), goal)

    return drive, turn, go_to, follow, dock


def _carrying(house: HouseRobot) -> tuple[Tool, ...]:
    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def pick_up(object: str, goal: GoalHandle) -> ToolResult:  # noqa: A002 - the parameter's name is the contract's
        """Fetch an object."""
        return _result(house.pick_up(object, goal=goal), goal)

    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def put_down(place: str, goal: GoalHandle) -> ToolResult:
        """Bring the held object to a place."""
        return _result(house.put_down(place, goal=goal), goal)

    return pick_up, put_down


def _questions(house: HouseRobot) -> tuple[Tool, ...]:
    @tool(read_only=True)
    def get_battery() -> ToolResult:
        """Battery level."""
        return _result(house.get_battery())

    @tool(read_only=True)
    def get_location() -> ToolResult:
        """Where the robot is."""
        return _result(house.get_location())

    @tool(read_only=True)
    def scan() -> ToolResult:
        """Nearest obstacle."""
        return _result(house.scan())

    @tool(read_only=True)
    def get_time() -> ToolResult:
        """Time of day."""
        return _result(house.get_time())

    return get_battery, get_location, scan, get_time


def _switches(house: HouseRobot) -> tuple[Tool, ...]:
    @tool
    def stop() -> ToolResult:
        """Stop whatever is moving."""
        return _result(house.stop())

    @tool
    def set_light(place: str, on: bool) -> ToolResult:
        """Switch a room's light."""
        return _result(house.set_light(place, on))

    @tool
    def set_timer(duration_s: int) -> ToolResult:
        """Start a timer."""
        return _result(house.set_timer(duration_s))

    @tool
    def look(direction: Direction) -> ToolResult:
        """Point the camera."""
        return _result(house.look(direction))

    return stop, set_light, set_timer, look


def _result(report: CommandReport, goal: GoalHandle | None = None) -> ToolResult:
    """A goal that was cancelled is reported as interrupted by whoever cancelled it; any other stop is a failure."""
    if report.kind == "done" or (report.kind == "stopped" and goal is not None and goal.cancelled):
        return ToolResult.ok(report.text)
    return ToolResult.error(report.text)
