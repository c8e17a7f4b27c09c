"""Memory of an agent across runs: facts in an SQLite database, shown to the model at the end of every prompt."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from edgeagent.context import AgentContext
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks.hook import BaseHook, BeforeLLM, FirePoint, HookResult, counted, file_path
from edgeagent.messages import Message
from edgeagent.tools import Tool, tool

FACT_CHARS: Final = 500
"""The longest fact."""
_MODE: Final = 0o600
_TABLE: Final = "CREATE TABLE IF NOT EXISTS facts (id INTEGER PRIMARY KEY, fact TEXT NOT NULL UNIQUE)"


class MemoryHook(BaseHook):
    """BEFORE_LLM: puts the facts at the tail of the prompt, so that the cached beginning holds; history never has them.

    Any thread may use it, and several processes one file. The file is created at the first use, with mode 0600; after
    ``close`` the next use opens it again.

    Args:
        path: The database.
        max_facts: How many the model is shown: the newest.

    Raises:
        ConfigError: ``path`` is no path, or ``max_facts`` no whole number from 1 on.
        EdgeAgentError: In every method: the file cannot be opened or written, or is no database.
    """

    points = frozenset({FirePoint.BEFORE_LLM})
    concurrent = True

    def __init__(self, path: str | os.PathLike[str], *, max_facts: int = 50) -> None:
        self.path = file_path("MemoryHook(path={})", path)
        self.max_facts = counted("MemoryHook(max_facts={})", max_facts)
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeLLM) -> HookResult | None:
        facts = self.facts(self.max_facts)
        if not facts:
            return None
        known = Message.user("\n".join(["Known facts:", *(f"- {fact}" for fact in facts)]), origin="ephemeral")
        return HookResult.replace(replace(payload, messages=[*payload.messages, known]))

    @property
    def tools(self) -> list[Tool]:
        """``remember`` and ``forget``, for an agent that may do so itself."""

        @tool
        def remember(fact: str) -> str:
            """Remember a fact for good, for example a name or a preference.

            Args:
                fact: One short sentence.
            """
            return "remembered" if self.remember(fact) else "already known"

        @tool
        def forget(text: str) -> str:
            """Forget every remembered fact that contains a text.

            Args:
                text: A word or a part of the fact.
            """
            return f"facts forgotten: {self.forget(text)}"

        return [remember, forget]

    def remember(self, fact: str) -> bool:
        """Keeps a fact, its white space made plain. False if it is known already, or empty.

        Raises:
            EdgeAgentError: It has more than 500 characters.
        """
        plain = " ".join(fact.split())
        if len(plain) > FACT_CHARS:
            raise EdgeAgentError(f"a fact has at most {FACT_CHARS} characters, this one has {len(plain)}: shorten it")
        if not plain:
            return False
        with self._database() as database:
            return database.execute("INSERT OR IGNORE INTO facts (fact) VALUES (?)", (plain,)).rowcount > 0

    def forget(self, text: str) -> int:
        """Drops the facts that contain a text, in any case, and says how many; an empty text is in none."""
        wanted = " ".join(text.split()).casefold()
        if not wanted:
            return 0
        with self._database() as database:
            # SQLite's own comparison knows no case but that of ASCII
            gone = [(key,) for key, fact in database.execute("SELECT id, fact FROM facts") if wanted in fact.casefold()]
            database.executemany("DELETE FROM facts WHERE id = ?", gone)
        return len(gone)

    def facts(self, limit: int | None = None) -> list[str]:
        """The newest ``limit`` facts, or all; oldest first."""
        most = -1 if limit is None else max(limit, 0)
        with self._database() as database:
            rows = database.execute("SELECT fact FROM facts ORDER BY id DESC LIMIT ?", (most,)).fetchall()
        return [fact for (fact,) in reversed(rows)]

    def clear(self) -> None:
        """Forgets everything."""
        with self._database() as database:
            database.execute("DELETE FROM facts")

    def close(self) -> None:
        """Closes the file. Safe to call again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one thread at a time; what was changed is committed, or nothing of it."""
        with self._lock:
            try:
                if self._connection is None:
                    self._connection = _opened(self.path)
                with self._connection:
                    yield self._connection
            except sqlite3.Error as error:
                raise EdgeAgentError(f"the memory {self.path} cannot be used: {error}; {_advice(error)}") from error


def _opened(path: Path) -> sqlite3.Connection:
    """A connection to the file, created if there is none."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE))
    except FileExistsError:  # closing it here would take away the locks of another connection of this process
        if not path.is_file():
            raise EdgeAgentError(f"the memory {path} cannot be opened: it is no file; name another one") from None
    except FileNotFoundError as error:
        raise EdgeAgentError(f"the memory {path} cannot be opened: there is no folder {path.parent}") from error
    except OSError as error:
        raise EdgeAgentError(f"the memory {path} cannot be opened: {error.strerror}; name another file") from error
    # SQLite gives the files beside it (-wal, -shm) the mode that this one has
    connection = sqlite3.connect(path, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(_TABLE)
    except BaseException:
        connection.close()
        raise
    return connection


def _advice(error: sqlite3.Error) -> str:
    if isinstance(error, sqlite3.OperationalError):
        return "is the disk full, the file read-only, or another process at it?"
    return "name another file, or move this one away"
