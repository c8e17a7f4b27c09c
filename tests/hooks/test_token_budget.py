"""A run ends when its model calls have taken as many tokens as it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edgeagent import Message, ToolCall, Usage, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import SPENT, BeforeLLM, BeforeTool, FirePoint, HookChain, RunStart, TokenBudgetHook


@tool
def look() -> str:
    """Look."""
    return "nothing"


def reply(tokens_in: int, tokens_out: int) -> Message:
    return replace(Message.assistant("ok"), usage=Usage(tokens_in, tokens_out))


class Running:
    """A run with a history of its own."""

    def __init__(self, max_tokens: int, *history: Message) -> None:
        self.history = list(history)
        self.context = AgentContext(history=lambda: tuple(self.history))
        self.chain = HookChain([TokenBudgetHook(max_tokens)], self.context)
        self.start()

    def start(self) -> None:
        self.chain.fire(FirePoint.ON_RUN_START, RunStart(Message.user("go"), self.context))

    def ask(self) -> str | None:
        """Why the next model call is not made."""
        return self.chain.fire(FirePoint.BEFORE_LLM, BeforeLLM([], [], 1)).reply


def test_the_run_ends_with_a_sentence_when_the_sum_is_reached() -> None:
    run = Running(100)
    assert run.ask() is None
    run.history.append(reply(40, 9))
    assert run.ask() is None
    run.history.append(reply(50, 1))
    assert run.ask() == SPENT


def test_earlier_runs_of_the_session_are_not_counted() -> None:
    run = Running(100, reply(4000, 100))
    run.history.append(reply(99, 0))
    assert run.ask() is None
    run.history.append(reply(1, 0))
    assert run.ask() == SPENT


def test_asking_twice_counts_once() -> None:
    run = Running(100)
    run.history.append(reply(60, 0))
    assert [run.ask(), run.ask(), run.ask()] == [None] * 3


def test_the_next_run_begins_at_nothing_in_the_same_context() -> None:
    run = Running(100)
    run.history.append(reply(100, 0))
    assert run.ask() == SPENT
    run.start()
    assert run.ask() is None


def test_an_agent_that_was_handed_over_to_spends_from_the_same_budget() -> None:
    run = Running(100)
    run.history.append(reply(90, 0))
    call = BeforeTool(ToolCall("c", "handoff_to_cook", {}), look, 1)
    assert run.chain.fire(FirePoint.BEFORE_TOOL, call).reply is None
    run.history.clear()
    run.context.depth = 1
    run.start()
    assert run.ask() is None
    run.history.append(reply(10, 0))
    assert run.ask() == SPENT


def test_a_tool_of_the_last_reply_still_runs() -> None:
    run = Running(10)
    run.history.append(reply(100, 0))
    fired = run.chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(ToolCall("c", "look", {}), look, 1))
    assert (fired.reply, fired.result) == (None, None)


@pytest.mark.parametrize("limit", [0, -5])
def test_a_budget_below_one_is_refused(limit: int) -> None:
    with pytest.raises(ConfigError, match="max_tokens"):
        TokenBudgetHook(limit)
