"""The house robot's fifteen tools, as a model sees them. Thin: what they do is in ``house``.

The names, the parameters and the descriptions are those that the nano model is trained with. Skills have no time-out of
the loop: the house gives up by itself, after simulated time.
"""

from __future__ import annotations

from typing import Final

from edgeagent.house.house import HouseRobot
from edgeagent.house.scene import Direction
from edgeagent.messages import ToolResult
from edgeagent.robot.commands import BATTERY, LOCATION, SCAN, asking_tool, driving_tools
from edgeagent.tools import GoalHandle, Tool, skill, tool

_BASE: Final = ("base",)
_ARM: Final = ("base", "gripper")


def house_tools(house: HouseRobot) -> list[Tool]:
    """The tools of one robot, in the order in which they stand in the prompt."""
    drive, turn, go_to, stop = driving_tools(house, stop=house.world.halt, pause=house.pause, resume=house.resume)
    follow, dock, pick_up, put_down = _errands(house)
    battery, location = asking_tool(*BATTERY, house.get_battery), asking_tool(*LOCATION, house.get_location)
    scan, get_time = asking_tool(*SCAN, house.scan), asking_tool("get_time", "Time of day.", house.get_time)
    set_light, set_timer, look = _switches(house)
    first = [drive, turn, go_to, stop, battery, location, scan, pick_up, put_down]
    return [*first, set_light, set_timer, get_time, follow, dock, look]


def _errands(house: HouseRobot) -> tuple[Tool, ...]:
    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def follow(goal: GoalHandle) -> ToolResult:
        """Follow the person."""
        return house.follow(goal=goal).result(goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def dock(goal: GoalHandle) -> ToolResult:
        """Return to the charging dock."""
        return house.dock(goal=goal).result(goal)

    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def pick_up(object: str, goal: GoalHandle) -> ToolResult:  # noqa: A002 - the word that a model knows
        """Fetch an object."""
        return house.pick_up(object, goal=goal).result(goal)

    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def put_down(place: str, goal: GoalHandle) -> ToolResult:
        """Bring the held object to a place."""
        return house.put_down(place, goal=goal).result(goal)

    return follow, dock, pick_up, put_down


def _switches(house: HouseRobot) -> tuple[Tool, ...]:
    @tool
    def set_light(place: str, on: bool) -> ToolResult:
        """Switch a room's light."""
        return house.set_light(place, on).result()

    @tool
    def set_timer(duration_s: int) -> ToolResult:
        """Start a timer."""
        return house.set_timer(duration_s).result()

    @tool
    def look(direction: Direction) -> ToolResult:
        """Point the camera."""
        return house.look(direction).result()

    return set_light, set_timer, look
