"""PersistSessionHook: what a run commits is in a journal before anything is done about it."""

from __future__ import annotations

import logging
import os
import threading
from typing import Final

from edgeagent.context import AgentContext
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks.hook import BaseHook, FirePoint, HookResult, Payload, file_path
from edgeagent.journal import Backlog, Durability, Journal

logger = logging.getLogger(__name__)
_ASKED: Final = "asked"


class PersistSessionHook(BaseHook):
    """Writes the messages of a run to a journal: BEFORE_TOOL, BEFORE_LLM, ON_RUN_END.

    So an assistant message is on disk before its first tool starts, and each result before the next model call, also
    where that is the call of an agent that was handed over to. A disk that fails is told once, and the run goes on: a
    robot must not stop because nobody can write down what it does. What waits is written when there is room again.

    Args:
        path: The journal; created if it is not there, and opened with the first message. Or one that is open.
        durability: As ``Journal.open``.

    Raises:
        ConfigError: ``path`` is no path.
    """

    points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.BEFORE_LLM, FirePoint.ON_RUN_END})
    priority = 2000
    """Before every other hook: what another one denies or rewrites was asked for all the same."""

    def __init__(self, path: str | os.PathLike[str] | Backlog, *, durability: Durability = "process") -> None:
        self._durability: Durability = durability
        self._backlog = path if isinstance(path, Backlog) else None
        self._path = None if isinstance(path, Backlog) else file_path("PersistSessionHook(path={})", path)
        self._lock = threading.Lock()
        self._failed = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        self.keep(ctx)
        return None

    def keep(self, ctx: AgentContext) -> None:
        """Writes what the agent that was asked has committed. Any thread."""
        state = ctx.state_of(self)
        if ctx.depth == 0:
            state[_ASKED] = ctx
        asked: AgentContext | None = state.get(_ASKED)  # a sub-agent's history is its own
        if asked is None:
            return
        with self._lock:  # sub-agents call this beside each other
            backlog = self._opened(ctx)
            if backlog is not None:
                backlog.extend(asked.history())
                self._complain(ctx, backlog.complaint())

    def close(self) -> None:
        """Gives the journal back. Safe to call again."""
        if self._backlog is not None:
            self._backlog.close()

    def _opened(self, ctx: AgentContext) -> Backlog | None:
        if self._backlog is None and self._path is not None:
            try:
                journal = Journal.open(self._path, durability=self._durability)
                try:
                    found = journal.load()
                except BaseException:
                    journal.close()
                    raise
            except EdgeAgentError as error:
                if not self._failed:
                    logger.error("%s", error)
                    self._complain(ctx, str(error))
                self._failed = True
                return None
            for notice in found.notices:
                ctx.notice("warning", notice)
            self._backlog = Backlog(journal, [message.id for message in found.messages])
        return self._backlog

    def _complain(self, ctx: AgentContext, complaint: str | None) -> None:
        if complaint is not None:
            ctx.notice("error", f"what is said now is not kept: {complaint}")
