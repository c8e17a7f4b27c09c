"""A base behind ROS 2: velocities go to the dead man's switch of ``switch.py``, odometry comes from ``/odom``.

Needs rclpy, geometry_msgs, nav_msgs and std_msgs: ``source /opt/ros/kilted/setup.bash``. Runs in the driver's process.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot import RemoteBase, RosPose, Velocity

QUEUE = 1
"""Velocities that wait for a slow reader: an old one is worth nothing."""
PROFILED = ("kilted", "lyrical", "rolling")
"""Distributions with Fast DDS 3, which reads ``FASTDDS_DEFAULT_PROFILES_FILE``."""
CLOSE_S = 0.2
"""Seconds in which the thread that takes messages ends."""
GID_DIGITS = 32
"""Digits of a publisher's name: 16 bytes."""


def import_ros() -> Any:
    """Imports rclpy, for this machine alone unless the environment says otherwise.

    Raises:
        ConfigError: There is no ROS 2 in this environment.
    """
    try:
        import rclpy
    except ImportError as error:
        raise ConfigError(
            f"rclpy can't be imported ({error}): source /opt/ros/<distribution>/setup.bash first, and make the Python "
            "environment of edgeagent with --system-site-packages"
        ) from error
    if "ROS_AUTOMATIC_DISCOVERY_RANGE" not in os.environ:
        os.environ.update(_this_machine(rclpy.get_rmw_implementation_identifier()))
    return rclpy


def _this_machine(middleware: str) -> dict[str, str]:
    """Settings that keep ROS 2 on this machine. A Fast DDS that can't read the profile would keep it nowhere."""
    knows_profile = middleware.startswith("rmw_fastrtps") and os.environ.get("ROS_DISTRO", "") in PROFILED
    if not knows_profile or "FASTDDS_DEFAULT_PROFILES_FILE" in os.environ:
        return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    # with LOCALHOST Fast DDS shares memory, and who is stopped or killed with its lock keeps everybody else waiting
    profile = Path(__file__).resolve().parent / "loopback.xml"
    return {"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT", "FASTDDS_DEFAULT_PROFILES_FILE": str(profile)}


def link_qos() -> Any:
    """Quality of service between base and switch: nobody waits for a reader that is stopped."""
    from rclpy.qos import QoSProfile, ReliabilityPolicy

    return QoSProfile(depth=QUEUE, reliability=ReliabilityPolicy.BEST_EFFORT)


def twist_message(velocity: Velocity, node: Any, *, stamped: bool) -> Any:
    """A Twist, or a TwistStamped in the robot's own frame."""
    from geometry_msgs.msg import Twist, TwistStamped

    twist = Twist()
    twist.linear.x, twist.angular.z = velocity.forward_mps, velocity.turn_rps
    if not stamped:
        return twist
    message = TwistStamped(twist=twist)
    message.header.stamp, message.header.frame_id = node.get_clock().now().to_msg(), "base_link"
    return message


def twist_type(*, stamped: bool) -> Any:
    from geometry_msgs.msg import Twist, TwistStamped

    return TwistStamped if stamped else Twist


@dataclass(kw_only=True)
class RosBase(RemoteBase):
    """A robot that obeys ``/cmd_vel``, behind the switch.

    Attributes:
        topic: Topic of the velocities, which ``switch.py`` reads.
        odometry_topic: Topic of ``nav_msgs/msg/Odometry``.
        stamped: Sends ``geometry_msgs/msg/TwistStamped``; ``switch.py --stamped`` reads that.
    """

    topic: str = "/cmd_vel_agent"
    odometry_topic: str = "/odom"
    stamped: bool = False

    @property
    def sender(self) -> str:
        return self._sender

    @property
    def switch_hint(self) -> str:
        return "python3 examples/ros2/switch.py" + (" --stamped" if self.stamped else "")

    def open(self) -> None:
        super().open()
        if not self.is_known and self._node.count_publishers(self.topic) > 1:
            raise DriveError(f"another program publishes on {self.topic}, and this ROS does not tell them apart")

    def connect(self) -> None:
        self._node: Any = None
        self._context: Any = None
        self._executor: Any = None
        self._sender = ""
        rclpy = import_ros()
        from nav_msgs.msg import Odometry
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import qos_profile_sensor_data
        from rclpy.signals import SignalHandlerOptions
        from std_msgs.msg import String

        self._context = rclpy.Context()
        # the driver's process has handlers of its own
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node(f"edgeagent_base_{os.getpid()}", context=self._context)
        self._velocities = self._node.create_publisher(twist_type(stamped=self.stamped), self.topic, link_qos())
        self._sender = own_gid(self._node, self.topic)
        states = f"{self.topic}/switch"
        self._node.create_subscription(String, states, lambda message: self.hear_switch(message.data), link_qos())
        if self.has_odometry:
            # a reader that asks for no reliability hears writers of both kinds
            self._node.create_subscription(Odometry, self.odometry_topic, self._take_odometry, qos_profile_sensor_data)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._spinning = threading.Thread(target=self._executor.spin, name="ros-base", daemon=True)
        self._spinning.start()

    def publish(self, velocity: Velocity) -> None:
        if self._node is not None:
            self._velocities.publish(twist_message(velocity, self._node, stamped=self.stamped))

    def disconnect(self) -> None:
        node, self._node = self._node, None
        if self._executor is not None:
            self._executor.shutdown(timeout_sec=CLOSE_S)
            self._spinning.join(CLOSE_S)
        if node is not None:
            node.destroy_node()
        if self._context is not None:
            self._context.try_shutdown()

    def _take_odometry(self, message: Any) -> None:
        position, turned = message.pose.pose.position, message.pose.pose.orientation
        self.hear_pose(RosPose(position.x, position.y, turned.x, turned.y, turned.z, turned.w))


def own_gid(node: Any, topic: str) -> str:
    """Name of a node's own publisher, as its readers see it."""
    for info in node.get_publishers_info_by_topic(topic):
        if info.node_name == node.get_name():
            return bytes(info.endpoint_gid).hex()[:GID_DIGITS]
    return ""


def sender_gid(info: Any) -> str:
    """Name of the publisher of a message, empty in a ROS that does not tell it (before Kilted)."""
    gid = info.get("publisher_gid") or {}
    return bytes(gid.get("data", b"")).hex()[:GID_DIGITS]
