"""An agent as a tool of another one: its own run and log, its caller's context and stop."""

from __future__ import annotations

import dataclasses
import threading

import pytest

from edgeagent import (
    Agent,
    AgentContext,
    BusyError,
    FirePoint,
    GoalHandle,
    Options,
    PolicyViolationError,
    Session,
    ToolContext,
    skill,
    tool,
)
from edgeagent.events import Event
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Callbacks

from .kit import LIMIT_S, At, calls_are_answered, ends, opened, statuses, texts

P = FirePoint


def team(boss_replies, helper_replies, *, boss=None, helper=None):
    """A boss that may ask a helper."""
    asked = Agent("helper", "you help", llm=ScriptedLLM(*helper_replies), **(helper or {}))
    keywords = dict(boss or {})
    tools = [asked.as_tool(), *keywords.pop("tools", ())]
    return Agent("boss", llm=ScriptedLLM(*boss_replies), tools=tools, **keywords), asked


def within(boss, kind):
    """Set when an event of that kind comes from the helper's run."""
    seen = threading.Event()

    def look(event):
        if event.kind == "tool_execution_update" and event.update.kind == kind:
            seen.set()

    boss.subscribe(look)
    return seen


def test_the_tool_has_one_argument_and_its_result_is_the_reply():
    boss, helper = team([[call("helper", task="count to two")], "done"], ["one two"], helper={"description": "Counts."})
    made = boss.tools.get("helper")
    assert (made.name, made.description, list(made.parameters["properties"])) == ("helper", "Counts.", ["task"])
    result = boss.run("go")
    assert (statuses(result), result.tool_calls[0].result.text) == (["ok"], "one two")
    assert texts(helper.llm.requests[0].messages) == ["count to two"]
    assert helper.llm.requests[0].system == "you help"
    assert (result.reply, result.handed_off_to) == ("done", None)


def test_name_and_description_may_be_given():
    made = Agent("the helper", llm=ScriptedLLM()).as_tool("ask", "Asks.")
    assert (made.name, made.description) == ("ask", "Asks.")
    assert Agent("The Helper!", llm=ScriptedLLM()).as_tool().name == "the_helper"


def test_its_events_are_the_calls_progress_and_not_the_parents_events(shorthand):
    boss, _ = team([[call("helper", task="x")], "done"], ["one"])
    handle = boss.start("go")
    log = list(handle.events())
    inner = [e.update for e in log if e.kind == "tool_execution_update"]
    assert all(isinstance(e, Event) for e in inner)
    assert shorthand(inner) == "AS TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"
    assert {e.agent for e in inner} == {"helper"}
    assert len({e.run_id for e in inner}) == 1
    assert inner[0].run_id != handle.id
    assert {e.agent for e in log} == {"boss"}
    assert [e.seq for e in inner] == list(range(len(inner)))


def test_every_field_of_the_context_is_shared_or_belongs_to_one_agent():
    seen = {}

    def keep(ctx, payload):
        seen.setdefault(ctx.agent_name, {f.name: getattr(ctx, f.name) for f in dataclasses.fields(ctx)})

    context = AgentContext(deps=object(), bus=object(), memory=object(), hooks=[At(P.BEFORE_LLM, does=keep)])
    boss, helper = team([[call("helper", task="x")], "done"], ["one"])
    boss.run("go", context=context, options=Options(deadline_s=LIMIT_S))
    ours, theirs = seen["boss"], seen["helper"]
    its_own = {"tool_registry", "llm", "agent_name", "system", "options", "response_schema", "history", "depth"}
    its_own |= {"stop_event", "notice", "within", "sizes"}  # of its own run; the stop follows the caller's
    for name in set(ours) - its_own:
        assert theirs[name] is ours[name], name
    assert theirs["llm"] is helper.llm
    assert theirs["depth"] == 1


def test_a_helper_without_a_model_has_its_callers():
    helper = Agent("helper", "you help")
    boss = Agent("boss", llm=ScriptedLLM([call("helper", task="x")], "one", "done"), tools=[helper.as_tool()])
    assert boss.run("go").tool_calls[0].result.text == "one"


def test_a_helper_that_fails_is_an_error_result():
    boss, _ = team([[call("helper", task="x")], "sorry"], [{"text": "", "error": "boom"}])
    result = boss.run("go")
    assert (statuses(result), result.tool_calls[0].result.text, result.reply) == (["error"], "boom", "sorry")


def test_what_the_helpers_model_raises_is_an_error_result():
    boss, helper = team([[call("helper", task="x")], "sorry"], [ValueError("lost")])
    result = boss.run("go")
    assert statuses(result) == ["error"]
    assert "lost" in result.tool_calls[0].result.text
    assert not helper.is_running


def test_a_denial_in_the_helper_is_an_error_result_of_the_call():
    @tool
    def dig() -> str:
        """Digs."""
        return "dug"

    options = Options(policy_check=lambda name, arguments: "no digging")
    boss, _ = team([[call("helper", task="x")], "sorry"], [[call("dig")]], helper={"tools": [dig], "options": options})
    result = boss.run("go")
    assert (statuses(result), result.reply) == (["error"], "sorry")
    assert "no digging" in result.tool_calls[0].result.text


def test_the_callers_policy_does_not_stop_at_the_helpers_door():
    """A robot's policy guards what is done, whoever asks for it."""

    @tool
    def dig() -> str:
        """Digs."""
        return "dug"

    options = Options(policy_check=lambda name, arguments: "no digging" if name == "dig" else None)
    boss, _ = team(
        [[call("helper", task="x")], "sorry"],
        [[call("dig")], "dug"],
        boss={"options": options},
        helper={"tools": [dig]},
    )
    try:
        result = boss.run("go")
    except PolicyViolationError:
        return
    assert statuses(result) == ["error"]


@pytest.mark.parametrize("own", [None, lambda name, arguments: True])
def test_the_callers_confirm_guards_the_helpers_tools_unless_it_has_its_own(own):
    wiped = []

    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        wiped.append(1)
        return "wiped"

    boss, _ = team(
        [[call("helper", task="x")], "done"],
        [[call("wipe")], "ok"],
        boss={"options": Options(confirm=lambda name, arguments: name != "wipe")},
        helper={"tools": [wipe], "options": Options(confirm=own)},
    )
    ends(boss.start("go"), "completed")
    assert bool(wiped) == (own is not None)


def test_a_question_of_a_helpers_helper_reaches_the_person_too():
    @tool(question=True)
    def ask(question: str) -> str:
        """Asks."""
        raise NotImplementedError

    inner = Agent("inner", llm=ScriptedLLM([call("ask", question="how many?")], "two"), tools=[ask])
    boss, _ = team(
        [[call("helper", task="x")], "done"], [[call("inner", task="y")], "ok"], helper={"tools": [inner.as_tool()]}
    )
    answered = []

    def on_question(questions, answer):
        answered.extend(questions)
        answer.put("two")

    ends(boss.start("go", callbacks=Callbacks(on_question=on_question)), "completed")
    assert answered == ["how many?"]


def test_a_helper_that_asks_its_boss_is_told_that_it_is_busy():
    helper = Agent("helper", llm=ScriptedLLM([call("boss", task="you do it")], "then not"))
    boss = Agent("boss", llm=ScriptedLLM([call("helper", task="x")], "done"), tools=[helper.as_tool()])
    helper.tools.add(boss.as_tool())
    result = ends(boss.start("go"), "completed")
    assert result.tool_calls[0].result.text == "then not"


def test_helpers_that_ask_each_other_in_a_circle_do_not_wait_for_ever():
    one = Agent("one", llm=ScriptedLLM([call("two", task="x")], "one"))
    two = Agent("two", llm=ScriptedLLM([call("one", task="x")], "two"), tools=[one.as_tool()])
    one.tools.add(two.as_tool())
    boss = Agent("boss", llm=ScriptedLLM([call("one", task="x")], "done"), tools=[one.as_tool()])
    handle = boss.start("go")
    in_time = handle.wait(1)
    boss.abort()
    assert handle.wait(LIMIT_S)
    assert in_time, "each holds what the other waits for"
    assert handle.result(LIMIT_S).reply == "done"


def test_helpers_that_ask_each_other_side_by_side_do_not_wait_for_ever():
    """Each was asked by the boss, and each asks the other: one of them is told that the other is busy."""
    both = threading.Barrier(2)

    def asks(other):
        def reply(request):
            both.wait(LIMIT_S)
            return [call(other, task="x")]

        return reply

    one = Agent("one", llm=ScriptedLLM(asks("two"), "one", "one again"))
    two = Agent("two", llm=ScriptedLLM(asks("one"), "two", "two again"), tools=[one.as_tool()])
    one.tools.add(two.as_tool())
    llm = ScriptedLLM([call("one", task="x"), call("two", task="x")], "done")
    boss = Agent("boss", llm=llm, tools=[one.as_tool(), two.as_tool()])
    handle = boss.start("go")
    in_time = handle.wait(2)
    boss.abort()
    assert handle.wait(LIMIT_S)
    assert in_time, "each waits for what the other holds"
    assert statuses(ends(handle, "completed")) == ["ok", "ok"]
    assert len(one.llm.requests) + len(two.llm.requests) == 5, "one was refused, the other one answered"


def test_two_calls_of_one_helper_in_one_reply_are_both_answered():
    ended = threading.Event()

    def first_reply(request):
        ended.wait(0.2)  # long enough for the other call to be refused, if it is
        return "first"

    boss, helper = team([[call("helper", task="1"), call("helper", task="2")], "done"], [first_reply, "second"])
    boss.subscribe(lambda event: ended.set() if event.kind == "tool_execution_end" else None)
    result = boss.run("go")
    assert statuses(result) == ["ok", "ok"]
    assert len(helper.llm.requests) == 2


def test_an_abort_of_the_caller_stops_the_helper_and_its_tools():
    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        ctx.stop_event.wait(LIMIT_S)
        return "stopped" if ctx.should_stop() else "saw"

    boss, helper = team([[call("helper", task="x")], "never"], [[call("watch")], "never"], helper={"tools": [watch]})
    working = within(boss, "tool_execution_start")
    handle = boss.start("go")
    opened(working)
    boss.abort()
    result = ends(handle, "aborted", "user")
    assert statuses(result) == ["interrupted"]
    assert calls_are_answered(result.messages)
    while helper.is_running:  # the caller does not wait for it
        threading.Event().wait(0.01)
    assert helper.llm.remaining == 1


def test_an_abort_of_the_helper_alone_is_an_error_result_of_the_call():
    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        helper.abort("enough")
        ctx.stop_event.wait(LIMIT_S)
        return "stopped"

    boss, helper = team([[call("helper", task="x")], "sorry"], [[call("watch")]], helper={"tools": [watch]})
    result = ends(boss.start("go"), "completed")
    assert (statuses(result), result.reply) == (["error"], "sorry")


def test_a_safety_stop_of_the_caller_halts_the_helpers_skill():
    halted = threading.Event()

    @skill(stop=halted.set)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        goal.cancel_event.wait(LIMIT_S)
        return "halted"

    boss, _ = team([[call("helper", task="x")], "never"], [[call("drive")], "never"], helper={"tools": [drive]})
    moving = within(boss, "tool_execution_start")
    handle = boss.start("go")
    opened(moving)
    boss.abort("safety_stop")
    assert halted.is_set(), "on the caller's thread, at once"
    ends(handle, "aborted", "safety_stop")


@pytest.mark.parametrize("reason", ["safety_stop", "barge_in"])
def test_an_abort_of_the_caller_is_the_helpers_by_its_reason(reason):
    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        ctx.stop_event.wait(LIMIT_S)
        return ""

    boss, helper = team([[call("helper", task="x")], "never"], [[call("watch")], "never"], helper={"tools": [watch]})
    ended = []
    helper.subscribe(lambda event: ended.append(event.abort_reason) if event.kind == "agent_end" else None)
    watching = within(boss, "tool_execution_start")
    handle = boss.start("go")
    opened(watching)
    helper.follow_up("then drive on")
    boss.abort(reason)
    ends(handle, "aborted", reason)
    while helper.is_running:
        threading.Event().wait(0.005)
    assert ended == [reason]
    assert helper.has_pending is (reason != "safety_stop"), "a safety stop empties the queues of all whom it stops"


def test_the_callers_latch_holds_for_the_helpers_motion():
    latch = SafetyLatch()
    latch.trip("test")

    @skill
    def drive() -> str:
        """Drives."""
        return "drove"

    boss, _ = team(
        [[call("helper", task="x")], "no"],
        [[call("drive")], "it is blocked"],
        boss={"latch": latch},
        helper={"tools": [drive]},
    )
    seen = []
    boss.subscribe(
        lambda e: (
            seen.append(e.update.result.status)
            if e.kind == "tool_execution_update" and e.update.kind == "tool_execution_end"
            else None
        )
    )
    boss.run("go")
    assert seen == ["blocked"]


def test_the_helper_and_its_caller_share_the_ledger_of_resources():
    order = []

    @skill(resources=("base",), mode="parallel")
    def drive(who: str) -> str:
        """Drives."""
        order.append(f"+{who}")
        threading.Event().wait(0.02)
        order.append(f"-{who}")
        return who

    boss, _ = team(
        [[call("helper", task="x"), call("drive", who="boss")], "done"],
        [[call("drive", who="helper")], "ok"],
        boss={"tools": [drive]},
        helper={"tools": [drive]},
    )
    assert statuses(boss.run("go")) == ["ok", "ok"]
    assert [word[0] for word in order] == ["+", "-", "+", "-"], order


def test_a_question_of_the_helper_reaches_the_person():
    @tool(question=True)
    def ask(question: str) -> str:
        """Asks."""
        raise NotImplementedError

    boss, _ = team(
        [[call("helper", task="x")], "done"], [[call("ask", question="how many?")], "two then"], helper={"tools": [ask]}
    )
    answered = []

    def on_question(questions, answer):
        answered.extend(questions)
        answer.put("two")

    ends(boss.start("go", callbacks=Callbacks(on_question=on_question)), "completed")
    assert answered == ["how many?"]


def test_a_helper_may_hand_over_in_its_own_run():
    expert = Agent("expert", llm=ScriptedLLM("expertly"))
    boss, helper = team(
        [[call("helper", task="x")], "done"], [[call("handoff_to_expert")]], helper={"handoffs": [expert]}
    )
    assert boss.run("go").tool_calls[0].result.text == "expertly"
    assert not any(agent.is_running for agent in (boss, helper, expert))
    assert "handoff_to_expert" in helper.tools


@pytest.mark.parametrize("reason", ["budget", "stopped"])
def test_a_helper_that_ended_early_still_gives_its_reply(reason):
    @tool
    def step() -> str:
        """Steps."""
        return "stepped"

    options = Options(max_turns=1) if reason == "budget" else Options(should_stop_after_turn=lambda state: True)
    boss, _ = team(
        [[call("helper", task="x")], "done"],
        [{"text": "so far", "calls": [call("step")]}],
        helper={"tools": [step], "options": options},
    )
    assert boss.run("go").tool_calls[0].result.text == "so far"


def test_a_helper_that_waits_for_its_caller_is_refused():
    gate, handles = threading.Event(), []

    @tool
    def wait_for_the_boss() -> str:
        """Waits."""
        opened(gate)
        with pytest.raises(BusyError):
            handles[0].result(LIMIT_S)
        return "refused"

    helper = {"tools": [wait_for_the_boss]}
    boss, _ = team([[call("helper", task="wait")], "done"], [[call("wait_for_the_boss")], "I did not"], helper=helper)
    handles.append(boss.start("go"))
    gate.set()
    result = ends(handles[0], "completed")
    assert result.tool_calls[0].result.text == "I did not"
    assert list(handles[0].events())[-1].kind == "agent_end"


def gang(asks, asked, *names):
    """A boss that asks helpers side by side, each of which calls a tool about which a person is asked."""

    @tool(destructive=asks == "confirm", question=asks == "question")
    def burn(what: str) -> str:
        """Burns."""
        return "burnt"

    def answered(questions, answer):
        asked(*questions)
        answer.put("yes")

    def helper(name):
        return Agent(name, llm=ScriptedLLM([call("burn", what=name)], "ok"), tools=[burn])

    boss = Agent(
        "boss",
        llm=ScriptedLLM([call(name, task="go") for name in names], "done"),
        tools=[helper(name).as_tool() for name in names],
        options=Options(confirm=asked),
    )
    return boss.start("go", callbacks=Callbacks(on_question=answered))


@pytest.mark.parametrize("asks", ["confirm", "question"])
def test_one_person_is_asked_one_thing_at_a_time_whichever_agent_asks(asks):
    asking, most, second = [], [], threading.Event()

    def asked(*given):
        asking.append(given)
        most.append(len(asking))
        second.wait(0.2)  # long enough for another question to come beside it
        asking.pop()
        return True

    assert ends(gang(asks, asked, "h1", "h2"), "completed").reply == "done"
    assert most == [1, 1]


@pytest.mark.parametrize("asks", ["confirm", "question"])
def test_who_waits_to_ask_asks_nothing_once_the_run_is_stopped(asks):
    told, began = [], threading.Event()

    def asked(*given):
        told.append(given)
        began.set()
        return opened(gate)

    gate = threading.Event()
    handle = gang(asks, asked, "h1", "h2")
    opened(began)
    handle.abort()
    ends(handle, "aborted", "user")
    gate.set()
    assert len(told) == 1


def test_a_helpers_tool_that_finishes_is_waited_for_when_the_caller_is_aborted():
    """Nothing is done twice: what it did is known, and in the audit."""
    began, gate, records = threading.Event(), threading.Event(), []

    class Sink:
        def emit(self, record):
            records.append((record["type"], record["tool"], record["outcome"]))

        def flush(self): ...
        def close(self): ...

    @tool
    def pay() -> str:
        """Pays."""
        began.set()
        opened(gate)
        return "paid"

    boss, _ = team([[call("helper", task="pay")]], [[call("pay")]], helper={"tools": [pay]})
    with Session(boss, audit=Sink(), options=Options(abort_grace_s=0.05)) as session:
        handle = session.start("go")
        opened(began)
        handle.abort()
        assert not handle.wait(0.2)
        gate.set()
        assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]
    assert ("tool_result", "pay", "success") in records


def test_an_agent_that_a_tool_runs_in_its_own_context_leaves_the_callers_hooks_their_state():
    counts = []

    def count(ctx, payload):
        state = ctx.hook_state[id(hook)]
        state["n"] = state.get("n", 0) + 1
        counts.append((ctx.agent_name, ctx.tool_registry.names(), state["n"]))

    hook = At(P.BEFORE_LLM, does=count)
    helper = Agent("helper", llm=ScriptedLLM("one", "two"))

    @tool
    def ask(question: str, ctx: ToolContext) -> str:
        """Asks."""
        return helper.run(question, context=ctx.agent).reply

    llm = ScriptedLLM([call("ask", question="1")], [call("ask", question="2")], "done")
    assert statuses(Agent("boss", llm=llm, tools=[ask], hooks=[hook]).run("go")) == ["ok", "ok"]
    assert counts == [("boss", ["ask"], 1), ("boss", ["ask"], 2), ("boss", ["ask"], 3)]


def test_a_context_that_two_runs_had_at_once_keeps_no_stop_of_theirs():
    context, gate = AgentContext(), threading.Event()
    one = Agent("one", llm=ScriptedLLM("first"))
    two = Agent(
        "two", llm=ScriptedLLM("second"), hooks=[At(P.ON_RUN_END, does=lambda ctx, payload: opened(gate) and None)]
    )
    held = threading.Event()
    one.hooks.append(At(P.ON_RUN_START, does=lambda ctx, payload: opened(held) and None))
    first_run = one.start("go", context=context, options=Options(deadline_s=LIMIT_S * 10))
    second_run = two.start("go", context=context)
    first_run.abort("mine")
    held.set()
    first_run.wait(LIMIT_S)
    gate.set()
    second_run.wait(LIMIT_S)
    assert Agent("three", llm=ScriptedLLM("third")).run("go", context=context).reply == "third"
    assert context.deadline is None
