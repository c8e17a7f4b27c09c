"""Somebody is asked once, before a run changes anything; without a clear yes nothing is done."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import ToolCall, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import NOT_DONE, AfterLLM, FirePoint, HookChain, PlanModeHook
from edgeagent.testing import call
from edgeagent.tools import ToolRegistry


@tool
def drive() -> str:
    """Drive."""
    return "drove"


@tool(read_only=True)
def battery() -> str:
    """Battery."""
    return "full"


class Approver:
    """Answers as it is told and remembers what it was asked."""

    def __init__(self, answer: Any = True) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self._answer = answer

    def __call__(self, plan: str, calls: tuple[ToolCall, ...]) -> Any:
        self.asked.append((plan, [made.name for made in calls]))
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def chain_of(approver: Any) -> HookChain:
    return HookChain([PlanModeHook(approver)], AgentContext(tool_registry=ToolRegistry([drive, battery])))


def reply_after(chain: HookChain, *names: str) -> str | None:
    calls = tuple(call(name) for name in names)
    return chain.fire(FirePoint.AFTER_LLM, AfterLLM("I will drive.", calls, 1)).reply


def test_it_asks_once_a_run_with_the_text_and_all_calls() -> None:
    approver = Approver()
    chain = chain_of(approver)
    assert reply_after(chain, "battery", "drive") is None
    assert reply_after(chain, "drive") is None
    assert approver.asked == [("I will drive.", ["battery", "drive"])]


def test_what_only_looks_needs_no_yes() -> None:
    approver = Approver(False)
    chain = chain_of(approver)
    assert reply_after(chain) is None
    assert reply_after(chain, "battery") is None
    assert approver.asked == []


def test_a_tool_that_nobody_knows_needs_one() -> None:
    approver = Approver()
    reply_after(chain_of(approver), "fly")
    assert len(approver.asked) == 1


@pytest.mark.parametrize("answer", [False, None, 1, "yes", ValueError("no window")])
def test_anything_but_true_ends_the_run(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert reply_after(chain_of(Approver(answer)), "drive") == NOT_DONE
    assert bool(caplog.records) == (answer is not False)


def test_a_yes_counts_for_its_run_only() -> None:
    approver = Approver()
    hook = PlanModeHook(approver)
    for _ in range(2):
        chain = HookChain([hook], AgentContext(tool_registry=ToolRegistry([drive])))
        reply_after(chain, "drive")
    assert len(approver.asked) == 2


async def late(text: str, calls: Any) -> bool:
    raise AssertionError


@pytest.mark.parametrize("wrong", ["yes", late])
def test_what_can_not_be_called_at_once_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError, match="approve"):
        PlanModeHook(wrong)
