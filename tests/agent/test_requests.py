"""What one request holds: the history as a copy, ephemeral messages, and what callbacks and hooks make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    EdgeAgentError,
    FirePoint,
    HookResult,
    Message,
    ModelError,
    Options,
    RunState,
    Session,
    ToolContext,
    ToolResult,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, statuses, texts

P = FirePoint


@tool(read_only=True)
def look(where: dict[str, int]) -> str:
    """Looks."""
    return "seen"


def agent_with(*replies, hooks=(), **options):
    return Agent("a", "be brief", llm=ScriptedLLM(*replies), tools=[look], hooks=hooks, options=Options(**options))


# --- ephemeral ----------------------------------------------------------------------------------------------------


def test_ephemeral_messages_end_each_request_and_are_stored_nowhere():
    temperatures = iter(["temp=21", "temp=22"])
    agent = agent_with([call("look", where={})], "ok", get_ephemeral_messages=lambda: [next(temperatures)])
    handle = agent.start("go")
    result = ends(handle, "completed")
    assert [r.messages[-1].text for r in agent.llm.requests] == ["temp=21", "temp=22"]
    assert [r.messages[-1].origin for r in agent.llm.requests] == ["ephemeral"] * 2
    assert not [m for m in result.messages if m.text.startswith("temp")]
    assert not [e for e in handle.events() if e.kind == "message_end" and e.message.text.startswith("temp")]


def test_the_common_prefix_of_two_requests_covers_system_tools_and_history():
    temperatures = iter(["temp=21", "temp=22"])
    agent = agent_with([call("look", where={})], "ok", get_ephemeral_messages=lambda: [next(temperatures)])
    agent.run("go")
    earlier, later = (agent.llm.tokenize(request) for request in agent.llm.requests)
    common = next((i for i, (a, b) in enumerate(zip(earlier, later, strict=False)) if a != b), len(earlier))
    assert common == len(earlier) - 1, "all but the ephemeral word"


@pytest.mark.parametrize("bad", [lambda: 1 / 0, lambda: None, list])
def test_ephemeral_callbacks_that_fail_or_have_nothing_change_nothing(bad):
    agent = agent_with("ok", get_ephemeral_messages=bad)
    agent.run("go")
    assert texts(agent.llm.requests[0].messages) == ["go"]


def test_a_lone_ephemeral_text_is_one_message():
    agent = agent_with("ok", get_ephemeral_messages=lambda: "temp=21")
    agent.run("go")
    assert texts(agent.llm.requests[0].messages) == ["go", "temp=21"]


def test_they_are_asked_for_once_a_request():
    asked = []
    agent = agent_with([call("look", where={})], "ok", get_ephemeral_messages=lambda: asked.append(1) or [])
    agent.run("go")
    assert len(asked) == 2


# --- the chain ----------------------------------------------------------------------------------------------------


def test_ephemeral_then_transform_then_the_hook_then_convert():
    seen = []

    def transform(messages):
        seen.append(("transform", texts(messages)))
        return [*messages, Message.user("t")]

    def before(ctx, p):
        seen.append(("hook", texts(p.messages)))
        return HookResult.replace(replace(p, messages=[*p.messages, Message.user("h")]))

    def convert(messages):
        seen.append(("convert", texts(messages)))
        return [*messages, Message.user("c")]

    agent = agent_with(
        "ok",
        hooks=[At(P.BEFORE_LLM, does=before)],
        get_ephemeral_messages=lambda: ["e"],
        transform_context=transform,
        convert_messages=convert,
    )
    result = agent.run("go")
    assert seen == [
        ("transform", ["go", "e"]),
        ("hook", ["go", "e", "t"]),
        ("convert", ["go", "e", "t", "h"]),
    ]
    assert texts(agent.llm.requests[0].messages) == ["go", "e", "t", "h", "c"]
    assert texts(result.messages) == ["go", "ok"], "history is as it was"


def test_transform_context_may_cut_the_history_for_this_request():
    history = [Message.user("a"), Message.assistant("b")]
    agent = agent_with("ok", transform_context=lambda messages: messages[-1:])
    result = agent.run("c", messages=history)
    assert texts(agent.llm.requests[0].messages) == ["c"]
    assert texts(result.messages) == ["a", "b", "c", "ok"]


def test_other_roles_are_kept_in_history_and_dropped_before_the_model():
    agent = agent_with("ok")
    result = agent.run("go", messages=[Message("telemetry", "speed=1", data={"speed": 1})])
    assert texts(agent.llm.requests[0].messages) == ["go"]
    assert [m.role for m in result.messages] == ["telemetry", "user", "assistant"]
    assert result.messages[0].data == {"speed": 1}


def test_convert_messages_may_make_something_of_them():
    def convert(messages):
        return [Message.user(m.text) if m.role == "telemetry" else m for m in messages]

    agent = agent_with("ok", convert_messages=convert)
    agent.run("go", messages=[Message("telemetry", "speed=1")])
    assert texts(agent.llm.requests[0].messages) == ["speed=1", "go"]


@pytest.mark.parametrize("name", ["transform_context", "convert_messages"])
def test_what_these_callbacks_raise_closes_the_log_and_comes_unchanged(name, shorthand):
    handle = agent_with("never", **{name: lambda messages: 1 / 0}).start("go")
    with pytest.raises(ZeroDivisionError):
        handle.result(LIMIT_S)
    log = shorthand(handle.events())
    assert log.startswith("AS TS MS(u) ME(u)")
    assert log.endswith("AX TE AE(error)")


@pytest.mark.parametrize("name", ["transform_context", "convert_messages"])
def test_a_callback_that_forgets_to_return_the_messages_is_named(name):
    with pytest.raises(EdgeAgentError, match=f"{name} returned NoneType; it should return a list of Messages"):
        agent_with("never", **{name: lambda messages: messages.clear()}).run("go")


# --- copies -------------------------------------------------------------------------------------------------------


def test_reasoning_and_a_reply_as_the_model_wrote_it_stay_in_history_and_are_not_sent_back():
    thought = {"text": "hm", "thinking": "secret", "calls": [call("look", where={"x": 1})]}
    agent = agent_with(thought, "ok")
    result = agent.run("go", messages=[Message("assistant", "hello", raw="<hello>", data={"n": 1})])
    assert [(m.thinking, m.raw) for m in agent.llm.requests[1].messages] == [("", None)] * 4
    assert [(m.thinking, m.raw) for m in result.messages[::2]] == [("", "<hello>"), ("secret", None), ("", None)]


def test_nothing_that_is_changed_in_a_request_reaches_history():
    def spoil(messages):
        for message in messages:
            for made in message.tool_calls:
                made.arguments["where"]["x"] = 100
            if isinstance(message.data, dict):
                message.data["speed"] = 100
        return messages

    agent = agent_with([call("look", where={"x": 1})], "ok", transform_context=spoil)
    result = agent.run("go", messages=[Message("telemetry", "s", data={"speed": 1})])
    assert result.messages[2].tool_calls[0].arguments == {"where": {"x": 1}}
    assert result.messages[0].data == {"speed": 1}


@pytest.mark.parametrize("name", ["policy_check", "before_tool_call", "confirm"])
def test_what_a_callback_does_to_arguments_changes_neither_history_nor_the_call(name):
    seen = []

    def spoil(*arguments):
        given = arguments[1] if name != "before_tool_call" else arguments[0].arguments
        given["where"]["x"] = 100
        return {"policy_check": None, "before_tool_call": None, "confirm": True}[name]

    @tool(destructive=True)
    def wipe(where: dict[str, int]) -> str:
        """Wipes."""
        seen.append(dict(where))
        return "wiped"

    llm = ScriptedLLM([call("wipe", where={"x": 1})], "ok")
    result = Agent("a", llm=llm, tools=[wipe], options=Options(**{name: spoil})).run("go")
    assert result.messages[1].tool_calls[0].arguments == {"where": {"x": 1}}
    assert seen == [{"x": 1}]


def test_a_body_that_changes_its_arguments_does_not_change_history():
    @tool
    def spoil(where: dict[str, int]) -> str:
        """Spoils."""
        where["x"] = 100
        return ""

    llm = ScriptedLLM([call("spoil", where={"x": 1})], "ok")
    result = Agent("a", llm=llm, tools=[spoil]).run("go")
    assert result.messages[1].tool_calls[0].arguments == {"where": {"x": 1}}
    assert llm.requests[1].messages[1].tool_calls[0].arguments == {"where": {"x": 1}}


def test_the_messages_that_were_passed_in_are_copied():
    given = [Message("telemetry", "s", data={"speed": 1})]
    result = agent_with("ok").run("go", messages=given)
    result.messages[0].data["speed"] = 2
    assert given[0].data == {"speed": 1}


# --- the request's settings ---------------------------------------------------------------------------------------


def test_a_message_that_is_said_again_is_another_one():
    again = Message.user("go")
    agent = agent_with("one", "two", "three")
    first = agent.run(again)
    agent.steer(again)
    second = agent.run(again, messages=first.messages)
    assert texts(second.new_messages) == ["go", "go", "two"]
    ids = [message.id for message in second.messages]
    assert len(set(ids)) == len(ids) == 5
    assert again.id == ids[0]


def test_a_session_keeps_a_message_that_is_said_again(tmp_path):
    again = Message.user("go")
    with Session(agent_with("one", "two", "three"), path=tmp_path / "s") as session:
        session.step(again)
        session.steer(again)
        session.step(again)
    with Session.open(tmp_path / "s", agent_with()) as session:
        assert texts(session.messages()) == ["go", "one", "go", "go", "two"]


def test_settings_reach_the_request_and_zero_is_a_value_for_temperature():
    agent = agent_with("ok", temperature=0, max_tokens=7, thinking_level="low")
    agent.run("go")
    request = agent.llm.requests[0]
    assert (request.temperature, request.max_tokens, request.thinking_level) == (0, 7, "low")
    assert (request.system, request.tool_choice) == ("be brief", "auto")


def test_a_required_first_call_is_required_once_in_each_run():
    agent = agent_with([call("look", where={})], "ok", [call("look", where={})], "ok", tool_choice="required_first")
    agent.run("go")
    agent.run("again")
    assert [request.tool_choice for request in agent.llm.requests] == ["required", "auto", "required", "auto"]


def test_a_first_call_is_not_required_where_there_are_no_tools():
    agent = Agent("a", llm=ScriptedLLM("ok"), options=Options(tool_choice="required_first"))
    agent.run("go")
    assert agent.llm.requests[0].tool_choice == "auto"


def test_no_tool_choice_is_none_in_every_request():
    agent = agent_with("ok", "more", tool_choice="none")
    agent.follow_up("and?")
    agent.run("go")
    assert [(request.tool_choice, len(request.tools)) for request in agent.llm.requests] == [("none", 1)] * 2


def test_calls_of_a_reply_to_a_request_for_words_are_not_run():
    agent = agent_with([call("look", where={"x": 1})], "seen nothing", tool_choice="none")
    result = ends(agent.start("go"), "completed")
    assert (statuses(result), result.reply) == (["not_run"], "seen nothing")


def test_the_options_of_a_run_replace_the_agents_whole():
    agent = agent_with("ok", "ok", temperature=0.5, max_tokens=7)
    agent.run("go", options=Options(temperature=0.1))
    assert (agent.llm.requests[0].temperature, agent.llm.requests[0].max_tokens) == (0.1, 256)
    agent.run("go")
    assert agent.llm.requests[1].max_tokens == 7


# --- state --------------------------------------------------------------------------------------------------------


def test_the_state_has_the_elevens_fields_and_shows_the_run():
    seen = {}

    @tool(read_only=True)
    def peek() -> str:
        """Peeks."""
        seen["body"] = agent.state
        return "peeked"

    agent = Agent("a", "be brief", llm=ScriptedLLM({"text": "one two", "calls": [call("peek")]}, "ok"), tools=[peek])
    agent.subscribe(lambda e: seen.setdefault(e.kind, agent.state))
    agent.follow_up("later")
    agent.llm._replies.append("later too")
    ends(agent.start("go"), "completed")
    assert isinstance(seen["body"], RunState)
    assert len(seen["tool_execution_start"].pending_tool_calls) == 1
    assert seen["body"].is_streaming
    assert seen["message_update"].streaming_message.text == "one"
    assert texts(seen["body"].messages) == ["go", "one two"]
    assert texts(seen["body"].follow_up_queue) == ["later"]
    assert seen["agent_end"].is_streaming
    after = agent.state
    assert (after.is_streaming, after.run_id, after.pending_tool_calls) == (False, None, frozenset())
    assert (after.system_prompt, after.llm, [t.name for t in after.tools]) == ("be brief", agent.llm, ["peek"])
    with pytest.raises(AttributeError):
        after.is_streaming = True


def test_the_state_may_be_read_while_a_run_begins():
    class Peeks(dict):
        """Reads the state in the moment in which the run takes the context over."""

        def clear(self):
            seen.append(agent.state)

    seen = []
    agent = agent_with("ok")
    agent.run("go", context=AgentContext(hook_state=Peeks()))
    assert [state.llm for state in seen] == [agent.llm]


def test_the_error_is_on_the_state_until_the_next_run():
    agent = agent_with({"text": "", "error": "boom"}, "ok")
    agent.run("go")
    assert agent.state.error_message == "boom"
    agent.run("go")
    assert agent.state.error_message is None


def test_a_context_of_the_caller_is_used_and_its_state_kept():
    context = AgentContext(state={"n": 1}, blackboard={"k": "v"})
    seen = []

    def keep(ctx, p):
        seen.append((ctx is context, ctx.state["n"]))
        ctx.state["n"] += 1

    agent = agent_with("a", "b", hooks=[At(P.BEFORE_LLM, does=keep)])
    agent.run("go", context=context)
    agent.run("go", context=context)
    assert seen == [(True, 1), (True, 2)]


def test_a_context_without_deps_has_each_agents_own_while_that_runs():
    seen = []

    @tool(read_only=True)
    def peek(ctx: ToolContext) -> str:
        """Peeks."""
        seen.append((ctx.deps, ctx.agent.deps))
        return "peeked"

    context = AgentContext()
    for deps in ("one", "two"):
        Agent("a", llm=ScriptedLLM([call("peek")], "ok"), tools=[peek], deps=deps).run("go", context=context)
    Agent("a", llm=ScriptedLLM([call("peek")], "ok"), tools=[peek], deps=deps).run("go", context=AgentContext(deps=3))
    assert (seen, context.deps) == ([("one", "one"), ("two", "two"), (3, 3)], None)


def test_a_call_without_a_result_in_the_messages_of_a_run_gets_one():
    asked = Message.assistant("", [call("look"), call("look")])
    result_of_one = Message.tool(ToolResult(asked.tool_calls[1].id, "look", "ok", "a wall"))
    llm = ScriptedLLM("done")
    result = Agent("a", llm=llm).run("go on", messages=[Message.user("look twice"), asked, result_of_one])
    assert calls_are_answered(result.messages)
    assert [m.status for m in llm.requests[0].messages if m.role == "tool"] == ["outcome_unknown", "ok"]
    assert texts(result.new_messages) == ["go on", "done"]


# --- too long ------------------------------------------------------------------------------------------------------


def test_a_prompt_over_the_window_of_any_model_is_an_error_with_both_numbers():
    llm = ScriptedLLM("never", context_window=400)
    agent = Agent("a", llm=llm)
    with pytest.raises(ModelError, match=r"the prompt has 200 tokens.* the context window of 400"):
        agent.run("word " * 200)
    assert (llm.requests, agent.is_running) == ([], False)
    assert Agent("a", llm=ScriptedLLM("yes", context_window=400)).run("word " * 144).reply == "yes"


def test_a_model_that_looks_at_its_window_itself_is_asked():
    class Own(ScriptedLLM):
        checks_window = True

    assert Agent("a", llm=Own("yes", context_window=400)).run("word " * 200).reply == "yes"
