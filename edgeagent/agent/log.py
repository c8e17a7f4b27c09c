"""The log of a run's events, which any number of readers may follow at their own pace."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue

from edgeagent.events import Event


class EventLog:
    """Appended by the loop's thread only; readers never make it wait.

    A reader waits in a ``SimpleQueue``, which is C: a signal handler that raises on the main thread can break the
    bookkeeping of a ``threading.Condition``, and does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._readers: list[SimpleQueue[Event | None]] = []
        self._waiters: list[SimpleQueue[None]] = []
        self._closed = False

    def append(self, event: Event) -> None:
        with self._lock:
            self._events.append(event)
            for reader in self._readers:
                reader.put(event)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for reader in self._readers:
                reader.put(None)
            for waiter in self._waiters:
                waiter.put(None)

    @property
    def closed(self) -> bool:
        return self._closed

    def wait(self, timeout_s: float | None = None) -> bool:
        """Waits until the log is closed; False when the time was over first."""
        waiter: SimpleQueue[None] = SimpleQueue()
        with self._lock:
            if self._closed:
                return True
            self._waiters.append(waiter)
        try:
            waiter.get(timeout=timeout_s)
        except Empty:
            return self._closed
        finally:
            with self._lock:
                self._waiters.remove(waiter)
        return True

    def __iter__(self) -> Iterator[Event]:
        """All events from the first, waiting for new ones until the log is closed."""
        reader: SimpleQueue[Event | None] = SimpleQueue()
        with self._lock:
            for past in self._events:
                reader.put(past)
            if self._closed:
                reader.put(None)
            self._readers.append(reader)
        try:
            while (event := reader.get()) is not None:
                yield event
        finally:
            with self._lock:
                self._readers.remove(reader)
