"""The battery. Energy is counted in whole millijoules: a thousand steps at once equal a thousand single ones."""

from __future__ import annotations

from typing import Final

_MJ_PER_WH: Final = 3_600_000
CAPACITY_MJ: Final = 40 * _MJ_PER_WH
START_PERCENT: Final = 80

#: Millijoules in a step of 10 ms: 6 W at rest, 30 W while the wheels turn, 60 W from the dock.
_IDLE_MJ: Final = 60
_MOVING_MJ: Final = 300
_CHARGING_MJ: Final = 600


class Battery:
    """Drains all the time, faster while the base moves, and charges while the robot stands in its dock."""

    __slots__ = ("energy_mj",)

    def __init__(self) -> None:
        self.energy_mj = CAPACITY_MJ * START_PERCENT // 100

    @property
    def percent(self) -> int:
        """Rounded; 0 only when it is empty."""
        return -(-self.energy_mj * 100 // CAPACITY_MJ) if self.energy_mj < CAPACITY_MJ // 100 else self._rounded()

    @property
    def empty(self) -> bool:
        return self.energy_mj == 0

    def step(self, *, moving: bool, charging: bool, steps: int = 1) -> None:
        """Lets that many steps of 10 ms pass, all alike."""
        gain = _CHARGING_MJ if charging else -(_MOVING_MJ if moving else _IDLE_MJ)
        self.energy_mj = min(CAPACITY_MJ, max(0, self.energy_mj + gain * steps))

    def _rounded(self) -> int:
        return (self.energy_mj * 100 + CAPACITY_MJ // 2) // CAPACITY_MJ
