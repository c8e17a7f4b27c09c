"""The stop of one run: its signal, its reason, and its deadline. Any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from edgeagent.context import AgentContext, StopSignal

SAFETY: Final = "safety_stop"
"""The reason that overrides every other one."""


class RunStop:
    """Tells a run that it should end, and why.

    Args:
        callers_stop: Aborts the run when it is set; so does the event of the context that the run is given.
        deadline_s: Seconds from now after which the run is aborted; None: no limit of its own.

    Attributes:
        signal: Set when the run should end now.
        after_turn: The run should end when its turn is over.
        began_s: Monotonic time at which the run was made.
    """

    def __init__(self, callers_stop: threading.Event | None, deadline_s: float | None) -> None:
        self.signal = StopSignal(callers_stop)
        self.after_turn = False
        self.began_s = time.monotonic()
        self._deadline_s = None if deadline_s is None else self.began_s + deadline_s
        self._reason: str | None = None
        self._lock = threading.Lock()
        self._given: tuple[threading.Event, float | None] | None = None
        self._timer: threading.Timer | None = None

    def demand(self, reason: str, *, after_turn: bool = False) -> None:
        """Asks the run to end, now or when the turn is over. The first reason counts, but a safety stop overrides."""
        with self._lock:
            self._reason = reason if reason == SAFETY else self._reason or reason
        if after_turn:
            self.after_turn = True
        else:
            self.signal.set()

    @property
    def reason(self) -> str:
        """The reason that was given; "user" for an event that the caller has set."""
        return self._reason or "user"

    def now(self) -> str | None:
        """Returns the reason why the run must stop now, or None."""
        return self.reason if self.signal.is_set() else None

    # --- the context, on the thread that starts the run, and on the loop's at its end ---------------------------------

    def take_over(self, context: AgentContext) -> None:
        """Obeys the stop and the deadline that the context's owner has set; ``give_back`` returns them."""
        self._given = context.stop_event, context.deadline
        self.signal.follow(context.stop_event)
        self._deadline_s = min((at for at in (self._deadline_s, context.deadline) if at is not None), default=None)

    def enter(self, context: AgentContext) -> None:
        """Makes this the stop of a context."""
        context.stop_event, context.deadline = self.signal, self._deadline_s

    def give_back(self, context: AgentContext) -> None:
        """The run is over: the context is as its owner made it."""
        if self._given is not None and context.stop_event is self.signal:
            context.stop_event, context.deadline = self._given

    # --- the deadline, on the loop's thread ---------------------------------------------------------------------------

    def arm(self, abort: Callable[[str], object]) -> None:
        """Has the run aborted at its deadline, at once if that is over; ``disarm`` ends that."""
        if self._deadline_s is None:
            return
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            abort("deadline")
            return
        timer = threading.Timer(left_s, abort, ["deadline"])
        timer.daemon = True
        timer.start()
        self._timer = timer

    def disarm(self) -> None:
        """The deadline does not count any more. Safe to call again."""
        if self._timer is not None:
            self._timer.cancel()
