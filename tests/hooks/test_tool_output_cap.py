"""A long result is cut before the model sees it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from edgeagent import Agent, ToolCall, ToolContext, ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import (
    AfterTool,
    AuditLogHook,
    BaseHook,
    FirePoint,
    HookChain,
    HookResult,
    MemoryHook,
    PersistSessionHook,
    TokenBudgetHook,
    ToolOutputCapHook,
)
from edgeagent.testing import ScriptedLLM, call


def after(text: str, *hooks: BaseHook) -> ToolResult:
    payload = AfterTool(ToolCall("c", "read", {}), ToolResult("c", "read", "ok", text, {"rows": 3}))
    result: ToolResult = HookChain(hooks, AgentContext()).fire(FirePoint.AFTER_TOOL, payload).payload.result
    return result


def test_the_middle_of_a_long_result_goes_and_the_result_says_so() -> None:
    result = after("a" * 600 + "b" * 600, ToolOutputCapHook(200))
    assert len(result.text) == 200
    assert result.text.startswith("aaa")
    assert result.text.endswith("bbb")
    assert "1044 of 1200 characters left out" in result.text
    assert result.value == {"rows": 3}


def test_a_result_within_the_limit_stays() -> None:
    hook = ToolOutputCapHook(5)
    assert after("12345", hook).text == "12345"
    payload = AfterTool(ToolCall("c", "read", {}), ToolResult("c", "read", "ok", "12345"))
    assert hook(FirePoint.AFTER_TOOL, AgentContext(), payload) is None


def test_the_limit_is_8192_characters_unless_given() -> None:
    assert after("a" * 8192, ToolOutputCapHook()).text == "a" * 8192
    assert len(after("a" * 8193, ToolOutputCapHook()).text) == 8192


@pytest.mark.parametrize("length", [*range(101, 120), 999, 1000, 1001, 20_000])
@pytest.mark.parametrize("limit", [1, 10, 44, 50, 100])
def test_a_cut_text_is_as_long_as_the_limit_and_tells_how_much_is_gone(limit: int, length: int) -> None:
    text = after("x" * length, ToolOutputCapHook(limit)).text
    assert len(text) == limit
    left_out = length - text.count("x")
    assert f"[... {left_out} of {length} characters left out ...]" in text or (limit < 50 and text.endswith("…"))


def test_what_another_hook_adds_is_capped_too() -> None:
    class Adds(BaseHook):
        points = frozenset({FirePoint.AFTER_TOOL})

        def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult:
            return HookResult.replace(AfterTool(payload.call, ToolResult("c", "read", "ok", "x" * 500)))

    assert len(after("short", ToolOutputCapHook(100), Adds()).text) == 100


def test_it_may_run_on_several_threads() -> None:
    assert ToolOutputCapHook.concurrent


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit: int) -> None:
    with pytest.raises(ConfigError, match="limit"):
        ToolOutputCapHook(limit)


def test_what_is_interrupted_is_cut_by_the_hook_that_is_given() -> None:
    began = threading.Event()

    @tool(on_interrupt="cancel")
    def read(ctx: ToolContext) -> ToolResult:
        """Reads until it is stopped."""
        began.set()
        ctx.stop_event.wait(10)
        return ToolResult.error("x" * 5000)

    handle = Agent("a", llm=ScriptedLLM([call("read")]), tools=[read], hooks=[ToolOutputCapHook(100)]).start("go")
    assert began.wait(10)
    handle.abort()
    [made] = handle.result(10).tool_calls
    assert made.result is not None
    assert (made.result.status, len(made.result.text)) == ("interrupted", 100)


@pytest.mark.parametrize("limit", [0, 100.5, "x", None, True])
def test_a_limit_that_is_no_whole_number_is_refused(limit: Any) -> None:
    for hook in (ToolOutputCapHook, TokenBudgetHook):
        with pytest.raises(ConfigError, match=r"it should be a whole number from 1 on"):
            hook(limit)


def test_a_hook_with_a_file_is_refused_without_its_path() -> None:
    for hook in (MemoryHook, PersistSessionHook, AuditLogHook):
        with pytest.raises(ConfigError, match=rf"{hook.__name__}\(path=None\): it should be the path of a file"):
            hook(None)  # type: ignore[arg-type]  # the mistake that is refused
