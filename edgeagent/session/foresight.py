"""Foresight of what the robot would do for words that were not surely understood.

A recogniser that wavers between "drive four, no wait, five meters" and the same with "weight" wavers about nothing, if
the model makes the same calls of both: what counts is how probable these calls are. The model is asked on a thread of
its own, with the history of the session, and nothing is kept of that: no hook sees it and no event tells it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.errors import ModelError
from edgeagent.llm import LLMRequest
from edgeagent.messages import Message
from edgeagent.session.session import Session
from edgeagent.stop import JOIN_S

logger = logging.getLogger(__name__)

LEAST_SHARE: Final = 0.7
"""Least share of the probability of what a robot does though nobody knows with which words it was asked for. Of 205
commands by heart and joe in a room, 61 of them over a motor at 10 dB, nano then acts rightly on 187 in place of 164,
and of 68 by machine voices on 45 in place of 34; of 208 utterances of talk there on none. With 0.5 it is 189 and 48,
and one of the latter is another call."""
Calls = list[tuple[str, dict[str, Any]]]
"""Names and arguments."""


@dataclass(slots=True)
class _Group:
    """Texts that make the same calls; the first one is the likeliest."""

    text: str
    calls: Calls
    share: float = 0.0


class Foresight:
    """The model's view of texts that may have been said.

    Args:
        session: Its model is asked.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def ask(self, possible: Sequence[tuple[str, float]], told: Callable[[str | None], object]) -> None:
        """Begins to ask for the calls of texts, in place of what it was asked before.

        Args:
            possible: What may have been said, with shares of the probability, the likeliest first.
            told: Called on a thread of its own, unless something else is asked, or ``leave`` called, before: with the
                likeliest text of those that make the same calls, if they have ``LEAST_SHARE`` together; else with None.
        """
        self.leave()
        self._stop = stop = threading.Event()
        thread = threading.Thread(target=self._work, args=(possible, told, stop), name="foresight", daemon=True)
        thread.start()
        self._thread = thread

    def leave(self) -> None:
        """Asks no further. Safe to call again."""
        self._stop.set()

    def settle(self, timeout_s: float) -> bool:
        """Waits until nothing is asked. False: not in time."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)
        return thread is None or not thread.is_alive()

    def close(self) -> None:
        """Ends. Safe to call again."""
        self.leave()
        self.settle(JOIN_S)

    def _work(
        self, possible: Sequence[tuple[str, float]], told: Callable[[str | None], object], stop: threading.Event
    ) -> None:
        text: str | None = None
        try:
            text = self._probable(possible, stop)
        except Exception:  # whatever a model raises: the words stay in doubt, and a person is asked
            logger.exception("the model does not tell what it would do")
        if not stop.is_set():
            told(text)

    def _probable(self, possible: Sequence[tuple[str, float]], stop: threading.Event) -> str | None:
        groups: list[_Group] = []
        left = sum(share for _, share in possible)
        for text, share in possible:
            if max((group.share for group in groups), default=0.0) + left < LEAST_SHARE:
                return None
            left -= share
            calls = self._calls(text, stop)
            group = next((group for group in groups if group.calls == calls), None)
            if group is None:
                groups.append(group := _Group(text, calls))
            group.share += share
            if group.share >= LEAST_SHARE:
                return group.text if calls else None
        return None

    def _calls(self, text: str, stop: threading.Event) -> Calls:
        """Calls that the model would make.

        Raises:
            ModelError: It can't tell, or has no time to.
        """
        session = self._session
        llm, options = session.agent.llm, session.options or session.agent.options
        if llm is None:
            raise ModelError("there is no model")
        request = LLMRequest(
            system=session.agent.instructions,
            messages=[*session.messages(), Message.user(text)],
            tools=list(session.agent.tools),
            tool_choice="none" if options.tool_choice == "none" else "auto",
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            thinking_level=options.thinking_level,
            response_schema=session.context.response_schema,
        )
        reply = llm.complete(request, stop)
        if reply.stop_reason in ("error", "aborted"):
            raise ModelError(reply.error or "it was stopped")
        return [(call.name, call.arguments) for call in reply.tool_calls]
