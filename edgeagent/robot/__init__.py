"""The simulated house robot, its tools and the safety latch. Names are loaded when they are first used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from edgeagent.robot.house import HouseRobot
    from edgeagent.robot.latch import LatchState, SafetyLatch

__all__ = ["HouseRobot", "LatchState", "SafetyLatch"]

_HOMES: Final = {"HouseRobot": "house", "LatchState": "latch", "SafetyLatch": "latch"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
