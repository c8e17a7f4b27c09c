"""A handoff: what the two agents share, and how a run that was handed over is steered, stopped and closed."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    BusyError,
    FirePoint,
    Options,
    PolicyViolationError,
    Session,
    ToolContext,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, first, opened, statuses, texts
from .kitchen import TO_COOK, pair

P = FirePoint


# --- what is shared -----------------------------------------------------------------------------------------------

OF_ONE_AGENT = {"tool_registry", "llm", "agent_name", "system", "options", "response_schema", "history", "depth"}
"""What belongs to one agent's part alone; ``no_more_tools`` too, but it is false in both."""


def test_every_field_of_the_context_is_shared_or_belongs_to_one_agent():
    seen = {}

    def keep(ctx, payload):
        values = {f.name: getattr(ctx, f.name) for f in dataclasses.fields(ctx)}
        seen.setdefault(ctx.agent_name, values)

    context = AgentContext(
        deps=object(), bus=object(), memory=object(), session=None, hooks=[At(P.BEFORE_LLM, does=keep)]
    )
    router, cook = pair([[TO_COOK]], ["soup"])
    router.run("make soup", context=context, options=Options(deadline_s=LIMIT_S))
    ours, theirs = seen["router"], seen["cook"]
    assert ours["deadline"] is not None
    for name in set(ours) - OF_ONE_AGENT:
        assert theirs[name] is ours[name] or (callable(ours[name]) and theirs[name] == ours[name]), name
    assert theirs["tool_registry"] is cook.tools
    assert theirs["llm"] is cook.llm
    assert (ours["depth"], theirs["depth"]) == (0, 1)


def test_what_the_router_leaves_on_the_blackboard_the_targets_tools_find():
    @tool
    def write(ctx: ToolContext) -> str:
        """Writes."""
        ctx.agent.blackboard["soup"] = ctx.agent.artifacts["bowl"] = "tomato"
        return "written"

    @tool
    def read(ctx: ToolContext) -> str:
        """Reads."""
        return f"{ctx.agent.blackboard['soup']} {ctx.agent.artifacts['bowl']} {ctx.deps}"

    router, _ = pair(
        [[call("write"), TO_COOK]],
        [[call("read")], "done"],
        router={"tools": [write], "deps": "shared"},
        cook={"tools": [read], "deps": "its own"},
    )
    assert router.run("go").tool_calls[-1].result.text == "tomato tomato shared"


def test_the_budget_is_shared():
    router, cook = pair([[TO_COOK]], [[call("look")]] * 9, cook={"options": Options(max_turns=9)})
    result = ends(router.start("make soup", options=Options(max_turns=3)), "budget")
    assert (len(router.llm.requests), len(cook.llm.requests)) == (1, 2)
    assert statuses(result) == ["ok"] * 3


def test_a_target_without_a_model_has_the_routers():
    cook = Agent("cook", "you cook")
    router = Agent("router", llm=ScriptedLLM([TO_COOK], "soup"), handoffs=[cook])
    assert router.run("make soup").reply == "soup"
    assert router.llm.requests[1].system == "you cook"


# --- busy, stop, steer --------------------------------------------------------------------------------------------


def test_a_busy_target_is_an_error_result():
    gate = threading.Event()

    def wait(request):
        opened(gate)
        return "mine"

    router, cook = pair([[TO_COOK], "the cook is busy"], [wait])
    own = cook.start("something else")
    first(own, "turn_start")
    result = ends(router.start("make soup"), "completed")
    gate.set()
    assert (statuses(result), result.reply) == (["error"], "the cook is busy")
    assert "busy" in result.tool_calls[0].result.text
    assert ends(own, "completed").reply == "mine"


@pytest.fixture
def cooking():
    """A run in which the cook's tool waits: the agents, the run, the gate."""
    gate = threading.Event()

    @tool(read_only=True)
    def stir(ctx: ToolContext) -> str:
        """Stirs."""
        while not (gate.wait(0.005) or ctx.should_stop()):
            pass
        return "stirred"

    router, cook = pair([[TO_COOK]], [[call("stir")], "soup"], cook={"tools": [stir]})
    handle = router.start("make soup")
    first(handle, "tool_execution_start", tool="stir")
    yield router, cook, handle, gate
    gate.set()
    assert handle.wait(LIMIT_S)


def test_the_target_is_busy_while_it_has_the_run_and_free_afterwards(cooking):
    _router, cook, handle, gate = cooking
    assert cook.is_running
    with pytest.raises(BusyError):
        cook.start("x")
    with pytest.raises(BusyError):
        cook.reset()
    gate.set()
    handle.result(LIMIT_S)
    assert not cook.is_running
    cook.llm = ScriptedLLM("mine")
    assert cook.run("x").reply == "mine"


@pytest.mark.parametrize("who", ["router", "cook", "handle"])
def test_steering_reaches_the_active_agent(cooking, who):
    router, cook, handle, gate = cooking
    {"router": router, "cook": cook, "handle": handle}[who].steer("more salt")
    gate.set()
    ends(handle, "completed")
    assert texts(cook.llm.requests[1].messages)[-1] == "more salt"


@pytest.mark.parametrize("who", ["router", "cook"])
def test_a_follow_up_reaches_the_active_agent(cooking, who):
    router, cook, handle, gate = cooking
    cook.llm._replies.append("and bread")
    {"router": router, "cook": cook}[who].follow_up("bread too")
    gate.set()
    result = ends(handle, "completed")
    assert result.reply == "and bread"
    assert texts(cook.llm.requests[2].messages)[-1] == "bread too"
    assert not router.has_pending


@pytest.mark.parametrize("who", ["router", "cook", "handle"])
def test_an_abort_in_the_target_ends_the_run(cooking, who):
    router, cook, handle, _gate = cooking
    assert {"router": router, "cook": cook, "handle": handle}[who].abort("user")
    result = ends(handle, "aborted", "user")
    assert statuses(result) == ["ok", "interrupted"]
    assert calls_are_answered(result.messages)
    assert not cook.is_running
    assert not router.is_running


def test_an_abort_in_the_words_of_the_target_leaves_a_cut_reply_and_a_marker_in_the_session():
    router, _cook = pair([[TO_COOK]], ["soup " * 50])
    with Session(router) as session:
        session.subscribe(lambda e: e.kind == "message_update" and session.abort())
        assert session.step("make soup").reason == "aborted"
        *_, said, marker = session.messages()
    assert (said.origin, said.stop_reason, said.text.split()[0]) == ("handoff", "aborted", "soup")
    assert (marker.role, marker.origin) == ("user", "marker")


def test_an_error_in_the_words_of_the_target_is_one_in_the_routers_history():
    router, _cook = pair([[TO_COOK]], [{"text": "soup", "error": "lost"}])
    result = ends(router.start("make soup"), "error")
    assert (result.messages[-1].text, result.messages[-1].stop_reason) == ("soup", "error")


def test_the_state_during_the_targets_part_is_the_targets(cooking):
    router, cook, _handle, _gate = cooking
    for agent in (router, cook):
        state = agent.state
        assert (state.system_prompt, state.is_streaming) == ("you cook", True)
        assert [t.name for t in state.tools] == ["stir"]


def test_a_model_that_fails_in_the_target_closes_the_whole_run(shorthand):
    router, cook = pair([[TO_COOK]], [ValueError("lost")])
    ended = []
    hook = At(P.ON_RUN_END, does=lambda ctx, p: ended.append((ctx.agent_name, p.reason)))
    handle = router.start("make soup", context=AgentContext(hooks=[hook]))
    with pytest.raises(ValueError, match="lost"):
        handle.result(LIMIT_S)
    assert shorthand(handle.events()).endswith("TS MS(u) ME(u) MS(a) ME(a) AX TE AE(error)")
    assert ended == [("cook", "error"), ("router", "error")]
    assert not cook.is_running
    assert list(handle.events())[-1].agent == "router"


def test_a_denial_in_the_target_fails_the_run():
    router, cook = pair([[TO_COOK]], [[call("look")]])
    options = Options(policy_check=lambda name, arguments: "no looking" if name == "look" else None)
    with pytest.raises(PolicyViolationError, match="no looking"):
        router.run("make soup", options=options)
    assert not cook.is_running


def test_a_message_that_wakes_and_comes_as_the_target_ends_is_taken_up():
    router, cook = pair([[TO_COOK], "noted"], ["soup", "noted"])

    def late(ctx, payload):
        if ctx.agent_name == "cook" and not box:
            box.append(cook.steer("one more thing", wake=True))

    box: list[object] = []
    told = threading.Event()
    for agent in (router, cook):
        agent.subscribe(
            lambda e: told.set() if e.kind == "message_end" and e.message.text == "one more thing" else None
        )
    handle = router.start("make soup", context=AgentContext(hooks=[At(P.ON_RUN_END, does=late)]))
    ends(handle, "completed")
    assert told.wait(1)


def test_a_message_that_wakes_as_the_target_ends_has_the_session_of_the_one_who_was_asked():
    router, cook = pair([[TO_COOK], "noted"], ["soup"])
    said = threading.Event()

    def late(ctx, payload):
        if ctx.agent_name == "cook":
            cook.follow_up("one more thing", wake=True)

    router.subscribe(lambda e: said.set() if e.kind == "agent_end" and e.messages[-1].text == "noted" else None)
    cook.hooks.append(At(P.ON_RUN_END, does=late))
    with Session(router) as session:
        session.step("make soup")
        opened(said)
    assert texts(router.llm.requests[-1].messages)[0] == "make soup"
    assert texts(router.llm.requests[-1].messages)[-1] == "one more thing"


@pytest.mark.parametrize("name", ["clear_steering", "clear_follow_up", "clear_all_queues"])
def test_clearing_the_target_clears_what_waits_for_the_run(cooking, name):
    router, cook, _handle, _gate = cooking
    cook.steer("left")
    cook.follow_up("later")
    assert router.has_pending
    assert cook.has_pending
    getattr(cook, name)()
    left = {"clear_steering": ["later"], "clear_follow_up": ["left"], "clear_all_queues": []}[name]
    state = router.state
    assert texts([*state.steering_queue, *state.follow_up_queue]) == left
