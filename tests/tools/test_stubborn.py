"""Tools that do not do what they should: flood, hang, hold on, swallow the cancellation."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator

import pytest

from edgeagent import Agent, GoalHandle, Options, ToolContext, ToolResult, skill, tool
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10.0


def agent_with(*tools, replies, **options):
    return Agent("a", llm=ScriptedLLM(*replies), tools=tools, options=Options(**options))


def flood(**traits):
    """A tool that reports progress as fast as it can, for two seconds or until it is stopped."""
    began = threading.Event()

    @tool(**traits)
    def report(ctx: ToolContext) -> str:
        """Reports."""
        end_s = time.monotonic() + 2
        n = 0
        while time.monotonic() < end_s and not ctx.should_stop():
            ctx.progress(n)
            began.set()
            n += 1
        return "stopped" if ctx.should_stop() else "told all"

    return report, began


def test_an_abort_reaches_a_tool_that_floods_its_progress():
    report, began = flood(read_only=True)
    agent = agent_with(report, replies=[[call("report")], "never"])
    handle = agent.start("go")
    assert began.wait(LIMIT_S)
    agent.abort()
    in_time = handle.wait(1)
    assert handle.wait(60)
    assert in_time
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"


def test_the_time_limit_holds_for_a_tool_that_floods_its_progress():
    report, _ = flood(timeout_s=0.1)
    handle = agent_with(report, replies=[[call("report")], "ok"]).start("go")
    in_time = handle.wait(1.5)
    assert handle.wait(60)
    assert in_time
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "timed_out"


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns at nearly every instruction."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before_s)


@pytest.mark.usefixtures("hasty_threads")
@pytest.mark.parametrize("heeds", [True, False], ids=["when it is told to", "by itself just then"])
def test_a_body_that_returns_at_its_time_limit_is_over_it_or_done(heeds: bool):
    @skill(timeout_s=0.01, stop=lambda: None)
    def drive(ctx: ToolContext) -> str:
        """Drives."""
        ctx.stop_event.wait(LIMIT_S if heeds else 0.01)
        return "there"

    for _ in range(50):
        agent = agent_with(drive, replies=[[call("drive")], "ok"])
        result = agent.run("go").tool_calls[0].result
        assert result.status in (("timed_out",) if heeds else ("timed_out", "ok"))


def test_what_a_tool_flooded_before_an_abort_does_not_make_its_end_unknown():
    flooded, gate = threading.Event(), threading.Event()

    @tool(read_only=True)
    def report(ctx: ToolContext) -> str:
        """Reports a lot, then waits."""
        for n in range(3000):
            ctx.progress(n)
        flooded.set()
        ctx.stop_event.wait(LIMIT_S)
        return "stopped"

    agent = agent_with(report, replies=[[call("report")], "never"], abort_grace_s=0.05)

    def read_slowly(event):
        if event.kind == "tool_execution_update":
            flooded.wait(LIMIT_S)
            gate.wait(0.001)

    agent.subscribe(read_slowly)
    handle = agent.start("go")
    assert flooded.wait(LIMIT_S)
    agent.abort()
    assert handle.wait(1.5), "not all of it has to be told first"
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"


def test_a_stuck_tool_delays_neither_its_run_nor_the_next():
    gate = threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> str:
        """Sticks."""
        gate.wait(LIMIT_S)
        return "late"

    @tool
    def fine() -> str:
        """Fine."""
        return "fine"

    agent = agent_with(stuck, fine, replies=[[call("stuck"), call("fine")], "one", [call("fine")], "two"])
    began_s = time.monotonic()
    assert [made.result.status for made in agent.run("go").tool_calls] == ["timed_out", "ok"]
    assert agent.run("again").tool_calls[0].result.text == "fine"
    assert time.monotonic() - began_s < 2
    gate.set()


def test_a_finished_result_is_committed_although_its_sibling_stalls():
    gate = threading.Event()
    agent_box = []

    @tool(read_only=True)
    def hang() -> str:
        """Hangs."""
        gate.wait(LIMIT_S)
        return ""

    @tool
    def quick() -> str:
        """Quick."""
        return "quick"

    agent = agent_with(hang, quick, replies=[[call("hang"), call("quick")], "x"], abort_grace_s=0.02)
    agent_box.append(agent)
    agent.subscribe(lambda e: agent.abort() if e.kind == "tool_execution_end" and e.call.name == "quick" else None)
    result = agent.run("go")
    gate.set()
    assert [made.result.status for made in result.tool_calls] == ["outcome_unknown", "ok"]
    assert [m.text for m in result.messages if m.role == "tool"][1] == "quick"


def test_a_skill_that_swallows_its_cancellation_is_still_interrupted():
    @skill
    def stubborn(goal: GoalHandle) -> str:
        """Moves."""
        while True:
            try:
                goal.checkpoint()
                threading.Event().wait(0.005)
            except Exception:  # noqa: BLE001 - what a builder may do
                return "I arrived, honestly"

    agent = agent_with(stubborn, replies=[[call("stubborn")], "x"])
    handle = agent.start("go")
    next(e for e in handle.events() if e.kind == "tool_execution_start")
    agent.abort()
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"


def test_the_cancellation_of_a_skill_is_seen_within_fifty_milliseconds():
    seen_s = []

    @skill
    def move(goal: GoalHandle) -> str:
        """Moves."""
        goal.cancel_event.wait(LIMIT_S)
        seen_s.append(time.monotonic())
        return ""

    agent = agent_with(move, replies=[[call("move")], "x"])
    handle = agent.start("go")
    next(e for e in handle.events() if e.kind == "tool_execution_start")
    asked_s = time.monotonic()
    agent.abort()
    handle.result(LIMIT_S)
    assert seen_s[0] - asked_s < 0.05 + 0.1, "50 ms, and as much again for a busy machine"


@pytest.mark.parametrize("ends_by", ["cancel", "time-out", "abandonment"])
def test_stop_reaches_the_actuator_once_whatever_ends_the_skill(ends_by):
    gate, told, stopped = threading.Event(), [], threading.Event()

    def stop() -> None:
        told.append(1)
        stopped.set()

    @skill(stop=stop, timeout_s=0.05 if ends_by == "time-out" else None)
    def move(goal: GoalHandle) -> str:
        """Moves."""
        while not gate.wait(0.005):
            if ends_by == "cancel":
                goal.checkpoint()
        return ""

    agent = agent_with(move, replies=[[call("move")], "x"], abort_grace_s=0.05)
    handle = agent.start("go")
    started = next(e for e in handle.events() if e.kind == "tool_execution_start")
    if ends_by == "cancel":
        handle.goals[started.call.id].cancel()
    elif ends_by == "abandonment":
        agent.abort()
    result = handle.result(LIMIT_S)
    gate.set()
    expected = {"cancel": "interrupted", "time-out": "timed_out", "abandonment": "outcome_unknown"}[ends_by]
    assert result.tool_calls[0].result.status == expected
    assert stopped.wait(LIMIT_S)
    assert told == [1]


def test_a_stop_function_that_raises_keeps_nothing_from_ending():
    @skill(stop=lambda: 1 / 0)
    def move(goal: GoalHandle) -> str:
        """Moves."""
        goal.cancel_event.wait(LIMIT_S)
        return ""

    agent = agent_with(move, replies=[[call("move")], "x"])
    handle = agent.start("go")
    next(e for e in handle.events() if e.kind == "tool_execution_start")
    agent.abort("safety_stop")
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "interrupted"


def test_a_skill_that_did_not_reach_its_goal_and_one_that_did():
    @skill
    def near() -> ToolResult:
        """Fails."""
        return ToolResult.error("2 m short")

    @skill
    def there() -> dict[str, int]:
        """Arrives."""
        return {"m": 2}

    agent = agent_with(near, there, replies=[[call("there"), call("near")], "x"])
    handle = agent.start("go")
    result = handle.result(LIMIT_S)
    states = {made.name: handle.goals[made.id].state for made in result.tool_calls}
    assert states == {"near": "failed", "there": "succeeded"}
    assert [made.result.value for made in result.tool_calls] == [{"m": 2}, None]


def test_abandoned_bodies_are_replaced_so_that_the_pool_stays_as_large():
    gate, barrier = threading.Event(), threading.Barrier(3)

    @tool(timeout_s=0.02)
    def stuck(n: int) -> str:
        """Sticks."""
        gate.wait(LIMIT_S)
        return ""

    @tool
    def meet(n: int) -> str:
        """Meets."""
        barrier.wait(LIMIT_S)
        return ""

    calls = [*(call("stuck", n=n) for n in range(3)), *(call("meet", n=n) for n in range(3))]
    result = agent_with(stuck, meet, replies=[calls, "x"], max_concurrent_tools=3).run("go")
    gate.set()
    assert [made.result.status for made in result.tool_calls] == ["timed_out"] * 3 + ["ok"] * 3


def test_a_late_return_frees_the_resource():
    gate = threading.Event()

    @tool(timeout_s=0.02, resources=("arm",))
    def hold() -> str:
        """Holds."""
        gate.wait(LIMIT_S)
        return ""

    @tool(resources=("arm",))
    def grip() -> str:
        """Grips."""
        return "gripped"

    agent = agent_with(
        hold,
        grip,
        replies=[
            [call("hold")],
            "x",
            [call("grip")],
            "y",
            [
                call(
                    "grip",
                )
            ],
            "z",
        ],
    )
    agent.run("go")
    assert agent.run("go").tool_calls[0].result.text == "arm is still busy with hold"
    gate.set()
    for thread in threading.enumerate():
        if thread.name.startswith("tool-hold"):
            thread.join(LIMIT_S)
    assert agent.run("go").tool_calls[0].result.text == "gripped"


def test_terminate_needs_every_result_of_the_batch():
    @tool(terminate=True)
    def say(text: str) -> str:
        """Says."""
        return text

    @tool
    def note() -> str:
        """Notes."""
        return "noted"

    agent = agent_with(say, note, replies=[[call("say", text="a"), call("note")], "done"])
    assert (agent.run("go").reason, agent.llm.remaining) == ("completed", 0)
    agent = agent_with(say, note, replies=[[call("say", text="a"), call("say", text="b")], "never"])
    result = agent.run("go")
    assert (result.reason, result.reply, result.messages[-1].text, agent.llm.remaining) == ("terminated", "b", "b", 1)


def test_a_tool_that_returns_a_result_that_terminates():
    @tool
    def say() -> ToolResult:
        """Says."""
        return ToolResult("", "", "ok", "bye", terminate=True)

    result = agent_with(say, replies=[[call("say")], "never"]).run("go")
    assert (result.reason, result.reply) == ("terminated", "bye")
