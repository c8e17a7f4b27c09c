"""History across runs of one agent: kept within the model's context, on disk if wanted. One run at a time."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Literal, Self, TextIO, get_args

from edgeagent import events
from edgeagent.agent import Agent, AgentContext, Options, RunHandle, RunResult
from edgeagent.agent.run_options import RunCallbacks, check_argument, check_callback
from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError
from edgeagent.hooks.compaction import truncated
from edgeagent.hooks.hook import file_path
from edgeagent.hooks.run_records import PersistSessionHook
from edgeagent.journal import Durability
from edgeagent.journal.records import with_results
from edgeagent.llm import LLM
from edgeagent.messages import Message, ToolCall, ToolResult, Usage, as_messages, new_id
from edgeagent.pii import PII, Mode
from edgeagent.session.audit import AuditSink, AuditTrail
from edgeagent.session.fallback import FallbackLLM
from edgeagent.session.history import History
from edgeagent.session.keyword_hooks import compaction_hook, models_of, pii_hook, refuse_both
from edgeagent.session.spoken import AnswerHook, spoken_text
from edgeagent.views import Writers

logger = logging.getLogger(__name__)
CLOSE_S: Final = 5.0
"""Seconds for which the end of a session waits for a model, a tool or a sink that does not stop."""
_PII: Final = PII()
"""Treatment of personal data unless another one is given."""


_all: weakref.WeakSet[Session] = weakref.WeakSet()


def close_journals() -> None:
    """Gives the journals of all sessions back as they are, whatever their runs do: the process is about to end."""
    for session in list(_all):
        session.close_journal()


class Session:
    """A conversation: every run begins with what the earlier ones left. A keyword that is None or 0 has its default.

    Args:
        agent: Who answers.
        path: A journal on disk; what it holds is the history to begin with. ``notices`` tells what was repaired.
        max_context_tokens: Of prompt and reply, where that should be less than the model's window.
        compaction_threshold: Percent of the budget at which the history is compacted when a run ends.
        compaction_target: Percent of the budget that it is compacted to.
        fallback_models: Models, or names for ``resolve_model``, that take over when the one before can't; or one.
        response_schema: JSON Schema of a reply; its ``answer``, if it has one, is the result's reply and what is said.
        pii: What happens to personal data; "redact" is ``PII("redact", "redact", "redact")``.
        audit: A file of JSON lines, or an object with ``emit``, ``flush`` and ``close``; closed with the session.
        audit_session_id: Stands in every audit record; None: the journal's, or a new one.
        out, status: Text streams: what is said, and what is done. Reasoning that a model ends and never began is said,
            too: nothing tells it from the reply until it is closed.
        options: For every run, instead of the agent's own.
        durability: Of the journal: "power" waits until every record is on the disk.

    Raises:
        ConfigError: A value that can't be; a hook is given and the keyword that does the same is set too.
        BusyError: Another process, or another session, has the journal.
        EdgeAgentError: The journal can't be used.
    """

    def __init__(
        self,
        agent: Agent,
        *,
        path: str | os.PathLike[str] | None = None,
        max_context_tokens: int | None = None,
        compaction_threshold: int | None = 80,
        compaction_target: int | None = 50,
        fallback_models: LLM | str | Sequence[LLM | str] | None = (),
        resolve_model: Callable[[str], LLM] | None = None,
        response_schema: dict[str, Any] | None = None,
        pii: PII | Mode | None = _PII,
        audit: AuditSink | str | os.PathLike[str] | None = None,
        audit_session_id: str | None = None,
        out: TextIO | None = None,
        status: TextIO | None = None,
        options: Options | None = None,
        durability: Durability | None = "process",
    ) -> None:
        pii, durability = PII.of(pii), durability or "process"
        check_argument("Session(agent", agent, Agent, optional=False)
        check_argument("Session(options", options, Options, such_as="Options(max_turns=3)")
        schema = 'the JSON Schema {"type": "object"}'
        check_argument("Session(response_schema", response_schema, dict, such_as=schema)
        check_argument("Session(out", out, "write", such_as="sys.stdout")
        check_argument("Session(status", status, "write", such_as="sys.stderr")
        if resolve_model is not None:
            check_callback(resolve_model, "Session(resolve_model={})")
        if path is not None:
            file_path("Session(path={})", path)
        if durability not in get_args(Durability):
            choices = ", ".join(get_args(Durability))
            raise ConfigError(f"Session(durability={durability!r}): it should be one of {choices}")
        self.agent = agent
        self.options = options
        self.context = AgentContext(deps=agent.deps, session=self)
        self.context.response_schema = response_schema
        self.context.max_context_tokens = max_context_tokens or None
        self.context.spoken = None if response_schema is None else spoken_text
        self.callbacks: RunCallbacks | None = None
        """For every run that is started without any, also those that a message wakes."""
        self.last_input_tokens = 0
        self._fallback_models, self._resolve = models_of(fallback_models), resolve_model
        self._fallback: FallbackLLM | None = None
        self._starting = threading.RLock()
        """Held while a run is started and while history is changed between runs, never while one goes on."""
        self._run_context = self.context
        self._handle: RunHandle | None = None
        self._running = self._released = False
        self._closed = threading.Event()
        """Set for good by ``close``; it ends a compaction that is going on."""
        self._audit: AuditTrail | None = None
        self._compaction = compaction_hook(agent, compaction_threshold, compaction_target, max_context_tokens)
        if path is not None:
            refuse_both(agent, PersistSessionHook, "path")
        self._history = History(path, durability=durability)
        backlog = self._history.backlog
        self.notices = self._history.notices
        """Sentences about what was repaired in the journal when it was opened."""
        try:
            self._persist = None if backlog is None else PersistSessionHook(backlog)
            hooks = [self._persist, self._compaction, pii_hook(agent, pii), AnswerHook() if response_schema else None]
            self.context.hooks = [hook for hook in hooks if hook is not None and hook not in agent.hooks]
            if audit is not None:
                name = audit_session_id or (new_id("session") if backlog is None else backlog.session_id)
                self._audit = AuditTrail(audit, name, pii=pii)
            self._writers = None if out is None and status is None else Writers(out, status)
            if self._fallback_models:
                self._install_fallback()
        except BaseException:
            self._release()
            raise
        _all.add(self)

    @classmethod
    def open(cls, path: str | os.PathLike[str], agent: Agent, **keywords: Any) -> Self:
        """The session whose journal is at ``path``, resumed, or a new one. Keywords as the class has them.

        What the process had committed when it died is there; a call that was open then has the status
        outcome_unknown and is not run again.
        """
        return cls(agent, path=path, **keywords)

    # --- running ----------------------------------------------------------------------------------------------------

    def step(self, task: str | Message) -> RunResult:
        """One request, to its end.

        Raises:
            BusyError, ModelError, PolicyViolationError: As ``Agent.run``.
        """
        return self.start(task).waited()

    def start(self, task: str | Message | None = None, *, callbacks: RunCallbacks | None = None) -> RunHandle:
        """As ``step``, but returns at once.

        Raises:
            EdgeAgentError: The session is closed.
            BusyError, ModelError: As ``Agent.start``.
        """
        with self._starting:
            if self._closed.is_set():
                raise EdgeAgentError("the session is closed")
            self._must_be_idle("a step")
            self._install_fallback()
            context = replace(self.context, hook_state={}, stop_event=threading.Event())
            self._run_context = context
            self._handle = self.agent.start(
                task,
                messages=self.messages(),
                options=self.options,
                context=context,
                callbacks=callbacks or self.callbacks,
                observer=partial(self._observe, context),
            )
            return self._handle

    def run_continue(self) -> RunResult:
        """Resumes without a new prompt; what is queued is injected first.

        Raises:
            EdgeAgentError: The last message is the assistant's and nothing is queued.
            BusyError, ModelError, PolicyViolationError: As ``Agent.run``.
        """
        with self._starting:
            self._must_be_idle("run_continue")
            messages = self.messages()
            if not self.agent.has_pending and (not messages or messages[-1].role == "assistant"):
                raise EdgeAgentError("nothing to continue: the last message is an answer, and nothing is queued")
            handle = self.start()
        return handle.waited()

    def steer(
        self, msg: str | Message, *, wake: bool = False, starter: Callable[[], RunHandle] | None = None
    ) -> RunHandle | None:
        """As ``Agent.steer``; a run that it wakes has this session's history.

        Args:
            starter: Calls ``start`` without a message, where whoever steers has to know of the run.
        """
        return None if self._is_too_late(msg) else self.agent.steer(msg, wake=wake, starter=starter or self.start)

    def follow_up(self, msg: str | Message, *, wake: bool = False) -> RunHandle | None:
        """As ``Agent.follow_up``; a run that it wakes has this session's history."""
        return None if self._is_too_late(msg) else self.agent.follow_up(msg, wake=wake, starter=self.start)

    def note(self, msg: str | Message) -> None:
        """As ``Agent.note``."""
        if not self._is_too_late(msg):
            self.agent.note(msg)

    def abort(self, reason: str = "user", *, mode: Literal["now", "after_turn"] = "now") -> bool:
        """As ``Agent.abort``."""
        return self.agent.abort(reason, mode=mode)

    def subscribe(self, fn: Callable[[events.Event], object]) -> Callable[[], None]:
        """As ``Agent.subscribe``."""
        return self.agent.subscribe(fn)

    # --- history ----------------------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """A copy of the history."""
        return self._history.copy()

    def reset(self) -> None:
        """Forgets history and queues; model, tools, system prompt and usage stay.

        Raises:
            BusyError: A run is going on.
        """
        with self._starting:
            self._must_be_idle("reset")
            self.agent.reset()
            self._history.replace([])

    def restore(self, messages: Sequence[Message]) -> None:
        """Another history in the place of this one; a call without a result gets one that says that nobody knows.

        Raises:
            BusyError: A run is going on.
        """
        with self._starting:
            self._must_be_idle("restore")
            self._history.replace(with_results(as_messages(messages)))

    def truncate(self, n: int) -> None:
        """Keeps only the last ``n`` exchanges; a call is never parted from its result. ``n`` ≤ 0 does nothing.

        Raises:
            BusyError: A run is going on.
            ConfigError: ``n`` is no whole number.
        """
        if not isinstance(n, int):
            raise ConfigError(f"truncate({n!r}): it should be a whole number of exchanges")
        with self._starting:
            self._must_be_idle("truncate")
            if n > 0:
                self._history.shorten(truncated(self.messages(), n))

    def compact(self) -> None:
        """Compacts the history to the target now, whatever the threshold is.

        Raises:
            BusyError: A run is going on.
            ModelError: There is no model, or it can't count.
        """
        with self._starting:
            self._must_be_idle("compact")
            if self.agent.llm is None:
                raise ModelError(f"agent {self.agent.name!r} has no model to count tokens with")
            self._compact(self._closed, force=True)

    def set_heard(self, message_id: str, text: str) -> None:
        """Cuts a reply to what was heard of it, and says so after it. At any time, also in the middle of its run.

        Raises:
            ConfigError: ``text`` is no text.
            EdgeAgentError: There is no such message of the assistant's, in the history or in the run.
        """
        if not isinstance(text, str):
            raise ConfigError(f"set_heard({message_id!r}, {text!r}): it should be the text that was heard")
        handle = self._newest()
        in_run = handle is not None and handle.heard(message_id, text)
        if not self._history.hear(message_id, text, in_run=in_run):
            raise EdgeAgentError(f"there is no reply {message_id!r} in this session")

    # --- the model --------------------------------------------------------------------------------------------------

    @property
    def model(self) -> str | None:
        """The name of the model that answers; None if there is none yet."""
        return None if self.agent.llm is None else self.agent.llm.name

    def set_model(self, llm: LLM | str) -> None:
        """Another model, from the next run on; a name is made one by ``resolve_model``.

        Raises:
            ConfigError: It is a name, and there is no ``resolve_model``.
        """
        if isinstance(llm, str):
            if self._resolve is None:
                raise ConfigError(f"set_model({llm!r}): resolve_model is needed to make a model of a name")
            llm = self._resolve(llm)
        self.agent.llm = llm

    def set_system(self, text: str | None) -> None:
        """Another system prompt, from the next run on."""
        self.agent.instructions = text

    @property
    def usage(self) -> Usage:
        """Tokens of all runs. Settable, for a session that is restored from elsewhere; no Usage is a ConfigError."""
        return self._history.usage

    @usage.setter
    def usage(self, usage: Usage) -> None:
        if not isinstance(usage, Usage):
            raise ConfigError(f"Session.usage = {usage!r}: it should be a Usage, such as Usage(120, 5)")
        self._history.usage = usage
        self._history.keep_usage()

    def close(self) -> None:
        """Stops everything that moves, what outlived its run included, and the run that goes on; takes no more. Safe
        to call again.

        Waits for the end of the run, but no longer than ``CLOSE_S``: a tool, hook or subscriber that does not return
        is left behind, and what its run still says is not kept. From inside the run (a tool, a hook, a subscriber) it
        does not wait: journal and audit are closed at the end.
        """
        self._closed.set()
        self.agent.clear_all_queues()
        handle = self._newest(CLOSE_S)
        aborted = handle is not None and handle.abort("user")
        self.agent.cancel_goals("the session was closed")
        if handle is not None and aborted and not handle.on_thread_of_run() and not handle.wait(CLOSE_S):
            logger.warning("a run has not ended after %g s; it is left behind", CLOSE_S)
            self._release()
        elif not self._running:
            self._release()

    def close_journal(self) -> None:
        """Closes the journal alone; what is said after it is not kept."""
        self._closed.set()
        self._history.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def detached_ended(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """A call that outlived its run has come to its end. On its worker's thread."""
        if self._audit is not None and not self._closed.is_set():
            self._audit.late(run_id, self.agent.name, call, result)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _install_fallback(self) -> None:
        """Puts the fallback models behind the agent's own; another session of the agent has its own ones, or none."""
        llm = self.agent.llm
        own = llm.instead_of if isinstance(llm, FallbackLLM) else llm
        if not self._fallback_models:
            self.agent.llm = own
            return
        if self._fallback is None or self._fallback.instead_of is not own:
            models = [*([] if own is None else [own]), *self._fallback_models]
            timeout_s = (self.options or self.agent.options).llm_timeout_s
            self._fallback = FallbackLLM(
                models,
                instead_of=own,
                resolve=self._resolve,
                on_switch=self._switched,
                timeout_s=timeout_s,
                compaction=self._compaction,
            )
        self.agent.llm = self._fallback

    def _switched(self, text: str) -> None:
        logger.warning("%s", text)
        self._run_context.notice("warning", text)

    def _observe(self, context: AgentContext, event: events.Event) -> None:
        """Takes over what a run of this session leaves, on the run's thread, before anybody can start the next."""
        try:
            match event:
                case events.AgentStart():
                    self._running = True
                case events.AgentEnd():
                    self._commit(context, event)
                case events.MessageEnd(message=message):
                    self._committed(context, message)
                case events.ToolExecutionEnd(result=result) if self._history.backlog is not None:
                    self._history.backlog.ended(result)
            if self._audit is not None:
                self._audit(event)
            if self._writers is not None:
                self._writers(event)
        finally:
            if isinstance(event, events.AgentEnd):
                self._running = False
                if self._closed.is_set():
                    self._release()

    def _committed(self, context: AgentContext, message: Message) -> None:
        """Has a message on disk when its end is told."""
        if message.usage is not None:
            self._history.usage += message.usage
            self.last_input_tokens = message.usage.input_tokens
        if self._persist is not None:
            self._persist.keep(context)
        self._history.committed(message)

    def _commit(self, context: AgentContext, ended: events.AgentEnd) -> None:
        """Keeps the history of a run; compacted, if it has grown too long for the next one and nobody stops that."""
        self._history.commit(ended.messages, interrupted=ended.reason == "aborted")
        self._history.keep_usage()
        try:
            self._compact(context.stop_event)
        except Exception:  # the model's; it will say the same to the next request
            logger.warning("the history could not be compacted", exc_info=True)

    def _compact(self, stop_event: threading.Event, *, force: bool = False) -> None:
        llm, options = self.agent.llm, self.options or self.agent.options
        if llm is None or stop_event.is_set():
            return
        shorter = self._compaction.shrink(
            self.messages(),
            llm=llm,
            system=self.agent.instructions,
            tools=list(self.agent.tools),
            max_tokens=options.max_tokens,
            stop_event=stop_event,
            force=force,
        )
        if shorter is not None:
            self._history.shorten(shorter)

    def _release(self) -> None:
        """Gives everything back. Safe to call again."""
        self._history.close()
        if self._audit is not None and not self._released:
            closing = threading.Thread(target=self._audit.close, name="close", daemon=True)  # a sink is a builder's
            closing.start()
            closing.join(CLOSE_S)
            if closing.is_alive():
                logger.warning("the audit's sink has not closed after %g s; it is left behind", CLOSE_S)
        self._released = True
        if self._fallback is not None and self.agent.llm is self._fallback:
            self.agent.llm = self._fallback.instead_of

    def _is_too_late(self, message: str | Message) -> bool:
        """True if nobody will take a message up any more; timers and finished goals may still have one."""
        closed = self._closed.is_set()
        if closed:
            logger.warning("the session is closed, so nobody is told: %s", message)
        return closed

    def _newest(self, timeout_s: float = -1) -> RunHandle | None:
        """The newest run, also where it is its own thread that asks, faster than ``start`` returns.

        Args:
            timeout_s: For what is being started or compacted; then the newest that is known.
        """
        locked = self._starting.acquire(timeout=timeout_s)
        try:
            return self._handle
        finally:
            if locked:
                self._starting.release()

    def _must_be_idle(self, what: str) -> None:
        """Asked with ``_starting`` held, so that no run is started meanwhile.

        It is no context manager of its own: Ctrl-C on the way out of one written in Python would keep the lock.

        Raises:
            BusyError: A run is going on.
        """
        if self.agent.is_running:
            raise BusyError(f"{what} waits until the run of agent {self.agent.name!r} has ended: abort it first")
