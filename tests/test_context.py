"""The context of a request: its stop, its deadline, and what a run gives back when it ends."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from edgeagent import Agent, AgentContext, BusyError, ConfigError, FirePoint, HookResult, Options, ToolContext, tool
from edgeagent.hooks import BaseHook, LoopDetectorHook
from edgeagent.stop import StopSignal
from edgeagent.testing import ScriptedLLM, call

LIMIT_S = 10.0


class Asks(BaseHook):
    """Keeps what a function of the context says before the model is asked."""

    points = frozenset({FirePoint.BEFORE_LLM})

    def __init__(self, question: Any) -> None:
        self._question = question
        self.answers: list[Any] = []

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Any) -> HookResult | None:
        self.answers.append(self._question(ctx))
        return None


# --- the stop -----------------------------------------------------------------------------------------------------


def test_a_wait_for_a_stop_ends_when_the_callers_event_is_set() -> None:
    callers = threading.Event()
    stop = StopSignal(callers)
    ended: list[bool] = []
    waiter = threading.Thread(target=lambda: ended.append(stop.wait(LIMIT_S)))
    waiter.start()
    callers.set()
    waiter.join(LIMIT_S / 2)
    assert ended == [True]


def test_a_wait_for_a_stop_that_does_not_come_ends_in_time_and_one_that_is_set_at_once() -> None:
    for stop in (StopSignal(), StopSignal(threading.Event())):
        assert stop.wait(0.05) is False
        assert stop.wait(0) is False
        stop.set()
        assert stop.wait() is True


def test_a_stop_follows_another_one() -> None:
    first, second, third = threading.Event(), StopSignal(), StopSignal()
    second.follow(first)
    third.follow(second)
    assert not third.is_set()
    first.set()
    assert third.wait(LIMIT_S)


@tool(read_only=True)
def watch(ctx: ToolContext) -> str:
    """Watches."""
    ctx.stop_event.wait(LIMIT_S)
    return "saw"


def test_a_stop_event_of_the_context_aborts_the_run() -> None:
    stop = threading.Event()
    agent = Agent("a", llm=ScriptedLLM([call("watch")], "never"), tools=[watch])
    handle = agent.start("go", context=AgentContext(stop_event=stop))
    assert next(event for event in handle.events() if event.kind == "tool_execution_start")
    stop.set()
    result = handle.result(LIMIT_S)
    assert (result.reason, result.abort_reason) == ("aborted", "user")


def test_a_context_may_be_used_again_after_an_abort() -> None:
    """Its event is the owner's again; that of the run that was aborted would abort every later one."""
    stop = threading.Event()
    context = AgentContext(stop_event=stop)
    agent = Agent("a", llm=ScriptedLLM("never", "words"))
    unsubscribe = agent.subscribe(lambda event: agent.abort() and None)
    assert agent.run("go", context=context).reason == "aborted"
    unsubscribe()
    assert context.stop_event is stop
    assert agent.run("go", context=context).reason == "completed"
    stop.set()
    assert agent.run("go", context=context).reason == "aborted"


# --- the deadline -------------------------------------------------------------------------------------------------


def test_a_deadline_of_the_context_counts_if_it_is_earlier() -> None:
    now = time.monotonic()
    for given, option, expected in [
        (now + 1000, None, now + 1000),
        (now + 1000, 5000.0, now + 1000),
        (now + 5000, 1000.0, None),
        (None, None, None),
    ]:
        seen = Asks(lambda ctx: ctx.deadline)
        agent = Agent("a", llm=ScriptedLLM("words"), hooks=[seen], options=Options(deadline_s=option))
        context = AgentContext(deadline=given)
        agent.run("go", context=context)
        if option == 1000.0:
            assert seen.answers[0] < now + 5000
        else:
            assert seen.answers == [expected]
        assert context.deadline == given, "a later run has its own"


@pytest.mark.parametrize("left_s", [0.05, -1.0])
def test_a_run_ends_at_the_deadline_of_its_context(left_s: float) -> None:
    agent = Agent("a", llm=ScriptedLLM([call("watch")], "never"), tools=[watch])
    result = agent.run("go", context=AgentContext(deadline=time.monotonic() + left_s))
    assert (result.reason, result.abort_reason) == ("aborted", "deadline")
    assert agent.llm.requests == [] or left_s > 0  # type: ignore[union-attr]


# --- who has it ---------------------------------------------------------------------------------------------------


def test_a_start_whose_hooks_clash_leaves_agent_and_context_as_they_were() -> None:
    agent = Agent("a", llm=ScriptedLLM("words"))
    context = AgentContext(hooks=[LoopDetectorHook()], no_more_tools=True)
    with pytest.raises(ConfigError):
        agent.start("go", context=context, options=Options(max_tool_errors=7))
    assert context.no_more_tools
    assert context.tool_registry is None
    assert not agent.is_running
    assert agent.run("go").reply == "words"


def test_without_a_thread_there_is_no_run_and_the_agent_stays_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("a", llm=ScriptedLLM("words"))
    stop = threading.Event()
    context = AgentContext(stop_event=stop)

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError):
            agent.start("go", context=context)
    assert context.stop_event is stop
    try:
        assert agent.run("go").reply == "words"
    except BusyError:
        pytest.fail("the agent is busy with a run that never began")


def test_a_run_measures_each_message_once_for_all_and_shares_that_with_no_sub_agent():
    asks = Asks(lambda ctx: (ctx.depth, ctx.sizes))
    helper = Agent("helper", llm=ScriptedLLM("done"))
    llm = ScriptedLLM([call("helper", task="x")], "done")
    context = AgentContext(hooks=[asks])
    Agent("boss", llm=llm, tools=[helper.as_tool()]).run("go", context=context)
    (_, first), (depth, helpers), (_, last) = asks.answers
    assert first is last is not None
    assert (depth, helpers is first) == (1, False)
