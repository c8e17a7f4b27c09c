"""A journal for those who must not stop: what cannot be written now waits, and is written when there is room again.

Knows nothing of runs and sessions. Any thread may write; the order is kept.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from edgeagent.errors import EdgeAgentError
from edgeagent.journal.journal import Journal
from edgeagent.messages import Message, ToolResult, Usage

logger = logging.getLogger(__name__)


class Backlog:
    """Writes to a journal without ever raising.

    Args:
        journal: An open one; it is closed with this.
        known: Ids of the messages that are in it.
    """

    def __init__(self, journal: Journal, known: Iterable[str] = ()) -> None:
        self._journal = journal
        self._known = set(known)
        self._open: set[str | None] = set()
        """Ids of the calls in the journal that have not ended."""
        self._waiting: deque[_WaitingRecord] = deque()
        self._lock = threading.RLock()
        self._failed = False
        self._complaint: str | None = None

    @property
    def session_id(self) -> str:
        return self._journal.session_id

    def extend(self, messages: Sequence[Message]) -> None:
        """Appends the messages at the end of a history that were not written yet."""
        with self._lock:
            new = list(takewhile(lambda message: message.id not in self._known, reversed(messages)))
            for message in reversed(new):
                self._known.add(message.id)
                self._open.discard(message.call_id)
                self._open.update(call.id for call in message.tool_calls)
                self._append(message)

    def ended(self, result: ToolResult) -> None:
        """Writes the result of a call whose siblings go on. The history's own comes later and takes its place."""
        with self._lock:
            if result.call_id in self._open:
                self._open.remove(result.call_id)
                if self._open:
                    self._append(Message.tool(result))

    def replace(self, messages: Iterable[Message]) -> None:
        """Writes another history; what waited for its turn before it is of no use any more, but the usage."""
        whole = list(messages)
        with self._lock:
            self._known = {message.id for message in whole}
            self._waiting = deque(entry for entry in self._waiting if entry.is_usage)
            self._put(lambda: self._journal.replace(whole))

    def heard(self, message_id: str, text: str) -> None:
        """Cuts a message to what was heard of it."""
        with self._lock:
            self._put(lambda: self._journal.heard(message_id, text))

    def usage(self, usage: Usage) -> None:
        """Writes the total so far."""
        with self._lock:
            self._waiting = deque(entry for entry in self._waiting if not entry.is_usage)
            self._put(lambda: self._journal.usage(usage), is_usage=True)

    def complaint(self) -> str | None:
        """Why something could not be written, once each time that it begins to fail."""
        with self._lock:
            complaint, self._complaint = self._complaint, None
            return complaint

    def close(self) -> None:
        """Writes what waits, if that is possible now, and closes the journal. Safe to call again."""
        with self._lock:
            self._flush()
            if self._waiting:
                logger.error("%s: %d records could not be written", self._journal.path, len(self._waiting))
                self._waiting.clear()
            self._journal.close()

    def _append(self, message: Message) -> None:
        self._put(lambda: self._journal.append(message))

    def _put(self, write: Callable[[], None], *, is_usage: bool = False) -> None:
        self._waiting.append(_WaitingRecord(write, is_usage))
        self._flush()

    def _flush(self) -> None:
        while self._waiting:
            try:
                self._waiting[0].write()
                self._failed = False
            except EdgeAgentError as error:
                if not self._failed:
                    logger.error("%s", error)
                    self._failed, self._complaint = True, str(error)
                if isinstance(error.__cause__, OSError):
                    return
                # the journal is closed, or JSON cannot hold it: it never will be written
            self._waiting.popleft()


@dataclass(frozen=True, slots=True)
class _WaitingRecord:
    """One record that waits to be written."""

    write: Callable[[], None]
    is_usage: bool
