"""A handoff: another agent goes on with the request, in a clean history of its own. On the loop's thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from edgeagent.agent.ending import Ending
from edgeagent.agent.run import Run
from edgeagent.messages import Message, as_message, new_id
from edgeagent.tools import Handoff

_SAID: Final = ("user", "follow_up", "steering", "handoff")


def handoff_in(run: Run) -> Handoff | None:
    """The handoff among the results of this turn; there is one at most."""
    for result in run.turn_results:
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
