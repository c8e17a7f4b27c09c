"""Daemon threads that wait a moment for more work, because to start one takes longer than all else in a short call.

Knows nothing of tools. A thread that waits refers to its pool only, so that it keeps nobody alive.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

MAX_IDLE: Final = 8
"""As many as work at once, unless ``Options.max_concurrent_tools`` says otherwise."""
IDLE_S: Final = 0.5


class Threads:
    """Starts as many as there is work, and keeps a few of them for a moment. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Thread] = []

    def run(self, work: Callable[[], object], name: str) -> None:
        """Has the work done on a thread of that name, beside all other work and in a context of its own."""
        with self._lock:
            while self._idle:
                thread = self._idle.pop()
                if thread.is_alive():  # not so in the child of a fork
                    thread.inbox.put((work, name))
                    return
        thread = _Thread(self)
        thread.inbox.put((work, name))
        thread.start()

    def keep(self, thread: _Thread) -> bool:
        """Called by a thread that has done its work. False: there are enough."""
        with self._lock:
            if len(self._idle) >= MAX_IDLE:
                return False
            self._idle.append(thread)
            return True

    def release(self, thread: _Thread) -> bool:
        """Called by a thread that has waited long enough. False: there is work for it."""
        with self._lock:
            if thread not in self._idle:
                return False
            self._idle.remove(thread)
            return True


class _Thread(threading.Thread):
    def __init__(self, pool: Threads) -> None:
        super().__init__(daemon=True)
        self.inbox: SimpleQueue[tuple[Callable[[], object], str]] = SimpleQueue()
        self._pool = pool

    def run(self) -> None:
        while True:
            try:
                work, self.name = self.inbox.get(timeout=IDLE_S)
            except Empty:
                if self._pool.release(self):
                    return
                continue
            contextvars.Context().run(work)
            del work
            if not self._pool.keep(self):
                return
