"""Who uses what: the resources that running bodies hold, and the workers that were given up.

Shared by all runs of an agent, because a body that was abandoned outlives its run. Any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MAX_ABANDONED: Final = 16
"""With this many bodies that never came back, no further call starts (contract, section 4)."""


@dataclass(frozen=True, slots=True)
class Busy:
    """A resource that somebody else holds: the tool's name, and whether that call was given up."""

    resource: str
    holder: str
    abandoned: bool


class Workers:
    """The ledger of resources and of abandoned bodies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[str] = set()
        self._abandoned: set[str] = set()
        self._holders: dict[str, tuple[str, str]] = {}

    def acquire(self, call_id: str, name: str, resources: Iterable[str]) -> Busy | None:
        """Registers a call and takes all its resources, or does nothing and says which is busy."""
        wanted = tuple(resources)
        with self._lock:
            for resource in wanted:
                if resource in self._holders:
                    holder, holder_name = self._holders[resource]
                    return Busy(resource, holder_name, holder in self._abandoned)
            self._running.add(call_id)
            self._holders.update(dict.fromkeys(wanted, (call_id, name)))
        return None

    def abandon(self, call_id: str) -> None:
        """The loop waits no longer for this body; it keeps its resources until it returns."""
        with self._lock:
            if call_id in self._running:
                self._abandoned.add(call_id)

    def returned(self, call_id: str) -> None:
        """The body is back: its resources are free."""
        with self._lock:
            self._running.discard(call_id)
            self._abandoned.discard(call_id)
            self._holders = {name: holder for name, holder in self._holders.items() if holder[0] != call_id}

    @property
    def abandoned(self) -> int:
        """How many bodies were given up and are still running."""
        with self._lock:
            return len(self._abandoned)
