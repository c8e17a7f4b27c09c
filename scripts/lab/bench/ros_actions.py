"""Actions and topics of ``bench.ros``: the example's ``follow`` with a real action server, its tools with real topics.

The action is ``test_msgs/action/Fibonacci``, because ``nav2_msgs`` is no package of the Python index.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from navigate import ActionFailedError, follow
from ros_base import import_ros
from topics import Topic, say_battery, say_nearest, spin, topic_tool

from edgeagent import Agent, GoalHandle, ToolResult, skill
from edgeagent.testing import ScriptedLLM, call
from tests.robot.bases import calls, until

rclpy = import_ros()
from rclpy.action import ActionClient  # noqa: E402  import_ros says which network to use
from sensor_msgs.msg import BatteryState, LaserScan  # noqa: E402
from test_msgs.action import Fibonacci  # noqa: E402

WAIT_S = 20.0


def main(log: str) -> int:
    """Plays each case and prints its result. Returns 1 when one of them went wrong."""
    rclpy.init()
    node = rclpy.create_node("actions")
    client = ActionClient(node, Fibonacci, "work")
    topics = Topic(node, BatteryState, "/battery_state"), Topic(node, LaserScan, "/scan")
    tools = [
        topic_tool(topics[0], say_battery, name="get_battery", description="Battery."),
        topic_tool(topics[1], say_nearest, name="get_distance", description="Nearest thing."),
    ]
    spin(node)

    @skill
    def work(steps: int, goal: GoalHandle) -> ToolResult | str:
        """Work."""
        try:
            result = follow(client, Fibonacci.Goal(order=steps), goal, tell=lambda told: f"step {told.sequence[0]}")
        except ActionFailedError as error:
            return ToolResult.error(str(error))
        return f"done: {list(result.sequence)}"

    def run(name: str, arguments: dict[str, Any], meanwhile: Callable[[Any], None] = lambda handle: None) -> ToolResult:
        agent = Agent("robi", llm=ScriptedLLM([call(name, **arguments)], "Well."), tools=[work, *tools])
        handle = agent.start("go on")
        meanwhile(handle)
        return handle.result(WAIT_S).tool_calls[0].result

    def cancel(handle: Any) -> None:
        until(lambda: any(goal.progress for goal in handle.goals.values()), WAIT_S)
        for goal in handle.goals.values():
            goal.cancel()

    until(lambda: all(topic.has_some for topic in topics), WAIT_S)
    is_right = True
    for title, told, wanted in (
        ("an action succeeds", run("work", {"steps": 3}).text, "done: [1, 1, 2]"),
        ("an action fails", run("work", {"steps": -3}).text, "it failed"),
        ("a skill is cancelled", run("work", {"steps": 100}, cancel).status, "interrupted"),
        ("its action is cancelled, too", str(until(lambda: "action cancelled" in _notes(log), WAIT_S)), "True"),
        ("a battery is told", run("get_battery", {}).text, "battery at 64 percent"),
        ("a scan is told", run("get_distance", {}).text, "1.20 m"),
    ):
        print(f"{title:<32}  {told}", flush=True)
        is_right = is_right and wanted in told
    return 0 if is_right else 1


def _notes(log: str) -> list[str]:
    return [text for _, text in calls(Path(log))]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
