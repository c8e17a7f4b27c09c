"""The signal of a stop, how soon whoever waits for something else notices it, and how long its effect may take.

A stop is a ``threading.Event``, and a builder may pass in one of his own. Setting it wakes only those who wait for that
event alone; who waits for a lock, a queue, another event or a future looks at the stop every ``STOP_POLL_S``. Knows
nothing of runs. Any thread.
"""

from __future__ import annotations

import threading
import time
from typing import Final

STOP_POLL_S: Final = 0.02
"""Seconds between two looks at a stop, which is to be noticed within 0.05. A larger number wakes the processor less."""
JOIN_S: Final = 5.0
"""Seconds that the end of a thread is waited for that was told to end: a device or an engine may hold it."""


class StopSignal(threading.Event):
    """The stop of one run: set by ``abort``, or by an event that the caller of the run passed in."""

    def __init__(self, callers: threading.Event | None = None) -> None:
        super().__init__()
        self._callers: tuple[threading.Event, ...] = () if callers is None else (callers,)

    def follow(self, event: threading.Event) -> None:
        """Counts as set from now on when this event is."""
        self._callers += (event,)

    def is_set(self) -> bool:
        if super().is_set():
            return True
        for event in self._callers:  # noqa: SIM110 - asked at every token, and a generator takes twice as long
            if event.is_set():
                return True
        return False

    def wait(self, timeout: float | None = None) -> bool:
        """As ``Event.wait``; a caller's event ends it too, within 20 ms."""
        if not self._callers:
            return super().wait(timeout)
        end_s = None if timeout is None else time.monotonic() + timeout
        while not self.is_set():
            left_s = STOP_POLL_S if end_s is None else min(STOP_POLL_S, end_s - time.monotonic())
            if left_s <= 0:
                break
            super().wait(left_s)
        return self.is_set()
