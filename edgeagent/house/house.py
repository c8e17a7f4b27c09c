"""The house robot: what it can do, in words, on top of the simulated world; and its fifteen tools for a model.

Every method returns a ``CommandReport``; none raises for what a user or a model can get wrong. The physics is in
``motion`` and ``world``. Every method may be called from any thread; the base belongs to one motion at a time. The
names, the parameters and the descriptions of the tools are those that the nano model is trained with. Skills have no
time-out of the loop: the house gives up by itself, after simulated time.
"""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable
from typing import Final

from edgeagent.house import motion
from edgeagent.house.command_report import arrival, failure
from edgeagent.house.flat import FlatRoom, Landmark
from edgeagent.house.motion import FOLLOW_S, Program, follow
from edgeagent.house.scene import PERSON, RADIUS_M, Direction, Scene
from edgeagent.house.world import World
from edgeagent.messages import ToolResult
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
from edgeagent.robot.latch import LatchState, SafetyLatch
from edgeagent.tools import GoalHandle, Tool, skill, tool

DRIVE_RANGE_M: Final = (0.01, 50.0)
TURN_RANGE_DEG: Final = (0.1, 3600.0)
LONGEST_TIMER_S: Final = 7 * 24 * 3600
MOST_TIMERS: Final = 100

#: Simulated seconds after which a motion gives up.
DRIVE_TIMEOUT_S: Final = 120.0
TURN_TIMEOUT_S: Final = 60.0
FETCH_TIMEOUT_S: Final = 150.0
FOLLOW_TIMEOUT_S: Final = FOLLOW_S + 30.0

_HANDOVER_S: Final = 1.0
"""Wall time that a motion waits for one that was just cancelled to leave the base."""
_LANDMARK_NEAR_M: Final = 2.0


class HouseRobot:
    """A simulated robot in a flat of eight rooms.

    Args:
        seed: Moves the objects and the person.
        speed: Simulated seconds per second of wall time, 0.1 to 1,000, or infinite: without waiting.
        on_timer: Called with "[timer] 300 seconds are over", on the thread that lets time pass.
        clock: What the simulation keeps pace with, in seconds; the wall's unless told.

    Attributes:
        world: The simulation; ``world.start()`` lets time pass while nothing moves.
        latch: Held, the base stops and waits; tripped, motion is cancelled and refused.
        tools: The fifteen tools, for an ``Agent``.
    """

    def __init__(
        self,
        seed: int = 0,
        speed: float = 1.0,
        on_timer: Callable[[str], object] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.world: Final = World(seed, speed=speed, clock=clock)
        self.latch: Final = SafetyLatch()
        self._on_timer = on_timer
        self._timers = 0
        self._stops = 0
        self._base = threading.Lock()
        self._busy_with = ""
        self._goals: list[GoalHandle] = []
        self._paused = False
        self._unsubscribe = self.latch.subscribe(self._obey)

    @functools.cached_property
    def tools(self) -> list[Tool]:
        return _house_tools(self)

    def close(self) -> None:
        """Stops everything; the robot does not move again."""
        self._unsubscribe()
        self.cancel_goals()
        self.world.close()

    def drive(self, distance_m: float, *, goal: GoalHandle | None = None) -> CommandReport:
        """Straight on by that many metres, backwards if negative."""
        if error := number_error(distance_m, "distance", DRIVE_RANGE_M, "m"):
            return CommandReport("failed", error)
        wanted = number(abs(distance_m), 2)
        ahead, partly = ("forward", "drove") if distance_m > 0 else ("back", "drove back")
        return self._move(
            "drive",
            lambda scene: motion.drive(scene, distance_m),
            done=lambda _: f"drove {ahead} {wanted} m",
            stopped=lambda way_m, _: f"{partly} {number(way_m)} m of {wanted} m",
            timeout_s=DRIVE_TIMEOUT_S,
            goal=goal,
        )

    def turn(self, angle_deg: float, *, goal: GoalHandle | None = None) -> CommandReport:
        """On the spot by that many degrees, to the right if negative."""
        if error := number_error(angle_deg, "angle", TURN_RANGE_DEG, "degrees"):
            return CommandReport("failed", error)
        side, wanted = "left" if angle_deg > 0 else "right", number(abs(angle_deg))
        return self._move(
            "turn",
            lambda scene: motion.turn(scene, math.radians(angle_deg)),
            done=lambda _: f"turned {side} {wanted} degrees",
            stopped=lambda _, turned_deg: f"turned {side} {number(turned_deg, 0)} of {wanted} degrees",
            timeout_s=TURN_TIMEOUT_S,
            goal=goal,
        )

    def go_to(self, place: str, *, goal: GoalHandle | None = None) -> CommandReport:
        """Drives to a room or a landmark."""
        target = self._place(place)
        if target is None:
            return unknown("place", place)
        return self._move(
            "go_to",
            lambda scene: motion.reach(scene, target),
            done=lambda _: f"arrived {arrival(target)}",
            timeout_s=DRIVE_TIMEOUT_S,
            goal=goal,
        )

    def pick_up(self, name: str, *, goal: GoalHandle | None = None) -> CommandReport:
        """Drives to an object and takes it."""
        wanted = plain_name(name)
        with self.world.lock:
            thing, held = self.world.scene.things.get(wanted), self.world.scene.held
        if thing is None:
            return unknown("object", name)
        if held:
            return CommandReport("failed", f"the gripper already holds the {held}")
        return self._move(
            "pick_up",
            lambda scene: motion.fetch(scene, thing),
            done=lambda scene: f"picked up the {wanted} in the {scene.room}",
            timeout_s=FETCH_TIMEOUT_S,
            goal=goal,
        )

    def put_down(self, place: str, *, goal: GoalHandle | None = None) -> CommandReport:
        """Drives to a room or a landmark and puts down there what the gripper holds."""
        with self.world.lock:
            held = self.world.scene.held
        if not held:
            return CommandReport("failed", "the gripper is empty")
        target = self._place(place)
        if target is None:
            return unknown("place", place)
        return self._move(
            "put_down",
            lambda scene: motion.bring(scene, target),
            done=lambda _: f"put the {held} down {arrival(target)}",
            timeout_s=FETCH_TIMEOUT_S,
            goal=goal,
        )

    def dock(self, *, goal: GoalHandle | None = None) -> CommandReport:
        """Drives to the charging dock and charges."""
        return self._move(
            "dock", motion.dock, done=lambda _: "docked and charging", timeout_s=DRIVE_TIMEOUT_S, goal=goal
        )

    def follow(self, *, goal: GoalHandle | None = None) -> CommandReport:
        """Follows the person until that one stands still for 5 s, is lost, or for 60 s."""
        start_s = self.world.time_s

        def done(scene: Scene) -> str:
            passed_s = scene.time_s - start_s
            return "followed you for 60 s" if passed_s >= FOLLOW_S else f"followed you to the {scene.person_room}"

        return self._move("follow", follow, done=done, timeout_s=FOLLOW_TIMEOUT_S, goal=goal)

    def stop(self) -> CommandReport:
        """Cancels every goal and brakes."""
        self._halt()
        return CommandReport("done", "stopped")

    def pause(self) -> None:
        """Brakes; what moves goes on where it was with ``resume``."""
        self._paused = True
        self._limit_speed()

    def resume(self) -> None:
        """Lets what was paused go on, as far as the latch allows it."""
        self._paused = False
        self._limit_speed()

    def cancel_goals(self) -> None:
        """Cancels every running goal; each stops the base first."""
        for goal in list(self._goals):
            goal.cancel()

    def get_battery(self) -> CommandReport:
        with self.world.lock:
            percent, charging = self.world.scene.battery.percent, self.world.scene.docked
        return CommandReport("done", f"battery at {percent} percent{', charging' if charging else ''}")

    def get_location(self) -> CommandReport:
        """The room, and the nearest landmark in it if it is within 2 m."""
        with self.world.lock:
            room, pose = self.world.scene.room, self.world.scene.base.pose
        flat, radius_m = self.world.scene.flat, self.world.scene.base.limits.radius_m
        near = min(
            (
                (mark.outline.distance(pose.x, pose.y) - radius_m, mark.name)
                for mark in flat.landmarks
                if mark.room == room
            ),
            default=(math.inf, ""),
        )
        if near[0] > _LANDMARK_NEAR_M:
            return CommandReport("done", f"in the {room}")
        return CommandReport("done", f"in the {room}, {number(max(0.0, near[0]))} m from the {near[1]}")

    def scan(self) -> CommandReport:
        """The nearest obstacle: how far from the robot's rim, and on which side."""
        with self.world.lock:
            base, person = self.world.scene.base, self.world.scene.person
            pose, radius_m, you = base.pose, base.limits.radius_m, person.point
        nearest = self.world.scene.obstacles.nearest(pose.x, pose.y)
        name, towards = nearest.name, nearest.outline.nearest(pose.x, pose.y)
        gap_m = towards.distance(pose) - radius_m
        if (to_person := you.distance(pose) - RADIUS_M - radius_m) < gap_m:
            name, gap_m, towards = PERSON, to_person, you
        bearing = math.degrees(math.remainder(pose.point.bearing(towards) - pose.heading, math.tau))
        side = (
            "ahead" if abs(bearing) <= 45 else "behind" if abs(bearing) >= 135 else "left" if bearing > 0 else "right"
        )
        return CommandReport("done", f"nearest obstacle: {name}, {number(max(0.0, gap_m))} m {side}")

    def set_light(self, place: str, on: bool) -> CommandReport:
        """Switches the light of a room."""
        room = self.world.scene.flat.room(plain_name(place))
        if room is None:
            return unknown("light", place)
        with self.world.lock:
            (self.world.scene.lit.add if on else self.world.scene.lit.discard)(room.name)
        return CommandReport("done", f"{room.name} light {'on' if on else 'off'}")

    def set_timer(self, duration_s: int) -> CommandReport:
        """Has ``on_timer`` called after that many simulated seconds."""
        if isinstance(duration_s, bool) or not isinstance(duration_s, int):
            return CommandReport("failed", "a timer needs a whole number of seconds")
        if duration_s < 1:
            return CommandReport("failed", "a timer needs at least 1 second")
        if duration_s > LONGEST_TIMER_S:
            return CommandReport("failed", f"a timer is at most {LONGEST_TIMER_S} seconds")
        count = f"{duration_s} second{'' if duration_s == 1 else 's'}"
        with self.world.lock:
            if self._timers >= MOST_TIMERS:
                return CommandReport("failed", f"{MOST_TIMERS} timers are running already")
            self._timers += 1
            self.world.scene.call_at(self.world.scene.time_s + duration_s, lambda: self._ring(count))
        return CommandReport("done", f"timer set for {count}")

    def get_time(self) -> CommandReport:
        return CommandReport("done", f"it is {self.world.scene.clock}")

    def look(self, direction: Direction) -> CommandReport:
        """Points the camera."""
        with self.world.lock:
            self.world.scene.looking = direction
        return CommandReport("done", f"looking {direction}")

    def _move(
        self,
        name: str,
        program: Callable[[Scene], Program],
        *,
        done: Callable[[Scene], str],
        timeout_s: float,
        goal: GoalHandle | None,
        stopped: Callable[[float, float], str] = lambda way_m, _: f"stopped after {number(way_m)} m",
    ) -> CommandReport:
        """Runs a motion program if the robot may and can move, and says how it went."""
        stops = self._stops
        if self.latch.state == LatchState.TRIPPED:
            return CommandReport("failed", f"motion is off until it is re-armed: {self.latch.reason}")
        if self.world.scene.battery.empty:
            return CommandReport("failed", "the battery is empty")
        if not self._base.acquire(timeout=_HANDOVER_S):
            return CommandReport("failed", f"base is still busy with {self._busy_with}")
        self._busy_with = name
        if self._paused:  # by a motion that was cancelled then, and never told to go on
            self.resume()
        if goal is not None:
            self._goals.append(goal)
        try:
            scene, base = self.world.scene, self.world.scene.base
            way_m, rotated, start_s = base.odometer_m, base.rotated, scene.time_s
            outcome = self.world.run(program, should_stop=self._watch(stops, goal, name), timeout_s=timeout_s)
            way_m, turned_deg = base.odometer_m - way_m, abs(math.degrees(base.rotated - rotated))
            if outcome.ok:
                return CommandReport("done", done(scene))
            if outcome.end == "halted":
                return CommandReport("stopped", stopped(way_m, turned_deg))
            return CommandReport("failed", failure(outcome, way_m, scene.time_s - start_s, timeout_s))
        finally:
            if goal is not None:
                self._goals.remove(goal)
            self._base.release()

    def _place(self, name: str) -> FlatRoom | Landmark | None:
        wanted, flat = plain_name(name), self.world.scene.flat
        return flat.room(wanted) or flat.landmark(wanted)

    def _ring(self, count: str) -> None:
        with self.world.lock:
            self._timers -= 1
        if self._on_timer is not None:
            self._on_timer(f"[timer] {count} {'is' if count.startswith('1 ') else 'are'} over")

    def _obey(self, state: LatchState, reason: str) -> None:
        self._limit_speed()
        if state == LatchState.TRIPPED:
            self._halt()

    def _limit_speed(self) -> None:
        self.world.limit_speed(lambda: 0.0 if self._paused or self.latch.state != LatchState.FREE else 1.0)

    def _halt(self) -> None:
        self._stops += 1
        self.cancel_goals()
        self.world.halt()

    def _watch(self, stops: int, goal: GoalHandle | None, name: str) -> Callable[[], bool]:
        """Makes a function that tells whether to stop: since ``stops`` somebody stopped the robot, or cancelled the
        goal.

        Tells the goal the way driven, of a turn its degrees, once in a simulated second.
        """
        world, base = self.world, self.world.scene.base
        start_m, start_rad, told_s = base.odometer_m, base.rotated, int(world.time_s)

        def should_stop() -> bool:
            nonlocal told_s
            if goal is not None and int(world.time_s) != told_s:
                told_s = int(world.time_s)
                turned_deg = abs(math.degrees(base.rotated - start_rad))
                way = f"{number(base.odometer_m - start_m)} m"
                goal.set_progress(f"{number(turned_deg, 0)} degrees" if name == "turn" else way)
            return self._stops != stops or (goal is not None and goal.cancelled)

        return should_stop


# --- tools ------------------------------------------------------------------------------------------------------------


_BASE: Final = ("base",)
_ARM: Final = ("base", "gripper")


def _house_tools(house: HouseRobot) -> list[Tool]:
    """The tools of one robot, in the order in which they stand in the prompt."""
    drive, turn, go_to, stop = driving_tools(house, stop=house.world.halt, pause=house.pause, resume=house.resume)
    follow, dock, pick_up, put_down = _errands(house)
    battery, location = asking_tool(*BATTERY, house.get_battery), asking_tool(*LOCATION, house.get_location)
    scan, get_time = asking_tool(*SCAN, house.scan), asking_tool("get_time", "Time of day.", house.get_time)
    set_light, set_timer, look = _switches(house)
    first = [drive, turn, go_to, stop, battery, location, scan, pick_up, put_down]
    return [*first, set_light, set_timer, get_time, follow, dock, look]


def _errands(house: HouseRobot) -> tuple[Tool, ...]:
    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def follow(goal: GoalHandle) -> ToolResult:
        """Follow the person."""
        return house.follow(goal=goal).result(goal)

    @skill(resources=_BASE, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def dock(goal: GoalHandle) -> ToolResult:
        """Return to the charging dock."""
        return house.dock(goal=goal).result(goal)

    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def pick_up(object: str, goal: GoalHandle) -> ToolResult:  # noqa: A002 - the word that a model knows
        """Fetch an object."""
        return house.pick_up(object, goal=goal).result(goal)

    @skill(resources=_ARM, stop=house.world.halt, pause=house.pause, resume=house.resume)
    def put_down(place: str, goal: GoalHandle) -> ToolResult:
        """Bring the held object to a place."""
        return house.put_down(place, goal=goal).result(goal)

    return follow, dock, pick_up, put_down


def _switches(house: HouseRobot) -> tuple[Tool, ...]:
    @tool
    def set_light(place: str, on: bool) -> ToolResult:
        """Switch a room's light."""
        return house.set_light(place, on).result()

    @tool
    def set_timer(duration_s: int) -> ToolResult:
        """Start a timer."""
        return house.set_timer(duration_s).result()

    @tool
    def look(direction: Direction) -> ToolResult:
        """Point the camera."""
        return house.look(direction).result()

    return set_light, set_timer, look
