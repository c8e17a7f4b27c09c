"""The ways in which a part of a run ends: done, stopped, failed, out of budget, handed over. On the loop's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Self, cast

from edgeagent import events
from edgeagent.agent.run import Part, Run
from edgeagent.agent.run_options import RunResult
from edgeagent.events import EndReason
from edgeagent.messages import Message, as_message, new_id
from edgeagent.tools import Handoff


@dataclass(frozen=True, slots=True)
class Ending:
    """``returns_to`` is the part that goes on with ``messages``; None: the run is over."""

    reason: EndReason
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


NO_REPLY: Final = "I could not finish that."


def stop(run: Run) -> Ending:
    """A hook ended the run: its reply is the assistant's last message."""
    reply = run.ended or ""
    run.inject(Message.assistant(reply))
    run.close_turn()
    return Ending("stopped", reply)


def fail(run: Run, reply: Message) -> Ending:
    """Ends after a stream that failed or was stopped."""
    aborted = reply.stop_reason == "aborted"
    run.error = None if aborted else reply.error
    run.emit(events.AgentError, error=reply.error or "aborted")
    run.close_turn()
    return Ending("aborted" if aborted else "error", reply.text)


def terminate(run: Run) -> Ending:
    """Every tool of the batch said that its result is the answer: the last one's text is the reply."""
    closing = Message.assistant(run.turn.results[-1].text)
    run.inject(closing)
    run.close_turn()
    return Ending("terminated", closing.text)


def last_words(run: Run) -> str:
    """The last thing that was said in this run."""
    spoken = [m.text for m in run.part.new if m.role == "assistant" and m.text]
    return spoken[-1] if spoken else NO_REPLY


_SAID: Final = ("user", "follow_up", "steering", "handoff")


def handoff_in(run: Run) -> Handoff | None:
    """The handoff among the results of this turn; there is one at most."""
    for result in run.turn.results:
        if isinstance(result.value, Handoff) and result.status == "ok":
            return result.value
    return None


def hand_over(run: Run, handoff: Handoff, play: Callable[[Run], Ending]) -> Ending:
    """Lets the target play its part.

    Returns:
        How the run ended; or, with ``returns_to``, the part that goes on because it was handed back to.
    """
    router = run.part
    target = router.agent.target_of(handoff)
    run.handoff = None
    for earlier in run.parts[:-1]:
        if earlier.agent is target:
            told = handoff.task or f"{router.name} hands back: {handoff.reason or 'go on'}"
            return Ending("completed", "", returns_to=earlier, messages=(Message.user(told, origin="handoff"),))
    part = target.part(run, router, _task(run, handoff))
    run.enter(part)
    ending = play(run)
    run.parts.pop()
    target.release(run)
    if ending.returns_to is None:
        run.answered_by = run.answered_by or target.name
        if ending.reply:  # told already, by the one who said it; under the same id, so that it can be cut with it
            said = next((m.id for m in reversed(part.new) if m.role == "assistant" and m.text), new_id("msg"))
            router.add(Message("assistant", ending.reply, stop_reason="stop", origin="handoff", id=said))
    return ending


def _task(run: Run, handoff: Handoff) -> Message | None:
    """Returns what the target is told: the handoff's words, or what its router was told last."""
    if handoff.task is not None:
        return as_message(handoff.task, origin="handoff")
    asked = [
        m for m in run.part.history if m.role == "user" and m.origin in ("user", "follow_up", "steering", "handoff")
    ]
    return as_message(asked[-1].text, origin="handoff") if asked else None
