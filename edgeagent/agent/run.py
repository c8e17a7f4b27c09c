"""The mutable state of one run, with a part for each agent in it. Changed by the loop's thread, except the stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from edgeagent import events
from edgeagent.agent.copies import Copies, cut
from edgeagent.agent.log import EventLog
from edgeagent.agent.run_options import Budget, Options, QueueMode, RunResult, RunState
from edgeagent.context import AgentContext, Ask, StopSignal
from edgeagent.hooks.chain import HookChain
from edgeagent.journal.records import with_results
from edgeagent.llm import LLM
from edgeagent.llm.window import RequestSizes
from edgeagent.messages import Message, Status, ToolCall, ToolResult, Usage, as_message, copied, new_id
from edgeagent.tools import GoalHandle, Handoff, ToolRegistry
from edgeagent.tools.threads import ask_person

if TYPE_CHECKING:
    from queue import SimpleQueue

    from edgeagent.agent.queues import QueueName, Queues
    from edgeagent.tools.actuator import Call
    from edgeagent.tools.workers import Workers

logger = logging.getLogger(__name__)
_inside = threading.local()
Subscribers = Callable[[], Iterable[Callable[[events.Event], object]]]


class Player(Protocol):
    """An agent, as the runs know it in which it plays a part: all that they may ask of an ``Agent``."""

    name: str
    instructions: str | None
    tools: ToolRegistry

    def part(self, run: Run, router: Part, task: Message | None) -> Part: ...
    def target_of(self, handoff: Handoff) -> Self: ...
    def reserve(self, run: Run, call: ToolCall, handoff: Handoff) -> tuple[Status, str] | None: ...
    def unreserve(self, run: Run, call: ToolCall) -> None: ...
    def release(self, run: Run) -> None: ...
    def detached_ended(self, run: Run, call: ToolCall, result: ToolResult) -> None: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """``returns_to`` is the part that goes on with ``messages``; None: the run is over."""

    reason: events.EndReason
    reply: str
    returns_to: Part | None = None
    messages: tuple[Message, ...] = ()
    _result: RunResult | None = None

    def with_result(self, result: RunResult, reply: str) -> Self:
        """The same with the result, whose reply a hook may have replaced."""
        return replace(self, reply=reply, _result=replace(result, reply=reply))

    @property
    def result(self) -> RunResult:
        return cast("RunResult", self._result)  # every part ends with one


class Part:
    """State that a run keeps for each agent that plays in it. Changed by the loop's thread only.

    Args:
        messages: History before it; copied. A call without a result gets one: nobody knows what it came to.
        options: As the run's, or the agent's own.
        hooks: All that are called in this part.
        strategy: Plays the part between its two hooks, instead of the loop's own strategy.
    """

    def __init__(
        self,
        agent: Player,
        *,
        task: Message | None,
        messages: Sequence[Message],
        options: Options,
        context: AgentContext,
        hooks: HookChain,
        llm: LLM,
        strategy: Callable[[Run], Ending] | None = None,
    ) -> None:
        self.agent = agent
        self.strategy = strategy
        self.name = agent.name
        self.system = agent.instructions
        self.llm = llm
        self.tools: ToolRegistry = agent.tools
        self.task = task
        self.options = options
        self.context = context
        self.hooks = hooks
        self.history: list[Message] = copied(with_results(messages))
        self.new: list[Message] = []
        self._shown = Copies()

    def introduce(self) -> None:
        """Has the context tell whose part it is."""
        context = self.context
        context.tool_registry, context.llm, context.agent_name = self.tools, self.llm, self.name
        context.system, context.options = self.system, self.options
        context.history = self.shown
        context.no_more_tools = False

    def shown(self) -> tuple[Message, ...]:
        """The history as copies, for whoever asks. Any thread."""
        return tuple(self._shown.of(list(self.history)))

    def add(self, message: Message) -> None:
        """Commits a message to history."""
        self.history.append(message)
        self.new.append(message)

    def replace(self, history: list[Message] | None) -> None:
        """Another history, of which the same is new."""
        if history is not None:
            before = {message.id for message in self.history} - {message.id for message in self.new}
            self.history = history
            self.new = [message for message in history if message.id not in before]


@dataclass(slots=True)
class LastTurn:
    """The turn that goes on, or the last one: a model call, and the results of its calls."""

    number: int = 0
    is_open: bool = False
    reply: Message | None = None
    results: Sequence[ToolResult] = ()
    streaming: Message | None = None
    """The reply as far as the model has come; None when no model is at work."""
    offered: frozenset[str] | None = None
    """Names of the tools that the last request held, which are all that its reply may call."""
    faults: dict[str, str] = field(default_factory=dict)
    """Of the calls of a reply that does not fit its tools: why, by the call's id; empty for one that would fit."""


@dataclass(slots=True)
class CallLedger:
    """All calls of a run by their ids."""

    asked: dict[str, tuple[ToolCall, str]] = field(default_factory=dict)
    """Each call and the agent that made it, in the order asked."""
    results: dict[str, ToolResult] = field(default_factory=dict)
    goals: dict[str, GoalHandle] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    """Calls that have started and not ended."""


class Run:
    """One run, of the agent that was asked and of those that it hands over to.

    Args:
        subscribers: Who is told of an event; asked at each.
        callers_stop: Aborts the run when it is set; so does the event of the context that the run is given.
        notices: Of the agent that was asked: what one run did not tell any more, the next one tells.

    Attributes:
        part: Whose turn it is; ``parts`` has those below it, the agent that was asked first.
        deadline: Monotonic time at which the run is aborted, or None.
        ended: The reply with which a hook ended the run.
    """

    def __init__(
        self,
        *,
        options: Options,
        queues: Queues,
        workers: Workers,
        subscribers: Subscribers,
        ask: Ask | None,
        callers_stop: threading.Event | None,
        notices: SimpleQueue[tuple[events.Level, str]],
    ) -> None:
        self.id = new_id("run")
        self.options = options
        self.queues = queues
        self.workers = workers
        self.ask = ask
        self.log = EventLog()
        self.budget = Budget(options)
        self.copies = Copies()
        self.sizes = RequestSizes()
        self.stop = StopSignal(callers_stop)
        self.stop_after_turn = False
        self.deadline: float | None = None
        self.abort_reason: str | None = None
        self.parts: list[Part] = []
        self.reserved: list[Player] = []
        """Agents that are busy with this run, beside the one that was asked."""
        self.handoff: tuple[str, Player] | None = None
        """The call by which this turn hands over, and to whom, until it is done; there is one at most."""
        self.hidden_replies = 0
        """Replies of the whole run that were not told, because they have the shape of calls and none may run."""
        self.in_words = False
        """The next reply answers in words: the last one named tools that there are not."""
        self.answered_by: str | None = None
        self.steered: list[Message] = []
        """Steering that skipped the rest of a batch, and waits for the next request."""
        self.usage = Usage()
        self.turn = LastTurn()
        self.ledger = CallLedger()
        self.error: str | None = None
        self.ended: str | None = None
        self.subscriber_errors = 0
        self._subscribers = subscribers
        self._heard: dict[str, str] = {}
        self._notices = notices
        self._seq = 0
        self._began_s = time.monotonic()
        self._given: tuple[threading.Event, float | None] | None = None
        self._abort_lock = threading.Lock()

    @property
    def part(self) -> Part:
        return self.parts[-1]

    def enter(self, part: Part) -> None:
        """The next turns are this agent's."""
        context = part.context
        if not self.parts:
            self._take_over(context)
        context.stop_event, context.deadline = self.stop, self.deadline
        context.workers, context.ask, context.notice = self.workers, self.ask, self.notice
        context.sizes = self.sizes
        part.introduce()
        self.parts.append(part)

    def _take_over(self, context: AgentContext) -> None:
        """Takes over what the context's owner wants of this run; he has it back when the run ends, for the next one."""
        self._given = context.stop_event, context.deadline
        self.stop.follow(context.stop_event)
        own = None if self.options.deadline_s is None else self._began_s + self.options.deadline_s
        self.deadline = min((at for at in (own, context.deadline) if at is not None), default=None)
        if context.depth == 0:
            context.hook_state.clear()

    def give_context_back(self) -> None:
        """The run is over: the context is as its owner made it."""
        context = self.parts[0].context
        if self._given is not None and context.stop_event is self.stop:
            context.stop_event, context.deadline = self._given

    def has_part(self, agent: Player) -> bool:
        """True if an agent plays a part already, so that a handoff to it hands back."""
        return any(part.agent is agent for part in self.parts)

    # --- events -----------------------------------------------------------------------------------------------------

    def emit(self, event_type: type[events.Event], then: Callable[[], object] | None = None, **fields: Any) -> None:
        """Appends an event to the log and tells the subscribers, in the order in which they registered.

        Args:
            then: Called when all subscribers have returned; readers of the log see the event after it.
        """
        event = event_type(
            seq=self._seq, t=time.monotonic(), run_id=self.id, agent=self.part.name, turn=self.turn.number, **fields
        )
        self._seq += 1
        if then is None:
            self.log.append(event)
        for subscriber in self._subscribers():
            try:
                subscriber(event)
            except BaseException:  # the builder's code; sys.exit() in it must not end the run's thread
                self.subscriber_errors += 1
                logger.exception("a subscriber raised at %s", event.kind)
        if then is not None:
            then()
            self.log.append(event)

    def notice(self, level: events.Level, text: str) -> None:
        """Has a notice told with the next event. Any thread."""
        self._notices.put((level, text))

    def tell_notices(self) -> None:
        """Emits what other threads and hooks want told."""
        while not self._notices.empty():
            level, text = self._notices.get()
            self.emit(events.Notice, level=level, text=text)

    # --- stopping ---------------------------------------------------------------------------------------------------

    def abort(self, reason: str, *, after_turn: bool = False) -> Sequence[Call]:
        """Ends the run now, or when the turn is over. Any thread; returns at once; the first reason counts, except
        that a safety stop overrides: it empties the queues and halts all bodies, actuators first.

        Returns:
            What actuators are told now; whoever makes sure that they stand waits for it.
        """
        is_safety_stop = reason == "safety_stop"
        with self._abort_lock:
            self.abort_reason = self.abort_reason or reason
        if after_turn and not is_safety_stop:
            self.stop_after_turn = True
            return ()
        if is_safety_stop:
            self.end_for_safety()
            return self.workers.halt("stopped for safety", everything=True)
        self.stop.set()
        return self.workers.heed()  # now, whatever the run's thread is doing

    def end_for_safety(self) -> None:
        """Ends the run as a safety stop, with empty queues; bodies are left to the dispatch. Any thread."""
        with self._abort_lock:
            self.abort_reason = "safety_stop"
        self.stop.set()
        self.queues.clear("steering", "follow_up")

    def stopping(self) -> str | None:
        """The reason why the run must stop now, or None."""
        if not self.stop.is_set():
            return None
        return self.abort_reason or "user"

    # --- messages ---------------------------------------------------------------------------------------------------

    def inject(self, message: Message) -> None:
        """Commits a message that no model wrote, with its two events."""
        self.emit(events.MessageStart, message=message.copy())
        self.part.add(message)
        self.emit(events.MessageEnd, message=message.copy())

    def heard(self, message_id: str, text: str) -> bool:
        """Cuts a reply to what was heard of it, from the next request on. Any thread; True if this run has it."""
        if self.log.closed:
            return False
        streaming = self.turn.streaming
        mine = [m.id for part in self.parts for m in part.history]
        if message_id not in mine and (streaming is None or streaming.id != message_id):
            return False
        self._heard[message_id] = text
        return True

    def _cut_to_heard(self) -> None:
        for message_id, text in list(self._heard.items()):
            for part in self.parts:
                part.replace(cut(part.history, message_id, text))

    def note_calls(self, calls: Iterable[ToolCall]) -> None:
        """Keeps calls for the result, as they are asked for and again as they were made."""
        for call in calls:
            self.ledger.asked[call.id] = call, self.part.name

    def drain(self, *names: QueueName) -> list[Message]:
        """Messages of the first queue named that has any, as many as its mode takes."""
        modes = {"steering": self.options.steering_mode, "follow_up": self.options.followup_mode}
        for name in names:
            self._poll(name)
            taken = self.queues.take(name, everything=modes[name] is QueueMode.ALL)
            if taken:
                return taken
        return []

    def _poll(self, name: QueueName) -> None:
        """Queues what the builder's callback has, behind what is there."""
        options = self.options
        poll = options.get_steering_messages if name == "steering" else options.get_follow_up_messages
        if poll is None:
            return
        try:
            found = [as_message(message, origin=name) for message in poll() or ()]
        except BaseException:  # the builder's code; the next drain asks again
            logger.exception("get_%s_messages raised", name)
            return
        for message in found:
            self.queues.put(name, message, wake=None)

    def give_back(self, messages: Sequence[Message]) -> None:
        """Returns drained messages that no request will hold; a safety stop has emptied the queues for good."""
        with self._abort_lock:
            if self.abort_reason != "safety_stop":
                self.queues.put_back("steering", [m for m in messages if m.origin == "steering"])
                self.queues.put_back("follow_up", [m for m in messages if m.origin == "follow_up"])

    # --- turns ------------------------------------------------------------------------------------------------------

    def open_turn(self) -> None:
        self._cut_to_heard()
        self.turn.number += 1
        self.turn.is_open = True
        self.turn.reply, self.turn.results = None, ()
        self.emit(events.TurnStart)

    def close_turn(self) -> None:
        if self.turn.is_open:
            self.tell_notices()
            self.turn.is_open = False
            reply = None if self.turn.reply is None else self.turn.reply.copy()
            self.emit(events.TurnEnd, message=reply, results=tuple(self.turn.results))

    def grant(self) -> bool:
        """Asks continue_confirm for as much budget again; no answer is no."""
        confirm, calls = self.options.continue_confirm, self.budget.calls
        if confirm is None:
            return False
        try:
            granted = ask_person(
                lambda: bool(confirm(calls)),
                stopping=lambda: self.stopping() is not None,
                timeout_s=self.options.confirm_timeout_s,
                name="continue_confirm",
            )
        except BaseException:  # the builder's code
            logger.exception("continue_confirm raised")
            return False
        return bool(granted) and self.budget.grant()

    # --- what others see ----------------------------------------------------------------------------------------

    def state(self) -> RunState:
        """A frozen copy of the state."""
        part, streaming = self.part, self.turn.streaming
        return RunState(
            system_prompt=part.system,
            messages=part.shown(),
            pending_tool_calls=frozenset(self.ledger.pending),
            is_streaming=True,
            error_message=self.error,
            streaming_message=None if streaming is None else streaming.copy(),
            thinking_level=part.options.thinking_level,
            llm=part.llm,
            tools=tuple(part.tools),
            follow_up_queue=self.queues.snapshot("follow_up"),
            steering_queue=self.queues.snapshot("steering"),
            run_id=self.id,
            hop=self.budget.hops,
        )

    # --- the end ----------------------------------------------------------------------------------------------------

    def result(self, part: Part, reason: events.EndReason, reply: str) -> RunResult:
        """Returns the result of the run, as this agent sees it."""
        self._cut_to_heard()
        abort_reason = None if reason != "aborted" else self.abort_reason or "user"
        messages, new = part.shown(), {message.id for message in part.new}
        return RunResult(
            reply=reply,
            messages=messages,
            new_messages=tuple(compress(messages, map(new.__contains__, map(attrgetter("id"), messages)))),
            tool_calls=tuple(
                replace(call.copy(), result=self.ledger.results.get(call.id), agent=agent)
                for call, agent in self.ledger.asked.values()
            ),
            usage=self.usage,
            reason=reason,
            abort_reason=abort_reason,
            agent_name=part.name,
            handed_off_to=None if self.answered_by == part.name else self.answered_by,
            elapsed_s=time.monotonic() - self._began_s,
            error=self.error,
        )

    def finish(self, result: RunResult) -> RunResult:
        """agent_end as the last event; notices before it."""
        self.give_back(self.steered)
        self.tell_notices()
        self.emit(
            events.AgentEnd,
            reason=result.reason,
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
