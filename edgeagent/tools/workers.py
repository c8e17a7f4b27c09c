"""Who uses what: the bodies that are at work, the resources that they hold, and those that nobody waits for any more.

Shared by everything that runs for one agent, handoffs and sub-agents included, because a body that was abandoned or
detached outlives its run. Any thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from edgeagent.tools.goal import GoalHandle
from edgeagent.tools.threads import Threads

MAX_ABANDONED: Final = 16
"""With this many bodies that never came back, no further call starts (contract, section 4)."""

State = Literal["running", "detached", "abandoned"]


class Body(Protocol):
    """A tool's body at work. ``moves``: it is marked motion. ``within``: the calls that wait for the agent that made
    its call, the outermost first."""

    goal: GoalHandle | None
    interrupted_s: float | None

    @property
    def call_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def moves(self) -> bool: ...
    @property
    def within(self) -> tuple[str, ...]: ...
    def interrupt(self, reason: str = "") -> None: ...


class Latch(Protocol):
    """What is asked of a safety latch; ``edgeagent.robot.SafetyLatch`` is one."""

    @property
    def state(self) -> str: ...
    @property
    def reason(self) -> str: ...
    def trip(self, reason: str) -> object: ...
    def subscribe(self, listener: Callable[[Any, str], object], /) -> object: ...


@dataclass(frozen=True, slots=True)
class Busy:
    """A resource that another body holds, and what is known of that body."""

    resource: str
    body: Body
    state: State
    in_circle: bool = False
    """That body waits, itself or through the agents that it asks, for the agent that wants the resource."""


class Workers:
    """The ledger of bodies and resources, and the threads on which bodies run."""

    def __init__(self) -> None:
        self.threads = Threads()
        self._lock = threading.Lock()
        self._bodies: dict[str, tuple[Body, State]] = {}
        self._holders: dict[str, str] = {}
        self._waiting: dict[str, tuple[tuple[str, ...], str]] = {}
        """By a waiting call's id: the calls within which it was made, and the call that holds what it waits for."""
        self._latches: list[Latch] = []

    def acquire(self, body: Body, resources: Iterable[str]) -> Busy | None:
        """Registers a body and takes all its resources, or does neither and says which is busy.

        Who is told of a busy one and waits asks again, or calls ``returned`` when it waits no more.
        """
        wanted = tuple(resources)
        with self._lock:
            for resource in wanted:
                if resource in self._holders:
                    holder = self._holders[resource]
                    self._waiting[body.call_id] = body.within, holder
                    return Busy(resource, *self._bodies[holder], self._waits_for(holder, body.within))
            self._waiting.pop(body.call_id, None)
            self._bodies[body.call_id] = (body, "running")
            self._holders.update(dict.fromkeys(wanted, body.call_id))
        return None

    def _waits_for(self, call_id: str, others: tuple[str, ...]) -> bool:
        """Whether a call can't end before one of the others: it is one, or a call made within it waits for one."""
        found, unseen = {call_id}, [call_id]
        while unseen:
            outer = unseen.pop()
            holders = {holder for within, holder in self._waiting.values() if outer in within} - found
            found |= holders
            unseen += holders
        return not found.isdisjoint(others)

    def mark(self, call_id: str, state: State) -> None:
        """Nobody waits for this body any more; it keeps its resources until it returns."""
        with self._lock:
            if call_id in self._bodies:
                self._bodies[call_id] = (self._bodies[call_id][0], state)

    def returned(self, call_id: str) -> None:
        """The body is back, or will never begin: its resources are free, and it waits for none."""
        with self._lock:
            self._waiting.pop(call_id, None)
            self._bodies.pop(call_id, None)
            self._holders = {name: holder for name, holder in self._holders.items() if holder != call_id}

    @property
    def abandoned(self) -> list[Body]:
        """The bodies that were given up and are still running."""
        return self._in("abandoned")

    @property
    def detached(self) -> list[Body]:
        """The bodies that outlive the run that started them."""
        return self._in("detached")

    def halt(self, reason: str, *, everything: bool = False) -> None:
        """Interrupts every body that moves something, whoever waits for it; then, if asked to, all the others."""
        bodies = self._in("running", "detached", "abandoned")
        for body in sorted(bodies, key=lambda body: not body.moves):
            if body.moves or everything:
                body.interrupt(reason)

    # --- safety -----------------------------------------------------------------------------------------------------

    def watch(self, latch: Latch) -> None:
        """What moves obeys this latch from now on."""
        with self._lock:
            if latch in self._latches:
                return
            self._latches.append(latch)
        latch.subscribe(lambda *_: self.obey())

    def motion(self) -> tuple[Literal["free", "held", "tripped"], str]:
        """Whether motion is allowed, and why not: the strictest of the latches."""
        states = {str(latch.state): latch.reason for latch in self._latches}
        if "tripped" in states:
            return "tripped", states["tripped"]
        return ("held", states["held"]) if "held" in states else ("free", "")

    def trip(self, reason: str) -> None:
        """Trips every latch."""
        for latch in self._latches:
            latch.trip(reason)

    def obey(self) -> None:
        """Brings what moves in line with the latches: held, it waits or is cancelled; tripped, it is cancelled.

        Called after every change of a latch and when a goal begins. No lock is held while a builder's pause or stop
        function runs, so the state is read again until it stays the same.
        """
        while True:
            state, _ = self.motion()
            if state == "tripped":
                self.halt("stopped for safety")
            else:
                for body in self._in("running", "detached", "abandoned"):
                    if body.moves and body.goal is not None and body.goal.state == "running":
                        if state == "free":
                            body.goal.resume()
                        elif not body.goal.pause():
                            body.interrupt("stopped for safety: it cannot wait")
            if self.motion()[0] == state:
                return

    def _in(self, *states: State) -> list[Body]:
        with self._lock:
            return [body for body, state in self._bodies.values() if state in states]
