"""The safety latch: one word that everything that moves obeys.

Any thread may call it. It tells its listeners after it has changed, on the caller's thread and without holding a lock;
a listener reads ``state`` for what holds now, because another thread may have changed it meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import StrEnum

_log = logging.getLogger(__name__)


class LatchState(StrEnum):
    """free: motion is allowed. held: it waits. tripped: it is cancelled and refused until re-armed."""

    FREE = "free"
    HELD = "held"
    TRIPPED = "tripped"


Listener = Callable[[LatchState, str], object]


class SafetyLatch:
    """Starts free.

    Attributes:
        state: free, held or tripped; equals those words.
        reason: Why it is held or tripped, empty when free.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._state = LatchState.FREE
        self._reason = ""
        self._listeners: list[Listener] = []

    @property
    def state(self) -> LatchState:
        return self._state

    @property
    def reason(self) -> str:
        return self._reason

    def hold(self, reason: str) -> bool:
        """Makes motion wait, reversibly. Returns True if this call did it; a tripped latch stays tripped."""
        return self._change((LatchState.FREE,), LatchState.HELD, reason)

    def release(self) -> bool:
        """Lets held motion go on. Returns True if this call did it; a tripped latch stays tripped."""
        return self._change((LatchState.HELD,), LatchState.FREE, "")

    def trip(self, reason: str) -> bool:
        """Cancels motion and refuses it until ``rearm``. Returns True if this call did it."""
        return self._change((LatchState.FREE, LatchState.HELD), LatchState.TRIPPED, reason)

    def rearm(self) -> bool:
        """Allows motion again after ``trip``. Returns True if this call did it; a held latch stays held."""
        return self._change((LatchState.TRIPPED,), LatchState.FREE, "")

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks while held.

        Args:
            timeout: Seconds; None waits for ever.

        Returns:
            True if motion may go on; False if the latch is tripped, or still held when the time is over.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._state is not LatchState.HELD, timeout)
            return self._state is LatchState.FREE

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Has ``listener(state, reason)`` called after every change; returns what ends that."""
        with self._changed:
            self._listeners.append(listener)

        def unsubscribe() -> None:
            with self._changed:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return unsubscribe

    def _change(self, allowed: tuple[LatchState, ...], state: LatchState, reason: str) -> bool:
        with self._changed:
            if self._state not in allowed:
                return False
            self._state, self._reason = state, reason
            listeners = tuple(self._listeners)
            self._changed.notify_all()
        for listener in listeners:
            try:
                listener(state, reason)
            except Exception:  # noqa: BLE001  one broken listener must not keep the others from stopping their motors
                _log.exception("a listener of the safety latch raised")
        return True
