"""Holds simulated time back to the wall clock, at any factor.

Never sleeps for a step: time advances in chunks of about 20 ms of wall time, and between two chunks the stepping thread
waits on a condition, in slices so short that whoever asks it to stop is heard within 50 ms.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final

from edgeagent.house.drivetrain import STEP_S


class FairLock:
    """First come, first served; not reentrant; a context manager."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._held = False
        self._queue: deque[threading.Lock] = deque()

    def __enter__(self) -> None:
        with self._mutex:
            if not self._held:
                self._held = True
                return
            turn = threading.Lock()
            turn.acquire()
            self._queue.append(turn)
        try:
            turn.acquire()
        except BaseException:  # Ctrl-C while waiting: leave the queue, or pass on what was just handed over
            self._give_up(turn)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        with self._mutex:
            if self._queue:
                self._queue.popleft().release()
            else:
                self._held = False

    def _give_up(self, turn: threading.Lock) -> None:
        with self._mutex:
            if turn in self._queue:
                self._queue.remove(turn)
                return
        self._release()


SLOWEST: Final = 0.1
FASTEST: Final = 1000.0
_SLICE_S: Final = 0.02
_MOST_STEPS: Final = 100
"""Of one chunk: about a millisecond of computing, for which others may have to wait."""
_FORGIVEN_S: Final = 0.25
"""A machine that is further behind than this does not try to catch up."""


class WorldPace:
    """The relation of simulated time and wall time.

    Args:
        speed: Simulated seconds per second, 0.1 to 1,000; infinite never waits.
        clock: Seconds of wall time.

    Raises:
        ValueError: ``speed`` is out of range.
    """

    def __init__(self, speed: float = 1.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        if not (SLOWEST <= speed <= FASTEST or speed == math.inf):
            raise ValueError(f"the speed must be from {SLOWEST:g} to {FASTEST:g}, not {speed:g}")
        self.speed: Final = speed
        self.chunk_steps: Final = int(min(_MOST_STEPS, max(1.0, speed * _SLICE_S / STEP_S)))
        self.idle_speed: Final = min(speed, FASTEST)
        """For time that passes while nothing moves: that cannot be infinitely fast."""
        self._clock = clock
        self._changed = threading.Condition()
        self._origin_s = self._clock()
        self._waits_until_s = -math.inf
        """By the clock; -inf while nobody waits for simulated time."""

    def begin(self, time_s: float) -> None:
        """From now on, simulated time runs from ``time_s``."""
        self._origin_s = self._clock() - time_s / self.speed

    def ahead_s(self, time_s: float) -> float:
        """Seconds of wall time until ``time_s`` is due; not positive when it is."""
        if self.speed == math.inf:
            return 0.0
        ahead = self._origin_s + time_s / self.speed - self._clock()
        if ahead < -_FORGIVEN_S:
            self.begin(time_s)
        return ahead

    def now(self) -> float:
        """Wall time, in seconds."""
        return self._clock()

    def wait(self, time_s: float, should_stop: Callable[[], bool]) -> None:
        """Waits until simulated ``time_s`` is due or ``should_stop``."""
        while (ahead := self.ahead_s(time_s)) > 0 and not should_stop():
            with self._changed:
                self._waits_until_s = self._origin_s + time_s / self.speed
                self._changed.notify_all()
                self._changed.wait(min(ahead, _SLICE_S))
                self._waits_until_s = -math.inf

    def pause(self, seconds: float = _SLICE_S) -> None:
        """Waits that long, or until somebody calls ``wake``."""
        with self._changed:
            self._changed.wait(seconds)

    def catch_up(self, moving: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until simulated time has come to the clock's, where something moves; False if it has not in time."""
        with self._changed:
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not moving() or self._waits_until_s > self._clock(), timeout_s)

    def wake(self) -> None:
        """Makes everybody who waits look again."""
        with self._changed:
            self._changed.notify_all()
