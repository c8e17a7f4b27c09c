"""The ways in which a part of a run ends. On the loop's thread."""

from __future__ import annotations

from typing import Final

from edgeagent import events
from edgeagent.agent.ending import Ending
from edgeagent.agent.run import Run
from edgeagent.messages import Message

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
    closing = Message.assistant(run.turn_results[-1].text)
    run.inject(closing)
    run.close_turn()
    return Ending("terminated", closing.text)


def last_words(run: Run) -> str:
    """The last thing that was said in this run."""
    spoken = [m.text for m in run.part.new if m.role == "assistant" and m.text]
    return spoken[-1] if spoken else NO_REPLY
