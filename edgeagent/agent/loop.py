"""The loop, its ends and its handovers: ask the model, run the tools it asked for, take up what was queued.

Runs on the run's own thread, which alone emits events. Knows nothing of audio, sessions or any engine. The order of
events, and what each end writes, are docs/agent.md.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final, cast

from edgeagent import events
from edgeagent.agent.calls import NO_MORE_CALLS, act, refuse
from edgeagent.agent.model_call import think
from edgeagent.agent.run import Ending, Run
from edgeagent.agent.run_options import RunResult
from edgeagent.hooks import FirePoint, RunStart
from edgeagent.messages import PEOPLE, Message, StopReason, as_message, new_id
from edgeagent.tools import Handoff
from edgeagent.tools.threads import ask_person

logger = logging.getLogger(__name__)

NO_REPLY: Final = "I could not finish that."
_SAID: Final = PEOPLE | {"handoff"}
CONTINUE: Final = "Continue exactly where you stopped."
"""Follows a reply that was cut by ``max_tokens``."""


def drive(run: Run) -> RunResult:
    """Runs to the end and returns the result; agent_end is the last event.

    Raises:
        ModelError: The model cannot answer at all.
        BaseException: What a model raised that is not ours; ``close_after_error`` closes the log then.
    """
    run.stop.arm(run.abort)
    run.emit(events.AgentStart)
    return run.finish(cast("RunResult", play(run).result))  # every part ends with one


def play(run: Run) -> Ending:
    """One agent's part: from ON_RUN_START to ON_RUN_END."""
    part = run.part
    ending = begin(run)
    if ending is None:
        ending = (part.strategy or react)(run)
    result = run.result(part, ending.reason, ending.reply)
    fired = part.hooks.fire(FirePoint.ON_RUN_END, result)
    if part.hooks[FirePoint.ON_RUN_END]:
        result = run.result(part, ending.reason, ending.reply)  # without what they wrote into theirs
    reply = fired.payload.reply if fired.reply is None else fired.reply
    return replace(ending, reply=reply, result=replace(result, reply=reply))


def begin(run: Run) -> Ending | None:
    """ON_RUN_START may replace the task, or end the run before the model is asked."""
    part = run.part
    shown = None if part.task is None else part.task.copy()
    fired = part.hooks.fire(FirePoint.ON_RUN_START, RunStart(shown, part.context))
    task = fired.payload.task
    if task is not shown:
        part.task = as_message(task) if isinstance(task, str) else task and task.copy()
    if fired.reply is None:
        return None
    run.open_turn()
    if part.task is not None:
        run.inject(part.task)
    run.hook_reply = fired.reply
    return stop(run)


def react(run: Run) -> Ending:
    """Reason, act, observe (ReAct), until the model has nothing more to do."""
    pending = first_messages(run)
    if not pending and (not run.part.history or run.part.history[-1].role == "assistant"):
        return Ending("completed", "")
    said: list[str] = []
    while True:
        # 1. what this request holds for the first time
        run.open_turn()
        take_up(run, pending)
        if run.stop.now():
            run.close_turn()
            return Ending("aborted", "")

        # 2. the model; a hook may have made this call the last
        last = run.part.context.no_more_tools
        reply = think(run, "none" if last else "auto")
        if reply.stop_reason in ("error", "aborted"):
            return fail(run, reply, "".join(said))

        # 3. its tools
        if last or run.hook_reply is not None:
            refuse(run, reply.tool_calls, NO_MORE_CALLS if last else "the run was ended")
        else:
            act(run, reply)
        ending = end_of_turn(run, reply, "".join(said), last=last)
        if ending is not None:
            return ending

        # 4. what comes next
        if reply.tool_calls or run.turn.in_words:
            said.clear()
        so_far = "".join(said) + reply.text
        handoff = handoff_in(run)
        if handoff is not None:
            upcoming = after_handoff(run, handoff)
        elif reply.tool_calls or run.turn.in_words:
            upcoming = after_tools(run)
        else:
            said.append(reply.text)
            upcoming = after_words(run, reply, said)
        if isinstance(upcoming, Ending):
            return upcoming
        if run.stop.after_turn:  # asked for between two turns: the one that was meant is over
            run.inbox.give_back(upcoming)
            return Ending("aborted", so_far)
        pending = upcoming


# --- what comes after a turn: the messages of the next one, or the end ----------------------------------------------


def end_of_turn(run: Run, reply: Message, begun: str, *, last: bool) -> Ending | None:
    """Closes the turn, and ends the part if a hook, a tool, a stop or a callback says so. A denial counts most.

    Args:
        begun: What was said before, if the reply continues it.
    """
    denied = any(result.status == "denied" for result in run.turn.results)
    if run.hook_reply is not None and not denied:
        return stop(run)
    if run.turn.results and all(result.terminate for result in run.turn.results):
        return terminate(run)
    run.close_turn()
    reason = end_reason(run) or ("stopped" if last else None)
    if reason is None:
        return None
    return Ending(reason, begun + reply.text or (last_words(run) if last else ""))


def after_handoff(run: Run, handoff: Handoff) -> list[Message] | Ending:
    """Another agent plays its part; this one goes on only if it is handed back."""
    steered = run.inbox.next_steering()
    run.inbox.give_back(steered)  # the target takes it up
    if not tools_may_go_on(run, steered):
        return out_of_budget(run)
    away = hand_over(run, handoff)
    if away.returns_to is not run.part:
        return away
    return [*away.messages, *run.inbox.next_steering()]


def after_tools(run: Run) -> list[Message] | Ending:
    """The model sees the results, and what was said meanwhile; or it answers in words, after calls that are none."""
    pending = run.inbox.next_steering()
    if tools_may_go_on(run, pending):
        return pending
    run.inbox.give_back(pending)
    return out_of_budget(run)


def after_words(run: Run, reply: Message, said: list[str]) -> list[Message] | Ending:
    """A cut text goes on; otherwise what was queued is next, and if that is nothing the part has ended."""
    if may_continue(run, reply, len(said)):
        steered = run.inbox.next_steering()
        if not tools_may_go_on(run, steered):
            run.inbox.give_back(steered)
            return out_of_budget(run, "".join(said))
        if not steered:
            return [Message.user(CONTINUE, origin="continuation")]
        said.clear()
        return steered
    pending = run.inbox.next_messages()
    if not pending:
        return Ending("completed", "".join(said))
    said.clear()
    if run.budget.grant() if pending[0].origin == "follow_up" else run.budget.grant_one():
        return pending
    run.inbox.give_back(pending)
    return out_of_budget(run)


# --- what a request holds for the first time ----------------------------------------------------------------------


def first_messages(run: Run) -> list[Message]:
    """The task and what is queued; without a task, what is queued."""
    task = run.part.task
    if task is None:
        return run.inbox.drain("steering", "follow_up")
    return [task, *run.inbox.next_steering()]


def take_up(run: Run, pending: list[Message]) -> None:
    """Commits notes and messages; those that were queued go back once a stop is seen. The model may call for what the
    messages ask."""
    run.turn.in_words = run.turn.in_words and not pending
    if not (pending and pending[0].origin == "continuation"):  # nothing may stand between the parts of a reply
        take_notes(run)
    for i, message in enumerate(pending):
        if message.origin in ("steering", "follow_up") and run.stop.now():
            run.inbox.give_back(pending[i:])
            return
        run.inject(message)


def take_notes(run: Run) -> None:
    """Commits what was noted since the last request, unless there will be none."""
    if not run.stop.now():
        for note in run.inbox.queues.take_notes():
            run.inject(note)


# --- ends ---------------------------------------------------------------------------------------------------------


def stop(run: Run) -> Ending:
    """A hook ended the run: its reply is the assistant's last message."""
    return close_with(run, "stopped", run.hook_reply or "")


def fail(run: Run, reply: Message, begun: str = "") -> Ending:
    """Ends after a stream that failed or was stopped, or after a stop before it, which is no error.

    Args:
        begun: What was said before, if the reply continues it.
    """
    aborted = reply.stop_reason == "aborted"
    run.error = None if aborted else reply.error
    if not aborted or run.turn.reply is not None:
        run.emit(events.AgentError, error=reply.error or "aborted")
    run.close_turn()
    return Ending("aborted" if aborted else "error", begun + reply.text)


def terminate(run: Run) -> Ending:
    """Every tool of the batch said that its result is the answer: the last one's text is the reply."""
    return close_with(run, "terminated", run.turn.results[-1].text)


def close_with(run: Run, reason: events.EndReason, text: str) -> Ending:
    """Ends with a message that no model wrote. A stop that was asked for counts more, and one for now says no more."""
    if run.stop.now():
        run.close_turn()
        return Ending("aborted", "" if run.turn.reply is None else run.turn.reply.text)
    run.inject(Message.assistant(text))
    run.close_turn()
    return Ending("aborted" if run.stop.after_turn else reason, text)


def last_words(run: Run) -> str:
    """The last thing that was said in this run."""
    spoken = [m.text for m in run.part.new if m.role == "assistant" and m.text]
    return spoken[-1] if spoken else NO_REPLY


def end_reason(run: Run) -> events.EndReason | None:
    """Why the run ends after a turn that is complete, if it does."""
    if run.stop.now() or run.stop.after_turn:
        return "aborted"
    if any(result.status == "denied" for result in run.turn.results):
        return "denied"
    return "stopped" if asked_to_stop(run) else None


def out_of_budget(run: Run, cut: str = "") -> Ending:
    """Ends with what was said so far, or with one last call without tools, if the ceiling leaves room for it.

    Args:
        cut: Text of a reply that could not go on.
    """
    if run.stop.now():  # while somebody was asked for more
        return Ending("aborted", "")
    run.out.notice("warning", f"stopped after {run.budget.calls} model calls")
    run.tell_notices()
    if run.options.on_budget == "final_answer" and not run.budget.exhausted:
        run.open_turn()
        reply = think(run, "none")
        if reply.stop_reason in ("error", "aborted"):
            return fail(run, reply)
        refuse(run, reply.tool_calls, NO_MORE_CALLS)
        if run.hook_reply is not None:
            return stop(run)
        run.close_turn()
        cut = ""
    return Ending("budget", cut or last_words(run))


def close_after_error(run: Run, error: BaseException) -> RunResult:
    """Closes the log of a run that an exception ended, in the name of the agent that was asked."""
    run.error = str(error) or type(error).__name__
    run.emit(events.AgentError, error=run.error)
    run.close_turn()
    for part in reversed(run.parts):
        part.hooks.fire(FirePoint.ON_RUN_END, run.result(part, "error", ""))
    del run.parts[1:]
    return run.finish(run.result(run.parts[0], "error", ""))


# --- handovers ------------------------------------------------------------------------------------------------------


def handoff_in(run: Run) -> Handoff | None:
    """The handoff among the results of this turn; there is one at most."""
    for result in run.turn.results:
        if isinstance(result.value, Handoff) and result.status == "ok":
            return result.value
    return None


def hand_over(run: Run, handoff: Handoff) -> Ending:
    """Lets the target play its part.

    Returns:
        How the run ended; or, with ``returns_to``, the part that goes on because it was handed back to.
    """
    router = run.part
    target = run.handovers.begin(handoff)
    for earlier in run.parts[:-1]:
        if earlier.agent is target:
            task = (handoff.task or "").strip()
            told = task or f"{router.name} hands back: {handoff.reason or 'go on'}"
            return Ending("completed", "", returns_to=earlier, messages=(Message.user(told, origin="handoff"),))
    part = target.part(router, _task(run, handoff))
    run.enter(part)
    ending = play(run)
    run.parts.pop()
    run.handovers.release(target)
    if ending.returns_to is None:
        run.handovers.answered_by = run.handovers.answered_by or target.name
        if ending.reply:  # told already, by the one who said it; under the same id, so that it can be cut with it
            said = next((m.id for m in reversed(part.new) if m.role == "assistant" and m.text), new_id("msg"))
            ended: StopReason = "stop"
            if ending.reason == "aborted" or ending.reason == "error":
                ended = ending.reason
            router.add(Message("assistant", ending.reply, stop_reason=ended, origin="handoff", id=said))
    return ending


def _task(run: Run, handoff: Handoff) -> Message | None:
    """Returns what the target is told: the handoff's words, or the task of its router and what was steered since."""
    if handoff.task is not None and handoff.task.strip():
        return as_message(handoff.task, origin="handoff")
    asked = [m for m in run.part.new if m.role == "user" and m.origin in _SAID]
    asked = asked or [m for m in run.part.history if m.role == "user" and m.origin in _SAID][-1:]
    if not asked:
        return None
    begins = max((i for i, message in enumerate(asked) if message.origin != "steering"), default=0)
    return as_message("\n".join(message.text for message in asked[begins:]), origin="handoff")


# --- questions to the builder's code ------------------------------------------------------------------------------


def asked_to_stop(run: Run) -> bool:
    """should_stop_after_turn, with the state as it is between two turns."""
    callback = run.part.options.should_stop_after_turn
    if callback is None:
        return False
    try:
        return bool(callback(run.state()))
    except BaseException:  # the builder's code
        logger.exception("should_stop_after_turn raised")
        return False


def tools_may_go_on(run: Run, pending: list[Message]) -> bool:
    """True if the budget allows the turn that answers these results; it may be extended on the way."""
    results = run.turn.results  # none after a reply that stayed hidden: words need no hop
    refused = bool(results) and not run.budget.tools_allowed and all(result.status == "not_run" for result in results)
    if not refused and not run.budget.spent:
        return True
    if pending and run.budget.grant_one():
        return True
    return may_extend(run)


def may_extend(run: Run) -> bool:
    """Asks continue_confirm for as much budget again; no answer is no."""
    confirm, calls = run.options.continue_confirm, run.budget.calls
    if confirm is None:
        return False
    try:
        granted = ask_person(
            lambda: bool(confirm(calls)),
            stopping=lambda: run.stop.now() is not None,
            timeout_s=run.options.confirm_timeout_s,
            name="continue_confirm",
        )
    except BaseException:  # the builder's code
        logger.exception("continue_confirm raised")
        return False
    return bool(granted) and run.budget.grant()


def may_continue(run: Run, reply: Message, times: int) -> bool:
    """True if a reply that was cut goes on, within the budget; one that obeys a schema can't: the model could only
    begin another one."""
    part = run.part
    if reply.stop_reason != "length" or part.context.response_schema is not None:
        return False
    return times <= part.options.max_continuations
