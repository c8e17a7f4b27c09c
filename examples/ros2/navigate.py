"""Nav2's NavigateToPose as a skill: progress from its feedback, cancel, and the lease of the base for every velocity.

Nav2 plans, and its velocities go through ``BaseDriver``: remap the last node of Nav2 to ``/cmd_vel_nav2`` (the
parameter ``cmd_vel_out_topic`` of its collision monitor). So limits, latch and the dead man's switch hold for Nav2 too,
and the robot stands when the agent is killed, though Nav2 would go on.

Fields as in ``nav2_msgs/action/NavigateToPose`` of Jazzy to Rolling. Not run with a robot yet.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from topics import Topic

from edgeagent import GoalHandle, Tool, ToolResult, skill
from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import BaseDriver, Drive

ANSWER_S = 3.0
"""Seconds in which an action's server has to answer a goal or a cancel."""
SILENT_S = 5.0
"""Seconds without feedback after which a server is taken for dead."""
LOOK_S = 0.02
"""Seconds between two looks at a goal."""
FRESH_S = 0.3
"""Seconds for which a velocity of Nav2 counts."""
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6
"""Of ``action_msgs/msg/GoalStatus``."""

Place = tuple[float, float, float]
"""Metres to the east and north on the map, and degrees to the left of east."""


class ActionFailedError(Exception):
    """An action was refused, has failed, or its server does not answer."""


def follow(
    client: Any,
    request: Any,
    goal: GoalHandle,
    *,
    tell: Callable[[Any], str],
    each: Callable[[], None] = lambda: None,
) -> Any:
    """Sends a goal to a ROS action and follows it until it has ended; a cancelled skill cancels it.

    Args:
        client: An ``rclpy.action.ActionClient``, whose node somebody spins.
        request: Goal of the action.
        goal: Goal of the skill whose body calls this.
        tell: Makes a progress of a feedback.
        each: Called every 20 ms while the action works.

    Returns:
        The result of an action that succeeded.

    Raises:
        ActionFailedError: It did not succeed; the text says why.
    """
    _wait(client.server_is_ready, goal, "does not answer: is its node running, and active?")
    heard_s = time.monotonic()

    def hear(message: Any) -> None:
        nonlocal heard_s
        heard_s = time.monotonic()
        goal.set_progress(tell(message.feedback))

    sent = client.send_goal_async(request, feedback_callback=hear)
    try:
        _wait(sent.done, goal, "has not answered the goal")
        handle = sent.result()
        if not handle.accepted:
            raise ActionFailedError("the goal was refused")
        ended = handle.get_result_async()
        while not ended.done():
            goal.checkpoint()
            if time.monotonic() - heard_s > SILENT_S:
                raise ActionFailedError(f"no feedback came for {SILENT_S:g} s: has its node died?")
            each()
            goal.cancel_event.wait(LOOK_S)
    except BaseException:
        # also when the goal is accepted only later
        sent.add_done_callback(_cancel)
        raise
    return _succeeded(ended.result())


def _wait(is_so: Callable[[], bool], goal: GoalHandle, failure: str) -> None:
    end_s = time.monotonic() + ANSWER_S
    while not is_so():
        goal.checkpoint()
        if time.monotonic() > end_s:
            raise ActionFailedError(f"the action {failure}")
        goal.cancel_event.wait(LOOK_S)


def _cancel(sent: Any) -> None:
    handle = sent.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()


def _succeeded(response: Any) -> Any:
    if response.status == SUCCEEDED:
        return response.result
    told = (
        getattr(response.result, "error_msg", "") or f"error {getattr(response.result, 'error_code', 'without a code')}"
    )
    names = {CANCELED: "another program cancelled it", ABORTED: f"it failed: {told}"}
    raise ActionFailedError(names.get(response.status, f"it ended with status {response.status}"))


# --- Nav2 -------------------------------------------------------------------------------------------------------------


def navigate_skill(
    client: Any,
    request: Callable[[Place], Any],
    places: Mapping[str, Place],
    *,
    driver: BaseDriver,
    velocities: Topic,
) -> Tool:
    """A skill ``go_to(place)`` that has Nav2 drive the base.

    Args:
        client: An ``ActionClient`` of NavigateToPose.
        request: Makes a goal of a place, such as ``pose_request(node)``.
        places: Places that people know, on the robot's map.
        driver: Driver of the base, through which every velocity goes.
        velocities: Velocities of Nav2, ``geometry_msgs/msg/Twist``.
    """

    @skill(
        description=f"Go to a place. Places: {', '.join(places)}.",
        resources=["base"],
        stop=driver.stop,
        pause=driver.hold,
        resume=driver.release,
    )
    def go_to(place: str, goal: GoalHandle) -> ToolResult | str:
        if place not in places:
            return ToolResult.error(f"there is no {place}; there are: {', '.join(places)}")
        try:
            with driver.drive() as drive:
                follow(client, request(places[place]), goal, tell=_way_left, each=lambda: _pass(velocities, drive))
        except (ActionFailedError, DriveError) as error:
            return ToolResult.error(f"not at the {place}: {error}")
        return f"arrived at the {place}"

    return go_to


def pose_request(node: Any, frame: str = "map") -> Callable[[Place], Any]:
    """Makes goals of NavigateToPose.

    Raises:
        ConfigError: nav2_msgs is not installed.
    """
    try:
        from nav2_msgs.action import NavigateToPose
    except ImportError as error:
        raise ConfigError("nav2_msgs is not installed: sudo apt-get install ros-$ROS_DISTRO-nav2-msgs") from error

    def request(place: Place) -> Any:
        east_m, north_m, degrees = place
        goal = NavigateToPose.Goal()
        goal.pose.header.frame_id = frame
        goal.pose.header.stamp = node.get_clock().now().to_msg()
        goal.pose.pose.position.x, goal.pose.pose.position.y = east_m, north_m
        goal.pose.pose.orientation.z = math.sin(math.radians(degrees) / 2)
        goal.pose.pose.orientation.w = math.cos(math.radians(degrees) / 2)
        return goal

    return request


def _way_left(feedback: Any) -> str:
    return f"{feedback.distance_remaining:.1f} m to go"


def _pass(velocities: Topic, drive: Drive) -> None:
    """Drives as Nav2 wants now; without a fresh velocity the base stands."""
    try:
        twist = velocities.read(within_s=FRESH_S)
    except LookupError:
        drive.set()
        return
    drive.set(twist.linear.x, twist.angular.z)
