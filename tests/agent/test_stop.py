"""Stopping: at once, truthfully, and without waiting for what does not come back."""

import threading
import time

import pytest

from edgeagent import Agent, BusyError, FirePoint, GoalHandle, HookResult, Options, ToolContext, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At


def started(handle, name=None):
    """Waits for the first tool to start."""
    return next(e for e in handle.events() if e.kind == "tool_execution_start" and name in (None, e.call.name))


@tool(read_only=True)
def watch(ctx: ToolContext) -> str:
    """Waits until it is stopped."""
    ctx.stop_event.wait(LIMIT_S)
    return "saw nothing"


@skill
def move(goal: GoalHandle) -> str:
    """Moves until it is cancelled."""
    while not goal.cancel_event.wait(0.01):
        pass
    goal.checkpoint()
    return "arrived"


def test_abort_after_the_fifth_token_lets_at_most_one_more_out():
    llm = ScriptedLLM(" ".join(["word"] * 100), token_delay_s=0.02)
    agent = Agent("a", llm=llm)
    handle = agent.start("talk")
    updates = 0
    for event in handle.events():
        updates += event.kind == "message_update"
        if updates == 5:
            assert agent.abort()
            break
    result = handle.result(LIMIT_S)
    assert llm.emitted <= 6
    assert (result.reason, result.abort_reason) == ("aborted", "user")
    assert result.reply.split() == ["word"] * llm.emitted
    assert result.messages[-1].text == result.reply, "what was said is kept"
    assert handle.state == "cancelled"


def test_a_model_that_does_not_heed_the_stop_is_left_after_one_more_token():
    class Deaf(ScriptedLLM):
        """Streams on whatever is stopped."""

        def stream(self, request, stop_event):
            return super().stream(request, threading.Event())

    llm = Deaf(" ".join(["word"] * 100))
    agent = Agent("a", llm=llm)
    told = []

    def fifth(event):
        told.append(event.kind)
        if told.count("message_update") == 5:
            agent.abort()

    agent.subscribe(fifth)
    result = agent.run("talk")
    assert (result.reason, told.count("message_update")) == ("aborted", 6)
    assert result.messages[-1].text.split() == ["word"] * 6
    assert llm.emitted <= 7


def test_a_run_that_is_stopped_before_its_request_makes_none():
    handed_over = []
    options = Options(
        transform_context=lambda messages: (agent.abort(), messages)[1],
        convert_messages=lambda messages: handed_over.append(len(messages)) or messages,
    )
    agent = Agent("a", llm=ScriptedLLM("hi"), options=options)
    assert agent.run("x").reason == "aborted"
    assert handed_over == [], "with a long history even that takes its time"


agents: list[Agent] = []
"""For callbacks that are made before their agent."""


@pytest.mark.parametrize(
    "keywords",
    [
        {"hooks": [At(FirePoint.BEFORE_LLM, does=lambda ctx, p: ctx.stop_event.set())]},
        {"options": Options(get_ephemeral_messages=lambda: agents[-1].abort() and ())},
        {"options": Options(convert_messages=lambda messages: agents[-1].abort() and messages)},
    ],
)
def test_a_stop_before_the_stream_is_no_error_and_asks_no_model(keywords, shorthand):
    agent = Agent("a", llm=ScriptedLLM("never"), **keywords)
    agents.append(agent)
    handle = agent.start("x")
    assert handle.result(LIMIT_S).reason == "aborted"
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) TE AE(aborted)"
    assert agent.llm.requests == []


def test_an_abort_is_not_remembered_for_a_later_run():
    agent = Agent("a", llm=ScriptedLLM("hi"))
    assert agent.abort() is False
    assert agent.run("x").reason == "completed"


def test_the_callers_stop_event_aborts():
    stop = threading.Event()
    handle = Agent("a", llm=ScriptedLLM([call("watch")], "x"), tools=[watch]).start("go", stop_event=stop)
    started(handle)
    stop.set()
    result = handle.result(LIMIT_S)
    assert (result.reason, result.tool_calls[0].result.status) == ("aborted", "interrupted")


def test_abort_during_the_first_of_three_sequential_calls():
    llm = ScriptedLLM([call("move"), call("move"), call("watch")], "x")
    agent = Agent("a", llm=llm, tools=[move, watch])
    handle = agent.start("go")
    started(handle)
    agent.abort()
    result = handle.result(LIMIT_S)
    assert [c.result.status for c in result.tool_calls] == ["interrupted", "not_run", "not_run"]
    assert len([m for m in result.messages if m.role == "tool"]) == 3, "every call has exactly one result"
    assert llm.remaining == 1


def test_a_tool_that_changes_something_is_waited_for():
    release = threading.Event()

    @tool
    def write() -> str:
        """Writes."""
        release.wait(LIMIT_S)
        return "written"

    agent = Agent("a", llm=ScriptedLLM([call("write")], "x"), tools=[write])
    handle = agent.start("go")
    started(handle)
    agent.abort()
    assert not handle.wait(0.1)
    release.set()
    result = handle.result(LIMIT_S)
    assert (result.reason, result.tool_calls[0].result.status) == ("aborted", "ok")


def test_a_safety_stop_interrupts_that_tool_too_and_reaches_the_actuator_before_it_returns():
    stopped_on = []

    @skill(stop=lambda: stopped_on.append(threading.current_thread().name))
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        goal.cancel_event.wait(LIMIT_S)
        return "halted"

    agent = Agent("a", llm=ScriptedLLM([call("drive")], "x"), tools=[drive])
    handle = agent.start("go")
    started(handle)
    agent.follow_up("later")
    agent.abort("safety_stop")
    assert stopped_on == ["stop-drive"]
    result = handle.result(LIMIT_S)
    assert result.abort_reason == "safety_stop"
    assert (result.tool_calls[0].result.status, result.tool_calls[0].result.text) == (
        "interrupted",
        "stopped for safety: halted",
    )
    assert not agent.has_pending, "a safety stop empties the queues"
    assert len(stopped_on) == 1


def test_who_does_not_come_back_in_time_has_an_unknown_outcome_and_delays_nobody():
    release = threading.Event()

    @tool(read_only=True, resources=("camera",))
    def hang() -> str:
        """Hangs."""
        release.wait(LIMIT_S)
        return "late"

    @tool(resources=("camera",))
    def picture() -> str:
        """Takes a picture."""
        return "click"

    llm = ScriptedLLM([call("hang")], [call("picture")], "blocked", [call("picture")], "ok")
    agent = Agent("a", llm=llm, tools=[hang, picture], options=Options(abort_grace_s=0.05))
    handle = agent.start("go")
    started(handle)
    agent.abort()
    assert handle.result(LIMIT_S).tool_calls[0].result.status == "outcome_unknown"

    blocked = agent.run("take a picture").tool_calls[0].result
    assert (blocked.status, blocked.text) == ("blocked", "camera is still busy with hang")
    release.set()
    while agent._workers.abandoned:
        threading.Event().wait(0.01)
    assert agent.run("take a picture").tool_calls[0].result.text == "click"


def test_a_tool_over_its_time_is_reported_and_its_late_result_dropped():
    release = threading.Event()

    @tool(timeout_s=0.05)
    def slow() -> str:
        """Slow."""
        release.wait(LIMIT_S)
        return "late"

    @tool
    def quick() -> str:
        """Quick."""
        return "quick"

    begin = time.monotonic()
    result = Agent("a", llm=ScriptedLLM([call("slow"), call("quick")], "ok"), tools=[slow, quick]).run("go")
    assert time.monotonic() - begin < LIMIT_S / 2
    release.set()
    assert [(c.result.status, c.result.text) for c in result.tool_calls] == [
        ("timed_out", "slow took longer than 0.05 s"),
        ("ok", "quick"),
    ]


def test_the_deadline_aborts():
    result = Agent("a", llm=ScriptedLLM([call("watch")], "x"), tools=[watch], options=Options(deadline_s=0.05)).run(
        "go"
    )
    assert (result.reason, result.abort_reason) == ("aborted", "deadline")


def test_after_turn_lets_the_turn_end():
    @tool
    def step() -> str:
        """Steps."""
        agent.abort("enough", mode="after_turn")
        return "stepped"

    llm = ScriptedLLM([call("step")], "never")
    agent = Agent("a", llm=llm, tools=[step])
    result = agent.run("go")
    assert (result.reason, result.abort_reason, result.tool_calls[0].result.text) == ("aborted", "enough", "stepped")
    assert llm.remaining == 1


@pytest.mark.parametrize("mode", ["now", "after_turn"])
def test_an_abort_during_the_batch_counts_although_its_tools_or_a_hook_end_the_run(mode):
    @tool(read_only=True, terminate=True)
    def tell() -> str:
        """Tells."""
        assert agent.abort("mine", mode=mode)
        return "told"

    end = At(FirePoint.AFTER_TOOL, does=lambda ctx, p: HookResult.end_turn("enough"))
    for hooks in ([], [end]):
        agent = Agent("a", llm=ScriptedLLM([call("tell")], "never"), tools=[tell], hooks=hooks)
        result = agent.run("go")
        assert (result.reason, result.abort_reason) == ("aborted", "mine")
        assert (result.messages[-1].role == "assistant") is (mode == "after_turn"), "what ends the turn belongs to it"


def test_a_deadline_during_the_batch_counts_although_its_tools_end_the_run():
    @tool(terminate=True)
    def tell(ctx: ToolContext) -> str:
        """Tells, when it is over."""
        ctx.agent.stop_event.wait(LIMIT_S)
        return "told"

    options = Options(deadline_s=0.05)
    result = Agent("a", llm=ScriptedLLM([call("tell")], "never"), tools=[tell], options=options).run("go")
    assert (result.reason, result.abort_reason, result.reply) == ("aborted", "deadline", "")


def test_a_second_run_of_a_busy_agent_is_refused():
    agent = Agent("a", llm=ScriptedLLM([call("watch")], "x"), tools=[watch])
    handle = agent.start("go")
    started(handle)
    with pytest.raises(BusyError, match="in the middle of a run"):
        agent.start("again")
    with pytest.raises(BusyError):
        agent.reset()
    handle.cancel()
    handle.result(LIMIT_S)
    agent.reset()


def test_a_goal_can_be_cancelled_through_the_handle():
    agent = Agent("a", llm=ScriptedLLM([call("move")], "stopped"), tools=[move])
    handle = agent.start("go")
    call_id = started(handle).call.id
    goal = handle.goals[call_id]
    assert goal.state == "running"
    assert goal.cancel() is True
    assert goal.cancel() is False
    result = handle.result(LIMIT_S)
    assert (result.reason, result.tool_calls[0].result.status) == ("completed", "interrupted")
    assert goal.state == "cancelled"


def test_after_a_skill_that_failed_later_motion_of_the_reply_is_not_run():
    @skill
    def back_up() -> str:
        """Backs up."""
        from edgeagent import ToolResult

        return ToolResult.error("blocked by a wall")

    @tool(motion=True)
    def turn() -> str:
        """Turns."""
        return "turned"

    @tool
    def light() -> str:
        """Lights."""
        return "on"

    llm = ScriptedLLM([call("back_up"), call("turn"), call("light")], "hm")
    result = Agent("a", llm=llm, tools=[back_up, turn, light]).run("go")
    assert [c.result.status for c in result.tool_calls] == ["error", "not_run", "ok"]
    assert "back_up did not succeed" in result.tool_calls[1].result.text


def test_a_tripped_latch_blocks_motion_only():
    latch = SafetyLatch()
    latch.trip("test")

    @tool
    def look() -> str:
        """Looks."""
        return "seen"

    agent = Agent("a", llm=ScriptedLLM([call("move"), call("look")], "x"), tools=[move, look], latch=latch)
    result = agent.run("go")
    assert [c.result.status for c in result.tool_calls] == ["blocked", "ok"]
    assert "stopped for safety" in result.tool_calls[0].result.text


def test_two_agents_on_one_model_do_not_mix_and_aborting_one_does_not_wait_for_the_other():
    llm = ScriptedLLM(" ".join(["long"] * 200), "short", token_delay_s=0.02)
    first, second = Agent("first", llm=llm), Agent("second", llm=llm)
    running = first.start("a")
    next(e for e in running.events() if e.kind == "message_update")
    waiting = second.start("b")
    next(e for e in waiting.events() if e.kind == "message_start" and e.message.role == "assistant")
    second.abort()
    assert waiting.result(LIMIT_S).reason == "aborted"
    assert running.state == "running"
    first.abort()
    assert running.result(LIMIT_S).reason == "aborted"
    assert [[m.text for m in r.messages] for r in llm.requests] == [["a"]], "an aborted waiter leaves the queue"


def test_a_goal_of_a_plain_tool_is_cancelled_by_an_abort():
    @tool(on_interrupt="cancel")
    def count(goal: GoalHandle) -> str:
        """Counts."""
        while not goal.cancel_event.wait(0.01):
            pass
        goal.checkpoint()
        return "counted"

    agent = Agent("a", llm=ScriptedLLM([call("count")], "x"), tools=[count])
    handle = agent.start("go")
    started(handle)
    agent.abort()
    (made,) = handle.result(LIMIT_S).tool_calls
    assert made.result.status == "interrupted"
    assert [goal.state for goal in handle.goals.values()] == ["cancelled"]


def test_a_method_of_the_same_class_stops_what_a_method_moves():
    class Base:
        def __init__(self):
            self.told = []

        @tool
        def halt(self) -> None:
            """Halts, as a tool too."""
            self.told.append("halted")

        @skill(stop=halt, pause=lambda self: self.told.append("paused"), resume=print)
        def drive(self, goal: GoalHandle) -> str:
            """Drives."""
            goal.cancel_event.wait(LIMIT_S)
            return "drove"

    base, other = Base(), Base()
    agent = Agent("a", llm=ScriptedLLM([call("drive")], "x"), tools=[base.drive])
    assert other.drive.resume is print
    handle = agent.start("go")
    started(handle)
    (goal,) = handle.goals.values()
    assert goal.pause()
    agent.abort()
    handle.result(LIMIT_S)
    assert (base.told, other.told) == (["paused", "halted"], [])


def test_feedback_reaches_the_body_of_a_goal_in_the_order_given():
    @skill
    def paint(goal: GoalHandle) -> list[str]:
        """Paints as it is told."""
        heard = [goal.feedback()]
        goal.set_progress("ready")
        while len(heard) < 3:
            goal.cancel_event.wait(0.005)
            heard += [one for one in [goal.feedback()] if one is not None]
        return heard

    agent = Agent("a", llm=ScriptedLLM([call("paint")], "x"), tools=[paint])
    handle = agent.start("go")
    next(event for event in handle.events() if event.kind == "tool_execution_update")
    (goal,) = handle.goals.values()
    goal.give_feedback("darker")
    goal.give_feedback("wider")
    assert handle.result(LIMIT_S).tool_calls[0].result.value == [None, "darker", "wider"]
