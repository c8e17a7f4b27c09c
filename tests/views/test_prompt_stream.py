"""The prompt stream: one turn_start, one turn_end, and what S4's consumers expect between them."""

import dataclasses
import threading

import pytest

from edgeagent import Agent, ModelError, Options, Session, ToolMode, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import PromptEvent, prompt

LIMIT_S = 10


@tool(read_only=True)
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def outline(stream):
    """Types in order; a steering mode as mode:queue_size, pieces of text in a row as one."""
    words = []
    for event in stream.events():
        word = event.type
        if word == "steering_mode":
            word = f"{event.payload['mode']}:{event.payload['queue_size']}"
        if word != "text_delta" or words[-1:] != [word]:
            words.append(word)
    return " ".join(words)


def payloads(stream, kind):
    return [event.payload for event in stream.events() if event.type == kind]


def test_two_calls_and_an_answer_come_in_the_order_of_the_seed():
    llm = ScriptedLLM([call("add", a=15, b=3), call("add", a=10, b=5)], "18 and 15")
    agent = Agent("a", llm=llm, tools=[add], options=Options(tool_execution_mode=ToolMode.SEQUENTIAL))
    stream = prompt(agent, "Calculate 15+3 and 10+5")
    assert outline(stream) == (
        "turn_start steer:2 tool_call tool_result tool_call tool_result respond:0 text_delta turn_end"
    )
    assert [payload["result"] for payload in payloads(stream, "tool_result")] == [18, 15]


def test_payloads_hold_what_a_consumer_needs():
    llm = ScriptedLLM([call("add", a=1, b=2)], {"thinking": "easy", "text": "it is 3"})
    stream = prompt(Agent("a", llm=llm, tools=[add]), "x")
    (called,), (result,) = payloads(stream, "tool_call"), payloads(stream, "tool_result")
    assert called == {"tool_name": "add", "args": {"a": 1, "b": 2}, "id": called["id"]}
    assert result == {"tool_name": "add", "result": 3, "is_error": False, "id": called["id"]}
    assert payloads(stream, "thinking") == ["easy"]
    assert payloads(stream, "text_delta") == ["it", " is", " 3"]
    assert payloads(stream, "turn_start") == [None]
    assert [message.text for message in payloads(stream, "turn_end")] == ["it is 3"]


def test_text_before_calls_responds_first_and_then_steers():
    llm = ScriptedLLM({"text": "let me see", "calls": [call("add", a=1, b=2)]}, "three")
    stream = prompt(Agent("a", llm=llm, tools=[add]), "x")
    assert outline(stream) == (
        "turn_start respond:0 text_delta steer:1 tool_call tool_result respond:0 text_delta turn_end"
    )


def test_thinking_comes_before_the_mode_is_decided():
    stream = prompt(Agent("a", llm=ScriptedLLM({"thinking": "hm", "text": "yes"})), "x")
    assert outline(stream) == "turn_start thinking respond:0 text_delta turn_end"


def test_a_follow_up_belongs_to_the_same_prompt():
    agent = Agent("a", llm=ScriptedLLM("A", "B"))
    agent.follow_up("b")
    stream = prompt(agent, "a")
    assert outline(stream) == "turn_start respond:0 text_delta respond:0 text_delta turn_end"
    assert [message.text for message in stream.result(LIMIT_S)] == ["a", "A", "b", "B"]


def test_a_call_that_is_refused_has_a_call_and_an_error_result():
    stream = prompt(Agent("a", llm=ScriptedLLM([call("fly")], "no"), tools=[add]), "x")
    assert outline(stream) == "turn_start steer:1 tool_call tool_result respond:0 text_delta turn_end"
    (result,) = payloads(stream, "tool_result")
    assert result["is_error"]
    assert "add" in result["result"]


def test_calls_of_a_cut_reply_only_have_results():
    llm = ScriptedLLM({"calls": [call("add", a=1, b=2)], "stop": "length"}, "sorry")
    assert outline(prompt(Agent("a", llm=llm, tools=[add]), "x")) == (
        "turn_start tool_result respond:0 text_delta turn_end"
    )


def test_a_tool_that_ends_the_run_responds_with_its_text():
    @tool(terminate=True)
    def finish() -> str:
        """Ends the run."""
        return "all done"

    stream = prompt(Agent("a", llm=ScriptedLLM([call("finish")]), tools=[finish]), "x")
    assert outline(stream) == "turn_start steer:1 tool_call tool_result respond:0 text_delta turn_end"
    assert payloads(stream, "turn_end")[0].text == "all done"


def test_events_come_while_the_run_goes_on():
    go_on = threading.Event()

    @tool
    def wait() -> str:
        """Waits for the test."""
        assert go_on.wait(LIMIT_S)
        return "ok"

    stream = prompt(Agent("a", llm=ScriptedLLM([call("wait")], "done"), tools=[wait]), "x")
    try:
        seen = next(event for event in stream.events() if event.type == "tool_call")
        assert seen.payload["tool_name"] == "wait"
        assert stream.handle.state == "running"
    finally:
        go_on.set()
    assert stream.result(LIMIT_S)[-1].text == "done"


def test_events_are_the_same_however_often_they_are_read():
    stream = prompt(Agent("a", llm=ScriptedLLM("one two")), "x")
    assert list(stream.events()) == list(stream.events())


def test_the_callers_stop_ends_the_stream():
    stop = threading.Event()
    stop.set()
    stream = prompt(Agent("a", llm=ScriptedLLM("never")), "x", stop_event=stop)
    assert outline(stream) == "turn_start turn_end"
    assert payloads(stream, "turn_end") == [None]
    assert [message.text for message in stream.result(LIMIT_S)] == ["x"]


@pytest.mark.parametrize("error", [ModelError("no such file"), ZeroDivisionError("foreign")])
def test_a_run_that_fails_ends_its_stream_and_its_result_raises(error):
    stream = prompt(Agent("a", llm=ScriptedLLM(error)), "x")
    assert outline(stream) == "turn_start turn_end"
    with pytest.raises(type(error), match=str(error)):
        stream.result(LIMIT_S)


def test_without_a_model_the_prompt_itself_raises():
    with pytest.raises(ModelError, match="no model"):
        prompt(Agent("a"), "x")


def test_a_session_remembers_earlier_prompts():
    with Session(Agent("a", llm=ScriptedLLM("A", "B"))) as session:
        prompt(session, "a").result(LIMIT_S)
        assert [message.text for message in prompt(session, "b").result(LIMIT_S)] == ["a", "A", "b", "B"]


def test_what_a_consumer_changes_reaches_nobody():
    llm = ScriptedLLM([call("add", a=1, b=2)], "ok")
    stream = prompt(Agent("a", llm=llm, tools=[add]), "x")
    payloads(stream, "tool_call")[0]["args"].clear()
    stream.result(LIMIT_S)[1].tool_calls[0].arguments.clear()
    assert stream.result(LIMIT_S)[1].tool_calls[0].arguments == {"a": 1, "b": 2}
    assert payloads(stream, "tool_call")[0]["args"] == {"a": 1, "b": 2}


def test_an_event_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        PromptEvent("turn_start").payload = 1
