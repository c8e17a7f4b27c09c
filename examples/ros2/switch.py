"""A dead man's switch as a ROS 2 node: passes velocities on to the robot while they come, and sends zero when not.

    python3 examples/ros2/switch.py                       /cmd_vel_agent to /cmd_vel, zero after 0.3 s
    python3 examples/ros2/switch.py --stamped             with TwistStamped on both
    python3 examples/ros2/switch.py --output /cmd_vel_in  to another topic, for instance of twist_mux

Start it with the robot and not with the agent: it must live on when the agent dies.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
from typing import Any

from ros_base import QUEUE, import_ros, link_qos, sender_gid, twist_message, twist_type

from edgeagent.errors import EdgeAgentError
from edgeagent.robot import DeadMansSwitch, SwitchRelay, Velocity, keep_awake

TICK_S = 0.01
"""Seconds between two looks, by which zero may come late."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", default="/cmd_vel_agent", help="topic of RosBase (%(default)s)")
    parser.add_argument("--output", default="/cmd_vel", help="topic of the robot (%(default)s)")
    parser.add_argument("--stamped", action="store_true", help="TwistStamped instead of Twist")
    parser.add_argument("--timeout", type=float, default=0.3, help="seconds a velocity holds (%(default)s)")
    given = parser.parse_args()
    logging.basicConfig(format="%(message)s")
    try:
        switch = DeadMansSwitch(given.timeout)
        rclpy = import_ros()
    except EdgeAgentError as error:
        sys.stderr.write(f"switch.py: {error}\n")
        return 2
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions
    from std_msgs.msg import String

    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node("dead_mans_switch")
    kind = twist_type(stamped=given.stamped)
    robot = node.create_publisher(kind, given.output, QUEUE)
    states = node.create_publisher(String, f"{given.input}/switch", link_qos())
    relay = SwitchRelay(
        switch,
        send=lambda velocity: robot.publish(twist_message(velocity, node, stamped=given.stamped)),
        tell=lambda state: states.publish(String(data=state)),
        is_heard=lambda: robot.get_subscription_count() > 0,
    )

    def take(message: Any, info: Any) -> None:
        twist = message.twist if given.stamped else message
        velocity = Velocity(twist.linear.x, twist.angular.z)
        relay.take(lambda: (velocity, sender_gid(info), info["source_timestamp"] / 1e9), time.monotonic())
        relay.look(time.monotonic())

    node.create_subscription(kind, given.input, take, link_qos())
    running = True

    def end(*_: object) -> None:
        nonlocal running
        running = False

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    keep_awake()
    sys.stderr.write(f"the switch passes {given.input} on to {given.output}\n")
    try:
        while running:
            executor.spin_once(timeout_sec=TICK_S)
            relay.look(time.monotonic())
    finally:
        relay.end()
        rclpy.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
