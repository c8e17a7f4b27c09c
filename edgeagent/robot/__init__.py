"""The part that every robot needs: the safety latch, a base that stops by itself, and tools that drive one."""

from typing import TYPE_CHECKING

from edgeagent.front import front
from edgeagent.robot.latch import LatchState, SafetyLatch

if TYPE_CHECKING:
    from edgeagent.robot.base import Base, BaseLimits, Odometry, Position, SimulatedBase, Velocity
    from edgeagent.robot.base_driver import BaseDriver, Drive
    from edgeagent.robot.base_process import keep_awake
    from edgeagent.robot.cdr import RosPose, decode_twist, encode_odometry, encode_twist
    from edgeagent.robot.dead_mans_switch import DeadMansSwitch, SwitchRelay, SwitchState
    from edgeagent.robot.driving import base_tools
    from edgeagent.robot.gpio_base import GpioBase
    from edgeagent.robot.gpio_parts import GpioDistance, GpioLight, GpioServo, GpioStopButton, GpioTalkButton
    from edgeagent.robot.motor_boards import RoboClaw, Sabertooth
    from edgeagent.robot.remote_base import RemoteBase, ZenohBase, open_session

__all__ = [
    "Base",
    "BaseDriver",
    "BaseLimits",
    "DeadMansSwitch",
    "Drive",
    "GpioBase",
    "GpioDistance",
    "GpioLight",
    "GpioServo",
    "GpioStopButton",
    "GpioTalkButton",
    "LatchState",
    "Odometry",
    "Position",
    "RemoteBase",
    "RoboClaw",
    "RosPose",
    "Sabertooth",
    "SafetyLatch",
    "SimulatedBase",
    "SwitchRelay",
    "SwitchState",
    "Velocity",
    "ZenohBase",
    "base_tools",
    "decode_twist",
    "encode_odometry",
    "encode_twist",
    "keep_awake",
    "open_session",
]

__getattr__ = front(
    __name__,
    {
        "base": "Base BaseLimits Odometry Position SimulatedBase Velocity",
        "base_driver": "BaseDriver Drive",
        "base_process": "keep_awake",
        "cdr": "RosPose decode_twist encode_odometry encode_twist",
        "dead_mans_switch": "DeadMansSwitch SwitchRelay SwitchState",
        "driving": "base_tools",
        "gpio_base": "GpioBase",
        "gpio_parts": "GpioDistance GpioLight GpioServo GpioStopButton GpioTalkButton",
        "motor_boards": "RoboClaw Sabertooth",
        "remote_base": "RemoteBase ZenohBase open_session",
    },
)
