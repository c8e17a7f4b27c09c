"""A run as the event stream of one prompt, read from the run's log on the reader's own thread."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, Protocol

from edgeagent import events
from edgeagent.agent import RunHandle
from edgeagent.messages import Message, ToolCall
from edgeagent.views.callbacks import Callbacks

EventType = Literal["turn_start", "steering_mode", "thinking", "tool_call", "tool_result", "text_delta", "turn_end"]


@dataclass(frozen=True, slots=True)
class PromptEvent:
    """Payloads. steering_mode: ``{"mode", "queue_size"}``, "steer" with the number of calls or "respond"; thinking,
    text_delta: the text; tool_call: ``{"tool_name", "args", "id"}``; tool_result: ``{"tool_name", "result",
    "is_error", "id"}``; turn_end: the assistant's last message or None."""

    type: EventType
    payload: Any = None


class Startable(Protocol):
    """An ``Agent``, or a ``Session``, which remembers earlier prompts."""

    @property
    def start(self) -> Callable[..., RunHandle]: ...


def prompt(agent: Startable, message: str | Message, **keywords: Any) -> PromptStream:
    """Starts a run with the keywords of ``agent.start``, and raises what that raises. Returns at once."""
    return PromptStream(agent.start(message, **keywords))


@dataclass(frozen=True, slots=True)
class PromptStream:
    """One prompt. ``handle`` is its run, to steer or abort it."""

    handle: RunHandle

    def events(self) -> Iterator[PromptEvent]:
        """All events from turn_start, however late and often it is asked for; ends when the agent is idle again."""
        return chain.from_iterable(map(_Translation().read, self.handle.events()))

    def result(self, timeout: float | None = None) -> list[Message]:
        """Waits for the end and returns a copy of the messages. Raises as ``RunHandle.result``."""
        return [message.copy() for message in self.handle.result(timeout).messages]


class _Translation:
    """Text streams before anybody knows whether calls follow: such a reply is "respond", then "steer"."""

    def __init__(self) -> None:
        self._made: list[PromptEvent] = []
        self._responding = False
        self._started: set[str] = set()
        self._last: Message | None = None
        self._replies = Callbacks(self._say, lambda text: self._make("thinking", text), self._steer)

    def read(self, event: events.Event) -> list[PromptEvent]:
        self._made = []
        self._replies(event)
        match event:
            case events.AgentStart():
                self._make("turn_start")
            case events.MessageEnd(message=message) if message.role == "assistant":
                self._responding, self._last = False, message
            case events.ToolExecutionStart(call=call):
                self._call(call)
            case events.ToolExecutionEnd(call=call, result=result):
                if call.id not in self._started and result.status not in ("skipped", "not_run"):
                    self._call(call)  # it was taken up and refused; what is skipped only has a result
                value = result.text if result.is_error or result.value is None else result.value
                told = {"tool_name": call.name, "result": value, "is_error": result.is_error, "id": call.id}
                self._make("tool_result", told)
            case events.AgentEnd():
                self._make("turn_end", self._last)
        return self._made

    def _make(self, kind: EventType, payload: Any = None) -> None:
        self._made.append(PromptEvent(kind, payload))

    def _say(self, text: str) -> None:
        if not self._responding:
            self._make("steering_mode", {"mode": "respond", "queue_size": 0})
        self._responding = True
        self._make("text_delta", text)

    def _steer(self, batch: list[dict[str, Any]]) -> None:
        self._make("steering_mode", {"mode": "steer", "queue_size": len(batch)})

    def _call(self, call: ToolCall) -> None:
        self._started.add(call.id)
        self._make("tool_call", {"tool_name": call.name, "args": copy.deepcopy(call.arguments), "id": call.id})
