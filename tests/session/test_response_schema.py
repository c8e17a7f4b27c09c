"""Replies that are JSON by a schema: history has all of it, people get the answer."""

import io
import json

import pytest

from edgeagent import Agent, Message, Options, Session, Usage, hooks, tool, views
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, first, notices, texts

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "mood": {"enum": ["good", "bad"]}},
    "required": ["answer", "mood"],
    "additionalProperties": False,
}
REPLY = '{"answer": "I am fine.", "mood": "good"}'


def session_of(*replies, tools=(), agent_hooks=(), max_continuations=0, **keywords):
    llm = ScriptedLLM(*replies, token_delay_s=keywords.pop("token_delay_s", 0))
    options = Options(max_continuations=max_continuations, **keywords.pop("options", {}))
    agent = Agent("a", llm=llm, tools=tools, hooks=agent_hooks, options=options)
    return Session(agent, response_schema=SCHEMA, **keywords)


def said(handle):
    """What message_update told of the text."""
    return [e.delta for e in handle.events() if e.kind == "message_update" and e.channel == "text"]


@tool
def look() -> str:
    """Looks."""
    return "a cup"


def test_the_reply_and_what_is_said_are_the_answer_and_history_has_the_json():
    out = io.StringIO()
    session = session_of(REPLY, out=out)
    handle = session.start("how are you?")
    result = handle.result(LIMIT_S)
    assert result.reply == "I am fine."
    assert said(handle) == ["I am fine."]
    assert out.getvalue() == "I am fine.\n"
    assert texts(session.messages()) == ["how are you?", REPLY]
    assert result.new_messages[-1].text == REPLY
    assert notices(handle) == []


def test_callbacks_get_the_answer_once():
    content = []
    handle = session_of(REPLY).start("hi", callbacks=views.Callbacks(on_content=content.append))
    handle.result(LIMIT_S)
    assert content == ["I am fine."]


def test_of_an_empty_answer_nothing_is_said():
    out = io.StringIO()
    session_of('{"answer": "", "mood": "good"}', out=out).step("hi")
    assert out.getvalue().strip() == ""


def test_the_model_is_asked_with_the_schema_every_time():
    session = session_of([call("look")], REPLY, REPLY, tools=[look])
    session.step("one")
    session.step("two")
    assert [request.response_schema for request in session.agent.llm.requests] == 3 * [SCHEMA]


def test_the_next_request_sees_the_json():
    session = session_of(REPLY, REPLY)
    session.step("one")
    session.step("two")
    assert texts(session.agent.llm.requests[1].messages) == ["one", REPLY, "two"]


@pytest.mark.parametrize(
    ("reply", "spoken"),
    [
        ('{"answer": ""}', ""),
        ('{"answer": 42}', "42"),
        ('{"answer": ["a", "ü"]}', '["a", "ü"]'),
        ('{"mood": "good"}', '{"mood": "good"}'),
        ('["no object"]', '["no object"]'),
        ('{"answer": null}', '{"answer": null}'),
        (' {"answer": "x"}\n', "x"),
    ],
)
def test_the_answer_is_what_it_is_and_without_one_the_reply_is_the_json(reply, spoken):
    session = session_of(reply)
    handle = session.start("go")
    assert handle.result(LIMIT_S).reply == spoken
    assert "".join(said(handle)) == spoken
    assert notices(handle) == []


def test_json_that_was_cut_is_kept_as_it_is_with_a_notice():
    cut = '{"answer": "I am'
    session = session_of({"text": cut, "stop": "length"})
    handle = session.start("go")
    assert handle.result(LIMIT_S).reply == cut
    assert ["cut" in text for text in notices(handle)] == [True]
    assert session.messages()[-1].text == cut


def test_json_that_was_cut_is_not_continued():
    session = session_of({"text": '{"answer": "I am', "stop": "length"}, REPLY, max_continuations=1)
    result = session.step("go")
    assert result.reply == '{"answer": "I am'
    assert len(session.agent.llm.requests) == 1


def test_nothing_is_said_of_json_that_was_interrupted():
    out = io.StringIO()
    session = session_of('{"answer": "' + "word " * 200 + '"}', token_delay_s=0.01, out=out)
    handle = session.start("go")
    first(handle, "message_start")
    while not session.agent.llm.emitted:
        assert handle.state in ("pending", "running")
    session.abort()
    handle.result(LIMIT_S)
    assert said(handle) == []
    assert out.getvalue() == ""


def test_calls_and_schema_are_alternatives():
    session = session_of([call("look")], REPLY, tools=[look])
    handle = session.start("what is there?")
    assert handle.result(LIMIT_S).reply == "I am fine."
    assert said(handle) == ["I am fine."]
    assert [m.role for m in session.messages()] == ["user", "assistant", "tool", "assistant"]


def test_what_the_budget_ends_is_the_last_answer():
    script = {"text": REPLY, "calls": [call("look")]}
    session = session_of(script, tools=[look], options={"max_turns": 1})
    result = session.step("go")
    assert (result.reason, result.reply) == ("budget", "I am fine.")


def test_a_reply_of_a_hook_is_no_json_and_stays():
    class Ends(hooks.BaseHook):
        points = frozenset({hooks.FirePoint.ON_RUN_START})

        def __call__(self, point, ctx, payload):
            return hooks.HookResult.end_turn("Not now.")

    session = session_of(agent_hooks=[Ends()])
    handle = session.start("go")
    assert handle.result(LIMIT_S).reply == "Not now."
    assert notices(handle) == []


def test_an_agent_that_is_handed_over_to_answers_in_words():
    target = Agent("target", llm=ScriptedLLM("In words."))
    router = Agent("a", llm=ScriptedLLM([call("handoff_to_target")]), handoffs=[target])
    session = Session(router, response_schema=SCHEMA)
    handle = session.start("go")
    assert handle.result(LIMIT_S).reply == "In words."
    assert target.llm.requests[0].response_schema is None
    assert notices(handle) == []


def test_thinking_is_told_as_it_comes():
    session = session_of({"thinking": "well well", "text": REPLY})
    handle = session.start("go")
    handle.result(LIMIT_S)
    channels = [e.channel for e in handle.events() if e.kind == "message_update"]
    assert channels == ["thinking", "thinking", "text"]


@pytest.mark.parametrize("tools", [(), (look,)], ids=["plain", "with tools"])
def test_the_real_model_is_held_to_the_schema_by_its_grammar(nano, tools):
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 12}, "mood": {"enum": ["good", "bad"]}},
        "required": ["answer", "mood"],
        "additionalProperties": False,
    }
    agent = Agent("a", "You are a robot.", llm=nano, tools=tools, options=Options(max_tokens=80))
    session = Session(agent, response_schema=schema)
    handle = session.start(Message.user("hello"))
    result = handle.result(LIMIT_S)
    whole = session.messages()[-1].text
    value = json.loads(whole)
    assert set(value) == {"answer", "mood"}
    assert value["mood"] in ("good", "bad")
    assert result.reply == value["answer"]
    assert "".join(said(handle)) == value["answer"]
    assert session.usage != Usage()
