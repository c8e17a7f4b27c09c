"""The handle of one run, for whoever started it. Any thread."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol, cast

from edgeagent.agent.run import Run
from edgeagent.agent.run_options import RunResult
from edgeagent.context import SAFETY
from edgeagent.errors import BusyError, PolicyViolationError
from edgeagent.events import Event, Level
from edgeagent.messages import Message
from edgeagent.tools import GoalHandle, actuator

AbortMode = Literal["now", "after_turn"]
HandleState = Literal["pending", "running", "completed", "failed", "cancelled"]


class RunOwner(Protocol):
    """The agent of a run, as the run's handle knows it."""

    name: str

    def steer(self, msg: str | Message) -> RunHandle | None: ...
    def follow_up(self, msg: str | Message) -> RunHandle | None: ...


class RunHandle:
    """One run. Its final states are sticky."""

    def __init__(self, agent: RunOwner, run: Run) -> None:
        self.id = run.id
        self.agent = agent
        self._run = run
        self._result: RunResult | None = None
        self._error: BaseException | None = None
        self._state: HandleState = "pending"

    @property
    def goals(self) -> dict[str, GoalHandle]:
        """The goals of the skills that were started, by call id."""
        return dict(self._run.ledger.goals)

    @property
    def state(self) -> HandleState:
        return self._state

    @property
    def error(self) -> BaseException | None:
        """Exception that ``result()`` raises, if the run failed; what a model's stream said is in its result."""
        return self._error

    def status(self) -> HandleState:
        """The state now, without waiting."""
        return self._state

    def events(self) -> Iterator[Event]:
        """The whole log from agent_start, however late it is asked for; ends when the agent is idle again.

        Raises:
            BusyError: As ``result``, at the first event that is not there yet.
        """
        return self._run.out.log.follow(self._refuse_inside)

    def result(self, timeout: float | None = None) -> RunResult:
        """Waits for the end.

        Args:
            timeout: Seconds; None waits as long as it takes.

        Raises:
            TimeoutError: The time is over; the run goes on.
            BusyError: Called from a subscriber, hook or tool of this run, or of an agent that it asks as a tool.
            PolicyViolationError, ModelError: As ``Agent.run``; a model's own exception comes unchanged.
        """
        self._refuse_inside()
        if not self._run.out.log.wait(timeout):
            raise TimeoutError(f"run {self.id} has not ended after {timeout} s; it goes on")
        if self._error is not None:
            raise self._error
        return cast("RunResult", self._result)  # set before the log is closed

    def waited(self) -> RunResult:
        """As ``result``, without a limit of time: a Ctrl-C while it waits ends the run too."""
        try:
            return self.result()
        except BaseException:  # Ctrl-C, or what the run itself raised: then there is nothing left to stop
            self.abort("user")
            raise

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end, however the run ends; False when the time was over first."""
        return self._run.out.log.wait(timeout)

    def abort(self, reason: str = "user", *, mode: AbortMode = "now") -> bool:
        """As ``Agent.abort``, a safety stop included, for this run only."""
        if self._run.out.log.closed:
            return False
        stops = self._run.abort(reason, after_turn=mode == "after_turn")
        if reason == SAFETY:
            actuator.wait(stops)
        return True

    def cancel(self) -> bool:
        """Aborts the run; True if it had not ended yet."""
        return self.abort("user")

    def steer(self, msg: str | Message) -> RunHandle | None:
        return self.agent.steer(msg)

    def follow_up(self, msg: str | Message) -> RunHandle | None:
        return self.agent.follow_up(msg)

    def heard(self, message_id: str, text: str) -> bool:
        """Cuts a reply of this run to what was heard of it; True if the run goes on and has it."""
        return self._run.heard(message_id, text)

    def notice(self, level: Level, text: str) -> None:
        """Has a notice told with the run's next event."""
        self._run.out.notice(level, text)

    def begin(self) -> None:
        """Called once, when the run's thread starts."""
        self._state = "running"

    def finish(self, result: RunResult | None, error: BaseException | None) -> None:
        """Called once, when the agent is idle again; the log is closed after it. Without a result there is an error."""
        error = error or (None if result is None else _violation(result))
        self._result, self._error = result, error
        if error is not None or result is None or result.reason == "error":
            self._state = "failed"
        else:
            self._state = "cancelled" if result.reason == "aborted" else "completed"

    def on_thread_of_run(self) -> bool:
        """True on the loop's and the tools' threads of this run, and of those that it waits for."""
        return self._run.is_inside()

    def _refuse_inside(self) -> None:
        if self._run.is_inside():
            raise BusyError("waiting for a run from inside it would wait for ever")


def _violation(result: RunResult) -> PolicyViolationError | None:
    """Returns what is raised of a run in which a call was denied."""
    if result.reason != "denied":
        return None
    reasons = {
        call.name: call.result.text for call in result.tool_calls if call.result and call.result.status == "denied"
    }
    error = PolicyViolationError(*next(iter(reasons.items())))
    error.result = result
    return error
