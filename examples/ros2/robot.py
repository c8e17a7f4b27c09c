"""A robot behind ROS 2. Run it with: edgeagent chat --app examples/ros2/robot.py

Start the switch first, in a terminal of its own: python3 examples/ros2/switch.py
"""

from ros_base import RosBase, import_ros
from topics import Topic, nearest_ahead, say_battery, say_nearest, spin, topic_tool

from edgeagent import Agent
from edgeagent.robot import BaseDriver, BaseLimits, base_tools

rclpy = import_ros()
from rclpy.signals import SignalHandlerOptions  # noqa: E402  import_ros says which network to use
from sensor_msgs.msg import BatteryState, LaserScan  # noqa: E402

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is edgeagent's
node = rclpy.create_node("edgeagent")
base = RosBase(limits=BaseLimits(speed_mps=0.2, turn_rps=0.5, distance_m=5.0, board_timeout_s=0.3))
driver = BaseDriver(base)
laser = Topic(node, LaserScan, "/scan")


def ahead() -> tuple[float, float]:
    """Metres to the nearest thing ahead, and when that came: an older one than 0.3 s stops the robot."""
    scan, came_s = laser.newest()
    return nearest_ahead(scan), came_s


get_battery = topic_tool(
    Topic(node, BatteryState, "/battery_state"), say_battery, name="get_battery", description="Battery level."
)
get_distance = topic_tool(laser, say_nearest, name="get_distance", description="Distance of the nearest thing around.")
spin(node)

tools = [*base_tools(driver, distance=ahead), get_battery, get_distance]
agent = Agent("rover", "You are a robot. Act with the tools.", tools=tools)
