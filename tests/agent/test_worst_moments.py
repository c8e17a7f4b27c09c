"""Stops at the worst moment: from hooks, subscribers, callbacks and tools, and models and subscribers that want out."""

from __future__ import annotations

import sys
import threading

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    BusyError,
    FirePoint,
    GoalHandle,
    Options,
    PolicyViolationError,
    Session,
    ToolContext,
    skill,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, first, opened, statuses, texts

P = FirePoint


@tool
def work() -> str:
    """Works."""
    return "worked"


REPLIES = ([call("work"), call("work")], "done")


# --- an abort from inside -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", list(P))
@pytest.mark.parametrize("reason", ["user", "safety_stop"])
def test_an_abort_from_inside_a_hook_ends_the_run_with_a_history_that_is_whole(point, reason, shorthand):
    agent = Agent("a", llm=ScriptedLLM(*REPLIES), tools=[work])
    agent.hooks.append(At(point, does=lambda ctx, p: agent.abort(reason) and None))
    handle = agent.start("go")
    result = handle.result(LIMIT_S)
    if point is P.ON_RUN_END:  # it is over already
        assert result.reason == "completed"
    else:
        assert (result.reason, result.abort_reason) == ("aborted", reason)
    log = shorthand(handle.events())
    assert log.count("TS") == log.count("TE")
    assert calls_are_answered(result.messages)
    assert agent.llm.remaining >= (1 if point is not P.ON_RUN_END else 0)
    assert not agent.is_running


KINDS = [
    "agent_start",
    "turn_start",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "turn_end",
    "agent_end",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["now", "after_turn"])
def test_an_abort_from_inside_a_subscriber_ends_the_run_too(kind, mode, shorthand):
    agent = Agent("a", llm=ScriptedLLM({"text": "let me", "calls": [call("work")] * 2}, "done"), tools=[work])
    agent.subscribe(lambda event: agent.abort(mode=mode) if event.kind == kind else None)
    handle = agent.start("go")
    result = handle.result(LIMIT_S)
    assert result.reason == ("completed" if kind == "agent_end" else "aborted")
    log = shorthand(handle.events())
    assert log.count("TS") == log.count("TE")
    assert calls_are_answered(result.messages)
    if mode == "after_turn" and kind not in ("agent_end",):
        assert statuses(result) == ["ok", "ok"], "the turn ends"
        assert agent.llm.remaining == 1


@pytest.mark.parametrize(
    "name",
    [
        "get_steering_messages",
        "get_ephemeral_messages",
        "transform_context",
        "convert_messages",
        "before_tool_call",
        "after_tool_call",
        "policy_check",
        "should_stop_after_turn",
    ],
)
def test_an_abort_from_inside_a_callback_ends_the_run(name):
    def callback(*arguments):
        agent.abort()
        return arguments[0] if name in ("transform_context", "convert_messages") else None

    agent = Agent("a", llm=ScriptedLLM(*REPLIES), tools=[work], options=Options(**{name: callback}))
    result = ends(agent.start("go"), "aborted", "user")
    assert calls_are_answered(result.messages)
    assert agent.llm.remaining >= 1


def test_a_stop_before_the_model_is_asked_gives_no_error_event(shorthand):
    agent = Agent("a", llm=ScriptedLLM("never"))
    agent.subscribe(lambda event: agent.abort() if event.kind == "agent_start" else None)
    handle = agent.start("go")
    ends(handle, "aborted", "user")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) TE AE(aborted)"


def test_the_first_reason_counts_and_a_safety_stop_overrides():
    for reasons, expected in ((["one", "two"], "one"), (["one", "safety_stop"], "safety_stop")):
        gate = threading.Event()
        agent = Agent("a", llm=ScriptedLLM(lambda request, g=gate: opened(g) and "x"))
        handle = agent.start("go")
        first(handle, "turn_start")
        for reason in reasons:
            assert agent.abort(reason)
        gate.set()
        ends(handle, "aborted", expected)


def test_waiting_for_the_run_from_inside_it_is_refused_everywhere():
    refused = []

    def try_it(where):
        try:
            box[0].result(LIMIT_S)
        except BusyError:
            refused.append(where)

    class Asks:
        points = frozenset(P)

        def __call__(self, point, ctx, payload):
            try_it(str(point))

    @tool
    def waits() -> str:
        """Waits."""
        try_it("tool")
        return ""

    gate, box = threading.Event(), []
    llm = ScriptedLLM([call("waits")], "x")
    agent = Agent(
        "a", llm=llm, tools=[waits], hooks=[At(P.ON_RUN_START, does=lambda c, p: opened(gate) and None), Asks()]
    )
    agent.subscribe(lambda e: try_it("subscriber"))
    box.append(agent.start("go"))
    gate.set()
    ends(box[0], "completed")
    assert {*map(str, P), "tool"} <= set(refused)


def test_a_run_is_refused_inside_every_hook_and_starting_another_agents_is_not():
    seen = []
    other = Agent("b", llm=ScriptedLLM("other words"))

    def inside(ctx, p):
        with pytest.raises(BusyError):
            agent.run("x")
        with pytest.raises(BusyError):
            agent.reset()
        seen.append(other.run("y").reply)

    agent = Agent("a", llm=ScriptedLLM("words"), hooks=[At(P.BEFORE_LLM, does=inside)])
    assert agent.run("go").reply == "words"
    assert seen == ["other words"]


# --- who wants out ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_model_that_raises_what_is_no_exception_does_not_leave_the_run_open(raised):
    handle = Agent("a", llm=ScriptedLLM(raised)).start("go")
    assert handle.wait(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_subscriber_that_exits_is_isolated_like_any_other():
    agent = Agent("a", llm=ScriptedLLM("words"))
    agent.subscribe(lambda event: sys.exit(3))
    assert agent.start("go").wait(1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("name", ["should_stop_after_turn", "get_steering_messages", "get_ephemeral_messages"])
def test_a_callback_that_exits_does_not_leave_the_run_open(name):
    agent = Agent("a", llm=ScriptedLLM("words"), options=Options(**{name: lambda *arguments: sys.exit(3)}))
    assert agent.start("go").wait(1)


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_confirm_and_questions_that_exit_are_that_calls_error(raised):
    def leave(*arguments):
        raise raised

    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    agent = Agent(
        "a", llm=ScriptedLLM([call("wipe")], "ok"), tools=[wipe], options=Options(confirm=leave, confirm_timeout_s=2)
    )
    handle = agent.start("go")
    assert handle.wait(1), "not only when the time for an answer is over"
    assert statuses(ends(handle, "completed")) == ["error"]


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_what_a_model_raises_reaches_whoever_waits_and_leaves_an_idle_agent(raised, shorthand):
    agent = Agent("a", llm=ScriptedLLM(raised, "words"))
    handle = agent.start("go")
    with pytest.raises(type(raised)):
        handle.result(LIMIT_S)
    assert (handle.state, handle.error) == ("failed", raised)
    assert shorthand(handle.events()).endswith("AX TE AE(error)")
    assert agent.run("go").reply == "words"


def test_a_run_that_cannot_even_be_closed_leaves_an_idle_agent(monkeypatch):
    class Mute(Exception):
        def __str__(self):
            raise TypeError("no words")

    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    agent = Agent("a", llm=ScriptedLLM(Mute(), "words"))
    handle = agent.start("go")
    with pytest.raises((Mute, TypeError)):
        handle.result(LIMIT_S)
    assert agent.run("go").reply == "words"


def test_a_subscriber_that_exits_is_counted_and_the_others_are_told():
    told = []
    agent = Agent("a", llm=ScriptedLLM("words"))
    agent.subscribe(lambda event: sys.exit(3))
    agent.subscribe(lambda event: told.append(event.kind))
    handle = agent.start("go")
    assert ends(handle, "completed").reply == "words"
    assert told == [event.kind for event in handle.events()]
    assert agent.subscriber_errors == len(told)


def test_a_policy_check_that_exits_denies():
    options = Options(policy_check=lambda name, arguments: sys.exit(3))
    handle = Agent("a", llm=ScriptedLLM([call("work")], "never"), tools=[work], options=options).start("go")
    with pytest.raises(PolicyViolationError):
        handle.result(LIMIT_S)


def test_a_continue_confirm_that_exits_is_a_no():
    options = Options(max_turns=1, continue_confirm=lambda turns: sys.exit(3))
    ends(Agent("a", llm=ScriptedLLM([call("work")], "never"), tools=[work], options=options).start("go"), "budget")


@pytest.mark.parametrize("who", ["agent", "handle", "session"])
def test_a_safety_stop_halts_what_moves_before_it_returns(who):
    halted_on, moving = [], threading.Event()

    @skill(stop=lambda: halted_on.append(threading.current_thread()))
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        moving.set()
        goal.cancel_event.wait(LIMIT_S)
        return ""

    agent = Agent("a", llm=ScriptedLLM([call("drive")], "never"), tools=[drive])
    with Session(agent) as session:
        handle = session.start("go")
        opened(moving)
        stopper = {"agent": agent, "handle": handle, "session": session}[who]
        assert stopper.abort("safety_stop", mode="after_turn"), "it does not wait for the turn"
        assert len(halted_on) == 1
        ends(handle, "aborted", "safety_stop")
    assert handle.abort("safety_stop") is False


# --- on_interrupt -------------------------------------------------------------------------------------------------


def waiting_tool(kind):
    gate, inside = threading.Event(), threading.Event()

    def body(ctx: ToolContext) -> str:
        """Waits."""
        inside.set()
        while not gate.wait(0.005):
            if ctx.should_stop():
                return "stopped"
        return "let go"

    def goal_body(goal: GoalHandle) -> str:
        """Moves."""
        inside.set()
        while not gate.wait(0.005):
            goal.checkpoint()
        return "let go"

    made = {
        "read_only": lambda: tool(name="body", read_only=True)(body),
        "plain": lambda: tool(name="body")(body),
        "skill": lambda: skill(name="body")(goal_body),
        "finish skill": lambda: skill(name="body", on_interrupt="finish")(goal_body),
        "cancel tool": lambda: tool(name="body", on_interrupt="cancel")(body),
        "finish read_only": lambda: tool(name="body", read_only=True, on_interrupt="finish")(body),
        "detach": lambda: tool(name="body", on_interrupt="detach")(body),
    }[kind]()
    return made, gate, inside


ENDINGS = {
    "read_only": "interrupted",
    "cancel tool": "interrupted",
    "skill": "interrupted",
    "plain": "ok",
    "finish skill": "ok",
    "finish read_only": "ok",
    "detach": "detached",
}


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        *(("abort", kind) for kind in ENDINGS),
        *(("stop_event", kind) for kind in ENDINGS),
        *(("deadline", kind) for kind in ("skill", "plain", "detach")),  # it takes two seconds
    ],
)
def test_what_an_interruption_does_to_each_kind(how, kind):
    status = ENDINGS[kind]
    made, gate, inside = waiting_tool(kind)
    stop = threading.Event()
    agent = Agent("a", llm=ScriptedLLM([call("body")], "never"), tools=[made])
    options, context = Options(deadline_s=2.0) if how == "deadline" else None, AgentContext()
    handle = agent.start("go", stop_event=stop, options=options, context=context)
    stopping = context.stop_event
    opened(inside)
    if how == "abort":
        agent.abort()
    elif how == "stop_event":
        stop.set()
    opened(stopping)
    try:
        if status == "ok":
            assert not handle.wait(0.2), "it is waited for"
            gate.set()
        result = handle.result(LIMIT_S)
        assert (result.reason, statuses(result)) == ("aborted", [status])
        assert result.abort_reason == ("deadline" if how == "deadline" else "user")
        if status == "ok":
            assert result.tool_calls[0].result.text == "let go"
    finally:
        agent.clear_all_queues()
        agent.abort("safety_stop")
        gate.set()


@pytest.mark.parametrize("kind", ["read_only", "plain", "skill", "finish skill", "detach"])
def test_a_safety_stop_cancels_all_kinds(kind):
    made, gate, inside = waiting_tool(kind)
    agent = Agent("a", llm=ScriptedLLM([call("body")], "never"), tools=[made])
    handle = agent.start("go")
    opened(inside)
    agent.abort("safety_stop")
    try:
        assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
    finally:
        gate.set()


def test_a_safety_stop_after_an_abort_that_waits_for_a_tool_ends_the_wait():
    made, gate, inside = waiting_tool("plain")
    agent = Agent("a", llm=ScriptedLLM([call("body")], "never"), tools=[made])
    handle = agent.start("go")
    opened(inside)
    agent.abort()
    assert not handle.wait(0.1)
    agent.abort("safety_stop")
    assert statuses(ends(handle, "aborted", "safety_stop")) == ["interrupted"]
    gate.set()


def test_what_is_said_while_a_tool_is_waited_for_is_the_next_runs_steering():
    made, gate, inside = waiting_tool("plain")
    agent = Agent("a", llm=ScriptedLLM([call("body")], "as you say"), tools=[made])
    handle = agent.start("go")
    opened(inside)
    agent.abort("barge_in")
    agent.steer("do this instead", wake=True)
    said = threading.Event()
    agent.subscribe(lambda e: said.set() if e.kind == "agent_end" and e.reason == "completed" else None)
    gate.set()
    ends(handle, "aborted", "barge_in")
    opened(said)
    assert texts(agent.llm.requests[1].messages) == ["do this instead"]


@pytest.fixture
def unhurried_threads():
    """A thread runs until it waits for something: none gets between two steps of another one."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(LIMIT_S)
    yield
    sys.setswitchinterval(before)


def test_actuators_are_stopped_first(unhurried_threads):
    order = []
    moving, watching, stands = threading.Event(), threading.Event(), threading.Event()

    @tool
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        watching.set()
        ctx.stop_event.wait(LIMIT_S)
        order.append("watch")
        return ""

    @skill(mode="parallel", stop=lambda: (order.append("drive"), stands.set(), threading.Event().wait(0.05)))
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        moving.set()
        stands.wait(LIMIT_S)
        return ""

    agent = Agent("a", llm=ScriptedLLM([call("watch"), call("drive")], "never"), tools=[watch, drive])
    handle = agent.start("go")
    opened(moving)
    opened(watching)
    agent.abort("safety_stop")
    ends(handle, "aborted", "safety_stop")
    assert order[0] == "drive"


def test_two_aborts_at_once_and_an_abort_of_an_idle_agent():
    made, gate, inside = waiting_tool("read_only")
    agent = Agent("a", llm=ScriptedLLM([call("body")], "x"), tools=[made])
    assert agent.abort() is False
    handle = agent.start("go")
    opened(inside)
    threads = [threading.Thread(target=agent.abort) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    ends(handle, "aborted", "user")
    gate.set()
    assert handle.abort() is False
    assert handle.state == "cancelled"
    assert agent.run("go").reason == "completed", "nothing is remembered for a later one"
