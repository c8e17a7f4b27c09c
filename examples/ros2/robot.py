"""A robot behind ROS 2. Run it with: edgeagent chat --app examples/ros2/robot.py

Start the switch first, in a terminal of its own: python3 examples/ros2/switch.py
"""

import math

from ros_base import RosBase, import_ros
from topics import Topic, say_battery, say_nearest, spin, topic_tool

from edgeagent import Agent, GoalHandle, skill
from edgeagent.robot import BaseDriver, BaseLimits

rclpy = import_ros()
from rclpy.signals import SignalHandlerOptions  # noqa: E402  import_ros says which network to use
from sensor_msgs.msg import BatteryState, LaserScan  # noqa: E402

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is edgeagent's
node = rclpy.create_node("edgeagent")
driver = BaseDriver(RosBase(limits=BaseLimits(speed_mps=0.3, distance_m=5.0, board_timeout_s=0.3)))


def drive_until(goal: GoalHandle, forward_mps: float, turn_rps: float, way: float) -> None:
    """Drives until the odometer has told a way, in metres or radians."""
    with driver.drive() as drive:
        begun = drive.odometry
        while True:
            goal.checkpoint()
            now = drive.odometry
            travelled = now.travelled_m - begun.travelled_m if forward_mps else now.turned_rad - begun.turned_rad
            if abs(travelled) >= way:
                return
            drive.set(forward_mps, turn_rps)  # a lease of 0.3 s
            goal.cancel_event.wait(0.02)


base = skill(resources=["base"], stop=driver.stop, pause=driver.hold, resume=driver.release)


@base
def drive(distance_m: float, goal: GoalHandle) -> str:
    """Drive straight; negative is backwards."""
    drive_until(goal, math.copysign(0.2, distance_m), 0.0, abs(distance_m))
    return f"drove {distance_m:g} m"


@base
def turn(angle_deg: float, goal: GoalHandle) -> str:
    """Turn on the spot; negative is to the right."""
    drive_until(goal, 0.0, math.copysign(0.5, angle_deg), math.radians(abs(angle_deg)))
    return f"turned {angle_deg:g} degrees"


get_battery = topic_tool(
    Topic(node, BatteryState, "/battery_state"), say_battery, name="get_battery", description="Battery level."
)
get_distance = topic_tool(
    Topic(node, LaserScan, "/scan"), say_nearest, name="get_distance", description="Distance of the nearest thing."
)
spin(node)

agent = Agent("rover", "You are a robot. Act with the tools.", tools=[drive, turn, get_battery, get_distance])
