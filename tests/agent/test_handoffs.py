"""A handoff: another agent goes on with the request, in the same run, with a clean history of its own."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    FirePoint,
    Handoff,
    HookResult,
    Message,
    Options,
    PolicyViolationError,
    ToolMode,
    ToolResult,
    tool,
)
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, opened, raises, statuses, texts
from .kitchen import TO_COOK, pair, router_tool

P = FirePoint


# --- the move -----------------------------------------------------------------------------------------------------


def test_the_target_answers_without_a_second_call_of_the_routers_model(shorthand):
    router, cook = pair([[TO_COOK]], ["soup is on"])
    handle = router.start("make soup")
    result = ends(handle, "completed")
    assert shorthand(handle.events()).split("TE", 1)[0] == "AS TS MS(u) ME(u) MS(a) ME(a) XS XE MS(t) ME(t) "
    assert shorthand(handle.events()).split("TE", 1)[1] == " TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"
    assert (result.reply, result.agent_name, result.handed_off_to) == ("soup is on", "router", "cook")
    assert (len(router.llm.requests), len(cook.llm.requests)) == (1, 1)


def test_one_run_whose_events_change_the_agent_and_whose_turns_go_on():
    router, _ = pair([[TO_COOK]], [[call("look")], "soup is on"])
    handle = router.start("make soup")
    log = list(handle.events())
    assert len({e.run_id for e in log}) == 1
    assert [e.seq for e in log] == list(range(len(log)))
    assert [(e.turn, e.agent) for e in log if e.kind == "turn_start"] == [(1, "router"), (2, "cook"), (3, "cook")]
    assert [(e.turn, e.agent) for e in log if e.kind == "turn_end"] == [(1, "router"), (2, "cook"), (3, "cook")]
    assert [e.kind for e in log].count("agent_start") == [e.kind for e in log].count("agent_end") == 1
    assert (log[0].agent, log[-1].agent) == ("router", "router")


def test_the_target_has_a_clean_history_its_own_prompt_and_its_own_tools():
    router, cook = pair(["hello", [TO_COOK]], ["soup is on"])
    before = router.run("good morning")
    router.run("make soup", messages=before.messages)
    request = cook.llm.requests[0]
    assert (request.system, texts(request.messages)) == ("you cook", ["make soup"])
    assert request.messages[0].origin == "handoff"
    assert [t.name for t in request.tools] == ["look"]


def test_the_task_of_the_handoff_is_what_the_target_is_told():
    router, cook = pair([[call("handoff_to_cook", task="soup for two", reason="food")]], ["on it"])
    router.run("we are hungry")
    assert texts(cook.llm.requests[0].messages) == ["soup for two"]


@pytest.mark.parametrize(
    ("name", "tool_name"),
    [
        ("Bob", "handoff_to_Bob"),
        ("arm-2", "handoff_to_arm-2"),
        ("Kitchen Bot", "handoff_to_kitchen_bot"),
        ("?", "handoff_to_agent"),
    ],
)
def test_the_tool_has_the_targets_name_as_it_is_if_a_tool_may_have_it(name, tool_name):
    assert Agent("router", handoffs=[Agent(name)]).tools.names() == [tool_name]


@pytest.mark.parametrize("task", [None, "", "  "])
def test_without_a_task_the_target_is_told_the_routers_and_what_was_steered_since(task):
    @tool
    def search() -> str:
        """Searches."""
        router.steer("by noon")
        return "found"

    replies = [[call("search")], "which one?", [call("search")], [call("handoff_to_cook", task=task)]]
    router, cook = pair(replies, ["soup is on"], router={"tools": [search]})
    router.follow_up("make that soup")
    router.run("find a soup")
    assert texts(cook.llm.requests[0].messages) == ["make that soup\nby noon"]


def test_without_a_task_of_this_run_the_target_is_told_what_was_said_last():
    router, cook = pair([[TO_COOK]], ["soup is on"])
    router.run(messages=[Message.user("hello"), Message.assistant("hi"), Message.user("make soup")])
    assert texts(cook.llm.requests[0].messages) == ["make soup"]


def test_the_routers_history_gets_the_calls_result_and_the_targets_reply():
    router, _ = pair([[TO_COOK]], [[call("look")], "soup is on"])
    result = router.run("make soup")
    assert [(m.role, m.text) for m in result.messages] == [
        ("user", "make soup"),
        ("assistant", ""),
        ("tool", "handed to cook"),
        ("assistant", "soup is on"),
    ]
    assert result.messages[-1].origin == "handoff"
    assert calls_are_answered(result.messages)
    assert [(c.name, c.agent) for c in result.tool_calls] == [("handoff_to_cook", "router"), ("look", "cook")]


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("returned", [lambda handoff: handoff, ToolResult.ok])
def test_any_tool_may_return_a_handoff(by_name, returned):
    @tool
    def decide() -> object:
        """Decides."""
        return returned(Handoff("cook" if by_name else cook, task="boil water", reason="because"))

    router, cook = pair([[call("decide")]], ["boiling"], router={"tools": [decide]})
    result = router.run("tea")
    assert (result.reply, result.handed_off_to) == ("boiling", "cook")
    assert result.tool_calls[0].result.text == "handed to cook"
    assert texts(cook.llm.requests[0].messages) == ["boil water"]


def test_a_handoff_to_nobody_is_an_error_result():
    @tool
    def decide() -> Handoff:
        """Decides."""
        return Handoff("gardener")

    router, _ = pair([[call("decide")], "sorry"], [], router={"tools": [decide]})
    result = router.run("tea")
    assert (result.reply, statuses(result)) == ("sorry", ["error"])
    assert "gardener" in result.tool_calls[0].result.text


def test_calls_before_the_handoff_run_and_calls_after_it_and_further_handoffs_do_not():
    router, _ = pair([[call("look"), TO_COOK, call("look"), call("handoff_to_cook")]], ["soup"])
    result = router.run("make soup")
    assert statuses(result) == ["ok", "ok", "not_run", "not_run"]
    assert "cook" in result.tool_calls[2].result.text
    assert result.reply == "soup"


@pytest.mark.parametrize("mode", list(ToolMode))
def test_in_every_mode_calls_after_the_handoff_do_not_run(mode):
    options = Options(tool_execution_mode=mode)
    router, _ = pair([[call("look"), TO_COOK, call("look"), call("look")]], ["soup"], router={"options": options})
    assert statuses(router.run("make soup")) == ["ok", "ok", "not_run", "not_run"]


@pytest.mark.parametrize("mode", list(ToolMode))
def test_in_every_mode_calls_after_a_handoff_that_failed_run(mode):
    stay = At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.block("stay") if p.call.name != "look" else None)
    router = {"options": Options(tool_execution_mode=mode), "hooks": [stay]}
    router, _ = pair([[TO_COOK, call("look")], "I stay"], [], router=router)
    assert statuses(router.run("make soup")) == ["blocked", "ok"]


def test_usage_adds_up_and_new_messages_are_the_routers():
    router, _ = pair([[TO_COOK]], ["soup"])
    result = router.run("make soup", messages=[Message.user("x"), Message.assistant("y")])
    assert texts(result.new_messages) == ["make soup", "", "handed to cook", "soup"]
    assert result.usage.output_tokens == 2


# --- further and back ---------------------------------------------------------------------------------------------


def test_the_target_may_hand_back_and_the_router_goes_on_in_its_own_history():
    router, cook = pair([[TO_COOK], "all done"], [[call("handoff_to_router", task="soup is on")]])
    cook.tools.add(router_tool(router))
    result = ends(router.start("make soup"), "completed")
    assert (result.reply, result.handed_off_to) == ("all done", None)
    assert texts(router.llm.requests[1].messages) == ["make soup", "", "handed to cook", "soup is on"]
    assert calls_are_answered(result.messages)
    assert not router.is_running
    assert not cook.is_running


def test_a_cycle_ends_with_the_budget():
    router, cook = pair([[TO_COOK]] * 20, [[call("handoff_to_router", task="no, you")]] * 20)
    cook.tools.add(router_tool(router))
    result = ends(router.start("make soup", options=Options(max_turns=7)), "budget")
    assert len(router.llm.requests) + len(cook.llm.requests) == 7
    assert result.reply == "I could not finish that."
    assert calls_are_answered(result.messages)


def test_a_chain_of_three_ends_with_the_last_and_hands_back_to_the_first():
    waiter = Agent("waiter", llm=ScriptedLLM("served", [call("handoff_to_router", task="served twice")]))
    router, cook = pair(
        [[TO_COOK], [TO_COOK], "thanks"], [[call("handoff_to_waiter")]] * 2, cook={"handoffs": [waiter]}
    )
    result = ends(router.start("dinner"), "completed")
    assert (result.reply, result.handed_off_to) == ("served", "waiter")
    waiter.tools.add(router_tool(router))
    result = ends(router.start("dinner"), "completed")
    assert (result.reply, result.handed_off_to) == ("thanks", None)
    assert not any(agent.is_running for agent in (router, cook, waiter))


def test_after_a_hand_back_the_router_may_hand_over_again():
    router, cook = pair([[TO_COOK], [TO_COOK]], [[call("handoff_to_router", task="which soup?")], "tomato soup"])
    cook.tools.add(router_tool(router))
    result = ends(router.start("make soup"), "completed")
    assert (result.reply, result.handed_off_to) == ("tomato soup", "cook")
    assert texts(cook.llm.requests[1].messages) == ["which soup?"], "a clean history again"


@pytest.mark.parametrize(
    "earlier",
    [
        "waiter",
        "router",
    ],
)
def test_of_two_handoffs_side_by_side_one_is_taken_and_the_other_not_run(earlier):
    waiter = Agent("waiter", llm=ScriptedLLM("served"))
    gates = {"waiter": threading.Event(), "router": threading.Event()}
    gates[earlier].set()

    @tool
    def to_waiter() -> object:
        """Hands over, and does not say so in its signature."""
        opened(gates["waiter"])
        return Handoff(waiter, "serve")

    @tool
    def to_router() -> object:
        """Hands back, and does not say so in its signature."""
        opened(gates["router"])
        return Handoff(router, "go on")

    def open_the_other(event):
        if event.kind == "tool_execution_end" and event.call.name.startswith("to_"):
            for gate in gates.values():
                gate.set()

    router, _ = pair(
        [[TO_COOK], "I go on"], [[call("to_waiter"), call("to_router")]], cook={"tools": [to_waiter, to_router]}
    )
    router.subscribe(open_the_other)
    result = ends(router.start("make soup"), "completed")
    taken = {made.name: made.result.status for made in result.tool_calls[1:]}
    assert sorted(taken.values()) == ["not_run", "ok"]
    assert taken[f"to_{earlier}"] == "ok"


# --- hooks --------------------------------------------------------------------------------------------------------


def test_the_start_and_the_end_fire_for_the_target_too():
    seen = []

    class Watch:
        points = frozenset({P.ON_RUN_START, P.ON_RUN_END})

        def __call__(self, point, ctx, payload):
            seen.append((str(point), ctx.agent_name))

    router, _ = pair([[TO_COOK]], ["soup"])
    router.run("make soup", context=AgentContext(hooks=[Watch()]))
    assert seen == [
        ("on_run_start", "router"),
        ("on_run_start", "cook"),
        ("on_run_end", "cook"),
        ("on_run_end", "router"),
    ]


def test_the_targets_own_hooks_are_called_in_its_part_only_and_the_routers_in_its():
    seen = []

    def noting(name):
        return At(P.BEFORE_LLM, does=lambda ctx, payload: seen.append((name, ctx.agent_name)))

    router, _ = pair([[TO_COOK]], ["soup"], router={"hooks": [noting("r")]}, cook={"hooks": [noting("c")]})
    router.run("make soup", context=AgentContext(hooks=[noting("both")]))
    assert seen == [("r", "router"), ("both", "router"), ("c", "cook"), ("both", "cook")]


def test_a_hook_may_replace_the_task_and_the_reply_of_the_target():
    def start(ctx, p):
        return HookResult.replace(replace(p, task=Message.user("stew")))

    def end(ctx, p):
        return HookResult.replace(replace(p, reply="stew, sir"))

    hook_list = [At(P.ON_RUN_START, does=start), At(P.ON_RUN_END, does=end)]
    router, cook = pair([[TO_COOK]], ["stew"], cook={"hooks": hook_list})
    result = router.run("make soup")
    assert texts(cook.llm.requests[0].messages) == ["stew"]
    assert result.reply == "stew, sir"


def test_a_hook_of_the_target_may_end_the_run():
    router, _ = pair(
        [[TO_COOK]], [], cook={"hooks": [At(P.ON_RUN_START, does=lambda c, p: HookResult.end_turn("shut"))]}
    )
    result = ends(router.start("make soup"), "stopped")
    assert (result.reply, result.handed_off_to) == ("shut", "cook")
    assert result.messages[-1].text == "shut"


def test_a_handoff_tool_passes_policy_hooks_and_confirm_like_any_tool():
    seen = []
    hook = At(P.BEFORE_TOOL, P.AFTER_TOOL, does=lambda ctx, p: seen.append(p.call.name))
    router, _ = pair([[TO_COOK]], ["soup"], router={"hooks": [hook]})
    router.run("make soup")
    assert seen == ["handoff_to_cook"] * 2

    blocked = At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.block("stay"))
    router, cook = pair([[TO_COOK], "I stay"], [], router={"hooks": [blocked]})
    assert router.run("make soup").reply == "I stay"
    assert not cook.llm.requests

    router, _ = pair([[TO_COOK]], [], router={"options": Options(policy_check=lambda name, arguments: "no cooking")})
    with pytest.raises(PolicyViolationError, match="no cooking"):
        router.run("make soup")


def test_a_handoff_whose_result_a_hook_made_an_error_leaves_its_target_free():
    refused = []

    def refuse_once(ctx, p):
        if refused:
            return None
        refused.append(1)
        return HookResult.replace(replace(p, result=replace(p.result, status="error", text="not now", value=None)))

    router, _cook = pair([[TO_COOK], [call("handoff_to_cook", task="now")]], ["soup"])
    router.hooks.append(At(P.AFTER_TOOL, does=refuse_once))
    result = ends(router.start("make soup"), "completed")
    assert (statuses(result), result.reply) == (["error", "ok"], "soup")


def test_a_handoff_that_comes_too_late_takes_nobody():
    gate = threading.Event()
    router, cook = pair([[call("to_cook")], [TO_COOK]], ["soup"])

    @tool(timeout_s=0.02)
    def to_cook() -> Handoff:
        """Hands over, late."""
        opened(gate)
        return Handoff(cook)

    def late(ctx, p):
        if p.call.name != "to_cook":
            gate.set()
            for thread in threading.enumerate():
                if thread.name == "tool-to_cook":
                    thread.join(LIMIT_S)

    router.tools.add(to_cook)
    router.hooks.append(At(P.BEFORE_TOOL, does=late, concurrent=True))
    result = ends(router.start("make soup"), "completed")
    assert (statuses(result), result.reply) == (["timed_out", "ok"], "soup")


def test_a_handoff_that_a_hook_made_of_a_result_finds_out_whether_its_target_is_free():
    router, cook = pair([[call("look")], "the cook is busy"], [])
    gate = threading.Event()
    cook.llm = ScriptedLLM(lambda request: opened(gate) and "mine")
    own = cook.start("something else")

    def hand_over(ctx, p):
        return HookResult.replace(replace(p, result=replace(p.result, value=Handoff(cook))))

    router.hooks.append(At(P.AFTER_TOOL, does=hand_over))
    try:
        result = ends(router.start("make soup"), "completed")
    finally:
        gate.set()
    assert (statuses(result), result.reply) == (["error"], "the cook is busy")
    assert ends(own, "completed").reply == "mine"


def test_a_hook_that_raises_in_the_target_does_not_break_the_run():
    router, _ = pair([[TO_COOK]], ["soup"], cook={"hooks": [At(P.AFTER_LLM, does=raises)]})
    assert router.run("make soup").reply == "soup"


@pytest.mark.parametrize("mode", list(ToolMode))
def test_calls_after_a_builders_own_handoff_are_not_run(mode):
    clerk = Agent("clerk", llm=ScriptedLLM("I take over."))

    @tool
    def route() -> Handoff | str:
        """Hands over."""
        return Handoff(clerk)

    @tool
    def fire() -> str:
        """Fires."""
        return "fired"

    boss = Agent(
        "boss",
        llm=ScriptedLLM([call("route"), call("fire")]),
        tools=[route, fire],
        handoffs=[clerk],
        options=Options(tool_execution_mode=mode),
    )
    result = boss.run("go")
    assert (result.reply, statuses(result)) == ("I take over.", ["ok", "not_run"])


@pytest.mark.parametrize("target", [None, 5])
def test_a_handoff_to_nobody_says_what_it_needs(target):
    @tool
    def route() -> Handoff:
        """Hands over."""
        return Handoff(target)

    result = Agent("boss", llm=ScriptedLLM([call("route")], "sorry"), tools=[route]).run("go")
    assert "a Handoff needs an Agent or the name of one" in result.tool_calls[0].result.text
