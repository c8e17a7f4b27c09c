"""The start of a call is told before its body runs (contract, case 16): a lamp or a brake may hang on it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from edgeagent import Agent, GoalHandle, skill, tool
from edgeagent.events import ToolExecutionStart
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
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
