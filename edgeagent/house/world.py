"""The simulated world: the scene, the lock around it, and the passing of time.

Time passes in two ways, and never in both at once:

- **while something moves**, the thread of that skill steps the scene (``run``) and holds itself back to the wall clock;
- **while nothing moves**, a background thread does (``start``), so that timers end and the person walks, in ``chat``.
  Without it, in ``ask``, idle time does not pass: what happens then depends on the seed and the commands alone,
  however slow the model is.

The result of a sequence of commands is the same at every speed: speed only decides how long ``run`` waits between
two chunks of steps. While the safety latch holds the robot at a standstill, that counts as idle time.

``WorldPace`` holds simulated time back to the wall clock, at any factor. It never sleeps for a step: time advances in
chunks of about 20 ms of wall time, and between two chunks the stepping thread waits on a condition, in slices so short
that whoever asks it to stop is heard within 50 ms.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from edgeagent.house.drivetrain import STEP_S
from edgeagent.house.motion import Program, ProgramEnd
from edgeagent.house.scene import Scene, Snapshot


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

    def __exit__(self, *error: object) -> None:
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

    def __init__(self, speed: float, *, clock: Callable[[], float]) -> None:
        if not (SLOWEST <= speed <= FASTEST or speed == math.inf):
            raise ValueError(f"the speed must be from {SLOWEST:g} to {FASTEST:g}, not {speed:g}")
        self.speed: Final = speed
        self.chunk_steps: Final = int(min(_MOST_STEPS, max(1.0, speed * _SLICE_S / STEP_S)))
        self.idle_speed: Final = min(speed, FASTEST)
        """For time that passes while nothing moves: that cannot be infinitely fast."""
        self.clock: Final = clock
        self._changed = threading.Condition()
        self._origin_s = self.clock()
        self._waits_until_s = -math.inf
        """By the clock; -inf while nobody waits for simulated time."""

    def begin(self, time_s: float) -> None:
        """From now on, simulated time runs from ``time_s``."""
        self._origin_s = self.clock() - time_s / self.speed

    def ahead_s(self, time_s: float) -> float:
        """Seconds of wall time until ``time_s`` is due; not positive when it is."""
        if self.speed == math.inf:
            return 0.0
        ahead = self._origin_s + time_s / self.speed - self.clock()
        if ahead < -_FORGIVEN_S:
            self.begin(time_s)
        return ahead

    def wait(self, time_s: float, should_stop: Callable[[], bool]) -> None:
        """Waits until simulated ``time_s`` is due or ``should_stop``."""
        while (ahead := self.ahead_s(time_s)) > 0 and not should_stop():
            with self._changed:
                self._waits_until_s = self._origin_s + time_s / self.speed
                self._changed.notify_all()
                self._changed.wait(min(ahead, _SLICE_S))
                self._waits_until_s = -math.inf

    def pause(self) -> None:
        """Waits for a slice of wall time, or until somebody calls ``wake``."""
        with self._changed:
            self._changed.wait(_SLICE_S)

    def catch_up(self, moving: Callable[[], bool], timeout_s: float) -> bool:
        """Waits until simulated time has come to the clock's, where something moves; False if it has not in time."""
        with self._changed:
            self._changed.notify_all()
            return self._changed.wait_for(lambda: not moving() or self._waits_until_s > self.clock(), timeout_s)

    def wake(self) -> None:
        """Makes everybody who waits look again."""
        with self._changed:
            self._changed.notify_all()


_log = logging.getLogger(__name__)
_IDLE_SLICE_S: Final = 0.05
_MOST_IDLE_STEPS: Final = 100_000
"""Idle time that the background thread makes up for in one go."""


class World:
    """The scene in time. Every method may be called from any thread.

    Attributes:
        lock: Hold it to look at ``scene`` or to change it; never while calling anybody else's code.

    Args:
        seed: See ``Scene``.
        speed: Simulated seconds per second, 0.1 to 1,000, or infinite.
        clock: Wall time in seconds, or that of a simulated room.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        speed: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.scene: Final = Scene(seed)
        self.lock: Final = FairLock()
        self._pacer: Final = WorldPace(speed, clock=clock)
        self._runs = 0
        self._closed = threading.Event()
        self._ticker: threading.Thread | None = None

    @property
    def time_s(self) -> float:
        """Simulated seconds since the start."""
        return self.scene.time_s

    def snapshot(self) -> Snapshot:
        with self.lock:
            return self.scene.snapshot()

    def call_at(self, time_s: float, call: Callable[[], object]) -> None:
        """Has ``call`` called when that much simulated time has passed since the start, without the lock.

        It runs on the thread that lets time pass, which goes on when it returns.
        """
        with self.lock:
            self.scene.call_at(time_s, call)

    def run(
        self,
        program: Callable[[Scene], Program],
        *,
        should_stop: Callable[[], bool] = lambda: False,
        timeout_s: float = math.inf,
    ) -> ProgramEnd:
        """Lets a motion program have the base until it ends, and the base come to rest.

        Args:
            program: Called with the scene, under the lock, to make the program.
            should_stop: Asked at least every 50 ms of wall time.
            timeout_s: Simulated seconds; time at a standstill under the safety latch does not count.
        """
        with self.lock:
            self.scene.base.halted = False
            steps = program(self.scene)
            last_step = self.scene.steps + timeout_s / STEP_S
            self._runs += 1
        self._pacer.begin(self.time_s)
        try:
            return self._drive(steps, should_stop, last_step)
        finally:
            with self.lock:
                steps.close()
                while not self.scene.base.still:
                    self.scene.step()
                self._runs -= 1
            self._pacer.wake()
            self._ring()

    def _drive(self, program: Program, should_stop: Callable[[], bool], last_step: float) -> ProgramEnd:
        scene, base = self.scene, self.scene.base
        while not (should_stop() or self._closed.is_set()):
            with self.lock:
                held = base.speed_limit == 0.0 and base.still and not base.halted
                if not held and (outcome := self._chunk(program, last_step)) is not None:
                    return outcome
            self._ring()
            if held:
                before = scene.steps
                self._park(should_stop)
                last_step += scene.steps - before
            else:
                self._pacer.wait(self.time_s, should_stop)
        return ProgramEnd("halted")

    def _chunk(self, program: Program, last_step: float) -> ProgramEnd | None:
        """Some steps of a program, under the lock; its outcome if it has ended."""
        scene, base = self.scene, self.scene.base
        for _ in range(self._pacer.chunk_steps):
            if base.halted:
                return ProgramEnd("halted")
            if scene.battery.empty:
                return ProgramEnd("empty")
            if scene.steps >= last_step:
                return ProgramEnd("timed_out")
            try:
                speed, turn_rate = next(program)
            except StopIteration as end:
                outcome: ProgramEnd = end.value
                return outcome
            scene.step(speed, turn_rate)
            if scene.is_due or (base.speed_limit == 0.0 and base.still):
                return None
        return None

    def _park(self, should_stop: Callable[[], bool]) -> None:
        """Waits while the robot is held at a standstill; meanwhile the ticker, if there is one, has the time."""
        with self.lock:
            self._runs -= 1
        self._pacer.wake()
        try:
            while self.scene.base.speed_limit == 0.0 and not self.scene.base.halted and not should_stop():
                self._pacer.pause()
        finally:
            with self.lock:
                self._runs += 1
            self._pacer.begin(self.time_s)

    def advance(self, duration_s: float) -> None:
        """Lets idle time pass at once, without waiting for the wall clock."""
        last = self.scene.steps + round(duration_s / STEP_S)
        while self.scene.steps < last:
            with self.lock:
                self._idle(last)
            self._ring()

    def settle(self, timeout_s: float = 10.0) -> bool:
        """Waits until what moves has come as far as its clock; for tests on a virtual one. False: not in time."""
        return self._pacer.catch_up(lambda: self._runs > 0, timeout_s)

    def _idle(self, last: int) -> None:
        """Idle steps up to ``last``, or to the next call that is due; under the lock."""
        scene = self.scene
        for _ in range(self._pacer.chunk_steps):
            quiet = min(scene.quiet_steps(), last - scene.steps)
            if quiet > 0:
                scene.skip(quiet)
            if scene.steps < last:
                scene.step()
            if scene.steps >= last or scene.is_due:
                return

    def halt(self) -> None:
        """Brakes, and ends the running program as halted. Takes effect with the next simulated step."""
        with self.lock:
            self.scene.base.halted = True
        self._pacer.wake()

    def limit_speed(self, limit: Callable[[], float]) -> None:
        """Sets the base's speed limit, 0 to 1; ``limit`` is asked under the lock, so that the last word wins."""
        with self.lock:
            self.scene.base.speed_limit = limit()
        self._pacer.wake()

    def start(self) -> None:
        """Lets idle time pass with the wall clock, from a background thread, until ``close``."""
        if self._ticker is None and not self._closed.is_set():
            self._ticker = threading.Thread(target=self._tick, name="house-time", daemon=True)
            self._ticker.start()

    def close(self) -> None:
        """Stops the background thread and whatever moves."""
        self._closed.set()
        self.halt()
        if self._ticker is not None and self._ticker is not threading.current_thread():
            self._ticker.join()

    def _tick(self) -> None:
        pacer = self._pacer
        last_wall = pacer.clock()
        while not self._closed.wait(_IDLE_SLICE_S):
            now = pacer.clock()
            steps = int((now - last_wall) * pacer.idle_speed / STEP_S)
            if steps == 0:
                continue
            last_wall += steps * STEP_S / pacer.idle_speed
            last = self.scene.steps + min(steps, _MOST_IDLE_STEPS)
            while not self._closed.is_set():
                with self.lock:
                    if self._runs or self.scene.steps >= last:
                        break
                    self._idle(last)
                self._ring()
            if self._runs:
                last_wall = pacer.clock()

    def _ring(self) -> None:
        """Calls what is due, without the lock."""
        if not self.scene.is_due:
            return
        with self.lock:
            calls = self.scene.due()
        for call in calls:
            try:
                call()
            except Exception:  # noqa: BLE001  the app's code; time goes on
                _log.exception("a call at its simulated time raised")
