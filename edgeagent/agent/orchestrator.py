"""The one seam for another strategy than the ReAct loop, and such a strategy: plan, then execute.

An orchestrator does with a run what ``RunControl`` allows.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn, Protocol

from edgeagent.agent.calls import NO_MORE_CALLS, commit, execute, refusal, refuse, refused
from edgeagent.agent.loop import (
    CONTINUE,
    after_handoff,
    end_of_turn,
    fail,
    handoff_in,
    last_words,
    may_continue,
    out_of_budget,
    take_notes,
    tools_may_go_on,
)
from edgeagent.agent.model_call import think
from edgeagent.agent.run import Ending, Run
from edgeagent.agent.run_options import Options, RunState
from edgeagent.context import AgentContext
from edgeagent.errors import EdgeAgentError
from edgeagent.events import Event
from edgeagent.llm import LLM
from edgeagent.messages import Message, ToolCall, ToolResult, as_messages, new_id
from edgeagent.tools import Tool

_STAMPS: Final = frozenset(field.name for field in dataclasses.fields(Event))


class Orchestrator(Protocol):
    """Drives one run; set it with ``Options(orchestrator=...)``."""

    def run(self, run: RunControl, message: Message | None) -> None:
        """Called on the run's thread; returning ends the run with the last thing that was said.

        Args:
            message: The task, not yet part of the history; None when a run continues what is there.
        """
        ...


class RunEnded(EdgeAgentError):
    """Raised in an orchestrator whose run is over: it was aborted, its budget is spent, or a hook ended it."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(f"the run is over: {ending.reason}")
        self.ending = ending


class RunControl:
    """Control of an orchestrator over its run. On the run's thread only.

    Events, history, budget, hooks and gates are the run's own, so that no strategy can get round them.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._thread = threading.get_ident()
        self._open: list[ToolCall] = []
        self._drained: list[Message] = []
        """Messages that were drained and not appended yet."""
        self._last = False
        """A hook has made this turn the last one."""
        self._begun = ""
        """The last reply without its last piece, if it was cut and continued."""
        self._ending: Ending | None = None

    @property
    def state(self) -> RunState:
        """A frozen copy of the state."""
        return self._run.state()

    @property
    def options(self) -> Options:
        return self._run.part.options

    @property
    def context(self) -> AgentContext:
        return self._run.part.context

    @property
    def llm(self) -> LLM:
        return self._run.part.llm

    def should_stop(self) -> bool:
        """True if the run was asked to end."""
        return self._run.stop.now() is not None or self._run.stop.after_turn

    def complete(self, messages: Sequence[Message] | None = None, tools: Sequence[Tool] | None = None) -> Message:
        """One model call, in the turn of what was appended for it or in a new one; the reply is streamed and committed.

        A text that was cut goes on with further calls, ``Options.max_continuations`` at most; all of it is returned.

        Args:
            messages: What the request holds; None: the history.
            tools: Those that may be called; None: all, (): none, and the list stays in the prompt.

        Raises:
            RunEnded: The run is over; let it pass through.
        """
        messages = None if messages is None else as_messages(messages)
        self._begun = ""
        pieces = 1
        reply = self._ask(messages, tools)
        while not reply.tool_calls and may_continue(self._run, reply, pieces):
            more = Message.user(CONTINUE, origin="continuation")
            messages = None if messages is None else [*messages, reply, more]
            self._begun += reply.text
            pieces += 1
            self.append(more)
            reply = self._ask(messages, tools)
        return replace(reply.copy(), text=self._begun + reply.text)

    def _ask(self, messages: Sequence[Message] | None, tools: Sequence[Tool] | None) -> Message:
        """One model call, or two if the first reply stays hidden; the turn is over unless calls are to be executed."""
        run = self._check()
        self._end_turn()
        self._stop_if_asked()
        if not tools_may_go_on(run, []):
            run.close_turn()
            self._leave(out_of_budget(run))
        if not run.turn.is_open:
            run.open_turn()
        take_notes(run)
        self._last = run.part.context.no_more_tools
        may_call = (tools is None or len(tools) > 0) and not self._last
        reply = think(run, "auto" if may_call else "none", messages=messages, tools=tools or None)
        if reply.stop_reason in ("error", "aborted"):
            self._leave(fail(run, reply, self._begun))
        if self._last or run.hook_reply is not None:
            refuse(run, reply.tool_calls, NO_MORE_CALLS if self._last else "the run was ended")
        else:
            self._open = list(reply.tool_calls)
        if not self._open:
            self._end_turn()
        return self._ask(messages, tools) if run.turn.in_words else reply

    def execute(self, calls: Sequence[ToolCall]) -> list[ToolResult]:
        """Runs calls through all gates and commits the results, in the order in which they were asked for.

        Calls of the last reply that are not among them are not run. If the last reply did not make them all, they are
        committed as an assistant message first, with ids of their own.

        Returns:
            One result a call, in the order given.

        Raises:
            RunEnded: As ``complete``.
        """
        run = self._check()
        if not calls:
            return []
        wanted = list(calls)
        ids = {call.id for call in wanted}
        if len(ids) < len(wanted) or not ids <= {call.id for call in self._open}:
            wanted = self._ask_for(wanted)
            ids = {call.id for call in wanted}
        asked, self._open = self._open, []
        run.ledger.note(asked, run.part.name)
        why = refusal(run, run.turn.reply)
        if why is None:
            results = execute(run, wanted)
            run.budget.spend_hop(results)
        else:
            results = refused(run, wanted, why)
        left = refused(run, [call for call in asked if call.id not in ids], "it was not chosen")
        by_id = {result.call_id: result for result in (*results, *left)}
        commit(run, [by_id[call.id] for call in asked])
        self._end_turn()
        self._hand_over()
        if why is not None and not tools_may_go_on(run, []):
            self._leave(out_of_budget(run))
        return results

    def append(self, message: Message) -> None:
        """Commits a message, in the turn of the next model call. Calls that nobody executed are not run.

        Calls in the message may be executed next.

        Raises:
            RunEnded: As ``complete``, for a message that was drained: after a stop it goes back to its queue.
            EdgeAgentError: The message is none, has the result of a call, or has a call whose id is taken.
        """
        run = self._check()
        as_messages([message])
        if message.role == "tool":
            raise EdgeAgentError("a result is committed with its call: use execute(calls)")
        ids = {call.id for call in message.tool_calls}
        if len(ids) < len(message.tool_calls) or any(call.id in ids for m in run.part.history for call in m.tool_calls):
            raise EdgeAgentError("every call needs an id of its own; execute(calls) gives ids to calls")
        if any(message is drained for drained in self._drained):
            self._stop_if_asked()
            self._drained = [drained for drained in self._drained if drained is not message]
            grant = run.budget.grant if message.origin == "follow_up" else run.budget.grant_one
            grant()
        self._end_turn()
        if message.role == "assistant" and message.text:
            self._begun = ""
        if not run.turn.is_open:
            run.open_turn()
        run.inject(message.copy())
        self._open = [call.copy() for call in message.tool_calls]

    def drain_steering(self) -> list[Message]:
        """Returns what was steered, as many as the queue's mode takes; append them, or they are lost unless a stop
        comes."""
        return self._keep(self._check().inbox.next_steering())

    def drain_follow_up(self) -> list[Message]:
        """As ``drain_steering``, of the follow-ups."""
        return self._keep(self._check().inbox.drain("follow_up"))

    def _keep(self, drained: list[Message]) -> list[Message]:
        """Keeps messages that were taken from a queue, because a stop returns those that are not appended by then."""
        self._drained += drained
        return drained

    def emit(self, event: Event) -> None:
        """Adds an event to the log; its seq, time, run, agent and turn are the run's."""
        own = {f.name: getattr(event, f.name) for f in dataclasses.fields(event) if f.name not in _STAMPS}
        self._check().emit(type(event), **own)

    def end(self) -> None:
        """Ends the run with the last thing that was said; so does returning."""
        self._ending = self._ending or Ending("completed", self._last_words())

    def fail(self, error: str | Exception) -> None:
        """Ends the run with an error: a text becomes the result's, an exception is raised to whoever waits."""
        run = self._check()
        if isinstance(error, Exception):
            raise error
        self.settle()
        self._ending = fail(run, Message("assistant", stop_reason="error", error=error))

    def close(self) -> Ending:
        """Leaves a history in which every call has a result; called when the orchestrator has returned."""
        if self._ending is None:
            with contextlib.suppress(RunEnded):
                self._end_turn()
        self._run.close_turn()
        self.give_back()
        if self._ending is None:
            self._ending = Ending("aborted" if self.should_stop() else "completed", self._last_words())
        return self._ending

    def give_back(self) -> None:
        """After a stop, returns what was drained and not appended to its queue."""
        if self.should_stop():
            self._run.inbox.give_back(self._drained)

    def _check(self) -> Run:
        if threading.get_ident() != self._thread:
            raise EdgeAgentError("a RunControl is for the thread of its run")
        if self._ending is not None:
            raise RunEnded(self._ending)
        return self._run

    def _stop_if_asked(self) -> None:
        if self.should_stop():
            self._leave(Ending("aborted", ""))

    def settle(self) -> None:
        """Gives calls that nobody executed a result that says so."""
        if self._open:
            calls, self._open = self._open, []
            refuse(self._run, calls, refusal(self._run, self._run.turn.reply) or "it was not chosen")

    def _last_words(self) -> str:
        return self._begun + last_words(self._check())

    def _end_turn(self) -> None:
        """A turn has one model call, or calls of the strategy's own: what comes after belongs to the next."""
        self.settle()
        run, turn = self._run, self._run.turn
        if turn.is_open and (turn.reply is not None or turn.results or run.hook_reply is not None):
            begun = "" if turn.reply is None else self._begun
            ending = end_of_turn(run, turn.reply or Message("assistant"), begun, last=self._last)
            if ending is not None:
                self._leave(ending)

    def _ask_for(self, calls: Sequence[ToolCall]) -> list[ToolCall]:
        """Commits an assistant message with calls that no reply made."""
        made = [replace(call.copy(), id=new_id("call")) for call in calls]
        self.append(Message.assistant("", made))
        return made

    def _hand_over(self) -> None:
        handoff = handoff_in(self._run)
        if handoff is None:
            return
        upcoming = after_handoff(self._run, handoff)
        if isinstance(upcoming, Ending):
            self._leave(upcoming)
        for message in self._keep(upcoming):
            self.append(message)

    def _leave(self, ending: Ending) -> NoReturn:
        self._ending = ending
        raise RunEnded(ending)


def orchestrate(orchestrator: Orchestrator, run: Run) -> Ending:
    """Runs another strategy; however it returns, turn and calls are closed, and whatever it raises, the calls are."""
    control = RunControl(run)
    try:
        with contextlib.suppress(RunEnded):
            orchestrator.run(control, run.part.task)
    except BaseException:
        control.give_back()
        raise
    finally:
        control.settle()
    return control.close()


# --- plan, then execute -----------------------------------------------------------------------------------------------


PLAN: Final = "Write a numbered plan of short steps for this, one a line. Do not call tools yet."
STEP: Final = "Do step {number} now: {text}"
SUMMARY: Final = "Say in one short sentence what was done."
_NUMBERED: Final = re.compile(r"^\s*\d+[.)]\s+(?P<text>\S.*)$")


class PlanThenExecute:
    """One model call for a plan, some for each step, one for the answer.

    What is steered is taken up between two steps; what is queued when the answer is there gets a plan of its own.

    Args:
        max_steps: Further lines of a plan are left out.
        max_calls: Model calls for one step.
    """

    def __init__(self, *, max_steps: int = 8, max_calls: int = 3) -> None:
        self._max_steps = max_steps
        self._max_calls = max_calls

    def run(self, run: RunControl, message: Message | None) -> None:
        """Plans, executes, answers, for the message and then for what is queued."""
        if message is not None:
            run.append(message)
        asked = run.drain_steering() + (run.drain_follow_up() if message is None else [])
        while True:
            self._append(run, asked)
            self._answer(run)
            asked = run.drain_steering() or run.drain_follow_up()
            if not asked:
                return

    def _answer(self, run: RunControl) -> None:
        """Plans, executes, answers. A reply without a numbered line is the answer itself."""
        run.append(Message.user(PLAN, origin="continuation"))
        plan = run.complete(tools=())
        steps = steps_of(plan.text)[: self._max_steps]
        for number, text in enumerate(steps, 1):
            self._append(run, run.drain_steering())
            run.append(Message.user(STEP.format(number=number, text=text), origin="continuation"))
            self._do(run)
        if steps:
            self._append(run, run.drain_steering())
            run.append(Message.user(SUMMARY, origin="continuation"))
            run.complete(tools=())

    def _append(self, run: RunControl, messages: Sequence[Message]) -> None:
        for message in messages:
            run.append(message)

    def _do(self, run: RunControl) -> None:
        for _ in range(self._max_calls):
            reply = run.complete()
            if not reply.tool_calls:
                return
            run.execute(reply.tool_calls)


def steps_of(plan: str) -> list[str]:
    """The numbered lines of a plan."""
    return [found["text"] for line in plan.splitlines() if (found := _NUMBERED.match(line))]
