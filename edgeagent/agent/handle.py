"""Handle on a run that goes on, and the result of one that is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from edgeagent.errors import BusyError
from edgeagent.tools import GoalHandle, Tool, actuator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from edgeagent.agent.agent import Agent
    from edgeagent.agent.run import Run
    from edgeagent.events import EndReason, Event, Level
    from edgeagent.llm import LLM
    from edgeagent.messages import Message, ToolCall, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """End of a run. ``messages`` is the whole history, ``new_messages`` what this run added."""

    reply: str
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]
    tool_calls: tuple[ToolCall, ...]
    """Every call, in the order asked, each with its ``result`` and ``agent``."""
    usage: Usage
    reason: EndReason
    abort_reason: str | None
    agent_name: str
    """The agent that was asked."""
    elapsed_s: float
    handed_off_to: str | None = None
    """The agent that answered, if it was another one."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A frozen copy of an agent's state at one moment."""

    system_prompt: str | None
    messages: tuple[Message, ...]
    pending_tool_calls: frozenset[str]
    is_streaming: bool
    error_message: str | None
    streaming_message: Message | None
    thinking_level: str | None
    llm: LLM | None
    tools: tuple[Tool, ...]
    follow_up_queue: tuple[Message, ...]
    steering_queue: tuple[Message, ...]
    run_id: str | None
    hop: int


HandleState = Literal["pending", "running", "completed", "failed", "cancelled"]


class RunHandle:
    """One run. Its final states are sticky."""

    def __init__(self, agent: Agent, run: Run) -> None:
        self.id = run.id
        self.agent = agent
        self._run = run
        self._result: RunResult | None = None
        self._error: BaseException | None = None
        self._state: HandleState = "pending"

    @property
    def goals(self) -> dict[str, GoalHandle]:
        """The goals of the skills that were started, by call id."""
        return dict(self._run.goals)

    @property
    def state(self) -> HandleState:
        return self._state

    @property
    def error(self) -> BaseException | None:
        """Exception that ``result()`` raises, if the run failed."""
        return self._error

    def status(self) -> HandleState:
        """The state now, without waiting."""
        return self._state

    def events(self) -> Iterator[Event]:
        """The whole log from agent_start, however late it is asked for; ends when the agent is idle again."""
        return iter(self._run.log)

    def result(self, timeout: float | None = None) -> RunResult:
        """Waits for the end.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Raises:
            TimeoutError: The time is over; the run goes on.
            BusyError: Called from a subscriber, hook or tool of this run.
            PolicyViolationError, ModelError: As ``Agent.run``; a model's own exception comes unchanged.
        """
        if self._run.is_inside():
            raise BusyError("waiting for a run from inside it would wait for ever")
        if not self._run.log.wait(timeout):
            raise TimeoutError(f"run {self.id} has not ended after {timeout} s; it goes on")
        if self._error is not None:
            raise self._error
        return cast("RunResult", self._result)  # set before the log is closed

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, however the run ends; False when the time was over first."""
        return self._run.log.wait(timeout)

    def abort(self, reason: str = "user", *, mode: Literal["now", "after_turn"] = "now") -> bool:
        """As ``Agent.abort``, a safety stop included, for this run only."""
        if self._run.log.closed:
            return False
        stops = self._run.abort(reason, after_turn=mode == "after_turn")
        if reason == "safety_stop":
            actuator.wait(stops)
        return True

    def cancel(self) -> bool:
        """Aborts the run; True if it had not ended yet."""
        return self.abort("user")

    def steer(self, message: str | Message) -> RunHandle | None:
        return self.agent.steer(message)

    def follow_up(self, message: str | Message) -> RunHandle | None:
        return self.agent.follow_up(message)

    def heard(self, message_id: str, text: str) -> bool:
        """Cuts a reply of this run to what was heard of it; True if the run goes on and has it."""
        return self._run.heard(message_id, text)

    def notice(self, level: Level, text: str) -> None:
        """Has a notice told with the run's next event."""
        self._run.notice(level, text)

    def begin(self) -> None:
        """Called once, when the run's thread starts."""
        self._state = "running"

    def finish(self, result: RunResult | None, error: BaseException | None) -> None:
        """Called once, when the agent is idle again; the log is closed after it. Without a result there is an error."""
        self._result, self._error = result, error
        if error is not None or result is None or result.reason == "error":
            self._state = "failed"
        else:
            self._state = "cancelled" if result.reason == "aborted" else "completed"

    def on_thread_of_run(self) -> bool:
        """True on the loop's and the tools' threads of this run."""
        return self._run.is_inside()
