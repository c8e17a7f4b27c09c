"""Topics of ROS 2 as read-only tools: the newest message, said in a sentence.

``topic_tool`` makes a tool of any topic. ``say_battery`` and ``say_nearest`` are two sentences. ``nearest_ahead`` is
the distance to what a robot would drive into.
"""

from __future__ import annotations

import atexit
import math
import threading
import time
from collections.abc import Callable
from typing import Any

from edgeagent import Tool, tool

CLOSE_S = 1.0
"""Seconds in which the thread that takes messages ends."""
OLD_S = 3.0
"""Seconds after which a message says nothing about now."""
AHEAD_RAD = math.radians(30)
"""Angle to both sides of straight on that counts as ahead: 0.35 m before the laser as wide as a robot of 0.4 m."""


def spin(node: Any) -> None:
    """Takes the messages of a node on a thread of its own, until the program ends."""
    from rclpy.executors import SingleThreadedExecutor

    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, name="ros", daemon=True)
    thread.start()

    def end() -> None:
        # a thread that is inside of rclpy when the interpreter goes would abort the process
        executor.shutdown(timeout_sec=CLOSE_S)
        thread.join(CLOSE_S)

    atexit.register(end)


class Topic:
    """The newest message of a topic. Any thread may read it.

    Args:
        node: A node that somebody spins.
        kind: Class of the messages.
        name: Name of the topic.
    """

    def __init__(self, node: Any, kind: Any, name: str) -> None:
        from rclpy.qos import qos_profile_sensor_data

        self.name = name
        self._newest: tuple[float, Any] | None = None
        node.create_subscription(kind, name, self.take, qos_profile_sensor_data)

    def take(self, message: Any) -> None:
        self._newest = time.monotonic(), message

    @property
    def has_some(self) -> bool:
        """True once a message has come."""
        return self._newest is not None

    def newest(self) -> tuple[Any, float]:
        """The newest message, and the ``time.monotonic()`` at which it came.

        Raises:
            LookupError: None has come.
        """
        if self._newest is None:
            raise LookupError(f"nothing has come on {self.name} yet: is its node running?")
        taken_s, message = self._newest
        return message, taken_s

    def read(self, within_s: float = OLD_S) -> Any:
        """The newest message.

        Raises:
            LookupError: None has come, or none that is new enough.
        """
        message, taken_s = self.newest()
        age_s = time.monotonic() - taken_s
        if age_s > within_s:
            raise LookupError(f"nothing has come on {self.name} for {age_s:.0f} s")
        return message


def topic_tool(topic: Topic, say: Callable[[Any], str], *, name: str, description: str) -> Tool:
    """A read-only tool that says the newest message of a topic. A silent topic is an error result."""

    def look() -> str:
        return say(topic.read())

    return tool(name=name, description=description, read_only=True)(look)


def say_battery(message: Any) -> str:
    """Says a ``sensor_msgs/msg/BatteryState``. Its ``percentage`` is a share of 1, or NaN where nobody measures it."""
    if math.isfinite(message.percentage) and 0 <= message.percentage <= 1:
        return f"battery at {100 * message.percentage:.0f} percent"
    if math.isfinite(message.voltage):
        return f"battery at {message.voltage:.1f} volts"
    raise ValueError("the battery tells no number")


def say_nearest(message: Any) -> str:
    """Says the nearest distance of a ``sensor_msgs/msg/LaserScan``. Infinity is nothing there; the rest out of range is
    no measurement."""
    there = [metres for metres in message.ranges if message.range_min <= metres <= message.range_max]
    if there:
        return f"the nearest thing is {min(there):.2f} m away"
    if math.inf in message.ranges:
        return f"nothing within {message.range_max:.0f} m"
    raise ValueError("the scan has no measurement")


def nearest_ahead(message: Any) -> float:
    """Metres to the nearest thing ahead in a ``sensor_msgs/msg/LaserScan``; infinity for none.

    Angle 0 of the laser looks ahead. Negative infinity is something too near to be measured (REP 117).

    Raises:
        ValueError: Nothing was measured there, which says nothing about the way.
    """
    ahead = []
    for number, metres in enumerate(message.ranges):
        angle = math.remainder(message.angle_min + number * message.angle_increment, math.tau)
        if abs(angle) <= AHEAD_RAD:
            ahead.append(message.range_min if metres == -math.inf else metres)
    there = [metres for metres in ahead if message.range_min <= metres <= message.range_max]
    if there:
        return float(min(there))
    if math.inf in ahead:
        return math.inf
    raise ValueError("the scan has no measurement ahead")
