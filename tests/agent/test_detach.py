"""Calls that outlive an interruption: detached, told of later, replaced by a later call, and stopped for safety."""

from __future__ import annotations

import gc
import threading
import weakref

import pytest

from edgeagent import Agent, GoalHandle, Options, Session, ToolResult, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, calls_are_answered, ends, first, opened, statuses, texts


class Base:
    """A robot base that drives until its gate opens, and knows how many drives it was given at once."""

    def __init__(self, *, stops=True, **traits):
        self.gate = threading.Event()
        self.halted = threading.Event()
        self.now = self.peak = 0
        self.lock = threading.Lock()
        base = self

        @skill(resources=("base",), on_interrupt="detach", stop=self.halted.set, **traits)
        def go_to(place: str, goal: GoalHandle) -> str | ToolResult:
            """Drives."""
            with base.lock:
                base.now += 1
                base.peak = max(base.peak, base.now)
            try:
                if place == "bedroom":
                    return "arrived at bedroom"
                while not base.gate.wait(0.005):
                    if stops:
                        goal.checkpoint()
                return f"arrived at {place}"
            finally:
                with base.lock:
                    base.now -= 1

        self.go_to = go_to


def idle(agent):
    """Set when a run of the agent has ended, from now on."""
    ended = threading.Semaphore(0)
    agent.subscribe(lambda event: ended.release() if event.kind == "agent_end" else None)
    return ended


def interrupted(agent, session=None):
    """A run whose drive to the kitchen was detached by an abort."""
    handle = (session or agent).start("go to the kitchen")
    first(handle, "tool_execution_start")
    goal = next(iter(handle.goals.values()))
    agent.abort("barge_in")
    result = ends(handle, "aborted", "barge_in")
    assert statuses(result) == ["detached"]
    assert calls_are_answered(result.messages)
    return goal, result


def test_an_abort_detaches_and_its_real_result_wakes_the_agent_later():
    base = Base()
    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")], "I am there"), tools=[base.go_to])
    with Session(agent) as session:
        goal, result = interrupted(agent, session)
        assert not result.tool_calls[0].result.is_error
        assert goal.state == "running"
        assert not base.halted.is_set(), "it drives on"
        ended = idle(agent)
        base.gate.set()
        assert ended.acquire(timeout=LIMIT_S)
        told = agent.llm.requests[1].messages[-1]
        assert told.origin == "follow_up"
        assert "arrived at kitchen" in told.text
        assert session.messages()[-1].text == "I am there"
        assert goal.state == "succeeded"


def test_without_a_session_the_agent_itself_wakes():
    base = Base()
    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")], "I am there"), tools=[base.go_to])
    interrupted(agent)
    ended = idle(agent)
    base.gate.set()
    assert ended.acquire(timeout=LIMIT_S)
    assert "arrived at kitchen" in agent.llm.requests[1].messages[-1].text


def test_other_requests_are_answered_meanwhile_and_the_drive_arrives():
    base = Base()

    @tool(read_only=True)
    def battery() -> str:
        """Battery."""
        return "81 %"

    llm = ScriptedLLM([call("go_to", place="kitchen")], [call("battery")], "81 percent", "I am there")
    agent = Agent("a", llm=llm, tools=[base.go_to, battery])
    with Session(agent) as session:
        goal, _ = interrupted(agent, session)
        assert session.step("how full is your battery?").reply == "81 percent"
        assert goal.state == "running"
        ended = idle(agent)
        base.gate.set()
        assert ended.acquire(timeout=LIMIT_S)
        assert "arrived at kitchen" in "".join(texts(session.messages()))
        assert calls_are_answered(session.messages())


def test_a_later_call_of_the_same_resource_replaces_it():
    base = Base()
    llm = ScriptedLLM([call("go_to", place="kitchen")], [call("go_to", place="bedroom")], "there")
    agent = Agent("a", llm=llm, tools=[base.go_to])
    with Session(agent) as session:
        goal, _ = interrupted(agent, session)
        result = session.step("no, the bedroom")
        assert (statuses(result), result.tool_calls[0].result.text) == (["ok"], "arrived at bedroom")
        assert base.halted.is_set()
        assert goal.wait(LIMIT_S)
        assert goal.state == "cancelled"
        assert "replaced by go_to(bedroom)" in goal.error
        assert base.peak == 1, "the base never runs two"


def test_one_that_does_not_stop_blocks_the_later_call_and_is_not_run_twice():
    base = Base(stops=False)
    llm = ScriptedLLM([call("go_to", place="kitchen")], [call("go_to", place="bedroom")], "I can't")
    agent = Agent("a", llm=llm, tools=[base.go_to], options=Options(abort_grace_s=0.05))
    interrupted(agent)
    result = agent.run("no, the bedroom")
    try:
        assert statuses(result) == ["blocked"]
        assert result.tool_calls[0].result.text == "base is still busy with go_to"
        assert base.peak == 1
    finally:
        base.gate.set()


def test_an_abort_while_the_old_goal_is_awaited_leaves_the_new_call_not_run():
    base = Base(stops=False)
    llm = ScriptedLLM([call("go_to", place="kitchen")], [call("go_to", place="bedroom")], "never")
    agent = Agent("a", llm=llm, tools=[base.go_to], options=Options(abort_grace_s=5))
    interrupted(agent)
    handle = agent.start("no, the bedroom")
    opened(base.halted)
    agent.abort()
    try:
        assert handle.wait(1)
        assert statuses(ends(handle, "aborted", "user")) == ["not_run"]
    finally:
        base.gate.set()


def test_an_ordinary_abort_of_a_later_run_leaves_it_alone_and_a_safety_stop_does_not():
    base = Base()
    gate = threading.Event()

    def wait(request):
        opened(gate)
        return "words"

    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")], wait, "x"), tools=[base.go_to])
    goal, _ = interrupted(agent)
    handle = agent.start("hm")
    first(handle, "turn_start")
    agent.abort()
    gate.set()
    ends(handle, "aborted", "user")
    assert goal.state == "running"
    assert agent.abort("safety_stop") is False, "there is no run"
    assert base.halted.is_set()
    assert goal.wait(LIMIT_S)
    assert goal.state == "cancelled"


def test_a_trip_of_the_latch_cancels_it_and_a_hold_that_it_cannot_wait_for_too():
    for word in ("trip", "hold"):
        base, latch = Base(), SafetyLatch()
        agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")]), tools=[base.go_to], latch=latch)
        goal, _ = interrupted(agent)
        getattr(latch, word)("test")
        assert goal.wait(LIMIT_S)
        assert goal.state == "cancelled"


def test_a_goal_is_cancelled_by_its_handle():
    base = Base()
    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")]), tools=[base.go_to])
    goal, _ = interrupted(agent)
    assert goal.cancel()
    assert goal.wait(LIMIT_S)
    assert goal.state == "cancelled"
    assert base.halted.is_set()


def test_its_time_limit_still_holds():
    base = Base(timeout_s=0.2)
    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")], "too slow"), tools=[base.go_to])
    goal, _ = interrupted(agent)
    try:
        assert base.halted.wait(2), "nobody looks at the clock any more"
    finally:
        base.gate.set()
        assert goal.wait(LIMIT_S)


def test_one_that_takes_too_long_is_told_of_once_and_gives_its_resource_up_when_it_returns():
    base = Base(stops=False, timeout_s=0.1)
    llm = ScriptedLLM([call("go_to", place="kitchen")], "too slow", [call("go_to", place="bedroom")], "busy")
    agent = Agent("a", llm=llm, tools=[base.go_to])
    ended = idle(agent)
    goal, _ = interrupted(agent)
    try:
        assert ended.acquire(timeout=LIMIT_S)
        assert ended.acquire(timeout=LIMIT_S), "it is told before it returns"
        assert agent.llm.requests[1].messages[-1].text == "go_to has ended: go_to took longer than 0.1 s"
        while agent.is_running:
            threading.Event().wait(0.005)
        result = agent.run("to the bedroom then")
        assert result.tool_calls[0].result.text == "base is still busy with go_to"
    finally:
        base.gate.set()
    assert goal.wait(LIMIT_S)
    for thread in threading.enumerate():
        if thread.name == "tool-go_to":
            thread.join(LIMIT_S)
    assert (agent.has_pending, len(agent.llm.requests)) == (False, 4)


def test_a_detached_tool_tells_of_its_failure_too():
    gate = threading.Event()

    @tool(on_interrupt="detach")
    def bake() -> str:
        """Bakes."""
        opened(gate)
        raise RuntimeError("burnt")

    agent = Agent("a", llm=ScriptedLLM([call("bake")], "sorry"), tools=[bake])
    handle = agent.start("bread")
    first(handle, "tool_execution_start")
    agent.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["detached"]
    ended = idle(agent)
    gate.set()
    assert ended.acquire(timeout=LIMIT_S)
    assert "burnt" in agent.llm.requests[1].messages[-1].text


def test_one_that_has_ended_when_the_abort_comes_keeps_its_result():
    @tool(on_interrupt="detach")
    def bake() -> str:
        """Bakes."""
        return "bread"

    agent = Agent("a", llm=ScriptedLLM([call("bake")], "never"), tools=[bake])
    agent.subscribe(lambda event: agent.abort() if event.kind == "tool_execution_end" else None)
    assert [c.result.text for c in ends(agent.start("go"), "aborted", "user").tool_calls] == ["bread"]


def test_later_calls_of_the_reply_are_not_run_and_motion_after_it_is_no_failure():
    base = Base()
    calls = [call("go_to", place="kitchen"), call("go_to", place="bedroom")]
    agent = Agent("a", llm=ScriptedLLM(calls), tools=[base.go_to])
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    agent.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["detached", "not_run"]
    agent.abort("safety_stop")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_one_that_ends_after_its_session_was_closed_breaks_nothing(capfd):
    base = Base()
    agent = Agent("a", llm=ScriptedLLM([call("go_to", place="kitchen")], "never"), tools=[base.go_to])
    with Session(agent) as session:
        goal, _ = interrupted(agent, session)
    base.gate.set()
    assert goal.wait(LIMIT_S)
    for thread in threading.enumerate():
        if thread.name.startswith("tool-go_to"):
            thread.join(LIMIT_S)
    assert agent.llm.remaining == 1


def plain_drive():
    """A skill that says nothing about interruptions, and when it has begun."""
    began = threading.Event()

    @skill
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        while True:
            goal.checkpoint()
            goal.cancel_event.wait(0.005)

    return drive, began


@pytest.mark.parametrize("with_session", [False, True])
def test_a_skill_that_says_nothing_is_cancelled_by_an_abort_where_nobody_converses(with_session):
    drive, began = plain_drive()
    agent = Agent("a", llm=ScriptedLLM([call("drive")]), tools=[drive])
    with Session(agent) as session:
        handle = (session if with_session else agent).start("drive")
        assert began.wait(LIMIT_S)
        agent.abort("barge_in")
        assert statuses(ends(handle, "aborted", "barge_in")) == ["interrupted"]
        assert not agent.goals_at_work


def test_in_a_conversation_it_is_detached():
    drive, began = plain_drive()
    agent = Agent("a", llm=ScriptedLLM([call("drive")]), tools=[drive])
    with Session(agent) as session:
        session.context.conversing = True
        handle = session.start("drive")
        assert began.wait(LIMIT_S)
        agent.abort("barge_in")
        assert statuses(ends(handle, "aborted", "barge_in")) == ["detached"]
        assert agent.goals_at_work == ("drive",)
        agent.abort("safety_stop")


def test_progress_that_nobody_reads_any_more_is_not_kept():
    class Pose:
        """Where it is."""

    driving, ended, alive = threading.Event(), threading.Event(), []

    @skill(on_interrupt="detach", resources=("base",))
    def patrol(goal: GoalHandle) -> str:
        """Drives about."""
        driving.set()
        opened(ended)
        for _ in range(100):
            pose = Pose()
            alive.append(weakref.ref(pose))
            goal.set_progress(pose)
        gc.collect()
        alive.append(sum(ref() is not None for ref in alive))
        late.set()
        return "back"

    late = threading.Event()
    agent = Agent("a", llm=ScriptedLLM([call("patrol")]), tools=[patrol])
    handle = agent.start("go")
    opened(driving)
    agent.abort("barge_in")
    assert statuses(ends(handle, "aborted", "barge_in")) == ["detached"]
    ended.set()
    opened(late)
    assert alive[-1] <= 2
