"""The part that every robot needs: the safety latch."""

from edgeagent.robot.latch import LatchState, SafetyLatch

__all__ = ["LatchState", "SafetyLatch"]
