"""Hooks at the six fire points: their order, what each may change, and how each may end the run."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from edgeagent import Agent, AgentContext, FirePoint, HookResult, Message, Options, ToolResult, tool
from edgeagent.hooks import LoopDetectorHook
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, opened, statuses, texts

P = FirePoint


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def shout(text: str) -> str:
    """Shouts."""
    return text.upper()


def agent_with(*hook_list, replies=("hello",), **keywords):
    return Agent("a", "be brief", llm=ScriptedLLM(*replies), tools=[add, shout], hooks=hook_list, **keywords)


# --- order --------------------------------------------------------------------------------------------------------


def test_the_six_points_fire_in_their_order():
    seen = []

    class Watch:
        points = frozenset(P)

        def __call__(self, point, ctx, payload):
            seen.append(str(point))

    agent_with(Watch(), replies=([call("add", a=1, b=2)], "three")).run("1 + 2?")
    assert seen == [
        "on_run_start",
        "before_llm",
        "after_llm",
        "before_tool",
        "after_tool",
        "before_llm",
        "after_llm",
        "on_run_end",
    ]


def test_the_payloads_are_those_of_their_points():
    seen = {}
    agent_with(
        At(*P, does=lambda ctx, payload: seen.setdefault(type(payload).__name__, payload) and None),
        replies=([call("add", a=1, b=2)], "three"),
    ).run("1 + 2?")
    assert set(seen) == {"RunStart", "BeforeLLM", "AfterLLM", "BeforeTool", "AfterTool", "RunResult"}
    assert seen["RunStart"].task.text == "1 + 2?"
    assert [t.name for t in seen["BeforeLLM"].tools] == ["add", "shout"]
    assert (texts(seen["BeforeLLM"].messages), seen["BeforeLLM"].hop) == (["1 + 2?"], 0)
    assert [c.name for c in seen["AfterLLM"].tool_calls] == ["add"]
    assert (seen["BeforeTool"].call.name, seen["BeforeTool"].tool.name) == ("add", "add")
    assert (seen["AfterTool"].call.name, seen["AfterTool"].result.value) == ("add", 3)
    assert seen["RunResult"].reply == "three"


def test_higher_priority_goes_first_over_agent_context_and_options_then_registration():
    order = []

    def noting(name, priority=0):
        return At(P.BEFORE_TOOL, does=lambda ctx, payload: order.append(name), priority=priority)

    context = AgentContext(hooks=[noting("context"), noting("context high", 5), noting("context low", -1)])
    options = Options(before_tool_call=lambda made, stop_event: order.append("option"))
    agent = agent_with(
        noting("agent"), noting("agent high", 5), noting("agent low", -1), replies=([call("add", a=1, b=2)], "ok")
    )
    agent.run("go", context=context, options=options)
    assert order == ["agent high", "context high", "agent", "context", "option", "agent low", "context low"]


def test_each_hook_sees_what_the_one_before_it_left():
    def append(word):
        return At(P.AFTER_LLM, does=lambda ctx, p: HookResult.replace(replace(p, text=f"{p.text} {word}")))

    first, second = append("first"), append("second")
    first.priority = 1
    assert agent_with(second, first).run("hi").reply == "hello first second"


def test_a_hook_of_the_agent_and_of_the_context_is_called_once():
    guard = LoopDetectorHook()
    agent = agent_with(guard, replies=[[call("add", a=1, b=2)]] * 6)
    result = agent.run("go", context=AgentContext(hooks=[guard]))
    assert statuses(result) == ["ok"] * 3 + ["blocked", "not_run"]


def test_tool_points_fire_on_the_tools_thread_and_the_rest_on_the_loops():
    threads = {}

    class Where:
        points = frozenset(P)

        def __call__(self, point, ctx, payload):
            threads[point] = threading.current_thread().name

    @tool
    def where() -> str:
        """Where."""
        threads["body"] = threading.current_thread().name
        return ""

    Agent("a", llm=ScriptedLLM([call("where")], "x"), tools=[where], hooks=[Where()]).run("go")
    assert threads[P.BEFORE_TOOL] == threads[P.AFTER_TOOL] == threads["body"]
    loop = {threads[p] for p in (P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.ON_RUN_END)}
    assert len(loop) == 1
    assert threads["body"] not in loop


@pytest.mark.parametrize("concurrent", [False, True])
def test_the_calls_of_a_hook_are_serialised_unless_it_is_concurrent(concurrent):
    meeting = threading.Barrier(2)
    now, peak, lock = [0], [0], threading.Lock()

    def meet(ctx, payload):
        with lock:
            now[0] += 1
            peak[0] = max(peak[0], now[0])
        if concurrent:
            meeting.wait(LIMIT_S)
        with lock:
            now[0] -= 1

    both = [call("add", a=1, b=2), call("add", a=3, b=4)]
    result = agent_with(At(P.BEFORE_TOOL, does=meet, concurrent=concurrent), replies=(both, "ok")).run("go")
    assert statuses(result) == ["ok", "ok"]
    assert peak[0] == (2 if concurrent else 1)


def test_state_is_kept_per_instance_and_per_run():
    seen = []

    def count(ctx, payload):
        mine = ctx.hook_state[id(hook)]
        mine["n"] = mine.get("n", 0) + 1
        seen.append(mine["n"])

    hook = At(P.BEFORE_LLM, does=count)
    agent = agent_with(hook, replies=([call("add", a=1, b=2)], "x", "y"))
    context = AgentContext()
    agent.run("go", context=context)
    agent.run("again", context=context)
    assert seen == [1, 2, 1]


def test_registry_and_model_are_on_the_context():
    seen = []
    agent = agent_with(At(P.BEFORE_LLM, does=lambda ctx, p: seen.append((ctx.tool_registry, ctx.llm, ctx.agent_name))))
    agent.run("go")
    assert seen == [(agent.tools, agent.llm, "a")]


@pytest.mark.parametrize("bad", [lambda point, ctx, payload: None, object()])
def test_what_is_no_hook_is_refused_when_it_is_registered(bad):
    with pytest.raises(Exception, match="is no hook"):
        Agent("a", hooks=[bad])


def test_an_async_hook_is_refused_when_it_is_registered():
    class Late:
        points = frozenset({P.BEFORE_LLM})

        async def __call__(self, point, ctx, payload):
            return None

    with pytest.raises(Exception, match="async"):
        Agent("a", hooks=[Late()])
    with pytest.raises(Exception, match="async"):
        Agent("a", llm=ScriptedLLM("x")).run("go", context=AgentContext(hooks=[Late()]))


# --- replace ------------------------------------------------------------------------------------------------------


def test_on_run_start_may_replace_the_task_and_it_is_stored_as_replaced():
    task = At(P.ON_RUN_START, does=lambda ctx, p: HookResult.replace(replace(p, task=Message.user("the other"))))
    agent = agent_with(task)
    result = agent.run("this one")
    assert texts(result.messages, "user") == ["the other"]
    assert texts(agent.llm.requests[0].messages) == ["the other"]


def test_before_llm_may_replace_messages_and_tools_for_this_request_only():
    def only_once(ctx, p):
        if p.hop == 0:
            return HookResult.replace(replace(p, messages=[Message.user("instead")], tools=p.tools[:1]))
        return None

    agent = agent_with(At(P.BEFORE_LLM, does=only_once), replies=([call("add", a=1, b=2)], "ok"))
    result = agent.run("asked")
    assert texts(agent.llm.requests[0].messages) == ["instead"]
    assert [t.name for t in agent.llm.requests[0].tools] == ["add"]
    assert texts(agent.llm.requests[1].messages) == ["asked", "", "3"]
    assert len(agent.llm.requests[1].tools) == 2
    assert texts(result.messages, "user") == ["asked"]


def test_a_tool_that_before_llm_adds_to_a_request_may_be_called_by_its_reply_alone():
    @tool
    def whisper() -> str:
        """Whispers."""
        return "psst"

    def once(ctx, p):
        return HookResult.replace(replace(p, tools=[*p.tools, whisper])) if p.hop == 0 else None

    replies = ([call("whisper"), call("mumble")], [call("whisper")], "ok")
    result = agent_with(At(P.BEFORE_LLM, does=once), replies=replies).run("go")
    assert statuses(result) == ["ok", "unknown", "unknown"]
    assert "Tools: add, shout, whisper" in result.tool_calls[1].result.text
    assert "Tools: add, shout" in result.tool_calls[2].result.text


def test_another_tool_of_the_same_name_that_before_llm_puts_into_a_request_is_the_one_that_runs():
    @tool(name="shout")
    def quietly(text: str) -> str:
        """Shouts quietly."""
        return text.lower()

    hook = At(P.BEFORE_LLM, does=lambda ctx, p: HookResult.replace(replace(p, tools=[quietly])))
    result = agent_with(hook, replies=([call("shout", text="Hey")], "ok")).run("go")
    assert result.tool_calls[0].result.text == "hey"


def test_after_llm_may_replace_text_and_calls(shorthand):
    def to_call(ctx, p):
        if p.text == "add them":
            return HookResult.replace(replace(p, text="", tool_calls=(call("add", a=2, b=2),)))
        return HookResult.replace(replace(p, text="four, of course", tool_calls=()))

    agent = agent_with(
        At(P.AFTER_LLM, does=to_call), replies=("add them", {"text": "four", "calls": [call("shout", text="x")]})
    )
    handle = agent.start("go")
    result = ends(handle, "completed")
    assert result.reply == "four, of course"
    assert [(c.name, c.result.text) for c in result.tool_calls] == [("add", "4")]
    assert calls_are_answered(result.messages)
    assert shorthand(handle.events()).count("XS") == 1


def test_before_tool_may_rewrite_and_the_rewritten_arguments_are_checked_again():
    def rewrite(ctx, p):
        wanted = {1: {"a": "10", "b": 1}, 2: {"a": "ten", "b": 1}}[p.call.arguments["a"]]
        return HookResult.replace(replace(p, call=replace(p.call, arguments=wanted)))

    checked = []

    def policy(name, arguments):
        checked.append(arguments["a"])

    calls = [call("add", a=1, b=1), call("add", a=2, b=1)]
    result = agent_with(
        At(P.BEFORE_TOOL, does=rewrite), replies=(calls, "ok"), options=Options(policy_check=policy)
    ).run("x")
    assert [c.result.status for c in result.tool_calls] == ["ok", "invalid"]
    assert result.tool_calls[0].result.text == "11"
    assert checked[:2] == [1, 2]
    assert checked[2:] == [10]


def test_before_tool_may_block_with_a_reason_that_the_model_sees(shorthand):
    agent = agent_with(
        At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.block("not today")), replies=([call("add", a=1, b=2)], "sorry")
    )
    handle = agent.start("go")
    result = ends(handle, "completed")
    assert (statuses(result), result.tool_calls[0].result.text) == (["blocked"], "not today")
    assert " XS " not in shorthand(handle.events()), "an end without a start"
    assert " XE " in shorthand(handle.events())
    assert agent.llm.requests[1].messages[-1].text == "not today"


@pytest.mark.parametrize("given", ["from the cache", ToolResult.ok("from the cache")])
def test_before_tool_may_supply_the_result(given):
    ran = []

    @tool
    def fetch() -> str:
        """Fetches."""
        ran.append(1)
        return "fresh"

    supply = At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.supply(given))
    result = Agent("a", llm=ScriptedLLM([call("fetch")], "ok"), tools=[fetch], hooks=[supply]).run("go")
    assert (ran, statuses(result), result.tool_calls[0].result.text) == ([], ["ok"], "from the cache")


def test_after_tool_may_patch_the_result_and_the_end_event_shows_it():
    patch = At(P.AFTER_TOOL, does=lambda ctx, p: HookResult.replace(replace(p, result=replace(p.result, text="five"))))
    agent = agent_with(patch, replies=([call("add", a=1, b=2)], "ok"))
    handle = agent.start("go")
    result = ends(handle, "completed")
    end = next(e for e in handle.events() if e.kind == "tool_execution_end")
    assert end.result.text == result.tool_calls[0].result.text == agent.llm.requests[1].messages[-1].text == "five"


@pytest.mark.parametrize(
    ("result", "text"),
    [(ToolResult.ok({"x": 1}), '{"x": 1}'), (ToolResult.ok(["y"]), '["y"]'), (ToolResult.ok(), "done")],
)
def test_a_new_result_after_a_tool_has_its_value_as_text_as_that_of_a_body_does(result, text):
    hook = At(P.AFTER_TOOL, does=lambda ctx, p: HookResult.replace(replace(p, result=result)))
    options = Options(after_tool_call=lambda made, got, stop_event: result)
    replies = ([call("add", a=1, b=2)], "ok")
    for agent in (agent_with(hook, replies=replies), agent_with(replies=replies, options=options)):
        assert texts(agent.run("go").messages, "tool") == [text]


@pytest.mark.parametrize("name", ["add", "nope"])
def test_a_result_whose_text_is_none_is_not_taken_from_a_hook(name):
    def does(ctx, payload):
        return HookResult.replace(replace(payload, result=replace(payload.result, text=OSError("no paper"))))

    agent = agent_with(At(P.AFTER_TOOL, does=does), replies=([call(name, a=1, b=2)], "ok"))
    result = agent.run("go")
    assert result.reply == "ok"
    assert "no paper" not in texts(result.messages, "tool")[0]


def test_a_result_whose_text_a_hook_empties_stays_without_text():
    hook = At(P.AFTER_TOOL, does=lambda ctx, p: HookResult.replace(replace(p, result=replace(p.result, text=""))))
    assert texts(agent_with(hook, replies=([call("add", a=1, b=2)], "ok")).run("go").messages, "tool") == [""]


def test_after_tool_fires_for_what_never_started_but_not_for_what_was_not_run():
    seen = []
    watch = At(P.AFTER_TOOL, does=lambda ctx, p: seen.append((p.call.name, p.result.status)))
    calls = [call("add", a=1, b=1), call("nope"), call("add", a=1)]
    agent_with(watch, replies=(calls, {"calls": [call("add", a=1, b=1)], "stop": "length"}, "ok")).run("go")
    assert sorted(seen) == [("add", "invalid"), ("add", "ok"), ("nope", "unknown")]


def test_on_run_end_may_replace_the_reply_but_not_history():
    end = At(P.ON_RUN_END, does=lambda ctx, p: HookResult.replace(replace(p, reply=p.reply.upper(), messages=())))
    result = agent_with(end).run("hi")
    assert result.reply == "HELLO"
    assert texts(result.messages) == ["hi", "hello"]


@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.AFTER_TOOL, P.ON_RUN_END])
@pytest.mark.parametrize("answer", [HookResult.block("no"), HookResult.supply("x")])
def test_block_and_supply_elsewhere_are_skipped(point, answer):
    result = agent_with(At(point, does=lambda ctx, p: answer), replies=([call("add", a=1, b=2)], "three")).run("go")
    assert (result.reason, result.reply, statuses(result)) == ("completed", "three", ["ok"])


# --- end_turn -----------------------------------------------------------------------------------------------------


def test_ending_at_the_start_opens_turn_one_and_stores_the_task(shorthand):
    agent = agent_with(At(P.ON_RUN_START, does=lambda ctx, p: HookResult.end_turn("closed")))
    handle = agent.start("hi")
    result = ends(handle, "stopped")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) TE AE(stopped)"
    assert texts(result.messages) == ["hi", "closed"]
    assert (result.reply, agent.llm.requests) == ("closed", [])


def test_ending_before_the_model_is_asked(shorthand):
    agent = agent_with(At(P.BEFORE_LLM, does=lambda ctx, p: HookResult.end_turn("too much")))
    handle = agent.start("hi")
    assert ends(handle, "stopped").reply == "too much"
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) TE AE(stopped)"
    assert agent.llm.remaining == 1


def test_ending_after_the_model_leaves_its_calls_not_run(shorthand):
    agent = agent_with(
        At(P.AFTER_LLM, does=lambda ctx, p: HookResult.end_turn("enough")), replies=([call("add", a=1, b=2)], "never")
    )
    handle = agent.start("hi")
    result = ends(handle, "stopped")
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) ME(a) XE MS(t) ME(t) MS(a) ME(a) TE AE(stopped)"
    assert (result.reply, statuses(result), result.messages[-1].role) == ("enough", ["not_run"], "assistant")
    assert calls_are_answered(result.messages)


def test_ending_before_a_tool_leaves_it_and_the_later_ones_not_run():
    agent = agent_with(
        At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.end_turn("no more") if p.call.name == "shout" else None),
        replies=([call("add", a=1, b=2), call("shout", text="x"), call("add", a=3, b=4)], "never"),
        options=Options(tool_execution_mode="sequential"),
    )
    result = ends(agent.start("hi"), "stopped")
    assert statuses(result) == ["ok", "not_run", "not_run"]
    assert (result.reply, agent.llm.remaining) == ("no more", 1)


def test_ending_after_a_tool_keeps_the_results_of_running_siblings():
    ended, both = threading.Event(), threading.Barrier(2)

    @tool
    def quick() -> str:
        """Quick."""
        both.wait(LIMIT_S)
        return "quick"

    @tool
    def slow() -> str:
        """Slow."""
        both.wait(LIMIT_S)
        opened(ended)
        return "slow"

    def end(ctx, p):
        if p.call.name != "quick":
            return None
        ended.set()
        return HookResult.end_turn("that will do")

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("quick"), call("slow"), call("quick")], "never"),
        tools=[quick, slow],
        hooks=[At(P.AFTER_TOOL, does=end)],
        options=Options(max_concurrent_tools=2),
    )
    result = ends(agent.start("hi"), "stopped")
    assert [(c.result.status, c.result.text) for c in result.tool_calls[:2]] == [("ok", "quick"), ("ok", "slow")]
    assert statuses(result)[2] == "not_run"
    assert result.reply == "that will do"
    assert calls_are_answered(result.messages)


def test_in_a_batch_the_first_end_wins():
    ended = threading.Event()

    def end(ctx, p):
        if p.call.arguments["a"] == 2:
            opened(ended)
        return HookResult.end_turn(f"reply {p.call.arguments['a']}")

    calls = [call("add", a=2, b=0), call("add", a=1, b=0)]
    agent = agent_with(At(P.BEFORE_TOOL, does=end, concurrent=True), replies=(calls, "never"))
    agent.subscribe(lambda event: ended.set() if event.kind == "tool_execution_end" else None)
    result = ends(agent.start("hi"), "stopped")
    assert (result.reply, statuses(result)) == ("reply 1", ["not_run", "not_run"])


def test_a_hook_of_lower_priority_is_not_asked_after_an_end():
    asked = []
    high = At(P.AFTER_LLM, does=lambda ctx, p: HookResult.end_turn("done"), priority=1)
    low = At(P.AFTER_LLM, does=lambda ctx, p: asked.append(1))
    agent_with(high, low).run("hi")
    assert asked == []


def test_on_run_end_sees_the_result_of_a_run_that_a_hook_ended():
    seen = []
    agent_with(
        At(P.BEFORE_LLM, does=lambda ctx, p: HookResult.end_turn("bye")),
        At(P.ON_RUN_END, does=lambda ctx, p: seen.append((p.reason, p.reply))),
    ).run("hi")
    assert seen == [("stopped", "bye")]
