"""Seconds between the points of runs, by name."""

from __future__ import annotations

import threading
from typing import Any

from edgeagent import ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.hooks import AfterLLM, AfterTool, BeforeLLM, BeforeTool, FirePoint, RunStart, TimingHook
from edgeagent.testing import call


@tool
def drive() -> str:
    """Drive."""
    return "drove"


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(hook: TimingHook, clock: Clock, context: AgentContext, *, model_s: float = 1, status: Any = "ok") -> None:
    """A run of 4 s more than its model takes: 1 s before it, a drive of 2 s, 1 s after."""
    made = call("drive")
    hook(FirePoint.ON_RUN_START, context, RunStart(None, context))
    clock.now += 1
    hook(FirePoint.BEFORE_LLM, context, BeforeLLM([], [], 1))
    clock.now += model_s
    hook(FirePoint.AFTER_LLM, context, AfterLLM("", (made,), 1))
    hook(FirePoint.BEFORE_TOOL, context, BeforeTool(made, drive, 1))
    clock.now += 2
    hook(FirePoint.AFTER_TOOL, context, AfterTool(made, ToolResult(made.id, "drive", status, "")))
    clock.now += 1
    hook(FirePoint.ON_RUN_END, context, object())


def test_a_run_its_model_calls_and_its_tools_are_measured_apart() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    run(hook, clock, AgentContext())
    report = hook.report()
    assert {name: seconds.total_s for name, seconds in report.items()} == {"run": 5, "model": 1, "tool drive": 2}


def test_it_goes_on_from_run_to_run_also_with_one_context() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    context = AgentContext()
    for model_s in (1, 2, 6):
        run(hook, clock, context, model_s=model_s)
    model = hook.report()["model"]
    assert (model.count, model.total_s, model.median_s, model.max_s) == (3, 9, 2, 6)
    hook.reset()
    assert hook.report() == {}


def test_calls_that_did_not_run_have_no_time() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    run(hook, clock, AgentContext(), status="blocked")
    made = call("drive")
    hook(FirePoint.AFTER_TOOL, AgentContext(), AfterTool(made, ToolResult(made.id, "drive", "invalid", "")))
    assert "tool drive" not in hook.report()


def test_a_sub_agent_is_measured_within_the_run_of_its_parent() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    parent = AgentContext()
    hook(FirePoint.ON_RUN_START, parent, RunStart(None, parent))
    run(hook, clock, parent.child())
    clock.now += 1
    hook(FirePoint.ON_RUN_END, parent, object())
    assert hook.report()["run"].max_s == 6
    assert hook.report()["run"].count == 2


def test_runs_at_once_do_not_disturb_each_other() -> None:
    hook = TimingHook()
    together = threading.Barrier(4)

    def work() -> None:
        together.wait(5)
        for _ in range(50):
            run(hook, Clock(), AgentContext())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {seconds.count for seconds in hook.report().values()} == {200}


def test_memory_is_bounded() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    context = AgentContext()
    for _ in range(10_050):
        hook(FirePoint.BEFORE_LLM, context, BeforeLLM([], [], 1))
        hook(FirePoint.AFTER_LLM, context, AfterLLM("", (), 1))
    assert hook.report()["model"].count == 10_000


def test_as_text_it_is_a_table() -> None:
    clock = Clock()
    hook = TimingHook(clock=clock)
    assert str(hook).startswith("what")
    run(hook, clock, AgentContext())
    head, *rows = str(hook).splitlines()
    assert head.split() == ["what", "count", "median", "max", "total"]
    assert [row.split()[0] for row in rows] == ["model", "run", "tool"]
    assert "2.000 s" in rows[2]
