"""Events on their way to the page: a bounded queue between the threads of runs and voice and that of the server.

``put`` runs on the threads that emit events, takes microseconds and waits for nothing: a page never slows the robot.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from edgeagent import events

Tone = Literal["plain", "dim", "warning", "error"]
LIMIT: Final = 4096
"""Events that wait for the server's thread; the oldest go."""


@dataclass(frozen=True, slots=True)
class Note:
    """A line for a person that is no event, such as what became of the latch. ``t`` is monotonic seconds."""

    t: float
    text: str
    tone: Tone = "plain"


Item = events.Event | events.VoiceEvent | Note


class Inbox:
    """The queue. Any thread may put, one takes.

    A text that grows is told anew with every token. Of the pieces that wait the first one stays, because it tells when
    the text began, and the newest one, which holds the whole text so far.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._items: deque[Item] = deque()
        self._lost = 0
        self._wake: Callable[[], object] | None = None
        self._woken = False

    def put(self, item: Item) -> None:
        """Takes an event. Safe on any thread; a subscriber of runs and of the voice."""
        with self._lock:
            if self._continues(item):
                self._items[-1] = item
            else:
                self._items.append(item)
            if len(self._items) > LIMIT:
                self._items.popleft()
                self._lost += 1
            wake, self._woken = (None if self._woken else self._wake), True
        if wake is not None:
            wake()

    def note(self, text: str, tone: Tone = "plain") -> None:
        """Takes a line for a person."""
        self.put(Note(time.monotonic(), text, tone))

    def take(self) -> tuple[list[Item], int]:
        """Everything that waits, and the number of events that were lost before."""
        with self._lock:
            items, self._items = list(self._items), deque()
            lost, self._lost = self._lost, 0
            self._woken = False
        return items, lost

    def serve(self, wake: Callable[[], object]) -> None:
        """Has ``wake`` called when something waits, once until the next ``take``. None of its errors is caught."""
        with self._lock:
            self._wake = wake
            wanted = bool(self._items)
            self._woken = wanted
        if wanted:
            wake()

    def leave(self) -> None:
        """Nobody takes any more: what comes is forgotten when it is too much."""
        with self._lock:
            self._wake = None

    def _continues(self, item: Item) -> bool:
        if len(self._items) < 2:
            return False
        last, before = self._items[-1], self._items[-2]
        match item, last, before:
            case events.MessageUpdate(), events.MessageUpdate(), events.MessageUpdate():
                return item.message.id == last.message.id == before.message.id and item.channel == last.channel
            case events.Partial(), events.Partial(), _:
                return True
        return False
