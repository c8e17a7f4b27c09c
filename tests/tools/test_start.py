"""The start of a call is told before its body runs (contract, case 16): a lamp or a brake may hang on it."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from edgeagent import Agent, GoalHandle, skill, tool
from edgeagent.events import ToolExecutionStart
from edgeagent.hooks import BaseHook, FirePoint, HookResult
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import Execution
from tests.agent.kit import LIMIT_S, ends, opened, statuses


class Brake:
    """A subscriber that notes the start of each call, and holds the first one until it is let go."""

    def __init__(self) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()
        self.told: list[str] = []

    def __call__(self, event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            self.entered.set()
            opened(self.gate)
            self.told.append(f"told of {event.call.name}")


class Drive:
    """A skill that notes when its body and its ``stop`` are called."""

    def __init__(self, **traits: object) -> None:
        self.called: list[str] = []

        @skill(stop=lambda: self.called.append("stop"), **traits)
        def drive(goal: GoalHandle) -> str:
            """Drives."""
            self.called.append("body")
            return "arrived"

        self.tool = drive


def test_every_subscriber_has_returned_before_the_body_runs():
    order: list[str] = []

    @tool(mode="sequential")
    def move(distance_m: float) -> None:
        """Moves."""
        order.append("body")

    def lamp(event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            threading.Event().wait(0.002)  # a body that did not wait would be faster
            order.append("lamp")

    def brake(event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            order.append("brake")

    agent = Agent("a", llm=ScriptedLLM([call("move", distance_m=n) for n in range(20)], "done"), tools=[move])
    agent.subscribe(lamp)
    agent.subscribe(brake)
    assert agent.run("go").reply == "done"
    assert order == ["lamp", "brake", "body"] * 20


@pytest.mark.parametrize("stop", ["abort", "safety stop", "latch", "goal", "stop_event"])
def test_a_stop_while_the_start_is_told_keeps_the_body_from_being_called(stop):
    brake, drive, latch, callers_stop = Brake(), Drive(), SafetyLatch(), threading.Event()
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive.tool], latch=latch)
    agent.subscribe(brake)
    handle = agent.start("go", stop_event=callers_stop)
    opened(brake.entered)
    goal = next(iter(handle.goals.values()))
    match stop:
        case "abort":
            agent.abort()
        case "safety stop":
            agent.abort("safety_stop")
        case "latch":
            latch.trip("stop word")
        case "goal":
            goal.cancel()
        case "stop_event":
            callers_stop.set()
    brake.gate.set()
    assert statuses(handle.result(LIMIT_S)) == ["interrupted"]
    assert drive.called == [], "neither the body nor its stop"
    assert goal.state == "cancelled"
    told = [event.kind for event in handle.events() if event.kind.startswith("tool_execution")]
    assert told == ["tool_execution_start", "tool_execution_end"]


@pytest.mark.parametrize("on_interrupt", ["finish", "detach"])
def test_a_call_that_an_abort_would_leave_alone_does_not_begin_after_one(on_interrupt):
    brake, drive = Brake(), Drive(on_interrupt=on_interrupt)
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive.tool])
    agent.subscribe(brake)
    handle = agent.start("go")
    opened(brake.entered)
    agent.abort()
    brake.gate.set()
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]
    assert drive.called == []


def test_a_stopped_call_does_not_wait_for_a_subscriber_that_hangs():
    brake, drive = Brake(), Drive(resources=("base",))
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive.tool])
    agent.subscribe(brake)
    handle = agent.start("go")
    opened(brake.entered)
    agent.abort("safety_stop")
    try:
        assert next(iter(handle.goals.values())).wait(LIMIT_S), "its worker has left it"
        assert brake.told == [], "though the subscriber still hangs"
    finally:
        brake.gate.set()
    assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
    assert drive.called == []


def test_the_time_limit_begins_with_the_body():
    limit_s = 0.5

    @tool(timeout_s=limit_s)
    def look() -> str:
        """Looks."""
        return "a wall"

    def slow(event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            threading.Event().wait(limit_s + 0.1)

    agent = Agent("a", llm=ScriptedLLM([call("look")], "done"), tools=[look])
    agent.subscribe(slow)
    assert statuses(agent.run("go")) == ["ok"]


_KILLED_IN_A_BODY = """
import os, signal, sys
from edgeagent import Agent, Session, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import Execution

@tool
def drive() -> str:
    "Drives."
    os.kill(os.getpid(), signal.SIGKILL)
    return "arrived"

Session(Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive]), audit=sys.argv[1]).step("go")
"""


def test_the_audit_has_the_call_although_the_process_dies_in_its_body(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    path = tmp_path / "audit.jsonl"
    died = subprocess.run(
        [sys.executable, "-c", _KILLED_IN_A_BODY, str(path)], env=environment, timeout=60, check=False
    )
    assert died.returncode == -signal.SIGKILL
    assert '"type": "tool_call"' in path.read_text()


class Gate(BaseHook):
    """A hook before the tool that answers what it is told to, and notes on which thread."""

    points = frozenset({FirePoint.BEFORE_TOOL})

    def __init__(self, answer: HookResult | None, *, quick: bool) -> None:
        self.answer, self.quick = answer, quick
        self.threads: list[threading.Thread] = []

    def __call__(self, point: FirePoint, ctx: object, payload: object) -> HookResult | None:
        self.threads.append(threading.current_thread())
        return self.answer


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        (None, "ok", ["start", "end"]),
        (HookResult.block("not now"), "blocked", ["end"]),
        (HookResult.supply("done already"), "ok", ["end"]),
        (HookResult.end_turn("bye"), "not_run", ["end"]),
    ],
)
def test_a_quick_hook_decides_as_any_other_and_on_the_loops_thread(quick, answer, status, told):
    gate, loop = Gate(answer, quick=quick), []

    @tool
    def lamp() -> str:
        """Lights."""
        return "lit"

    agent = Agent("a", llm=ScriptedLLM([call("lamp")], "done"), tools=[lamp], hooks=[gate])
    agent.subscribe(lambda event: loop.append(threading.current_thread()))
    handle = agent.start("go")
    assert statuses(handle.result(LIMIT_S)) == [status]
    kinds = [event.kind for event in handle.events()]
    assert [kind.removeprefix("tool_execution_") for kind in kinds if kind.startswith("tool_execution")] == told
    assert (gate.threads == loop[:1]) is quick


def test_a_quick_hook_that_makes_another_call_of_it_has_that_one_told():
    @tool
    def lamp(percent: int) -> str:
        """Lights."""
        return f"at {percent}"

    class Dim(Gate):
        def __call__(self, point, ctx, payload):
            return HookResult.replace(replace(payload, call=replace(payload.call, arguments={"percent": 5})))

    agent = Agent("a", llm=ScriptedLLM([call("lamp", percent=90)], "done"), tools=[lamp], hooks=[Dim(None, quick=True)])
    handle = agent.start("go")
    assert handle.result(LIMIT_S).reply == "done"
    starts = [event.call.arguments for event in handle.events() if event.kind == "tool_execution_start"]
    assert starts == [{"percent": 5}]


def test_motion_behind_a_held_latch_is_told_when_it_is_let_go():
    drive, latch = Drive(), SafetyLatch()
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive.tool], latch=latch)
    latch.hold("uncertain")
    began = threading.Event()
    agent.subscribe(lambda event: began.set() if isinstance(event, ToolExecutionStart) else None)
    handle = agent.start("go")
    assert not began.wait(0.2)
    latch.release()
    assert statuses(handle.result(LIMIT_S)) == ["ok"]
    assert began.is_set()


class Acting(Gate):
    """A quick hook that does something, be it to what moves, before it lets a call pass."""

    def __init__(self, act) -> None:
        super().__init__(None, quick=True)
        self.act = act

    def __call__(self, point, ctx, payload):
        return self.act(payload)


def starts(handle):
    return [event.call.name for event in handle.events() if event.kind == "tool_execution_start"]


@pytest.mark.parametrize("stop", ["trip", "abort", "safety stop"])
def test_a_stop_by_a_quick_hook_keeps_the_start_from_being_told(stop):
    drive, latch = Drive(), SafetyLatch()

    def act(payload: object) -> None:
        if stop == "trip":
            latch.trip("a hook")
        else:
            agent.abort("safety_stop" if stop == "safety stop" else "user")

    agent = Agent("a", llm=ScriptedLLM([call("drive")], "done"), tools=[drive.tool], hooks=[Acting(act)], latch=latch)
    handle = agent.start("go")
    assert statuses(handle.result(LIMIT_S)) == ["blocked" if stop == "trip" else "not_run"]
    assert starts(handle) == []
    assert drive.called == []


def test_a_hold_by_a_quick_hook_is_waited_for():
    latch, ran = SafetyLatch(), []

    @tool(motion=True)
    def nudge() -> None:
        """Moves a little."""
        ran.append(latch.state)

    hook = Acting(lambda payload: latch.hold("uncertain") and None)
    agent = Agent("a", llm=ScriptedLLM([call("nudge")], "done"), tools=[nudge], hooks=[hook], latch=latch)
    handle = agent.start("go")
    with pytest.raises(TimeoutError):
        handle.result(0.2)
    assert ran == []
    latch.release()
    assert statuses(handle.result(LIMIT_S)) == ["ok"]
    assert ran == ["free"]


def test_gates_that_raise_are_an_error_of_their_call_alone():
    @tool
    def lamp(percent: int) -> str:
        """Lights."""
        return "lit"

    @tool
    def bell() -> str:
        """Rings."""
        return "rung"

    def act(payload):
        if payload.call.name == "bell":
            return None
        return HookResult.replace(replace(payload, call=replace(payload.call, raw=5)))  # no text

    agent = Agent(
        "a", llm=ScriptedLLM([call("bell"), call("lamp", percent=5)], "done"), tools=[lamp, bell], hooks=[Acting(act)]
    )
    handle = agent.start("go")
    assert statuses(handle.result(LIMIT_S)) == ["ok", "error"]
    assert starts(handle) == ["bell"]


def test_a_call_for_which_no_thread_can_be_started_is_an_error(monkeypatch):
    ran = []

    @tool
    def lamp(number: int) -> str:
        """Lights."""
        ran.append(number)
        return "lit"

    start = threading.Thread.start

    def full(thread):
        if not ran and type(thread).__name__ == "ToolThread":
            ran.append("full")
            raise RuntimeError("can't start new thread")
        start(thread)

    agent = Agent("a", llm=ScriptedLLM([call("lamp", number=1), call("lamp", number=2)], "done"), tools=[lamp])
    monkeypatch.setattr(threading.Thread, "start", full)
    result = agent.run("go")
    assert statuses(result) == ["error", "ok"]
    assert result.reply == "done"
    assert ran == ["full", 2]


def test_a_body_that_has_not_been_called_yet_is_not_called_after_an_abort(monkeypatch):
    ran = []

    @tool(on_interrupt="cancel")
    def lamp() -> str:
        """Lights."""
        ran.append("lamp")
        return "lit"

    body = Execution._body

    def late(execution):
        agent.abort()
        opened(execution.stop_event)
        return body(execution)

    agent = Agent("a", llm=ScriptedLLM([call("lamp")], "done"), tools=[lamp])
    monkeypatch.setattr(Execution, "_body", late)
    assert statuses(ends(agent.start("go"), "aborted", "user")) == ["interrupted"]
    assert ran == []
