"""The two queues of messages that reach a run from outside: steering and follow-up.

One lock for both and for the question whether a run may close, so that no message is lost or doubled. Any thread.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

from edgeagent.agent.run_options import Options, QueueMode, returned_messages
from edgeagent.messages import Message, copied

logger = logging.getLogger(__name__)

QueueName = Literal["steering", "follow_up"]


class Queues:
    """Steering and follow-up of one agent, and whether a run would still take a message up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[QueueName, deque[Message]] = {"steering": deque(), "follow_up": deque()}
        self._open = False
        self._notes: set[str] = set()
        """Ids of messages that go with others, and for which alone no request is made."""
        self._wakes: dict[str, Callable[[], object]] = {}
        """By the id of a message that came since the last run began: what starts a run for it."""

    def put(self, name: QueueName, message: Message, *, wake: Callable[[], object] | None, note: bool = False) -> bool:
        """Queues a message.

        Args:
            wake: Starts a run for it; kept until the agent is idle, and forgotten if a run takes the message first.
            note: It goes with the next request, and makes none.

        Returns:
            True if an open run will see it.
        """
        with self._lock:
            self._queues[name].append(message.copy())
            if note:
                self._notes.add(message.id)
            if wake is not None:
                self._wakes[message.id] = wake
            return self._open

    def take(self, name: QueueName, *, everything: bool, notes: bool) -> list[Message]:
        """Returns the first message, with the notes before it, or all.

        Args:
            notes: They may be all that there is.
        """
        with self._lock:
            queue = self._queues[name]
            first = next((at for at, message in enumerate(queue) if message.id not in self._notes), None)
            if first is None and not notes:
                return []
            count = len(queue) if everything or first is None else first + 1
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
            self._notes &= {message.id for queue in self._queues.values() for message in queue}

    def close_if_empty(self) -> bool:
        """Marks the run as closing if nothing is queued but notes; what comes later is the next run's."""
        with self._lock:
            if self._asks():
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
        """True if a request is to be made for what is queued."""
        with self._lock:
            return self._asks()

    def _asks(self) -> bool:
        return any(message.id not in self._notes for queue in self._queues.values() for message in queue)


class RunInbox:
    """Messages that one run takes from the queues, and gives back where no request will hold them.

    Args:
        queues: The agent's that was asked.
        options: The run's: modes, and callbacks that are polled.
    """

    def __init__(self, queues: Queues, options: Options) -> None:
        self.queues = queues
        self._modes = {"steering": options.steering_mode, "follow_up": options.followup_mode}
        self._polls = {"steering": options.get_steering_messages, "follow_up": options.get_follow_up_messages}
        self._skipping: list[Message] = []
        """Steering that skipped the rest of a batch, and waits for the next request."""
        self._lock = threading.Lock()
        self._emptied = False

    def drain(self, *names: QueueName, notes: bool = False) -> list[Message]:
        """Messages of the first queue named that has any, as many as its mode takes.

        Args:
            notes: Those that go with the next request may be all that there is, because one is made anyway.
        """
        for name in names:
            self._poll(name)
            taken = self.queues.take(name, everything=self._modes[name] is QueueMode.ALL, notes=notes)
            if taken:
                return taken
        return []

    def _poll(self, name: QueueName) -> None:
        """Queues what the builder's callback has, behind what is there."""
        poll = self._polls[name]
        if poll is None:
            return
        try:
            found = returned_messages(poll(), name)
        except BaseException:  # the builder's code; the next drain asks again
            logger.exception("get_%s_messages raised", name)
            return
        for message in found:
            self.queues.put(name, message, wake=None)

    def should_skip(self) -> bool:
        """True if somebody has said something that skips the rest of a batch; ``next_steering`` returns it."""
        self._skipping = self._skipping or self.drain("steering")
        return bool(self._skipping)

    def next_steering(self) -> list[Message]:
        """Returns what was said while the tools ran: what skipped the rest of them first."""
        taken, self._skipping = self._skipping, []
        return taken or self.drain("steering", notes=True)

    def next_messages(self) -> list[Message]:
        """Returns what was queued while the model worked; the run is marked as closing in the moment in which there is
        nothing."""
        while True:
            pending = self.drain("steering", "follow_up")
            if pending or self.queues.close_if_empty():
                return pending

    def give_back(self, messages: Sequence[Message]) -> None:
        """Returns messages that were drained and that no request will hold, and at the end what skipped a batch."""
        with self._lock:
            if not self._emptied:
                self.queues.put_back("steering", [m for m in messages if m.origin == "steering"])
                self.queues.put_back("follow_up", [m for m in messages if m.origin == "follow_up"])

    def give_skipping_back(self) -> None:
        """As ``give_back``, of what skipped the rest of a batch in the last turn."""
        self.give_back(self._skipping)
        self._skipping = []

    def empty(self) -> None:
        """Forgets all messages, for good: a safety stop. Any thread."""
        with self._lock:
            self._emptied = True
            self.queues.clear("steering", "follow_up")
