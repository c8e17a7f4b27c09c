"""History of a session: in memory, and in a journal if there is one. Any thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from operator import attrgetter

from edgeagent.agent.ledger import cut, marker
from edgeagent.journal import Backlog, Durability, Journal
from edgeagent.messages import Message, Usage, copied


class History:
    """The messages and the usage of a session.

    Args:
        path: Of the journal; what it holds is the history to begin with.
        durability: Of the journal.

    Attributes:
        backlog: The journal.
        usage: Tokens of all runs; the journal has them with ``keep_usage``.
        notices: What was repaired in it.

    Raises:
        BusyError, ConfigError, EdgeAgentError: As ``Journal.open``.
    """

    def __init__(self, path: str | os.PathLike[str] | None, *, durability: Durability) -> None:
        self.backlog: Backlog | None = None
        self.notices: tuple[str, ...] = ()
        self._messages: list[Message] = []
        self.usage = Usage()
        self._heard: dict[str, str] = {}
        """Of each reply that was cut, what is left of it."""
        self._amended = False
        """Something was cut that the journal has in another order, or without its marker."""
        self._lock = threading.Lock()
        if path is None:
            return
        journal = Journal.open(path, durability=durability)
        try:
            found = journal.load()
        except BaseException:
            journal.close()
            raise
        self._messages, self.usage, self.notices = list(found.messages), found.usage, found.notices
        self.backlog = Backlog(journal, [message.id for message in found.messages])

    def copy(self) -> list[Message]:
        """The messages, as copies."""
        with self._lock:
            return copied(self._messages)

    def replace(self, messages: Sequence[Message]) -> None:
        """Another history in the place of this one."""
        with self._lock:
            self._heard.clear()
            self._keep(copied(messages))

    def shorten(self, messages: Sequence[Message]) -> None:
        """The same history, shorter. What was heard of a reply meanwhile counts."""
        with self._lock:
            self._keep(self._cut(list(messages)))

    def commit(self, messages: Sequence[Message], *, interrupted: bool) -> None:
        """Takes over what a run has left, with a marker where a reply was cut by an abort, or because less of it was
        heard."""
        with self._lock:
            before = self._cut(copied(messages))
            amended = self._amended or list(map(attrgetter("id"), before)) != list(map(attrgetter("id"), messages))
            if interrupted and before and before[-1].stop_reason == "aborted":
                before.append(marker())
            if amended:
                self._keep(before)
                return
            self._messages = before
            if self.backlog is not None:
                self.backlog.extend(before)

    def hear(self, message_id: str, text: str, *, in_run: bool) -> bool:
        """Cuts a reply to what was heard of it. False if it is neither here nor in the run that goes on."""
        with self._lock:
            known = cut(self._messages, message_id, text)
            if known is None and not in_run:
                return False
            self._heard[message_id] = text
            if known is not None:
                self._messages = known
            if not in_run:
                self._keep(self._messages)
            else:
                self._amended = True  # what the run leaves will be written as a whole
                if self.backlog is not None:
                    self.backlog.heard(message_id, text)
            return True

    def committed(self, message: Message) -> None:
        """A run has committed a message; if it was cut while it was still streaming, the journal learns it now."""
        with self._lock:
            text = self._heard.get(message.id)
            if text is not None and self.backlog is not None:
                self.backlog.heard(message.id, text)

    def keep_usage(self) -> None:
        """Writes the usage to the journal."""
        if self.backlog is not None:
            self.backlog.usage(self.usage)

    def close(self) -> None:
        """Gives the journal back. Safe to call again."""
        with self._lock:
            if self._amended:
                self._keep(self._messages)
        if self.backlog is not None:
            self.backlog.close()

    def _cut(self, messages: list[Message]) -> list[Message]:
        for message_id, text in self._heard.items():
            messages = cut(messages, message_id, text) or messages
        return messages

    def _keep(self, messages: list[Message]) -> None:
        """The lock is held."""
        self._messages, self._amended = messages, False
        ids = {message.id for message in messages}
        self._heard = {message_id: text for message_id, text in self._heard.items() if message_id in ids}
        if self.backlog is not None:
            self.backlog.replace(messages)
