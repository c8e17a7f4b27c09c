"""The house's commands for every base: what was really driven, obstacles, stops, and a base or a sensor that fails."""

import dataclasses
import math
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from edgeagent import Agent, GoalHandle, LlamaLLM, Session, ToolResult
from edgeagent.app import AppFile
from edgeagent.errors import ConfigError, DriveError
from edgeagent.house import HouseRobot
from edgeagent.robot import BaseDriver, BaseLimits, RoboClaw, Sabertooth, SafetyLatch, SimulatedBase, base_tools
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import Threads

from .bases import LIMIT_S, QUICK, BlindBase, Board, BrokenBase, GearedBase, calls, until
from .sabertooth_board import SabertoothBoard


class Rover:
    """The tools of a base, called as an agent calls them."""

    def __init__(self, base=None, **options) -> None:
        self.driver = base if isinstance(base, BaseDriver) else BaseDriver(base or SimulatedBase(QUICK))
        self.tools = {tool.name: tool for tool in base_tools(self.driver, **options)}

    def __enter__(self) -> "Rover":
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.close()

    def __call__(self, name: str, goal: GoalHandle | None = None, **arguments: object) -> ToolResult:
        if self.tools[name].traits.is_skill:
            arguments["goal"] = goal or GoalHandle()
        return self.tools[name](**arguments)

    def start(self, name: str, goal: GoalHandle, **arguments: object) -> Callable[[], ToolResult]:
        """Begins a command on a thread of its own; waits until the base moves. Returns what waits for its result."""
        results: list[ToolResult] = []
        thread = threading.Thread(target=lambda: results.append(self(name, goal, **arguments)))
        thread.start()
        assert until(lambda: not self.driver.velocity.is_zero)

        def result() -> ToolResult:
            thread.join(LIMIT_S)
            return results[0]

        return result


def stops(rover: Rover) -> GoalHandle:
    """A goal that reaches the base as the tool says."""
    drive = rover.tools["drive"]
    return GoalHandle(stop=drive.stop, pause=drive.pause, resume=drive.resume)


# --- commands ---------------------------------------------------------------------------------------------------------


def test_the_tools_are_for_a_model_those_of_the_house_robot():
    house = HouseRobot()
    theirs = {tool.name: (tool.description, tool.parameters) for tool in house.tools}
    house.close()
    tools = base_tools(BlindBase(QUICK), places={"kitchen": (1.0, 0.0)}, distance=lambda: 1.0)
    assert [tool.name for tool in tools] == ["drive", "turn", "go_to", "stop", "get_battery", "get_location", "scan"]
    for tool in tools:
        assert (tool.description, tool.parameters) == theirs[tool.name]


def test_a_base_alone_has_no_tools_that_it_can_not_keep():
    assert [tool.name for tool in base_tools(SimulatedBase(QUICK))] == ["drive", "turn", "stop"]


@pytest.mark.real_time
def test_a_command_ends_where_it_should_and_tells_what_the_odometer_says():
    commands = [
        ("drive", {"distance_m": 0.4}, r"drove forward (0\.\d+) m"),
        ("drive", {"distance_m": -0.3}, r"drove back (0\.\d+) m"),
        ("turn", {"angle_deg": 90}, r"turned left (\d+) degrees"),
        ("turn", {"angle_deg": -45}, r"turned right (\d+) degrees"),
    ]
    with Rover() as rover:
        for name, arguments, told in commands:
            before = rover.driver.way
            result = rover(name, **arguments)
            way = rover.driver.odometry
            (wanted,) = arguments.values()
            metres, degrees = way.travelled_m - before.travelled_m, math.degrees(way.turned_rad - before.turned_rad)
            driven, slack = (metres, 0.1) if name == "drive" else (degrees, 15)  # a busy machine stops late
            assert driven == pytest.approx(wanted, abs=slack)
            found = re.fullmatch(told, result.text)
            assert result.status == "ok"
            assert float(found[1]) == pytest.approx(abs(driven), abs=0.006 if name == "drive" else 0.6)


def test_a_base_without_encoders_drives_by_time_and_says_so():
    with Rover(BlindBase(QUICK)) as rover:
        result = rover("drive", distance_m=0.3)
    assert result.status == "ok"
    assert result.text.endswith("m by time, not measured")


@pytest.mark.real_time
def test_places_are_found_by_dead_reckoning():
    with Rover(places={"The Kitchen": (0.4, 0.3), "sofa": (0.0, 0.0)}) as rover:
        assert rover("get_location").text == "at the sofa by dead reckoning"
        rover("turn", angle_deg=-60)
        assert rover("go_to", place="the kitchen").text == "arrived at the kitchen by dead reckoning"
        assert rover("get_location").text == "at the kitchen by dead reckoning"
        rover("drive", distance_m=-0.2)
        assert re.fullmatch(r"in the kitchen area, 0\.\d m from the kitchen", rover("get_location").text)
        assert rover("go_to", place="the kitchen").status == "ok"
        position = rover.driver.position
        assert math.hypot(position.ahead_m - 0.4, position.left_m - 0.3) < 0.1
        rover.driver.close()  # a driver that starts again begins with new encoders
        assert rover("go_to", place="sofa").text == "arrived at the sofa by dead reckoning"
        assert math.hypot(rover.driver.position.ahead_m, rover.driver.position.left_m) < 0.1


def test_a_long_command_tells_its_progress():
    told: list[str] = []
    with Rover(SimulatedBase(BaseLimits(speed_mps=0.2, acceleration_mps2=4, board_timeout_s=0.1))) as rover:
        rover("drive", GoalHandle(on_progress=told.append), distance_m=0.3)
    assert told
    assert all(text.endswith(" m") for text in told)


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("drive", {"distance_m": 11.0}, "the distance must be at most 10 m"),
        ("drive", {"distance_m": 0.0}, "the distance must be at least 0.01 m"),
        ("drive", {"distance_m": math.nan}, "the distance is not a number"),
        ("drive", {"distance_m": -(10**400)}, "the distance must be at most 10 m"),
        ("turn", {"angle_deg": 1e9}, "the angle must be at most 720 degrees"),
        ("go_to", {"place": "moon"}, "there is no place called moon"),
        ("go_to", {"place": "garden"}, "there is no way there"),
    ],
)
def test_what_can_not_be_driven_is_told_before_anything_moves(tmp_path, name, arguments, told):
    base = SimulatedBase(QUICK, log=tmp_path / "log")
    with Rover(base, places={"garden": (50.0, 0.0)}) as rover:
        result = rover(name, **arguments)
        assert (result.status, result.text) == ("error", told)
        assert calls(base.log) == []


@pytest.mark.parametrize("place", [(1.0,), "here", (math.nan, 0.0), None, (1.0, "x"), (10**400, 0)])
def test_a_place_that_is_none_is_refused(place):
    with pytest.raises(ConfigError, match="metres ahead and to the left"):
        base_tools(SimulatedBase(QUICK), places={"kitchen": place})


@pytest.mark.parametrize(("names", "told"), [(["the sofa", "Sofa"], "sofa"), ([" "], "' '")])
def test_names_that_stand_for_one_place_and_names_without_a_word_are_refused(names, told):
    with pytest.raises(ConfigError, match=told):
        base_tools(SimulatedBase(QUICK), places={name: (1.0, float(number)) for number, name in enumerate(names)})


def test_a_distance_that_is_a_number_and_no_function_is_refused():
    with pytest.raises(ConfigError, match=r"distance is 4\.0; it must be a function"):
        base_tools(SimulatedBase(QUICK), distance=4.0)


@pytest.mark.parametrize("stop_m", [0, -1, math.nan, math.inf])
def test_a_distance_to_stop_at_that_is_none_is_refused(stop_m):
    with pytest.raises(ConfigError, match="stop_m"):
        base_tools(SimulatedBase(QUICK), stop_m=stop_m)


def test_the_battery_is_told_and_a_low_one_begins_no_drive():
    limits = BaseLimits(board_timeout_s=0.1, low_battery_v=10.5)
    with Rover(BlindBase(limits, volts=10.24)) as rover:
        assert rover("get_battery").text == "battery at 10.2 volts"
        result = rover("drive", distance_m=0.3)
    assert result.status == "error"
    assert result.text == "the battery is low"
    assert result.value.endswith("the battery is low: 10.2 V, below 10.5 V")


def test_a_roboclaw_tells_its_battery():
    with Board() as board, Rover(RoboClaw(port=board.port, pulses_per_m=10_000, track_m=0.3)) as rover:
        assert rover("get_battery").text == "battery at 12.1 volts"


# --- the distance sensor ----------------------------------------------------------------------------------------------


@pytest.mark.real_time
def test_an_obstacle_ahead_stops_the_base_before_it():
    def ahead() -> float:
        return 0.6 - rover.driver.position.ahead_m

    with Rover(distance=ahead, stop_m=0.3) as rover:
        result = rover("drive", distance_m=2.0)
        driven = rover.driver.odometry.travelled_m
        assert rover("scan").text.startswith("nearest obstacle: object, 0.")
        assert rover("drive", distance_m=-0.1).status == "ok"
    assert result.status == "error"
    assert result.text.startswith("blocked by an obstacle after 0.")
    assert driven == pytest.approx(0.3, abs=0.1)


def test_nothing_ahead_is_infinitely_far():
    with Rover(distance=lambda: math.inf) as rover:
        assert rover("scan").text == "no obstacle"
        assert rover("drive", distance_m=0.05).status == "ok"


def test_a_distance_that_is_none_stops_the_base():
    def mute() -> float:
        raise DriveError("the distance sensor on pins 23 and 24 tells no distance")

    readings = [
        (lambda: 0.0, "the distance sensor tells 0 m"),
        (lambda: math.nan, "the distance sensor tells nan m"),
        (lambda: -1.0, "the distance sensor tells -1 m"),
        (lambda: None, "the distance sensor failed: TypeError"),
        (lambda: True, "the distance sensor failed: TypeError: true or false is no distance"),
        (lambda: "far", "the distance sensor failed: ValueError"),
        (lambda: 1 / 0, "the distance sensor failed: ZeroDivisionError"),
        (lambda: (2.0, time.monotonic() - 1), "the distance that the sensor tells is 1.0 s old"),
        (lambda: (2.0, time.time()), "s old"),
        (mute, "the distance sensor on pins 23 and 24 tells no distance"),
    ]
    bad = iter(readings)
    told = ""

    def ahead() -> object:
        nonlocal told
        if rover.driver.velocity.is_zero:
            return 2.0
        reading, told = next(bad)
        return reading()

    with Rover(distance=ahead) as rover:
        for _ in readings:
            result = rover("drive", distance_m=2.0)
            assert until(lambda: rover.driver.velocity.is_zero)
            assert result.status == "error"
            assert result.text.startswith("the sensor does not answer after 0")
            assert told in result.value


def test_a_sensor_that_answers_late_for_once_only_makes_the_base_stand_for_a_moment():
    """A busy machine, for instance: the drive goes on when there is a new distance."""
    late, asked = threading.Event(), []

    def ahead() -> float:
        asked.append(rover.driver.velocity.is_zero)
        if late.is_set():
            late.clear()
            assert until(lambda: rover.driver.velocity.is_zero), "by its lease"
        return 5.0

    with Rover(distance=ahead) as rover:
        result = rover.start("drive", stops(rover), distance_m=1.0)
        late.set()
        assert result().text.startswith("drove forward 1")
    assert not late.is_set()


def test_a_sensor_that_always_answers_late_ends_the_command():
    slow = threading.Event()  # the fault itself
    with Rover(distance=lambda: slow.wait(0.4) or 2.0) as rover:
        assert rover("drive", distance_m=1.0).text == "the sensor does not answer after 0 m"


def test_a_distance_sensor_that_hangs_ends_its_command_and_keeps_one_thread():
    hangs, gate, asked = threading.Event(), threading.Event(), []

    def ahead() -> float:
        asked.append(threading.current_thread())
        if hangs.is_set():
            gate.wait()
        return 2.0

    with Rover(distance=ahead) as rover:
        result = rover.start("drive", stops(rover), distance_m=10.0)
        hangs.set()
        told = result()
        assert told.status == "error"
        assert told.text.startswith("the sensor does not answer after 0")
        assert told.value == "the distance sensor does not answer"
        assert rover.driver.velocity.is_zero
        reads = len(asked)
        for name, arguments in (("drive", {"distance_m": 1.0}), ("scan", {}), ("drive", {"distance_m": 1.0})):
            assert rover(name, **arguments).text.startswith("the sensor does not answer")
        assert rover("drive", distance_m=-0.05).status == "ok", "nobody looks while it backs"
        assert len(asked) == reads, "a read that hangs is waited for, not asked again"
        hangs.clear()
        gate.set()
        assert until(lambda: rover("scan").text == "nearest obstacle: object, 2 m ahead")
        assert rover("drive", distance_m=0.05).status == "ok", "it works again"
    assert until(lambda: not any(thread.is_alive() for thread in asked)), "none is left"


def test_a_stop_does_not_wait_for_a_sensor_that_hangs(caplog):
    hangs, gate, asked = threading.Event(), threading.Event(), threading.Event()

    def ahead() -> float:
        if hangs.is_set():
            asked.set()
            gate.wait()
        return 5.0

    with Rover(distance=ahead) as rover:
        agent = Agent("rover", "x", llm=ScriptedLLM([call("drive", distance_m=9.0)]), tools=list(rover.tools.values()))
        handle = agent.start("go")
        assert until(lambda: not rover.driver.velocity.is_zero)
        hangs.set()
        assert asked.wait(LIMIT_S)
        handle.abort("safety_stop")
        (made,) = handle.result(LIMIT_S).tool_calls
        gate.set()
    assert made.result.status == "interrupted"
    assert re.fullmatch(r"stopped for safety: drove 0\S* m of 9 m", made.result.text), "it says how far it got"
    assert not caplog.records, "what somebody stopped is no trouble"


@pytest.mark.parametrize("error", [MemoryError("no memory"), RuntimeError("no thread")])
def test_a_sensor_is_read_again_after_there_was_no_thread_for_it(monkeypatch, error):
    run = Threads.run

    def scarce(self: Threads, work: Callable[[], object], name: str) -> None:
        if name == "distance":
            raise error
        run(self, work, name)

    with Rover(distance=lambda: 2.0) as rover:
        with monkeypatch.context() as patch:
            patch.setattr(Threads, "run", scarce)
            assert rover("scan").value == f"the distance sensor can't be read: {error}"
        assert rover("scan").text == "nearest obstacle: object, 2 m ahead"


# --- faults of the base -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "name", "arguments", "told"),
    [
        ("jumps", "drive", {"distance_m": 2.0}, "the odometer jumped by"),
        ("stands still", "drive", {"distance_m": 2.0}, "a wheel is blocked, the cable of an encoder is out, or"),
        ("the wrong way", "drive", {"distance_m": 2.0}, "m the wrong way: a motor, an encoder or the sign"),
        ("the wrong way", "turn", {"angle_deg": -90}, "rad the wrong way: a motor, an encoder or the sign"),
        ("raises", "turn", {"angle_deg": 90}, "the cable is out"),
        ("not there", "drive", {"distance_m": 2.0}, "/dev/ttyUSB7 is not there"),
    ],
)
def test_a_base_that_fails_is_told_and_made_safe(tmp_path, how, name, arguments, told):
    base = BrokenBase(QUICK, log=tmp_path / "log", how=how)
    with Rover(base) as rover:
        result = rover(name, **arguments)
        assert until(lambda: calls(base.log)[-1][1] == "close")
    assert result.status == "error"
    assert result.text.startswith("motor fault after ")
    assert told in result.value


@pytest.mark.parametrize(
    ("how", "ends"),
    [
        ("stop raises", "by itself"),
        ("stop raises", "stopped"),
        ("can not be stopped", "stopped"),
        ("hangs at the end", "stopped"),
    ],
)
def test_a_base_that_fails_at_the_end_of_its_way_is_an_error(tmp_path, how, ends):
    with Rover(BrokenBase(QUICK, log=tmp_path / "log", how=how)) as rover:
        goal = stops(rover)
        result = rover.start("drive", goal, distance_m=0.3 if ends == "by itself" else 5.0)
        if ends == "stopped":
            goal.cancel()
        told = result()
    assert told.status == "error"
    assert told.text.startswith("motor fault after 0")
    assert ("may still move" in told.value) == (how == "can not be stopped")


@pytest.mark.parametrize(("how", "times"), [("never", 2), ("odometer never", 1), ("battery never", 1)])
def test_a_base_that_hangs_ends_its_command(tmp_path, how, times):
    """No limit of the tool ends it; and a new process drives the next command."""
    base = BrokenBase(QUICK, log=tmp_path / "log", how=how)
    with Rover(base) as rover:
        for _ in range(times):
            result = rover("drive", distance_m=9.0)
            assert result.status == "error"
            assert result.text.startswith("motor fault after ")
            assert "its process said nothing for 1" in result.value
            assert rover.driver.velocity.is_zero


@pytest.mark.parametrize("kind", ["roboclaw", "sabertooth"])
def test_a_pulled_cable_is_told_and_the_board_that_is_plugged_in_again_drives(tmp_path, kind):
    port = tmp_path / "ttyACM0"

    def plug_in() -> Board:
        board = Board() if kind == "roboclaw" else SabertoothBoard()
        port.unlink(missing_ok=True)
        port.symlink_to(board.port)
        return board

    if kind == "roboclaw":
        base = RoboClaw(port=str(port), pulses_per_m=10_000, track_m=0.3)
    else:
        base = Sabertooth(port=str(port), full_speed_mps=0.6, track_m=0.3)
    with Rover(base) as rover:
        board = plug_in()
        result = rover.start("drive", stops(rover), distance_m=5.0)
        board.pull()
        told = result()
        assert told.text.startswith("motor fault after 0")
        assert f"the board on {port} is gone" in told.value
        assert "is its cable pulled? (may still move, until the time-out of its board)" in told.value
        with plug_in():
            assert rover("drive", distance_m=0.1).status == "ok"


def test_a_driver_that_is_killed_is_told_and_the_next_command_drives():
    with Rover() as rover:
        goal = stops(rover)
        result = rover.start("drive", goal, distance_m=5.0)
        os.kill(rover.driver.pid, signal.SIGKILL)
        assert "its process ended by signal 9" in result().value
        assert rover("drive", distance_m=0.1).status == "ok"


# --- stops ------------------------------------------------------------------------------------------------------------


def test_the_stop_tool_ends_what_drives_and_tells_how_far_it_came():
    with Rover() as rover:
        goal = stops(rover)
        result = rover.start("drive", goal, distance_m=5.0)
        assert rover("stop").text == "stopped"
        assert goal.cancelled
        assert result().text.startswith("drove 0")
        assert result().text.endswith(" m of 5 m")
        assert rover.driver.velocity.is_zero


@pytest.mark.parametrize("how", ["stop tool", "stop of the driver"])
def test_a_stop_between_two_drives_of_a_command_ends_it(how):
    with Rover(places={"kitchen": (-1.0, 0.0)}) as rover:
        rest, goal = rover.driver.wait_for_rest, stops(rover)

        def stopped() -> bool:
            rover("stop") if how == "stop tool" else rover.driver.stop()
            return rest()

        rover.driver.wait_for_rest = stopped
        result = rover("go_to", goal, place="kitchen")
        driven_m = rover.driver.way.travelled_m
    assert driven_m == 0
    assert result.text == "drove 0 m" if how == "stop tool" else "it was stopped" in result.value


def test_an_older_command_does_not_drive_on_between_two_drives_of_its_own():
    with Rover(places={"kitchen": (-1.0, 0.0)}) as rover:
        rest, newer, results = rover.driver.wait_for_rest, GoalHandle(), []

        def another_begins() -> bool:
            rover.driver.wait_for_rest = rest
            assert rest()  # what moves next is the newer command
            results.append(rover.start("drive", newer, distance_m=0.4))
            return True

        rover.driver.wait_for_rest = another_begins
        older = rover("go_to", stops(rover), place="kitchen")
        assert older.value == "another command has begun"
        assert results[0]().status == "ok"


def test_a_latch_that_holds_lets_the_base_wait_and_go_on():
    latch = SafetyLatch()
    with Rover() as rover:
        llm = ScriptedLLM([call("drive", distance_m=0.6)], "Done.")
        agent = Agent("robi", llm=llm, tools=base_tools(rover.driver), latch=latch)
        handle = agent.start("drive")
        assert until(lambda: not rover.driver.velocity.is_zero)
        latch.hold("somebody spoke")
        assert until(lambda: rover.driver.velocity.is_zero)
        latch.release()
        (made,) = handle.result(LIMIT_S).tool_calls
    assert made.result.status == "ok"


@pytest.mark.parametrize("name", ["drive", "turn"])
def test_a_hold_between_the_end_of_a_body_and_of_its_goal_does_not_hold_the_next_command(name):
    latch = SafetyLatch()
    with Rover() as rover:
        tools = base_tools(rover.driver)
        held = next(tool for tool in tools if tool.name == name)
        body = held.function

        def ends_as_it_is_held(*args: object, **keywords: object) -> ToolResult:
            result = body(*args, **keywords)
            latch.hold("somebody spoke")
            return result

        held.function = ends_as_it_is_held
        moves = {"drive": call("drive", distance_m=0.1), "turn": call("turn", angle_deg=5)}
        llm = ScriptedLLM([moves[name]], "Done.", [moves["turn" if name == "drive" else "drive"]], "Done.")
        with Session(Agent("robi", llm=llm, tools=tools, latch=latch)) as session:
            (first,) = session.start("go").result(LIMIT_S).tool_calls
            latch.release()
            (second,) = session.start("go").result(LIMIT_S).tool_calls
    assert (first.result.status, second.result.status) == ("ok", "ok")


def test_a_command_that_was_held_and_cancelled_does_not_hold_the_next_one():
    with Rover() as rover:
        goal = stops(rover)
        result = rover.start("drive", goal, distance_m=5.0)
        goal.pause()
        assert until(lambda: rover.driver.velocity.is_zero)
        goal.cancel()
        assert result().status == "ok"
        assert rover.start("drive", stops(rover), distance_m=0.1)().status == "ok"


def test_a_command_that_ends_while_it_is_held_does_not_hold_the_next_one():
    ahead_m = [2.0]
    with Rover(distance=lambda: ahead_m[0]) as rover:
        goal = stops(rover)
        result = rover.start("drive", goal, distance_m=5.0)
        goal.pause()
        assert until(lambda: rover.driver.velocity.is_zero)
        ahead_m[0] = 0.1  # who said "wait" steps in the way
        assert result().text.startswith("blocked by an obstacle")
        goal.finish("failed")
        goal.resume()
        ahead_m[0] = 2.0
        assert rover.start("drive", stops(rover), distance_m=0.1)().status == "ok"


# --- apps, and nano --------------------------------------------------------------------------------------------------


def test_nano_drives_a_base(checkout: Path, nano: LlamaLLM):
    agent = AppFile.load(checkout / "examples/my_base.py").agent(lambda: nano)
    fast = SimulatedBase(dataclasses.replace(QUICK, speed_mps=3.0, acceleration_mps2=10.0))
    with Rover(fast, places={"kitchen": (2.5, 1.0)}, distance=lambda: 4.0) as rover, Session(agent) as session:
        for name, tool in rover.tools.items():
            agent.tools.tools[name] = tool
        for said, name, arguments in (
            ("drive two meters", "drive", {"distance_m": 2.0}),
            ("turn left 90 degrees", "turn", {"angle_deg": 90.0}),
            ("go to the kitchen", "go_to", {"place": "kitchen"}),
            ("stop", "stop", {}),
        ):
            (made,) = session.step(said).tool_calls
            assert (made.name, made.arguments, made.result.status) == (name, arguments, "ok"), said


@pytest.mark.parametrize(
    ("how", "line", "said"),
    [
        ("raises", "drive forward two meters", r"I could not drive forward 2 meters: motor fault after 0\S* m\."),
        ("raises", "turn left ninety degrees", r"I could not turn left: motor fault after \d+ degrees\."),
        ("not there", "go to the kitchen", r"I could not reach the kitchen: motor fault after 0 m\."),
        (
            "sensor",
            "drive forward two meters",
            r"I could not drive .* 2 meters: the sensor does not answer(?: after 0 m)?\.",
        ),
        ("sensor", "is there something ahead of you", r"I could not scan: the sensor does not answer\."),
        ("", "where are you", r"I am .* 1\.5 meters from the kitchen\."),
    ],
)
def test_nano_says_what_is_wrong_and_does_nothing_else(nano: LlamaLLM, how, line, said):
    ahead = (lambda: 0.0) if how == "sensor" else (lambda: 4.0)
    places = {"kitchen": (1.5, 0.0), "sofa": (3.0, 1.0)}
    with Rover(BrokenBase(QUICK, how=how), places=places, distance=ahead) as rover:
        tools = list(rover.tools.values())
        agent = Agent("rover", "You are a robot. Act with the tools.", llm=nano, tools=tools)
        with Session(agent) as session:
            result = session.start(line).result(60)
    assert len(result.tool_calls) == 1
    assert re.fullmatch(said, result.reply), result.reply


def test_a_base_of_ones_own_drives_from_an_app_file(tmp_path):
    file = tmp_path / "rover.py"
    file.write_text(
        textwrap.dedent("""
            from dataclasses import dataclass
            from edgeagent import Agent
            from edgeagent.robot import SimulatedBase, base_tools
            from edgeagent.testing import ScriptedLLM, call

            @dataclass
            class MyBase(SimulatedBase):
                def battery_v(self):
                    return 12.0

            llm = ScriptedLLM([call("drive", distance_m=0.05)], [call("get_battery")], "Done.")
            agent = Agent("rover", llm=llm, tools=base_tools(MyBase()))
        """)
    )
    app = AppFile.load(file)
    made = app.agent(lambda: None).run("go on").tool_calls
    assert [one.result.status for one in made] == ["ok", "ok"]
    assert made[1].result.text == "battery at 12.0 volts"


def test_the_example_of_a_base_is_short(checkout: Path):
    assert len((checkout / "examples/my_base.py").read_text(encoding="utf-8").splitlines()) < 30


# --- an agent without standard streams --------------------------------------------------------------------------------


def test_an_agent_without_standard_streams_drives(tmp_path, checkout: Path):
    program = """
        import sys
        from pathlib import Path
        from edgeagent import GoalHandle
        from edgeagent.robot import SimulatedBase, base_tools

        drive = base_tools(SimulatedBase(log=Path(sys.argv[1])))[0]
        Path(sys.argv[2]).write_text(drive(0.05, goal=GoalHandle()).text)
    """
    started = {}
    for count, closed in enumerate(["0>&- 1>&-", "0>&- 1>&- 2>&-"]):
        log, told = tmp_path / f"log{count}", tmp_path / f"told{count}"
        run = ["sh", "-c", f'exec "$0" "$@" {closed}', sys.executable, "-c", textwrap.dedent(program), log, told]
        started[log, told] = subprocess.Popen(run, cwd=checkout)
    for (log, told), process in started.items():
        with process:
            assert process.wait(LIMIT_S) == 0
        assert told.read_text().startswith("drove forward 0.0")
        assert until(lambda log=log: calls(log)[-1][1] == "close")


def test_motors_that_do_not_turn_at_low_speed_arrive():
    with Rover(GearedBase(BaseLimits(board_timeout_s=0.1))) as rover:
        made = rover("drive", distance_m=0.3)
        assert (made.status, made.text) == ("ok", "drove forward 0.3 m")


def test_a_look_at_the_battery_after_the_driver_has_died_does_not_hide_the_fault_of_the_drive():
    with Rover(BlindBase(QUICK)) as rover:
        result = rover.start("drive", GoalHandle(), distance_m=5.0)
        os.kill(rover.driver.pid, signal.SIGKILL)
        assert rover("get_battery").text == "battery at 12.1 volts"
        assert result().text.startswith("motor fault")
