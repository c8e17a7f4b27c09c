"""The two queues of messages that reach a run from outside: steering and follow-up.

One lock for both and for the question whether a run may close, so that no message is lost or doubled. Any thread.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Literal

from edgeagent.messages import Message, copied

QueueName = Literal["steering", "follow_up"]


class Queues:
    """Steering and follow-up of one agent, and whether a run would still take a message up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[QueueName, deque[Message]] = {"steering": deque(), "follow_up": deque()}
        self._open = False
        self._wakes: dict[str, Callable[[], object]] = {}
        """By the id of a message that came since the last run began: what starts a run for it."""

    def put(self, name: QueueName, message: Message, *, wake: Callable[[], object] | None) -> bool:
        """Queues a message.

        Args:
            wake: Starts a run for it; kept until the agent is idle, and forgotten if a run takes the message first.

        Returns:
            True if an open run will see it.
        """
        with self._lock:
            self._queues[name].append(message.copy())
            if wake is not None:
                self._wakes[message.id] = wake
            return self._open

    def take(self, name: QueueName, *, everything: bool) -> list[Message]:
        with self._lock:
            queue = self._queues[name]
            count = len(queue) if everything else min(1, len(queue))
            return [queue.popleft() for _ in range(count)]

    def put_back(self, name: QueueName, messages: list[Message]) -> None:
        """Returns messages that were taken but never reached a request, in front of the others."""
        with self._lock:
            self._queues[name].extendleft(reversed(messages))

    def open(self) -> None:
        """A run begins and takes up what is queued."""
        with self._lock:
            self._open = True
            self._wakes.clear()

    def close_if_empty(self) -> bool:
        """Marks the run as closing if nothing is queued; a message that comes later is the next run's."""
        with self._lock:
            if any(self._queues.values()):
                return False
            self._open = False
            return True

    def close(self) -> None:
        """Marks the run as closing whatever is queued; it ended for another reason than being done."""
        with self._lock:
            self._open = False

    def take_wake(self) -> Callable[[], object] | None:
        """Returns what to start now that the agent is idle, if a message that asked for it is still waiting."""
        with self._lock:
            waiting = [message.id for queue in self._queues.values() for message in queue]
            wake = next((self._wakes[message_id] for message_id in waiting if message_id in self._wakes), None)
            self._wakes.clear()
            return wake

    def clear(self, *names: QueueName) -> None:
        with self._lock:
            for name in names:
                self._queues[name].clear()

    def snapshot(self, name: QueueName) -> tuple[Message, ...]:
        with self._lock:
            return tuple(copied(self._queues[name]))

    def __bool__(self) -> bool:
        with self._lock:
            return any(self._queues.values())
