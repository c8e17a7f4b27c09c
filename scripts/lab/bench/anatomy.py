"""Where a turn of edgeagent's loop goes: stopwatches around the entrances of its parts, in this process only.

A moment belongs to the innermost entrance that was passed. A stopwatch takes about a microsecond, part of it inside,
part of it outside the function; both are measured on a function that does nothing, and taken off again. (A profiler
would make the turn four times as long, and code of many small calls more than that.)
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from time import perf_counter
from typing import Any, Final
from unittest import mock

from bench.contenders import edgeagent as contender
from bench.contenders.script import Script

_THREADS: Final = "threads: start, switch, wait"
_REST: Final = "rest: the turn's and the dispatch's control"
_CALIBRATION: Final = 20_000
_ENTRANCES: Final = (
    ("events", "edgeagent.agent.run", "Run.emit"),
    ("events", "edgeagent.agent.calls", "RunHost.tool_started"),
    ("events", "edgeagent.agent.calls", "RunHost.tool_ended"),
    ("copying of history", "edgeagent.messages", "Message.copy"),
    ("gates and validation", "edgeagent.agent.calls", "RunHost.check_batch"),
    ("gates and validation", "edgeagent.agent.calls", "RunHost.before"),
    ("gates and validation", "edgeagent.agent.calls", "RunHost.admit"),
    ("gates and validation", "edgeagent.agent.calls", "RunHost.after"),
    ("hooks", "edgeagent.hooks.hook", "HookChain.fire"),
    ("hooks: context compaction", "edgeagent.hooks.context_compaction", "ContextCompactionHook.__call__"),
    ("model request and its stream", "edgeagent.agent.model_call", "_messages"),
    ("model request and its stream", "edgeagent.agent.model_call", "_request"),
    ("model request and its stream", "edgeagent.agent.model_call", "_stream"),
    ("the tool and its result", "edgeagent.tools.execution", "Execution._call"),
    (_THREADS, "edgeagent.tools.execution", "Execution.start"),
    (_THREADS, "edgeagent.tools.workers", "Workers.acquire"),
    (_THREADS, "edgeagent.tools.workers", "Workers.returned"),
    (_THREADS, "edgeagent.tools.dispatch", "Dispatch._read_mailbox"),
    (_REST, "edgeagent.tools.dispatch", "Dispatch._handle"),
)


class _Meter:
    """The parts that one thread is in, innermost last, and what it spent in each while a turn was timed."""

    def __init__(self) -> None:
        self.spent_s: Counter[str] = Counter()
        self.entered: Counter[str] = Counter()
        """How often, by the part that was entered."""
        self.left: Counter[str] = Counter()
        """How often, by the part that it was entered from."""
        self.stack = [_REST]
        self._last_s = perf_counter()

    def mark(self, *, counts: bool) -> None:
        """What has passed since the last mark belongs to the innermost part, or to none."""
        now = perf_counter()
        if counts:
            self.spent_s[self.stack[-1]] += now - self._last_s
        self._last_s = now


class _Stopwatches:
    """The meters of a run's threads. Only turns are timed: from an answer of the model to the next question."""

    def __init__(self, turns: int) -> None:
        self.loops: _Meter | None = None
        """The meter of the thread that asks the model."""
        self.meters: list[_Meter] = []
        self._turns_left = turns
        self._timing = False
        self._local = threading.local()

    def _meter(self) -> _Meter:
        meter: _Meter | None = getattr(self._local, "meter", None)
        if meter is None:
            meter = self._local.meter = _Meter()
            self.meters.append(meter)
        return meter

    def entrance(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a stopwatch."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            meter = self._meter()
            meter.mark(counts=self._timing)
            if self._timing:
                meter.left[meter.stack[-1]] += 1
                meter.entered[part] += 1
            meter.stack.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                meter.mark(counts=self._timing)
                meter.stack.pop()

        return timed

    def model(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``Script.answer``, between two turns."""

        def timed(*args: Any) -> Any:
            self.loops = self._meter()
            self.loops.mark(counts=self._timing)
            self._timing = False
            try:
                return function(*args)
            finally:
                self._timing = self._turns_left > 0
                self._turns_left -= 1
                self.loops.mark(counts=False)

        return timed


def missing() -> list[str]:
    """Entrances that the product no longer has: their time is in the part around them."""
    return [f"{module}.{name}" for _, module, name in _ENTRANCES if _found(module, name) is None]


def _found(module: str, name: str) -> tuple[Any, str] | None:
    """The class or module that has this function."""
    *classes, attribute = name.split(".")
    try:
        owner = functools.reduce(getattr, classes, importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
    return (owner, attribute) if hasattr(owner, attribute) else None


def parts_ms(turns: int, runs: int) -> dict[str, float]:
    """Mean milliseconds of a turn in each part, the largest first."""
    inside_s, outside_s = _own_s()
    total_s: Counter[str] = Counter()
    for _ in range(runs):
        watches = _run(turns)
        for meter in watches.meters:
            if meter is not watches.loops:
                # The loop's thread waits while a worker works. That time is the worker's parts'; what the wait took
                # beyond it is the threads'.
                del meter.spent_s[_THREADS], meter.spent_s[_REST]
                total_s[_THREADS] -= meter.spent_s.total()
            for part in meter.spent_s:
                meter.spent_s[part] -= inside_s * meter.entered[part] + outside_s * meter.left[part]
            total_s.update(meter.spent_s)
    return {part: spent_s * 1e3 / turns / runs for part, spent_s in total_s.most_common()}


def _own_s() -> tuple[float, float]:
    """Seconds that a stopwatch takes of the part that is entered, and of the one around it."""
    watches = _Stopwatches(turns=1)
    watches.model(lambda: None)()
    nothing = watches.entrance("inside", lambda: None)

    def often() -> None:
        for _ in range(_CALIBRATION):
            nothing()

    watches.entrance("outside", often)()
    (meter,) = watches.meters
    return meter.spent_s["inside"] / _CALIBRATION, meter.spent_s["outside"] / _CALIBRATION


def _run(turns: int) -> _Stopwatches:
    """One run with the stopwatches in place."""
    watches = _Stopwatches(turns)
    with ExitStack() as stack:
        for part, module, name in _ENTRANCES:
            if found := _found(module, name):
                function = getattr(*found)
                stack.enter_context(mock.patch.object(*found, watches.entrance(part, function)))
        stack.enter_context(mock.patch.object(Script, "answer", watches.model(Script.answer)))
        contender.run(turns)
    return watches
