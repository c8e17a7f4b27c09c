"""Hooks that raise, block or answer nonsense, and text that is held back until a hook has seen it."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from edgeagent import Agent, FirePoint, HookResult, Options, ToolResult, tool
from edgeagent.hooks import AfterLLM, AfterTool, BeforeLLM, RunStart
from edgeagent.llm import End, TextDelta, ThinkingDelta
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, first, opened, raises, statuses, texts

P = FirePoint
UNSAFE = "I can't do that safely."


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


ASK_AND_TELL = ([call("add", a=1, b=2)], "three")


def agent_with(*hook_list, replies=ASK_AND_TELL, **keywords):
    return Agent("a", llm=ScriptedLLM(*replies), tools=[add], hooks=hook_list, **keywords)


# --- raising ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.AFTER_TOOL, P.ON_RUN_END])
def test_a_hook_that_raises_is_logged_and_skipped(point, caplog):
    result = agent_with(At(point, does=raises)).run("go")
    assert (result.reason, result.reply, statuses(result)) == ("completed", "three", ["ok"])
    assert "hook broke" in caplog.text


@pytest.mark.parametrize("fail_closed", [False, True])
def test_a_hook_that_raises_before_a_tool_keeps_that_call_from_running_and_only_that(fail_closed):
    ran = []

    @tool
    def note(word: str) -> str:
        """Notes."""
        ran.append(word)
        return word

    def broken(ctx, p):
        return raises(ctx, p) if p.call.arguments["word"] == "bad" else None

    calls = [call("note", word="bad"), call("note", word="good")]
    hook = At(P.BEFORE_TOOL, does=broken, fail_closed=fail_closed)
    agent = Agent("a", llm=ScriptedLLM(calls, "ok"), tools=[note], hooks=[hook])
    result = ends(agent.start("go"), "completed")
    assert (ran, statuses(result)) == (["good"], ["error", "ok"])
    assert "hook broke" in result.tool_calls[0].result.text


@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.AFTER_TOOL])
def test_a_hook_that_fails_closed_ends_the_run(point):
    agent = agent_with(At(point, does=raises, fail_closed=True))
    result = ends(agent.start("go"), "stopped")
    assert result.reply == result.messages[-1].text == UNSAFE
    assert calls_are_answered(result.messages)
    assert len(agent.llm.requests) == (0 if point in (P.ON_RUN_START, P.BEFORE_LLM) else 1)


def test_a_hook_that_fails_closed_at_the_end_replaces_the_reply():
    result = agent_with(At(P.ON_RUN_END, does=raises, fail_closed=True)).run("go")
    assert result.reply == UNSAFE


@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.AFTER_TOOL, P.ON_RUN_END])
@pytest.mark.parametrize("answer", ["proceed", HookResult.replace("no payload"), 3])
def test_an_answer_that_is_none_is_as_if_the_hook_had_raised(point, answer):
    result = agent_with(At(point, does=lambda ctx, p: answer)).run("go")
    assert (result.reason, result.reply) == ("completed", "three")


@pytest.mark.parametrize(
    ("replies", "status"),
    [
        (([call("add", a=1, b=2)], "three"), "ok"),
        (([call("nope")], "three"), "unknown"),
    ],
)
def test_a_patched_result_that_is_no_result_is_skipped(replies, status):
    patch = At(P.AFTER_TOOL, does=lambda ctx, p: HookResult.replace(AfterTool(p.call, "text")))
    result = agent_with(patch, replies=replies).run("go")
    assert (result.reason, statuses(result)) == ("completed", [status])


def test_an_after_tool_call_that_returns_a_text_does_not_lose_the_result():
    options = Options(after_tool_call=lambda made, result, stop_event: "text")
    assert statuses(agent_with(options=options).run("go")) == ["ok"]


def test_a_task_replaced_by_a_text_is_a_message_or_is_skipped():
    start = At(P.ON_RUN_START, does=lambda ctx, p: HookResult.replace(RunStart("other", p.context)))
    result = agent_with(start).run("go")
    assert texts(result.messages, "user") in (["other"], ["go"])


@pytest.mark.parametrize(
    "made",
    [
        lambda p: BeforeLLM(["a text"], p.tools, p.hop),
        lambda p: BeforeLLM(None, p.tools, p.hop),
        lambda p: BeforeLLM(p.messages, ["add"], p.hop),
        lambda p: BeforeLLM((m for m in p.messages), p.tools, p.hop),
    ],
)
def test_a_request_replaced_by_what_is_none_is_skipped(made):
    hook = At(P.BEFORE_LLM, does=lambda ctx, p: HookResult.replace(made(p)))
    agent = agent_with(hook)
    assert agent.run("go").reply == "three"
    assert texts(agent.llm.requests[0].messages) == ["go"]


@pytest.mark.parametrize("made", [AfterLLM(None, (), 1), AfterLLM("x", ["add"], 1), AfterLLM("x", None, 1)])
def test_a_reply_replaced_by_what_is_none_is_skipped(made):
    hook = At(P.AFTER_LLM, does=lambda ctx, p: HookResult.replace(made))
    result = agent_with(hook).run("go")
    assert (result.reply, statuses(result)) == ("three", ["ok"])


@pytest.mark.parametrize(
    "answer", [lambda p: HookResult.replace(replace(p, reply=None)), lambda p: HookResult.end_turn(3)]
)
def test_a_result_replaced_by_what_is_none_is_skipped(answer):
    assert agent_with(At(P.ON_RUN_END, does=lambda ctx, p: answer(p))).run("go").reply == "three"


@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.AFTER_TOOL])
def test_an_end_without_words_is_as_if_the_hook_had_raised(point):
    result = agent_with(At(point, does=lambda ctx, p: HookResult.end_turn(None))).run("go")
    assert (result.reason, result.reply) == ("completed", "three")


@pytest.mark.parametrize("task", [3, ["go"]])
def test_a_task_replaced_by_what_is_none_is_skipped(task):
    start = At(P.ON_RUN_START, does=lambda ctx, p: HookResult.replace(RunStart(task, p.context)))
    assert texts(agent_with(start).run("go").messages, "user") == ["go"]


def test_before_tool_call_that_returns_nonsense_is_that_calls_error():
    options = Options(before_tool_call=lambda made, stop_event: "yes")
    result = agent_with(options=options).run("go")
    assert statuses(result) == ["error"]
    assert "before_tool_call returned str" in result.tool_calls[0].result.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
@pytest.mark.parametrize("point", [P.ON_RUN_START, P.BEFORE_LLM, P.AFTER_LLM, P.ON_RUN_END])
def test_a_hook_that_wants_to_end_the_program_leaves_no_run_that_waits_for_ever(point, raised):
    def leave(ctx, payload):
        raise raised

    handle = agent_with(At(point, does=leave)).start("go")
    assert handle.wait(1), "the run never ended"


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt()])
def test_a_hook_that_wants_to_end_the_program_on_a_tools_thread_is_that_calls_error(raised):
    def leave(ctx, payload):
        raise raised

    handle = agent_with(At(P.BEFORE_TOOL, does=leave)).start("go")
    assert statuses(ends(handle, "completed")) == ["error"]


# --- blocking -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_interrupt", ["cancel", "finish", "detach"])
def test_an_abort_while_a_before_hook_blocks_does_not_wait_for_it(on_interrupt):
    gate, inside, ran = threading.Event(), threading.Event(), []

    @tool(on_interrupt=on_interrupt, resources=("arm",))
    def grip() -> str:
        """Grips."""
        ran.append("grip")
        return "gripped"

    def block(ctx, p):
        if not inside.is_set():
            inside.set()
            opened(gate)

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("grip")], [call("grip")], "ok"),
        tools=[grip],
        hooks=[At(P.BEFORE_TOOL, does=block, concurrent=True)],
        options=Options(abort_grace_s=0.05),
    )
    handle = agent.start("go")
    try:
        opened(inside)
        agent.abort()
        assert handle.wait(1), "nothing had started, so there is nothing to wait for"
        assert statuses(handle.result(LIMIT_S)) == ["not_run"]
        assert statuses(agent.run("again")) == ["ok"], "what never began holds nothing"
    finally:
        gate.set()
        assert handle.wait(LIMIT_S)
    for thread in threading.enumerate():
        if thread.name == "tool-grip":
            thread.join(LIMIT_S)
    assert ran == ["grip"], "it may not begin any more, however late the hook returns"


def test_an_after_hook_that_takes_its_time_does_not_make_the_tool_time_out():
    seen = []
    gate = threading.Event()

    def take_time(ctx, p):
        seen.append(p.result.status)
        gate.wait(0.3)

    options = Options(tool_timeout_s=0.05)
    result = agent_with(At(P.AFTER_TOOL, does=take_time, concurrent=True), options=options).run("go")
    assert (statuses(result), seen) == (["ok"], ["ok"])


def test_a_tool_that_times_out_is_not_kept_waiting_by_a_siblings_after_hook():
    gate, inside = threading.Event(), threading.Event()

    @tool(timeout_s=0.05)
    def stuck() -> str:
        """Sticks."""
        opened(gate)
        return "late"

    def block(ctx, p):
        if p.call.name == "add":
            inside.set()
            opened(gate)

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("add", a=1, b=2), call("stuck")], "x"),
        tools=[add, stuck],
        hooks=[At(P.AFTER_TOOL, does=block)],
        options=Options(abort_grace_s=0.05),
    )
    handle = agent.start("go")
    try:
        opened(inside)
        ended = threading.Event()
        follower = threading.Thread(target=lambda: (first(handle, "tool_execution_end", tool="stuck"), ended.set()))
        follower.start()
        assert ended.wait(1), "the loop's thread waits for the lock of a hook that another thread is in"
    finally:
        gate.set()
        assert handle.wait(LIMIT_S)
        follower.join(LIMIT_S)


def test_a_result_that_comes_too_late_is_shown_to_no_hook():
    gate, seen = threading.Event(), []

    @tool(timeout_s=0.05)
    def stuck() -> str:
        """Sticks."""
        opened(gate)
        return "late"

    see = At(P.AFTER_TOOL, does=lambda ctx, p: seen.append(p.result.status))
    agent = Agent("a", llm=ScriptedLLM([call("stuck")], "x"), tools=[stuck], hooks=[see])
    assert statuses(agent.run("go")) == ["timed_out"]
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "tool-stuck":
            thread.join(LIMIT_S)
    assert seen == ["timed_out"]


def test_a_blocked_call_is_not_kept_waiting_by_a_siblings_after_hook():
    gate, inside = threading.Event(), threading.Event()

    @tool(resources=("arm",), timeout_s=0.02)
    def hold() -> str:
        """Holds."""
        opened(gate)
        return ""

    @tool(resources=("arm",))
    def grip() -> str:
        """Grips."""
        raise NotImplementedError

    def block(ctx, p):
        if p.call.name == "add":
            inside.set()
            opened(gate)

    agent = Agent(
        "a",
        llm=ScriptedLLM([call("add", a=1, b=2), call("hold"), call("grip")], "x"),
        tools=[add, hold, grip],
        hooks=[At(P.AFTER_TOOL, does=block)],
        options=Options(abort_grace_s=0.05),
    )
    ended = threading.Event()
    agent.subscribe(lambda e: ended.set() if e.kind == "tool_execution_end" and e.call.name == "grip" else None)
    handle = agent.start("go")
    try:
        opened(inside)
        assert ended.wait(1)
    finally:
        gate.set()
    assert statuses(ends(handle, "completed")) == ["ok", "timed_out", "blocked"]


# --- text that is held --------------------------------------------------------------------------------------------


def spoken(handle):
    return [e.delta for e in handle.events() if e.kind == "message_update" and e.channel == "text"]


def test_held_text_is_told_once_the_hook_has_run():
    told = []

    def guard(ctx, p):
        assert told == []
        return HookResult.replace(replace(p, text="clean words"))

    agent = agent_with(At(P.AFTER_LLM, does=guard, holds_text=True), replies=("dirty words",))
    agent.subscribe(lambda event: told.append(event.delta) if event.kind == "message_update" else None)
    handle = agent.start("go")
    assert ends(handle, "completed").reply == "clean words"
    assert "".join(spoken(handle)) == "clean words"


def test_a_hook_may_release_held_text_before_the_reply_is_whole():
    class Patient(At):
        def releases(self, ctx, text):
            return len(text.split()) >= 2

    agent = agent_with(Patient(P.AFTER_LLM, holds_text=True), replies=("one two three four",))
    handle = agent.start("go")
    assert ends(handle, "completed").reply == "one two three four"
    assert spoken(handle) == ["one two", " three", " four"]


def test_text_stays_held_if_a_hook_cannot_judge_its_beginning():
    class Broken(At):
        def releases(self, ctx, text):
            raise RuntimeError("broken")

    agent = agent_with(Broken(P.AFTER_LLM, holds_text=True), replies=("one two three",))
    assert spoken(agent.start("go")) == ["one two three"]


def test_thinking_is_not_held_and_without_the_trait_text_is_not_either():
    seen = []
    agent = agent_with(
        At(P.AFTER_LLM, does=lambda ctx, p: seen.append("hook")), replies=({"thinking": "hm", "text": "hello"},)
    )
    agent.subscribe(lambda event: seen.append(event.delta) if event.kind == "message_update" else None)
    agent.run("go")
    assert seen == ["hm", "hello", "hook"]


@pytest.mark.parametrize("end", [{"text": "half a secret", "error": "boom"}, {"text": "half", "stop": "aborted"}])
def test_held_text_of_a_stream_that_fails_is_never_told(end):
    agent = agent_with(At(P.AFTER_LLM, holds_text=True), replies=(end,))
    handle = agent.start("go")
    result = handle.result(LIMIT_S)
    assert spoken(handle) == [], "the hook has not seen it"
    assert texts(result.messages) == ["go"], "what was not told is not kept"
    assert result.reply == ""


def test_held_text_is_not_told_when_the_hook_that_holds_it_fails_closed():
    agent = agent_with(At(P.AFTER_LLM, does=raises, holds_text=True, fail_closed=True), replies=("a secret",))
    handle = agent.start("go")
    assert ends(handle, "stopped").reply == UNSAFE
    assert "a secret" not in "".join(spoken(handle))


def test_held_text_is_not_told_when_a_hook_before_the_one_that_holds_it_ends_the_run():
    ender = At(P.AFTER_LLM, does=lambda ctx, p: HookResult.end_turn("enough"), priority=1)
    agent = agent_with(At(P.AFTER_LLM, holds_text=True), ender, replies=("a secret",))
    handle = agent.start("go")
    result = ends(handle, "stopped")
    assert spoken(handle) == []
    assert "a secret" not in texts(result.messages)


def test_held_text_is_told_when_the_hook_that_holds_it_ends_the_run_or_one_after_it():
    for priority in (0, -1):
        guard = At(P.AFTER_LLM, holds_text=True)
        ender = At(P.AFTER_LLM, does=lambda ctx, p: HookResult.end_turn("enough"), holds_text=True, priority=priority)
        handle = agent_with(guard, ender, replies=("fine",)).start("go")
        ends(handle, "stopped")
        assert spoken(handle) == ["fine"]


def test_no_event_has_held_text_before_the_hook_has_run():
    seen = []

    def guard(ctx, p):
        seen.append("hook")
        return HookResult.replace(replace(p, text="clean"))

    class Mixed(ScriptedLLM):
        """Thinks again after its first words."""

        def stream(self, request, stop_event):
            yield from (TextDelta("a secret"), ThinkingDelta("hm"), End("stop"))

    agent = Agent("a", llm=Mixed(), hooks=[At(P.AFTER_LLM, does=guard, holds_text=True)])
    agent.subscribe(lambda e: seen.append(e.message.text) if e.kind == "message_update" else None)
    assert agent.run("go").reply == "clean"
    assert seen == ["", "hook", "clean"]


def test_held_text_of_a_model_that_raises_is_not_kept():
    class Breaks(ScriptedLLM):
        def stream(self, request, stop_event):
            yield TextDelta("a secret")
            raise ValueError("lost")

    agent = Agent("a", llm=Breaks(), hooks=[At(P.AFTER_LLM, holds_text=True)])
    handle = agent.start("go")
    with pytest.raises(ValueError, match="lost"):
        handle.result(LIMIT_S)
    assert spoken(handle) == []
    assert texts(agent.state.messages) == ["go"]


def test_held_text_of_a_turn_with_calls_is_told_before_its_tools_start(shorthand):
    agent = agent_with(
        At(P.AFTER_LLM, holds_text=True), replies=({"text": "let me see", "calls": [call("add", a=1, b=2)]}, "three")
    )
    log = shorthand(agent.start("go").events())
    assert "MS(a) MU+ ME(a) XS XE" in log


# --- what a hook changes in place ---------------------------------------------------------------------------------


def test_nothing_that_a_hook_mutates_reaches_history():
    def spoil(ctx, p):
        for made in getattr(p, "tool_calls", ()):
            made.arguments["a"] = 100
        for message in getattr(p, "messages", ()):
            for made in message.tool_calls:
                made.arguments["a"] = 100
        if hasattr(p, "call"):
            p.call.arguments["a"] = 100

    hook = At(P.BEFORE_LLM, P.AFTER_LLM, P.BEFORE_TOOL, P.AFTER_TOOL, does=spoil)
    result = agent_with(hook).run("go")
    assert result.messages[1].tool_calls[0].arguments == {"a": 1, "b": 2}
    assert result.tool_calls[0].result.text == "3"


def test_calls_that_a_hook_gave_and_keeps_are_copied_too():
    kept = []

    def rewrite(ctx, p):
        if not p.tool_calls:
            return None
        kept.append(replace(p.tool_calls[0], arguments={"a": 5, "b": 2}))
        return HookResult.replace(replace(p, tool_calls=tuple(kept)))

    result = agent_with(At(P.AFTER_LLM, does=rewrite)).run("go")
    kept[0].arguments["a"] = 100
    assert result.messages[1].tool_calls[0].arguments == {"a": 5, "b": 2}
    assert result.tool_calls[0].result.text == "7"


def test_a_supplied_result_gets_the_id_and_name_of_its_call():
    supply = At(P.BEFORE_TOOL, does=lambda ctx, p: HookResult.supply(ToolResult("x", "y", "ok", "given")))
    result = agent_with(supply).run("go")
    made = result.tool_calls[0]
    assert (made.result.call_id, made.result.name) == (made.id, "add")
