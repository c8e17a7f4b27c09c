"""The tools as a model sees them, and in the loop."""

import math
import threading

import pytest

from edgeagent import Agent
from edgeagent.house import HouseRobot
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import GoalHandle, Tool

SIGNATURES = {
    "drive": {"distance_m": "number"},
    "turn": {"angle_deg": "number"},
    "go_to": {"place": "string"},
    "stop": {},
    "get_battery": {},
    "get_location": {},
    "scan": {},
    "pick_up": {"object": "string"},
    "put_down": {"place": "string"},
    "set_light": {"place": "string", "on": "boolean"},
    "set_timer": {"duration_s": "integer"},
    "get_time": {},
    "follow": {},
    "dock": {},
    "look": {"direction": "string"},
}
MOVING = {"drive", "turn", "go_to", "pick_up", "put_down", "follow", "dock"}


def tool_named(house: HouseRobot, name: str) -> Tool:
    return next(tool for tool in house.tools if tool.name == name)


def test_names_parameters_and_types_are_those_of_the_specification(house: HouseRobot) -> None:
    assert [tool.name for tool in house.tools] == list(SIGNATURES)
    for tool in house.tools:
        properties = tool.parameters["properties"]
        assert {name: schema["type"] for name, schema in properties.items()} == SIGNATURES[tool.name]
        assert sorted(tool.parameters.get("required", [])) == sorted(SIGNATURES[tool.name])
    look = tool_named(house, "look").parameters["properties"]["direction"]
    assert look["enum"] == ["left", "right", "up", "down", "ahead"]


def test_descriptions_are_one_short_line(house: HouseRobot) -> None:
    for tool in house.tools:
        assert 0 < len(tool.description) <= 60
        assert "\n" not in tool.description


def test_what_moves_is_a_skill_that_needs_the_base_and_can_be_stopped(house: HouseRobot) -> None:
    for tool in house.tools:
        assert tool.traits.is_skill == tool.traits.motion == (tool.name in MOVING)
        assert ("base" in tool.traits.resources) == (tool.name in MOVING)
        assert (tool.stop is not None) == (tool.name in MOVING)


def test_a_goal_that_is_reached_is_ok_and_one_that_is_not_is_an_error(house: HouseRobot) -> None:
    drive = tool_named(house, "drive")
    assert (result := drive(distance_m=1.0, goal=GoalHandle())).status == "ok"
    assert result.text == "drove forward 1 m"
    assert (result := drive(distance_m=40.0, goal=GoalHandle())).status == "error"
    assert result.text == "blocked by a wall after 3 m"


def test_a_goal_cancelled_on_the_way_brakes_at_once_and_says_how_far_it_got(house: HouseRobot) -> None:
    goal = GoalHandle(stop=tool_named(house, "drive").stop)
    marks: list[float] = []

    def cancel() -> None:
        goal.cancel()
        marks.append(house.world.scene.base.x)

    house.world.call_at(2.0, cancel)
    result = tool_named(house, "drive")(distance_m=3.0, goal=goal)
    assert result.text == "drove 0.9 m of 3 m"
    assert house.world.scene.base.x - marks[0] < 0.05


def test_the_stop_tool_cancels_every_running_goal(house: HouseRobot) -> None:
    goal = GoalHandle(stop=house.world.halt)
    house.world.call_at(2.0, tool_named(house, "stop"))
    tool_named(house, "drive")(distance_m=3.0, goal=goal)
    assert goal.cancelled


def test_progress_is_reported_once_in_a_simulated_second(house: HouseRobot) -> None:
    told: list[str] = []
    tool_named(house, "drive")(distance_m=3.0, goal=GoalHandle(on_progress=told.append))
    assert 4 <= len(told) <= 8
    assert told[-1].endswith(" m")


def test_the_progress_of_a_turn_is_degrees(house: HouseRobot) -> None:
    told: list[str] = []
    tool_named(house, "turn")(angle_deg=-360.0, goal=GoalHandle(on_progress=told.append))
    assert len(told) >= 3
    degrees = [int(text.removesuffix(" degrees")) for text in told]
    assert degrees == sorted(degrees)
    assert 0 < degrees[-1] <= 360


def test_an_agent_drives_it(house: HouseRobot) -> None:
    llm = ScriptedLLM([call("drive", distance_m=2), call("turn", angle_deg="90")], "I drove and turned.")
    result = Agent("robi", llm=llm, tools=house.tools, latch=house.latch).run("drive 2 m and turn left")
    assert [one.result.text for one in result.tool_calls if one.result] == [
        "drove forward 2 m",
        "turned left 90 degrees",
    ]
    assert result.reply == "I drove and turned."
    assert house.world.scene.base.x == pytest.approx(6.3, abs=1e-3)


def test_after_a_drive_that_was_blocked_the_turn_is_not_run(house: HouseRobot) -> None:
    llm = ScriptedLLM([call("drive", distance_m=9), call("turn", angle_deg=90), call("get_battery")], "A wall.")
    result = Agent("robi", llm=llm, tools=house.tools).run("drive 9 m, turn left, how is your battery?")
    assert [one.result.status for one in result.tool_calls if one.result] == ["error", "not_run", "ok"]
    assert house.world.scene.base.rotated == 0.0


def test_an_aborted_run_interrupts_the_drive_and_the_result_says_how_far_it_got() -> None:
    house = HouseRobot(speed=10.0)
    llm = ScriptedLLM([call("drive", distance_m=4)], "never said")
    agent = Agent("robi", llm=llm, tools=house.tools)
    house.world.call_at(3.0, agent.abort)
    result = agent.run("drive 4 m")
    (drive,) = result.tool_calls
    assert drive.result is not None
    assert drive.result.status == "interrupted"
    assert drive.result.text.startswith("drove ")
    assert drive.result.text.endswith(" m of 4 m")
    assert house.world.scene.base.still
    house.close()


def test_a_tripped_latch_blocks_motion_in_the_loop(house: HouseRobot) -> None:
    house.latch.trip("stop")
    llm = ScriptedLLM([call("drive", distance_m=1)], [call("get_time")], "I can't move.")
    result = Agent("robi", llm=llm, tools=house.tools, latch=house.latch).run("drive")
    assert [one.result.status for one in result.tool_calls if one.result] == ["blocked", "ok"]


def test_a_timer_wakes_whoever_set_it() -> None:
    rang, told = threading.Event(), []
    house = HouseRobot(speed=math.inf, on_timer=lambda text: (told.append(text), rang.set()))
    llm = ScriptedLLM([call("set_timer", duration_s=2)], "The timer runs.")
    Agent("robi", llm=llm, tools=house.tools).run("wake me in two seconds")
    house.world.advance(3.0)
    assert rang.is_set()
    assert told == ["[timer] 2 seconds are over"]
    house.close()
