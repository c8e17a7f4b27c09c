"""The agent's side of a base: starts the process that drives, renews leases, and tells when the base does not answer.

``BaseDriver`` may be used by any thread. A ``Drive`` belongs to the body of one skill: its calls are the lease, so that
a body that hangs stops its robot. Knows nothing of tools: a skill passes ``stop=driver.stop``, ``pause=driver.hold``
and ``resume=driver.release``.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib.util
import json
import logging
import os
import pickle
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, Final, cast

from edgeagent.errors import ConfigError, DriveError
from edgeagent.robot.base import ZERO, Base, BaseLimits, Odometry, Position, Velocity
from edgeagent.robot.base_process import LEASE_S, LOADING, MESSAGE_BYTES

START_S: Final = 20.0
"""Seconds that the process may take until its base is open."""
SILENT_S: Final = 1.0
"""Seconds without a word from the process, while it drives, after which it is killed: its board's time-out is what
stops the motors then."""
LONGEST_LEASE_S: Final = 1.0
"""Seconds of the longest lease that may be asked for."""
LONGEST_TIMEOUT_S: Final = 0.5
"""Seconds of the longest time-out of a board that counts as one."""
CLOSE_S: Final = 2.0
"""Seconds that the process may take to leave its base safe."""
REST_S: Final = 0.5
"""Seconds in which a base that was stopped is waited for until it has rolled out."""
STOPPED_S: Final = 3.0
"""Seconds in which the process says that its base took a stop, or failed. It ends itself after 2 s of a call that
hangs."""

_STDERR: Final = 2
_RUN: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from edgeagent.robot.base_process import main; main(sys.argv[1:])"
)

_log = logging.getLogger("edgeagent.robot")
# what a start has frozen is no leak, but libraries would tell of it as one at the end of the program
atexit.register(gc.unfreeze)


class DriveEnded(DriveError):
    """Raised for a drive that is over: it was stopped, or has come to a limit, and the base is well."""


class BaseDriver:
    """Drives a base from a process of its own. A context manager.

    Args:
        base: An unopened base. Its class stands in a module that can be imported, and not in the program that was
            started, because the process would run that program again.
        lease_s: Seconds for which a velocity holds unless it is renewed.
        without_timeout: Accepts a board that goes on driving when the process is killed; every start warns of it.

    Attributes:
        base: The unopened base, for its settings.
        name: Of its class.
        limits: Of the base.

    Raises:
        ConfigError: The base lacks a method or its limits, its board has no time-out of its own, or it can't be handed
            to a process.
    """

    def __init__(self, base: Base, *, lease_s: float = LEASE_S, without_timeout: bool = False) -> None:
        self.name = type(base).__name__
        self.base = base
        _check(base)
        self.limits = base.limits
        self.has_gauge = hasattr(base, "battery_v")
        """True for a base that measures its battery."""
        timeout_s = self.limits.board_timeout_s
        self._is_unsafe = timeout_s is None or timeout_s > LONGEST_TIMEOUT_S
        if self._is_unsafe and not without_timeout:
            raise ConfigError(
                f"the board of {self.name} has no time-out of at most {LONGEST_TIMEOUT_S:g} s: it would drive on if "
                "its driver were killed. Give it one (limits.board_timeout_s), or accept that with "
                "BaseDriver(base, without_timeout=True)"
            )
        if not 0 < lease_s <= LONGEST_LEASE_S:
            raise ConfigError(f"lease_s is {lease_s!r}; it must be above 0 and at most {LONGEST_LEASE_S:g} s")
        if type(base).__module__ == "__main__":
            raise ConfigError(
                f"{self.name} stands in the program that was started, and its driver would run that again: move the "
                "class into a file of its own and import it"
            )
        try:
            self._pickled = pickle.dumps(base)
        except Exception as error:  # whatever a builder's object raises
            raise ConfigError(
                f"{self.name} can't be handed to its driver's process ({error}): keep settings in the constructor, "
                "and open ports and pins in open()"
            ) from error
        self._lease_s = lease_s
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._leases: socket.socket | None = None
        self._owner = 0
        """Process that started the driver. A copy of this object in a forked child must not end it."""
        self._ready = False
        self._failure = ""
        self._broken = (0, "")
        """The newest drive that a failure has ended, and the failure, which the next start forgets."""
        self._drives = 0
        self._stopped = 0
        self._stops = 0
        """Calls of ``stop``. One that comes while the base is opened counts for the drive that waits for it."""
        self._reasons: dict[int, str] = {}
        """Why drives have ended, by number."""
        self._held = False
        self._velocity = ZERO
        self._way: Odometry | None = None
        self._has_odometer = False
        self._position = Position()
        self._battery_v: float | None = None
        self._stopped_after = 0
        """The newest drive after which the base took a stop."""
        self._rests_after = 0
        """The newest drive after which the base was told to stand still, in two messages."""
        self._heard_s = 0.0

    def __enter__(self) -> BaseDriver:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Process that drives; None before ``start`` and after ``close``."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def velocity(self) -> Velocity:
        """Velocity that was last commanded to the motors, ramps included."""
        return self._velocity

    @property
    def odometry(self) -> Odometry | None:
        """Way since the base was opened; None for a base without encoders."""
        return self._way if self._has_odometer else None

    @property
    def way(self) -> Odometry:
        """As ``odometry``; for a base without encoders, by the velocity that was commanded."""
        return self._way or Odometry()

    @property
    def position(self) -> Position:
        """Position by dead reckoning since the first ``start``. Nobody notices that a closed base is carried away."""
        return self._position

    @property
    def battery_v(self) -> float | None:
        """Volts of the battery; None for a base that does not measure them, and before ``start``."""
        return self._battery_v

    def start(self) -> None:
        """Starts the process and opens the base, unless that is done.

        Raises:
            DriveError: The base can't be opened; the text says why.
        """
        with self._changed:
            if self._process is None or self._process.poll() is not None or self._failure:
                self._end_process()
                self._launch()
            process = self._process
            try:
                self._changed.wait_for(lambda: self._ready or self._failure or self._process is not process, START_S)
            except BaseException:  # Ctrl-C: nobody would end the process
                if self._process is process:
                    self._end_process()
                raise
            if self._process is not process:
                raise DriveError(f"the base {self.name} was closed while it was opened")
            if not self._ready or self._failure:
                failure = self._failure or f"it was not open after {START_S:g} s"
                self._end_process()
                raise DriveError(f"the base {self.name} can't be used: {failure}")

    @property
    def stops(self) -> int:
        """Number of calls of ``stop``."""
        return self._stops

    @contextmanager
    def drive(self, *, stops: int | None = None) -> Iterator[Drive]:
        """Begins a drive; it ends, and the base stands, when the block is left.

        Args:
            stops: ``stops`` when the command began of which this is a part. One more stops the drive before it moves.

        Raises:
            DriveError: The base can't be opened.
        """
        stops = self._stops if stops is None else stops
        self.start()
        with self._lock:
            self._drives += 1
            drive = Drive(self, self._drives)
        self._stop(drive.number - 1, "another one has begun")
        if self._stops != stops:
            self.stop()
        try:
            yield drive
        finally:
            self._stop(drive.number, "it is over")

    def stop(self) -> None:
        """Stops the base at once and ends every drive that has begun, and with them a hold: nobody releases a hold of
        what was stopped. Never blocks; any thread."""
        self._stops += 1
        self._stop(self._drives, "it was stopped")
        self.release()

    def wait_for_rest(self) -> bool:
        """Waits until a base whose drives are over has rolled out. False: it has not after half a second.

        Raises:
            DriveError: The base failed, or did not take its stop within 3 s; the text says if it may still move.
        """
        with self._changed:
            drives, begun_s = self._drives, time.monotonic()

            def has(after: int) -> bool:
                return after >= drives or not self._ready

            self._changed.wait_for(lambda: has(self._stopped_after), STOPPED_S)
            left_s = max(0.0, begun_s + REST_S - time.monotonic())
            rests = self._changed.wait_for(lambda: has(self._rests_after), left_s)
            if not has(self._stopped_after):
                self._failure = self._failure or f"it took no stop for {STOPPED_S:g} s ({self._may_move})"
                self._kill()
            if failure := self._failure or (self._broken[1] if 0 < drives <= self._broken[0] else ""):
                raise DriveError(f"the base {self.name} does not answer: {failure}")
            return rests

    def hold(self) -> None:
        """Stands still until ``release``; drives go on then. Never blocks; any thread."""
        self._held = True
        self._send("hold", True, link=self._link)

    def release(self) -> None:
        """Lets a held base drive again."""
        self._held = False
        self._send("hold", False, link=self._link)

    def silence(self, seconds: float) -> None:
        """Has the base told nothing for so long, 2 s at most, while it drives: only the time-out of its board stops it
        then, which a test wants to see. A stop or a hold ends the silence."""
        self._send("silence", seconds, link=self._link)

    def close(self) -> None:
        """Stops the base, leaves it safe and ends its process. Closing twice is closing once."""
        with self._changed:
            self._end_process()

    # --- for drives ---------------------------------------------------------------------------------------------------

    def _set(self, number: int, velocity: Velocity) -> None:
        """Renews the lease of a drive. Raises DriveError as ``Drive.set`` does."""
        with self._lock:
            if number <= self._broken[0]:
                raise DriveError(f"the base {self.name} does not answer: {self._broken[1]}")
            if number in self._reasons:
                raise DriveEnded(f"the drive has ended: {self._reasons[number]}")
            if number <= self._stopped or self._process is None:
                raise DriveEnded("the drive has ended: it was stopped")
            silent_s = time.monotonic() - self._heard_s
            if not self._failure and silent_s > SILENT_S and not self._has_unread():
                self._failure = f"its process said nothing for {silent_s:.1f} s"
                self._kill()
            if self._failure:
                raise DriveError(f"the base {self.name} does not answer: {self._failure}")
        if self._held:  # so that a hold counts though its message was lost on a full link
            return
        self._send("velocity", number, velocity.forward_mps, velocity.turn_rps, time.monotonic(), link=self._leases)

    def _stop(self, number: int, why: str) -> None:
        self._stopped = max(self._stopped, number)
        self._send("stop", number, why, link=self._link)

    def _send(self, *message: object, link: socket.socket | None) -> None:
        if link is None or os.getpid() != self._owner:
            return
        try:
            link.send(json.dumps(message).encode(), socket.MSG_DONTWAIT)
        except OSError as error:  # full: the process is stopped or slow, and its lease runs out; closed: it is gone
            _log.debug("a command to the base %s was not taken: %s", self.name, error)

    # --- the process --------------------------------------------------------------------------------------------------

    def _launch(self) -> None:
        """Starts the process; the lock is held.

        Raises:
            DriveError: The system has no process, thread or file to spare, or this is a driver's process itself, which
                runs the file of its base.
        """
        if LOADING.is_set():
            raise DriveError(f"a driver of {self.name} was started where its class is imported")
        if self._is_unsafe:
            _log.warning(
                "UNSAFE: the board of %s has no time-out: if its driver is killed, it drives on until the power is cut",
                self.name,
            )
        # an app file has a name that nobody can import
        module = type(self.base).__module__
        file = "" if _importable(module) else str(getattr(sys.modules.get(module), "__file__", "") or "")
        self._ready, self._failure = False, ""
        self._velocity, self._way, self._battery_v = ZERO, None, None
        self._heard_s = time.monotonic()
        self._owner = os.getpid()
        try:
            self._link, theirs = _socket_pair()
            self._leases, their_leases = _socket_pair()
            with theirs, their_leases:
                fds = (theirs.fileno(), their_leases.fileno())
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-I",
                        "-c",
                        _RUN,
                        json.dumps(sys.path, default=str),
                        *map(str, fds),
                        str(self._lease_s),
                        module,
                        file,
                    ],
                    stdin=subprocess.PIPE,
                    stdout=_printing(),
                    stderr=_printing(),
                    pass_fds=fds,
                    start_new_session=True,  # Ctrl-C in the terminal is the agent's
                )
            reader = threading.Thread(
                target=self._listen, args=(self._process, self._link), name=f"base-{self.name}", daemon=True
            )
            reader.start()
        except (OSError, RuntimeError) as error:  # no file, process or thread to be had
            self._end_process()
            raise DriveError(f"the driver of {self.name} can't be started: {error}") from error
        # a full collection of a loaded agent takes 30 ms of a fast core, and for that long nobody renews a lease
        gc.freeze()
        if self._held:
            self._send("hold", True, link=self._link)
        if not self._held:  # somebody has released it just now, and the order of both is not known
            self._send("hold", False, link=self._link)

    def _listen(self, process: subprocess.Popen[bytes], link: socket.socket) -> None:
        """Hands the base to the process and takes what it tells, on a thread of its own, until it ends."""
        try:
            with cast("IO[bytes]", process.stdin) as pipe:
                pipe.write(self._pickled)
        except OSError as error:  # it died at once, which is told below
            _log.debug("the driver of %s took no base: %s", self.name, error)
        try:
            self._take_all(link)
        except BaseException as error:  # noqa: BLE001  no memory: nobody must drive by what was told before
            with self._changed:
                if self._link is link:
                    self._failure = "what its process tells could not be taken"
            with contextlib.suppress(OSError):  # it stops the base, and ends
                link.shutdown(socket.SHUT_RDWR)
            _log.error("the driver of %s is given up: %s", self.name, type(error).__name__)
        code = process.wait()
        with self._changed:
            if self._process is process:
                self._failure = self._failure or _death(code)
                self._ready, self._velocity = False, ZERO
                self._changed.notify_all()

    def _take_all(self, link: socket.socket) -> None:
        """Takes what the process tells, until it ends."""
        while True:
            try:
                data = link.recv(MESSAGE_BYTES)
            except ConnectionResetError:  # it ended before it had read everything; its last words come behind this
                continue
            except OSError:
                data = b""
            if not data:
                return
            with self._changed:
                if self._link is link:
                    self._take(*json.loads(data))
                    self._changed.notify_all()

    def _take(self, kind: str, *values: Any) -> None:
        """Takes one message; the lock is held."""
        self._heard_s = time.monotonic()
        match kind, values:
            case "ready", _:
                self._ready = True
            case "failed", (text, stands):
                self._failure = str(text) if stands else f"{text} ({self._may_move})"
                _log.error("the base %s failed and %s: %s", self.name, "stands" if stands else self._may_move, text)
            case "status", (stopped, ended, velocity, way, has_odometer, battery_v):
                if stopped > self._stopped:
                    self._reasons = {stopped: str(ended)}
                self._stopped = max(self._stopped, stopped)
                self._velocity, self._has_odometer, self._battery_v = Velocity(*velocity), has_odometer, battery_v
                before, self._way = self._way, Odometry(*way)
                if before is not None:
                    metres = self._way.travelled_m - before.travelled_m
                    self._position = self._position.moved(metres, self._way.turned_rad - before.turned_rad)
                if self._velocity.is_zero:
                    self._stopped_after = stopped
                    if self._way == before:
                        self._rests_after = stopped

    @property
    def _may_move(self) -> str:
        """A warning of a base that took neither a stop nor zero velocity."""
        until = "its power is cut" if self._is_unsafe else "the time-out of its board"
        return f"may still move, until {until}"

    def _has_unread(self) -> bool:
        """True if the process has told something that the listening thread had no time for."""
        if self._link is None:
            return False
        looking = select.poll()  # select() takes no descriptor from 1024 on
        looking.register(self._link, select.POLLIN)
        return bool(looking.poll(0))

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _end_process(self) -> None:
        """Ends the process and waits until its base is safe; the lock is held."""
        if os.getpid() != self._owner:
            return
        process, links = self._process, (self._link, self._leases)
        code = process.poll() if process is not None else None
        if failure := self._failure or ("" if code is None else _death(code)):
            self._broken = (self._drives, failure)
        self._process = self._link = self._leases = None
        self._ready = False
        self._velocity = ZERO
        self._stopped = self._drives
        self._changed.notify_all()
        for link in filter(None, links):
            with contextlib.suppress(OSError):  # the process has ended before
                link.shutdown(socket.SHUT_RDWR)
            link.close()
        if process is not None:
            try:
                process.wait(CLOSE_S)
            except subprocess.TimeoutExpired:
                _log.error("the driver of %s did not end within %g s and is killed", self.name, CLOSE_S)
                process.kill()
                process.wait()


class Drive:
    """One drive of a base, for the body of a skill.

    Attributes:
        number: Counts from 1.
    """

    def __init__(self, driver: BaseDriver, number: int) -> None:
        self._driver = driver
        self._thread = threading.get_ident()
        self.number = number

    @property
    def odometry(self) -> Odometry | None:
        """Way since the base was opened; None for a base without encoders."""
        return self._driver.odometry

    def set(self, forward_mps: float = 0.0, turn_rps: float = 0.0) -> None:
        """Drives at a velocity for the length of the lease, 0.3 s; call it again before that is over.

        Raises:
            DriveError: The drive was stopped, has reached a limit, or the base does not answer; or another thread than
                that of the body calls, which says nothing of whether the body is well.
            ValueError: A velocity is no number; so are TypeError and OverflowError.
        """
        if threading.get_ident() != self._thread:
            raise DriveError("only the thread that has begun a drive renews its lease: its body may hang")
        self._driver._set(self.number, Velocity(float(forward_mps), float(turn_rps)))


def _check(base: Base) -> None:
    """Checks that a base has what ``Base`` asks for.

    Raises:
        ConfigError: A method or the limits are missing; the text names them.
    """
    needed = [name for name, kept in vars(Base).items() if callable(kept) and not name.startswith("_")]
    gauge = ["battery_v"] if hasattr(base, "battery_v") else []
    wrong = [f"no method {name}()" for name in (*needed, *gauge) if not callable(getattr(base, name, None))]
    if not isinstance(limits := getattr(base, "limits", None), BaseLimits):
        wrong.append(f"{limits!r} for its limits, which must be a BaseLimits")
    if wrong:
        raise ConfigError(f"{type(base).__name__} is no base: it has {', '.join(wrong)}")


def _death(code: int) -> str:
    """Failure of a process that has ended with that exit code."""
    return "its process ended " + (f"by signal {-code}" if code < 0 else f"with code {code}")


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None and not module.startswith("_app_")
    except (ImportError, ValueError):
        return False


def _socket_pair() -> tuple[socket.socket, socket.socket]:
    """A pair whose numbers are above those of the standard streams, which are free in an agent that was started
    without them: a child gets its own there, and what is printed goes there."""
    with contextlib.ExitStack() as low:
        pair = [low.enter_context(one) for one in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        ours, theirs = (socket.socket(fileno=fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _STDERR + 1)) for one in pair)
    return ours, theirs


def _printing() -> int:
    """Finds a place for what a base prints, which is no answer of the agent: standard error, if there is one."""
    try:
        os.fstat(_STDERR)
    except OSError:
        return subprocess.DEVNULL
    return _STDERR
