"""History across runs of one agent: kept within the model's context, on disk if wanted. One run at a time."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, Self, TextIO

from edgeagent import events
from edgeagent.agent import Agent, AgentContext, Options, RunHandle, RunResult
from edgeagent.agent.agent import Callbacks
from edgeagent.agent.heard import cut, marker
from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError
from edgeagent.hooks import Hook
from edgeagent.hooks.compaction import truncated
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.persist_session import PersistSessionHook
from edgeagent.hooks.pii import PIIHook
from edgeagent.journal import Durability, Journal
from edgeagent.journal.recovery import with_results
from edgeagent.llm import LLM
from edgeagent.messages import Message, ToolCall, ToolResult, Usage
from edgeagent.pii import PII
from edgeagent.session.audit import AuditSink, AuditTrail
from edgeagent.session.fallback import FallbackLLM
from edgeagent.session.spoken import AnswerHook, spoken
from edgeagent.views import Writers

logger = logging.getLogger(__name__)


class Session:
    """A conversation: every run begins with what the earlier ones left.

    Args:
        agent: Who answers.
        path: A journal on disk; what it holds is the history to begin with. ``notices`` tells what was repaired.
        max_context_tokens: Of prompt and reply, where that should be less than the model's window.
        compaction_threshold: Percent of the budget at which the history is compacted when a run ends.
        compaction_target: Percent of the budget that it is compacted to.
        fallback_models: Models, or names for ``resolve_model``, that take over when the one before can't answer.
        response_schema: JSON Schema of a reply; its ``answer``, if it has one, is the result's reply and what is said.
        pii: What happens to personal data.
        audit: A file of JSON lines, or an object with ``emit``, ``flush`` and ``close``.
        audit_session_id: Stands in every audit record; None: the journal's, or a new one.
        out, status: Text streams: what is said, and what is done.
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
        compaction_threshold: int = 80,
        compaction_target: int = 50,
        fallback_models: Sequence[LLM | str] = (),
        resolve_model: Callable[[str], LLM] | None = None,
        response_schema: dict[str, Any] | None = None,
        pii: PII | None = None,
        audit: AuditSink | str | os.PathLike[str] | None = None,
        audit_session_id: str | None = None,
        out: TextIO | None = None,
        status: TextIO | None = None,
        options: Options | None = None,
        durability: Durability = "process",
    ) -> None:
        self.agent = agent
        self.options = options
        self.context = AgentContext(deps=agent.deps, session=self)
        self.context.response_schema = response_schema
        self.context.max_context_tokens = max_context_tokens
        self.context.spoken = None if response_schema is None else spoken
        self.callbacks: Callbacks | None = None
        """For every run that is started without any, also those that a message wakes."""
        self.last_input_tokens = 0
        self.notices: tuple[str, ...] = ()
        """What was repaired in the journal when it was opened."""
        self._fallback_models, self._resolve = tuple(fallback_models), resolve_model
        self._lock = threading.Lock()
        self._messages: list[Message] = []
        self._usage = Usage()
        self._heard: dict[str, str] = {}
        self._handle: RunHandle | None = None
        self._closed = False
        compaction = (compaction_threshold, compaction_target, max_context_tokens)
        self._compaction = _one(agent, ContextCompactionHook, compaction, (80, 50, None), "compaction_threshold")
        self._journal = None if path is None else Journal.open(path, durability=durability)
        try:
            self._persist: PersistSessionHook | None = None
            if self._journal is not None:
                _refuse_both(agent, PersistSessionHook, "path")
                self._persist = PersistSessionHook(self._journal)
                self._recover(self._journal)
            self._audit, self._owns_audit = None, isinstance(audit, str | os.PathLike)
            if audit is not None:
                name = audit_session_id or (None if self._journal is None else self._journal.session_id)
                self._audit = AuditTrail(audit, name, pii=pii)
            self._writers = None if out is None and status is None else Writers(out, status)
            self.context.hooks = list(self._hooks(pii or PII()))
            self._wrap_model()
        except BaseException:
            if self._journal is not None:
                self._journal.close()
            raise

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
        return self._waited(self.start(task))

    def start(self, task: str | Message | None = None, *, callbacks: Callbacks | None = None) -> RunHandle:
        """As ``step``, but returns at once.

        Raises:
            BusyError, ModelError: As ``Agent.start``.
        """
        if self._closed:
            raise EdgeAgentError("the session is closed")
        self._wrap_model()
        context = replace(self.context, hook_state={}, stop_event=threading.Event(), no_more_tools=False)
        handle = self.agent.start(
            task,
            messages=self.messages(),
            options=self.options,
            context=context,
            callbacks=callbacks or self.callbacks,
            observer=self._observe,
        )
        self._handle = handle
        return handle

    def run_continue(self) -> RunResult:
        """Resumes without a new prompt; what is queued is injected first.

        Raises:
            EdgeAgentError: The last message is the assistant's and nothing is queued.
            BusyError, ModelError, PolicyViolationError: As ``Agent.run``.
        """
        messages = self.messages()
        if not self.agent.has_pending and (not messages or messages[-1].role == "assistant"):
            raise EdgeAgentError("nothing to continue: the last message is an answer, and nothing is queued")
        return self._waited(self.start())

    def steer(self, message: str | Message, *, wake: bool = False) -> RunHandle | None:
        """As ``Agent.steer``; a run that it wakes has this session's history."""
        return self.agent.steer(message, wake=wake, starter=self.start)

    def follow_up(self, message: str | Message, *, wake: bool = False) -> RunHandle | None:
        """As ``Agent.follow_up``; a run that it wakes has this session's history."""
        return self.agent.follow_up(message, wake=wake, starter=self.start)

    def abort(self, reason: str = "user", *, mode: Literal["now", "after_turn"] = "now") -> bool:
        """As ``Agent.abort``."""
        return self.agent.abort(reason, mode=mode)

    def subscribe(self, subscriber: Callable[[events.Event], object]) -> Callable[[], None]:
        """As ``Agent.subscribe``."""
        return self.agent.subscribe(subscriber)

    # --- history ----------------------------------------------------------------------------------------------------

    def messages(self) -> list[Message]:
        """A copy of the history."""
        with self._lock:
            return [message.copy() for message in self._messages]

    def reset(self) -> None:
        """Forgets history and queues; model, tools, system prompt and usage stay.

        Raises:
            BusyError: A run is going on.
        """
        self.agent.reset()
        self._replace([])

    def restore(self, messages: Sequence[Message]) -> None:
        """Another history in the place of this one; a call without a result gets one that says that nobody knows.

        Raises:
            BusyError: A run is going on.
        """
        self._refuse_if_running("restore")
        self._replace([message.copy() for message in with_results(messages)])

    def truncate(self, n: int) -> None:
        """Keeps only the last ``n`` exchanges; a call is never parted from its result. ``n`` ≤ 0 does nothing.

        Raises:
            BusyError: A run is going on.
        """
        self._refuse_if_running("truncate")
        if n > 0:
            self._replace(truncated(self.messages(), n))

    def compact(self) -> None:
        """Compacts the history to the target now, whatever the threshold is.

        Raises:
            BusyError: A run is going on.
            ModelError: There is no model, or it can't count.
        """
        self._refuse_if_running("compact")
        if self.agent.llm is None:
            raise ModelError(f"agent {self.agent.name!r} has no model to count tokens with")
        self._compact(force=True)

    def set_heard(self, message_id: str, text: str) -> None:
        """Cuts a reply to what was heard of it, and says so after it. At any time, also in the middle of its run.

        Raises:
            EdgeAgentError: There is no such message of the assistant's, in the history or in the run.
        """
        handle = self._handle
        with self._lock:
            self._heard[message_id] = text
            known = cut(self._messages, message_id, text)
            if known is not None:
                self._messages = known
        if handle is not None and handle.heard(message_id, text):
            self._journalled(lambda journal: journal.heard(message_id, text))
            return
        self._heard.pop(message_id, None)
        if known is None:
            raise EdgeAgentError(f"there is no reply {message_id!r} in this session")
        self._replace(known)

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
        """Tokens of all runs. Settable, for a session that is restored from elsewhere."""
        return self._usage

    @usage.setter
    def usage(self, usage: Usage) -> None:
        self._usage = usage
        self._journalled(lambda journal: journal.usage(usage))

    def close(self) -> None:
        """Stops a run that is going on, waits for its end, and takes no more. Safe to call again."""
        self._closed = True
        self.agent.clear_all_queues()
        if self._handle is not None and self._handle.abort("user") and not self._handle.on_thread_of_run():
            self._handle.wait()
        if self._journal is not None:
            self._journal.close()
        if self._audit is not None and self._owns_audit:
            self._audit.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def detached_ended(self, run_id: str, call: ToolCall, result: ToolResult) -> None:
        """A call that outlived its run has come to its end. On its worker's thread."""
        if self._audit is not None:
            self._audit.late(run_id, self.agent.name, call, result)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _hooks(self, pii: PII) -> list[Hook]:
        hooks: list[Hook] = []
        if self._persist is not None:
            hooks.append(self._persist)
        if self._compaction not in self.agent.hooks:
            hooks.append(self._compaction)
        if pii.user != "off" or pii.tools != "off":
            _refuse_both(self.agent, PIIHook, "pii")
            hooks.append(PIIHook(pii))
        if self.context.response_schema is not None:
            hooks.append(AnswerHook())
        return hooks

    def _wrap_model(self) -> None:
        """Puts the fallback models behind the agent's own."""
        llm = self.agent.llm
        if not self._fallback_models or isinstance(llm, FallbackLLM):
            return
        models = [*([] if llm is None else [llm]), *self._fallback_models]
        timeout_s = (self.options or self.agent.options).llm_timeout_s
        self.agent.llm = FallbackLLM(models, resolve=self._resolve, on_switch=self._switched, timeout_s=timeout_s)

    def _switched(self, text: str) -> None:
        logger.warning("%s", text)
        if self._handle is not None:
            self._handle.notice("warning", text)

    def _waited(self, handle: RunHandle) -> RunResult:
        try:
            return handle.result()
        except BaseException:  # Ctrl-C, or what the run itself raised: then there is nothing left to stop
            handle.abort("user")
            raise

    def _observe(self, event: events.Event) -> None:
        """Takes over what a run of this session leaves, on the run's thread, before anybody can start the next."""
        match event:
            case events.AgentEnd():
                self._commit(event)
            case events.MessageEnd(message=message) if message.usage is not None:
                self._usage += message.usage
                self.last_input_tokens = message.usage.input_tokens
        if self._audit is not None:
            self._audit(event)
        if self._writers is not None:
            self._writers(event)

    def _commit(self, ended: events.AgentEnd) -> None:
        """Keeps the history of a run; compacted, if it has grown too long for the next one."""
        messages = [message.copy() for message in ended.messages]
        with self._lock:
            marked = self._marked(messages, interrupted=ended.reason == "aborted")
            heard = bool(self._heard)
            self._heard.clear()
            self._messages = marked
        if heard or [m.id for m in marked] != [m.id for m in messages]:
            self._journalled(lambda journal: journal.replace(marked))
        if self._persist is not None:
            self._persist.known({message.id for message in marked})
        self._journalled(lambda journal: journal.usage(self._usage))
        try:
            self._compact()
        except Exception:  # the model's; it will say the same to the next request
            logger.warning("the history could not be compacted", exc_info=True)

    def _marked(self, messages: list[Message], *, interrupted: bool) -> list[Message]:
        """With a marker where a reply was cut, by an abort or because less of it was heard."""
        for message_id, text in self._heard.items():
            messages = cut(messages, message_id, text) or messages
        if interrupted and messages and messages[-1].stop_reason == "aborted":
            messages = [*messages, marker()]
        return messages

    def _compact(self, *, force: bool = False) -> None:
        llm, options = self.agent.llm, self.options or self.agent.options
        if llm is None:
            return
        with self._lock:
            messages = list(self._messages)
        shorter = self._compaction.shrink(
            messages,
            llm=llm,
            system=self.agent.instructions,
            tools=list(self.agent.tools),
            max_tokens=options.max_tokens,
            force=force,
        )
        if shorter is not None:
            self._replace(shorter)

    def _replace(self, messages: list[Message]) -> None:
        with self._lock:
            self._messages = messages
        if self._persist is not None:
            self._persist.known({message.id for message in messages})
        self._journalled(lambda journal: journal.replace(messages))
        self._journalled(lambda journal: journal.compact())

    def _journalled(self, write: Callable[[Journal], object]) -> None:
        if self._journal is None:
            return
        try:
            write(self._journal)
        except EdgeAgentError as error:  # a full disk must not stop the robot; PersistSessionHook tells people
            logger.error("%s", error)

    def _recover(self, journal: Journal) -> None:
        found = journal.load()
        self._messages, self._usage, self.notices = list(found.messages), found.usage, found.notices
        if self._persist is not None:
            self._persist.known({message.id for message in found.messages})

    def _refuse_if_running(self, what: str) -> None:
        if self.agent.is_running:
            raise BusyError(f"{what} waits until the run has ended: abort it first")


def _one(
    agent: Agent, kind: type[ContextCompactionHook], given: tuple[Any, ...], default: tuple[Any, ...], keyword: str
) -> ContextCompactionHook:
    """The agent's own hook of that kind, or one of these keywords; both is an error."""
    own = next((hook for hook in agent.hooks if isinstance(hook, kind)), None)
    if own is None:
        return kind(*given)
    if given != default:
        raise ConfigError(f"both {kind.__name__} and Session({keyword}=...) are given; use one of them")
    return own


def _refuse_both(agent: Agent, kind: type, keyword: str) -> None:
    if any(isinstance(hook, kind) for hook in agent.hooks):
        raise ConfigError(f"both {kind.__name__} and Session({keyword}=...) are given; use one of them")
