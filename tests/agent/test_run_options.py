"""Options: their defaults, what None and 0 mean, and what is refused when it is registered."""

from __future__ import annotations

import math
import threading

import pytest

from edgeagent import Agent, EdgeAgentError, Options, QueueMode, Session, ToolCall, ToolMode, ToolResult, tool
from edgeagent.agent import PlanThenExecute
from edgeagent.testing import ScriptedLLM, call

from .kit import opened, statuses

DEFAULTS = {
    "tool_execution_mode": ToolMode.BATCH,
    "steering_mode": QueueMode.ONE_AT_A_TIME,
    "followup_mode": QueueMode.ONE_AT_A_TIME,
    "steering_check": "after_batch",
    "max_concurrent_tools": 8,
    "tool_timeout_s": 30,
    "max_tool_hops": None,
    "max_turns": 15,
    "continue_confirm": None,
    "on_budget": "last_content",
    "max_continuations": 1,
    "before_tool_call": None,
    "after_tool_call": None,
    "on_event": None,
    "get_steering_messages": None,
    "get_follow_up_messages": None,
    "should_stop_after_turn": None,
    "transform_context": None,
    "get_ephemeral_messages": None,
    "convert_messages": None,
    "policy_check": None,
    "confirm": None,
    "confirm_timeout_s": 30,
    "error_intervention": None,
    "max_tool_errors": 3,
    "tool_output_limit": 8192,
    "abort_grace_s": 0.5,
    "deadline_s": None,
    "llm_timeout_s": None,
    "orchestrator": None,
    "temperature": None,
    "max_tokens": 256,
    "thinking_level": None,
    "tool_choice": "auto",
}
ZERO_IS_A_VALUE = {"temperature", "max_continuations", "abort_grace_s"}
CALLBACKS = [
    name
    for name in DEFAULTS
    if name.startswith(("before_", "after_", "get_", "should_", "transform", "convert", "policy", "error_int", "on_ev"))
    or name in ("confirm", "continue_confirm")
]


@tool
def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


@tool
def bad() -> str:
    """Fails."""
    raise RuntimeError("no luck")


def run(calls, **options):
    return Agent("a", llm=ScriptedLLM(calls, "ok"), tools=[add, bad], options=Options(**options)).run("go")


@pytest.mark.parametrize("name", DEFAULTS)
def test_the_defaults_are_the_contracts_and_none_means_the_default(name):
    assert getattr(Options(), name) == DEFAULTS[name]
    assert getattr(Options(**{name: None}), name) == DEFAULTS[name]


@pytest.mark.parametrize("name", [name for name, value in DEFAULTS.items() if isinstance(value, (int, float))])
def test_zero_means_the_default_except_where_it_is_a_value(name):
    assert getattr(Options(**{name: 0}), name) == (0 if name in ZERO_IS_A_VALUE else DEFAULTS[name])


def test_zero_is_a_temperature():
    assert Options(temperature=0).temperature == 0


@pytest.mark.parametrize("name", CALLBACKS)
def test_an_async_callback_is_an_error_at_registration(name):
    async def late(*arguments):
        return None

    with pytest.raises(EdgeAgentError, match="async"):
        Options(**{name: late})


def test_an_async_orchestrator_is_an_error_at_registration():
    class Late:
        async def run(self, run, message):
            raise AssertionError

    with pytest.raises(EdgeAgentError, match="async"):
        Options(orchestrator=Late())


@pytest.mark.parametrize(
    "wrong",
    [
        {"steering_check": "sometimes"},
        {"tool_execution_mode": "all"},
        {"on_budget": "give up"},
        {"max_turns": -1},
        {"confirm": "yes"},
        {"tool_timeout_s": "30"},
        {"orchestrator": PlanThenExecute},
    ],
)
def test_a_value_that_cannot_be_is_an_error_that_names_it(wrong):
    with pytest.raises(EdgeAgentError, match=next(iter(wrong))):
        Options(**wrong)


def test_modes_may_be_given_as_words():
    assert Options(tool_execution_mode="parallel").tool_execution_mode is ToolMode.PARALLEL
    assert Options(steering_mode="all").steering_mode is QueueMode.ALL


# --- callbacks ----------------------------------------------------------------------------------------------------


def test_before_tool_call_gets_the_call_and_a_stop_event():
    seen = []
    run([call("add", a=1, b=2)], before_tool_call=lambda made, stop: seen.append((made.name, made.arguments, stop)))
    assert seen[0][:2] == ("add", {"a": 1, "b": 2})
    assert seen[0][2].is_set() is False


def test_before_tool_call_may_rewrite_and_the_result_keeps_the_id():
    result = run(
        [call("add", a=1, b=2)], before_tool_call=lambda made, stop: ToolCall("other", "add", {"a": 10, "b": 2})
    )
    made = result.tool_calls[0]
    assert (made.result.text, made.result.call_id) == ("12", result.messages[1].tool_calls[0].id)


def test_after_tool_call_gets_the_result_and_patches_whole_fields():
    result = run(
        [call("add", a=1, b=2)],
        after_tool_call=lambda made, result, stop: ToolResult(made.id, made.name, "error", f"not {result.text}"),
    )
    assert (statuses(result), result.tool_calls[0].result.text) == (["error"], "not 3")


@pytest.mark.parametrize("name", ["after_tool_call", "error_intervention"])
def test_a_callback_after_a_tool_that_raises_is_skipped(name):
    result = run([call("bad"), call("add", a=1, b=2)], **{name: lambda *arguments: 1 / 0})
    assert statuses(result) == ["error", "ok"]
    assert "no luck" in result.tool_calls[0].result.text


def test_error_intervention_adds_a_hint_to_errors_and_time_outs_only():
    gate = threading.Event()

    @tool(timeout_s=0.02)
    def slow() -> str:
        """Slow."""
        gate.wait(10)
        return ""

    asked = []

    def hint(name, message):
        asked.append(name)
        return f"try another than {name}"

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("bad"), call("slow"), call("add", a=1, b=2), call("nope"), call("add", a=1)], "ok"),
        tools=[add, bad, slow],
        options=Options(error_intervention=hint),
    )
    result = agent.run("go")
    gate.set()
    assert sorted(asked) == ["bad", "slow"]
    assert [("try another" in made.result.text) for made in result.tool_calls] == [True, True, False, False, False]


def test_error_intervention_without_a_hint_changes_nothing():
    assert run([call("bad")], error_intervention=lambda n, m: "").tool_calls[0].result.text == "RuntimeError: no luck"


def test_should_stop_after_turn_sees_the_state_after_the_turn_and_before_the_next_call():
    seen = []

    def stop(state):
        seen.append((state.hop, [m.role for m in state.messages]))
        return len(seen) == 2

    llm = ScriptedLLM([call("add", a=1, b=2)], [call("add", a=2, b=2)], "never")
    agent = Agent("a", llm=llm, tools=[add], options=Options(should_stop_after_turn=stop))
    result = agent.run("go")
    assert (result.reason, llm.remaining) == ("stopped", 1)
    assert seen == [(1, ["user", "assistant", "tool"]), (2, ["user", "assistant", "tool", "assistant", "tool"])]


def test_should_stop_after_turn_that_raises_does_not_stop():
    result = run([call("add", a=1, b=2)], should_stop_after_turn=lambda state: 1 / 0)
    assert (result.reason, result.reply) == ("completed", "ok")


def test_should_stop_ends_before_what_is_queued_is_taken():
    agent = Agent("a", llm=ScriptedLLM("x", "never"), options=Options(should_stop_after_turn=lambda state: True))
    agent.follow_up("later")
    assert agent.run("go").reason == "stopped"
    assert agent.has_pending


def test_a_raising_subscriber_is_isolated_and_counted():
    agent = Agent("a", llm=ScriptedLLM("x"), options=Options(on_event=lambda event: 1 / 0))
    assert agent.run("go").reply == "x"
    assert agent.subscriber_errors > 0


def test_max_tool_errors_in_a_row_of_one_tool_end_the_tools():
    llm = ScriptedLLM([call("bad")], [call("bad")], [call("bad")], "it does not work")
    agent = Agent("a", llm=llm, tools=[bad], options=Options(max_tool_errors=2))
    result = agent.run("go")
    assert statuses(result) == ["error", "error", "blocked"]
    assert llm.requests[3].tool_choice == "none"
    assert result.reply == "it does not work"


def test_an_infinite_time_is_no_limit(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    begun, done = threading.Event(), threading.Event()

    @tool(timeout_s=math.inf, on_interrupt="detach")
    def bake() -> str:
        """Bakes."""
        begun.set()
        return str(opened(done))

    for llms in ([], [ScriptedLLM("never")]):
        options = Options(deadline_s=math.inf, llm_timeout_s=math.inf)
        agent = Agent("a", llm=ScriptedLLM([call("bake")]), tools=[bake], options=options)
        with Session(agent, fallback_models=llms) as session:
            handle = session.start("go")
            opened(begun)
            begun.clear()
            session.abort()
            assert statuses(handle.result(math.inf)) == ["detached"]
    done.set()
    assert raised == []
