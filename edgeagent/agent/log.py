"""The log of a run's events, which any number of readers may follow at their own pace, and who else is told of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from edgeagent.agent.run_options import check_callback
from edgeagent.events import Event, Level

logger = logging.getLogger(__name__)
E = TypeVar("E")


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
            waiter.get(timeout=None if timeout_s is None else min(max(0.0, timeout_s), threading.TIMEOUT_MAX))
        except Empty:
            return self._closed
        finally:
            with self._lock:
                self._waiters.remove(waiter)
        return True

    def __iter__(self) -> Iterator[Event]:
        """All events from the first, waiting for new ones until the log is closed."""
        return self.follow(lambda: None)

    def follow(self, before_waiting: Callable[[], object]) -> Iterator[Event]:
        """As ``iter``; ``before_waiting`` is called when the next event is not there yet, and may raise."""
        reader: SimpleQueue[Event | None] = SimpleQueue()
        with self._lock:
            for past in self._events:
                reader.put(past)
            if self._closed:
                reader.put(None)
            self._readers.append(reader)
        try:
            while True:
                if reader.empty():
                    before_waiting()
                if (event := reader.get()) is None:
                    return
                yield event
        finally:
            with self._lock:
                self._readers.remove(reader)


class Subscribers(Generic[E]):
    """Those who are told of every event, in the order in which they subscribed. Any thread.

    The tuple is replaced, never changed, so that who tells goes through it without a lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.all: tuple[Callable[[E], object], ...] = ()

    def add(self, subscriber: Callable[[E], object]) -> Callable[[], None]:
        """Has a function called with every event. Returns what ends that.

        Raises:
            ConfigError: It is async, or can't be called.
        """
        check_callback(subscriber, "subscribe({})")
        with self._lock:
            self.all += (subscriber,)
        subscribed = True

        def unsubscribe() -> None:
            nonlocal subscribed
            with self._lock:
                left = list(self.all)
                if subscribed and subscriber in left:
                    left.remove(subscriber)
                self.all, subscribed = tuple(left), False

        return unsubscribe


class Broadcast:
    """The way of one run's events to the log and to the subscribers. On the loop's thread, except ``notice``.

    Args:
        observers: Told of this run only, before the others.
        subscribers: The agent's.
        notices: The agent's, from any thread: what one run did not tell any more, the next one tells.

    Attributes:
        numbers: The next event's ``seq``.
        errors: How often a subscriber raised.
    """

    def __init__(
        self,
        observers: Sequence[Callable[[Event], object]],
        subscribers: Subscribers[Event],
        notices: SimpleQueue[tuple[Level, str]],
    ) -> None:
        self.log = EventLog()
        self.notices = notices
        self.numbers = count()
        self.errors = 0
        self._observers = observers
        self._subscribers = subscribers

    def notice(self, level: Level, text: str) -> None:
        """Has a notice told with the next event. Any thread."""
        self.notices.put((level, text))

    def send(self, event: Event, then: Callable[[], object] | None = None) -> None:
        """Appends an event to the log and tells the subscribers, in the order in which they registered.

        Args:
            then: Called when all subscribers have returned; readers of the log see the event after it.
        """
        if then is None:
            self.log.append(event)
        for subscriber in chain(self._observers, self._subscribers.all):
            try:
                subscriber(event)
            except BaseException:  # the builder's code; sys.exit() in it must not end the run's thread
                self.errors += 1
                logger.exception("a subscriber raised at %s", event.kind)
        if then is not None:
            then()
            self.log.append(event)
