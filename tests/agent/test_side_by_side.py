"""Stops run side by side: no function of a builder's holds another actuator's stop, or whoever stops it."""

from __future__ import annotations

import threading
import time

import pytest

from edgeagent import Agent, GoalHandle, Options, skill
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import Threads

from .kit import LIMIT_S, ends, first, opened, statuses

FAR_S = 5.0
"""Ten times the half second that a stop may take; a hung one takes longer."""


class Machine:
    """An actuator: what it was told, and a function of it that hangs until it is released."""

    def __init__(self, name, *, hangs="", raises="", waits=False, on_interrupt="cancel", parallel=True, **traits):
        self.name, self.hangs, self.raises = name, hangs, raises
        self.told: list[str] = []
        self.heard = threading.Condition()
        self.gate = threading.Event()
        self.cancelled = threading.Event()
        keywords = {"pause": self.function("pause"), "resume": self.function("resume")} if waits else {}
        machine = self

        @skill(
            name=name,
            resources=(name,),
            mode="parallel" if parallel else "sequential",
            on_interrupt=on_interrupt,
            stop=self.function("stop"),
            **keywords,
            **traits,
        )
        def move(goal: GoalHandle) -> str:
            """Moves until it is cancelled."""
            try:
                while True:
                    goal.checkpoint()
                    goal.cancel_event.wait(0.005)
            finally:
                machine.cancelled.set()

        self.tool = move

    def function(self, word):
        def tell():
            with self.heard:
                self.told.append(word)
                self.heard.notify_all()
            if word == self.hangs:
                self.gate.wait(30)
            if word == self.raises:
                raise SystemExit("the serial line is gone")

        return tell

    def hears(self, *words):
        """True when it was told exactly so, soon."""
        with self.heard:
            return self.heard.wait_for(lambda: self.told == list(words), LIMIT_S)


@pytest.fixture
def machines():
    """Makes machines whose hanging functions end with the test."""
    made = []

    def make(name, **traits):
        made.append(Machine(name, **traits))
        return made[-1]

    yield make
    for machine in made:
        machine.gate.set()


def moving(*moved, latch=None, replies=("x",), **options):
    """A run in which all of them move."""
    llm = ScriptedLLM([call(machine.name) for machine in moved], *replies)
    agent = Agent("a", llm=llm, tools=[m.tool for m in moved], latch=latch, options=Options(**options))
    handle = agent.start("go")
    for machine in moved:
        first(handle, "tool_execution_start", tool=machine.name)
    return agent, handle


def notices(handle):
    return [event.text for event in handle.events() if event.kind == "notice"]


@pytest.mark.parametrize("way", ["abort", "safety_stop", "trip", "cancel_goals", "stop_event"])
def test_a_stop_that_hangs_holds_no_other_and_every_body_is_told_first(machines, way):
    fork, base, latch = machines("fork", hangs="stop"), machines("base"), SafetyLatch()
    halt = threading.Event()
    llm = ScriptedLLM([call("fork"), call("base")], "x")
    agent = Agent("a", llm=llm, tools=[fork.tool, base.tool], latch=latch)
    handle = agent.start("go", stop_event=halt)
    for machine in (fork, base):
        first(handle, "tool_execution_start", tool=machine.name)
    ways = {
        "abort": agent.abort,
        "safety_stop": lambda: agent.abort("safety_stop"),
        "trip": lambda: latch.trip("stop"),
        "cancel_goals": agent.cancel_goals,
        "stop_event": halt.set,
    }
    began_s = time.monotonic()
    ways[way]()
    assert time.monotonic() - began_s < FAR_S, "who stops it is held no longer than the limit"
    assert base.hears("stop")
    assert opened(fork.cancelled), "its body is told though its stop hangs"
    assert opened(base.cancelled)
    assert handle.wait(FAR_S)
    assert not fork.gate.is_set()
    assert statuses(handle.result(LIMIT_S)) == ["interrupted", "interrupted"]


def test_a_stop_that_does_not_return_is_told_by_name_and_trips_the_latch(machines):
    fork, base, latch = machines("fork", hangs="stop"), machines("base"), SafetyLatch()
    agent, handle = moving(fork, base, latch=latch)
    agent.abort("safety_stop")
    assert latch.state == "tripped"
    assert "fork" in latch.reason
    ends(handle, "aborted", "safety_stop")
    told = [text for text in notices(handle) if "fork" in text]
    assert len(told) == 1
    assert not [text for text in notices(handle) if "base" in text]


def test_a_stop_that_raises_is_told_by_name_and_trips_the_latch(machines):
    fork, base, latch = machines("fork", raises="stop"), machines("base"), SafetyLatch()
    agent, handle = moving(fork, base, latch=latch)
    agent.cancel_goals()
    assert latch.state == "tripped"
    assert "fork" in latch.reason
    assert handle.wait(FAR_S)
    assert len([text for text in notices(handle) if "fork" in text and "SystemExit" in text]) == 1
    assert latch.rearm(), "it is back, so it is for people to look and to say"


def test_a_stop_that_raises_in_line_trips_the_latch_too(machines, monkeypatch):
    monkeypatch.setattr(Threads, "reserve", lambda pool: None)
    fork, latch = machines("fork", raises="stop"), SafetyLatch()
    agent, handle = moving(fork, latch=latch)
    agent.cancel_goals()
    assert latch.state == "tripped"
    assert "fork" in latch.reason
    assert handle.wait(FAR_S)


def test_a_stop_that_returns_in_time_trips_nothing_and_is_not_told_of(machines):
    base, latch = machines("base"), SafetyLatch()
    agent, handle = moving(base, latch=latch)
    agent.abort("safety_stop")
    assert base.hears("stop")
    ends(handle, "aborted", "safety_stop")
    assert latch.state == "free"
    assert notices(handle) == []


def test_until_it_returns_rearming_and_pre_emption_are_refused_and_name_it(machines):
    fork, latch = machines("fork", hangs="stop"), SafetyLatch()
    agent, handle = moving(fork, latch=latch, replies=([call("fork")], "no", [call("fork")], "done"))
    agent.abort("safety_stop")
    ends(handle, "aborted", "safety_stop")
    assert latch.rearm() is False
    assert latch.state == "tripped"
    assert "fork" in latch.reason
    assert statuses(agent.run("again")) == ["blocked"]
    fork.gate.set()
    until(latch.rearm)
    fork.told.clear()
    fork.hangs = ""
    handle = agent.start("again")
    first(handle, "tool_execution_start")
    agent.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]
    assert fork.hears("stop")


def until(true):
    """Asks again until it is so."""
    end_s = time.monotonic() + LIMIT_S
    while not true():
        assert time.monotonic() < end_s
        threading.Event().wait(0.005)


def test_without_a_latch_too_nothing_moves_until_the_stop_has_returned(machines):
    fork, base = machines("fork", hangs="stop"), machines("base")
    agent, handle = moving(fork, replies=([call("base")], "no"))
    agent.tools.add(base.tool)
    agent.abort("safety_stop")
    ends(handle, "aborted", "safety_stop")
    result = agent.run("drive").tool_calls[0].result
    assert result.status == "blocked"
    assert "fork" in result.text


def test_a_call_that_replaces_a_goal_waits_for_its_stop_and_no_longer(machines):
    fork = machines("fork", hangs="stop", on_interrupt="detach")
    agent, handle = moving(fork, replies=([call("fork")], "no"))
    agent.abort("barge_in")
    assert statuses(ends(handle, "aborted", "barge_in")) == ["detached"]
    began_s = time.monotonic()
    result = agent.run("again").tool_calls[0].result
    assert time.monotonic() - began_s < FAR_S
    assert result.status == "blocked"
    assert "fork is still busy with fork" in result.text
    assert "stop" in result.text
    assert fork.hears("stop")


def test_a_slow_stop_keeps_the_resource_until_it_is_back(machines):
    order = []

    def stop():
        threading.Event().wait(0.2)
        order.append("stopped")

    @skill(resources=("base",), on_interrupt="detach", stop=stop)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        order.append("drive")
        goal.cancel_event.wait(0 if len(order) > 1 else LIMIT_S)
        return "there"

    llm = ScriptedLLM([call("drive")], [call("drive")], "done")
    agent = Agent("a", llm=llm, tools=[drive])
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    agent.abort("barge_in")
    ends(handle, "aborted", "barge_in")
    assert statuses(agent.run("again")) == ["ok"]
    assert order == ["drive", "stopped", "drive"]


def test_two_agents_on_one_latch_stop_side_by_side(machines):
    fork, base, latch = machines("fork", hangs="stop"), machines("base"), SafetyLatch()
    _, first_run = moving(fork, latch=latch)
    _, second_run = moving(base, latch=latch)
    tripping = threading.Thread(target=latch.trip, args=["stop"])
    tripping.start()
    assert base.hears("stop")
    tripping.join(FAR_S)
    assert not tripping.is_alive()
    for handle in (first_run, second_run):
        assert handle.wait(FAR_S)


def test_a_listener_of_the_latch_that_hangs_holds_no_stop(machines):
    latch, gate = SafetyLatch(), threading.Event()
    latch.subscribe(lambda state, reason: gate.wait(30))
    base = machines("base")
    _, handle = moving(base, latch=latch)
    tripping = threading.Thread(target=latch.trip, args=["stop"])
    tripping.start()
    try:
        assert base.hears("stop")
        assert handle.wait(FAR_S)
    finally:
        gate.set()
        tripping.join(LIMIT_S)


def test_a_subscriber_that_hangs_does_not_hold_an_abort_from_what_moves(machines):
    base, inside, gate = machines("base"), threading.Event(), threading.Event()
    agent, handle = moving(base)

    def hang(event):
        if event.kind == "tool_execution_update":
            inside.set()
            gate.wait(30)

    agent.subscribe(hang)
    goal = next(iter(handle.goals.values()))
    goal.set_progress("1 m")
    opened(inside)
    try:
        assert agent.abort()
        assert base.hears("stop")
        assert opened(base.cancelled)
    finally:
        gate.set()
    ends(handle, "aborted", "user")


def test_a_time_out_stops_what_moves_though_its_stop_hangs(machines):
    fork = machines("fork", hangs="stop", timeout_s=0.05)
    _, handle = moving(fork)
    assert handle.wait(FAR_S)
    assert statuses(handle.result(LIMIT_S)) == ["timed_out"]
    assert opened(fork.cancelled)


def test_a_goal_that_is_cancelled_by_its_handle_holds_nobody(machines):
    fork = machines("fork", hangs="stop")
    _, handle = moving(fork)
    goal = next(iter(handle.goals.values()))
    began_s = time.monotonic()
    assert goal.cancel() is True
    assert time.monotonic() - began_s < FAR_S
    assert goal.wait(LIMIT_S)
    assert goal.state == "cancelled"


@pytest.mark.parametrize("grace_s", [0, 0.02])
def test_the_grace_of_bodies_does_not_shorten_the_actuators_limit(machines, grace_s):
    latch = SafetyLatch()

    def stop():
        threading.Event().wait(0.1)

    @skill(stop=stop)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        goal.cancel_event.wait(LIMIT_S)
        return "halted"

    llm = ScriptedLLM([call("drive")], "x")
    agent = Agent("a", llm=llm, tools=[drive], latch=latch, options=Options(abort_grace_s=grace_s))
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    agent.abort("safety_stop")
    handle.result(LIMIT_S)
    assert latch.state == "free"


# --- holds ----------------------------------------------------------------------------------------------------------


def test_a_pause_that_hangs_holds_neither_the_other_actuators_nor_the_release(machines):
    fork, base, latch = machines("fork", hangs="pause", waits=True), machines("base", waits=True), SafetyLatch()
    _, handle = moving(fork, base, latch=latch)
    began_s = time.monotonic()
    latch.hold("stop word")
    assert base.hears("pause")
    latch.release()
    assert base.hears("pause", "resume")
    assert time.monotonic() - began_s < FAR_S
    assert opened(fork.cancelled), "nobody knows whether it stands, so it is stopped"
    assert fork.hears("pause", "stop")
    assert not base.cancelled.is_set()
    latch.trip("the end")
    assert handle.wait(FAR_S)
    assert [text for text in notices(handle) if "fork" in text and "pause" in text]


@pytest.mark.parametrize("word", ["pause", "resume"])
def test_a_goal_whose_pause_or_resume_raises_is_stopped(machines, word):
    fork, base, latch = machines("fork", raises=word, waits=True), machines("base", waits=True), SafetyLatch()
    _, handle = moving(fork, base, latch=latch)
    latch.hold("wait")
    latch.release()
    assert opened(fork.cancelled), "nobody knows whether it stands, so it is stopped"
    with fork.heard:
        assert fork.heard.wait_for(lambda: fork.told[-1] == "stop", LIMIT_S)
    assert not base.cancelled.is_set()
    assert latch.state == "free"
    latch.trip("the end")
    assert handle.wait(FAR_S)
    assert [text for text in notices(handle) if "fork" in text and word in text]


def test_a_body_whose_start_is_being_told_does_not_begin_under_a_hold():
    latch, begun, states = SafetyLatch(), threading.Event(), []

    @skill(stop=begun.set, pause=lambda: None, resume=lambda: None)
    def drive(goal: GoalHandle) -> str:
        """Drives from its first step on."""
        states.append(str(latch.state))
        begun.set()
        return "there"

    def hold(event):
        if event.kind == "tool_execution_start":
            latch.hold("wait")

    agent = Agent("a", llm=ScriptedLLM([call("drive")], "x"), tools=[drive], latch=latch)
    agent.subscribe(hold)
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    begun.wait(0.3)  # time for a body that would not wait
    latch.release()
    assert statuses(handle.result(LIMIT_S)) == ["ok"]
    assert states == ["free"]


def test_a_hold_in_two_agents_on_one_latch_is_side_by_side(machines):
    fork, base, latch = machines("fork", hangs="pause", waits=True), machines("base", waits=True), SafetyLatch()
    _, first_run = moving(fork, latch=latch)
    _, second_run = moving(base, latch=latch)
    holding = threading.Thread(target=latch.hold, args=["stop word"])
    holding.start()
    assert base.hears("pause")
    holding.join(FAR_S)
    assert not holding.is_alive()
    latch.trip("the end")
    for handle in (first_run, second_run):
        assert handle.wait(FAR_S)


def test_a_resume_that_comes_back_after_the_stop_is_followed_by_another_stop(machines):
    base, latch = machines("base", hangs="resume", waits=True), SafetyLatch()
    _, handle = moving(base, latch=latch)
    latch.hold("stop word")
    releasing = threading.Thread(target=latch.release)
    releasing.start()
    assert base.hears("pause", "resume")
    latch.trip("stop")
    assert base.hears("pause", "resume", "stop")
    base.gate.set()
    assert base.hears("pause", "resume", "stop", "stop"), "the resume may have let it go on"
    releasing.join(LIMIT_S)
    assert handle.wait(FAR_S)


@pytest.mark.parametrize("way_out", ["stop", "resume"])
def test_what_is_held_when_its_body_ends_is_stopped_or_else_resumed(way_out):
    """Nobody lets it go on later: the goal is over when the latch is released."""
    latch, told = SafetyLatch(), []

    @skill(
        stop=(lambda: told.append("stop")) if way_out == "stop" else None,
        pause=lambda: told.append("pause"),
        resume=lambda: told.append("resume"),
    )
    def drive(goal: GoalHandle) -> str:
        """Has arrived when somebody speaks."""
        latch.hold("wait")
        return "there"

    agent = Agent("a", llm=ScriptedLLM([call("drive")], "x"), tools=[drive], latch=latch)
    assert statuses(agent.start("go").result(LIMIT_S)) == ["ok"]
    assert told == ["pause", way_out]
    latch.release()
    assert told == ["pause", way_out]


@pytest.mark.parametrize("told", [["stop", "pause", "stop"], ["pause", "resume"]])
def test_a_pause_that_is_still_being_made_when_its_goal_ends_does_not_hold_what_comes_next(told):
    heard, pausing, go_on, ended = [], threading.Event(), threading.Event(), threading.Semaphore(0)

    def pause():
        pausing.set()
        go_on.wait(LIMIT_S)
        heard.append("pause")

    def end():
        heard.append(told[-1])
        ended.release()

    goal = GoalHandle(stop=end if "stop" in told else None, pause=pause, resume=end)
    ending = [threading.Thread(target=goal.pause), threading.Thread(target=goal.finish, args=["succeeded"])]
    ending[0].start()
    assert pausing.wait(LIMIT_S)
    ending[1].start()
    assert goal.wait(LIMIT_S)
    if "stop" in told:
        assert ended.acquire(timeout=LIMIT_S), "made beside the pause"
    go_on.set()
    assert ended.acquire(timeout=LIMIT_S)
    assert heard == told
    for thread in ending:
        thread.join(LIMIT_S)


# --- threads --------------------------------------------------------------------------------------------------------


def test_the_threads_of_a_stop_exist_before_they_are_needed(machines, monkeypatch):
    fork, base = machines("fork"), machines("base")
    agent, handle = moving(fork, base)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        agent.abort("safety_stop")
        assert (fork.told, base.told) == (["stop"], ["stop"])
    ends(handle, "aborted", "safety_stop")


def refuse(thread):
    raise RuntimeError("can't start new thread")


def test_a_stop_without_a_thread_is_called_in_line_and_last(monkeypatch):
    reserve, none_left, stands, stopped_on = Threads.reserve, [True], threading.Event(), {}
    monkeypatch.setattr(Threads, "reserve", lambda pool: None if none_left[0] else reserve(pool))

    def stop_fork():
        stopped_on["fork"] = threading.current_thread()
        opened(stands)

    def stop_base():
        stopped_on["base"] = threading.current_thread()
        stands.set()

    def machine(name, stop):
        @skill(name=name, on_interrupt="detach", stop=stop)
        def move(goal: GoalHandle) -> str:
            """Moves."""
            goal.cancel_event.wait(LIMIT_S)
            return "halted"

        return move

    tools = [machine("fork", stop_fork), machine("base", stop_base)]
    agent = Agent("a", llm=ScriptedLLM([call("fork")], [call("base")], "x"), tools=tools)
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    agent.abort()
    ends(handle, "aborted", "user")
    none_left[0] = False
    handle = agent.start("go on")
    first(handle, "tool_execution_start")
    none_left[0] = True
    agent.abort("safety_stop")
    ends(handle, "aborted", "safety_stop")
    assert stopped_on["fork"] is threading.current_thread(), "and the base was stopped before it"
    assert stopped_on["base"] is not threading.current_thread()


def test_goals_leave_no_thread_behind():
    @skill(stop=lambda: None, pause=lambda: None, resume=lambda: None)
    def step() -> str:
        """Steps."""
        return "stepped"

    before = threading.active_count()
    agent = Agent("a", llm=ScriptedLLM(*[[call("step")], "done"] * 50), tools=[step])
    for _ in range(50):
        assert agent.run("go").reason == "completed"
    until(lambda: threading.active_count() <= before)
