"""What the seed documents name and no other test shows: public names, a scripted model."""

import threading

import pytest

from edgeagent import (
    Agent,
    Message,
    Options,
    PolicyViolationError,
    QueueMode,
    Session,
    ToolContext,
    ToolResult,
    Usage,
    skill,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10


@tool(read_only=True)
def look(at: str = "") -> str:
    """Looks."""
    return f"saw {at}"


def texts(messages, role=None):
    return [message.text for message in messages if role in (None, message.role)]


def statuses(result):
    return [made.result.status for made in result.tool_calls]


def opened(gate):
    assert gate.wait(LIMIT_S), "nobody opened the gate"
    return "opened"


def first(handle, kind):
    return next(event for event in handle.events() if event.kind == kind)


# --- state ----------------------------------------------------------------------------------------------------------


def test_the_state_shows_the_thinking_level_and_what_was_steered():
    seen = []

    @tool
    def work() -> str:
        """Steers and looks."""
        agent.steer("left")
        seen.append(agent.state)
        return "worked"

    options = Options(thinking_level="low")
    agent = Agent("a", llm=ScriptedLLM([call("work")], "ok"), tools=[work], options=options)
    agent.run("go")
    assert (seen[0].thinking_level, texts(seen[0].steering_queue)) == ("low", ["left"])
    assert (agent.state.thinking_level, agent.state.steering_queue) == ("low", ())


def test_reset_forgets_messages_and_queues():
    agent = Agent("a", llm=ScriptedLLM("hi"), tools=[look])
    agent.run("x")
    agent.follow_up("later")
    agent.reset()
    assert (agent.state.messages, agent.has_pending) == ((), False)
    assert [made.name for made in agent.state.tools] == ["look"]


# --- a run and its events -------------------------------------------------------------------------------------------


def test_a_run_without_a_task_answers_the_messages_it_is_given():
    llm = ScriptedLLM("yes")
    handle = Agent("a", llm=llm).start(messages=[Message.user("well?")])
    kinds = " ".join(event.kind for event in handle.events() if event.kind != "message_update")
    assert kinds == "agent_start turn_start message_start message_end turn_end agent_end"
    assert texts(llm.requests[0].messages) == ["well?"]


def test_text_and_thinking_are_updates_of_a_message_that_grows():
    llm = ScriptedLLM({"thinking": "hm well", "text": "one two"})
    log = list(Agent("a", llm=llm).start("x").events())
    updates = [event for event in log if event.kind == "message_update"]
    assert [(event.channel, event.delta) for event in updates] == [
        ("thinking", "hm"),
        ("thinking", " well"),
        ("text", "one"),
        ("text", " two"),
    ]
    assert [event.message.text for event in updates] == ["", "", "one", "one two"]
    ended = [event.message for event in log if event.kind == "message_end"][-1]
    assert (ended.text, ended.thinking, ended.stop_reason) == ("one two", "hm well", "stop")
    assert ended.usage == Usage(1, 4)


def test_the_end_has_all_messages_and_the_turn_has_its_own():
    log = list(Agent("a", llm=ScriptedLLM([call("look", at="x")], "ok"), tools=[look]).start("go").events())
    assert texts(log[-1].messages) == ["go", "", "saw x", "ok"]
    turns = [event for event in log if event.kind == "turn_end"]
    assert [(turn.message.text, [result.text for result in turn.results]) for turn in turns] == [
        ("", ["saw x"]),
        ("ok", []),
    ]
    assert [event.kind for event in log].count("agent_start") == 1


def test_subscribers_are_told_in_the_order_in_which_they_came():
    order = []
    agent = Agent("a", llm=ScriptedLLM("hi"))
    for name in "abc":
        agent.subscribe(lambda event, name=name: order.append((event.kind, name)))
    agent.run("x")
    assert order[:6] == [(kind, name) for kind in ("agent_start", "turn_start") for name in "abc"]


def test_subscribers_are_called_on_one_thread():
    threads = set()
    agent = Agent("a", llm=ScriptedLLM([call("look"), call("look")], "ok"), tools=[look])
    for _ in range(2):
        agent.subscribe(lambda event: threads.add(threading.get_ident()))
    agent.run("x")
    assert len(threads) == 1
    assert threads != {threading.get_ident()}


def test_the_states_of_a_handle():
    gate = threading.Event()
    agent = Agent("a", llm=ScriptedLLM(lambda request: opened(gate), KeyError("lost"), "x"))
    handle = agent.start("x")
    first(handle, "turn_start")
    assert handle.status() == handle.state == "running"
    gate.set()
    handle.result(LIMIT_S)
    assert (handle.state, handle.cancel(), handle.state, handle.error) == ("completed", False, "completed", None)
    failed = agent.start("y")
    assert failed.wait(LIMIT_S)
    assert failed.state == "failed"
    assert isinstance(failed.error, KeyError)
    assert handle.id != failed.id
    assert handle.agent is agent


def test_a_body_is_given_its_call_its_stop_and_a_way_to_report():
    given = []

    @tool
    def work(ctx: ToolContext) -> str:
        """Works."""
        given.append((ctx.call_id, ctx.name, ctx.should_stop(), ctx.stop_event.is_set()))
        ctx.progress("half")
        return "done"

    log = list(Agent("a", llm=ScriptedLLM([call("work")], "ok"), tools=[work]).start("x").events())
    made = next(event.call for event in log if event.kind == "tool_execution_start")
    assert given == [(made.id, "work", False, False)]
    assert [event.update for event in log if event.kind == "tool_execution_update"] == ["half"]


def test_nothing_starts_that_a_before_callback_kept_back_and_the_end_shows_what_after_made_of_it():
    options = Options(
        before_tool_call=lambda made, stop: ToolResult.blocked("no") if made.arguments["at"] == "x" else None,
        after_tool_call=lambda made, result, stop: ToolResult.ok(result.text.upper()),
    )
    llm = ScriptedLLM([call("look", at="x"), call("look", at="y")], "ok")
    log = list(Agent("a", llm=llm, tools=[look], options=options).start("x").events())
    assert [event.call.arguments["at"] for event in log if event.kind == "tool_execution_start"] == ["y"]
    assert {event.result.text for event in log if event.kind == "tool_execution_end"} == {"NO", "SAW Y"}


# --- queues ---------------------------------------------------------------------------------------------------------


def steering_agent(*replies, **options):
    """An agent whose tool ``say`` steers what it is given."""

    @tool
    def say(words: list[str]) -> str:
        """Says."""
        for word in words:
            agent.steer(word)
        return "said"

    agent = Agent("a", llm=ScriptedLLM(*replies), tools=[say, look], options=Options(**options))
    return agent


@pytest.mark.parametrize(("mode", "seen"), [(QueueMode.ONE_AT_A_TIME, ["go", "1"]), (QueueMode.ALL, ["go", "1", "2"])])
def test_one_steering_message_or_all_of_them_enter_at_a_drain(mode, seen):
    agent = steering_agent([call("say", words=["1", "2"])], "ok", "ok", steering_mode=mode)
    agent.run("go")
    assert texts(agent.llm.requests[1].messages, "user") == seen
    assert texts(agent.llm.requests[-1].messages, "user") == ["go", "1", "2"]


def test_asked_for_after_each_tool_it_skips_the_rest():
    waiting = [["left"]]
    llm = ScriptedLLM([call("look"), call("look")], "ok")
    options = Options(
        steering_check="after_each_tool",
        get_steering_messages=lambda: waiting.pop() if llm.requests and waiting else [],
    )
    result = Agent("a", llm=llm, tools=[look], options=options).run("go")
    assert statuses(result) == ["ok", "skipped"]
    assert texts(llm.requests[1].messages, "user") == ["go", "left"]


# --- session --------------------------------------------------------------------------------------------------------


def test_a_denied_call_fails_the_step_and_the_session_goes_on():
    options = Options(policy_check=lambda name, arguments: "not here")
    session = Session(Agent("a", llm=ScriptedLLM([call("look")], "B"), tools=[look]), options=options)
    with pytest.raises(PolicyViolationError) as caught:
        session.step("1")
    assert (caught.value.tool, caught.value.reason, str(caught.value)) == (
        "look",
        "not here",
        "policy denied look: not here",
    )
    assert session.step("2").reply == "B"


def test_without_a_schema_none_is_asked_for():
    llm = ScriptedLLM("plain")
    with Session(Agent("a", llm=llm)) as session:
        assert session.step("x").reply == "plain"
    assert llm.requests[0].response_schema is None


def test_without_a_sink_nothing_is_written(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    with Session(Agent("a", llm=ScriptedLLM([call("look")], "ok"), tools=[look])) as session:
        session.step("x")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


# --- stopping -------------------------------------------------------------------------------------------------------


def test_a_turn_waits_for_its_skill_and_a_barge_in_cancels_it():
    before = []

    @skill
    def drive(ctx: ToolContext) -> str:
        """Drives."""
        before.append(len(llm.requests))
        ctx.stop_event.wait(LIMIT_S)
        return "halted"

    llm = ScriptedLLM([call("drive")], "never")
    agent = Agent("a", llm=llm, tools=[drive])
    handle = agent.start("go")
    first(handle, "tool_execution_start")
    assert agent.abort("barge_in")
    result = handle.result(LIMIT_S)
    assert (result.reason, result.abort_reason, statuses(result)) == ("aborted", "barge_in", ["interrupted"])
    assert before == [1]
    assert llm.remaining == 1
