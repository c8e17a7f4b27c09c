"""Durations of runs, model calls and tools, measured between the points of a run."""

from __future__ import annotations

import logging
import statistics
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from edgeagent.hooks.hook import AfterTool, BaseHook, BeforeTool, FirePoint, HookResult, Payload

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

_KEPT: Final = 10_000
"""Durations of each name that are kept, the newest."""
_NEVER_RAN: Final = frozenset({"blocked", "invalid", "unknown"})


@dataclass(frozen=True, slots=True)
class Durations:
    """Knowledge about one name. ``count`` is the number of durations that were kept."""

    count: int
    total_s: float
    median_s: float
    max_s: float


class TimingHook(BaseHook):
    """Measures at all six points: the run, each model call, each tool.

    A tool's time begins at BEFORE_TOOL, so it includes the wait for ``Options.confirm``; a call that was blocked, and
    one that was interrupted, has none. One instance may serve any number of runs, also at once; it keeps the newest
    10,000 durations of each name. ``str()`` of it is a table.

    Args:
        clock: Monotonic seconds.
    """

    points = frozenset(FirePoint)
    concurrent = True

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._taken: defaultdict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_KEPT))

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        now = self._clock()
        # a sub-agent may share the state of its parent's run, so what is open is the context's too
        key = f"{id(ctx)}"
        with self._lock:
            begun: dict[str, float] = ctx.state_of(self)
            match point, payload:
                case FirePoint.ON_RUN_START, _:
                    begun[f"run {key}"] = now
                case FirePoint.BEFORE_LLM, _:
                    begun[f"model {key}"] = now
                case FirePoint.BEFORE_TOOL, BeforeTool(call=call):
                    begun[f"tool {call.id}"] = now
                case FirePoint.AFTER_LLM, _:
                    self._take("model", begun.pop(f"model {key}", None), now)
                case FirePoint.AFTER_TOOL, AfterTool(call=call, result=result):
                    began = begun.pop(f"tool {call.id}", None)
                    self._take(f"tool {call.name}", None if result.status in _NEVER_RAN else began, now)
                case FirePoint.ON_RUN_END, _:
                    self._take("run", begun.pop(f"run {key}", None), now)
        return None

    def _take(self, name: str, began: float | None, now: float) -> None:
        """Without a beginning there is nothing to measure: a hook before this one answered there."""
        if began is not None:
            self._taken[name].append(now - began)

    def report(self) -> dict[str, Durations]:
        """By name: "run", "model" and "tool <name>"."""
        with self._lock:
            taken = {name: list(seconds) for name, seconds in self._taken.items()}
        return {
            name: Durations(len(seconds), sum(seconds), statistics.median(seconds), max(seconds))
            for name, seconds in taken.items()
        }

    def reset(self) -> None:
        """Forgets what was measured."""
        with self._lock:
            self._taken.clear()

    def __str__(self) -> str:
        report = self.report()
        pad = max((len(name) for name in report), default=0)
        pad = max(pad, len("what"))
        rows = [f"{'what':<{pad}}  {'count':>6}  {'median':>10}  {'max':>10}  {'total':>10}"]
        rows += [
            f"{name:<{pad}}  {d.count:>6}  {d.median_s:>8.3f} s  {d.max_s:>8.3f} s  {d.total_s:>8.3f} s"
            for name, d in sorted(report.items())
        ]
        return "\n".join(rows)
