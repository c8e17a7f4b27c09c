"""Budgets: how many model calls and tool turns a run may have, what may grant more, and what the reply is then."""

from __future__ import annotations

import io
import threading
import time
from dataclasses import replace

import pytest

from edgeagent import Agent, Options, ToolContext, tool
from edgeagent.testing import ScriptedLLM, call

from .kit import calls_are_answered, ends, statuses, texts

NOT_DONE = "I could not finish that."


@tool(read_only=True)
def add(a: int, b: int = 0) -> int:
    """Adds."""
    return a + b


def asking(count, text=""):
    return [{"text": text and f"{text} {i}", "calls": [call("add", a=i)]} for i in range(count)]


def agent_with(*replies, tools=(), **options):
    return Agent("a", llm=ScriptedLLM(*replies), tools=[add, *tools], options=Options(**options))


def test_the_default_is_fifteen_model_calls():
    agent = agent_with(*asking(30))
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 15


def test_the_tools_of_the_last_turn_run_and_the_log_is_closed_as_ever(shorthand):
    agent = agent_with(*asking(9), max_turns=1)
    handle = agent.start("go")
    result = ends(handle, "budget")
    assert (statuses(result), result.reply) == (["ok"], NOT_DONE)
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) XS XE MS(t) ME(t) TE N AE(budget)"


def test_the_reply_is_the_last_text_of_this_run_only():
    history = agent_with("an old word").run("hi").messages
    assert agent_with(*asking(3), max_turns=2).run("go", messages=history).reply == NOT_DONE
    replies = [{"text": "first", "calls": [call("add", a=1)]}, *asking(3)]
    assert agent_with(*replies, max_turns=3).run("go", messages=history).reply == "first"


def test_a_text_in_the_last_turn_is_no_budget_end():
    assert ends(agent_with(*asking(1), "done", max_turns=2).start("go"), "completed").reply == "done"


@pytest.mark.parametrize(("hops", "calls", "expected"), [(1, 2, ["ok", "not_run"]), (2, 3, ["ok", "ok", "not_run"])])
def test_after_the_last_hop_the_model_is_called_once_more(hops, calls, expected):
    agent = agent_with(*asking(9), max_tool_hops=hops)
    result = ends(agent.start("go"), "budget")
    assert (len(agent.llm.requests), statuses(result)) == (calls, expected)
    assert calls_are_answered(result.messages)
    agent = agent_with(*asking(hops), "done", max_tool_hops=hops)
    assert ends(agent.start("go"), "completed").reply == "done"


def test_what_is_reached_first_ends_the_run():
    agent = agent_with(*asking(9), max_turns=2, max_tool_hops=5)
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 2


def test_after_the_last_hop_the_tool_list_stays_in_the_prompt():
    agent = agent_with(*asking(9), max_tool_hops=1)
    agent.run("go")
    assert [[t.name for t in r.tools] for r in agent.llm.requests] == [["add"], ["add"]]


@pytest.mark.parametrize("limit", [{"max_turns": 2}, {"max_tool_hops": 1}])
def test_continue_confirm_may_grant_as_much_again(limit):
    asked = []

    def confirm(turns):
        asked.append(turns)
        return len(asked) == 1

    agent = agent_with(*asking(20), continue_confirm=confirm, **limit)
    ends(agent.start("go"), "budget")
    assert (asked, len(agent.llm.requests)) == ([2, 4], 4)


@pytest.mark.parametrize("answer", [lambda turns: False, lambda turns: 1 / 0, lambda turns: None])
def test_no_and_no_answer_end_it(answer):
    agent = agent_with(*asking(9), max_turns=2, continue_confirm=answer)
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 2


def test_an_answer_that_does_not_come_is_no():
    never = threading.Event()
    options = {"continue_confirm": lambda turns: never.wait(10), "confirm_timeout_s": 0.05}
    agent = agent_with(*asking(9), max_turns=1, **options)
    ends(agent.start("go"), "budget")
    never.set()


@pytest.mark.parametrize(
    "limit",
    [
        {"max_turns": 1},
        {"max_tool_hops": 1},
    ],
)
def test_steering_at_the_last_turn_is_granted_one_more(limit):
    @tool
    def last() -> str:
        """Last."""
        return ""

    def steered(request):
        agent.steer("wait")
        return [call("add", a=1)]

    before = [] if "max_turns" in limit else asking(1)
    agent = agent_with(*before, steered, "as you say", tools=[last], **limit)
    result = agent.run("go")
    assert texts(agent.llm.requests[-1].messages)[-1] == "wait"
    assert (result.reply, agent.has_pending) == ("as you say", False)


def test_steering_at_a_handoff_in_the_last_turn_is_granted_one_more():
    def steered(request):
        router.steer("wait")
        return [call("handoff_to_cook", task="cook")]

    cook = Agent("cook", llm=ScriptedLLM("as you say"))
    router = Agent("router", llm=ScriptedLLM(steered), handoffs=[cook], options=Options(max_turns=1))
    assert ends(router.start("go"), "completed").reply == "as you say"
    assert texts(cook.llm.requests[0].messages) == ["cook", "wait"]


def test_steering_at_every_last_turn_ends_at_the_ceiling_and_the_message_is_kept():
    def steered(request):
        agent.steer(f"wait {len(agent.llm.requests)}")
        return [call("add", a=len(agent.llm.requests))]

    agent = agent_with(*[steered] * 120, max_turns=1)
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 100
    assert texts(agent.state.steering_queue) == ["wait 100"]


def test_a_follow_up_starts_both_counts_again():
    for limit in ({"max_turns": 2}, {"max_tool_hops": 1}):
        agent = agent_with(*asking(1), "one", *asking(1), "two", **limit)
        agent.follow_up("again")
        result = ends(agent.start("go"), "completed")
        assert (result.reply, statuses(result)) == ("two", ["ok", "ok"])


@pytest.mark.parametrize(
    "options",
    [
        {"max_turns": 200},
        {"max_turns": 100},
        {"max_turns": 7, "continue_confirm": lambda turns: True},
        {"max_turns": 100, "on_budget": "final_answer"},
    ],
)
def test_no_run_makes_more_than_a_hundred_model_calls_whatever_was_granted(options):
    agent = agent_with(*asking(150), **options)
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 100


def test_follow_ups_without_end_stop_at_the_ceiling_too():
    agent = agent_with(*["words"] * 150, get_follow_up_messages=lambda: ["more"])
    ends(agent.start("go"), "budget")
    assert len(agent.llm.requests) == 100


def test_a_final_answer_is_one_more_call_without_tools():
    agent = agent_with(*asking(2), "so far so good", max_turns=2, on_budget="final_answer")
    result = ends(agent.start("go"), "budget")
    assert (result.reply, result.messages[-1].text) == ("so far so good", "so far so good")
    assert [r.tool_choice for r in agent.llm.requests] == ["auto", "auto", "none"]
    assert [t.name for t in agent.llm.requests[2].tools] == ["add"]


def test_a_final_answer_that_calls_tools_all_the_same_gets_them_not_run():
    agent = agent_with(*asking(5, "text"), max_turns=2, on_budget="final_answer")
    result = ends(agent.start("go"), "budget")
    assert (statuses(result), result.reply) == (["ok", "ok", "not_run"], "text 2")
    assert calls_are_answered(result.messages)


def test_the_notice_is_an_event_and_is_not_said():
    out = io.StringIO()
    agent = agent_with(*asking(9), max_turns=2)
    agent.subscribe(lambda e: out.write(e.delta) if e.kind == "message_update" else None)
    handle = agent.start("go")
    ends(handle, "budget")
    notices = [e for e in handle.events() if e.kind == "notice"]
    assert [n.level for n in notices] == ["warning"]
    assert "2" in notices[0].text
    assert notices[0].text not in out.getvalue()


@pytest.mark.parametrize(("allowed", "requests"), [(0, 1), (1, 2), (3, 4)])
def test_a_cut_text_goes_on_as_often_as_allowed(allowed, requests):
    agent = agent_with(*[{"text": f" {i}", "stop": "length"} for i in range(9)], max_continuations=allowed)
    result = ends(agent.start("go"), "completed")
    assert len(agent.llm.requests) == requests
    assert result.reply.split() == [str(i) for i in range(requests)]


def test_continuations_count_per_reply():
    cut = {"text": "cut", "stop": "length"}
    agent = agent_with(cut, " on", cut, " again")
    agent.follow_up("more")
    result = ends(agent.start("go"), "completed")
    assert result.reply == "cut again"
    assert len(agent.llm.requests) == 4


def test_a_cut_text_that_goes_on_with_calls_is_not_part_of_the_reply_after_them():
    agent = agent_with({"text": "I will", "stop": "length"}, [call("add", a=1)], "all done")
    assert ends(agent.start("go"), "completed").reply == "all done"


CUT = [{"text": "one", "stop": "length"}, {"text": " two", "stop": "length"}, " three"]


def test_a_cut_text_goes_on_only_within_the_budget():
    agent = agent_with(*CUT, max_turns=2, max_continuations=2)
    result = ends(agent.start("go"), "budget")
    assert (len(agent.llm.requests), result.reply) == (2, "one two")


def test_who_is_asked_for_more_may_grant_it_to_a_cut_text():
    asked = []
    agent = agent_with(
        *CUT, max_turns=2, max_continuations=2, continue_confirm=lambda turns: asked.append(turns) or True
    )
    assert (ends(agent.start("go"), "completed").reply, asked) == ("one two three", [2])


def test_a_cut_text_at_the_end_of_the_budget_may_have_a_final_answer():
    agent = agent_with(CUT[0], "short", max_turns=1, on_budget="final_answer")
    assert ends(agent.start("go"), "budget").reply == "short"
    assert agent.llm.requests[1].tool_choice == "none"


def test_steering_is_granted_one_more_turn_after_a_text_that_was_cut_in_the_last_one():
    def cut(request):
        agent.steer("short, please")
        return CUT[0]

    agent = agent_with(cut, "ok", max_turns=1)
    assert ends(agent.start("go"), "completed").reply == "ok"
    assert agent.llm.requests[1].messages[-1].text == "short, please"


def test_the_reply_of_a_cut_text_with_steering_between_is_the_last_one():
    def cut(request):
        agent.steer("short, please")
        return {"text": "a long story", "stop": "length"}

    agent = agent_with(cut, " that goes on", "ok")
    result = agent.run("go")
    assert agent.has_pending is False
    assert result.messages[-1].text in result.reply


def test_a_turn_in_which_no_tool_ran_is_no_hop():
    agent = agent_with([call("ad", a=1)], [call("add", a=1)], "2", max_tool_hops=1)
    result = ends(agent.start("go"), "completed")
    assert (statuses(result), result.reply) == (["unknown", "ok"], "2")


@pytest.mark.parametrize("where", ["continue_confirm", "get_steering_messages", "should_stop_after_turn"])
def test_an_abort_after_the_turn_that_comes_between_two_turns_makes_no_other_call(where):
    def abort(*_):
        agent.abort("enough", mode="after_turn")
        return {"continue_confirm": True, "get_steering_messages": [], "should_stop_after_turn": False}[where]

    agent = agent_with(*asking(2), "done", max_turns=1 if where == "continue_confirm" else 9)
    polled = []

    def second(*given):
        polled.append(1)
        return abort(*given) if where != "get_steering_messages" or len(polled) > 1 else []

    agent.options = replace(agent.options, **{where: second})
    result = ends(agent.start("go"), "aborted", "enough")
    assert (statuses(result), len(agent.llm.requests)) == (["ok"], 1)


def test_a_deadline_at_which_a_tool_ends_is_seen_before_the_model_is_asked_again():
    """The timer's thread may be late: the clock decides."""

    @tool
    def wait(ctx: ToolContext) -> str:
        """Waits for the deadline."""
        while time.monotonic() < ctx.agent.deadline:
            pass
        return "waited"

    for _ in range(10):
        agent = agent_with([call("wait")], "too late", tools=[wait], deadline_s=0.1)
        assert ends(agent.start("go"), "aborted", "deadline").reply != "too late"
        assert len(agent.llm.requests) < 2
