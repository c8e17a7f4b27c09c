"""An agent: instructions, a model and tools, and one run at a time."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from edgeagent.agent import loop
from edgeagent.agent.handoffs import agent_tool, guarded, handoff_tool
from edgeagent.agent.log import Broadcast, Subscribers
from edgeagent.agent.orchestrator import orchestrate
from edgeagent.agent.queues import QueueName, Queues
from edgeagent.agent.run import Ending, Part, Run
from edgeagent.agent.run_handle import AbortMode, RunHandle
from edgeagent.agent.run_options import Options, RunCallbacks, RunResult, RunState, check_argument, hooks_of
from edgeagent.context import SAFETY, AgentContext
from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError
from edgeagent.events import Event, Level
from edgeagent.hooks import Hook
from edgeagent.hooks.hook import HookChain
from edgeagent.llm import LLM
from edgeagent.messages import Message, as_message, as_messages, copied
from edgeagent.tools import Handoff, Tool, ToolRegistry, actuator
from edgeagent.tools.actuator import Call
from edgeagent.tools.workers import Latch, Workers

logger = logging.getLogger(__name__)
T = TypeVar("T")


class Agent:
    """Runs requests on a model with tools.

    Each run begins with an empty history; a ``Session`` keeps one across runs. ``steer``, ``follow_up`` and ``abort``
    may be called from any thread at any time.

    Args:
        name: Shown in events.
        instructions: The system prompt. Keep it stable: what changes belongs to the end of a prompt.
        llm: The model, or the name or path of one, as ``LlamaLLM`` takes it; may be set later as an attribute.
        tools: Tools, or plain functions that become tools.
        handoffs: Agents that may take a request over; each becomes a tool ``handoff_to_<name>``.
        hooks: Called at the fire points of its runs.
        description: What it is good for, for another agent that may hand over to it.
        deps: Anything; bodies find it at ``ToolContext.deps``.
        options: Defaults for every run.
        latch: Motion obeys it, in this agent and in those that it hands over to.
        phrases: What people say to it, for the ears and for training.

    Attributes:
        subscriber_errors: How often a subscriber raised; it is logged each time, and the run goes on.

    Raises:
        ToolDefinitionError: Two tools have one name, or a function has no schema.
        EdgeAgentError: A hook is none, or is async.
        ConfigError: A hook is given and the option that does the same is set too; ``llm`` is no model, or another
            argument of a type that can't be.
        ModelError: There is no model of that name.
    """

    def __init__(
        self,
        name: str,
        instructions: str | None = None,
        *,
        llm: LLM | str | os.PathLike[str] | None = None,
        tools: Sequence[Tool | Callable[..., Any]] = (),
        handoffs: Sequence[Agent] = (),
        hooks: Sequence[Hook] = (),
        description: str = "",
        deps: Any = None,
        options: Options | None = None,
        latch: Latch | None = None,
        phrases: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.instructions = instructions
        self.llm = llm
        self.description = description
        self.deps = deps
        check_argument("Agent(options", options, Options)
        check_argument("Agent(latch", latch, "subscribe")
        self.options = options or Options()
        self.handoffs = _listed("handoffs", handoffs)
        for target in self.handoffs:
            check_argument("Agent(handoffs", target, Agent)
        self.hooks = _listed("hooks", hooks)
        self._tools = ToolRegistry([*_listed("tools", tools), *(handoff_tool(target) for target in self.handoffs)])
        self.latch = latch
        self.phrases = (phrases,) if isinstance(phrases, str) else tuple(_listed("phrases", phrases))
        self.subscriber_errors = 0
        self._lock = threading.Lock()
        self._current: Run | None = None
        self._queues = Queues()
        self._workers = Workers()
        self._subscribers = Subscribers[Event]()
        self._notices: SimpleQueue[tuple[Level, str]] = SimpleQueue()
        """Notices that the run, or the next one, is to tell."""
        self._last_messages: tuple[Message, ...] = ()
        self._last_error: str | None = None
        self.starter: Callable[[], RunHandle] | None = None
        """Starts the run that a message wakes, where ``steer`` and ``follow_up`` are given no other way; None: a run
        with an empty history. An app sets that of its session for the agent that it begins with: what a timer of the
        builder's does is asked about and kept too."""
        HookChain(hooks_of(self.hooks, (), self.options), AgentContext())
        if latch is not None:
            self._workers.watch(latch)

    @property
    def tools(self) -> ToolRegistry:
        """The tools, in order. Others, or those of another registry, may be set in their stead; they count from a run's
        next turn."""
        return self._tools

    @tools.setter
    def tools(self, tools: ToolRegistry | Sequence[Tool | Callable[..., Any]]) -> None:
        self._tools = tools if isinstance(tools, ToolRegistry) else ToolRegistry(_listed("tools", tools))

    @property
    def llm(self) -> LLM | None:
        """The model; one that is set by its name is made then, and loaded when it is first asked."""
        return self._llm

    @llm.setter
    def llm(self, llm: LLM | str | os.PathLike[str] | None) -> None:
        if isinstance(llm, str | os.PathLike):
            from edgeagent.llm.llama import LlamaLLM  # llama.cpp, for those who name a model

            llm = LlamaLLM(llm)
        elif llm is not None and (isinstance(llm, type) or not callable(getattr(llm, "stream", None))):
            raise ConfigError(f"Agent(llm={llm!r}): it should be a model, or the name of one, such as 'nano'")
        self._llm = llm

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
            messages: History before it; copied. A call without a result gets one: nobody knows what it came to.
            stop_event: Setting it aborts the run.

        Raises:
            BusyError: The agent is in the middle of another run.
            ModelError: There is no model, it does not load, or the context does not fit.
            PolicyViolationError: ``policy_check`` denied a call.
            BaseException: Whatever else a model raised, unchanged.
        """
        return self.start(task, messages=messages, context=context, options=options, stop_event=stop_event).waited()

    def start(
        self,
        task: str | Message | None = None,
        *,
        messages: Sequence[Message] = (),
        context: AgentContext | None = None,
        options: Options | None = None,
        stop_event: threading.Event | None = None,
        callbacks: RunCallbacks | None = None,
        observer: Callable[[Event], object] | None = None,
    ) -> RunHandle:
        """As ``run``, but returns at once.

        Args:
            callbacks: Told what happens, and asked what question tools ask; ``views.Callbacks``.
            observer: Called with every event of this run only, before the other subscribers.

        Raises:
            BusyError, ModelError: As ``run``; later errors come from ``RunHandle.result``.
            ConfigError: An argument of a type that can't be.
        """
        check_argument("run(options", options, Options)
        check_argument("run(context", context, AgentContext)
        check_argument("run(stop_event", stop_event, "is_set")
        check_argument("start(callbacks", callbacks, "ask")
        context = context or AgentContext(deps=self.deps)
        if context.in_run:
            context = replace(context, hook_state={}, in_run=False)  # what the other run tells of itself stays
        llm = self.llm or (context.llm if context.depth else None)
        if llm is None:
            raise ModelError(f"agent {self.name!r} has no model; pass llm=LlamaLLM('nano') or set agent.llm")
        chosen = options or self.options
        observers = [one for one in (observer, chosen.on_event, callbacks) if one is not None]
        ask = context.ask if context.depth else None  # a sub-agent's questions are its caller's
        workers = context.workers if context.depth and context.workers is not None else self._workers
        if self.latch is not None:
            workers.watch(self.latch)
        run = Run(
            options=chosen,
            queues=self._queues,
            workers=workers,
            out=Broadcast(observers, self._subscribers, self._notices),
            ask=ask if callbacks is None else callbacks.ask,
            callers_stop=stop_event,
        )
        told = None if task is None else as_message(task).copy()
        part = Part(
            self,
            task=told,
            messages=as_messages(messages or ()),
            options=chosen,
            context=context,
            llm=llm,
            strategy=_strategy(chosen),
        )
        handle = RunHandle(self, run)
        with self._lock:
            if self._current is not None:
                raise BusyError(f"agent {self.name!r} is in the middle of a run; steer it, abort it, or wait")
            run.enter(part)  # before anybody sees the run, and not if it is refused
            if context.deps is None:
                context.deps, run.lends_deps = self.deps, True
            self._current = run
            if workers is self._workers:
                workers.end_run = run.end_for_safety
            self._queues.open()
        thread = threading.Thread(target=self._drive, args=(run, handle), name=f"agent-{self.name}", daemon=True)
        try:
            thread.start()
        except BaseException as error:
            if isinstance(error, RuntimeError) and not thread.is_alive():  # there is no thread to be had
                self._leave(run, handle, None, error)
            run.abort("user")  # Ctrl-C while it begins: nobody gets the handle
            raise
        return handle

    def run_continue(self) -> RunResult:
        """Resumes the last run's messages without a new prompt; what is queued is injected first.

        Raises:
            EdgeAgentError: The last message is the assistant's and nothing is queued, so there is nothing to answer.
            BusyError, ModelError, PolicyViolationError: As ``run``.
        """
        last = self._last_messages[-1] if self._last_messages else None
        if self._current is None and not self._queues and (last is None or last.role == "assistant"):
            raise EdgeAgentError("nothing to continue: the last message is an answer, and nothing is queued")
        return self.run(messages=self._last_messages)

    def _drive(self, run: Run, handle: RunHandle) -> None:
        """The run's thread: the loop, and whatever way it ends, an idle agent and a closed log."""
        run.enter_thread()
        handle.begin()
        result: RunResult | None = None
        error: BaseException | None = None
        try:
            result = loop.drive(run)
        except BaseException as raised:  # the model's; told to whoever waits, after the log is closed
            logger.debug("run %s failed", run.id, exc_info=True)
            error = raised
            result = loop.close_after_error(run, raised)
        finally:
            run.stop.disarm()
            run.leave_thread()
            self._leave(run, handle, result, error)

    def _leave(self, run: Run, handle: RunHandle, result: RunResult | None, error: BaseException | None) -> None:
        """The agent is idle again, and starts a run if a message that nobody has taken up asks for one."""
        run.handovers.release_all()
        context = run.parts[0].context
        run.stop.give_back(context)
        for part in run.parts:
            part.context.in_run = False
        if run.lends_deps:
            context.deps = None
        self.subscriber_errors += run.out.errors
        self._queues.close()
        if result is not None:
            self._last_messages, self._last_error = tuple(run.parts[0].history), result.error
        with self._lock:
            self._current = None
            if run.workers is self._workers:
                self._workers.end_run = None
        handle.finish(result, error)
        run.out.log.close()
        wake = self._queues.take_wake()
        try:
            if wake is not None:
                wake()
        except BusyError:  # somebody was faster; that run takes the message up
            pass
        except Exception:  # what starting raises is for a caller, and there is none; the message stays queued
            logger.exception("no run could be started for a message that asked for one")

    # --- playing a part in a run ------------------------------------------------------------------------------------

    def as_tool(self, name: str | None = None, description: str | None = None) -> Tool:
        """A tool for another agent, with one argument ``task``: it asks this agent and returns its reply.

        The sub-agent has everything of its caller's context, its stop and the ledger of resources, but a history and a
        log of its own, whose events are the call's progress.
        """
        return agent_tool(self, name, description)

    def target_of(self, handoff: Handoff) -> Agent:
        """The agent that a handoff names.

        Raises:
            EdgeAgentError: There is none of that name, or it is no agent.
        """
        target = handoff.target
        if isinstance(target, str):
            found = next((agent for agent in self.handoffs if agent.name == target), None)
            if found is None:
                names = ", ".join(agent.name for agent in self.handoffs) or "none"
                raise EdgeAgentError(f"there is no agent called {target} to hand over to; there are: {names}")
            return found
        if not isinstance(target, Agent):
            raise EdgeAgentError(f"a Handoff needs an Agent or the name of one, not {type(target).__name__}")
        return target

    def occupy(self, run: Run) -> bool:
        """Makes the agent busy with a run of another agent. False: it is busy already."""
        with self._lock:
            if self._current is not None:
                return False
            self._current = run
            return True

    def vacate(self) -> None:
        """The agent is idle again."""
        with self._lock:
            self._current = None

    def part(self, router: Part, task: Message | None) -> Part:
        """The part that this agent plays in a run of another one: the same context, a clean history.

        Options of its own replace the router's, but what guards its tools stays.
        """
        context = router.context.child()
        if context.deps is None:
            context.deps = self.deps
        if self.latch is not None and context.workers is not None:
            context.workers.watch(self.latch)
        options = router.options if self.options == Options() else guarded(self.options, router.options)
        return Part(
            self,
            task=task,
            messages=(),
            options=options,
            context=context,
            llm=self.llm or router.llm,
            strategy=_strategy(options),
        )

    # --- talking to a run -------------------------------------------------------------------------------------------

    def steer(
        self, msg: str | Message, *, wake: bool = False, starter: Callable[[], RunHandle] | None = None
    ) -> RunHandle | None:
        """Queues a message for the moment after the running tools. Any thread.

        Args:
            wake: Start a run with it if the agent is idle.
            starter: How to start that run; None: as ``self.starter`` does.

        Returns:
            The run that it started, if it did.
        """
        return self._post("steering", msg, wake, starter)

    def follow_up(
        self, msg: str | Message, *, wake: bool = False, starter: Callable[[], RunHandle] | None = None
    ) -> RunHandle | None:
        """Queues a message for the moment when the model has nothing more to do. As ``steer``."""
        return self._post("follow_up", msg, wake, starter)

    def note(self, msg: str | Message) -> None:
        """Keeps a message for the next request, whoever makes it; no request is made for it. Any thread."""
        with self._lock:
            run = self._current
        queues = self._queues if run is None else run.inbox.queues
        queues.note(as_message(msg, origin="note"))

    def _post(
        self, queue: QueueName, message: str | Message, wake: bool, starter: Callable[[], RunHandle] | None
    ) -> RunHandle | None:
        with self._lock:
            run = self._current
        if run is not None and run.owner is not self:  # it is the run of the agent that handed over
            return cast("Agent", run.owner)._post(queue, message, wake, _starter(run))
        start = (starter or self.starter or self.start) if wake else None
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
        self._clear("steering")

    def clear_follow_up(self) -> None:
        self._clear("follow_up")

    def clear_all_queues(self) -> None:
        self._clear("steering", "follow_up")

    def _clear(self, *names: QueueName) -> None:
        for queues in self._reached():
            queues.clear(*names)

    @property
    def has_pending(self) -> bool:
        """True if a message is queued that a request is made for."""
        return any(self._reached())

    @property
    def notes(self) -> tuple[Message, ...]:
        """Copies of the notes that wait for the next request."""
        return self._queues.notes

    def _reached(self) -> tuple[Queues, ...]:
        """Its own queues, and during a run those of the run, which are the ones of the agent that was asked."""
        with self._lock:
            run = self._current
        return (self._queues,) if run is None else (self._queues, run.inbox.queues)

    def abort(self, reason: str = "user", *, mode: AbortMode = "now") -> bool:
        """Stops the run, if there is one, and returns at once. Any thread.

        The model stops within one token and read-only tools and skills are cancelled; other tools are waited for.
        The reason "safety_stop" cancels all of them, actuators first, for which it waits half a second at most, and
        empties both queues. Between two runs the reason "user" stops what still moves for an earlier one, and waits as
        long for its actuators.

        Args:
            mode: "after_turn" lets the current turn end; a safety stop does not.

        Returns:
            True if there was a run.
        """
        with self._lock:
            run = self._current
        if run is not None and run.out.log.closed:
            run = None
        stops: Sequence[Call] = () if run is None else run.abort(reason, after_turn=mode == "after_turn")
        if reason == SAFETY:  # also what is queued, and what earlier runs left at work
            self._queues.clear("steering", "follow_up")
            stops = [*stops, *self._workers.halt("stopped for safety", everything=True)]
            actuator.wait(stops)
        elif run is None and reason == "user":
            self.cancel_goals()
        return run is not None

    @property
    def goals_at_work(self) -> tuple[str, ...]:
        """Names of the calls that outlived their runs and are still at work."""
        return tuple(body.name for body in self._workers.detached)

    @property
    def is_moving(self) -> bool:
        """True while something that is marked motion is at work, be it of a run that has ended. Any thread."""
        return bool(self._workers.moving)

    def cancel_goals(self, reason: str = "cancelled") -> None:
        """Interrupts everything that moves, also what outlived its run. Any thread; waits half a second at most."""
        actuator.wait(self._workers.halt(reason))

    def subscribe(self, fn: Callable[[Event], object]) -> Callable[[], None]:
        """Calls it with every event of every run, on the run's thread. Returns what ends that.

        Raises:
            ConfigError: It is async, or can't be called.
        """
        return self._subscribers.add(fn)

    @property
    def is_running(self) -> bool:
        return self._current is not None

    def reset(self) -> None:
        """Forgets the last run's messages, and what is queued or noted.

        Raises:
            BusyError: The agent is in the middle of a run.
        """
        with self._lock:
            if self._current is not None:
                raise BusyError(f"agent {self.name!r} is in the middle of a run; abort it first")
            self._last_messages, self._last_error = (), None
        self.clear_all_queues()
        self._queues.take_notes()

    @property
    def state(self) -> RunState:
        """A frozen copy of the state: of the run, or of what the last one left."""
        run = self._current
        if run is not None:
            return run.state()
        return RunState(
            system_prompt=self.instructions,
            messages=tuple(copied(self._last_messages)),
            error_message=self._last_error,
            thinking_level=self.options.thinking_level,
            llm=self.llm,
            tools=tuple(self.tools),
            follow_up_queue=self._queues.snapshot("follow_up"),
            steering_queue=self._queues.snapshot("steering"),
        )


def _strategy(options: Options) -> Callable[[Run], Ending] | None:
    """Returns what plays a part in place of the loop's own strategy, if the options name one."""
    return None if options.orchestrator is None else partial(orchestrate, options.orchestrator)


def _listed(argument: str, values: Iterable[T] | None) -> list[T]:
    """The list that an argument is; None is an empty one."""
    if values is not None and not isinstance(values, Iterable):
        raise ConfigError(f"Agent({argument}={values!r}): it should be a list")
    return list(values or ())


def _starter(run: Run) -> Callable[[], RunHandle] | None:
    """Returns what starts the next run for a message that this one did not take up; None: ``Agent.start``."""
    context = run.parts[0].context
    if context.session is None or context.depth > 0:
        return None
    return cast("Callable[[], RunHandle]", context.session.start)  # a context knows no handles
