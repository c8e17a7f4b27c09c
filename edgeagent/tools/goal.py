"""A long-running goal: what a skill's body and its observers share.

The body runs on a tool worker; everybody else looks, gives feedback or cancels from a thread of their own.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from edgeagent.errors import EdgeAgentError
from edgeagent.tools import actuator
from edgeagent.tools.actuator import Actuator

GoalState = Literal["pending", "running", "succeeded", "failed", "cancelled"]


class GoalCancelled(EdgeAgentError):
    """Raised by ``checkpoint()`` in the body of a goal that was cancelled."""


class GoalHandle:
    """One goal. Its final states are sticky.

    Args:
        stop: Reaches the actuator: called once, as soon as the goal is cancelled, on a thread of its own.
        pause, resume: Hold the actuator and let it go on, on another thread; a goal that has both can wait.
        on_progress: Told every progress value, on the body's thread.
        actuator: What calls these functions, if not one of its own.

    Attributes:
        actuator: What calls ``stop``, ``pause`` and ``resume``.
    """

    def __init__(
        self,
        *,
        stop: Callable[[], object] | None = None,
        pause: Callable[[], object] | None = None,
        resume: Callable[[], object] | None = None,
        on_progress: Callable[[Any], object] | None = None,
        actuator: Actuator | None = None,
    ) -> None:
        self.actuator = actuator or Actuator(stop=stop, pause=pause, resume=resume)
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._finished = threading.Event()
        self._feedback: deque[Any] = deque()
        self._going = threading.Event()
        self._going.set()
        self._on_progress = on_progress
        self._state: GoalState = "pending"
        self.progress: Any = None
        self.result: Any = None
        self.error: str | None = None

    @property
    def state(self) -> GoalState:
        return self._state

    @property
    def cancelled(self) -> bool:
        """True as soon as somebody asked for it, while the body may still be coming to rest."""
        return self._cancelled.is_set()

    @property
    def cancel_event(self) -> threading.Event:
        """Set on cancellation, for bodies that wait."""
        return self._cancelled

    def poll(self) -> GoalState:
        """The state now, without waiting."""
        return self._state

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits for a final state; False when the time was over first."""
        return self._finished.wait(timeout_s)

    def cancel(self) -> bool:
        """Asks the body to return and stops the actuator, for which it waits half a second at most. True if this call
        did it."""
        if not self.demand_cancel():
            return False
        actuator.wait(actuator.begin([self.actuator]))
        return True

    def demand_cancel(self) -> bool:
        """As ``cancel``, but ``stop`` is left to ``actuator.begin``: who stops several tells all bodies first."""
        with self._lock:
            if self._cancelled.is_set() or self._finished.is_set():
                return False
            self.actuator.demand_stop()
            self._cancelled.set()
            self._going.set()
        return True

    def pause(self) -> bool:
        """Holds the actuator and makes the body wait at its next checkpoint. False: this goal cannot wait."""
        if not self.demand_hold(True):
            return False
        actuator.wait(actuator.begin([self.actuator]))
        return True

    def resume(self) -> None:
        """Lets a goal that waits go on."""
        self.demand_hold(False)
        actuator.wait(actuator.begin([self.actuator]))

    def demand_hold(self, held: bool) -> bool:
        """As ``pause`` or ``resume``, but what the actuator is told is left to ``actuator.begin``. False: it cannot
        wait."""
        if not self.actuator.can_wait:
            return False
        with self._lock:
            if self._cancelled.is_set() or self._finished.is_set() or self._going.is_set() is not held:
                return True
            self.actuator.demand_hold(held)
            if held:
                self._going.clear()
            else:
                self._going.set()
        return True

    def checkpoint(self) -> None:
        """For the body's loop: waits while the goal is paused.

        Raises:
            GoalCancelled: The goal was cancelled; let it pass through.
        """
        self._going.wait()  # a cancellation ends this wait too
        if self._cancelled.is_set():
            raise GoalCancelled("the goal was cancelled")

    def set_progress(self, progress: Any) -> None:
        self.progress = progress
        if self._on_progress is not None:
            self._on_progress(progress)

    def give_feedback(self, feedback: Any) -> None:
        """Something for the body to take up, from any thread."""
        self._feedback.append(feedback)

    def feedback(self) -> Any:
        """The oldest feedback that the body has not taken yet, or None."""
        try:
            return self._feedback.popleft()
        except IndexError:
            return None

    def begin(self) -> bool:
        """Marks the goal as running; from now on a cancellation stops the actuator. False: it was cancelled before."""
        with self._lock:
            if self._state == "pending" and not self._cancelled.is_set():
                self._state = "running"
                self.actuator.arm()
            return self._state == "running"

    def finish(self, state: GoalState, *, result: Any = None, error: str | None = None) -> None:
        """Sets a final state; a later one changes nothing. Waits half a second at most for an actuator that is held."""
        with self._lock:
            if self._finished.is_set():
                return
            self._state, self.result, self.error = state, result, error
            self._finished.set()
        actuator.wait(self.actuator.close())
