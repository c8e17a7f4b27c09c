"""The house robot as a base: the tools of every base drive it among the walls of the flat."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgeagent import Tool
from edgeagent.house import START, TOUCHED, FlatBase, Pose
from edgeagent.robot import BaseDriver, BaseLimits, Odometry, Position, Velocity, base_tools
from edgeagent.tools import GoalHandle
from tests.robot.bases import calls

QUICK = BaseLimits(speed_mps=0.5, acceleration_mps2=2.0, board_timeout_s=0.3)


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[tuple[BaseDriver, Callable[..., str]]]:
    """A driver of the flat's base, and what runs one of its tools and returns the text of its result."""
    base = FlatBase(QUICK, tmp_path / "log", Pose(START.x, START.y, math.pi / 2))
    with BaseDriver(base) as driver:
        tools = base_tools(
            driver, places={"sofa": (0.4, 0.3)}, distance=lambda: base.wall_ahead_m(driver.position), stop_m=0.2
        )
        by_name = {tool.name: tool for tool in tools}

        def run(name: str, **arguments: object) -> str:
            tool: Tool = by_name[name]
            return str(tool.function(**arguments, goal=GoalHandle()).text)

        yield driver, run


@pytest.mark.real_time
def test_the_tools_of_every_base_drive_the_house_robot(robot: tuple[BaseDriver, Callable[..., str]]) -> None:
    driver, run = robot
    assert run("drive", distance_m=0.3).startswith("drove forward 0.")
    assert run("turn", angle_deg=90) in {f"turned left {angle} degrees" for angle in (89, 90, 91)}
    assert run("go_to", place="sofa") == "arrived at the sofa by dead reckoning"
    assert math.hypot(driver.position.ahead_m - 0.4, driver.position.left_m - 0.3) < 0.2


@pytest.mark.real_time
def test_a_wall_ahead_stops_it_and_one_behind_is_a_blocked_wheel(
    robot: tuple[BaseDriver, Callable[..., str]], tmp_path: Path
) -> None:
    _, run = robot
    assert run("drive", distance_m=3).startswith("blocked by an obstacle after ")
    assert not any(text == TOUCHED for _, text in calls(tmp_path / "log"))
    assert run("drive", distance_m=-3).startswith("motor fault after ")
    assert any(text == TOUCHED for _, text in calls(tmp_path / "log"))


def test_its_sensor_sees_the_nearest_thing_in_the_direction_in_which_it_looks() -> None:
    base = FlatBase()
    ahead = base.wall_ahead_m(Position())
    assert base.wall_ahead_m(Position(ahead_m=0.5)) == pytest.approx(ahead - 0.5)
    turned = FlatBase(start=Pose(START.x, START.y, math.pi / 2))
    assert base.wall_ahead_m(Position(heading_rad=math.pi / 2)) == pytest.approx(turned.wall_ahead_m(Position()))


def test_it_stands_when_its_board_is_told_nothing_for_the_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now_s[0])
    base = FlatBase(QUICK)
    base.open()
    base.set_velocity(Velocity(0.2))
    now_s[0] += 10.0
    rolled = base.odometry()
    assert 0.03 < rolled.travelled_m < 0.08
    now_s[0] += 10.0
    assert base.odometry() == rolled != Odometry()
