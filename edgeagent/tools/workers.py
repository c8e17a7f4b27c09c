"""Users of resources: the bodies that are at work, the resources that they hold, and those that nobody waits for any
more.

Shared by everything that runs for one agent, handoffs and sub-agents included, because a body that was abandoned or
detached outlives its run. Any thread.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from edgeagent.tools import actuator
from edgeagent.tools.actuator import Actuator, Call, What
from edgeagent.tools.goal import GoalHandle
from edgeagent.tools.threads import Threads

MAX_ABANDONED: Final = 16
"""With this many bodies that never came back, no further call starts."""

State = Literal["running", "detached", "abandoned"]


class Body(Protocol):
    """A tool's body at work. ``moves``: it is marked motion. ``at_work``: it has begun and is not back. ``within``:
    the calls that wait for the agent that made its call, the outermost first."""

    goal: GoalHandle | None
    interrupted_s: float | None

    @property
    def call_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def moves(self) -> bool: ...
    @property
    def at_work(self) -> bool: ...
    @property
    def within(self) -> tuple[str, ...]: ...
    def interrupt(self, reason: str = "") -> None:
        """Asks the body to end and begins to stop what it moves. Does not wait."""
        ...

    def demand_end(self, reason: str = "") -> Actuator | None:
        """Asks the body to end. Returns what it moves, for ``actuator.begin``; None if there is nothing to stop."""
        ...

    def heed(self) -> Actuator | None:
        """As ``demand_end``, if the body's run stops and the body is to be cancelled then."""
        ...

    def notice(self, text: str) -> None:
        """Tells the person at the terminal of an error."""
        ...


class Latch(Protocol):
    """Safety latch as the workers use it. ``edgeagent.robot.SafetyLatch`` is one, which they ``follow``."""

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
    """True if the body that holds the resource waits, itself or through the agents that it asks, for the agent that
    wants the resource."""
    silent: str = ""
    """Function of its actuator that has not come back in time, if any."""


@dataclass(slots=True)
class _Entry:
    """A body that is at work, or whose actuator is."""

    body: Body
    state: State = "running"
    is_back: bool = False
    silent: dict[What, str] = field(default_factory=dict)
    """The functions of its actuator that have not come back in time, and what was told of each."""


class Workers:
    """The ledger of bodies and resources, and the threads on which bodies run."""

    def __init__(self) -> None:
        self.threads = Threads()
        self.asking = threading.Lock()
        """Held while a person is asked about a call: one question at a time, whichever agent asks."""
        self._lock = threading.Lock()
        self._bodies: dict[str, _Entry] = {}
        self._holders: dict[str, str] = {}
        self._waiting: dict[str, tuple[tuple[str, ...], str]] = {}
        """By a waiting call's id: the calls within which it was made, and the call that holds what it waits for."""
        self._latches: list[Latch] = []
        self.end_run: Callable[[], object] | None = None
        """Ends the run that waits for these bodies as a safety stop does, without waiting; None between two runs."""
        _all.add(self)

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
                    entry, circle = self._bodies[holder], self._waits_for(holder, body.within)
                    silent = next(iter(entry.silent.values()), "")
                    return Busy(resource, entry.body, entry.state, in_circle=circle, silent=silent)
            self._waiting.pop(body.call_id, None)
            self._bodies[body.call_id] = _Entry(body)
            self._holders.update(dict.fromkeys(wanted, body.call_id))
        return None

    def _waits_for(self, call_id: str, others: tuple[str, ...]) -> bool:
        """True if a call can't end before one of the others: it is one, or a call made within it waits for one."""
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
                self._bodies[call_id].state = state

    def returned(self, call_id: str) -> None:
        """The body is back, or will never begin: it waits for none, and its resources are free when its actuator is."""
        with self._lock:
            self._waiting.pop(call_id, None)
            if call_id in self._bodies:
                self._bodies[call_id].is_back = True
                self._free(call_id)

    def _free(self, call_id: str) -> None:
        """Gives up the resources of a body that is back, unless a function of its actuator is not; the lock is held."""
        entry = self._bodies[call_id]
        if entry.is_back and not (entry.body.goal is not None and entry.body.goal.actuator.busy):
            del self._bodies[call_id]
            self._holders = {name: holder for name, holder in self._holders.items() if holder != call_id}

    @property
    def abandoned(self) -> list[Body]:
        """The bodies that were given up and are still running."""
        return self._in("abandoned")

    @property
    def detached(self) -> list[Body]:
        """The bodies that outlive the run that started them."""
        return self._in("detached")

    @property
    def moving(self) -> list[Body]:
        """The bodies that move something, whoever waits for them."""
        return [body for body in self.bodies() if body.moves]

    def bodies(self) -> list[Body]:
        """All that are at work, or whose actuators are."""
        return self._in("running", "detached", "abandoned")

    def halt(self, reason: str, *, everything: bool = False) -> Sequence[Call]:
        """Interrupts every body that moves something, whoever waits for it: tells all of them, then stops what they
        move, side by side; then, if asked to, all the others. Returns the stops, for ``actuator.wait``."""
        bodies = self.bodies()
        calls = actuator.begin(_told(body.demand_end(reason) for body in bodies if body.moves))
        others = [body for body in bodies if everything and not body.moves]
        for call in calls if others else ():
            call.entered.wait(actuator.LIMIT_S)
        return [*calls, *actuator.begin(_told(body.demand_end(reason) for body in others))]

    def heed(self) -> Sequence[Call]:
        """As ``halt``, for the bodies of a run that stops now."""
        return actuator.begin(_told(body.heed() for body in self._in("running")))

    # --- what an actuator does --------------------------------------------------------------------------------------

    def actuator_failed(self, body: Body, what: What, raised: BaseException | None) -> None:
        """A function of an actuator raised, or has not come back in time (None): nobody knows what the actuator does.

        Its name is told. A goal that could not be held is stopped; one that could not be stopped trips the latch, which
        can't be re-armed before a silent function is back. On a thread of its own.
        """
        if raised is not None:
            text, until = f"{body.name} may still move: its {what} function raised {type(raised).__name__}", ""
        else:
            text = f"{body.name} does not answer: its {what} function has not returned after {actuator.LIMIT_S:g} s"
            until = "; motion is off until it has"
            with self._lock:
                if body.call_id in self._bodies:
                    self._bodies[body.call_id].silent[what] = text
        if what == "stop":
            body.notice(text + until)
            self.trip(text)
        else:
            body.notice(f"{text}; it is stopped")
            body.interrupt(text)

    def actuator_idle(self, body: Body) -> None:
        """All functions of an actuator are back."""
        with self._lock:
            if body.call_id in self._bodies:
                self._bodies[body.call_id].silent.clear()
                self._free(body.call_id)

    def silent(self) -> str:
        """Names an actuator that has not answered its stop; empty if there is none."""
        with self._lock:
            return next((entry.silent["stop"] for entry in self._bodies.values() if "stop" in entry.silent), "")

    # --- safety -----------------------------------------------------------------------------------------------------

    def watch(self, latch: Latch) -> None:
        """Makes all that moves obey this latch from now on."""
        with self._lock:
            if latch in self._latches:
                return
            self._latches.append(latch)
        follow: Callable[[Workers], object] | None = getattr(latch, "follow", None)
        if follow is not None:
            follow(self)
        else:  # a latch of the builder's own
            latch.subscribe(lambda *_: self.obey()())

    def motion(self) -> tuple[Literal["free", "held", "tripped"], str]:
        """Tells if motion is allowed, and why not: the strictest of the latches."""
        states = {str(latch.state): latch.reason for latch in self._latches}
        if "tripped" in states:
            return "tripped", states["tripped"]
        if silent := self.silent():
            return "tripped", silent
        return ("held", states["held"]) if "held" in states else ("free", "")

    def trip(self, reason: str) -> None:
        """Trips every latch."""
        for latch in self._latches:
            latch.trip(reason)

    def obey(self) -> Callable[[], object]:
        """Brings what moves in line with the latches: held, it waits or is cancelled; tripped, it is cancelled and ends
        the run that waits for it.

        Called after every change of a latch and when a goal begins. Does not wait for a builder's pause or stop
        function; what it returns does. The state is read again until it stays the same.
        """
        while True:
            state, _ = self.motion()
            if state == "tripped":
                end_run = self.end_run
                if end_run is not None and any(body.moves and body.at_work for body in self._in("running")):
                    end_run()  # before a body hears of it: one that returns at once must not have the model asked
                calls = self.halt("stopped for safety")
            else:
                calls = actuator.begin(_told(_held(body, state == "held") for body in self.moving))
            if self.motion()[0] == state:
                return lambda: actuator.wait(calls)

    def _in(self, *states: State) -> list[Body]:
        with self._lock:
            return [entry.body for entry in self._bodies.values() if entry.state in states]


_all: weakref.WeakSet[Workers] = weakref.WeakSet()
_process = os.getpid()


def halt_all(reason: str) -> None:
    """Stops everything that moves in this process, side by side. Waits half a second at most."""
    moving = [body for workers in list(_all) for body in workers.moving]
    actuator.wait(actuator.begin(_told(body.demand_end(reason) for body in moving)))


def _halt_at_exit() -> None:
    """Nobody looks after what moves when the interpreter has gone. The robot of a fork's child is its parent's."""
    if os.getpid() == _process:
        halt_all("the program ended")


atexit.register(_halt_at_exit)


def _told(actuators: Iterable[Actuator | None]) -> list[Actuator]:
    """Returns the actuators that are left to stop once all bodies were told."""
    return [one for one in actuators if one is not None]


def _held(body: Body, held: bool) -> Actuator | None:
    """Has a goal wait or go on. Returns what it moves; one that cannot wait is ended."""
    if body.goal is None or body.goal.state != "running":
        return None
    if not body.goal.demand_hold(held) and held:
        return body.demand_end("stopped for safety: it cannot wait")
    return body.goal.actuator
