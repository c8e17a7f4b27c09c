"""The loop's order of events, its branches and its ends, with a scripted model."""

import threading

import pytest
from pydantic import BaseModel, field_validator

from edgeagent import Agent, BusyError, EdgeAgentError, Message, ModelError, Options, tool
from edgeagent.llm import LLM, End, TextDelta, TextEnd, ThinkingEnd
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def fail() -> str:
    """Always fails."""
    raise RuntimeError("no luck")


def test_a_text_reply_is_one_turn(shorthand):
    handle = Agent("a", llm=ScriptedLLM("hello there")).start("hi")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"
    assert handle.result(LIMIT_S).reply == "hello there"
    assert handle.state == "completed"


def test_a_tool_turn_is_followed_by_a_turn_that_sees_the_result(shorthand):
    llm = ScriptedLLM([call("add", a=1, b=2)], "three")
    handle = Agent("a", llm=llm, tools=[add]).start("1 + 2?")
    assert shorthand(handle.events()) == (
        "AS TS MS(u) ME(u) MS(a) ME(a) XS XE MS(t) ME(t) TE TS MS(a) MU+ ME(a) TE AE(completed)"
    )
    last = llm.requests[1].messages[-1]
    assert (last.role, last.text, last.name, last.status) == ("tool", "3", "add", "ok")
    result = handle.result(LIMIT_S)
    assert [(c.name, c.arguments, c.result.value, c.agent) for c in result.tool_calls] == [
        ("add", {"a": 1, "b": 2}, 3, "a")
    ]


def test_sequence_numbers_count_from_zero_and_turns_from_one():
    handle = Agent("a", llm=ScriptedLLM([call("add", a=1, b=2)], "x"), tools=[add]).start("go")
    log = list(handle.events())
    assert [event.seq for event in log] == list(range(len(log)))
    assert (log[0].turn, log[-1].turn) == (0, 2)
    assert list(handle.events()) == log, "a late reader sees the whole log"


def test_an_error_event_ends_the_run_and_keeps_what_was_said(shorthand):
    llm = ScriptedLLM({"text": "I was", "error": "boom"})
    handle = Agent("a", llm=llm).start("hi")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) MU+ ME(a) AX TE AE(error)"
    result = handle.result(LIMIT_S)
    assert (result.reason, result.error, result.messages[-1].text) == ("error", "boom", "I was")
    assert handle.state == "failed"


def test_a_stream_that_ends_with_an_error_without_a_text_is_no_abort():
    handle = Agent("a", llm=ScriptedLLM({"stop": "error"})).start("hi")
    result = handle.result(LIMIT_S)
    told = next(e.error for e in handle.events() if e.kind == "agent_error")
    assert (result.reason, result.error, handle.state) == ("error", told, "failed")
    assert "ended with an error" in told


def test_a_stream_that_ends_aborted(shorthand):
    handle = Agent("a", llm=ScriptedLLM({"text": "", "stop": "aborted"})).start("hi")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) AX TE AE(aborted)"


def test_a_foreign_exception_comes_unchanged_after_the_log_has_closed(shorthand):
    handle = Agent("a", llm=ScriptedLLM(KeyError("lost"))).start("hi")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) AX TE AE(error)"
    with pytest.raises(KeyError, match="lost"):
        handle.result(LIMIT_S)


def test_an_exhausted_script_is_a_foreign_exception():
    with pytest.raises(AssertionError, match="only 0 replies"):
        Agent("a", llm=ScriptedLLM()).run("hi")


def test_a_missing_model_is_an_error_before_the_run():
    agent = Agent("a")
    with pytest.raises(ModelError, match="no model"):
        agent.start("hi")
    assert not agent.is_running


def test_an_unknown_tool_names_the_valid_ones_and_the_nearest():
    llm = ScriptedLLM([call("ad")], "sorry")
    result = Agent("a", llm=llm, tools=[add, fail]).run("go")
    failed = result.tool_calls[0].result
    assert failed.status == "unknown"
    assert "Did you mean add?" in failed.text
    assert "fail" in failed.text
    assert result.reply == "sorry"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (call.raw("add", '{"a":'), "not JSON"),
        (call.raw("add", "[1, 2]"), "should be a JSON object"),
        (call("add", a=1), "b: missing"),
        (call("add", a=1, b=2.5), "b: should be a whole number, not 2.5"),
        (call("add", a=True, b=2), "a: should be a whole number, not true"),
        (call("add", a=1, b=2, bb=3), "did you mean 'b'?"),
    ],
)
def test_arguments_that_do_not_fit_are_never_dispatched(made, says, shorthand):
    handle = Agent("a", llm=ScriptedLLM([made], "sorry"), tools=[add]).start("go")
    assert " XS " not in shorthand(handle.events())
    refused = handle.result(LIMIT_S).tool_calls[0].result
    assert refused.status == "invalid"
    assert says in refused.text


def test_a_validator_of_the_builders_that_raises_makes_the_call_invalid():
    class Pose(BaseModel):
        place: str

        @field_validator("place")
        @classmethod
        def known(cls, place: str) -> str:
            return {"kitchen": "K"}[place]

    @tool
    def go_to(pose: Pose) -> str:
        """Goes."""
        return pose.place

    llm = ScriptedLLM([call("go_to", pose={"place": "moon"}), call("go_to", pose={"place": "kitchen"})], "there")
    result = Agent("a", llm=llm, tools=[go_to]).run("go")
    assert [(made.result.status, made.result.text) for made in result.tool_calls] == [
        ("invalid", "invalid arguments: KeyError: 'moon'"),
        ("ok", "K"),
    ]


def test_a_tool_that_raises_is_an_error_result_and_its_sibling_runs():
    result = Agent("a", llm=ScriptedLLM([call("fail"), call("add", a=1, b=1)], "ok"), tools=[add, fail]).run("go")
    assert [c.result.status for c in result.tool_calls] == ["error", "ok"]
    assert result.tool_calls[0].result.text == "RuntimeError: no luck"


def test_calls_of_a_cut_reply_are_not_run():
    llm = ScriptedLLM({"text": "let me", "calls": [call("add", a=1, b=1)], "stop": "length"}, "done")
    result = Agent("a", llm=llm, tools=[add]).run("go")
    assert result.tool_calls[0].result.status == "not_run"
    assert "cut off" in result.tool_calls[0].result.text


def test_a_cut_text_goes_on_once_and_the_reply_is_joined():
    llm = ScriptedLLM({"text": "one two", "stop": "length"}, {"text": " three", "stop": "length"}, "never asked")
    result = Agent("a", llm=llm).run("count")
    assert result.reply == "one two three"
    assert [m.origin for m in result.messages if m.role == "user"] == ["user", "continuation"]
    assert llm.remaining == 1


def test_no_continuations_when_zero_was_asked_for():
    llm = ScriptedLLM({"text": "one two", "stop": "length"})
    assert Agent("a", llm=llm, options=Options(max_continuations=0)).run("count").reply == "one two"


def test_requests_hold_copies():
    llm = ScriptedLLM([call("add", a=1, b=2)], "x")
    result = Agent("a", "be brief", llm=llm, tools=[add]).run("go")
    llm.requests[1].messages[1].tool_calls[0].arguments["a"] = 99
    assert result.messages[1].tool_calls[0].arguments == {"a": 1, "b": 2}
    assert llm.requests[0].system == "be brief"
    assert all(message.role != "system" for message in llm.requests[0].messages)


def test_call_ids_are_unique_although_the_model_repeats_one():
    same = call("add", a=1, b=1)
    result = Agent("a", llm=ScriptedLLM([same, same], "x"), tools=[add]).run("go")
    asked = [c.id for c in result.messages[1].tool_calls]
    assert len(set(asked)) == 2
    assert [m.call_id for m in result.messages if m.role == "tool"] == asked


def test_the_budget_of_turns_ends_with_what_was_said():
    llm = ScriptedLLM(*[{"text": f"step {i}", "calls": [call("add", a=i, b=1)]} for i in range(9)])
    agent = Agent("a", llm=llm, tools=[add], options=Options(max_turns=3))
    handle = agent.start("go")
    result = handle.result(LIMIT_S)
    assert (result.reason, result.reply, len(llm.requests)) == ("budget", "step 2", 3)
    assert [c.result.status for c in result.tool_calls] == ["ok"] * 3, "the tools of the last turn are executed"
    assert [e.text for e in handle.events() if e.kind == "notice"] == ["stopped after 3 model calls"]


def test_the_budget_may_be_extended_once():
    llm = ScriptedLLM(*[[call("add", a=i, b=1)] for i in range(9)])
    answers = iter([True, False])
    options = Options(max_turns=2, continue_confirm=lambda turns: next(answers))
    result = Agent("a", llm=llm, tools=[add], options=options).run("go")
    assert (len(llm.requests), result.reply) == (4, "I could not finish that.")


def test_after_the_last_hop_the_model_speaks_once_more_and_its_calls_are_not_run():
    llm = ScriptedLLM([call("add", a=1, b=1)], [call("add", a=2, b=2)])
    result = Agent("a", llm=llm, tools=[add], options=Options(max_tool_hops=1)).run("go")
    assert [c.result.status for c in result.tool_calls] == ["ok", "not_run"]
    assert result.reason == "budget"


def test_a_final_answer_without_tools():
    llm = ScriptedLLM([call("add", a=1, b=1)], "that is all")
    options = Options(max_turns=1, on_budget="final_answer")
    result = Agent("a", llm=llm, tools=[add], options=options).run("go")
    assert (result.reason, result.reply) == ("budget", "that is all")
    assert llm.requests[1].tool_choice == "none"
    assert [t.name for t in llm.requests[1].tools] == ["add"], "the tool list stays, so that the prefix holds"


def test_no_run_makes_more_than_a_hundred_model_calls():
    llm = ScriptedLLM(*[[call("add", a=i, b=1)] for i in range(120)])
    options = Options(max_turns=30, continue_confirm=lambda turns: True)
    Agent("a", llm=llm, tools=[add], options=options).run("go")
    assert len(llm.requests) == 100


def test_a_terminating_tool_gives_the_reply_without_another_model_call(shorthand):
    @tool(terminate=True)
    def say(text: str) -> str:
        """Says it."""
        return text

    handle = Agent("a", llm=ScriptedLLM([call("say", text="bye")]), tools=[say]).start("go")
    assert shorthand(handle.events()).endswith("XS XE MS(t) ME(t) MS(a) ME(a) TE AE(terminated)")
    result = handle.result(LIMIT_S)
    assert (result.reply, result.messages[-1].text) == ("bye", "bye")


def test_should_stop_after_turn_ends_the_run():
    seen = []

    def stop(state):
        seen.append((state.hop, len(state.messages), state.is_streaming))
        return True

    llm = ScriptedLLM({"text": "wait", "calls": [call("add", a=1, b=1)]}, "never")
    result = Agent("a", llm=llm, tools=[add], options=Options(should_stop_after_turn=stop)).run("go")
    assert (result.reason, result.reply, llm.remaining) == ("stopped", "wait", 1)
    assert seen == [(1, 3, True)]


def test_a_subscriber_that_raises_is_isolated(shorthand):
    agent = Agent("a", llm=ScriptedLLM("hi"))
    agent.subscribe(lambda event: 1 / 0)
    seen = []
    end = agent.subscribe(lambda event: seen.append(event.kind))
    assert agent.run("x").reply == "hi"
    assert seen[0] == "agent_start"
    end()
    assert seen[-1] == "agent_end"


def test_a_subscriber_that_comes_or_goes_during_a_run_is_told_of_the_next_events():
    told = []
    agent = Agent("a", llm=ScriptedLLM("one"))

    def joins(event):
        if event.kind == "turn_start":
            leave.append(agent.subscribe(lambda e: told.append(e.kind)))
        elif event.kind == "turn_end":
            leave[0]()

    leave = []
    agent.subscribe(joins)
    agent.run("go")
    assert told[:2] == ["message_start", "message_end"], "from the next event on"
    assert told[-1] == "turn_end", "and of none after that in which it left"


def test_on_event_comes_before_other_subscribers():
    order = []
    agent = Agent("a", llm=ScriptedLLM("hi"), options=Options(on_event=lambda event: order.append("option")))
    agent.subscribe(lambda event: order.append("subscriber"))
    agent.run("x")
    assert order[:4] == ["option", "subscriber"] * 2


def test_messages_are_the_history_before_the_task():
    llm = ScriptedLLM("yes")
    history = [Message.user("a"), Message.assistant("b")]
    result = Agent("a", llm=llm).run("c", messages=history)
    assert [m.text for m in llm.requests[0].messages] == ["a", "b", "c"]
    assert [m.text for m in result.new_messages] == ["c", "yes"]


def test_run_continue_needs_something_to_answer():
    agent = Agent("a", llm=ScriptedLLM({"text": "", "error": "lost"}, "back again", "and more"))
    agent.run("hi")
    assert agent.run_continue().reply == "back again"
    with pytest.raises(EdgeAgentError, match="nothing to continue"):
        agent.run_continue()
    agent.follow_up("go on")
    assert agent.run_continue().reply == "and more"


def test_run_continue_during_a_run_is_busy():
    agent = Agent("a", llm=ScriptedLLM("hello"))
    refused = []

    def subscriber(event):
        with pytest.raises(BusyError):
            agent.run_continue()
        refused.append(event.kind)

    agent.subscribe(subscriber)
    agent.run("hi")
    assert refused[-1] == "agent_end"


def test_waiting_for_a_run_from_inside_it_is_refused():
    caught = []

    def subscriber(event):
        if event.kind == "turn_start":
            with pytest.raises(BusyError):
                handle_box[0].result(LIMIT_S)
            log = handle_box[0].events()
            assert next(log).kind == "agent_start"
            with pytest.raises(BusyError):
                list(log)
            caught.append(event.kind)

    @tool
    def wait_for_myself() -> str:
        """Waits."""
        with pytest.raises(BusyError):
            handle_box[0].result(LIMIT_S)
        return "refused"

    asked, gate = threading.Event(), threading.Event()
    handle_box = []

    def reply(request):
        asked.set()
        gate.wait(LIMIT_S)
        return [call("wait_for_myself")]

    agent = Agent("a", llm=ScriptedLLM(reply, "x"), tools=[wait_for_myself])
    handle_box.append(agent.start("go"))
    assert asked.wait(LIMIT_S)
    agent.subscribe(subscriber)
    gate.set()
    assert handle_box[0].result(LIMIT_S).tool_calls[0].result.text == "refused"
    assert caught == ["turn_start"]


def test_the_final_text_is_the_models_word_on_what_was_reasoning():
    class LateThinker(ScriptedLLM):
        def stream(self, request, stop_event):
            yield from [
                TextDelta("hm, let me see"),
                TextDelta("hello"),
                ThinkingEnd("hm, let me see"),
                TextEnd("hello"),
            ]
            yield End("stop")

    result = Agent("a", llm=LateThinker()).run("hi")
    assert (result.reply, result.messages[-1].text, result.messages[-1].thinking) == (
        "hello",
        "hello",
        "hm, let me see",
    )


def test_a_model_that_streams_nonsense_is_free_for_the_next_run():
    """The error keeps the frames of its traceback, and with them the stream that has the model."""
    llm = ScriptedLLM(["no call at all"], "hello")
    agent = Agent("a", llm=llm)
    with pytest.raises(AttributeError) as failed:
        agent.run("hi")
    handle = agent.start("hi again")
    try:
        assert handle.result(LIMIT_S).reply == "hello"
    finally:
        handle.abort()
    assert failed.traceback, "it is kept until here"


@pytest.mark.parametrize(
    ("last", "options", "reason", "reply"),
    [
        (
            "three four",
            {"should_stop_after_turn": lambda state: "three" in state.messages[-1].text},
            "stopped",
            "three four",
        ),
        ({"text": "three", "error": "the disk is full"}, {}, "error", "three"),
    ],
)
def test_a_reply_that_goes_on_is_joined_however_its_run_ends(last, options, reason, reply):
    llm = ScriptedLLM({"text": "one two ", "stop": "length"}, last)
    result = Agent("a", llm=llm, options=Options(**options)).run("count")
    assert (result.reason, result.reply) == (reason, f"one two {reply}")


def test_a_model_may_inherit_from_the_protocol():
    class Echo(LLM):
        def __init__(self):
            self.name, self.context_window = "echo", 1_000

        def stream(self, request, stop_event):
            yield TextDelta(request.messages[-1].text)
            yield TextEnd(request.messages[-1].text)
            yield End("stop")

        def tokenize(self, request):
            return [0]

    assert isinstance(Echo(), LLM)
    assert Agent("a", llm=Echo()).run("hello").reply == "hello"
