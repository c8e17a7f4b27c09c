"""A call that a hook makes another tool's has that tool's traits, resources and gates, and its hooks see it once."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from edgeagent import Agent, FirePoint, HookResult, Options, ToolResult, skill, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Callbacks

from .kit import LIMIT_S, At, calls_are_answered, ends, opened, statuses

P = FirePoint


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Looks."""
    return f"seen {n}"


def to(name, **arguments):
    """A hook that makes every call of look one of another tool, and the names of the calls that it saw."""
    seen = []

    def rewrite(ctx, p):
        seen.append(p.call.name)
        if p.call.name != "look":
            return None
        return HookResult.replace(replace(p, call=replace(p.call, name=name, arguments=arguments)))

    return At(P.BEFORE_TOOL, does=rewrite), seen


def test_its_hooks_are_not_called_again_and_its_events_and_result_are_the_new_tools(shorthand):
    @tool(terminate=True)
    def tell(text: str) -> str:
        """Tells."""
        return text

    hook, seen = to("tell", text="told")
    agent = Agent("a", llm=ScriptedLLM([call("look")], "never"), tools=[look, tell], hooks=[hook])
    handle = agent.start("go")
    result = ends(handle, "terminated")
    assert (seen, result.reply) == (["look"], "told")
    assert shorthand(handle.events()).count("XS XE") == 1
    assert [(m.name, m.text) for m in result.messages if m.role == "tool"] == [("tell", "told")]
    assert calls_are_answered(result.messages)


def test_a_skill_that_a_hook_made_of_it_runs_alone_although_its_group_runs_side_by_side():
    now, peak, lock = [0], [0], threading.Lock()

    def busy():
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        threading.Event().wait(0.03)
        with lock:
            now[0] -= 1

    @skill
    def turn() -> str:
        """Turns."""
        busy()
        return "turned"

    @tool
    def work() -> str:
        """Works."""
        busy()
        return "worked"

    hook, _ = to("turn")
    llm = ScriptedLLM([call("work"), call("look"), call("look")], "ok")
    agent = Agent("a", llm=llm, tools=[turn, look, work], hooks=[hook])
    assert statuses(ends(agent.start("go"), "completed")) == ["ok"] * 3
    assert peak == [1]


def test_motion_that_a_hook_made_of_it_is_not_done_after_a_skill_that_failed():
    ran = []

    @skill
    def back_up() -> ToolResult:
        """Backs up."""
        return ToolResult.error("a wall")

    @tool(motion=True)
    def turn() -> str:
        """Turns."""
        ran.append("turn")
        return "turned"

    hook, _ = to("turn")
    agent = Agent(
        "a", llm=ScriptedLLM([call("back_up"), call("look")], "ok"), tools=[back_up, turn, look], hooks=[hook]
    )
    assert (statuses(ends(agent.start("go"), "completed")), ran) == (["error", "not_run"], [])


def test_a_destructive_tool_that_a_hook_made_of_it_is_asked_about_and_a_question_is_put():
    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    @tool(question=True)
    def ask(text: str) -> str:
        """Asks."""
        raise NotImplementedError

    asked = []
    options = Options(confirm=lambda name, arguments: asked.append(name))
    hook, _ = to("wipe")
    agent = Agent("a", llm=ScriptedLLM([call("look")], "ok"), tools=[wipe, look], hooks=[hook], options=options)
    assert (statuses(ends(agent.start("go"), "completed")), asked) == (["declined"], ["wipe"])

    hook, _ = to("ask", text="sure?")
    agent = Agent("a", llm=ScriptedLLM([call("look")], "ok"), tools=[ask, look], hooks=[hook])
    callbacks = Callbacks(on_question=lambda questions, answer: answer.put(questions[0]))
    result = ends(agent.start("go", callbacks=callbacks), "completed")
    assert result.tool_calls[0].result.text == "sure?"


def test_calls_that_are_all_made_another_tools_still_run_side_by_side():
    barrier = threading.Barrier(3)

    @tool
    def meet() -> str:
        """Meets."""
        barrier.wait(LIMIT_S)
        return "met"

    hook, _ = to("meet")
    llm = ScriptedLLM([call("look", n=n) for n in range(3)], "ok")
    agent = Agent("a", llm=llm, tools=[meet, look], hooks=[hook])
    assert statuses(ends(agent.start("go"), "completed")) == ["ok"] * 3


def test_an_abort_after_the_hook_leaves_it_not_run():
    gate, began, ran = threading.Event(), threading.Event(), []

    @tool(resources=("arm",))
    def grip() -> str:
        """Grips."""
        ran.append("grip")
        began.set()
        opened(gate)
        return "gripped"

    hook, _ = to("grip")
    llm = ScriptedLLM([call("grip"), call("look")], "never")
    agent = Agent("a", llm=llm, tools=[grip, look], hooks=[hook])
    handle = agent.start("go")
    opened(began)
    agent.abort()
    gate.set()
    assert (statuses(ends(handle, "aborted", "user")), ran) == (["ok", "not_run"], ["grip"])


@pytest.mark.parametrize("by", ["before_tool_call", P.BEFORE_TOOL, P.AFTER_LLM])
def test_other_arguments_replace_the_text_of_a_call_that_came_as_text(by):
    def at_before_tool(ctx, p):
        return HookResult.replace(replace(p, call=replace(p.call, arguments={"n": 1})))

    def at_after_llm(ctx, p):
        calls = tuple(replace(made, arguments={"n": 1}) for made in p.tool_calls)
        return HookResult.replace(replace(p, tool_calls=calls)) if calls else None

    llm = ScriptedLLM([call.raw("look", '{"n": 5}')], "ok")
    agent = Agent("a", llm=llm, tools=[look])
    if by == "before_tool_call":
        agent.options = Options(before_tool_call=lambda made, stop_event: replace(made, arguments={"n": 1}))
    else:
        agent.hooks = [At(by, does=at_after_llm if by is P.AFTER_LLM else at_before_tool)]
    result = ends(agent.start("go"), "completed")
    assert [made.result.text for made in result.tool_calls] == ["seen 1"]


def test_a_hook_after_the_model_mends_a_call_whose_text_is_no_json():
    def mend(ctx, p):
        calls = tuple(replace(made, arguments={"n": 1}) for made in p.tool_calls)
        return HookResult.replace(replace(p, tool_calls=calls)) if calls else None

    llm = ScriptedLLM([call.raw("look", '{"n":')], "ok")
    agent = Agent("a", llm=llm, tools=[look], hooks=[At(P.AFTER_LLM, does=mend)])
    result = ends(agent.start("go"), "completed")
    assert [made.result.text for made in result.tool_calls] == ["seen 1"]
    assert llm.requests[1].messages[1].tool_calls[0].raw is None
