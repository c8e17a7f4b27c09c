"""Who asks for the same thing over and over is warned in the third turn and stopped in the fourth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from edgeagent import Agent, RunResult, ToolCall, ToolResult, skill, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import AfterLLM, AfterTool, BeforeTool, FirePoint, HookChain, LoopDetectorHook
from edgeagent.testing import ScriptedLLM, call
from edgeagent.tools import ToolRegistry


@tool
def look(where: str = "") -> str:
    """Look."""
    return "nothing"


@tool
def listen(where: str = "") -> str:
    """Listen."""
    return "nothing"


@tool(read_only=True)
def read(where: str = "") -> str:
    """Read."""
    return "nothing"


@skill
def go_to(room: str) -> str:
    """Go."""
    return "arrived"


Results = Callable[[ToolCall], ToolResult]


def ok(made: ToolCall) -> ToolResult:
    return ToolResult(made.id, made.name, "ok", "nothing")


def status(name: Any) -> Results:
    return lambda made: ToolResult(made.id, made.name, name, "no")


class Run:
    """A run of turns as the loop would make it."""

    def __init__(self, hook: LoopDetectorHook | None = None, context: AgentContext | None = None) -> None:
        self.context = context or AgentContext()
        self.context.tool_registry = ToolRegistry([look, listen, read, go_to])
        self._chain = HookChain([hook or LoopDetectorHook()], self.context)

    def turn(self, *calls: ToolCall, comes_to: Results = ok) -> list[ToolResult]:
        self._chain.fire(FirePoint.AFTER_LLM, AfterLLM("", tuple(calls), 1))
        return [self._result(made, comes_to) for made in calls]

    def _result(self, made: ToolCall, comes_to: Results) -> ToolResult:
        body = comes_to(made)
        known = self.context.tool_registry.get(made.name) if self.context.tool_registry else None
        result = None
        if known is not None and body.status not in ("unknown", "invalid"):
            result = self._chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(made, known, 1)).result
        after = self._chain.fire(FirePoint.AFTER_TOOL, AfterTool(made, result or body)).payload.result
        assert isinstance(after, ToolResult)
        return after


def shown(results: Sequence[ToolResult]) -> str:
    """w for a warning, b for blocked, . for neither."""
    return "".join("b" if r.status == "blocked" else "w" if "Warning" in r.text else "." for r in results)


def results_of(result: RunResult) -> list[ToolResult]:
    return [made.result for made in result.tool_calls if made.result]


def test_the_same_call_is_warned_of_with_the_third_result_and_blocked_in_the_fourth_turn() -> None:
    run = Run()
    ended = []
    results = []
    for _ in range(4):
        results += run.turn(call("look", where="left"))
        ended.append(run.context.no_more_tools)
    assert shown(results) == "..wb"
    assert ended == [False, False, False, True]
    assert results[2].text.startswith("nothing\nWarning: look was now called with the same arguments in 3 turns")
    assert "already called with the same arguments in 3 turns" in results[3].text


def test_a_cycle_of_two_is_warned_of_with_the_fifth_and_sixth_result_and_ends_with_the_seventh() -> None:
    run = Run()
    results = [result for i in range(6) for result in run.turn(call(("look", "listen")[i % 2]))]
    assert not run.context.no_more_tools
    results += run.turn(call("look"))
    assert shown(results) == "....wwb"
    assert run.context.no_more_tools


def test_other_arguments_are_another_call_and_the_order_of_keys_is_none() -> None:
    run = Run()
    assert shown([result for i in range(6) for result in run.turn(call("look", where=str(i)))]) == "......"
    results = [run.turn(call("look", **made))[0] for made in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 2})]
    assert shown(results) == "..w"


def test_one_number_in_three_spellings_or_left_to_its_default_is_the_same_call() -> None:
    @tool
    def scan(angle_deg: float = 1) -> str:
        """Scan."""
        return "a wall"

    replies = [call("scan", angle_deg=1), call("scan", angle_deg=1.0), call("scan", angle_deg="1"), call("scan")]
    llm = ScriptedLLM(*[[made] for made in replies], "enough")
    assert shown(results_of(Agent("a", llm=llm, tools=[scan]).run("go"))) == "..wb"


def test_a_call_that_comes_to_something_else_each_time_is_let_be() -> None:
    distances = iter(range(9, 0, -1))

    @tool(read_only=True)
    def scan() -> str:
        """Scan."""
        return f"a wall in {next(distances)} m"

    @skill
    def drive(distance_m: float) -> str:
        """Drive."""
        return "drove 1 m"

    llm = ScriptedLLM(*[[call("scan")], [call("drive", distance_m=1)]] * 6, "there")
    result = Agent("a", llm=llm, tools=[scan, drive]).run("go to the wall, look often")
    assert (result.reply, shown(results_of(result))) == ("there", "............")


def test_a_count_begins_anew_when_the_outcome_is_new() -> None:
    run = Run()
    outcomes = ["far", "far", "near", "near", "near", "near"]
    results = []
    for text in outcomes:
        results += run.turn(call("look"), comes_to=lambda made, text=text: ToolResult(made.id, "look", "ok", text))
    assert shown(results) == "....wb"


def test_the_same_answer_is_asked_for_again_after_something_moved() -> None:
    run = Run()
    made = [call("look"), call("go_to", room="hall")] * 5
    assert shown([run.turn(one)[0] for one in made]) == ".........."
    failing = Run(LoopDetectorHook(max_tool_errors=99))
    blocked = [
        failing.turn(one, comes_to=ok if one.name == "look" else status("error"))[0] for one in made
    ]  # nothing has moved
    assert shown(blocked)[:6] == "....ww"


def test_the_same_answer_is_asked_for_again_after_something_changed() -> None:
    run = Run()
    changed = [run.turn(call("look" if i % 2 else "listen", where="" if i % 2 else str(i)))[0] for i in range(12)]
    assert shown(changed) == "............", "each call in between is another one"
    again = [run.turn(call("look"))[0] for _ in range(3)]
    assert shown(again) == ".wb", "the second, third and fourth turn in which nothing did"


def test_reading_in_between_changes_nothing() -> None:
    run = Run()
    results = [run.turn(call("read", where="" if i % 2 else str(i)))[0] for i in range(8)]
    assert shown(results) == ".....w.b"


def test_arguments_that_nobody_could_read_are_compared_as_they_are() -> None:
    run = Run(LoopDetectorHook(max_tool_errors=9))
    invalid = status("invalid")
    results = [run.turn(call.raw("look", '{"where":'), comes_to=invalid)[0] for _ in range(4)]
    assert shown(results) == "..w."
    assert run.context.no_more_tools


def test_identical_calls_in_one_reply_count_once() -> None:
    run = Run()
    assert shown(run.turn(*(call("look") for _ in range(5)))) == "....."
    assert shown(run.turn(call("look"), call("look"))) == ".."
    assert shown(run.turn(call("look"), call("look"))) == "ww"


def test_arguments_may_be_coerced_between_the_reply_and_the_call() -> None:
    context = AgentContext()
    chain = HookChain([LoopDetectorHook(warn_at=1, block_at=2)], context)
    answers = []
    for _ in range(2):
        made = call("look", where=1)
        chain.fire(FirePoint.AFTER_LLM, AfterLLM("", (made,), 1))
        coerced = ToolCall(made.id, made.name, {"where": "1"})
        answers.append(chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(coerced, look, 1)).result)
    assert answers[0] is None
    assert answers[1] is not None
    assert answers[1].status == "blocked"


def test_a_skill_that_succeeded_is_not_counted_and_one_that_failed_is() -> None:
    run = Run()
    assert shown([run.turn(call("go_to", room="hall"))[0] for _ in range(6)]) == "......"
    failing = Run(LoopDetectorHook(max_tool_errors=9))
    results = [failing.turn(call("go_to", room="hall"), comes_to=status("error"))[0] for _ in range(4)]
    assert shown(results) == "..wb"


@pytest.mark.parametrize("failure", ["error", "invalid", "unknown", "timed_out"])
def test_failures_in_a_row_are_warned_of_and_the_next_call_ends_the_tools(failure: str) -> None:
    run = Run()
    results = [run.turn(call("look", where=str(i)), comes_to=status(failure))[0] for i in range(3)]
    assert shown(results) == "..w"
    assert "look failed 3 times in a row" in results[2].text
    assert not run.context.no_more_tools
    last = run.turn(call("look", where="up"), comes_to=status(failure))
    assert run.context.no_more_tools
    assert shown(last) == ("b" if failure in ("error", "timed_out") else ".")


def test_an_unknown_tool_ends_the_tools_without_ever_reaching_the_gate() -> None:
    run = Run()
    for i in range(4):
        run.turn(call("fly", high=i), comes_to=status("unknown"))
    assert run.context.no_more_tools


def test_a_success_of_the_tool_resets_its_failures_and_another_tool_does_not() -> None:
    run = Run()
    for i, comes_to in enumerate([status("error"), status("error"), ok, status("error"), status("error")]):
        assert shown(run.turn(call("look", where=str(i)), comes_to=comes_to)) == "."
    run.turn(call("listen"))
    assert shown(run.turn(call("look", where="x"), comes_to=status("error"))) == "w"


def test_failures_in_one_reply_count_once_and_a_success_beside_them_settles_it() -> None:
    run = Run()
    calls = [call("look", where=str(i)) for i in range(4)]
    assert shown(run.turn(*calls, comes_to=status("error"))) == "...."
    assert shown(run.turn(call("look", where="a"), comes_to=status("error"))) == "."
    good = call("look", where="b")
    run.turn(good, call("look", where="c"), comes_to=lambda made: (ok if made.id == good.id else status("error"))(made))
    assert shown(run.turn(call("look", where="d"), comes_to=status("error"))) == "."


def test_runs_and_agents_are_counted_apart() -> None:
    hook = LoopDetectorHook()
    one, two = Run(hook), Run(hook)
    for _ in range(2):
        one.turn(call("look"))
    assert shown(two.turn(call("look"))) == "."
    inner = Run(hook, one.context.child())
    inner.context.agent_name = "inner"
    assert shown([inner.turn(call("look"))[0] for _ in range(2)]) == ".."
    assert shown(one.turn(call("look"))) == "w"


def test_an_agent_that_is_asked_as_a_tool_begins_anew_with_each_question() -> None:
    helper_llm = ScriptedLLM(*([call("look")], "nothing") * 4)
    helper = Agent("helper", llm=helper_llm, tools=[look], hooks=[LoopDetectorHook()])
    asking = [[call("helper", task=f"look again, {number}")] for number in range(4)]
    boss = Agent("boss", llm=ScriptedLLM(*asking, "done"), tools=[helper.as_tool()])
    boss.run("go")
    heard = [message.text for asked in helper_llm.requests for message in asked.messages if message.role == "tool"]
    assert heard == ["nothing"] * 4


@pytest.mark.parametrize("wrong", ["warn_at", "block_at", "max_tool_errors"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "3"])
def test_a_wrong_number_is_named(wrong: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=wrong):
        LoopDetectorHook(**{wrong: value})


def test_a_block_before_its_warning_is_refused() -> None:
    with pytest.raises(ConfigError, match="block_at=3"):
        LoopDetectorHook(warn_at=3, block_at=3)
