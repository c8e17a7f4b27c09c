"""Other strategies than the loop: what one may do with a run, and that the run is closed however it ends."""

from __future__ import annotations

import threading

import pytest

from edgeagent import (
    Agent,
    EdgeAgentError,
    FirePoint,
    HookResult,
    Message,
    Options,
    PolicyViolationError,
    Session,
    ToolContext,
    ToolResult,
    events,
    tool,
)
from edgeagent.agent import PlanThenExecute
from edgeagent.testing import ScriptedLLM, call

from .kit import LIMIT_S, At, calls_are_answered, ends, first, opened, statuses, texts

P = FirePoint


@tool(read_only=True)
def look(n: int = 0) -> str:
    """Looks."""
    return f"saw {n}"


class Does:
    """A strategy that is a function of the run and the task."""

    def __init__(self, function):
        self.function = function

    def run(self, run, message):
        self.function(run, message)


def start(function, *replies, **options):
    llm = ScriptedLLM(*replies)
    agent = Agent("a", "be brief", llm=llm, tools=[look], options=Options(orchestrator=Does(function), **options))
    return agent.start("go"), agent


def once(run, message):
    run.append(message)
    run.complete()


def test_a_strategy_of_one_model_call(shorthand):
    handle, agent = start(once, "hello")
    assert ends(handle, "completed").reply == "hello"
    assert shorthand(handle.events()) == "AS TS MS(u) ME(u) MS(a) MU+ ME(a) TE AE(completed)"
    assert texts(agent.llm.requests[0].messages) == ["go"]


def test_calls_pass_all_gates_and_their_results_are_committed():
    seen = []

    def strategy(run, message):
        run.append(message)
        reply = run.complete()
        seen.extend(result.status for result in run.execute(reply.tool_calls))
        run.complete()

    handle, agent = start(strategy, [call("look", n=1), call("look", n="many"), call("nope")], "done")
    result = ends(handle, "completed")
    assert seen == statuses(result) == ["ok", "invalid", "unknown"]
    assert calls_are_answered(result.messages)
    assert texts(agent.llm.requests[1].messages, "tool")[0] == "saw 1"
    assert result.reply == "done"


def test_what_a_strategy_may_see():
    seen = {}

    def strategy(run, message):
        seen.update(task=message.text, llm=run.llm, options=run.options, deps=run.context.deps, state=run.state)
        run.append(message)
        seen["stop"] = run.should_stop()
        once(run, Message.user("more"))

    handle, agent = start(strategy, "x", max_turns=7)
    ends(handle, "completed")
    assert (seen["task"], seen["llm"], seen["options"].max_turns, seen["stop"]) == ("go", agent.llm, 7, False)
    assert seen["state"].messages == ()


def test_messages_and_tools_of_one_call_may_be_chosen():
    def strategy(run, message):
        run.append(message)
        run.complete(messages=[Message.user("instead")])
        run.complete(tools=())

    handle, agent = start(strategy, "a", "b")
    ends(handle, "completed")
    assert texts(agent.llm.requests[0].messages) == ["instead"]
    assert (agent.llm.requests[1].tool_choice, [t.name for t in agent.llm.requests[1].tools]) == ("none", ["look"])


def test_queues_are_drained_by_the_strategy():
    def strategy(run, message):
        for taken in (message, *run.drain_steering(), *run.drain_follow_up()):
            run.append(taken)
        run.complete()

    llm = ScriptedLLM("x")
    agent = Agent("a", llm=llm, options=Options(orchestrator=Does(strategy)))
    agent.steer("left")
    agent.follow_up("later")
    agent.run("go")
    assert texts(llm.requests[0].messages) == ["go", "left", "later"]


def test_an_event_of_its_own_is_stamped_by_the_run():
    def strategy(run, message):
        run.emit(events.Notice(level="info", text="planning"))
        run.emit(events.Notice(seq=99, t=0, run_id="x", agent="x", turn=9, level="info", text="still planning"))
        once(run, message)

    handle, _ = start(strategy, "x")
    log = list(handle.events())
    told = [(e.text, e.run_id, e.agent, e.turn) for e in log if e.kind == "notice"]
    assert told == [("planning", handle.id, "a", 0), ("still planning", handle.id, "a", 0)]
    assert [e.seq for e in log] == list(range(len(log)))


# --- ends ---------------------------------------------------------------------------------------------------------


def test_one_that_raises_fails_the_run_and_closes_the_log(shorthand):
    def strategy(run, message):
        run.append(message)
        raise KeyError("no plan")

    handle, _ = start(strategy)
    with pytest.raises(KeyError, match="no plan"):
        handle.result(LIMIT_S)
    assert shorthand(handle.events()).endswith("AX TE AE(error)")
    assert handle.state == "failed"


def test_one_that_fails_with_a_text_gives_a_result():
    handle, _ = start(lambda run, message: run.fail("no plan"))
    assert ends(handle, "error").error == "no plan"


def test_one_that_fails_with_an_exception_raises_it():
    handle, _ = start(lambda run, message: run.fail(ValueError("no plan")))
    with pytest.raises(ValueError, match="no plan"):
        handle.result(LIMIT_S)


def test_one_that_does_nothing_ends_completed(shorthand):
    handle, _ = start(lambda run, message: None)
    ends(handle, "completed")
    assert shorthand(handle.events()) == "AS AE(completed)"


def test_one_that_ends_early_may_do_nothing_more():
    raised = []

    def strategy(run, message):
        once(run, message)
        run.end()
        try:
            run.complete()
        except EdgeAgentError as error:
            raised.append(error)
            raise

    handle, agent = start(strategy, "x", "never")
    assert ends(handle, "completed").reply == "x"
    assert (len(raised), agent.llm.remaining) == (1, 1)


def test_one_that_swallows_the_end_of_its_run_cannot_go_on():
    def strategy(run, message):
        run.append(message)
        for _ in range(50):
            try:
                run.complete()
            except EdgeAgentError:
                continue

    handle, agent = start(strategy, *["x"] * 50, max_turns=3)
    ends(handle, "budget")
    assert len(agent.llm.requests) == 3


def test_calls_that_it_forgets_get_a_result():
    handle, _ = start(once, [call("look")])
    result = ends(handle, "completed")
    assert statuses(result) == ["not_run"]
    assert calls_are_answered(result.messages)


@pytest.mark.parametrize("chosen", [[1], [1, 0]])
def test_calls_may_be_chosen_and_their_results_keep_the_order_asked(chosen):
    def strategy(run, message):
        run.append(message)
        reply = run.complete()
        run.execute([reply.tool_calls[i] for i in chosen])

    handle, _ = start(strategy, [call("look", n=0), call("look", n=1)])
    result = ends(handle, "completed")
    assert calls_are_answered(result.messages)


def test_a_call_that_is_made_twice_has_two_ids():
    def strategy(run, message):
        run.append(message)
        again = call("look", n=1)
        run.execute([again])
        run.execute([again])

    handle, _ = start(strategy)
    result = ends(handle, "completed")
    asked = [made.id for message in result.messages for made in message.tool_calls]
    assert len(asked) == len(set(asked)) == 2


def test_a_turn_has_one_model_call_and_begins_with_what_is_new_to_it(shorthand):
    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.append(Message.user("and then?"))
        run.append(Message.user("well?"))
        run.complete()
        run.complete()

    handle, _ = start(strategy, [call("look")], "one", "two")
    ends(handle, "completed")
    assert shorthand(handle.events()) == (
        "AS TS MS(u) ME(u) MS(a) ME(a) XS XE MS(t) ME(t) TE "
        "TS MS(u) ME(u) MS(u) ME(u) MS(a) MU+ ME(a) TE TS MS(a) MU+ ME(a) TE AE(completed)"
    )


def test_calls_of_a_reply_that_was_cut_are_not_run():
    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.execute([call("look")])

    handle, _ = start(strategy, {"calls": [call("look", n=1)], "stop": "length"})
    result = ends(handle, "completed")
    assert statuses(result) == ["not_run", "ok"]
    assert "cut off" in result.tool_calls[0].result.text


def test_a_message_between_a_call_and_its_result_leaves_the_call_not_run():
    def strategy(run, message):
        run.append(message)
        reply = run.complete()
        run.append(Message.user("wait"))
        assert [made.status for made in run.execute(reply.tool_calls)] == ["ok"]

    handle, _ = start(strategy, [call("look")])
    result = ends(handle, "completed")
    assert calls_are_answered(result.messages)
    assert statuses(result) == ["not_run", "ok"]


def test_results_come_back_as_given_and_calls_are_told_as_asked():
    got = []

    def strategy(run, message):
        run.append(message)
        reply = run.complete()
        got.extend(run.execute([reply.tool_calls[2], reply.tool_calls[0]]))

    handle, _ = start(strategy, [call("look", n=0), call("look", n=1), call("look", n=2)])
    result = ends(handle, "completed")
    assert [made.text for made in got] == ["saw 2", "saw 0"]
    assert statuses(result) == ["ok", "not_run", "ok"]
    assert texts(result.messages, "tool") == ["saw 0", "it was not chosen", "saw 2"]


def test_one_call_given_twice_is_two_calls():
    def strategy(run, message):
        run.append(message)
        (made,) = run.complete().tool_calls
        assert len({result.call_id for result in run.execute([made, made])}) == 2

    handle, _ = start(strategy, [call("look")])
    result = ends(handle, "completed")
    assert calls_are_answered(result.messages)
    assert statuses(result) == ["not_run", "ok", "ok"]


def test_a_call_of_its_own_does_not_change_in_history_when_it_changes():
    def strategy(run, message):
        run.append(message)
        own = call("look", n=1)
        run.execute([own])
        own.arguments["n"] = 9

    handle, _ = start(strategy)
    assert ends(handle, "completed").messages[1].tool_calls[0].arguments == {"n": 1}


def test_calls_of_an_appended_message_have_results():
    got = []

    def strategy(run, message):
        run.append(message)
        calls = [call("look", n=1), call("look", n=2)]
        run.append(Message.assistant("let me see", calls))
        got.extend(run.execute(calls[:1]))
        run.append(Message.assistant("once more", [call("look", n=3)]))
        run.complete()

    handle, _ = start(strategy, "done")
    result = ends(handle, "completed")
    assert calls_are_answered(result.messages)
    assert [made.text for made in got] == ["saw 1"]
    assert statuses(result) == ["ok", "not_run", "not_run"]


@pytest.mark.parametrize(
    "message",
    ["words", None, Message.tool(ToolResult("call_1", "look", "ok", "saw")), Message.assistant("", [call("look")] * 2)],
)
def test_what_is_no_message_or_leaves_a_call_without_one_result_is_not_appended(message):
    def strategy(run, task):
        run.append(task)
        with pytest.raises(EdgeAgentError):
            run.append(message)
        run.complete()

    handle, _ = start(strategy, "done")
    assert texts(ends(handle, "completed").messages) == ["go", "done"]


def test_a_call_is_not_appended_twice():
    def strategy(run, message):
        run.append(message)
        reply = run.complete()
        with pytest.raises(EdgeAgentError, match="id of its own"):
            run.append(reply)

    handle, _ = start(strategy, [call("look")])
    assert calls_are_answered(ends(handle, "completed").messages)


@pytest.mark.parametrize("raised", [KeyError("no plan"), SystemExit(3)])
def test_one_that_raises_leaves_no_call_without_a_result(raised):
    def strategy(run, message):
        once(run, message)
        raise raised

    handle, agent = start(strategy, [call("look")])
    with pytest.raises(type(raised)):
        handle.result(LIMIT_S)
    assert calls_are_answered(agent.state.messages)
    assert not agent.is_running


def test_an_abort_while_it_asks_for_more_budget_is_an_abort():
    def confirm(turns):
        agents[0].abort()
        return False

    gate, agents = threading.Event(), []

    def strategy(run, message):
        opened(gate)
        once(run, message)
        run.complete()

    handle, agent = start(strategy, "one", "never", max_turns=1, continue_confirm=confirm)
    agents.append(agent)
    gate.set()
    ends(handle, "aborted", "user")


def test_an_abort_ends_it_at_its_next_step():
    gate, inside = threading.Event(), threading.Event()
    stopped = []

    def strategy(run, message):
        run.append(message)
        inside.set()
        opened(gate)
        stopped.append(run.should_stop())
        run.complete()

    handle, agent = start(strategy, "never")
    opened(inside)
    agent.abort()
    gate.set()
    ends(handle, "aborted", "user")
    assert (stopped, agent.llm.remaining) == ([True], 1)


def test_an_abort_reaches_its_stream_and_its_tools():
    @tool(read_only=True)
    def watch(ctx: ToolContext) -> str:
        """Watches."""
        ctx.stop_event.wait(LIMIT_S)
        return "saw"

    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.complete()

    llm = ScriptedLLM([call("watch")], "never")
    handle = Agent("a", llm=llm, tools=[watch], options=Options(orchestrator=Does(strategy))).start("go")
    first(handle, "tool_execution_start")
    handle.abort()
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]
    assert llm.remaining == 1


def test_a_denial_fails_it():
    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.complete()

    handle, agent = start(strategy, [call("look")], "never", policy_check=lambda name, arguments: "no")
    with pytest.raises(PolicyViolationError):
        handle.result(LIMIT_S)
    assert agent.llm.remaining == 1


def test_the_budget_is_the_runs():
    def strategy(run, message):
        run.append(message)
        while True:
            run.complete()

    handle, agent = start(strategy, *["x"] * 9, max_turns=3)
    ends(handle, "budget")
    assert len(agent.llm.requests) == 3


@pytest.mark.parametrize("point", [P.BEFORE_LLM, P.AFTER_LLM, P.BEFORE_TOOL, P.AFTER_TOOL])
def test_a_hook_may_end_it(point):
    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.complete()

    llm = ScriptedLLM([call("look")], "never")
    hook = At(point, does=lambda ctx, p: HookResult.end_turn("enough"))
    agent = Agent("a", llm=llm, tools=[look], hooks=[hook], options=Options(orchestrator=Does(strategy)))
    result = ends(agent.start("go"), "stopped")
    assert result.reply == result.messages[-1].text == "enough"
    assert calls_are_answered(result.messages)


def test_a_run_control_is_for_the_runs_thread_only():
    caught = []

    def strategy(run, message):
        def other():
            try:
                run.append(message)
            except EdgeAgentError as error:
                caught.append(error)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join(LIMIT_S)
        once(run, message)

    handle, _ = start(strategy, "x")
    ends(handle, "completed")
    assert len(caught) == 1


def test_a_handoff_in_it_moves_the_run():
    cook = Agent("cook", llm=ScriptedLLM("soup"))

    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        run.complete()

    llm = ScriptedLLM([call("handoff_to_cook")], "never")
    agent = Agent("a", llm=llm, handoffs=[cook], options=Options(orchestrator=Does(strategy)))
    cook.options = Options(max_turns=5)
    result = ends(agent.start("go"), "completed")
    assert (result.reply, result.handed_off_to, llm.remaining) == ("soup", "cook", 1)


# --- the guards of the loop ---------------------------------------------------------------------------------------


def react(run, message):
    """The loop's own strategy, as a builder would write it."""
    run.append(message)
    while (reply := run.complete()).tool_calls:
        run.execute(reply.tool_calls)


def test_the_repetition_guard_makes_the_next_model_call_the_last():
    handle, agent = start(react, *[[call("look")]] * 4, "enough", "never")
    result = ends(handle, "stopped")
    assert (result.reply, statuses(result)) == ("enough", ["ok", "ok", "ok", "blocked"])
    assert [request.tool_choice for request in agent.llm.requests] == ["auto"] * 4 + ["none"]


def test_a_call_in_the_last_reply_is_not_run():
    handle, agent = start(react, *[[call("look")]] * 5, "never")
    assert statuses(ends(handle, "stopped"))[3:] == ["blocked", "not_run"]
    assert agent.llm.remaining == 1


@pytest.mark.parametrize(
    ("on_budget", "reply", "left"), [("last_content", "I could not finish that.", 1), ("final_answer", "enough", 0)]
)
def test_hops_are_counted(on_budget, reply, left):
    replies = [[call("look", n=n)] for n in range(3)]
    handle, agent = start(react, *replies, "enough", max_tool_hops=2, on_budget=on_budget)
    result = ends(handle, "budget")
    assert (result.reply, statuses(result)) == (reply, ["ok", "ok", "not_run"])
    assert agent.llm.remaining == left


def test_a_run_without_budget_gives_its_final_answer(shorthand):
    handle, _ = start(react, [call("look")], "enough", max_turns=1, on_budget="final_answer")
    assert ends(handle, "budget").reply == "enough"
    assert shorthand(handle.events()).endswith("XS XE MS(t) ME(t) TE N TS MS(a) MU+ ME(a) TE AE(budget)")


def test_a_terminating_tool_ends_it_with_its_result():
    @tool(terminate=True)
    def finish() -> str:
        """Finishes."""
        return "finished"

    llm = ScriptedLLM([call("finish")], "never")
    result = ends(
        Agent("a", llm=llm, tools=[finish], options=Options(orchestrator=Does(react))).start("go"), "terminated"
    )
    assert (result.reply, result.messages[-1].role, llm.remaining) == ("finished", "assistant", 1)


def test_should_stop_after_turn_is_asked_after_each_turn():
    asked = []

    def should_stop(state):
        asked.append(state.messages[-1].role)
        return len(asked) == 2

    replies = [call("look", n=1)], [call("look", n=2)], "never"
    handle, agent = start(react, *replies, should_stop_after_turn=should_stop)
    ends(handle, "stopped")
    assert (asked, agent.llm.remaining) == (["tool", "tool"], 1)


def test_a_text_that_was_cut_goes_on_and_is_returned_whole():
    whole = []

    def strategy(run, message):
        run.append(message)
        whole.append(run.complete().text)

    handle, agent = start(strategy, {"text": "one two ", "stop": "length"}, "three")
    assert ends(handle, "completed").reply == whole[0] == "one two three"
    assert texts(agent.llm.requests[1].messages) == ["go", "one two ", "Continue exactly where you stopped."]


def test_a_cut_text_of_chosen_messages_goes_on_with_them():
    def strategy(run, message):
        run.complete(messages=[Message.user("instead")])

    handle, agent = start(strategy, {"text": "one ", "stop": "length"}, "two")
    assert ends(handle, "completed").reply == "one two"
    assert texts(agent.llm.requests[1].messages) == ["instead", "one ", "Continue exactly where you stopped."]


def test_what_is_said_after_a_continued_reply_is_the_reply():
    def strategy(run, message):
        once(run, message)
        run.append(Message.assistant("in short: three"))

    handle, _ = start(strategy, {"text": "one two ", "stop": "length"}, "three")
    assert ends(handle, "completed").reply == "in short: three"


def test_steering_at_the_last_turn_is_granted_one_more():
    def strategy(run, message):
        once(run, message)
        agent.steer("left")
        for steered in run.drain_steering():
            run.append(steered)
        run.complete()

    options = Options(orchestrator=Does(strategy), max_turns=1)
    agent = Agent("a", llm=ScriptedLLM("one", "two"), options=options)
    assert ends(agent.start("go"), "completed").reply == "two"


def test_steering_that_skipped_the_rest_of_a_batch_can_be_drained():
    def strategy(run, message):
        run.append(message)
        run.execute(run.complete().tool_calls)
        for steered in run.drain_steering():
            run.append(steered)
        run.complete()

    @tool
    def ring() -> str:
        """Rings."""
        agent.steer("left")
        return "rang"

    llm = ScriptedLLM([call("ring"), call("ring")], "ok")
    options = Options(orchestrator=Does(strategy), steering_check="after_each_tool")
    agent = Agent("a", llm=llm, tools=[ring], options=options)
    assert statuses(ends(agent.start("go"), "completed")) == ["ok", "skipped"]
    assert texts(llm.requests[1].messages)[-1] == "left"


def test_steering_that_was_drained_before_an_abort_after_the_turn_waits_for_the_next_run():
    def strategy(run, message):
        once(run, message)
        agent.steer("left")
        drained = run.drain_steering()
        agent.abort(mode="after_turn")
        for steered in drained:
            run.append(steered)

    agent = Agent("a", llm=ScriptedLLM("one"), options=Options(orchestrator=Does(strategy)))
    agent.run("go")
    assert agent.has_pending


# --- plan, then execute -------------------------------------------------------------------------------------------


def test_plan_then_execute_plans_does_each_step_and_sums_up():
    llm = ScriptedLLM(
        "1. look left\n2) look right", [call("look", n=1)], "left", [call("look", n=2)], "right", "both seen"
    )
    agent = Agent("a", llm=llm, tools=[look], options=Options(orchestrator=PlanThenExecute()))
    result = ends(agent.start("look around"), "completed")
    assert (result.reply, statuses(result)) == ("both seen", ["ok", "ok"])
    assert [r.tool_choice for r in llm.requests] == ["none", "auto", "auto", "auto", "auto", "none"]
    assert calls_are_answered(result.messages)


def test_a_plan_without_steps_is_the_answer():
    llm = ScriptedLLM("It is noon.")
    assert Agent("a", llm=llm, options=Options(orchestrator=PlanThenExecute())).run("time?").reply == "It is noon."
    assert llm.remaining == 0


def test_plan_then_execute_takes_up_steering_between_two_steps():
    def steer(request):
        agent.steer("slowly")
        return "one done"

    llm = ScriptedLLM("1. one\n2. two", steer, "two done", "all done")
    agent = Agent("a", llm=llm, options=Options(orchestrator=PlanThenExecute()))
    agent.run("go")
    assert "slowly" in texts(llm.requests[2].messages)


def test_plan_then_execute_runs_no_call_of_a_step_that_was_cut():
    llm = ScriptedLLM("1. look", {"calls": [call("look")], "stop": "length"}, "seen", "all seen")
    agent = Agent("a", llm=llm, tools=[look], options=Options(orchestrator=PlanThenExecute()))
    assert statuses(ends(agent.start("go"), "completed")) == ["not_run"]


@pytest.mark.parametrize("queued", ["follow_up", "steer"])
def test_a_plan_is_made_for_what_wakes_an_idle_agent(queued):
    llm = ScriptedLLM("Hello.", "It rang.")
    session = Session(Agent("a", llm=llm, options=Options(orchestrator=PlanThenExecute())))
    session.step("hi")
    handle = getattr(session, queued)("the timer is over", wake=True)
    assert handle.result(LIMIT_S).reply == "It rang."
    assert "the timer is over" in texts(llm.requests[-1].messages, "user")
    assert not session.agent.has_pending


def test_what_is_queued_during_a_plan_gets_one_of_its_own():
    llm = ScriptedLLM("1. look", [call("look")], "Seen.", "All done.", "Later it is.")
    agent = Agent("a", llm=llm, tools=[look], options=Options(orchestrator=PlanThenExecute()))
    agent.follow_up("and later?")
    assert agent.run("go").reply == "Later it is."
    assert not agent.has_pending


def test_what_was_drained_returns_to_its_queue_when_a_stopped_strategy_raises():
    def drains(run, message):
        run.append(message)
        assert texts(run.drain_steering()) == ["keep me"]
        agent.abort()
        raise ValueError("broken")

    agent = Agent("a", llm=ScriptedLLM(), options=Options(orchestrator=Does(drains)))
    agent.steer("keep me")
    with pytest.raises(ValueError, match="broken"):
        agent.run("go")
    assert texts(agent.state.steering_queue) == ["keep me"]


def test_only_messages_are_given_to_a_model_call():
    def texts_only(run, message):
        run.append(message)
        run.complete(messages=["hello"])

    handle, _ = start(texts_only, "hi")
    with pytest.raises(EdgeAgentError, match=r"a history holds Messages, not str"):
        handle.result(LIMIT_S)
