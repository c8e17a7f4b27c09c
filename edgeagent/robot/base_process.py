"""The process that drives a base: leases, limits and ramps, and zero velocity whenever it is in doubt.

The agent's process sends commands over a socket that keeps messages apart; this one answers with what the base does. It
zeroes the motors when a lease runs out, when the socket closes because the agent's process died, when the base raises
or tells nonsense, and at SIGTERM. It knows nothing of agents, tools or goals. ``BaseDriver`` starts it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import json
import logging
import math
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from edgeagent.robot.base import ZERO, Base, Odometry, Velocity

LEASE_S: Final = 0.3
"""Seconds for which a velocity holds unless the body that drives renews it. A larger number rides over longer pauses of
the agent, and drives on for longer when the agent hangs."""
TICK_S: Final = 0.02
"""Seconds between two commands to the base while it drives."""
LOW_BATTERY: Final = "the battery is low"
"""Beginning of the reason for which a drive does not begin."""
SLOW_S: Final = 0.5
"""Seconds after which a call of the base is taken for a fault. Nothing interrupts a call, so that zero velocity comes
``LEASE_S`` and as much as this after the last renewal, when the call begins just before the lease is over."""
LATE_S: Final = 0.1
"""The same for a base that is so slow twice, one step after the other: a stop waits for the call that goes on. With the
lease before it, and the call that stops the motors, the base would drive on for longer than half a second."""
HANGS_S: Final = 2.0
"""Seconds after which a call of the base that does not come back ends the process, also when no agent is left."""
OPENS_S: Final = 30.0
"""The same for ``open``, and for loading the base before that."""
LOADING: Final = threading.Event()
"""Set in a driver's process while it loads its base, maybe from an app file that starts a driver."""
STALL_M: Final = 0.2
"""Metres of commanded way in which an odometer has to move by a tenth of that; else a wheel is blocked."""
STALL_RAD: Final = 1.0
"""The same for a turn, in radians."""
BATTERY_S: Final = 2.0
"""Seconds between two looks at the battery of a base that measures its own."""
LONGEST_SILENCE_S: Final = 2.0
"""Seconds for which a base may be told nothing while it drives, in a test of its board's time-out."""
MESSAGE_BYTES: Final = 4096

_REST_S: Final = 0.1
"""Seconds between two looks at a base at rest."""
_AFTER_S: Final = 0.001
"""From the end of a lease until it is looked at."""
_JUMP: Final = 3.0
"""Way between two ticks, as a multiple of the way at the limits, beyond which an odometer has jumped."""
_MOVED_SHARE: Final = 0.1
"""Share of the commanded way that an odometer has to tell. Wheels that slip on a carpet still tell most of it."""
_TOLD_CHARACTERS: Final = 300
"""Length of an error that is told, so that it fits into a message."""
_JUMP_SLACK_S: Final = 0.1
"""Seconds added to the time between two ticks, because encoders are read a little early or late."""
_PRIORITY: Final = 10
"""Real-time priority (``sched(7)``, SCHED_RR) where the system allows one: a busy machine can't starve the stop."""
_SPARE_BYTES: Final = 1 << 20
"""Memory that is given back before the base is stopped and closed, because both need some when there is none left."""
_OOM_SCORE: Final = -1000
"""``oom_score_adj`` of ``proc_pid_oom_score_adj(5)``: the kernel ends other processes when memory is exhausted."""
_MCL_CURRENT: Final = 1
"""``mlockall(2)``: no page that this process has now is swapped out. Locking later ones too would let them run out."""

_log = logging.getLogger("edgeagent.robot")

T = TypeVar("T")


class BaseLoop:
    """Drives one base by the commands of a socket. Single-threaded.

    Args:
        base: An unopened base.
        link: A SOCK_SEQPACKET socket to the agent's process: stops and holds come in, the state goes out.
        leases: A second one, for velocities. They may fill it, and must not be in the way of a stop.
        lease_s: Seconds for which a velocity holds.
    """

    def __init__(
        self,
        base: Base,
        link: socket.socket,
        leases: socket.socket,
        *,
        lease_s: float,
    ) -> None:
        self._base, self._link, self._leases, self._lease_s = base, link, leases, lease_s
        self._limits = base.limits
        self._drive = 0
        """Number of the drive whose velocities count; 0 for none."""
        self._stopped = 0
        """Every drive up to this number is over."""
        self._asked, self._asked_s = ZERO, 0.0
        self._now = ZERO
        self._moves = False
        """True from a velocity until the base took a stop or zero."""
        self._held = False
        self._silent_until_s = 0.0
        self._way_m = self._way_rad = 0.0
        """Way of the present drive, forward and back added up."""
        self._way = Odometry()
        """Way since the base was opened: by its odometer, or else by the velocity that was commanded."""
        self._has_odometer = False
        self._gauge: Callable[[], float] | None = getattr(base, "battery_v", None)
        self._battery_v: float | None = None
        self._gauged_s = -math.inf
        self._looked_s = self._ticked_s = 0.0
        self._slowest_s, self._late_steps = 0.0, 0
        """Seconds of the slowest call of this step, and how many steps were late, one after the other."""
        self._told_m = self._told_rad = self._moved_m = self._moved_rad = 0.0
        """Way that was commanded, and way in that direction by the odometer, since both were compared."""
        self._ended = ""
        """Why the newest drive that is over has ended. Told again and again: a message that nobody has read in time is
        lost."""
        self._running = True
        self._spare = bytes(_SPARE_BYTES)

    def run(self) -> None:
        """Drives until the socket closes or the base fails; leaves the base at rest and safe."""
        failure: BaseException | None = None
        try:
            self._timed("open", self._base.open, limit_s=math.inf)
            read = self._odometry()
            self._has_odometer, self._way = read is not None, read or Odometry()
            if not self._way.is_finite:
                raise ValueError(f"the odometer tells nonsense: {read}")
            self._looked_s = self._ticked_s = time.monotonic()
            self._look_at_battery(self._looked_s)
            self._tell()
            self._send("ready")
            while self._running:
                self._take_messages()
                self._tick()
        except BaseException as error:  # noqa: BLE001  whatever a builder's base raises, the motors stop first
            failure = error.with_traceback(None)  # whose frames keep what the base has filled the memory with
        self._spare = b""
        for end in (self._halt, lambda: self._command(ZERO), lambda: self._timed("close", self._base.close)):
            try:
                end()
            except BaseException as error:  # noqa: BLE001  the safe state is wanted though the stop failed
                failure = failure or error.with_traceback(None)
                self._send("ending")  # so that three calls that fail slowly are not taken for a process that hangs
        if failure is not None:
            self._send("failed", f"{type(failure).__name__}: {failure}"[:_TOLD_CHARACTERS], not self._moves)

    def end(self) -> None:
        """Ends the loop at its next step. A signal handler may call it."""
        self._running = False

    # --- commands -----------------------------------------------------------------------------------------------------

    def _take_messages(self) -> None:
        """Waits for a tick at most, or until the lease is over, and takes the commands that have come."""
        due_s = self._ticked_s + (TICK_S if self._drive or not self._now.is_zero else _REST_S)
        if not self._now.is_zero:
            due_s = min(due_s, self._asked_s + self._lease_s + _AFTER_S)
        self._take_until(max(due_s, self._silent_until_s))

    def _take_until(self, due_s: float) -> None:
        """Waits until then for commands, and takes what has come. For a tick more at most: commands without a pause
        must not keep the limits from being looked at."""
        begun_s = time.monotonic()
        wait_s, end_s = max(0.0, due_s - begun_s), max(due_s, begun_s) + TICK_S
        while self._running:
            ready, _, _ = select.select([self._link, self._leases], [], [], wait_s)
            if not ready:
                return
            # a stop counts before every velocity that was sent before it
            data = (self._link if self._link in ready else self._leases).recv(MESSAGE_BYTES)
            if not data:
                self.end()  # the agent's process is gone, or has closed the driver
                return
            command, *values = json.loads(data)
            self._obey(command, *values)
            now_s = time.monotonic()
            if now_s > end_s:
                return
            # a velocity that is renewed waits for its step: a slow line takes one command each, and no more
            renewed = command == "velocity" and not self._now.is_zero
            wait_s = max(0.0, due_s - now_s) if renewed else 0.0

    def _obey(self, command: str, *values: Any) -> None:
        match command, values:
            case "velocity", (int(drive), forward, turn, sent_s):
                self._set(drive, Velocity(float(forward), float(turn)), float(sent_s))
            case "stop", (int(drive), why):
                self._stop(drive, str(why))
            case "hold", (held,):
                self._held = bool(held)
                self._silent_until_s = 0.0
            case "silence", (seconds,):
                self._silent_until_s = time.monotonic() + min(float(seconds), LONGEST_SILENCE_S)
            case _:
                raise ValueError(f"{command!r} is no command to a base")

    def _set(self, drive: int, velocity: Velocity, sent_s: float) -> None:
        """Takes a velocity of a drive that is not over. A late one is as good as none: whoever sent it may hang now."""
        if drive <= self._stopped or time.monotonic() - sent_s > self._lease_s:
            return
        if not velocity.is_finite:
            self._stop(drive, "a velocity that is no number was asked for")
            return
        if drive != self._drive:
            low_v = self._limits.low_battery_v
            if low_v is not None and self._battery_v is not None and not self._battery_v >= low_v:
                self._stopped, self._ended = drive, f"{LOW_BATTERY}: {self._battery_v:.1f} V, below {low_v:g} V"
                return
            self._drive, self._way_m, self._way_rad = drive, 0.0, 0.0
        self._asked, self._asked_s = velocity, sent_s

    def _stop(self, drive: int, why: str) -> None:
        """Ends a drive and all before it, at once."""
        self._silent_until_s = 0.0
        if drive > self._stopped:
            self._stopped, self._ended = drive, why
        if self._drive <= self._stopped:
            self._drive, self._asked = 0, ZERO
        if not self._drive and not self._now.is_zero:
            self._now = ZERO
            self._halt()

    # --- motion -------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """One step: the velocity that may be driven now goes to the base, and what the base tells is looked at."""
        now_s = time.monotonic()
        if now_s < self._silent_until_s:
            return
        if self._drive or not self._now.is_zero or now_s - self._ticked_s >= _REST_S:
            passed_s, self._ticked_s = now_s - self._ticked_s, now_s
            before = self._now
            if passed_s > (self._limits.board_timeout_s or math.inf):
                self._now = ZERO  # the board has stopped the motors by itself: they speed up from rest
            self._now = self._allowed(now_s, passed_s)
            self._slowest_s = 0.0
            if self._now.is_zero and not before.is_zero:
                self._halt()
            self._command(self._now)
            self._heed()
            self._look()
            self._heed()
            self._look_at_battery(now_s)
            self._tell()
            self._look_at_delay()

    def _heed(self) -> None:
        """Takes commands between two calls of the base: neither a stop nor the end of a lease waits for all of them."""
        self._take_until(0.0)
        if not self._now.is_zero and not (self._running and self._is_leased(time.monotonic())):
            self._now = ZERO
            self._halt()

    def _halt(self) -> None:
        self._timed("stop", self._base.stop)
        self._moves = False

    def _command(self, velocity: Velocity) -> None:
        self._moves = self._moves or not velocity.is_zero
        self._timed("set_velocity", lambda: self._base.set_velocity(velocity))
        self._moves = not velocity.is_zero

    def _is_leased(self, now_s: float) -> bool:
        return bool(self._drive) and not self._held and now_s - self._asked_s <= self._lease_s

    def _look_at_delay(self) -> None:
        """Gives up a base whose calls keep a stop waiting.

        Raises:
            TimeoutError: They took too long twice while it drove.
        """
        late = self._slowest_s > LATE_S and not self._now.is_zero
        self._late_steps = self._late_steps + 1 if late else 0
        if self._late_steps > 1:
            raise TimeoutError(f"the base took {self._slowest_s:.2f} s for a call, twice: a stop would come too late")

    def _allowed(self, now_s: float, passed_s: float) -> Velocity:
        """The velocity for this step: none without a lease; else the one asked for, within limits and ramps."""
        if not self._is_leased(now_s):
            return ZERO
        limits, asked = self._limits, self._asked
        forward = max(-limits.speed_mps, min(limits.speed_mps, asked.forward_mps))
        turn = max(-limits.turn_rps, min(limits.turn_rps, asked.turn_rps))
        # a step that came late must not allow a jump in speed
        step_s = min(passed_s, 2 * TICK_S)
        return Velocity(
            _ramped(self._now.forward_mps, forward, limits.acceleration_mps2 * step_s),
            _ramped(self._now.turn_rps, turn, limits.turn_acceleration_rps2 * step_s),
        )

    def _look(self) -> None:
        """Reads the odometer, adds up the way of the drive, and ends a drive that has covered its way.

        Raises:
            ValueError: The odometer tells what no base can have driven.
        """
        read = self._odometry()
        now_s = time.monotonic()
        passed_s, self._looked_s = now_s - self._looked_s, now_s
        if not self._has_odometer:
            read = Odometry(
                self._way.travelled_m + self._now.forward_mps * passed_s,
                self._way.turned_rad + self._now.turn_rps * passed_s,
            )
        elif read is None or not read.is_finite:
            raise ValueError(f"the odometer tells nonsense: {read}")
        metres, radians = read.travelled_m - self._way.travelled_m, read.turned_rad - self._way.turned_rad
        if self._has_odometer:
            self._check(metres, radians, passed_s)
        self._way_m, self._way_rad, self._way = self._way_m + abs(metres), self._way_rad + abs(radians), read
        if self._drive and self._way_m > self._limits.distance_m:
            self._stop(self._drive, f"the limit of {self._limits.distance_m:g} m a drive is reached")
        elif self._drive and self._way_rad > self._limits.turn_rad:
            self._stop(
                self._drive, f"the limit of {math.degrees(self._limits.turn_rad):.0f} degrees a drive is reached"
            )

    def _check(self, metres: float, radians: float, passed_s: float) -> None:
        """Compares the way that was commanded with the way that the odometer tells.

        Raises:
            ValueError: The odometer jumps, stands still while the base is told to move, or goes the other way.
        """
        most_s = _JUMP * (passed_s + _JUMP_SLACK_S)
        if abs(metres) > self._limits.speed_mps * most_s or abs(radians) > self._limits.turn_rps * most_s:
            raise ValueError(
                f"the odometer jumped by {metres:.3g} m and {radians:.3g} rad in {passed_s:.3f} s: "
                "look at the encoders' cables and at the scale"
            )
        now, passed_s = self._now, min(passed_s, _JUMP_SLACK_S)
        self._told_m += abs(now.forward_mps) * passed_s
        self._told_rad += abs(now.turn_rps) * passed_s
        self._moved_m += math.copysign(metres, metres * now.forward_mps) if now.forward_mps else 0.0
        self._moved_rad += math.copysign(radians, radians * now.turn_rps) if now.turn_rps else 0.0
        if self._told_m > STALL_M:
            _compare("moved", self._moved_m, self._told_m, "m")
            self._told_m = self._moved_m = 0.0
        if self._told_rad > STALL_RAD:
            _compare("turned", self._moved_rad, self._told_rad, "rad")
            self._told_rad = self._moved_rad = 0.0

    def _look_at_battery(self, now_s: float) -> None:
        """Reads the volts of a base that measures them.

        Raises:
            ValueError: They are no number.
        """
        if self._gauge is not None and now_s - self._gauged_s >= BATTERY_S:
            self._gauged_s, self._battery_v = now_s, float(self._timed("battery_v", self._gauge))
            if not math.isfinite(self._battery_v):
                raise ValueError(f"the battery tells nonsense: {self._battery_v} V")

    def _odometry(self) -> Odometry | None:
        read: object = self._timed("odometry", self._base.odometry)
        if read is None or isinstance(read, Odometry):
            return read
        kind = type(read).__name__
        raise TypeError(
            f"odometry() returned {'an' if kind[0] in 'aeiou' else 'a'} {kind}; "
            "return Odometry(travelled_m, turned_rad), or None without encoders"
        )

    def _timed(self, name: str, call: Callable[[], T], *, limit_s: float = SLOW_S) -> T:
        """Calls the base.

        Raises:
            TimeoutError: The call took longer than a base may take.
        """
        begun_s = time.monotonic()
        # the kernel ends the process if the call never comes back, and with it the port and the pins are free
        signal.setitimer(signal.ITIMER_REAL, HANGS_S if limit_s < math.inf else OPENS_S)
        try:
            result = call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        took_s = time.monotonic() - begun_s
        self._slowest_s = max(self._slowest_s, took_s)
        if took_s > limit_s:
            raise TimeoutError(f"{name} of the base took {took_s:.2f} s")
        return result

    def _tell(self) -> None:
        now, way = self._now, self._way
        self._send(
            "status",
            self._stopped,
            self._ended,
            (now.forward_mps, now.turn_rps),
            (way.travelled_m, way.turned_rad),
            self._has_odometer,
            self._battery_v,
        )

    def _send(self, *message: object) -> None:
        # nobody reads: the agent's process is stopped or gone, which the lease and the socket's end tell
        with contextlib.suppress(OSError):
            self._link.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)


def _ramped(now: float, goal: float, step: float) -> float:
    """One step from a velocity towards another. Only speeding up is held back."""
    if now * goal < 0:
        now = 0.0
    return math.copysign(min(abs(goal), abs(now) + step), goal) if abs(goal) > abs(now) else goal


def _compare(verb: str, moved: float, told: float, unit: str) -> None:
    """Raises ValueError if an odometer tells too little of the way that was commanded, or the contrary."""
    if moved < -_MOVED_SHARE * told:
        raise ValueError(
            f"the odometer {verb} by {-moved:.2f} {unit} the wrong way: a motor, an encoder or the sign of the scale "
            "is the wrong way round"
        )
    if moved < _MOVED_SHARE * told:
        raise ValueError(
            f"the odometer {verb} by {moved:.3f} {unit} of {told:.2f} {unit}: a wheel is blocked, the cable of an "
            "encoder is out, or the motors do not turn at so low a speed"
        )


# --- the process ------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str]) -> None:
    """Runs the process: ``LINK LEASES LEASE_S MODULE FILE``, and a pickled base on standard input."""
    *fds, lease_s, module, file = arguments
    # the lowest descriptors that are free: select() takes none from 1024 on, and an agent with many files has such ones
    link, leases = (socket.socket(fileno=os.dup(int(fd))) for fd in fds)
    LOADING.set()
    signal.setitimer(signal.ITIMER_REAL, OPENS_S)  # a file that hangs keeps no process whose agent is gone
    try:
        if file:
            _load(module, file)
        base = pickle.load(sys.stdin.buffer)  # noqa: S301  our own parent wrote it
    except (Exception, SystemExit) as error:  # noqa: BLE001  a builder's module may raise anything
        told = f"the base can't be loaded: {type(error).__name__}: {error}"[:_TOLD_CHARACTERS]
        if file:
            told += "; its driver runs this file once more: keep pins and nodes in another one than the class"
        with contextlib.suppress(OSError):  # the agent's process is gone
            link.send(json.dumps(["failed", told, True]).encode())
        return
    LOADING.clear()
    loop = BaseLoop(base, link, leases, lease_s=float(lease_s))
    for name in (signal.SIGINT, signal.SIGHUP):  # the agent's process decides what a Ctrl-C means
        signal.signal(name, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: loop.end())
    keep_awake()
    loop.run()
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)  # a thread of the base keeps no process


def _load(module: str, file: str) -> None:
    """Imports the file in which the class of a base stands, under the name that it has in the agent's process."""
    spec = importlib.util.spec_from_file_location(module, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no Python file")
    sys.modules[module] = loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)


def keep_awake() -> None:
    """Takes a real-time priority, keeps the memory in place, and is the last process that the kernel ends for want of
    memory, as far as the system allows."""
    gc.freeze()  # what is loaded is not looked through again
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(_PRIORITY))
    except OSError as error:
        _log.info("the driver of the base has no real-time priority: %s", error)
    if sys.platform == "linux":
        import ctypes

        try:
            Path("/proc/self/oom_score_adj").write_text(str(_OOM_SCORE), encoding="ascii")
        except OSError as error:
            _log.info("the driver of the base may be ended when memory is exhausted: %s", error)
        if ctypes.CDLL(None).mlockall(_MCL_CURRENT) != 0:
            _log.info("the memory of the base's driver may be swapped out")
