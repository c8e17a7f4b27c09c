"""The cases of the contract's section 15 that need neither a session nor audio nor a model file, by their numbers."""

from __future__ import annotations

import threading
import time

import pytest

from edgeagent import Agent, GoalHandle, Options, PolicyViolationError, ToolContext, ToolMode, ToolResult, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, calls_are_answered, ends, first, opened, statuses, texts


@tool
def a(n: int = 0) -> str:
    """A."""
    return f"a{n}"


@tool
def b(n: int = 0) -> str:
    """B."""
    return f"b{n}"


def test_1_a_text(shorthand):
    handle = Agent("x", llm=ScriptedLLM("hello")).start("hi")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"


def test_2_a_call_then_a_text(shorthand):
    llm = ScriptedLLM([call("a")], "ok")
    handle = Agent("x", llm=llm, tools=[a]).start("hi")
    assert shorthand(handle.events()) == (
        "AS TS MS(u) ME(u) MS(a) ME(a) XS XE MS(t) ME(t) TE TS MS(a) MU+ ME(a) TE AE(completed)"
    )
    assert (llm.requests[1].messages[-1].role, llm.requests[1].messages[-1].text) == ("tool", "a0")


@pytest.mark.parametrize(
    ("reply", "reason"), [({"text": "", "error": "boom"}, "error"), ({"text": "", "stop": "aborted"}, "aborted")]
)
def test_3_a_stream_that_fails(reply, reason, shorthand):
    agent = Agent("x", llm=ScriptedLLM(reply, "never"))
    handle = agent.start("hi")
    assert shorthand(handle.events()) == f"AS TS MS(u) ME(u) MS(a) ME(a) AX TE AE({reason})"
    assert agent.llm.remaining == 1
    assert handle.result(LIMIT_S).reason == reason


def test_3_an_error_keeps_the_text_without_the_calls():
    llm = ScriptedLLM({"text": "let me", "calls": [call("a")], "error": "boom"})
    result = Agent("x", llm=llm, tools=[a]).run("hi")
    assert (result.reason, texts(result.messages)) == ("error", ["hi", "let me"])
    assert result.messages[-1].tool_calls == ()
    assert result.tool_calls == ()


class Overlap:
    """Tools that note the order in which they begin and end."""

    def __init__(self, parties):
        self.barrier = threading.Barrier(parties)
        self.order: list[str] = []

        @tool
        def read(name: str) -> str:
            """Reads."""
            self.order.append(f"+{name}")
            self.barrier.wait(LIMIT_S)
            self.order.append(f"-{name}")
            return name

        @skill
        def move(name: str) -> str:
            """Moves."""
            self.order.extend([f"+{name}", f"-{name}"])
            return name

        self.tools = [read, move]


def test_4_parallel_tools_overlap_and_a_skill_waits_for_them():
    seen = Overlap(2)
    calls = [call("read", name="1"), call("read", name="2"), call("move", name="m")]
    Agent("x", llm=ScriptedLLM(calls, "ok"), tools=seen.tools).run("hi")
    assert seen.order[-2:] == ["+m", "-m"]
    assert {word[0] for word in seen.order[:2]} == {"+"}, "both began before one ended"

    seen = Overlap(1)
    calls = [call("move", name="m"), call("read", name="1")]
    Agent("x", llm=ScriptedLLM(calls, "ok"), tools=seen.tools).run("hi")
    assert seen.order == ["+m", "-m", "+1", "-1"]


@pytest.mark.parametrize("mode", [ToolMode.BATCH, ToolMode.PARALLEL])
def test_5_calls_that_meet_at_a_barrier(mode):
    barrier, second = threading.Barrier(3), threading.Event()

    @tool
    def meet(n: int) -> str:
        """Meets."""
        barrier.wait(LIMIT_S)
        if n != 2:
            opened(second)
        return str(n)

    agent = Agent(
        "x",
        llm=ScriptedLLM([call("meet", n=n) for n in (1, 2, 3)], "ok"),
        tools=[meet],
        options=Options(tool_execution_mode=mode),
    )
    agent.subscribe(lambda e: second.set() if e.kind == "tool_execution_end" else None)
    handle = agent.start("hi")
    result = ends(handle, "completed")
    ended = [e.call.arguments["n"] for e in handle.events() if e.kind == "tool_execution_end"]
    assert ended[0] == 2, "events in the order in which they ended"
    assert texts(result.messages, "tool") == ["1", "2", "3"], "messages in the order asked"


def test_5_the_pool_is_bounded():
    now, peak, lock, barrier = [0], [0], threading.Lock(), threading.Barrier(4)

    @tool
    def work(n: int) -> str:
        """Works."""
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        barrier.wait(LIMIT_S)
        with lock:
            now[0] -= 1
        return ""

    llm = ScriptedLLM([call("work", n=n) for n in range(12)], "ok")
    Agent("x", llm=llm, tools=[work], options=Options(max_concurrent_tools=4)).run("hi")
    assert peak == [4]


def test_6_an_unknown_tool_and_arguments_that_do_not_parse():
    llm = ScriptedLLM([call("c")], [call.raw("a", '{"n":')], "sorry")
    handle = Agent("x", llm=llm, tools=[a, b]).start("hi")
    result = ends(handle, "completed")
    assert statuses(result) == ["unknown", "invalid"]
    assert "a, b" in result.tool_calls[0].result.text
    assert not [e for e in handle.events() if e.kind == "tool_execution_start"]
    assert len(llm.requests) == 3


def test_7_before_tool_call_blocks_or_raises():
    ran = []

    @tool
    def note(n: int) -> str:
        """Notes."""
        ran.append(n)
        return str(n)

    def before(made, stop_event):
        if made.arguments["n"] == 1:
            return ToolResult.blocked("not this")
        if made.arguments["n"] == 2:
            raise RuntimeError("broken")
        return None

    llm = ScriptedLLM([call("note", n=n) for n in (1, 2, 3)], "ok")
    result = Agent("x", llm=llm, tools=[note], options=Options(before_tool_call=before)).run("hi")
    assert (ran, statuses(result)) == ([3], ["blocked", "error", "ok"])
    assert texts(llm.requests[1].messages, "tool")[0] == "not this"


def test_8_a_tool_that_takes_too_long():
    gate = threading.Event()

    @tool(timeout_s=0.1)
    def slow() -> str:
        """Slow."""
        gate.wait(5)
        return "late"

    agent = Agent("x", llm=ScriptedLLM([call("slow")], "ok"), tools=[slow])
    began_s = time.monotonic()
    result = ends(agent.start("hi"), "completed")
    took_s = time.monotonic() - began_s
    gate.set()
    assert (statuses(result), took_s < 0.5) == (["timed_out"], True)
    assert "late" not in result.tool_calls[0].result.text


@pytest.mark.parametrize(("check", "second"), [("after_batch", "ok"), ("after_each_tool", "skipped")])
def test_9_steering_during_the_first_of_two(check, second):
    @tool
    def hears() -> str:
        """Hears."""
        agent.steer("left")
        return ""

    llm = ScriptedLLM([call("hears"), call("a")], "ok")
    options = Options(steering_check=check, tool_execution_mode="sequential")
    agent = Agent("x", llm=llm, tools=[hears, a], options=options)
    assert statuses(agent.run("hi")) == ["ok", second]
    assert texts(llm.requests[1].messages)[-1] == "left"


def test_10_a_follow_up(shorthand):
    agent = Agent("x", llm=ScriptedLLM("A", "B"))
    agent.follow_up("b")
    handle = agent.start("a")
    log = shorthand(handle.events())
    assert (log.count("TS"), log.count("TE"), log.count("AE")) == (2, 2, 1)
    assert ends(handle, "completed").reply == "B"


def test_10_steering_goes_first_at_a_stop():
    def reply(request):
        agent.follow_up("later")
        agent.steer("now")
        return "A"

    agent = Agent("x", llm=ScriptedLLM(reply, "B", "C"))
    assert texts(agent.run("a").messages, "user") == ["a", "now", "later"]


def test_11_an_abort_in_a_slow_stream():
    llm = ScriptedLLM(" ".join(["word"] * 50), token_delay_s=0.02)
    agent = Agent("x", llm=llm)
    handle = agent.start("hi")
    seen = 0
    for event in handle.events():
        seen += event.kind == "message_update"
        if seen == 5:
            began_s = time.monotonic()
            agent.abort()
            break
    ends(handle, "aborted", "user")
    assert time.monotonic() - began_s < 0.1 + 0.1, "100 ms, and as much for a busy machine"
    assert llm.emitted <= 6


def test_11_an_abort_during_the_first_of_three():
    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        ctx.stop_event.wait(LIMIT_S)
        return ""

    llm = ScriptedLLM([call("watch"), call("a"), call("b")], "never")
    agent = Agent("x", llm=llm, tools=[watch, a, b], options=Options(tool_execution_mode="sequential"))
    handle = agent.start("hi")
    first(handle, "tool_execution_start")
    agent.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted", "not_run", "not_run"]


def test_12_two_agents_on_one_model():
    inside, peak, gate = [0], [0], threading.Event()

    def reply(request):
        inside[0] += 1
        peak[0] = max(peak[0], inside[0])
        opened(gate)
        inside[0] -= 1
        return "words"

    llm = ScriptedLLM(reply, reply)
    one, two = Agent("one", llm=llm), Agent("two", llm=llm)
    handles = [one.start("a"), two.start("b")]
    for handle in handles:
        first(handle, "turn_start")
    gate.set()
    results = [ends(handle, "completed") for handle in handles]
    assert peak == [1]
    assert [texts(result.messages) for result in results] == [["a", "words"], ["b", "words"]]


def test_12_aborting_the_one_that_waits_does_not_wait_for_the_other():
    gate = threading.Event()
    llm = ScriptedLLM(lambda request: opened(gate) and "words", "never")
    one, two = Agent("one", llm=llm), Agent("two", llm=llm)
    busy, waiting = one.start("a"), two.start("b")
    first(waiting, "turn_start")
    while llm.requests == []:
        threading.Event().wait(0.005)
    which, other = (waiting, busy) if llm.requests[0].messages[0].text == "a" else (busy, waiting)
    which.abort()
    assert which.wait(1)
    assert not other.wait(0)
    gate.set()
    ends(other, "completed")


def test_13_a_model_that_never_stops_calling():
    llm = ScriptedLLM(*[[call("a", n=n)] for n in range(9)])
    result = ends(Agent("x", llm=llm, tools=[a], options=Options(max_turns=3)).start("hi"), "budget")
    assert (len(llm.requests), len(result.tool_calls)) == (3, 3)
    llm = ScriptedLLM(*[[call("a", n=n)] for n in range(9)])
    answers = iter([True, False])
    options = Options(max_turns=2, continue_confirm=lambda turns: next(answers))
    ends(Agent("x", llm=llm, tools=[a], options=options).start("hi"), "budget")
    assert len(llm.requests) == 4


def test_14_one_denial_and_nothing_runs():
    options = Options(policy_check=lambda name, arguments: "not b" if name == "b" else None)
    agent = Agent("x", llm=ScriptedLLM([call("a"), call("b")], "never"), tools=[a, b], options=options)
    handle = agent.start("hi")
    with pytest.raises(PolicyViolationError) as caught:
        handle.result(LIMIT_S)
    assert (caught.value.tool, caught.value.reason) == ("b", "not b")
    assert statuses(caught.value.result) == ["not_run", "denied"]
    assert calls_are_answered(caught.value.result.messages)
    assert not [e for e in handle.events() if e.kind == "tool_execution_start"]
    assert list(handle.events())[-1].reason == "denied"
    assert handle.state == "failed"


def test_15_ephemeral_text_is_last_and_nowhere_stored():
    agent = Agent(
        "x", llm=ScriptedLLM([call("a")], "ok"), tools=[a], options=Options(get_ephemeral_messages=lambda: ["t=21"])
    )
    result = agent.run("hi")
    assert [r.messages[-1].text for r in agent.llm.requests] == ["t=21", "t=21"]
    assert "t=21" not in texts(result.messages)


def test_18_the_same_call_in_four_turns():
    llm = ScriptedLLM(*[[call("a", n=1)]] * 4, "enough")
    result = Agent("x", llm=llm, tools=[a]).run("hi")
    assert statuses(result) == ["ok", "ok", "ok", "blocked"]
    assert ["Warning" in made.result.text for made in result.tool_calls] == [False, False, True, False]
    assert [r.tool_choice for r in llm.requests] == ["auto"] * 4 + ["none"]
    assert [t.name for t in llm.requests[4].tools] == ["a"]
    assert result.reply == "enough"


def test_18_a_cycle_of_two():
    llm = ScriptedLLM(*[[call(name)] for name in "abababa"], "enough")
    result = Agent("x", llm=llm, tools=[a, b]).run("hi")
    assert statuses(result) == ["ok"] * 6 + ["blocked"]
    assert [i for i, made in enumerate(result.tool_calls, 1) if "Warning" in made.result.text] == [5, 6]
    assert [r.tool_choice for r in llm.requests] == ["auto"] * 7 + ["none"]


def test_18_the_same_call_four_times_in_one_reply_is_legitimate():
    llm = ScriptedLLM([call("a", n=1)] * 4, "ok")
    assert statuses(Agent("x", llm=llm, tools=[a]).run("hi")) == ["ok"] * 4


def test_18_a_skill_that_succeeded_is_not_counted():
    @skill
    def patrol() -> str:
        """Patrols."""
        return "patrolled"

    llm = ScriptedLLM(*[[call("patrol")]] * 6, "ok")
    assert statuses(Agent("x", llm=llm, tools=[patrol]).run("hi")) == ["ok"] * 6


def test_19_a_stop_while_a_skill_moves():
    halted = threading.Event()

    @skill(stop=halted.set)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        goal.cancel_event.wait(LIMIT_S)
        return ""

    latch = SafetyLatch()
    llm = ScriptedLLM([call("drive")], [call("drive")], "it is blocked", "nothing to stop")
    agent = Agent("x", llm=llm, tools=[drive], latch=latch)
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    latch.trip("stop word")
    agent.abort("safety_stop")
    assert halted.is_set()
    ends(handle, "aborted", "safety_stop")
    assert len(llm.requests) == 1, "no model call"
    assert statuses(agent.run("go on")) == ["blocked"]
    latch.rearm()
    assert agent.run("stop").reply == "nothing to stop", "typed, it goes to the model like any text"


def test_19_a_skill_that_ends_before_the_abort_has_no_model_asked():
    @skill
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        goal.cancel_event.wait(LIMIT_S)
        return ""

    latch = SafetyLatch()
    agent = Agent("x", llm=ScriptedLLM([call("drive")], "never"), tools=[drive], latch=latch)
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    agent.steer("and back")
    latch.trip("stop word")
    result = ends(handle, "aborted", "safety_stop")
    agent.abort("safety_stop")
    assert (statuses(result), len(agent.llm.requests)) == (["interrupted"], 1)
    assert not agent.has_pending


def test_23_what_failed_keeps_later_motion_from_running():
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

    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "a wall"

    llm = ScriptedLLM([call("back_up", m=1), call("turn_around"), call("look"), call("drive", m=2)], "a wall")
    result = Agent("x", llm=llm, tools=[back_up, turn_around, drive, look]).run("go")
    assert statuses(result) == ["error", "not_run", "ok", "not_run"]
    assert all("back_up" in result.tool_calls[i].result.text for i in (1, 3))
