"""The log of a run's events, which any number of readers may follow at their own pace."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from edgeagent.events import Event


class EventLog:
    """Appended by the loop's thread only; readers never make it wait."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._changed = threading.Condition()
        self._closed = False

    def append(self, event: Event) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Event]:
        """All events from the first, waiting for new ones until the log is closed."""
        position = 0
        while True:
            with self._changed:
                while not self._closed and len(self._events) == position:
                    self._changed.wait()
                fresh = self._events[position:]
                done = self._closed
            yield from fresh
            position += len(fresh)
            if done:
                return
