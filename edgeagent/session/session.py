"""History across runs of one agent. In memory; one run at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Literal, Self

from edgeagent import events
from edgeagent.agent import Agent, Options, RunHandle, RunResult
from edgeagent.errors import EdgeAgentError
from edgeagent.messages import Message, Usage


class Session:
    """A conversation: every run begins with what the earlier ones left.

    Args:
        agent: Who answers.
        options: For every run, instead of the agent's own.
    """

    def __init__(self, agent: Agent, *, options: Options | None = None) -> None:
        self.agent = agent
        self.options = options
        self.usage = Usage()
        self._lock = threading.Lock()
        self._messages: list[Message] = []
        self._handle: RunHandle | None = None
        self._closed = False

    def step(self, task: str | Message) -> RunResult:
        """One request, to its end.

        Raises:
            BusyError, ModelError, PolicyViolationError: As ``Agent.run``.
        """
        handle = self.start(task)
        try:
            return handle.result()
        except BaseException:  # Ctrl-C, or what the run itself raised: then there is nothing left to stop
            handle.abort("user")
            raise

    def start(self, task: str | Message | None = None) -> RunHandle:
        """As ``step``, but returns at once.

        Raises:
            BusyError, ModelError: As ``Agent.start``.
        """
        if self._closed:
            raise EdgeAgentError("the session is closed")
        handle = self.agent.start(task, messages=self.messages(), options=self.options, observer=self._observe)
        self._handle = handle
        return handle

    def steer(self, message: str | Message, *, wake: bool = False) -> RunHandle | None:
        """As ``Agent.steer``; a run that it wakes has this session's history."""
        return self.agent.steer(message, wake=wake, starter=self.start)

    def follow_up(self, message: str | Message, *, wake: bool = False) -> RunHandle | None:
        """As ``Agent.follow_up``; a run that it wakes has this session's history."""
        return self.agent.follow_up(message, wake=wake, starter=self.start)

    def abort(self, reason: str = "user", *, mode: Literal["now", "after_turn"] = "now") -> bool:
        """As ``Agent.abort``."""
        return self.agent.abort(reason, mode=mode)

    def subscribe(self, subscriber: Callable[[events.Event], object]) -> Callable[[], None]:
        """As ``Agent.subscribe``."""
        return self.agent.subscribe(subscriber)

    def messages(self) -> list[Message]:
        """A copy of the history."""
        with self._lock:
            return [message.copy() for message in self._messages]

    def reset(self) -> None:
        """Forgets history and queues; model, tools, system prompt and usage stay.

        Raises:
            BusyError: A run is going on.
        """
        self.agent.reset()
        with self._lock:
            self._messages.clear()

    def close(self) -> None:
        """Stops a run that is going on, waits for its end, and takes no more. Safe to call again."""
        self._closed = True
        self.agent.clear_all_queues()
        if self._handle is not None and self._handle.abort("user") and not self._handle.on_thread_of_run():
            self._handle.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _observe(self, event: events.Event) -> None:
        """Takes over what a run of this session leaves, on the run's thread, before anybody can start the next."""
        match event:
            case events.AgentEnd(messages=messages):
                self._commit(messages)
            case events.MessageEnd(message=message) if message.usage is not None:
                self.usage += message.usage

    def _commit(self, messages: Sequence[Message]) -> None:
        with self._lock:
            self._messages = [message.copy() for message in messages]
