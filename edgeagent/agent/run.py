"""The mutable state of one run, with a part for each agent in it. Changed by the loop's thread, except the stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from operator import attrgetter
from typing import Any, Protocol, Self

from edgeagent import events
from edgeagent.agent.ledger import Budget, CallLedger, Copies, LastTurn, cut
from edgeagent.agent.log import Broadcast
from edgeagent.agent.queues import Queues, RunInbox
from edgeagent.agent.run_options import Options, RunResult, RunState, hooks_of
from edgeagent.context import SAFETY, AgentContext, Ask, RunStop
from edgeagent.errors import EdgeAgentError
from edgeagent.hooks import Hook
from edgeagent.hooks.hook import HookChain
from edgeagent.journal.records import with_results
from edgeagent.llm import LLM
from edgeagent.llm.window import RequestSizes
from edgeagent.messages import Message, Status, ToolCall, copied, new_id
from edgeagent.tools import Handoff, ToolRegistry
from edgeagent.tools.actuator import Call
from edgeagent.tools.workers import Workers

_inside = threading.local()


class Player(Protocol):
    """An agent, as the runs know it in which it plays a part. ``occupy`` is False while it is busy with another run."""

    name: str
    instructions: str | None
    tools: ToolRegistry
    hooks: list[Hook]

    def part(self, router: Part, task: Message | None) -> Part: ...
    def target_of(self, handoff: Handoff) -> Self: ...
    def note(self, msg: str) -> object: ...
    def follow_up(self, msg: str, *, wake: bool = False) -> object: ...
    def occupy(self, run: Run) -> bool: ...
    def vacate(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Ending:
    """``returns_to`` is the part that goes on with ``messages``; None: the run is over."""

    reason: events.EndReason
    reply: str
    returns_to: Part | None = None
    messages: tuple[Message, ...] = ()
    result: RunResult | None = None
    """Set when the part has ended."""


class Part:
    """State that a run keeps for each agent that plays in it. Changed by the loop's thread only.

    Args:
        messages: History before it; copied. A call without a result gets one: nobody knows what it came to.
        options: As the run's, or the agent's own.
        context: Has hooks of this request, which are called beside the agent's.
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
        llm: LLM,
        strategy: Callable[[Run], Ending] | None = None,
    ) -> None:
        self.agent = agent
        self.strategy = strategy
        self.name = agent.name
        self.system = agent.instructions
        self.llm = llm
        self.tools: ToolRegistry = agent.tools
        """The agent's tools in this turn."""
        self.task = task
        self.options = options
        self.context = context
        self.hooks = HookChain(hooks_of(agent.hooks, context.hooks, options), context)
        self.history: list[Message] = copied(with_results(messages))
        self.new: list[Message] = []
        self.copies = Copies(for_model=True)
        """Copies that its requests hold."""
        self._shown = Copies()

    def introduce(self) -> None:
        """Has the context tell whose part it is, with a state for each of its hooks."""
        context = self.context
        context.tool_registry, context.llm, context.agent_name = self.tools, self.llm, self.name
        context.system, context.options = self.system, self.options
        context.history = self.shown
        context.no_more_tools = False
        for hook in self.hooks:
            context.state_of(hook)

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


class Handovers:
    """The handoffs of one run. There is one at a time; its target is busy with this run until its part is over.

    Called under a lock of the batch's host, or on the loop's thread.
    """

    def __init__(self, run: Run) -> None:
        self.answered_by: str | None = None
        """Name of the agent that has answered, if it was another one than the one that was asked."""
        self._run = run
        self._reserved: list[Player] = []
        """Agents that are busy with this run, beside the one that was asked."""
        self._next: tuple[str, Player] | None = None
        """The call by which this turn hands over, and to whom, until that is done."""

    def reserve(self, router: Player, call: ToolCall, handoff: Handoff) -> tuple[Status, str] | None:
        """Makes a handoff's target the next to play a part, and busy with this run; ``unreserve`` takes that back.

        Returns:
            The status and the text of a refusal, or None.
        """
        try:
            target = router.target_of(handoff)
        except EdgeAgentError as error:
            return "error", str(error)
        if target is router:
            return "error", f"{router.name} has the request already"
        if self._next is not None:
            return "not_run", f"the request was handed to {self._next[1].name}"
        if not self._has_part(target):
            if not target.occupy(self._run):
                return "error", f"{target.name} is busy with another request"
            self._reserved.append(target)
        self._next = call.id, target
        return None

    def unreserve(self, call: ToolCall) -> None:
        """A call's handoff does not stand: its target, if it has one, is free again."""
        if self._next is None or self._next[0] != call.id:
            return
        target = self._next[1]
        self._next = None
        if not self._has_part(target):
            self.release(target)

    def begin(self, handoff: Handoff) -> Player:
        """The handoff that was reserved takes place. Returns its target."""
        self._next = None
        return self._run.part.agent.target_of(handoff)

    def release(self, target: Player) -> None:
        """An agent's part in this run is over."""
        if target in self._reserved:
            self._reserved.remove(target)
            target.vacate()

    def release_all(self) -> None:
        """The run is over."""
        for target in list(self._reserved):
            self.release(target)

    def _has_part(self, agent: Player) -> bool:
        """True if an agent plays a part already, so that a handoff to it hands back."""
        return any(part.agent is agent for part in self._run.parts)


class Run:
    """One run, of the agent that was asked and of those that it hands over to.

    Args:
        queues: Of the agent that was asked, as is all else that is not this run's own.
        ask: Puts questions to a person; None: nobody can be asked.

    Attributes:
        out: Who is told of its events, and the log of them.
        inbox: What it takes from the queues.
        stop: Its stop.
        parts: Whose turns it has: the last one's is now, the first is the agent's that was asked.
        hook_reply: The reply with which a hook ended the run.
        lends_deps: The first part's context has none of its own: the agent's are taken out of it at the end.
    """

    def __init__(
        self,
        *,
        options: Options,
        queues: Queues,
        workers: Workers,
        out: Broadcast,
        ask: Ask | None,
        callers_stop: threading.Event | None,
    ) -> None:
        self.id = new_id("run")
        self.options = options
        self.workers = workers
        self.ask = ask
        self.out = out
        self.inbox = RunInbox(queues, options)
        self.stop = RunStop(callers_stop, options.deadline_s)
        self.budget = Budget(options)
        self.parts: list[Part] = []
        self.handovers = Handovers(self)
        self.turn = LastTurn()
        self.ledger = CallLedger()
        self.sizes = RequestSizes()
        self.error: str | None = None
        self.hook_reply: str | None = None
        self.lends_deps = False
        self._heard: dict[str, str] = {}
        self._asked_by: Run | None = None
        """The run that waits for this one, because its agent is asked as a tool."""

    @property
    def part(self) -> Part:
        return self.parts[-1]

    @property
    def owner(self) -> Player:
        """The agent that was asked."""
        return self.parts[0].agent

    def enter(self, part: Part) -> None:
        """The next turns are this agent's."""
        context = part.context
        if not self.parts:
            self.stop.take_over(context)
            self._asked_by = _run_here() if context.within else None
            self.stop.outer = None if self._asked_by is None else self._asked_by.stop
            if context.depth == 0:
                context.hook_state.clear()
        self.stop.enter(context)
        context.in_run = True
        context.workers, context.ask, context.notice = self.workers, self.ask, self.out.notice
        context.sizes = self.sizes
        part.introduce()
        self.parts.append(part)

    # --- events -----------------------------------------------------------------------------------------------------

    def emit(self, event_type: type[events.Event], then: Callable[[], object] | None = None, **fields: Any) -> None:
        """Makes an event of this moment and sends it; ``then`` as for ``Broadcast.send``."""
        part, turn = self.part, self.turn
        event = event_type(
            seq=next(self.out.numbers), t=time.monotonic(), run_id=self.id, agent=part.name, turn=turn.number, **fields
        )
        self.out.send(event, then)

    def tell_notices(self) -> None:
        """Emits what other threads and hooks want told."""
        while not self.out.notices.empty():
            level, text = self.out.notices.get()
            self.emit(events.Notice, level=level, text=text)

    # --- stopping ---------------------------------------------------------------------------------------------------

    def abort(self, reason: str, *, after_turn: bool = False) -> Sequence[Call]:
        """Ends the run now, or when the turn is over. Any thread; returns at once; the first reason counts, except
        that a safety stop overrides: it empties the queues and halts all bodies, actuators first.

        Returns:
            What actuators are told now; whoever makes sure that they stand waits for it.
        """
        if reason == SAFETY:
            self.end_for_safety()
            return self.workers.halt("stopped for safety", everything=True)
        self.stop.demand(reason, after_turn=after_turn)
        return () if after_turn else self.workers.heed()  # now, whatever the run's thread is doing

    def end_for_safety(self) -> None:
        """Ends the run as a safety stop, with empty queues; bodies are left to the dispatch. Any thread."""
        self.stop.demand(SAFETY)
        self.inbox.empty()

    # --- messages ---------------------------------------------------------------------------------------------------

    def inject(self, message: Message) -> None:
        """Commits a message that no model wrote, with its two events; one that is said again has an id of its own."""
        if any(message.id == earlier.id for earlier in self.part.history):
            message = replace(message, id=new_id("msg"))
        self.emit(events.MessageStart, message=message.copy())
        self.part.add(message)
        self.emit(events.MessageEnd, message=message.copy())

    def heard(self, message_id: str, text: str) -> bool:
        """Cuts a reply to what was heard of it, from the next request on. Any thread; True if this run has it."""
        if self.out.log.closed:
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

    # --- turns ------------------------------------------------------------------------------------------------------

    def open_turn(self) -> None:
        self._cut_to_heard()
        self.turn.number += 1
        self.turn.is_open = True
        self.turn.reply, self.turn.results, self.turn.offered = None, (), {}
        self.emit(events.TurnStart)

    def close_turn(self) -> None:
        if self.turn.is_open:
            self.tell_notices()
            self.turn.is_open = False
            reply = None if self.turn.reply is None else self.turn.reply.copy()
            self.emit(events.TurnEnd, message=reply, results=tuple(self.turn.results))

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
            follow_up_queue=self.inbox.queues.snapshot("follow_up"),
            steering_queue=self.inbox.queues.snapshot("steering"),
            run_id=self.id,
            hop=self.budget.hops,
        )

    # --- the end ----------------------------------------------------------------------------------------------------

    def result(self, part: Part, reason: events.EndReason, reply: str) -> RunResult:
        """Returns the result of the run, as this agent sees it."""
        self._cut_to_heard()
        abort_reason = self.stop.reason if reason == "aborted" else None
        messages, new = part.shown(), {message.id for message in part.new}
        return RunResult(
            reply=reply,
            messages=messages,
            new_messages=tuple(compress(messages, map(new.__contains__, map(attrgetter("id"), messages)))),
            tool_calls=tuple(
                replace(call.copy(), result=self.ledger.results.get(call.id), agent=agent)
                for call, agent in self.ledger.asked.values()
            ),
            usage=self.budget.usage,
            reason=reason,
            abort_reason=abort_reason,
            agent_name=part.name,
            handed_off_to=None if self.handovers.answered_by == part.name else self.handovers.answered_by,
            elapsed_s=time.monotonic() - self.stop.began_s,
            error=self.error,
        )

    def finish(self, result: RunResult) -> RunResult:
        """agent_end as the last event; notices before it."""
        if self._asked_by is not None and self.stop.now() == SAFETY:  # nobody has emptied the queues of a helper
            self.inbox.empty()
        self.inbox.give_skipping_back()
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
        """True on a thread of this run, or of one that it waits for."""
        run = _run_here()
        while run is not None and run is not self:
            run = run._asked_by
        return run is self


def _run_here() -> Run | None:
    """The run whose thread this is."""
    return getattr(_inside, "run", None)
