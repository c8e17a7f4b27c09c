"""An agent: instructions, a model and tools, and one run at a time."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from edgeagent.agent import loop
from edgeagent.agent.handle import RunHandle
from edgeagent.agent.options import Options
from edgeagent.agent.queues import QueueName, Queues
from edgeagent.agent.result import RunResult, RunState
from edgeagent.agent.run import Run
from edgeagent.context import AgentContext
from edgeagent.errors import BusyError, EdgeAgentError, ModelError, PolicyViolationError
from edgeagent.events import Event
from edgeagent.llm import LLM
from edgeagent.messages import Message, as_message
from edgeagent.tools import Tool, ToolRegistry
from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)
AbortMode = Literal["now", "after_turn"]


class Latch(Protocol):
    """What the loop asks of a safety latch; ``edgeagent.robot.SafetyLatch`` is one."""

    @property
    def state(self) -> str: ...


class Agent:
    """Runs requests on a model with tools.

    Each run begins with an empty history; a ``Session`` keeps one across runs. ``steer``, ``follow_up`` and ``abort``
    may be called from any thread at any time.

    Args:
        name: Shown in events.
        instructions: The system prompt. Keep it stable: what changes belongs to the end of a prompt.
        llm: The model; may be set later as an attribute.
        tools: Tools, or plain functions that become tools.
        description: What it is good for, for another agent that may hand over to it.
        deps: Anything; bodies find it at ``ToolContext.deps``.
        options: Defaults for every run.
        latch: While it is tripped, motion tools are blocked.

    Raises:
        ToolDefinitionError: Two tools have one name, or a function has no schema.
    """

    def __init__(
        self,
        name: str,
        instructions: str | None = None,
        *,
        llm: LLM | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        description: str = "",
        deps: Any = None,
        options: Options | None = None,
        latch: Latch | None = None,
    ) -> None:
        self.name = name
        self.instructions = instructions
        self.llm = llm
        self.tools = ToolRegistry.of(tools)
        self.description = description
        self.deps = deps
        self.options = options or Options()
        self.latch = latch
        self._lock = threading.Lock()
        self._current: tuple[Run, RunHandle] | None = None
        self._queues = Queues()
        self._workers = Workers()
        self._subscribers: list[Callable[[Event], object]] = []
        self._last_messages: tuple[Message, ...] = ()
        self._last_error: str | None = None

    # --- running ----------------------------------------------------------------------------------------------------

    def run(
        self,
        task: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        context: AgentContext | None = None,
        options: Options | None = None,
        stop_event: threading.Event | None = None,
    ) -> RunResult:
        """Runs one request to its end.

        Args:
            task: What the user said; None continues ``messages`` as they are.
            messages: History before it; copied.
            stop_event: Setting it aborts the run.

        Raises:
            BusyError: The agent is in the middle of another run.
            ModelError: There is no model, it does not load, or the context does not fit.
            PolicyViolationError: ``policy_check`` denied a call.
            Exception: Whatever else a model raised, unchanged.
        """
        handle = self.start(task, messages=messages, context=context, options=options, stop_event=stop_event)
        try:
            return handle.result()
        except BaseException:  # Ctrl-C, or what the run itself raised: then there is nothing left to stop
            handle.abort("user")
            raise

    def start(
        self,
        task: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        context: AgentContext | None = None,
        options: Options | None = None,
        stop_event: threading.Event | None = None,
        observer: Callable[[Event], object] | None = None,
    ) -> RunHandle:
        """As ``run``, but returns at once.

        Args:
            observer: Called with every event of this run only, before the other subscribers.

        Raises:
            BusyError, ModelError: As ``run``; later errors come from ``RunHandle.result``.
        """
        if self.llm is None:
            raise ModelError(f"agent {self.name!r} has no model; pass llm=LlamaLLM('nano') or set agent.llm")
        chosen = options or self.options
        run = Run(
            agent_name=self.name,
            system=self.instructions,
            llm=self.llm,
            tools=self.tools,
            options=chosen,
            queues=self._queues,
            workers=self._workers,
            task=None if task is None else as_message(task),
            messages=messages,
            context=context or AgentContext(deps=self.deps),
            subscribers=lambda: self._observers(observer, chosen.on_event),
            latched=self._latched,
            callers_stop=stop_event,
        )
        handle = RunHandle(self, run)
        with self._lock:
            if self._current is not None:
                raise BusyError(f"agent {self.name!r} is in the middle of a run; steer it, abort it, or wait")
            self._current = (run, handle)
            self._queues.open()
        threading.Thread(target=self._drive, args=(run, handle), name=f"agent-{self.name}", daemon=True).start()
        return handle

    def run_continue(self) -> RunResult:
        """Resumes the last run's messages without a new prompt; what is queued is injected first.

        Raises:
            EdgeAgentError: The last message is the assistant's and nothing is queued, so there is nothing to answer.
            BusyError, ModelError, PolicyViolationError: As ``run``.
        """
        last = self._last_messages[-1] if self._last_messages else None
        if not self._queues and (last is None or last.role == "assistant"):
            raise EdgeAgentError("nothing to continue: the last message is an answer, and nothing is queued")
        return self.run(messages=self._last_messages)

    def _drive(self, run: Run, handle: RunHandle) -> None:
        """The run's thread: the loop, and whatever way it ends, an idle agent and a closed log."""
        run.enter_thread()
        handle.begin()
        timer = None
        if run.options.deadline_s is not None:
            timer = threading.Timer(run.options.deadline_s, run.abort, ["deadline"])
            timer.daemon = True
            timer.start()
        result: RunResult | None = None
        error: Exception | None = None
        try:
            result = loop.drive(run)
            if result.reason == "denied":
                error = _violation(result)
        except Exception as raised:  # the model's; told to whoever waits, after the log is closed
            logger.debug("run %s failed", run.id, exc_info=True)
            error = raised
            result = loop.close_after_error(run, raised)
        finally:
            if timer is not None:
                timer.cancel()
            run.leave_thread()
        self._queues.close()
        self._last_messages, self._last_error = result.messages, result.error
        with self._lock:
            self._current = None
        handle.finish(result, error)
        run.log.close()
        wake = self._queues.take_wake()
        if wake is not None:
            with contextlib.suppress(BusyError):  # somebody was faster; that run takes the message up
                wake()

    def _latched(self) -> str | None:
        """Why motion is blocked, or None."""
        if self.latch is None or self.latch.state != "tripped":
            return None
        return "the safety latch is tripped; motion waits until it is re-armed"

    def _observers(self, *first: Callable[[Event], object] | None) -> list[Callable[[Event], object]]:
        return [*(observer for observer in first if observer is not None), *self._subscribers]

    # --- talking to a run -------------------------------------------------------------------------------------------

    def steer(
        self, message: str | Message, *, wake: bool = False, starter: Callable[[], RunHandle] | None = None
    ) -> RunHandle | None:
        """Queues a message for the moment after the running tools. Any thread.

        Args:
            wake: Start a run with it if the agent is idle.
            starter: How to start that run, if not with an empty history.

        Returns:
            The run that it started, if it did.
        """
        return self._post("steering", message, wake, starter)

    def follow_up(
        self, message: str | Message, *, wake: bool = False, starter: Callable[[], RunHandle] | None = None
    ) -> RunHandle | None:
        """Queues a message for the moment when the model has nothing more to do. As ``steer``."""
        return self._post("follow_up", message, wake, starter)

    def _post(
        self, queue: QueueName, message: str | Message, wake: bool, starter: Callable[[], RunHandle] | None
    ) -> RunHandle | None:
        start = (starter or self.start) if wake else None
        taken = self._queues.put(queue, as_message(message, origin=queue), wake=start)
        with self._lock:
            idle = self._current is None
        if taken or start is None or not idle:
            return None
        chosen = self._queues.take_wake()
        if chosen is None:
            return None
        try:
            return start()
        except BusyError:
            return None  # a run began meanwhile; it takes the message up

    def clear_steering(self) -> None:
        self._queues.clear("steering")

    def clear_follow_up(self) -> None:
        self._queues.clear("follow_up")

    def clear_all_queues(self) -> None:
        self._queues.clear("steering", "follow_up")

    @property
    def has_pending(self) -> bool:
        """True if a message is queued."""
        return bool(self._queues)

    def abort(self, reason: str = "user", *, mode: AbortMode = "now") -> bool:
        """Stops the run, if there is one, and returns at once. Any thread.

        The model stops within one token and read-only tools and skills are cancelled; other tools are waited for.
        The reason "safety_stop" cancels all of them, actuators first, and empties both queues.

        Args:
            mode: "after_turn" lets the current turn end.

        Returns:
            True if there was a run.
        """
        if reason == "safety_stop":
            self.clear_all_queues()
        with self._lock:
            current = self._current
        if current is None:
            return False
        run, handle = current
        if reason == "safety_stop":
            run.abort(reason)
            for goal in handle.goals.values():
                goal.cancel()
            return True
        return handle.abort(reason, mode=mode)

    def subscribe(self, subscriber: Callable[[Event], object]) -> Callable[[], None]:
        """Calls it with every event of every run, on the run's thread. Returns what ends that."""
        self._subscribers.append(subscriber)

        def unsubscribe() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return unsubscribe

    @property
    def is_running(self) -> bool:
        return self._current is not None

    def reset(self) -> None:
        """Forgets the last run's messages and what is queued.

        Raises:
            BusyError: The agent is in the middle of a run.
        """
        with self._lock:
            if self._current is not None:
                raise BusyError(f"agent {self.name!r} is in the middle of a run; abort it first")
            self._last_messages, self._last_error = (), None
        self.clear_all_queues()

    @property
    def state(self) -> RunState:
        """A frozen copy of the state: of the run, or of what the last one left."""
        current = self._current
        if current is not None:
            return loop.snapshot(current[0])
        return RunState(
            system_prompt=self.instructions,
            messages=self._last_messages,
            pending_tool_calls=frozenset(),
            is_streaming=False,
            error_message=self._last_error,
            streaming_message=None,
            thinking_level=self.options.thinking_level,
            llm=self.llm,
            tools=tuple(self.tools),
            follow_up_queue=self._queues.snapshot("follow_up"),
            steering_queue=self._queues.snapshot("steering"),
            run_id=None,
            hop=0,
        )


def _violation(result: RunResult) -> PolicyViolationError:
    reasons = {
        call.name: call.result.text for call in result.tool_calls if call.result and call.result.status == "denied"
    }
    error = PolicyViolationError(*next(iter(reasons.items())))
    error.result = result
    return error
