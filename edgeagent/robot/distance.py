"""Reads a builder's distance sensor, and tells metres or what is wrong with them.

The sensor is called on a thread of its own, so that one that hangs holds up nobody for long. Knows nothing of motors.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

from edgeagent.errors import ConfigError, DriveError
from edgeagent.stop import STOP_POLL_S
from edgeagent.tools import Threads

Distance = Callable[[], float | tuple[float, float]]
"""Reads a distance sensor: metres ahead, infinite where nothing is; or metres and the second of ``time.monotonic()`` at
which they were measured."""

OLD_S: Final = 0.3
"""Seconds after which a distance counts for nothing. A larger number lets a robot drive on what it saw longer ago."""
SENSOR_S: Final = 1.0
"""Seconds for which a sensor is waited for. The base stands meanwhile, when its lease is over, and goes on after it: a
larger number rides over longer pauses of a busy machine."""

_SILENT: Final = "the distance sensor does not answer"


class SensorError(DriveError):
    """Raised when a distance sensor tells no distance that counts."""


_Answer = float | tuple[float, float] | BaseException


class DistanceReader:
    """Reads one sensor, once at a time. Any thread.

    Args:
        sensor: The builder's function.

    Raises:
        ConfigError: It can't be called.
    """

    def __init__(self, sensor: Distance) -> None:
        if not callable(sensor):
            raise ConfigError(f"distance is {sensor!r}; it must be a function that reads the sensor")
        self._sensor = sensor
        self._threads = Threads()
        self._free = threading.Lock()
        """Held while the sensor is read; so a sensor that hangs has one thread, however often it is asked."""

    def metres(self, stop: threading.Event | None = None) -> float:
        """Reads the distance ahead, in ``SENSOR_S`` at most.

        Args:
            stop: Ends the wait when it is set.

        Raises:
            SensorError: The sensor tells no distance, or an old one, or it does not answer.
        """
        end_s = time.monotonic() + SENSOR_S
        while True:
            begun_s = time.monotonic()
            told = self._told(end_s, stop)
            late_s = time.monotonic() - begun_s
            if late_s <= OLD_S or isinstance(told, tuple | BaseException):
                return _checked(told, begun_s)
            # nobody knows when in that time it measured; a sensor that is always so slow does not answer in the end

    def _told(self, end_s: float, stop: threading.Event | None) -> _Answer:
        """Asks the sensor, until ``end_s`` or a stop at most.

        Raises:
            SensorError: It does not answer.
        """
        while not self._free.acquire(timeout=STOP_POLL_S):
            _check_wait(end_s, stop)
        answers: SimpleQueue[_Answer] = SimpleQueue()
        try:
            self._threads.run(lambda: self._read(answers), "distance")
        except (RuntimeError, MemoryError) as error:  # the limit of the system
            self._free.release()
            raise SensorError(f"the distance sensor can't be read: {error}") from error
        while True:
            try:
                return answers.get(timeout=STOP_POLL_S)
            except Empty:
                _check_wait(end_s, stop)

    def _read(self, answers: SimpleQueue[_Answer]) -> None:
        try:
            answers.put(self._sensor())
        except BaseException as error:  # noqa: BLE001  the builder's code, whatever it raises
            answers.put(error)
        finally:
            self._free.release()


def _check_wait(end_s: float, stop: threading.Event | None) -> None:
    """Raises SensorError if nobody waits any more."""
    if stop is not None and stop.is_set():
        raise SensorError("the command was stopped before the distance sensor answered")
    if time.monotonic() >= end_s:
        raise SensorError(_SILENT)


def _checked(told: _Answer, begun_s: float) -> float:
    """Returns the metres that a sensor told.

    Raises:
        SensorError: They are no distance, or an old one.
    """
    try:
        if isinstance(told, BaseException):
            raise told
        metres, at_s = told if isinstance(told, tuple) else (told, begun_s)
        if isinstance(metres, bool):
            raise TypeError("true or false is no distance")
        metres, age_s = float(metres), time.monotonic() - float(at_s)
    except DriveError as error:  # a sensor that says itself what is wrong
        raise SensorError(str(error)) from error
    except BaseException as error:
        raise SensorError(f"the distance sensor failed: {type(error).__name__}: {error}") from error
    if not metres > 0:
        raise SensorError(f"the distance sensor tells {metres:g} m, which is no distance")
    if not 0 <= age_s <= OLD_S:
        raise SensorError(f"the distance that the sensor tells is {age_s:.1f} s old")
    return metres
