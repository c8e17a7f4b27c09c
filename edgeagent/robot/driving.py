"""The house robot's driving for every base: ``base_tools``, a toolset over the ``Base`` protocol.

A command is a closed loop on the odometry that ``BaseDriver`` tells, on the thread of its skill; that loop is the lease
of the base. Ramps up and the limits are the driver's. Knows nothing of maps and models.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import Base, Position
from edgeagent.robot.base_driver import BaseDriver, DriveEnded
from edgeagent.robot.base_process import LOW_BATTERY
from edgeagent.robot.commands import (
    BATTERY,
    LOCATION,
    SCAN,
    CommandReport,
    asking_tool,
    driving_tools,
    number,
    number_error,
    plain_name,
    unknown,
)
from edgeagent.robot.distance import Distance, DistanceReader, SensorError
from edgeagent.tools import GoalHandle, Tool

STOP_M: Final = 0.3
"""Metres between the sensor and an obstacle at which a base stops, unless told otherwise."""
THERE_M: Final = 0.1
"""Metres from a place at which a base has arrived."""

_STEP_S: Final = 0.02
_NEAR_M: Final = 0.005
"""Metres before the goal at which a drive ends: about as much as a base rolls on at that slow speed."""
_NEAR_RAD: Final = math.radians(0.5)
_LEAST_SHARE: Final = 1 / 3
"""Of the highest speed, at which the end of a way is covered: many motors with a gear do not turn more slowly."""
_LEAST_M: Final = 0.01
_LEAST_DEG: Final = 1.0
_LEGS: Final = 4
"""Turns and drives towards a place until it is given up: each makes up for what the one before was wrong by."""
_PROGRESS_S: Final = 1.0
_PHRASES: Final = {
    "drive": ("drive forward two meters", "drive back one meter", "go forward half a meter", "back up a little"),
    "turn": ("turn left ninety degrees", "turn right forty five degrees", "turn around", "turn left", "turn right"),
}
"""Phrases for the ears, and the examples of ``chat``."""
# why a command ended early, in words that nano learnt to say: others it says wrong, or takes for an order
_BLOCKED: Final = "blocked by an obstacle"
_BLIND: Final = "the sensor does not answer"
_BROKEN: Final = "motor fault"
_TOO_FAR: Final = "there is no way there"
_ENDED: Final = "interrupted"

_log = logging.getLogger("edgeagent.robot")


def base_tools(
    base: Base | BaseDriver,
    *,
    places: Mapping[str, tuple[float, float]] | None = None,
    distance: Distance | None = None,
    stop_m: float = STOP_M,
) -> list[Tool]:
    """Tools that drive a base: drive, turn and stop, called and described as the house robot's, which nano knows.

    With places also go_to and get_location, with a sensor also scan, and get_battery for a base that has ``battery_v``.

    Args:
        base: An unopened base, or its driver where that has options of its own.
        places: Metres ahead and to the left of where the robot stands at its first drive, by name. The robot finds
            them by dead reckoning, which gets worse with every metre.
        distance: Reads a sensor that looks ahead, in less than 0.3 s, on a thread of its own. Without a distance, or
            with zero, a negative one or an old one, the base drives forward no more. Nobody looks while it backs or
            turns.
        stop_m: Metres from an obstacle at which the base stops.

    Raises:
        ConfigError: The base can't be driven, a place is no pair of numbers or has no name of its own, ``distance`` is
            no function, or ``stop_m`` is none above 0.
    """
    driver = base if isinstance(base, BaseDriver) else BaseDriver(base)
    pilot = Pilot(driver, places=places or {}, distance=distance, stop_m=stop_m)
    phrases = {**_PHRASES, "go_to": tuple(f"go to the {plain_name(place)}" for place in places or ())}
    drive, turn, go_to, stop = driving_tools(
        pilot, stop=driver.stop, pause=driver.hold, resume=driver.release, phrases=phrases
    )
    tools = [drive, turn, *([go_to] if places else []), stop]
    if driver.has_gauge:
        tools.append(asking_tool(*BATTERY, pilot.get_battery))
    if places:
        tools.append(asking_tool(*LOCATION, pilot.get_location))
    if distance is not None:
        tools.append(asking_tool(*SCAN, pilot.scan))
    return tools


@dataclass(slots=True)
class _Command:
    """A command on its way: its goal, the stops of the driver before it, and why it ended early, in full."""

    goal: GoalHandle
    stops: int
    cause: str | None = None


class Pilot:
    """Drives a base as it is told, one command at a time, and reports what was really driven.

    Args:
        As ``base_tools``.
    """

    def __init__(
        self,
        driver: BaseDriver,
        *,
        places: Mapping[str, tuple[float, float]],
        distance: Distance | None,
        stop_m: float,
    ) -> None:
        if not 0 < stop_m < math.inf:
            raise ConfigError(f"stop_m is {stop_m!r}; it must be a number of metres above 0")
        self._driver, self._stop_m = driver, stop_m
        self._ahead = None if distance is None else DistanceReader(distance)
        self._places = _named(places)
        self._goal: GoalHandle | None = None
        """The newest one."""

    def drive(self, distance_m: float, *, goal: GoalHandle) -> CommandReport:
        """Drives straight on by that many metres, backwards if negative."""
        if error := number_error(distance_m, "distance", (_LEAST_M, self._driver.limits.distance_m), "m"):
            return CommandReport("failed", error)
        ahead, partly = ("forward", "drove") if distance_m > 0 else ("back", "drove back")
        command = self._begin(goal)
        way_m, why = self._move(distance_m, command, turns=False)
        told = f"{number(way_m, 2)} m"
        if why:
            return self._ended(f"{partly} {told} of {number(abs(distance_m), 2)} m", told, why, command)
        return CommandReport("done", f"drove {ahead} {told}{self._by()}")

    def turn(self, angle_deg: float, *, goal: GoalHandle) -> CommandReport:
        """Turns on the spot by that many degrees, to the right if negative."""
        most_deg = math.degrees(self._driver.limits.turn_rad)
        if error := number_error(angle_deg, "angle", (_LEAST_DEG, most_deg), "degrees"):
            return CommandReport("failed", error)
        side = "left" if angle_deg > 0 else "right"
        command = self._begin(goal)
        way_rad, why = self._move(math.radians(angle_deg), command, turns=True)
        told = number(math.degrees(way_rad), 0)
        if why:
            partly = f"turned {side} {told} of {number(abs(angle_deg))} degrees"
            return self._ended(partly, f"{told} degrees", why, command)
        return CommandReport("done", f"turned {side} {told} degrees{self._by()}")

    def go_to(self, place: str, *, goal: GoalHandle) -> CommandReport:
        """Turns towards a place and drives there, until it is near by dead reckoning."""
        name = plain_name(place)
        if name not in self._places:
            return unknown("place", place)
        command = self._begin(goal)
        limit_m, driven_m, legs, why = self._driver.limits.distance_m, 0.0, 0, ""
        while (way := _towards(self._driver.position, self._places[name]))[0] > THERE_M:
            left_m, bearing_rad = way
            if left_m > limit_m:
                far = f"it is {number(left_m)} m away, and a drive ends after {number(limit_m)} m"
                return CommandReport("failed", _TOO_FAR, far)
            legs += 1
            if legs > _LEGS:
                return CommandReport("failed", _TOO_FAR, f"came within {number(left_m, 2)} m, and no nearer")
            if abs(bearing_rad) > _NEAR_RAD:
                _, why = self._move(bearing_rad, command, turns=True)
            if not why:
                way_m, why = self._move(left_m, command, turns=False)
                driven_m += way_m
            if why:
                told = f"{number(driven_m, 2)} m"
                return self._ended(f"drove {told}", told, why, command)
        return CommandReport("done", f"arrived at the {name} by dead reckoning")

    def stop(self) -> CommandReport:
        """Cancels what drives, and stops the base."""
        goal = self._goal
        if goal is not None:
            goal.cancel()
        self._driver.stop()
        return CommandReport("done", "stopped")

    def get_battery(self) -> CommandReport:
        """Tells the volts of the battery."""
        try:
            self._driver.start()
        except DriveError as error:
            return CommandReport("failed", _BROKEN, str(error))
        volts = self._driver.battery_v
        if volts is None:  # somebody else has closed it just now
            return CommandReport("failed", _BROKEN, "the base was closed")
        return CommandReport("done", f"battery at {volts:.1f} volts")

    def get_location(self) -> CommandReport:
        """Tells the nearest place."""
        ways = {name: _towards(self._driver.position, place)[0] for name, place in self._places.items()}
        name = min(ways, key=ways.__getitem__)
        if ways[name] <= THERE_M:
            return CommandReport("done", f"at the {name} by dead reckoning")
        # nano takes a distance alone for a way that is to be driven
        return CommandReport("done", f"in the {name} area, {number(ways[name])} m from the {name}")

    def scan(self) -> CommandReport:
        """Tells what the sensor sees."""
        assert self._ahead is not None  # noqa: S101 - only asked where there is one
        try:
            metres = self._ahead.metres()
        except DriveError as error:
            return CommandReport("failed", _BLIND, str(error))
        seen = f"nearest obstacle: object, {number(metres, 2)} m ahead" if metres < math.inf else "no obstacle"
        return CommandReport("done", seen)

    def _begin(self, goal: GoalHandle) -> _Command:
        """Begins a command, which a stop ends from now on, also between two of its drives."""
        self._goal = goal
        return _Command(goal, self._driver.stops)

    def _move(self, wanted: float, command: _Command, *, turns: bool) -> tuple[float, str]:
        """Drives, or turns, until that many metres or radians are covered.

        Returns:
            The way in that direction, until the base stood again, and why it ended early.
        """
        limits, goal, why = self._driver.limits, command.goal, ""
        if self._goal is not goal:
            command.cause = "another command has begun"
            return 0.0, _ENDED
        begun: float | None = None
        top, gain, near = limits.speed_mps, limits.acceleration_mps2, _NEAR_M
        if turns:
            top, gain, near = limits.turn_rps, limits.turn_acceleration_rps2, _NEAR_RAD

        def covered() -> float:
            return 0.0 if begun is None else math.copysign(1.0, wanted) * (self._way(turns=turns) - begun)

        try:
            with self._driver.drive(stops=command.stops) as drive:
                begun, told_s = self._way(turns=turns), time.monotonic()
                while (left := abs(wanted) - covered()) > near:
                    if goal.cancelled:
                        why = "stopped"
                        break
                    if self._ahead is not None and wanted > 0 and not turns:
                        left = min(left, self._ahead.metres(goal.cancel_event) - self._stop_m)
                        if left <= 0:
                            why = _BLOCKED
                            break
                    speed = math.copysign(max(_LEAST_SHARE * top, min(top, math.sqrt(gain * left))), wanted)
                    drive.set(*((0.0, speed) if turns else (speed, 0.0)))
                    if time.monotonic() - told_s >= _PROGRESS_S:
                        told_s = time.monotonic()
                        way = covered()
                        goal.set_progress(f"{number(math.degrees(way), 0)} degrees" if turns else f"{number(way)} m")
                    goal.cancel_event.wait(_STEP_S)
        except DriveError as error:
            why = _reason(error)
            command.cause = str(error)
            if not goal.cancelled:
                _log.warning("a command of the base has ended: %s", error)
        try:
            self._driver.wait_for_rest()
        except DriveError as error:
            why, command.cause = _BROKEN, str(error)
        return covered(), why

    def _way(self, *, turns: bool) -> float:
        way = self._driver.way
        return way.turned_rad if turns else way.travelled_m

    def _by(self) -> str:
        return "" if self._driver.odometry is not None else " by time, not measured"

    def _ended(self, driven: str, told: str, why: str, command: _Command) -> CommandReport:
        """The report of a command that ended early; one that somebody cancelled is no failure, if the base stands."""
        if command.goal.cancelled and why != _BROKEN:
            return CommandReport("stopped", driven + self._by())
        text = {_ENDED: f"{why}: {driven}", LOW_BATTERY: why}.get(why, f"{why} after {told}")
        return CommandReport("failed", text, command.cause)


def _reason(error: DriveError) -> str:
    """Why a command ended early, in a few words."""
    if isinstance(error, SensorError):
        return _BLIND
    if isinstance(error, DriveEnded):
        return LOW_BATTERY if LOW_BATTERY in str(error) else _ENDED
    return _BROKEN


def _named(places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Places by the names that are listened for.

    Raises:
        ConfigError: A place is no pair of numbers, has no name, or the name of another one.
    """
    named: dict[str, tuple[float, float]] = {}
    for name, place in places.items():
        plain = plain_name(name)
        if not plain:
            raise ConfigError(f"a place is called {name!r}; its name must have a word")
        if plain in named:
            raise ConfigError(f"two places are called {plain!r}, for an article and a capital count for nothing")
        named[plain] = _point(name, place)
    return named


def _point(name: str, place: tuple[float, float]) -> tuple[float, float]:
    """Checks a place.

    Raises:
        ConfigError: It is no pair of numbers.
    """
    try:
        ahead_m, left_m = (float(metres) for metres in place)
    except (TypeError, ValueError, OverflowError):
        ahead_m = left_m = math.nan
    if not (math.isfinite(ahead_m) and math.isfinite(left_m)):
        raise ConfigError(
            f"the place {name!r} is {place!r}; it must be metres ahead and to the left, such as (2.0, -0.5)"
        )
    return ahead_m, left_m


def _towards(position: Position, place: tuple[float, float]) -> tuple[float, float]:
    """Metres to a place, and the angle to the left by which a base has to turn to look there."""
    ahead_m, left_m = place[0] - position.ahead_m, place[1] - position.left_m
    turn_rad = math.atan2(left_m, ahead_m) - position.heading_rad
    return math.hypot(ahead_m, left_m), math.remainder(turn_rad, math.tau)
