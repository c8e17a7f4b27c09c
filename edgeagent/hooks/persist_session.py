"""PersistSessionHook: what a run commits is in a journal before anything is done about it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from edgeagent.context import AgentContext
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks.types import BaseHook, FirePoint, HookResult, Payload
from edgeagent.journal import Durability, Journal

logger = logging.getLogger(__name__)


class PersistSessionHook(BaseHook):
    """Writes the messages of a run to a journal: BEFORE_TOOL, BEFORE_LLM, ON_RUN_END.

    So an assistant message is on disk before its first tool starts, and each result before the next model call. A disk
    that fails is told once, and the run goes on: a robot must not stop because nobody can write down what it does.

    Args:
        path: The journal; created if it is not there, and opened with the first message. Or a journal that is open.
        durability: As ``Journal.open``.
    """

    points = frozenset({FirePoint.BEFORE_TOOL, FirePoint.BEFORE_LLM, FirePoint.ON_RUN_END})
    priority = 2000
    """Before every other hook: what another one denies or rewrites was asked for all the same."""

    def __init__(self, path: str | os.PathLike[str] | Journal, *, durability: Durability = "process") -> None:
        self._durability: Durability = durability
        self._journal = path if isinstance(path, Journal) else None
        self._path = path.path if isinstance(path, Journal) else Path(path)
        self._written: set[str] = set()
        self._failed = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if ctx.depth == 0:  # a sub-agent's history is its own; what came of it is in the one that asked it
            try:
                self._write(ctx)
                self._failed = False
            except EdgeAgentError as error:
                if not self._failed:
                    logger.warning("%s", error)
                    ctx.notice("error", f"what is said now is not kept: {error}")
                self._failed = True
        return None

    def known(self, message_ids: set[str]) -> None:
        """Says which messages the journal has, after its history was replaced."""
        self._written = set(message_ids)

    def close(self) -> None:
        """Gives the journal back. Safe to call again."""
        if self._journal is not None:
            self._journal.close()

    def _write(self, ctx: AgentContext) -> None:
        if self._journal is None:
            self._journal = Journal.open(self._path, durability=self._durability)
            self._written = {message.id for message in self._journal.load().messages}
        for message in ctx.history():
            if message.id not in self._written:
                self._journal.append(message)
                self._written.add(message.id)
