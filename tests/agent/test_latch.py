"""The safety latch against what moves in a run: hold, release, trip, re-arm, and bodies that never come back."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from edgeagent import Agent, FirePoint, GoalHandle, HookResult, Options, ToolContext, ToolResult, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, first, opened, statuses


class Motor:
    """A skill that runs until its gate opens, with an actuator that notes what it is told."""

    def __init__(self, *, waits: bool):
        self.gate = threading.Event()
        self.told: list[str] = []
        self.heard = threading.Semaphore(0)
        keywords = {"pause": self.note("pause"), "resume": self.note("resume")} if waits else {}

        @skill(resources=("base",), stop=self.note("stop"), **keywords)
        def drive(goal: GoalHandle) -> str:
            """Drives."""
            while not self.gate.wait(0.005):
                goal.checkpoint()
            goal.checkpoint()
            return "arrived"

        self.drive = drive

    def note(self, word):
        def tell():
            self.told.append(word)
            self.heard.release()

        return tell


@tool(read_only=True)
def look() -> str:
    """Looks."""
    return "seen"


def moving(motor, *replies, **options):
    """A run whose skill moves: the agent, the latch, the run."""
    latch = SafetyLatch()
    llm = ScriptedLLM([call("drive")], *replies)
    agent = Agent("a", llm=llm, tools=[motor.drive, look], latch=latch, options=Options(**options))
    handle = agent.start("go")
    started = first(handle, "tool_execution_start")
    goal = handle.goals[started.call.id]
    return agent, latch, handle, goal


def test_a_hold_pauses_a_skill_that_can_wait_and_a_release_lets_it_go_on():
    motor = Motor(waits=True)
    _, latch, handle, goal = moving(motor, "there")
    latch.hold("stop word")
    assert motor.told == ["pause"], "before hold returns"
    motor.gate.set()
    assert not goal.wait(0.1), "it is held at its checkpoint"
    latch.release()
    result = ends(handle, "completed")
    assert motor.told == ["pause", "resume"]
    assert (statuses(result), result.tool_calls[0].result.text) == (["ok"], "arrived")


def test_a_hold_stops_a_skill_that_cannot_wait():
    motor = Motor(waits=False)
    agent, latch, handle, goal = moving(motor, "stopped")
    latch.hold("stop word")
    assert motor.told == ["stop"]
    result = ends(handle, "completed")
    assert (statuses(result), result.reply, goal.state) == (["interrupted"], "stopped", "cancelled")
    assert "safety" in result.tool_calls[0].result.text
    assert agent.llm.remaining == 0


def test_a_trip_cancels_what_moves_and_a_trip_during_a_hold_too():
    for waits in (False, True):
        motor = Motor(waits=waits)
        _, latch, handle, goal = moving(motor, "never")
        if waits:
            latch.hold("stop word")
        latch.trip("stop")
        assert motor.told[-1] == "stop", "on the caller's thread, before trip returns"
        assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
        assert goal.state == "cancelled"


def test_what_does_not_move_is_not_touched():
    gate, watching = threading.Event(), threading.Event()

    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        watching.set()
        opened(gate)
        return f"stopped: {ctx.should_stop()}"

    @skill(motion=False)
    def think(goal: GoalHandle) -> str:
        """Thinks."""
        goal.checkpoint()
        return "thought"

    latch = SafetyLatch()
    agent = Agent("a", llm=ScriptedLLM([call("watch"), call("think")], "x"), tools=[watch, think], latch=latch)
    handle = agent.start("go")
    opened(watching)
    latch.trip("stop")
    gate.set()
    result = ends(handle, "completed")
    assert [made.result.text for made in result.tool_calls] == ["stopped: False", "thought"]


def test_while_tripped_motion_is_blocked_and_after_re_arming_it_runs():
    motor = Motor(waits=True)
    motor.gate.set()

    @tool(motion=True)
    def wave() -> str:
        """Waves."""
        return "waved"

    latch = SafetyLatch()
    llm = ScriptedLLM([call("wave"), call("look"), call("drive")], "no", [call("drive")], "yes")
    agent = Agent("a", llm=llm, tools=[motor.drive, look, wave], latch=latch)
    latch.trip("stop was said")
    result = agent.run("go")
    assert statuses(result) == ["blocked", "ok", "blocked"]
    assert "stop was said" in result.tool_calls[0].result.text
    latch.rearm()
    assert statuses(agent.run("go")) == ["ok"]


def test_a_motion_call_waits_while_held_and_starts_when_released(shorthand):
    motor = Motor(waits=True)
    motor.gate.set()
    latch = SafetyLatch()
    latch.hold("stop word")
    agent = Agent("a", llm=ScriptedLLM([call("look"), call("drive")], "ok"), tools=[motor.drive, look], latch=latch)
    handle = agent.start("go")
    first(handle, "tool_execution_end", tool="look")
    assert not handle.wait(0.1)
    assert motor.told == [], "it has not begun, so there is nothing to pause"
    latch.release()
    assert statuses(ends(handle, "completed")) == ["ok", "ok"]
    assert shorthand(handle.events()).count("XS") == 2


def test_a_trip_blocks_a_call_that_waits_at_a_held_latch():
    motor, latch = Motor(waits=True), SafetyLatch()
    latch.hold("stop word")
    waiting = threading.Event()
    near = At(FirePoint.BEFORE_TOOL, does=lambda ctx, p: waiting.set())
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "no"), tools=[motor.drive], latch=latch, hooks=[near])
    handle = agent.start("go")
    opened(waiting)
    assert not handle.wait(0.1)
    latch.trip("stop was said")
    result = ends(handle, "completed")
    assert statuses(result) == ["blocked"]
    assert "stop was said" in result.tool_calls[0].result.text


@pytest.mark.parametrize("reason", ["user", "safety_stop"])
def test_an_abort_ends_the_wait_at_a_held_latch(reason):
    motor, latch = Motor(waits=True), SafetyLatch()
    latch.hold("stop word")
    waiting = threading.Event()
    near = At(FirePoint.BEFORE_TOOL, does=lambda ctx, p: waiting.set())
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "never"), tools=[motor.drive], latch=latch, hooks=[near])
    handle = agent.start("go")
    opened(waiting)
    agent.abort(reason)
    assert statuses(ends(handle, "aborted", reason)) == ["not_run"]


def test_a_held_skill_is_stopped_by_an_abort():
    motor = Motor(waits=True)
    agent, latch, handle, goal = moving(motor, "never")
    latch.hold("stop word")
    agent.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]
    assert motor.told == ["pause", "stop"]
    assert goal.state == "cancelled"


def test_a_latch_that_is_held_and_released_at_once_loses_nothing():
    motor = Motor(waits=True)
    _, latch, handle, _goal = moving(motor, "there")
    for _ in range(50):
        latch.hold("word")
        latch.release()
    motor.gate.set()
    assert statuses(ends(handle, "completed")) == ["ok"]
    assert motor.told[-1] == "resume"
    assert motor.told.count("pause") == motor.told.count("resume")


def test_holds_and_releases_of_two_threads_leave_the_skill_as_the_latch_says():
    motor = Motor(waits=True)
    _, latch, handle, _goal = moving(motor, "there")

    def shake():
        for _ in range(200):
            latch.hold("word")
            latch.release()

    threads = [threading.Thread(target=shake) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    latch.release()
    motor.gate.set()
    assert statuses(ends(handle, "completed")) == ["ok"]


def test_a_trip_reaches_a_target_that_was_handed_over_to():
    motor, latch = Motor(waits=False), SafetyLatch()
    driver = Agent("driver", llm=ScriptedLLM([call("drive")], "stopped"), tools=[motor.drive])
    router = Agent("router", llm=ScriptedLLM([call("handoff_to_driver")]), handoffs=[driver], latch=latch)
    handle = router.start("go")
    first(handle, "tool_execution_start", tool="drive")
    latch.trip("stop")
    assert statuses(ends(handle, "aborted", "safety_stop")) == ["ok", "interrupted"]


def test_a_call_that_a_hook_made_a_skill_of_obeys_abort_and_latch():
    motor, latch = Motor(waits=False), SafetyLatch()

    def rewrite(ctx, p):
        return HookResult.replace(replace(p, call=replace(p.call, name="drive", arguments={})))

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("look")], "stopped"),
        tools=[motor.drive, look],
        latch=latch,
        hooks=[At(FirePoint.BEFORE_TOOL, does=rewrite)],
        options=Options(abort_grace_s=0.2),
    )
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    try:
        latch.trip("stop")
        assert motor.told == ["stop"]
        assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
    finally:
        motor.gate.set()
        assert handle.wait(LIMIT_S)


def test_a_call_that_a_hook_made_need_a_resource_waits_for_it():
    now, peak, lock = [0], [0], threading.Lock()

    def busy():
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        threading.Event().wait(0.05)
        with lock:
            now[0] -= 1

    @tool(resources=("arm",))
    def grip() -> str:
        """Grips."""
        busy()
        return "gripped"

    def rewrite(ctx, p):
        if p.call.name == "look":
            return HookResult.replace(replace(p, call=replace(p.call, name="grip")))
        return None

    hook = At(FirePoint.BEFORE_TOOL, does=rewrite)
    agent = Agent("a", llm=ScriptedLLM([call("grip"), call("look")], "ok"), tools=[grip, look], hooks=[hook])
    assert statuses(agent.run("go")) == ["ok", "ok"]
    assert peak == [1]


@pytest.mark.parametrize("moves", [False, True])
def test_sixteen_bodies_that_never_came_back_block_and_trip_if_one_moves(moves):
    gate, latch = threading.Event(), SafetyLatch()

    @tool(timeout_s=0.02)
    def stuck(n: int) -> str:
        """Sticks."""
        opened(gate)
        return ""

    @tool(timeout_s=0.02, motion=True)
    def wave() -> str:
        """Waves, for ever."""
        opened(gate)
        return ""

    calls = [call("stuck", n=i) for i in range(15)] + [call("wave") if moves else call("stuck", n=15)]
    llm = ScriptedLLM(calls, [call("look")], "x")
    agent = Agent("a", llm=llm, tools=[stuck, wave, look], latch=latch)
    try:
        result = ends(agent.start("go"), "completed")
        assert statuses(result) == ["timed_out"] * 16 + ["blocked"]
        assert calls_are_answered(result.messages)
        assert latch.state == ("tripped" if moves else "free")
    finally:
        gate.set()


def test_the_robot_that_could_not_back_up_does_not_turn_and_says_why():
    @skill
    def back_up(m: float) -> ToolResult:
        """Backs up."""
        return ToolResult.error("blocked by a wall")

    @skill
    def turn_around() -> str:
        """Turns."""
        return "turned"

    @skill
    def drive(m: float) -> str:
        """Drives."""
        return "drove"

    calls = [call("back_up", m=1), call("turn_around"), call("drive", m=2)]
    llm = ScriptedLLM(calls, lambda request: request.messages[-1].text)
    result = Agent("a", llm=llm, tools=[back_up, turn_around, drive]).run("go")
    assert statuses(result) == ["error", "not_run", "not_run"]
    assert "back_up" in result.reply
    assert result.tool_calls[0].result.text == "blocked by a wall"


def test_a_stop_word_while_a_skill_moves_ends_the_run_without_a_model_call():
    motor = Motor(waits=True)
    agent, latch, handle, _ = moving(motor, "never", [call("drive")], "it is off")
    latch.trip("stop word")
    agent.abort("safety_stop")
    assert motor.told == ["stop"]
    assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
    assert len(agent.llm.requests) == 1
    agent.llm._next += 1
    assert statuses(agent.run("drive on")) == ["blocked"]


def test_a_trip_while_a_person_is_asked_blocks_the_call_at_once():
    latch, asked, gate = SafetyLatch(), threading.Event(), threading.Event()

    @skill(destructive=True, stop=lambda: told.append("stop"))
    def saw() -> str:
        """Saws."""
        raise NotImplementedError

    def confirm(name, arguments):
        asked.set()
        return opened(gate)

    told = []
    options = Options(confirm=confirm, abort_grace_s=0.05)
    agent = Agent("a", llm=ScriptedLLM([call("saw")], "no"), tools=[saw], latch=latch, options=options)
    handle = agent.start("go")
    opened(asked)
    latch.trip("stop was said")
    try:
        assert handle.wait(1), "the answer does not matter any more"
        result = ends(handle, "completed")
        assert (statuses(result), told) == (["blocked"], [])
        assert "stop was said" in result.tool_calls[0].result.text
    finally:
        gate.set()


def test_a_hold_while_a_person_is_asked_makes_the_skill_wait_before_it_begins():
    motor, latch = Motor(waits=False), SafetyLatch()
    motor.gate.set()
    drive = skill(destructive=True)(motor.drive.function)
    asked = threading.Event()

    def confirm(name, arguments):
        latch.hold("stop word")
        asked.set()
        return True

    options = Options(confirm=confirm)
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "ok"), tools=[drive], latch=latch, options=options)
    handle = agent.start("go")
    opened(asked)
    assert not handle.wait(0.1)
    latch.release()
    assert statuses(ends(handle, "completed")) == ["ok"]


def test_a_trip_during_a_slow_hook_blocks_and_is_no_unknown_outcome():
    motor, latch = Motor(waits=False), SafetyLatch()
    inside, gate = threading.Event(), threading.Event()

    def slow(ctx, p):
        inside.set()
        opened(gate)

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("drive")], "no"),
        tools=[motor.drive],
        latch=latch,
        hooks=[At(FirePoint.BEFORE_TOOL, does=slow)],
        options=Options(abort_grace_s=0.02),
    )
    handle = agent.start("go")
    opened(inside)
    latch.trip("stop was said")
    try:
        assert not handle.wait(0.15)
    finally:
        gate.set()
    assert (statuses(ends(handle, "completed")), motor.told) == (["blocked"], [])
