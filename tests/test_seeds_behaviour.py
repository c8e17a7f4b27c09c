"""What the seed documents name and no other test shows: public names, a scripted model."""

import threading

import pytest

from edgeagent import (
    Agent,
    FirePoint,
    Message,
    Options,
    PolicyViolationError,
    QueueMode,
    Session,
    ToolContext,
    ToolResult,
    Usage,
    hooks,
    skill,
    tool,
    views,
)
from edgeagent.llm import End, TextEnd, ToolCallEnd
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


def test_the_streaming_message_is_the_reply_as_far_as_it_has_come():
    seen = []
    llm = ScriptedLLM({"thinking": "hm", "text": "one two", "calls": [call("look", at="x")]}, "done")
    agent = Agent("a", llm=llm, tools=[look])

    def watch(event):
        message = agent.state.streaming_message
        seen.append((event.kind, None if message is None else (message.thinking, message.text)))

    assert agent.state.streaming_message is None
    agent.subscribe(watch)
    agent.run("go")
    updates = [message for kind, message in seen if kind == "message_update"]
    assert updates == [("hm", ""), ("hm", "one"), ("hm", "one two"), ("", "done")]
    assert {message for kind, message in seen if kind in ("tool_execution_start", "turn_end", "agent_end")} == {None}


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


def test_the_status_of_a_handle_is_told_without_waiting_and_stays():
    asked, gate = threading.Event(), threading.Event()

    def answer(request):
        asked.set()
        return opened(gate)

    agent = Agent("a", llm=ScriptedLLM(answer, "y", KeyError("lost")))
    cancelled = agent.start("x")
    assert asked.wait(LIMIT_S)
    assert cancelled.status() == "running"
    cancelled.cancel()
    assert cancelled.status() == "running", "it has not ended yet"
    gate.set()
    assert cancelled.wait(LIMIT_S)
    completed = agent.start("y")
    assert completed.wait(LIMIT_S)
    failed = agent.start("z")
    assert failed.wait(LIMIT_S)
    assert [handle.status() for handle in (cancelled, completed, failed)] == ["cancelled", "completed", "failed"]


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


# --- models, calls and rounds ---------------------------------------------------------------------------------------


class Provider:
    """A model that somebody else wrote: it has the methods of the protocol, and streams nothing but whole texts."""

    name = "theirs"
    context_window = 1000

    def __init__(self, *replies):
        self.replies = list(replies)
        self.requests = []

    def stream(self, request, stop_event):
        self.requests.append(request)
        for part in self.replies.pop(0):
            yield TextEnd(part) if isinstance(part, str) else ToolCallEnd(part)
        yield End("tool_calls" if self.replies else "stop", Usage(3, 2))

    def complete(self, request, stop_event):
        raise AssertionError("the loop streams")

    def tokenize(self, request):
        return [0] * self.count_tokens(request)

    def count_tokens(self, request):
        return sum(len(message.text.split()) for message in request.messages)

    def close(self):
        """Nothing to free."""


def test_any_model_with_the_methods_of_the_protocol_runs_the_loop():
    llm = Provider(["Let me see.", call("look", at="left")], ["A cup."])
    result = Session(Agent("a", llm=llm, tools=[look])).step("what is there?")
    assert (result.reply, statuses(result), result.usage) == ("A cup.", ["ok"], Usage(6, 4))
    assert texts(llm.requests[1].messages) == ["what is there?", "Let me see.", "saw left"]


def test_the_content_of_a_model_that_does_not_stream_comes_whole():
    said = []
    agent = Agent("a", llm=Provider(["Let me see.", call("look", at="left")], ["A big cup."]), tools=[look])
    agent.start("what is there?", callbacks=views.Callbacks(on_content=said.append)).result(LIMIT_S)
    assert said == ["Let me see.", "A big cup."]


def test_the_calls_of_a_round_are_those_of_the_whole_reply():
    batches, replied = [], []
    llm = Provider([call("look", at="left"), call("look", at="right")], [call("look", at="up")], ["Nothing."])
    agent = Agent("a", llm=llm, tools=[look])
    agent.subscribe(lambda event: replied.append(event.message) if event.kind == "message_end" else None)
    agent.start("look", callbacks=views.Callbacks(on_tool_call_start=batches.append)).result(LIMIT_S)
    pending = [[made.arguments for made in message.tool_calls] for message in replied if message.tool_calls]
    assert [[made["arguments"] for made in batch] for batch in batches] == pending
    assert pending == [[{"at": "left"}, {"at": "right"}], [{"at": "up"}]]


def test_the_model_of_an_agent_answers_and_may_be_another():
    one, two = ScriptedLLM("I am one."), ScriptedLLM("I am two.")
    agent = Agent("a", "be brief", llm=one)
    assert agent.run("who?").reply == "I am one."
    agent.llm = two
    assert agent.run("and now?").reply == "I am two."
    assert [(len(llm.requests), llm.requests[0].system) for llm in (one, two)] == [(1, "be brief")] * 2


def test_each_round_has_a_queue_of_its_own():
    """A call that a round gave up is neither waited for in the next one, nor is its late result one of it."""
    gate, late = threading.Event(), threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> str:
        """Sticks."""
        gate.wait(LIMIT_S)
        late.set()
        return "late"

    def second(request):
        gate.set()
        opened(late)
        return [call("look", at="left"), call("look", at="right")]

    llm = ScriptedLLM([call("stuck")], second, "ok")
    agent = Agent("a", llm=llm, tools=[stuck, look], options=Options(max_concurrent_tools=1))
    turns = [event.results for event in agent.start("go").events() if event.kind == "turn_end"]
    assert [[(result.name, result.status) for result in turn] for turn in turns] == [
        [("stuck", "timed_out")],
        [("look", "ok"), ("look", "ok")],
        [],
    ]
    assert texts(llm.requests[2].messages, "tool")[1:] == ["saw left", "saw right"]


# --- hooks and limits -----------------------------------------------------------------------------------------------


def test_the_tool_points_come_for_each_call_side_by_side():
    meeting = {point: threading.Barrier(3) for point in (FirePoint.BEFORE_TOOL, FirePoint.AFTER_TOOL)}
    met = []

    class Meets(hooks.BaseHook):
        points = frozenset(meeting)
        concurrent = True

        def __call__(self, point, ctx, payload):
            meeting[point].wait(LIMIT_S)
            met.append((point, payload.call.arguments["at"]))

    calls = [call("look", at=at) for at in ("left", "right", "up")]
    result = Agent("a", llm=ScriptedLLM(calls, "ok"), tools=[look], hooks=[Meets()]).run("go")
    assert statuses(result) == ["ok"] * 3
    assert sorted(met[:3]) == [(FirePoint.BEFORE_TOOL, at) for at in ("left", "right", "up")]
    assert sorted(met[3:]) == [(FirePoint.AFTER_TOOL, at) for at in ("left", "right", "up")]


@pytest.mark.parametrize(("reported", "asked"), [(Usage(59, 40), 2), (Usage(60, 40), 1)])
def test_a_token_budget_counts_what_the_model_reports(reported, asked):
    """The model reports far more tokens than its words are."""
    llm = ScriptedLLM({"calls": [call("look")], "usage": reported}, "ok")
    Agent("a", llm=llm, tools=[look], hooks=[hooks.TokenBudgetHook(100)]).run("go")
    assert len(llm.requests) == asked


@pytest.mark.parametrize(("calls", "peak"), [(3, 3), (16, 8)])
def test_as_many_calls_run_at_once_as_there_are_and_eight_at_most(calls, peak):
    meeting, lock = threading.Barrier(peak), threading.Lock()
    now, most = [0], [0]

    @tool
    def meet(n: int) -> str:
        """Meets."""
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        meeting.wait(LIMIT_S)
        with lock:
            now[0] -= 1
        return str(n)

    result = Agent("a", llm=ScriptedLLM([call("meet", n=n) for n in range(calls)], "ok"), tools=[meet]).run("go")
    assert [made.result.text for made in result.tool_calls] == [str(n) for n in range(calls)]
    assert most[0] == peak


def test_without_a_limit_of_hops_tools_run_as_long_as_there_are_turns():
    llm = ScriptedLLM(*[[call("look", at=str(n))] for n in range(14)], "done")
    result = Agent("a", llm=llm, tools=[look]).run("go")
    assert (result.reason, result.reply, statuses(result)) == ("completed", "done", ["ok"] * 14)


@pytest.mark.parametrize("changes", [True, False])
def test_no_loop_runs_away(changes):
    """Neither one of calls that are all different, nor one of the same call."""
    llm = ScriptedLLM(*[[call("look", at=str(n) if changes else "left")] for n in range(50)])
    result = Agent("a", llm=llm, tools=[look]).run("go")
    assert result.reason == ("budget" if changes else "stopped")
    assert len(llm.requests) == (15 if changes else 5)


def test_the_model_of_the_run_sums_up_what_no_longer_fits():
    llm = ScriptedLLM("The person counted.", "yes", context_window=400)
    history = [m for n in range(20) for m in (Message.user(f"{n} " + "word " * 20), Message.assistant("ok"))]
    agent = Agent("a", llm=llm, hooks=[hooks.ContextCompactionHook(use_llm=True)], options=Options(max_tokens=50))
    assert agent.run("go on", messages=history).reply == "yes"
    asked, request = llm.requests
    assert "user: 5 word" in asked.messages[0].text
    assert request.messages[0].text.splitlines()[1:] == ["The person counted."]
