"""The part that every robot needs: the safety latch, a base that stops by itself, and tools that drive one."""

from edgeagent.front import front
from edgeagent.robot.latch import LatchState, SafetyLatch

__all__ = ["LatchState", "SafetyLatch"]

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
        "remote_base": "RemoteBase",
        "zenoh_base": "ZenohBase open_session",
    },
)
