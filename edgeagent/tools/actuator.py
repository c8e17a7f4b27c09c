"""The functions by which a goal reaches its actuator, each called where it can hold up nothing else.

Threads wait for them from before the body begins: one calls ``stop``, one ``pause`` and ``resume``, and one sees that
they come back. Knows nothing of bodies and resources. Any thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from edgeagent.errors import ToolDefinitionError
from edgeagent.tools.signature import is_async
from edgeagent.tools.threads import Threads, ToolThread

logger = logging.getLogger(__name__)
LIMIT_S: Final = 0.5
"""Seconds that a function of an actuator may take to return."""
_TELL_S: Final = 0.1
"""Seconds beyond that limit in which whoever waits lets a silent function be told of."""
What = Literal["stop", "pause", "resume"]
_here = threading.local()
"""``calling`` is true on a thread that is inside an actuator's function, or tells of one: it waits for no other."""


@dataclass(frozen=True, slots=True)
class _Lanes:
    """The threads that are set aside for one goal."""

    all: tuple[ToolThread, ...]

    @property
    def watch(self) -> ToolThread:
        return self.all[0]

    @property
    def stop(self) -> ToolThread:
        return self.all[1]

    @property
    def hold(self) -> ToolThread:
        """The last one: a goal that cannot wait has none of its own, and needs none."""
        return self.all[-1]

    @property
    def alive(self) -> bool:
        """False in the child of a fork."""
        return all(lane.is_alive() for lane in self.all)

    def release(self) -> None:
        for lane in self.all:
            lane.release()


class Call:
    """One call of a function.

    Attributes:
        entered: Set when the function is about to be called.
        done: Set when the function has come back.
        raised: What it raised.
        settled: Set when it has come back well, or when it was told of as silent or as one that raised.
    """

    def __init__(self, actuator: Actuator, what: What, *, again: bool = False) -> None:
        self.actuator: Final = actuator
        self.what: Final = what
        self.again: Final = again
        """A stop after a pause or a resume that came back later than the stop."""
        self.begun_s: float | None = None
        self.watched = False
        self.raised: BaseException | None = None
        self.entered = threading.Event()
        self.done = threading.Event()
        self.settled = threading.Event()

    def wait(self) -> bool:
        """Waits until it is back, and no longer than the limit. False: it is silent."""
        since_s = time.monotonic() if self.begun_s is None else self.begun_s
        return self.done.wait(max(0.0, since_s + LIMIT_S - time.monotonic()))

    @property
    def is_waited_for(self) -> bool:
        """True until it is settled, and no longer than the limit."""
        if self.settled.is_set():
            return False
        return self.begun_s is None or time.monotonic() < self.begun_s + LIMIT_S + _TELL_S


def check_functions(**functions: Callable[[], object] | None) -> None:
    """Refuses functions of an actuator that nobody can call, and those that would only make a coroutine.

    Raises:
        ToolDefinitionError: One is async, or no function.
    """
    for keyword, function in functions.items():
        if function is not None and not callable(function):
            raise ToolDefinitionError(f"{keyword}={function!r}: it should be a function")
        if is_async(function):
            raise ToolDefinitionError(f"{keyword}={function!r} is async: give a plain function, which acts at once")


class Actuator:
    """Functions that stop, pause and resume what one goal moves.

    Args:
        stop, pause, resume: The builder's functions.
        name: Of the goal.
        armed: False: ``stop`` is not called before ``arm``, because nothing moves yet.
        threads: Where its threads come from.
        on_trouble: Told which function has not come back in time, or has raised what; on a thread that nothing else
            needs, unless there is none.
        on_idle: Told when no function is being called any more.

    Raises:
        ToolDefinitionError: A function is async, or none.
    """

    def __init__(
        self,
        *,
        stop: Callable[[], object] | None = None,
        pause: Callable[[], object] | None = None,
        resume: Callable[[], object] | None = None,
        name: str = "a goal",
        armed: bool = True,
        threads: Threads | None = None,
        on_trouble: Callable[[What, BaseException | None], object] = lambda what, raised: None,
        on_idle: Callable[[], object] = lambda: None,
    ) -> None:
        check_functions(stop=stop, pause=pause, resume=resume)
        self._functions: dict[What, Callable[[], object] | None] = {"stop": stop, "pause": pause, "resume": resume}
        self._name = name
        self._threads = threads or Threads()
        self._on_trouble, self._on_idle = on_trouble, on_idle
        self._lock = threading.Lock()
        self._lanes: _Lanes | None = None
        self._stop: Call | None = None
        """Demanded, and maybe made."""
        self._hold: Call | None = None
        """The pause or resume that is being made."""
        self._held = self._wanted_held = False
        self._open = 0
        """Calls that are demanded or being made."""
        self._armed = armed
        self._over = False

    @property
    def can_wait(self) -> bool:
        """True if it can be held and let go on."""
        return self._functions["pause"] is not None and self._functions["resume"] is not None

    @property
    def busy(self) -> bool:
        """True while a function is demanded or has not come back."""
        return self._open > 0

    @property
    def stopping(self) -> Call | None:
        """The call of ``stop``, once it is demanded."""
        return self._stop

    def ready(self) -> None:
        """Sets threads aside, so that none has to be started when they are needed."""
        with self._lock:
            self._reserve()

    def arm(self) -> None:
        """The body begins, so from now on it may move."""
        self._armed = True

    def close(self) -> list[Call]:
        """The goal is over: its threads are given back when they are free.

        Nobody lets a goal go on that is over, so one that is held is stopped, or resumed if it has no ``stop``. Returns
        that call, for ``wait``.
        """
        with self._lock:
            self._over, self._wanted_held = True, False
            held = self._held if self._hold is None else self._hold.what == "pause"
            if not held:
                self._give_back()
                return []
        self.demand_stop()
        return begin([self])

    def demand_stop(self) -> None:
        """Has the next ``begin`` call ``stop``; once."""
        with self._lock:
            if self._armed and self._functions["stop"] is not None and self._stop is None:
                self._stop = Call(self, "stop")
                self._open += 1

    def demand_hold(self, held: bool) -> None:
        """Has the next ``begin`` hold it, or let it go on."""
        with self._lock:
            self._wanted_held = held

    def begin(self, in_line: list[Call]) -> Call | None:
        """Begins what is demanded, on its thread. Returns the call, also one that had begun before.

        Args:
            in_line: Gets the call if there is no thread for it.
        """
        with self._lock:
            call = self._stop or self._hold or self._next_hold()
            if call is not None and call.begun_s is None:
                self._start(call, in_line)
            return call

    def make(self, call: Call) -> None:
        """Calls a function, and then what was demanded meanwhile."""
        function = self._functions[call.what]
        assert function is not None  # noqa: S101 - it was demanded
        outer, _here.calling = getattr(_here, "calling", False), True
        call.entered.set()
        try:
            function()
        except BaseException as error:  # the builder's code; be it SystemExit
            logger.exception("the %s function of %s raised", call.what, self._name)
            call.raised = error
        finally:
            _here.calling = outer
            self._back(call)

    def _back(self, call: Call) -> None:
        in_line: list[Call] = []
        with self._lock:
            following: Call | None = None
            if call.what != "stop":
                self._held, self._hold = call.what == "pause", None
                following = self._next_hold()
                if self._stop is not None and self._stop.begun_s is not None:
                    following = Call(self, "stop", again=True)  # a resume that came back late may have let it go on
                    self._open += 1
            if following is not None:
                self._start(following, in_line)
            self._open -= 1
            idle = self._open == 0
            self._give_back()
        if idle:
            self._on_idle()
        call.done.set()
        if call.raised is None:
            call.settled.set()
        elif not call.watched:
            self._tell(call)
        for later in in_line:
            self.make(later)

    def _next_hold(self) -> Call | None:
        if self._stop is not None or self._wanted_held == self._held:
            return None
        self._hold = Call(self, "pause" if self._wanted_held else "resume")
        self._open += 1
        return self._hold

    def _start(self, call: Call, in_line: list[Call]) -> None:
        call.begun_s = time.monotonic()
        self._reserve()
        lanes = self._lanes
        if lanes is None or not lanes.alive:
            in_line.append(call)
            return
        call.watched = True
        lane = lanes.stop if call.what == "stop" and not call.again else lanes.hold
        lane.do(partial(self.make, call), f"{'stop' if lane is lanes.stop else 'hold'}-{self._name}")
        lanes.watch.do(partial(self._watch, call), f"watch-{self._name}")

    def _watch(self, call: Call) -> None:
        if not call.wait():
            logger.error("the %s function of %s has not returned after %g s", call.what, self._name, LIMIT_S)
        elif call.raised is None:
            return
        self._tell(call)

    def _tell(self, call: Call) -> None:
        outer, _here.calling = getattr(_here, "calling", False), True
        try:
            self._on_trouble(call.what, call.raised)
        finally:
            _here.calling = outer
            call.settled.set()

    def _reserve(self) -> None:
        if self._lanes is not None or not any(self._functions.values()):
            return
        reserved = [self._threads.reserve() for _ in range(3 if self.can_wait else 2)]
        lanes = _Lanes(tuple(lane for lane in reserved if lane is not None))
        if len(lanes.all) == len(reserved):
            self._lanes = lanes
        else:
            lanes.release()

    def _give_back(self) -> None:
        if self._lanes is not None and self._open == 0 and (self._over or self._stop is not None):
            self._lanes.release()
            self._lanes = None


def begin(actuators: Iterable[Actuator]) -> list[Call]:
    """Begins what is demanded of each actuator, side by side; what no thread can be had for in line, last."""
    in_line: list[Call] = []
    begun = [call for actuator in actuators if (call := actuator.begin(in_line)) is not None]
    for call in in_line:
        call.actuator.make(call)
    return begun


def wait(calls: Sequence[Call]) -> None:
    """Waits until the functions are back, or were told of; not inside such a function."""
    if getattr(_here, "calling", False):
        return
    for call in calls:
        call.wait()
        call.settled.wait(_TELL_S)
