"""Question tools: put to a person, first and alone, and never waited for without end."""

from __future__ import annotations

import threading

import pytest

from edgeagent import Agent, Options, tool
from edgeagent.testing import ScriptedLLM, call
from edgeagent.views import Callbacks

from .kit import LIMIT_S, calls_are_answered, ends, opened, statuses


@tool(question=True)
def ask(question: str) -> str:
    """Asks."""
    raise AssertionError("the body of a question is not called")


@tool(question=True)
def ask_all(questions: list[str]) -> str:
    """Asks several things."""
    raise AssertionError("the body of a question is not called")


def answering(reply, seen=None):
    def on_question(questions, answer):
        if seen is not None:
            seen.append(questions)
        answer.put(reply)

    return Callbacks(on_question=on_question)


def agent_with(*replies, tools=(), **options):
    return Agent("a", llm=ScriptedLLM(*replies), tools=[ask, ask_all, *tools], options=Options(**options))


def test_the_answer_is_the_result():
    seen = []
    agent = agent_with([call("ask", question="Which room?")], "the kitchen, then")
    result = ends(agent.start("go", callbacks=answering("kitchen", seen)), "completed")
    assert (statuses(result), result.tool_calls[0].result.text) == (["ok"], "kitchen")
    assert seen == [["Which room?"]]
    assert agent.llm.requests[1].messages[-1].text == "kitchen"


def test_a_list_of_questions_is_put_as_one():
    seen = []
    agent = agent_with([call("ask_all", questions=["Which?", "When?"])], "ok")
    ends(agent.start("go", callbacks=answering({"a": 1}, seen)), "completed")
    assert seen == [["Which?", "When?"]]


def test_questions_of_a_batch_run_first_and_alone_and_results_keep_the_order_asked():
    order = []

    @tool
    def work(n: int) -> str:
        """Works."""
        order.append(f"work {n}")
        return str(n)

    def on_question(questions, answer):
        order.append(f"+{questions[0]}")
        threading.Event().wait(0.01)
        order.append(f"-{questions[0]}")
        answer.put(questions[0])

    calls = [call("work", n=1), call("ask", question="a"), call("work", n=2), call("ask", question="b")]
    agent = agent_with(calls, "ok", tools=[work])
    result = ends(agent.start("go", callbacks=Callbacks(on_question=on_question)), "completed")
    assert order[:4] == ["+a", "-a", "+b", "-b"]
    assert sorted(order[4:]) == ["work 1", "work 2"]
    assert [made.result.text for made in result.tool_calls] == ["1", "a", "2", "b"]
    assert calls_are_answered(result.messages)


def test_without_anybody_to_ask_it_is_an_error_result():
    for callbacks in (None, Callbacks()):
        agent = agent_with([call("ask", question="?")], "nobody there")
        result = ends(agent.start("go", callbacks=callbacks), "completed")
        assert (statuses(result), result.reply) == (["error"], "nobody there")


@pytest.mark.parametrize(
    "tool_timeout_s",
    [30, 0.05],
)
def test_without_an_answer_in_time_it_is_an_error_result(tool_timeout_s):
    agent = agent_with([call("ask", question="?")], "never mind", confirm_timeout_s=0.1, tool_timeout_s=tool_timeout_s)
    handle = agent.start("go", callbacks=Callbacks(on_question=lambda questions, answer: None))
    result = ends(handle, "completed")
    assert (statuses(result), result.reply) == (["error"], "never mind")


def test_a_question_may_have_a_limit_of_its_own():
    @tool(question=True, timeout_s=0.05)
    def hurry(question: str) -> str:
        """Asks."""
        raise NotImplementedError

    agent = agent_with([call("hurry", question="?")], "never mind", tools=[hurry])
    handle = agent.start("go", callbacks=Callbacks(on_question=lambda questions, answer: None))
    assert statuses(ends(handle, "completed")) == ["timed_out"]


def test_a_handler_that_raises_is_an_error_result():
    def broken(questions, answer):
        raise RuntimeError("no screen")

    result = ends(
        agent_with([call("ask", question="?")], "x").start("go", callbacks=Callbacks(on_question=broken)), "completed"
    )
    assert statuses(result) == ["error"]
    assert "no screen" in result.tool_calls[0].result.text


def test_an_abort_ends_the_wait_for_an_answer():
    asked, gate = threading.Event(), threading.Event()

    def never(questions, answer):
        asked.set()
        opened(gate)

    agent = agent_with([call("ask", question="?")], "never")
    handle = agent.start("go", callbacks=Callbacks(on_question=never))
    opened(asked)
    agent.abort()
    try:
        assert handle.wait(1)
        ends(handle, "aborted", "user")
    finally:
        gate.set()


def test_a_question_that_an_abort_ended_is_interrupted_whoever_sees_the_abort_first():
    def stop(event):
        if event.kind == "tool_execution_start":  # on the loop's thread, which now interrupts nobody
            agent.abort()
            for thread in threading.enumerate():
                if thread.name == "tool-ask":
                    thread.join(LIMIT_S)

    agent = agent_with([call("ask", question="?")], "never")
    agent.subscribe(stop)
    handle = agent.start("go", callbacks=Callbacks(on_question=lambda questions, answer: None))
    assert statuses(ends(handle, "aborted", "user")) == ["interrupted"]


def test_a_safety_stop_and_a_deadline_end_the_wait_too():
    for reason in ("safety_stop", "deadline"):
        asked = threading.Event()
        options = {"deadline_s": 0.1} if reason == "deadline" else {}
        agent = agent_with([call("ask", question="?")], "never", **options)
        handle = agent.start("go", callbacks=Callbacks(on_question=lambda questions, answer, asked=asked: asked.set()))
        opened(asked)
        if reason == "safety_stop":
            agent.abort(reason)
        assert handle.wait(2)
        ends(handle, "aborted", reason)


def test_an_answer_may_come_from_any_thread_and_the_first_counts():
    boxes = []
    asked = threading.Event()

    def on_question(questions, answer):
        boxes.append(answer)
        asked.set()

    agent = agent_with([call("ask", question="?")], "ok")
    handle = agent.start("go", callbacks=Callbacks(on_question=on_question))
    opened(asked)
    boxes[0].put("first")
    boxes[0].put("second")
    assert ends(handle, "completed").tool_calls[0].result.text == "first"


@pytest.mark.parametrize("kind", ["confirm", "continue_confirm"])
def test_confirm_and_continue_confirm_end_at_abort(kind):
    asked, gate = threading.Event(), threading.Event()

    def never(*arguments):
        asked.set()
        return opened(gate)

    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    agent = agent_with([call("wipe")], "never", tools=[wipe], max_turns=1, **{kind: never})
    handle = agent.start("go")
    opened(asked)
    agent.abort()
    try:
        assert handle.wait(1)
        ended = handle.result(LIMIT_S)
        assert ended.reason == ("aborted" if kind == "confirm" else ended.reason)
    finally:
        gate.set()


def test_an_abort_while_somebody_is_asked_leaves_the_call_not_run():
    asked, gate = threading.Event(), threading.Event()

    def never(name, arguments):
        asked.set()
        return opened(gate)

    @tool(destructive=True)
    def wipe() -> str:
        """Wipes."""
        return "wiped"

    agent = agent_with([call("wipe")], "never", tools=[wipe], confirm=never)
    handle = agent.start("go")
    opened(asked)
    agent.abort()
    try:
        assert statuses(ends(handle, "aborted", "user")) == ["not_run"], "nobody said no"
    finally:
        gate.set()


def test_a_run_that_is_aborted_while_it_asks_for_more_budget_is_aborted():
    asked, gate = threading.Event(), threading.Event()

    @tool
    def work() -> str:
        """Works."""
        return "worked"

    def never(turns):
        asked.set()
        return opened(gate)

    agent = agent_with([call("work")], "never", tools=[work], max_turns=1, continue_confirm=never)
    handle = agent.start("go")
    opened(asked)
    agent.abort()
    try:
        ends(handle, "aborted", "user")
    finally:
        gate.set()


def test_confirmations_are_asked_one_at_a_time():
    now, peak = [0], [0]

    @tool(destructive=True)
    def wipe(n: int) -> str:
        """Wipes."""
        return "wiped"

    def confirm(name, arguments):
        now[0] += 1
        peak[0] = max(peak[0], now[0])
        threading.Event().wait(0.01)
        now[0] -= 1
        return True

    agent = agent_with([call("wipe", n=i) for i in range(5)], "ok", tools=[wipe], confirm=confirm)
    assert statuses(agent.run("go")) == ["ok"] * 5
    assert peak == [1]
