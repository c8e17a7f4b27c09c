"""The two queues of messages that reach a run from outside, steering and follow-up; and notes, which go with a request
that is made anyway.

One lock for all and for the question whether a run may close, so that no message is lost or doubled. Any thread.
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
        self._notes: list[Message] = []
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

    def note(self, message: Message) -> None:
        """Keeps a message for the next request; none is made for it."""
        with self._lock:
            self._notes.append(message.copy())

    def take_notes(self) -> list[Message]:
        with self._lock:
            taken, self._notes = self._notes, []
            return taken

    @property
    def notes(self) -> tuple[Message, ...]:
        with self._lock:
            return tuple(copied(self._notes))

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

    def drain(self, *names: QueueName) -> list[Message]:
        """Messages of the first queue named that has any, as many as its mode takes."""
        for name in names:
            self._poll(name)
            taken = self.queues.take(name, everything=self._modes[name] is QueueMode.ALL)
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
        return taken or self.drain("steering")

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
