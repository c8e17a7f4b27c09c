"""The mutable state of one run: its history, its stop, its log. Changed by the loop's thread only, except the stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from edgeagent import events
from edgeagent.agent.budget import Budget
from edgeagent.agent.log import EventLog
from edgeagent.agent.options import Options, QueueMode
from edgeagent.agent.queues import QueueName, Queues
from edgeagent.agent.result import RunResult
from edgeagent.context import AgentContext, StopSignal
from edgeagent.llm import LLM
from edgeagent.messages import Message, ToolCall, ToolResult, Usage, new_id
from edgeagent.tools import GoalHandle, ToolRegistry
from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)
_inside = threading.local()


class Run:
    """One run of one agent."""

    def __init__(
        self,
        *,
        agent_name: str,
        system: str | None,
        llm: LLM,
        tools: ToolRegistry,
        options: Options,
        queues: Queues,
        workers: Workers,
        task: Message | None,
        messages: Sequence[Message],
        context: AgentContext,
        subscribers: Callable[[], Sequence[Callable[[events.Event], object]]],
        latched: Callable[[], str | None],
        callers_stop: threading.Event | None,
    ) -> None:
        self.id = new_id("run")
        self.agent_name = agent_name
        self.system = system
        self.llm = llm
        self.tools = tools
        self.options = options
        self.queues = queues
        self.workers = workers
        self.task = task
        self.latched = latched
        self.log = EventLog()
        self.budget = Budget(options)
        self.stop = StopSignal(callers_stop)
        self.stop_after_turn = False
        self.abort_reason: str | None = None
        self.context = context
        self.history: list[Message] = [message.copy() for message in messages]
        self.new: list[Message] = []
        self.calls: list[ToolCall] = []
        self.results: dict[str, ToolResult] = {}
        self.goals: dict[str, GoalHandle] = {}
        self.pending_calls: set[str] = set()
        self.usage = Usage()
        self.turn = 0
        self.turn_open = False
        self.streaming_message: Message | None = None
        self.error: str | None = None
        self._subscribers = subscribers
        self._seq = 0
        self._began_s = time.monotonic()
        self._abort_lock = threading.Lock()
        context.stop_event = self.stop
        context.deadline = None if options.deadline_s is None else self._began_s + options.deadline_s
        context.tool_registry, context.llm, context.agent_name = tools, llm, agent_name

    # --- events -----------------------------------------------------------------------------------------------------

    def emit(self, event_type: type[events.Event], **fields: Any) -> None:
        """Appends an event to the log and tells the subscribers, in the order in which they registered."""
        event = event_type(
            seq=self._seq, t=time.monotonic(), run_id=self.id, agent=self.agent_name, turn=self.turn, **fields
        )
        self._seq += 1
        self.log.append(event)
        for subscriber in self._subscribers():
            try:
                subscriber(event)
            except Exception:  # the builder's code must not break the loop
                logger.exception("a subscriber raised at %s", event.kind)

    # --- stopping ---------------------------------------------------------------------------------------------------

    def abort(self, reason: str, *, after_turn: bool = False) -> None:
        """Ends the run now, or when the turn is over. Any thread; returns at once; the first reason counts, except
        that a safety stop overrides."""
        with self._abort_lock:
            if self.abort_reason is None or reason == "safety_stop":
                self.abort_reason = reason
        if after_turn:
            self.stop_after_turn = True
        else:
            self.stop.set()

    def stopping(self) -> str | None:
        """The reason why the run must stop now, or None."""
        if not self.stop.is_set():
            return None
        return self.abort_reason or "user"

    # --- messages ---------------------------------------------------------------------------------------------------

    def add(self, message: Message) -> None:
        """Commits a message to history."""
        self.history.append(message)
        self.new.append(message)

    def inject(self, message: Message) -> None:
        """Commits a message that no model wrote, with its two events."""
        self.emit(events.MessageStart, message=message)
        self.add(message)
        self.emit(events.MessageEnd, message=message)

    def drain(self, *names: QueueName) -> list[Message]:
        """Messages of the first queue named that has any, as many as its mode takes."""
        modes = {"steering": self.options.steering_mode, "follow_up": self.options.followup_mode}
        for name in names:
            taken = self.queues.take(name, everything=modes[name] is QueueMode.ALL)
            if taken:
                return taken
        return []

    def give_back(self, messages: Sequence[Message]) -> None:
        """Returns drained messages that no request will hold."""
        self.queues.put_back("steering", [m for m in messages if m.origin == "steering"])
        self.queues.put_back("follow_up", [m for m in messages if m.origin == "follow_up"])

    # --- turns ------------------------------------------------------------------------------------------------------

    def open_turn(self) -> None:
        self.turn += 1
        self.turn_open = True
        self.emit(events.TurnStart)

    def close_turn(self, message: Message | None = None, results: Sequence[ToolResult] = ()) -> None:
        self.turn_open = False
        self.emit(events.TurnEnd, message=message, results=tuple(results))

    # --- the end ----------------------------------------------------------------------------------------------------

    def finish(self, reason: events.EndReason, reply: str) -> RunResult:
        """The result, and agent_end as the last event."""
        if reason != "aborted":
            self.abort_reason = None
        elif self.abort_reason is None:
            self.abort_reason = "user"
        result = RunResult(
            reply=reply,
            messages=tuple(self.history),
            new_messages=tuple(self.new),
            tool_calls=tuple(replace(c, result=self.results.get(c.id), agent=self.agent_name) for c in self.calls),
            usage=self.usage,
            reason=reason,
            abort_reason=self.abort_reason,
            agent_name=self.agent_name,
            elapsed_s=time.monotonic() - self._began_s,
            error=self.error,
        )
        self.emit(
            events.AgentEnd,
            reason=reason,
            abort_reason=result.abort_reason,
            messages=result.messages,
            new_messages=result.new_messages,
        )
        return result

    def enter_thread(self) -> None:
        """Marks the calling thread as one of this run's, which must never wait for the run."""
        _inside.run = self

    def leave_thread(self) -> None:
        _inside.run = None

    def is_inside(self) -> bool:
        """True on a thread of this run."""
        return getattr(_inside, "run", None) is self
