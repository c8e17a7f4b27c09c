"""The part that every robot needs: the safety latch, a base that stops by itself, and tools that drive one."""

from edgeagent.front import front
from edgeagent.robot.latch import LatchState, SafetyLatch

__all__ = ["LatchState", "SafetyLatch"]

__getattr__ = front(
    __name__,
    {
        "base": "Base BaseLimits Odometry Position Velocity",
        "base_driver": "BaseDriver Drive",
        "driving": "base_tools",
        "gpio_base": "GpioBase",
        "roboclaw": "RoboClaw",
        "simulated_base": "SimulatedBase",
    },
)
