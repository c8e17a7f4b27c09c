"""The ROS 2 example: topics as tools, and Nav2's NavigateToPose as a skill against a stand-in.

The node, ``/cmd_vel`` and the switch run in ``scripts/bench ros``, which has ROS 2 in an environment of its own.
"""

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from edgeagent import Agent, GoalHandle
from edgeagent.app import AppFile
from edgeagent.errors import ConfigError
from edgeagent.robot import BaseDriver, BaseLimits, Drive, SafetyLatch, SimulatedBase, base_tools
from edgeagent.testing import ScriptedLLM, call
from tests.robot.bases import LIMIT_S, calls, until

from .nav2_stand_in import ABORTED, CANCELED, SUCCEEDED, ActionClient, NavigateToPose

EXAMPLE = Path(__file__).parents[2] / "examples" / "ros2"
AHEAD = SimpleNamespace(linear=SimpleNamespace(x=0.2), angular=SimpleNamespace(z=0.1))
"""A ``geometry_msgs/msg/Twist``, as far as the example reads it."""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield
    for name in ("topics", "navigate", "ros_base", "switch"):
        sys.modules.pop(name, None)


class Node:
    """A node without a network: subscriptions as rclpy's, and a clock that stands."""

    def create_subscription(self, msg_type, topic, callback, qos_profile, **keywords) -> None:
        pass

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=lambda: SimpleNamespace(sec=7, nanosec=0)))


@pytest.fixture
def ros(monkeypatch: pytest.MonkeyPatch) -> None:
    """As much of rclpy and nav2_msgs as the functions under test import."""
    modules = {
        "rclpy": {"get_rmw_implementation_identifier": lambda: "rmw_fastrtps_cpp"},
        "rclpy.qos": {"qos_profile_sensor_data": None},
        "nav2_msgs": {},
        "nav2_msgs.action": {"NavigateToPose": NavigateToPose},
    }
    for name, values in modules.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    kept = ("ROS_AUTOMATIC_DISCOVERY_RANGE", "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_DISTRO")
    monkeypatch.setattr(os, "environ", {name: value for name, value in os.environ.items() if name not in kept})


@pytest.mark.parametrize(
    ("middleware", "set_before", "network", "has_profile"),
    [
        ("rmw_fastrtps_cpp", {"ROS_DISTRO": "kilted"}, "SYSTEM_DEFAULT", True),
        ("rmw_fastrtps_cpp", {"ROS_DISTRO": "jazzy"}, "LOCALHOST", False),  # its Fast DDS does not read the profile
        ("rmw_fastrtps_cpp", {}, "LOCALHOST", False),
        ("rmw_cyclonedds_cpp", {"ROS_DISTRO": "kilted"}, "LOCALHOST", False),
        ("rmw_fastrtps_cpp", {"ROS_DISTRO": "kilted", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, "SUBNET", False),
    ],
)
def test_it_stays_on_this_machine_unless_the_environment_says_otherwise(
    ros: None, middleware: str, set_before: dict[str, str], network: str, has_profile: bool
) -> None:
    from ros_base import import_ros

    os.environ.update(set_before)
    vars(sys.modules["rclpy"])["get_rmw_implementation_identifier"] = lambda: middleware
    import_ros()
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == network
    assert ("FASTDDS_DEFAULT_PROFILES_FILE" in os.environ) == has_profile
    if has_profile:
        assert "127.0.0.1" in Path(os.environ["FASTDDS_DEFAULT_PROFILES_FILE"]).read_text(encoding="utf-8")


@pytest.fixture
def app(ros: None, monkeypatch: pytest.MonkeyPatch) -> AppFile:
    """The app of the example, with as much of ROS 2 as it asks for."""
    messages = {"BatteryState": object, "LaserScan": object}
    signals = {"SignalHandlerOptions": SimpleNamespace(NO=0)}
    for name, values in {"rclpy.signals": signals, "sensor_msgs": {}, "sensor_msgs.msg": messages}.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    rclpy = sys.modules["rclpy"]
    vars(rclpy).update(init=lambda **options: None, create_node=lambda name: Node())
    import topics

    monkeypatch.setattr(topics, "spin", lambda node: None)
    return AppFile.load(EXAMPLE / "robot.py")


def test_the_app_drives_with_the_commands_of_every_base_and_looks_ahead(app: AppFile) -> None:
    agent = app.agent(lambda: ScriptedLLM("x"))
    assert agent.tools.names() == ["drive", "turn", "stop", "scan", "get_battery", "get_distance"]
    assert app.module.base.limits.speed_mps == 0.2
    assert "nothing has come on /scan yet" in agent.tools.tools["scan"]().value
    app.module.laser.take(scan([2.0, 1.5, 0.2]))
    assert agent.tools.tools["scan"]().text == "nearest obstacle: object, 1.5 m ahead"


def test_the_lines_for_nav2_on_the_page_give_the_app_a_place_to_go_to(
    app: AppFile, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients = {"ActionClient": lambda node, kind, name: ActionClient()}
    for name, values in {"geometry_msgs": {}, "geometry_msgs.msg": {"Twist": object}, "rclpy.action": clients}.items():
        module = ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    page = (checkout / "docs/robot.md").read_text(encoding="utf-8")
    lines = page.partition("above the agent:\n\n```py\n")[2].partition("```")[0]
    exec(lines, vars(app.module))  # noqa: S102  our own page
    assert [tool.name for tool in app.module.tools][-1] == "go_to"


# --- topics -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("percentage", "voltage", "said"),
    [
        (0.64, math.nan, "battery at 64 percent"),
        (math.nan, 11.84, "battery at 11.8 volts"),
        (64.0, 11.84, "11.8 volts"),
    ],
)
def test_a_battery_is_said_by_its_share_or_its_voltage(percentage: float, voltage: float, said: str) -> None:
    from topics import say_battery

    assert said in say_battery(SimpleNamespace(percentage=percentage, voltage=voltage))


def test_a_battery_that_tells_no_number_is_an_error() -> None:
    from topics import say_battery

    with pytest.raises(ValueError, match="no number"):
        say_battery(SimpleNamespace(percentage=math.nan, voltage=math.nan))


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ([math.inf, 2.5, math.nan, 0.01, 1.2, 90.0, -1.0], "the nearest thing is 1.20 m away"),
        ([math.inf, math.nan], "nothing within 8 m"),
    ],
)
def test_the_nearest_thing_in_a_scan_is_said(ranges: list[float], said: str) -> None:
    from topics import say_nearest

    assert say_nearest(SimpleNamespace(ranges=ranges, range_min=0.1, range_max=8.0)) == said


def scan(ranges: list[float], angle_min: float = -1.0, angle_increment: float = 1.0) -> SimpleNamespace:
    """A ``sensor_msgs/msg/LaserScan`` that begins a radian to the right, and has one range a radian."""
    return SimpleNamespace(
        ranges=ranges, range_min=0.1, range_max=8.0, angle_min=angle_min, angle_increment=angle_increment
    )


@pytest.mark.parametrize(
    ("message", "metres"),
    [
        (scan([0.5, 2.5, 0.5]), 2.5),  # the sides are not in the way
        (scan([0.5, math.inf, 0.5]), math.inf),
        (scan([0.5, -math.inf, 0.5]), 0.1),  # too near to be measured
        (scan([0.5, 1.2, 0.9, 0.5], -0.2, 0.3), 0.5),
        (scan([1.5, 3.0, 3.0, 3.0, 1.4], 0.0, math.tau / 4), 1.4),  # all around, from ahead to ahead
        (scan([3.0, 1.1, 3.0], -math.tau / 2, math.tau / 2), 1.1),
        (scan([math.nan, 0.0, 2.0], -0.1, 0.1), 2.0),
    ],
    ids=str,
)
def test_the_nearest_thing_ahead_is_that_of_the_front_sector(message: SimpleNamespace, metres: float) -> None:
    from topics import nearest_ahead

    assert nearest_ahead(message) == metres


@pytest.mark.parametrize("ranges", [[], [0.5], [0.5, math.nan, 0.5], [0.5, 0.0, 0.5]])
def test_a_scan_without_a_measurement_ahead_is_an_error(ranges: list[float]) -> None:
    from topics import nearest_ahead

    with pytest.raises(ValueError, match="no measurement ahead"):
        nearest_ahead(scan(ranges))


def test_a_robot_with_a_laser_stops_before_what_is_ahead(ros: None) -> None:
    from topics import Topic, nearest_ahead

    laser = Topic(Node(), None, "/scan")

    def ahead() -> tuple[float, float]:
        laser.take(scan([0.1, 0.6 - driver.position.ahead_m, 0.1]))
        message, came_s = laser.newest()
        return nearest_ahead(message), came_s

    with BaseDriver(SimulatedBase(BaseLimits(board_timeout_s=0.1))) as driver:
        drive = base_tools(driver, distance=ahead)[0]
        result = drive(2.0, goal=GoalHandle())
        assert result.text.startswith("blocked by an obstacle after 0.")
        assert driver.way.travelled_m < 0.4


@pytest.mark.parametrize("ranges", [[], [math.nan], [0.0]])
def test_a_scan_without_a_measurement_is_an_error(ranges: list[float]) -> None:
    from topics import say_nearest

    with pytest.raises(ValueError, match="no measurement"):
        say_nearest(SimpleNamespace(ranges=ranges, range_min=0.1, range_max=8.0))


def test_a_topic_is_a_tool_that_tells_its_newest_message_and_when_there_is_none(ros: None) -> None:
    from topics import Topic, say_battery, topic_tool

    topic = Topic(Node(), None, "/battery_state")
    battery = topic_tool(topic, say_battery, name="get_battery", description="Battery level.")
    agent = Agent(
        "robi", llm=ScriptedLLM([call("get_battery")], "Yes.", [call("get_battery")], "Yes."), tools=[battery]
    )
    (nothing,) = agent.run("battery?").tool_calls
    assert nothing.result.is_error
    assert "nothing has come on /battery_state" in nothing.result.text
    topic.take(SimpleNamespace(percentage=0.5, voltage=0.0))
    (told,) = agent.run("battery?").tool_calls
    assert told.result.text == "battery at 50 percent"
    with pytest.raises(LookupError, match="for 0 s"):
        topic.read(within_s=0.0)


# --- Nav2 -------------------------------------------------------------------------------------------------------------


class Trip:
    """An agent that goes to the kitchen with a Nav2 that a test plays, and a simulated base."""

    def __init__(self, folder: Path, nav2: ActionClient) -> None:
        from navigate import navigate_skill, pose_request
        from topics import Topic

        self.nav2, self.log, self.latch = nav2, folder / "base.log", SafetyLatch()
        limits = BaseLimits(acceleration_mps2=100.0, board_timeout_s=0.1)
        self.driver = BaseDriver(SimulatedBase(limits, log=self.log))
        self.velocities = Topic(Node(), None, "/cmd_vel_nav2")
        self.told: list[str] = []
        go_to = navigate_skill(
            nav2,
            pose_request(Node()),
            {"kitchen": (3.0, -1.0, 90.0)},
            driver=self.driver,
            velocities=self.velocities,
        )
        llm = ScriptedLLM([call("go_to", place="kitchen")], "Well.")
        self.agent = Agent("robi", llm=llm, tools=[go_to], latch=self.latch)

    def start(self):
        handle = self.agent.start("go to the kitchen")
        assert self.nav2.came.wait(LIMIT_S)
        return handle

    def drives(self) -> bool:
        self.velocities.take(AHEAD)
        return self.driver.velocity.forward_mps > 0

    def stands(self) -> bool:
        return [text for _, text in calls(self.log) if text != "open"][-1] in (
            "stop",
            "close",
            "velocity 0.0000 0.0000",
        )


@pytest.fixture
def trip(tmp_path: Path, ros: None) -> Iterator[Trip]:
    trip = Trip(tmp_path, ActionClient())
    yield trip
    trip.driver.close()


def result(handle):
    (made,) = handle.result(LIMIT_S).tool_calls
    return made.result


def test_a_goal_is_sent_as_a_pose_and_nav2_drives_until_it_has_arrived(trip: Trip) -> None:
    handle = trip.start()
    ((goal, _),) = trip.nav2.goals
    pose = goal.pose.pose
    assert (pose.position.x, pose.position.y, goal.pose.header.frame_id) == (3.0, -1.0, "map")
    assert math.isclose(2 * math.atan2(pose.orientation.z, pose.orientation.w), math.pi / 2)
    assert until(trip.drives)
    trip.nav2.end(SUCCEEDED)
    assert result(handle).text == "arrived at the kitchen"
    assert until(trip.stands)


def test_feedback_is_progress(trip: Trip) -> None:
    handle = trip.start()
    (goal,) = handle.goals.values()
    assert until(lambda: (trip.nav2.tell(2.34), goal.progress)[1] is not None)
    assert goal.progress == "2.3 m to go"
    trip.nav2.end(SUCCEEDED)
    handle.result(LIMIT_S)


def test_a_cancelled_skill_cancels_the_goal_and_stops_the_base(trip: Trip) -> None:
    handle = trip.start()
    ((_, sent),) = trip.nav2.goals
    assert until(trip.drives)
    (goal,) = handle.goals.values()
    goal.cancel()
    assert sent.cancels.wait(LIMIT_S)
    assert result(handle).status == "interrupted"
    assert until(trip.stands)


def test_a_goal_that_is_accepted_after_its_cancel_is_cancelled_then(tmp_path: Path, ros: None) -> None:
    trip = Trip(tmp_path, ActionClient(answers=False))
    handle = trip.start()
    (goal,) = handle.goals.values()
    goal.cancel()
    assert result(handle).status == "interrupted"
    ((_, sent),) = trip.nav2.goals
    assert not sent.cancels.is_set()
    trip.nav2.answer()
    assert sent.cancels.wait(LIMIT_S)
    trip.driver.close()


def test_a_latch_that_trips_ends_the_goal(trip: Trip) -> None:
    handle = trip.start()
    ((_, sent),) = trip.nav2.goals
    assert until(trip.drives)
    trip.latch.trip("somebody said stop")
    assert until(trip.stands)
    assert sent.cancels.wait(LIMIT_S)
    assert result(handle).status == "interrupted"


@pytest.mark.parametrize(
    ("status", "error_msg", "told"),
    [
        (ABORTED, "no valid path", "it failed: no valid path"),
        (ABORTED, "", "it failed: error 208"),
        (CANCELED, "", "another program cancelled it"),
        (0, "", "ended with status 0"),
    ],
)
def test_a_goal_that_does_not_succeed_is_an_error(trip: Trip, status: int, error_msg: str, told: str) -> None:
    handle = trip.start()
    trip.nav2.end(status, error_msg, 208)
    made = result(handle)
    assert made.is_error
    assert told in made.text


@pytest.mark.parametrize(
    ("nav2", "told"),
    [
        (ActionClient(ready=False), "does not answer"),
        (ActionClient(answers=False), "has not answered the goal"),
        (ActionClient(accepts=False), "was refused"),
        (ActionClient(), "no feedback came"),
    ],
    ids=["not there", "silent", "refuses", "dies"],
)
def test_a_nav2_that_is_not_there_or_dies_is_an_error(
    tmp_path: Path, ros: None, monkeypatch: pytest.MonkeyPatch, nav2: ActionClient, told: str
) -> None:
    import navigate

    monkeypatch.setattr(navigate, "ANSWER_S", 0.1)
    monkeypatch.setattr(navigate, "SILENT_S", 0.1)
    trip = Trip(tmp_path, nav2)
    made = result(trip.agent.start("go to the kitchen"))
    assert made.is_error
    assert told in made.text
    assert all(sent.cancels.is_set() for _, sent in nav2.goals if sent.accepted and nav2.answers)
    trip.driver.close()


def test_the_base_is_told_to_stand_when_nav2_sends_no_velocity_any_more(
    trip: Trip, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It need not wait until the lease of the last velocity is over, too."""
    told: list[tuple[float, ...]] = []
    set_velocity = Drive.set

    def noted(drive: Drive, *velocity: float) -> None:
        told.append(velocity)
        set_velocity(drive, *velocity)

    monkeypatch.setattr(Drive, "set", noted)
    handle = trip.start()
    assert until(trip.drives)
    assert until(lambda: told[-1] == ())  # nobody puts a newer velocity in
    assert until(trip.stands)
    assert not trip.nav2.goals[0][1].ended.done()
    trip.nav2.end(SUCCEEDED)
    handle.result(LIMIT_S)


def test_a_place_that_nobody_knows_is_an_error(trip: Trip) -> None:
    trip.agent.llm = ScriptedLLM([call("go_to", place="moon")], "No.")
    made = result(trip.agent.start("go to the moon"))
    assert "there is no moon; there are: kitchen" in made.text
    assert trip.nav2.goals == []


# --- without ROS ------------------------------------------------------------------------------------------------------


def test_an_environment_without_ros_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from navigate import pose_request
    from ros_base import import_ros

    monkeypatch.setitem(sys.modules, "rclpy", None)
    with pytest.raises(ConfigError, match="source /opt/ros"):
        import_ros()
    monkeypatch.setitem(sys.modules, "nav2_msgs", None)
    with pytest.raises(ConfigError, match="nav2-msgs"):
        pose_request(Node())
