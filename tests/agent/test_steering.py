"""Steering and follow-up against what runs: checked after each tool, polled callbacks, wake, and aborts between."""

from __future__ import annotations

import threading

import pytest

from edgeagent import Agent, AgentContext, BusyError, Message, Options, QueueMode, Session, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, calls_are_answered, ends, first, opened, statuses, texts


@tool
def work(n: int = 0) -> str:
    """Works."""
    return f"worked {n}"


def steering_agent(*replies, **options):
    """An agent that is steered while its call ``gated(n=0)`` runs."""

    @tool
    def gated(n: int) -> str:
        """Steers."""
        if n == 0:
            agent.steer("left")
        return f"did {n}"

    agent = Agent("a", llm=ScriptedLLM(*replies), tools=[gated, work], options=Options(**options))
    return agent


THREE = [call("gated", n=0), call("gated", n=1), call("gated", n=2)]


# --- after each tool ----------------------------------------------------------------------------------------------


def test_after_the_batch_all_of_it_runs_then_the_message_comes():
    agent = steering_agent(THREE, "ok", tool_execution_mode="sequential")
    result = agent.run("go")
    assert statuses(result) == ["ok"] * 3
    assert texts(agent.llm.requests[1].messages)[-1] == "left"


def test_after_each_tool_the_rest_is_skipped_with_a_truthful_result_then_the_message_comes(shorthand):
    agent = steering_agent(THREE, "ok", steering_check="after_each_tool")
    handle = agent.start("go")
    result = ends(handle, "completed")
    assert statuses(result) == ["ok", "skipped", "skipped"]
    assert "skipped" in result.tool_calls[1].result.text
    assert result.tool_calls[1].result.is_error
    assert calls_are_answered(result.messages)
    assert [m.role for m in agent.llm.requests[1].messages] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert shorthand(handle.events()).count("XS") == 1
    assert not agent.has_pending


def test_after_each_tool_runs_batches_one_by_one():
    running, peak = [0], [0]

    @tool
    def count() -> str:
        """Counts."""
        running[0] += 1
        peak[0] = max(peak[0], running[0])
        threading.Event().wait(0.01)
        running[0] -= 1
        return ""

    options = Options(steering_check="after_each_tool")
    agent = Agent("a", llm=ScriptedLLM([call("count")] * 3, "ok"), tools=[count], options=options)
    assert statuses(agent.run("go")) == ["ok"] * 3
    assert peak == [1]


def test_after_each_tool_without_steering_nothing_is_skipped():
    agent = steering_agent([call("work", n=1), call("work", n=2)], "ok", steering_check="after_each_tool")
    agent.follow_up("later")
    agent.llm._replies.append("and later")
    assert statuses(agent.run("go")) == ["ok", "ok"], "a follow-up skips nothing"


def test_what_was_steered_before_the_batch_lets_its_first_tool_run():
    def steer(request):
        agent.steer("left")
        return [call("work", n=1), call("work", n=2)]

    agent = steering_agent(steer, "ok", steering_check="after_each_tool")
    assert statuses(agent.run("go")) == ["ok", "skipped"]


@pytest.mark.parametrize(("mode", "held"), [(QueueMode.ONE_AT_A_TIME, 1), (QueueMode.ALL, 2)])
def test_what_skips_is_taken_as_the_mode_says(mode, held):
    @tool
    def twice() -> str:
        """Steers twice."""
        agent.steer("one")
        agent.steer("two")
        return ""

    options = Options(steering_check="after_each_tool", steering_mode=mode)
    agent = Agent("a", llm=ScriptedLLM([call("twice"), call("work")], "a", "b"), tools=[twice, work], options=options)
    agent.run("go")
    assert texts(agent.llm.requests[1].messages, "user")[1:] == ["one", "two"][:held]
    assert not agent.has_pending


def test_after_an_abort_what_skipped_the_rest_is_back_at_the_head():
    agent = steering_agent(THREE, "never", steering_check="after_each_tool")

    def stop(event):
        if event.kind == "tool_execution_end" and event.result.status == "skipped":
            agent.steer("right")
            agent.abort()

    agent.subscribe(stop)
    result = ends(agent.start("go"), "aborted", "user")
    assert calls_are_answered(result.messages)
    assert texts(agent.state.steering_queue)[0] == "left"
    assert agent.llm.remaining == 1


@pytest.mark.parametrize("mode", list(QueueMode))
def test_what_was_taken_when_an_abort_lands_is_back_at_the_head(mode):
    agent = steering_agent([call("gated", n=0)], "never", steering_mode=mode)

    def stop(event):
        if event.kind == "tool_execution_end":
            agent.steer("right")
        if event.kind == "turn_start" and event.turn == 2:
            agent.abort()

    agent.subscribe(stop)
    result = ends(agent.start("go"), "aborted", "user")
    assert texts(agent.state.steering_queue) == ["left", "right"]
    assert texts(result.messages, "user") == ["go"]


def test_of_several_messages_those_are_given_back_that_history_does_not_have():
    agent = steering_agent([call("gated", n=0)], "never", steering_mode=QueueMode.ALL)

    def stop(event):
        if event.kind == "tool_execution_end":
            agent.steer("right")
        if event.kind == "message_start" and event.message.text == "left":
            agent.abort()

    agent.subscribe(stop)
    result = ends(agent.start("go"), "aborted", "user")
    assert texts(agent.state.steering_queue) == ["right"]
    assert texts(result.messages, "user") == ["go", "left"]


def test_a_follow_up_that_was_taken_when_an_abort_lands_is_back():
    agent = Agent("a", llm=ScriptedLLM("done", "never"))
    agent.follow_up("next")
    agent.subscribe(lambda event: agent.abort() if event.kind == "turn_start" and event.turn == 2 else None)
    ends(agent.start("go"), "aborted", "user")
    assert texts(agent.state.follow_up_queue) == ["next"]


def test_what_an_orchestrator_has_drained_and_not_appended_goes_back_after_an_abort():
    class Strategy:
        def run(self, run, message):
            run.append(message)
            run.complete()
            taken = run.drain_steering()
            agent.abort()
            run.append(taken[0])

    agent = Agent("a", llm=ScriptedLLM("done"), options=Options(orchestrator=Strategy()))
    agent.steer("left")
    result = ends(agent.start("go"), "aborted", "user")
    assert texts(result.messages, "user") == ["go"]
    assert texts(agent.state.steering_queue) == ["left"]


def test_a_safety_stop_empties_what_skipped_the_rest_too():
    agent = steering_agent(THREE, "never", steering_check="after_each_tool")

    def stop(event):
        if event.kind == "tool_execution_end" and event.result.status == "skipped":
            agent.abort("safety_stop")

    agent.subscribe(stop)
    ends(agent.start("go"), "aborted", "safety_stop")
    assert not agent.has_pending


# --- queues -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "who",
    [
        "agent",
        "session",
        "handle",
    ],
)
def test_a_safety_stop_empties_both_queues(who):
    inside, gate = threading.Event(), threading.Event()

    @tool(read_only=True)
    def wait() -> str:
        """Waits."""
        inside.set()
        opened(gate)
        return ""

    agent = Agent("a", llm=ScriptedLLM([call("wait")], "never"), tools=[wait], options=Options(abort_grace_s=0.01))
    with Session(agent) as session:
        handle = session.start("go")
        opened(inside)
        agent.steer("a")
        agent.follow_up("b")
        {"agent": agent, "handle": handle, "session": session}[who].abort("safety_stop")
        try:
            ends(handle, "aborted", "safety_stop")
            assert not agent.has_pending
        finally:
            gate.set()
    assert not agent.is_running


def test_what_is_said_after_a_safety_stop_is_kept_though_its_run_has_not_ended():
    began, gate = threading.Event(), threading.Event()

    @tool
    def lift() -> str:
        """Lifts."""
        began.set()
        return str(opened(gate))

    agent = Agent("a", llm=ScriptedLLM([call("lift")]), tools=[lift], options=Options(abort_grace_s=LIMIT_S))
    handle = agent.start("go")
    opened(began)
    agent.abort("safety_stop")
    agent.steer("put it down")
    gate.set()
    ends(handle, "aborted", "safety_stop")
    assert texts(agent.state.steering_queue) == ["put it down"]


def test_messages_may_be_messages_and_get_their_origin():
    agent = Agent("a", llm=ScriptedLLM("x", "y"))
    agent.steer(Message.user("left"))
    agent.follow_up(Message.user("later"))
    result = agent.run("go")
    assert [(m.text, m.origin) for m in result.messages if m.role == "user"] == [
        ("go", "user"),
        ("left", "steering"),
        ("later", "follow_up"),
    ]


def test_without_a_task_steering_goes_first_then_the_follow_up():
    agent = Agent("a", llm=ScriptedLLM("x", "y"))
    agent.follow_up("later")
    agent.steer("left")
    result = agent.run(messages=[Message.user("a"), Message.assistant("b")])
    assert texts(result.new_messages) == ["left", "x", "later", "y"]


# --- polled -------------------------------------------------------------------------------------------------------


def test_callbacks_are_polled_at_every_drain_and_the_queues_message_goes_first():
    given = iter([[], ["polled"], [], []])
    options = Options(get_steering_messages=lambda: next(given, []), steering_mode=QueueMode.ALL)

    @tool
    def step() -> str:
        """Steps."""
        agent.steer("queued")
        return ""

    agent = Agent("a", llm=ScriptedLLM([call("step")], "ok"), tools=[step], options=options)
    result = agent.run("go")
    assert texts(result.messages, "user") == ["go", "queued", "polled"]
    assert [m.origin for m in result.messages if m.role == "user"] == ["user", "steering", "steering"]


def test_polled_follow_ups_are_taken_when_the_model_stops():
    given = iter([["and then?"], [Message.user("and then again?")]])
    agent = Agent("a", llm=ScriptedLLM("a", "b", "c"), options=Options(get_follow_up_messages=lambda: next(given, [])))
    result = agent.run("go")
    assert texts(result.messages, "user") == ["go", "and then?", "and then again?"]
    assert (result.reason, result.reply) == ("completed", "c")


@pytest.mark.parametrize("name", ["get_steering_messages", "get_follow_up_messages"])
def test_a_callback_that_raises_or_returns_nothing_is_as_if_there_were_none(name):
    for bad in (lambda: 1 / 0, lambda: None):
        assert Agent("a", llm=ScriptedLLM("x"), options=Options(**{name: bad})).run("go").reply == "x"


@pytest.mark.parametrize("name", ["get_steering_messages", "get_follow_up_messages"])
def test_a_lone_text_or_message_that_is_polled_is_one_message(name):
    given = iter(["wait", Message.user("a moment")])
    agent = Agent("a", llm=ScriptedLLM("a", "b", "c"), options=Options(**{name: lambda: next(given, None)}))
    assert texts(agent.run("go").messages, "user") == ["go", "wait", "a moment"]


# --- wake ---------------------------------------------------------------------------------------------------------


def test_wake_of_a_message_that_its_run_took_up_wakes_nobody_later():
    """A message that asked for no wake must not start a run because an earlier one did."""
    turns = []

    def reply(request):
        turns.append(texts(request.messages)[-1])
        if len(turns) == 1:
            agent.follow_up("wakes", wake=True)
        elif len(turns) == 2:
            agent.follow_up("does not wake")
            agent.abort()
        return "words"

    agent = Agent("a", llm=ScriptedLLM(reply, reply, reply))
    ends(agent.start("go"), "aborted", "user")
    idle = threading.Event()
    agent.subscribe(lambda event: idle.set() if event.kind == "agent_start" else None)
    assert not idle.wait(0.2), "the agent began to talk of its own accord after an abort"
    assert turns == ["go", "wakes"]
    assert agent.has_pending


def test_an_abort_does_not_lose_a_message_that_wakes():
    inside = threading.Event()

    @tool(read_only=True)
    def wait() -> str:
        """Waits."""
        inside.set()
        threading.Event().wait(0.05)
        return ""

    agent = Agent("a", llm=ScriptedLLM([call("wait")], "woken"), tools=[wait])
    said = threading.Event()
    agent.subscribe(lambda e: said.set() if e.kind == "agent_end" and e.reason == "completed" else None)
    handle = agent.start("go")
    opened(inside)
    agent.follow_up("timer", wake=True)
    agent.abort()
    ends(handle, "aborted", "user")
    opened(said)
    assert texts(agent.llm.requests[-1].messages) == ["timer"]


def test_a_session_wakes_with_its_history():
    agent = Agent("a", llm=ScriptedLLM("first", "second"))
    with Session(agent) as session:
        session.step("hello")
        handle = session.follow_up("timer", wake=True)
        assert ends(handle, "completed").reply == "second"
        assert texts(agent.llm.requests[1].messages) == ["hello", "first", "timer"]


def test_two_threads_that_start_a_run_get_one_run_and_one_refusal():
    for _ in range(50):
        gate, results = threading.Event(), []
        agent = Agent("a", llm=ScriptedLLM(lambda request, g=gate: opened(g) and "x", "y"))
        barrier = threading.Barrier(2)

        def begin(agent=agent, barrier=barrier, results=results):
            barrier.wait(LIMIT_S)
            try:
                results.append(agent.start("go"))
            except BusyError as error:
                results.append(error)

        threads = [threading.Thread(target=begin) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LIMIT_S)
        gate.set()
        assert sorted(isinstance(made, BusyError) for made in results) == [False, True]
        next(made for made in results if not isinstance(made, BusyError)).result(LIMIT_S)


def test_a_start_that_is_refused_leaves_the_context_of_the_running_one_alone():
    gate = threading.Event()
    agent = Agent("a", llm=ScriptedLLM(lambda request: opened(gate) and "x"))
    context = AgentContext()
    handle = agent.start("go", context=context)
    first(handle, "message_end")
    context.no_more_tools = True
    with pytest.raises(BusyError):
        agent.start("again", context=context)
    history = texts(context.history())
    gate.set()
    ends(handle, "completed")
    assert history == ["go"]
    assert context.no_more_tools


# --- beside a reply that goes on, and calls that never ran -----------------------------------------------------------


def test_what_is_steered_during_a_cut_reply_comes_before_it_goes_on():
    def cut(request):
        if len(request.messages) == 1:
            agent.steer("no, the other one")
        return {"text": "The first one is ", "stop": "length"} if len(request.messages) == 1 else "the other one."

    llm = ScriptedLLM(cut, cut)
    agent = Agent("a", llm=llm, options=Options(max_continuations=3))
    assert agent.run("which one?").reply == "the other one."
    assert texts(llm.requests[1].messages, "user") == ["which one?", "no, the other one"]


def test_after_each_tool_a_call_that_was_refused_at_once_is_no_tool_that_ran():
    def steered(request):
        agent.steer("left")
        return [call("work"), call("work", n=1), call("nope")]

    agent = Agent("a", llm=ScriptedLLM(steered, "ok"), tools=[work], options=Options(steering_check="after_each_tool"))
    assert statuses(agent.run("go")) == ["ok", "skipped", "unknown"]


# --- names -----------------------------------------------------------------------------------------------------------


def test_messages_and_subscribers_are_given_by_the_names_of_the_page():
    agent = Agent("a", llm=ScriptedLLM("one", "two", "three"))
    seen = []
    end = agent.subscribe(fn=lambda event: seen.append(event.kind))
    agent.steer(msg="also this")
    agent.follow_up(msg="and that")
    handle = agent.start("go")
    assert handle.result(LIMIT_S).reply == "two"
    end()
    assert seen[-1] == "agent_end"
    woken = agent.steer(msg="again", wake=True)
    assert woken.result(LIMIT_S).reply == "three"
