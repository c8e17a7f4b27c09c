"""Questions of a server to a person during a call (the protocol's elicitation): their words, and answers as values.

``OpenCall`` takes a question in the event loop of ``mcp-tools``; the thread of the call's body puts it to the person.
A server's words are data: one line, cut, with the server's name before them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final

import mcp_types

from edgeagent.english import yes_or_no
from edgeagent.errors import EdgeAgentError
from edgeagent.mcp_tools.offered_tools import TOLD_MAX, one_line
from edgeagent.tools import ToolContext
from edgeagent.tools.signature import ArgumentError, coerce

logger = logging.getLogger(__name__)

FIELDS_MAX: Final = 5
"""Values that one question may ask for. Nobody answers a longer form aloud."""
QUESTIONS_MAX: Final = 20
"""Questions of one call. Without a limit a server would pester a person for as long as its call lasts, and what waits
would fill the memory."""
_DECLINED: Final = mcp_types.ElicitResult(action="decline")

Ask = Callable[[str], str]
"""Puts one question to a person, and returns the words of the answer; raises where none comes."""


class OpenCall:
    """A call whose body waits, and the questions to its person."""

    def __init__(self, server: str, context: ToolContext) -> None:
        self._server, self._context = server, context
        self._asked: SimpleQueue[tuple[mcp_types.ElicitRequestParams, Future[mcp_types.ElicitResult]]] = SimpleQueue()
        self._over = threading.Event()
        self._count = 0

    async def put(self, asked: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
        """Waits for the answer of the person; in the event loop."""
        self._count += 1
        if self._count > QUESTIONS_MAX:
            return _DECLINED
        answer: Future[mcp_types.ElicitResult] = Future()
        self._asked.put((asked, answer))
        if self._over.is_set():
            self._decline()
        return await asyncio.wrap_future(answer)

    def serve(self) -> None:
        """Puts what was asked to the person, one after the other, and waits for the answers; on the body's thread."""
        with suppress(Empty):
            while True:
                asked, answer = self._asked.get_nowait()
                given = _DECLINED
                try:
                    given = answered(asked, partial(self._ask, answer.cancelled), self._server)
                finally:
                    _give(answer, given)

    def close(self) -> None:
        """Declines what is asked and what will be."""
        self._over.set()
        self._decline()

    def _decline(self) -> None:
        with suppress(Empty):
            while True:
                _give(self._asked.get_nowait()[1], _DECLINED)

    def _ask(self, taken_back: Callable[[], bool], question: str) -> str:
        """The answer of the run's person, as a question tool gets it.

        Args:
            taken_back: True when the server does not want to know any more.

        Raises:
            EdgeAgentError: There is nobody, or no answer came.
        """
        run = self._context.agent
        if run is None or run.ask is None:
            raise LookupError("nobody can be asked")

        def stopping() -> bool:
            return self._context.should_stop() or run.should_stop() or taken_back()

        if stopping():  # of many questions that wait, none is put after a stop
            raise EdgeAgentError("nobody wants to know any more")
        return str(run.ask([question], stopping, run.options.confirm_timeout_s))


def _give(answer: Future[mcp_types.ElicitResult], given: mcp_types.ElicitResult) -> None:
    if answer.set_running_or_notify_cancel():  # the server may have taken its question back
        answer.set_result(given)


def answered(asked: mcp_types.ElicitRequestParams, ask: Ask, server: str) -> mcp_types.ElicitResult:
    """Puts a server's question to a person.

    A question without values, or for a boolean alone, is answered by a clear yes or no; others value by value. No
    answer and one that does not fit decline it. So does an address, because nobody here can be sent to one.
    """
    if not isinstance(asked, mcp_types.ElicitRequestFormParams):
        return _DECLINED
    fields: Mapping[str, Any] = asked.requested_schema.get("properties") or {}
    if not isinstance(fields, dict) or len(fields) > FIELDS_MAX:
        return _DECLINED
    if not all(isinstance(field, dict) for field in fields.values()):
        return _DECLINED
    question = f"{server} asks: {one_line(asked.message, TOLD_MAX)}"
    content: dict[str, Any] = {}
    try:
        if not fields:
            return mcp_types.ElicitResult(action="accept", content={}) if yes_or_no(ask(question)) else _DECLINED
        for name, field in fields.items():
            alone = len(fields) == 1
            content[name] = _value(ask(_worded(question, name, field, alone=alone)), field)
            question = f"{server} asks:"
    except Exception as error:  # noqa: BLE001 - of a builder's question function, too: no answer is a no
        logger.info("a question of %s is declined: %s", server, error)
        return _DECLINED
    return mcp_types.ElicitResult(action="accept", content=content)


def _worded(question: str, name: str, field: Mapping[str, Any], *, alone: bool) -> str:
    """The question for one value. The label of a boolean that stands alone says nothing more."""
    if alone and field.get("type") == "boolean":
        return question
    label = one_line(str(field.get("description") or field.get("title") or name), TOLD_MAX)
    choices = ", ".join(one_line(str(choice), TOLD_MAX) for choice in field.get("enum", ()))
    return f"{question} {label}{f' ({one_line(choices, TOLD_MAX)})' if choices else ''}?"


def _value(said: str, field: Mapping[str, Any]) -> Any:
    """The words of an answer as a value.

    Raises:
        ArgumentError: They are none.
    """
    if field.get("type") != "boolean":
        return coerce(said.strip(), dict(field))
    understood = yes_or_no(said)
    if understood is None:
        raise ArgumentError("neither yes nor no")
    return understood
