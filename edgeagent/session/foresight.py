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

from edgeagent.agent.model_call import MODEL_ROLES
from edgeagent.agent.run_options import hooks_of
from edgeagent.errors import ModelError
from edgeagent.hooks import FirePoint
from edgeagent.journal.records import with_results
from edgeagent.llm import LLMRequest
from edgeagent.messages import Message
from edgeagent.session.fallback import FallbackLLM
from edgeagent.session.session import Session
from edgeagent.stop import JOIN_S

logger = logging.getLogger(__name__)

_BEFORE: Final = {FirePoint.ON_RUN_START, FirePoint.BEFORE_LLM}
LEAST_SHARE: Final = 0.7
"""Least share of the probability of what a robot does though nobody knows with which words it was asked for. Of 205
commands by heart and joe in a room, 61 of them over a motor at 10 dB, nano then acts rightly on 180 in place of 164,
and of 68 by machine voices on 42 in place of 34; of 208 utterances of talk there on none. With 0.5 it is 182 and 44,
and one of the latter is another call."""
Calls = list[tuple[str, dict[str, Any]]]
"""Names and arguments."""


@dataclass(slots=True)
class _Group:
    """Texts that make the same calls."""

    text: str
    """The likeliest."""
    calls: Calls
    share: float = 0.0
    """Of all of them."""
    most: float = 0.0
    """Of that one."""


class Foresight:
    """The model's view of texts that may have been said. The methods are for one thread, but where they say otherwise.

    Args:
        session: Its model is asked.
        shown: Makes what a model is shown of the session's messages.
    """

    def __init__(
        self, session: Session, shown: Callable[[Sequence[Message]], Sequence[Message]] = lambda messages: messages
    ) -> None:
        self._session, self._shown = session, shown
        self._stop, self._answered = threading.Event(), threading.Event()
        self._answered.set()
        self._thread: threading.Thread | None = None

    @property
    def ready(self) -> bool:
        """True if the model may call something, and is shown what a run would show it: no callback of the builder's
        makes its requests, and no hook that fails closed must see them first. A model that goes on after a stop is not
        asked two things at once."""
        agent, options = self._session.agent, self._session.options or self._session.agent.options
        shaped = (options.get_ephemeral_messages, options.transform_context, options.convert_messages)
        hooks = hooks_of(agent.hooks, self._session.context.hooks, options)
        guarded = any(getattr(hook, "fail_closed", False) and _BEFORE & set(hook.points) for hook in hooks)
        busy = self._thread is not None and self._thread.is_alive()
        may_call = agent.llm is not None and any(agent.tools) and options.tool_choice != "none"
        return may_call and not (any(shaped) or guarded or busy)

    def ask(self, possible: Sequence[tuple[str, float]], told: Callable[[str | None], object]) -> None:
        """Begins to ask for the calls of texts.

        Args:
            possible: What may have been said, with shares of the probability: what the recogniser would have written by
                itself, and then the likeliest.
            told: Called on a thread of its own, unless ``leave`` is called before: with the likeliest text of those
                that make the same calls, if they have ``LEAST_SHARE`` together, and the first text calls nothing else;
                or with None.
        """
        self._stop, self._answered = stop, answered = threading.Event(), threading.Event()
        thread = threading.Thread(
            target=self._work, args=(possible, told, stop, answered), name="foresight", daemon=True
        )
        thread.start()
        self._thread = thread

    def leave(self) -> None:
        """Asks no further. Any thread; safe to call again."""
        self._stop.set()
        self._answered.set()

    def settle(self, timeout_s: float) -> bool:
        """Waits until nobody waits for the model. False: not in time. Any thread."""
        return self._answered.wait(timeout_s)

    def close(self) -> None:
        """Waits for the end of what was left. Safe to call again."""
        self.leave()
        if self._thread is not None:
            self._thread.join(JOIN_S)

    def _work(
        self,
        possible: Sequence[tuple[str, float]],
        told: Callable[[str | None], object],
        stop: threading.Event,
        answered: threading.Event,
    ) -> None:
        text: str | None = None
        try:
            text = self._probable(possible, stop)
        except (Exception, SystemExit):  # whatever a model raises: the words stay in doubt, and a person is asked
            if not stop.is_set():
                logger.exception("the model does not tell what it would do")
        if not stop.is_set():
            told(text)
        answered.set()

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
            if share > group.most:
                group.text, group.most = text, share
            group.share += share
            if group.share >= LEAST_SHARE:
                return group.text if calls and groups[0].calls in ([], calls) else None
        return None

    def _calls(self, text: str, stop: threading.Event) -> Calls:
        """Calls that the model would make.

        Raises:
            ModelError: It can't tell, or has no time to.
        """
        session = self._session
        llm, options = session.agent.llm, session.options or session.agent.options
        if isinstance(llm, FallbackLLM):
            llm = llm.current  # which one answers is decided by runs
        if llm is None:
            raise ModelError("there is no model")
        shown = self._shown([*with_results(session.messages()), *session.agent.notes])
        history = [message for message in shown if message.role in MODEL_ROLES]
        request = LLMRequest(
            system=session.agent.instructions,
            messages=[*history, Message.user(text)],
            tools=list(session.agent.tools),
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            thinking_level=options.thinking_level,
            response_schema=session.context.response_schema,
        )
        reply = llm.complete(request, stop)
        if reply.stop_reason in ("error", "aborted"):
            raise ModelError(reply.error or "it was stopped")
        return [(call.name, call.arguments) for call in reply.tool_calls]
