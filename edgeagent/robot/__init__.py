"""The part that every robot needs: the safety latch, and a base that stops by itself."""

from edgeagent.front import front
from edgeagent.robot.latch import LatchState, SafetyLatch

__all__ = ["LatchState", "SafetyLatch"]

__getattr__ = front(
    __name__,
    {
        "base": "Base BaseLimits Odometry Velocity",
        "base_driver": "BaseDriver Drive",
        "cdr": "Pose encode_odometry",
        "dead_mans_switch": "DeadMansSwitch SwitchState",
        "gpio_base": "GpioBase",
        "remote_base": "RemoteBase",
        "roboclaw": "RoboClaw",
        "simulated_base": "SimulatedBase",
        "zenoh_base": "ZenohBase",
    },
)
