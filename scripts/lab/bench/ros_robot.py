"""A robot in ROS 2 that drives as it is told: ``python -m bench.ros_robot LOG``, in the environment of ``bench.ros``.

Writes a line for each velocity that comes on ``/cmd_vel``, with the seconds of the monotonic clock. Tells odometry, its
battery and a scan. Serves ``test_msgs/action/Fibonacci`` as an action that takes its time: the order of the request is
how many steps it takes, and a negative one fails. Velocities have a node and a thread of their own, as motors should:
beside timers and actions in one executor of Python, a velocity was taken up to 1.3 s late.
"""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import Twist
from nav_msgs.msg import Odometry
from rclpy.action import ActionServer, CancelResponse
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from sensor_msgs.msg import BatteryState, LaserScan
from test_msgs.action import Fibonacci

STEP_S = 0.1


class Robot:
    """Stands at first; integrates what it is told."""

    def __init__(self, node: Any, wheels: Any, log: Path) -> None:
        self._node, self._log = node, log
        self._forward = self._turn = self._x = self._y = self._yaw = 0.0
        self._moved_s = time.monotonic()
        wheels.create_subscription(Twist, "/cmd_vel", self._drive, 1)
        self._odometry = node.create_publisher(Odometry, "/odom", 1)
        self._battery = node.create_publisher(BatteryState, "/battery_state", 1)
        self._scan = node.create_publisher(LaserScan, "/scan", 1)
        node.create_timer(0.02, self._tell_odometry)
        node.create_timer(0.1, self._tell_sensors)

    def _drive(self, message: Twist) -> None:
        self._move()
        if (message.linear.x, message.angular.z) != (self._forward, self._turn):
            self._note(f"velocity {message.linear.x:.4f} {message.angular.z:.4f}")
        self._forward, self._turn = message.linear.x, message.angular.z

    def _move(self) -> None:
        now_s = time.monotonic()
        passed_s, self._moved_s = now_s - self._moved_s, now_s
        self._yaw += self._turn * passed_s
        self._x += self._forward * passed_s * math.cos(self._yaw)
        self._y += self._forward * passed_s * math.sin(self._yaw)

    def _tell_odometry(self) -> None:
        self._move()
        message = Odometry()
        message.pose.pose.position.x, message.pose.pose.position.y = self._x, self._y
        message.pose.pose.orientation.z = math.sin(self._yaw / 2)
        message.pose.pose.orientation.w = math.cos(self._yaw / 2)
        self._odometry.publish(message)

    def _tell_sensors(self) -> None:
        self._battery.publish(BatteryState(percentage=0.64, voltage=11.8))
        ranges = [math.inf, 2.5, math.nan, 0.01, 1.2]
        self._scan.publish(LaserScan(range_min=0.1, range_max=8.0, ranges=ranges))

    def _note(self, text: str) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(f"{time.monotonic():.4f} {text}\n")

    def work(self, goal: Any) -> Fibonacci.Result:
        """Takes the steps of an action until it is cancelled."""
        pause = threading.Event()
        for step in range(abs(goal.request.order)):
            if goal.is_cancel_requested:
                self._note("action cancelled")
                goal.canceled()
                return Fibonacci.Result()
            goal.publish_feedback(Fibonacci.Feedback(sequence=[step]))
            pause.wait(STEP_S)
        if goal.request.order < 0:
            goal.abort()
        else:
            goal.succeed()
        return Fibonacci.Result(sequence=[1, 1, 2])


def main(log: str) -> None:
    """Runs the robot until it is killed."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"  # a robot's nodes know nothing of the example's profile
    rclpy.init()
    node, wheels = rclpy.create_node("robot"), rclpy.create_node("wheels")
    robot = Robot(node, wheels, Path(log))
    motion = SingleThreadedExecutor()
    motion.add_node(wheels)
    threading.Thread(target=motion.spin, name="wheels", daemon=True).start()
    server = ActionServer(
        node, Fibonacci, "work", execute_callback=robot.work, cancel_callback=lambda _: CancelResponse.ACCEPT
    )
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    print("ready", flush=True)
    executor.spin()
    server.destroy()


if __name__ == "__main__":
    main(*sys.argv[1:])
