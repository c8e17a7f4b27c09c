"""Hooks that show a run as it goes: its steps, and how long each took."""

from __future__ import annotations

import json
import logging
import statistics
import sys
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TextIO

from edgeagent.characters import without_escapes
from edgeagent.context import AgentContext
from edgeagent.hooks.hook import (
    AfterLLM,
    AfterTool,
    BaseHook,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    HookResult,
    Payload,
    RunStart,
)
from edgeagent.messages import ToolCall

logger = logging.getLogger(__name__)

_LONGEST: Final = 160
"""Characters of a payload that are shown."""


class EchoingHook(BaseHook):
    """Writes a line at all six points, such as ``[robot] before_tool: drive {"distance_m": 2}``.

    Args:
        stream: Where to; default whatever ``sys.stderr`` is at that moment.
    """

    points = frozenset(FirePoint)

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._failed = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        line = _shortened(f"[{ctx.agent_name or 'agent'}] {point.value}: {_shown(payload)}")
        try:
            stream = self._stream or sys.stderr
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError, AttributeError):  # full, closed, or no stderr at all; before a tool it would block
            if not self._failed:
                self._failed = True
                logger.warning("EchoingHook cannot write to its stream; this is told once", exc_info=True)
        return None


def _shown(payload: Payload) -> str:
    match payload:
        case RunStart(task=task):
            return "continues" if task is None else task.text
        case BeforeLLM(messages=messages, tools=tools, hop=hop):
            last = f"; last: {messages[-1].role}: {messages[-1].text}" if messages else ""
            return f"hop {hop}, {_count(len(messages), 'message')}, {_count(len(tools), 'tool')}{last}"
        case AfterLLM(text=text, tool_calls=calls, hop=hop):
            return f"hop {hop}, {json.dumps(text, ensure_ascii=False)}{''.join(f' → {_call(call)}' for call in calls)}"
        case BeforeTool(call=call):
            return _call(call)
        case AfterTool(call=call, result=result):
            return f"{call.name}: {result.status}: {result.text}"
    # a RunResult, which this room does not know
    return f"{payload.reason} after {payload.elapsed_s:.2f} s: {payload.reply}"


def _call(call: ToolCall) -> str:
    arguments = call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False, default=repr)
    return f"{call.name} {arguments}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _shortened(text: str) -> str:
    flat = "".join(char if char.isprintable() else " " for char in without_escapes(text))
    flat = " ".join(flat.split())
    return flat if len(flat) <= _LONGEST else flat[: _LONGEST - 1] + "…"


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
        key = id(ctx)
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
        pad = max(map(len, ("what", *report)))
        rows = [f"{'what':<{pad}}  {'count':>6}  {'median':>10}  {'max':>10}  {'total':>10}"]
        rows += [
            f"{name:<{pad}}  {d.count:>6}  {d.median_s:>8.3f} s  {d.max_s:>8.3f} s  {d.total_s:>8.3f} s"
            for name, d in sorted(report.items())
        ]
        return "\n".join(rows)
