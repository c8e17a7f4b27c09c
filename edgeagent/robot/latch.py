"""The safety latch: one word that everything that moves obeys.

Any thread may call it. After it has changed it tells what moves, then its listeners, on the caller's thread and without
holding a lock; a listener reads ``state`` for what holds now, because another thread may have changed it meanwhile.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

from edgeagent.errors import ConfigError

_log = logging.getLogger(__name__)


class LatchState(StrEnum):
    """free: motion is allowed. held: it waits. tripped: it is cancelled and refused until re-armed."""

    FREE = "free"
    HELD = "held"
    TRIPPED = "tripped"


class Follower(Protocol):
    """Part of a robot that moves and obeys the latch: the bodies of an agent."""

    def obey(self) -> Callable[[], object]:
        """Obeys the latch as it is now, without waiting for an actuator. Returns what waits for it."""
        ...

    def silent(self) -> str:
        """Names an actuator that has not answered its stop; empty if there is none."""
        ...


Listener = Callable[[LatchState, str], object]
_Told = tuple[LatchState, str, tuple[Listener, ...]]


class SafetyLatch:
    """Starts free. Several may hold it for reasons of their own: it is free when the last of them has released it.

    Attributes:
        state: free, held or tripped; equals those words.
        reason: Why it is held or tripped, empty when free.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._tripped: str | None = None
        """Why."""
        self._holds: dict[str, str] = {}
        """Why, by owner, the oldest first."""
        self._state, self._reason = LatchState.FREE, ""
        self._listeners: list[Listener] = []
        self._followers: tuple[Follower, ...] = ()

    @property
    def state(self) -> LatchState:
        return self._state

    @property
    def reason(self) -> str:
        return self._reason

    def hold(self, reason: str, *, owner: str = "") -> bool:
        """Makes motion wait, reversibly. A tripped latch stays tripped.

        Args:
            owner: Only the same one can release it, and it outlives a trip: who holds for a person before the lidar
                holds after a re-arm too. A trip takes the place of a hold without an owner.

        Returns:
            True if the state has changed.
        """
        with self._changed:
            if owner or self._tripped is None:
                self._holds.setdefault(owner, reason)
            told = self._settle()
        return self._tell(told)

    def release(self, *, owner: str = "") -> bool:
        """Lets motion go on that this owner holds, if nobody else does. Returns True if the state has changed."""
        with self._changed:
            self._holds.pop(owner, None)
            told = self._settle()
        return self._tell(told)

    def trip(self, reason: str) -> bool:
        """Cancels motion and refuses it until ``rearm``, whatever the reason is. Returns True if this call did it."""
        with self._changed:
            if self._tripped is None:
                self._tripped = reason or "stopped"
                self._holds.pop("", None)
            told = self._settle()
        return self._tell(told)

    def rearm(self) -> bool:
        """Allows motion again after ``trip``, once no owner holds it.

        Returns:
            True if this call did it. False too while an actuator has not answered its stop: the latch stays tripped,
            and ``reason`` names the actuator.
        """
        silent = self._silent()
        with self._changed:
            if silent and self._tripped is not None:
                self._tripped = self._reason = silent
                _log.warning("the latch stays tripped: %s", silent)
                return False
            self._tripped = None
            told = self._settle()
        return self._tell(told)

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
        """Has ``listener(state, reason)`` called after every change; returns what ends that.

        Raises:
            ConfigError: It is no function, or async.
        """
        if inspect.iscoroutinefunction(listener) or not callable(listener):
            raise ConfigError(
                f"SafetyLatch.subscribe({listener!r}): it should be a plain function of a state and a reason"
            )
        with self._changed:
            self._listeners.append(listener)

        def unsubscribe() -> None:
            with self._changed:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return unsubscribe

    def follow(self, follower: Follower) -> None:
        """Has what moves obey from now on. It is told of every change before any listener, and asked at a re-arm."""
        with self._changed:
            self._followers += (follower,)

    def _silent(self) -> str:
        return next((text for follower in self._followers if (text := follower.silent())), "")

    def _settle(self) -> _Told | None:
        """Brings the state in line with trip and holds; the lock is held. Returns what to tell, None if nothing."""
        before = self._state
        if self._tripped is not None:
            self._state, self._reason = LatchState.TRIPPED, self._tripped
        elif self._holds:
            self._state, self._reason = LatchState.HELD, next(iter(self._holds.values()))
        else:
            self._state, self._reason = LatchState.FREE, ""
        if self._state is before:
            return None
        self._changed.notify_all()
        return self._state, self._reason, tuple(self._listeners)

    def _tell(self, told: _Told | None) -> bool:
        """Tells of a change. Returns whether there was one."""
        if told is None:
            return False
        state, reason, listeners = told
        waits = [follower.obey() for follower in self._followers]
        for listener in listeners:
            try:
                listener(state, reason)
            except (Exception, SystemExit):  # noqa: BLE001  one broken listener must not keep the others from stopping their motors
                _log.exception("a listener of the safety latch raised")
        for wait in waits:
            wait()
        return True
