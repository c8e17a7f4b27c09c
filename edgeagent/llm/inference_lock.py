"""Serialises generations on one model. Imports the standard library only, so that a scripted model loads no engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from edgeagent.errors import BusyError

_POLL_S: Final = 0.02  # a stop event has no way to wake a waiter on another lock


class InferenceLock:
    """Held for one generation and nothing else. Two threads in one llama context abort the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @contextmanager
    def hold(self, stop_event: threading.Event) -> Iterator[bool]:
        """Waits for the model; gives False when ``stop_event`` was set first, and then holds nothing.

        Raises:
            BusyError: This thread is inside a stream of the same model, and would wait for itself.
        """
        if self._owner == threading.get_ident():
            raise BusyError("a model call from inside a stream of the same model would wait for itself")
        while not self._lock.acquire(timeout=_POLL_S):
            if stop_event.is_set():
                yield False
                return
        self._owner = threading.get_ident()
        try:
            yield True
        finally:
            self._owner = None
            self._lock.release()

    @contextmanager
    def attempt(self) -> Iterator[bool]:
        """Takes the model if nobody has it; gives False when somebody does, and then holds nothing."""
        held = self._lock.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._lock.release()
