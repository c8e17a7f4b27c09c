"""The base of a robot: the seam between whatever drives and the motors; and a base without motors.

Values and one protocol. Knows nothing of processes, agents or models. ``BaseDriver`` runs a base in a process of its
own, and is the only caller of its methods.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Final, Protocol

from edgeagent.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Velocity:
    """Velocity of a base that can drive straight and turn.

    Attributes:
        forward_mps: Metres a second; negative is backwards.
        turn_rps: Radians a second; positive is to the left, as in REP 103 of ROS.
    """

    forward_mps: float = 0.0
    turn_rps: float = 0.0

    @property
    def is_zero(self) -> bool:
        return self.forward_mps == 0.0 and self.turn_rps == 0.0

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.forward_mps) and math.isfinite(self.turn_rps)

    def wheels(self, track_m: float) -> tuple[float, float]:
        """Metres a second of the left and the right wheel, which are that far apart."""
        half_mps = self.turn_rps * track_m / 2
        return self.forward_mps - half_mps, self.forward_mps + half_mps

    def powers(self, full_speed_mps: float, track_m: float) -> tuple[float, float]:
        """Shares of full power, from -1 to 1, of the left and the right wheel. A curve that is too fast for one of them
        keeps its shape: both slow down together."""
        left, right = (mps / full_speed_mps for mps in self.wheels(track_m))
        largest = max(1.0, abs(left), abs(right))
        return left / largest, right / largest


ZERO = Velocity()


@dataclass(frozen=True, slots=True)
class Odometry:
    """Way of a base since it was opened, from its encoders.

    Attributes:
        travelled_m: Way forward minus way back, in metres.
        turned_rad: Angle to the left minus angle to the right, in radians, never wrapped.
    """

    travelled_m: float = 0.0
    turned_rad: float = 0.0

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.travelled_m) and math.isfinite(self.turned_rad)


@dataclass(frozen=True, slots=True)
class Position:
    """Position of a base by dead reckoning from where its driver first opened it.

    Attributes:
        ahead_m: Metres ahead of the start, as the base looked then.
        left_m: Metres to the left of that line.
        heading_rad: Angle to the left since the start, in radians, never wrapped.
    """

    ahead_m: float = 0.0
    left_m: float = 0.0
    heading_rad: float = 0.0

    def moved(self, metres: float, radians: float) -> Position:
        """The position after a short way, which is taken for straight in the middle of its turn."""
        middle = self.heading_rad + radians / 2
        return Position(
            self.ahead_m + metres * math.cos(middle),
            self.left_m + metres * math.sin(middle),
            self.heading_rad + radians,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseLimits:
    """Limits that the driver's process keeps, whatever is asked of it.

    Raises:
        ConfigError: A limit is no positive number.
    """

    speed_mps: float = 0.3
    """Metres a second, forward and back. A larger number needs a longer way to stand still."""
    turn_rps: float = math.radians(60)
    """Radians a second, to both sides."""
    acceleration_mps2: float = 0.5
    """Metres a second squared while speeding up. Slowing down and stopping are never held back."""
    turn_acceleration_rps2: float = math.radians(180)
    """Radians a second squared while the turn speeds up."""
    distance_m: float = 10.0
    """Metres that one drive may cover; the drive ends there. A larger number lets a wrong distance go further."""
    turn_rad: float = 4 * math.pi
    """Radians that one drive may turn; the drive ends there."""
    board_timeout_s: float | None = None
    """Seconds without a command after which the board itself stops the motors; None if it never does. Only that helps
    when the driver's process is killed or stopped."""
    low_battery_v: float | None = None
    """Volts below which no drive begins, for a base that has ``battery_v``; None for no such limit."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            if value is None and limit.default is None:
                continue
            if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
                raise ConfigError(f"{limit.name} of a base's limits is {value!r}; it must be a number above 0")

    def reached_by(self, full_speed_mps: float, track_m: float, *, of: str) -> BaseLimits:
        """Limits that two wheels can reach. A way that is counted by the commanded speed is too long beyond them.

        Args:
            full_speed_mps: Metres a second of a wheel at full power.
            track_m: Metres between the wheels.
            of: Base, for the error.

        Raises:
            ConfigError: A speed or a distance is not above 0.
        """
        for name, value in (("full_speed_mps", full_speed_mps), ("track_m", track_m)):
            if not 0 < value < math.inf:
                raise ConfigError(f"{name} of {of} is {value!r}; it must be a number above 0")
        turn_rps = min(self.turn_rps, 2 * full_speed_mps / track_m)
        return replace(self, speed_mps=min(self.speed_mps, full_speed_mps), turn_rps=turn_rps)


class Base(Protocol):
    """Motors of a robot, as a builder writes them.

    The driver pickles the object into a process of its own and calls ``open`` there first, so a constructor only keeps
    settings: ports and pins are opened by ``open``. All methods are called from one thread. Each should return within
    20 ms; the base is given up when one raises or takes longer than half a second, and when one takes longer than 0.1 s
    in two steps, one after the other. A base that measures its battery has one more method: ``battery_v``, which
    returns volts and is called every few seconds.

    Attributes:
        limits: Limits for the driver's process.
    """

    limits: BaseLimits

    def open(self) -> None:
        """Opens the hardware, motors at rest."""
        ...

    def set_velocity(self, velocity: Velocity) -> None:
        """Commands a velocity, which holds until the next one. Called every 20 ms while the base drives."""
        ...

    def odometry(self) -> Odometry | None:
        """Reads the way since ``open``; None for a base without encoders."""
        ...

    def stop(self) -> None:
        """Brings the motors to rest at once, without a ramp."""
        ...

    def close(self) -> None:
        """Leaves pins and port in their safe state. Called after ``stop`` and zero velocity, also after an error."""
        ...


# --- a base without motors --------------------------------------------------------------------------------------------


ENDS_WITH_ITS_PROCESS_S: Final = 0.1
"""Time-out of a board that does not exist: its motion is in the process, and ends with it."""


@dataclass
class SimulatedBase:
    """Moves as it is told, at once and exactly. Stands without a command for the time-out, as a board with one does.

    Attributes:
        limits: Limits for the driver's process, and the time-out.
        log: A file that takes a line for each change of the velocity and each other call, with the seconds of the
            monotonic clock; None for none.
    """

    limits: BaseLimits = field(default_factory=lambda: BaseLimits(board_timeout_s=ENDS_WITH_ITS_PROCESS_S))
    log: Path | None = None

    def open(self) -> None:
        self._velocity, self._since_s = ZERO, time.monotonic()
        self._told_s = self._since_s
        self._way = Odometry()
        self._note("open")

    def set_velocity(self, velocity: Velocity) -> None:
        self.odometry()
        if velocity != self._velocity:
            self._note(f"velocity {velocity.forward_mps:.4f} {velocity.turn_rps:.4f}")
        self._velocity, self._told_s = velocity, time.monotonic()

    def odometry(self) -> Odometry:
        now_s = time.monotonic()
        driven_s = min(now_s, self._told_s + (self.limits.board_timeout_s or math.inf))
        passed_s, self._since_s = max(0.0, driven_s - self._since_s), now_s
        self._way = Odometry(
            self._way.travelled_m + self._velocity.forward_mps * passed_s,
            self._way.turned_rad + self._velocity.turn_rps * passed_s,
        )
        return self._way

    def stop(self) -> None:
        self.odometry()
        self._velocity = ZERO
        self._note("stop")

    def close(self) -> None:
        self._note("close")

    def _note(self, text: str) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"{time.monotonic():.4f} {text}\n")
