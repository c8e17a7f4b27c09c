"""The end of a session and of the program stop what moves, and nothing of a builder's holds that up."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from edgeagent import Agent, GoalHandle, Session, skill, tool
from edgeagent.session import session as session_module
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, first, opened

FAR_S = 8.0


class Base:
    """A base that drives until it is stopped."""

    def __init__(self, on_interrupt="detach", hangs=False):
        self.stopped, self.ended, self.gate = threading.Event(), threading.Event(), threading.Event()
        base = self

        def stop():
            base.stopped.set()
            if hangs:
                base.gate.wait(30)

        @skill(on_interrupt=on_interrupt, resources=("base",), stop=stop)
        def drive(goal: GoalHandle) -> str:
            """Drives."""
            goal.cancel_event.wait(30)
            base.ended.set()
            return "halted"

        self.drive = drive


def detached(base):
    """A session whose drive goes on after its run."""
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "x", "y"), tools=[base.drive])
    session = Session(agent)
    handle = session.start("go")
    first(handle, "tool_execution_start")
    session.abort("barge_in")
    handle.result(LIMIT_S)
    assert agent.goals_at_work == ("drive",)
    return agent, session


@pytest.mark.parametrize("way", ["close", "with"])
def test_closing_a_session_stops_a_motion_that_outlived_its_run(way):
    base = Base()
    _, session = detached(base)
    if way == "close":
        session.close()
    else:
        with session:
            pass
    assert base.stopped.is_set(), "before it returns"
    assert opened(base.ended)


def test_closing_a_session_stops_a_motion_of_the_run_that_goes_on_whatever_its_tool_says():
    base = Base(on_interrupt="finish")
    session = Session(Agent("a", llm=ScriptedLLM([call("drive")], "x"), tools=[base.drive]))
    first(session.start("go"), "tool_execution_start")
    session.close()
    assert base.stopped.is_set()
    assert opened(base.ended)


def test_a_stop_that_hangs_does_not_hold_the_end_of_a_session():
    base = Base(hangs=True)
    _, session = detached(base)
    began_s = time.monotonic()
    try:
        session.close()
        assert time.monotonic() - began_s < FAR_S
        assert opened(base.ended)
    finally:
        base.gate.set()


@pytest.mark.parametrize("what", ["subscriber", "tool", "sink"])
def test_nothing_of_a_builders_holds_the_end_of_a_session(what, monkeypatch, tmp_path):
    monkeypatch.setattr(session_module, "CLOSE_S", 0.2)
    gate, inside = threading.Event(), threading.Event()

    def hang():
        inside.set()
        gate.wait(30)

    class Sink:
        def emit(self, record):
            pass

        def flush(self):
            pass

        def close(self):
            if what == "sink":
                hang()

    @tool(on_interrupt="finish")
    def stick() -> str:
        """Sticks."""
        if what == "tool":
            hang()
        return "done"

    agent = Agent("a", llm=ScriptedLLM([call("stick")], "x"), tools=[stick])
    session = Session(agent, path=tmp_path / "journal", audit=Sink())
    if what == "subscriber":
        session.subscribe(lambda event: hang() if event.kind == "message_update" else None)
    handle = session.start("go")
    if what == "sink":
        handle.result(LIMIT_S)
    else:
        opened(inside)
    began_s = time.monotonic()
    try:
        session.close()
        assert time.monotonic() - began_s < FAR_S
        Session(Agent("b"), path=tmp_path / "journal").close()
    finally:
        gate.set()
    assert handle.wait(LIMIT_S)


def test_an_abort_of_an_idle_agent_stops_a_motion_that_outlived_its_run_and_says_that_there_was_no_run():
    base = Base()
    agent, session = detached(base)
    assert agent.abort("barge_in") is False
    assert not base.stopped.is_set(), "who speaks leaves the motion alone"
    assert agent.abort() is False
    assert base.stopped.is_set()
    assert opened(base.ended)
    session.close()


PROGRAM = """
import os, sys, threading
from edgeagent import Agent, GoalHandle, skill
from edgeagent.testing import ScriptedLLM, call

moving = {"fork": threading.Event(), "base": threading.Event()}

def machine(name, hangs):
    def stop():
        os.write(1, f"stop {name}\\n".encode())
        if hangs:
            threading.Event().wait(60)

    @skill(name=name, on_interrupt="detach", stop=stop)
    def move(goal: GoalHandle) -> str:
        "Moves."
        moving[name].set()
        goal.cancel_event.wait(60)
        os.write(1, f"end {name}\\n".encode())
        return "halted"

    return move

tools = [machine("fork", True), machine("base", False)]
for tool in tools:
    agent = Agent(tool.name, llm=ScriptedLLM([call(tool.name)], "x"), tools=[tool])
    handle = agent.start("go")
    if not moving[tool.name].wait(20):
        sys.exit(4)
    if tool.name == "fork":
        agent.abort()
        handle.result(10)
    globals()["keep_" + tool.name] = agent
if "fork" in sys.argv:
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    os.write(1, b"the child is gone\\n")
sys.exit(3)
"""


@pytest.mark.parametrize("forks", [False, True])
def test_the_exit_of_the_interpreter_stops_what_moves_side_by_side(forks, checkout):
    began_s = time.monotonic()
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *(["fork"] if forks else [])],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(checkout),
        check=False,
    )
    assert ended.returncode == 3, ended.stderr
    lines = ended.stdout.splitlines()
    if forks:
        assert lines.pop(0) == "the child is gone", "a child leaves its parent's robot alone"
    assert {"stop fork", "stop base", "end fork", "end base"} == set(lines)
    assert time.monotonic() - began_s < 30
