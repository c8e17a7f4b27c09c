"""Replies of the robot in a run, message by message: its answers, and whether it has said anything at all."""

from __future__ import annotations

from edgeagent import events
from edgeagent.agent.loop import NO_REPLY


class Replies:
    """One event after the other, of the runs of one agent."""

    def __init__(self) -> None:
        self._spoke = False

    def take(self, event: events.Event) -> str:
        """The text that is complete with this event, or an empty one."""
        match event:
            case events.AgentStart():
                self._spoke = False
            case events.MessageEnd(message=message) if message.role == "assistant" and message.text:
                self._spoke = True
                return message.text
            case events.AgentEnd(reason="budget") if not self._spoke:
                return NO_REPLY
        return ""
