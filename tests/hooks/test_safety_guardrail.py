"""A tool whose name is blocked, or not among those allowed, does not run."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import BeforeTool, FirePoint, HookChain, SafetyGuardrailHook
from edgeagent.testing import call


@tool
def drive() -> str:
    """Drive."""
    return "drove"


def verdict(name: str, **settings: Any) -> ToolResult | None:
    chain = HookChain([SafetyGuardrailHook(**settings)], AgentContext())
    return chain.fire(FirePoint.BEFORE_TOOL, BeforeTool(call(name), drive, 1)).result


def is_blocked(name: str, **settings: Any) -> bool:
    result = verdict(name, **settings)
    return result is not None and result.status == "blocked"


def test_without_settings_everything_runs() -> None:
    assert not is_blocked("drive")


def test_blocked_names_may_be_patterns() -> None:
    blocked = ["delete_*", "arm_?"]
    assert is_blocked("delete_map", blocked=blocked)
    assert is_blocked("arm_1", blocked=blocked)
    assert not is_blocked("undelete_map", blocked=blocked)
    assert not is_blocked("DELETE_map", blocked=blocked)


def test_if_some_are_allowed_all_others_are_not() -> None:
    assert not is_blocked("get_battery", allowed=["get_*"])
    assert is_blocked("drive", allowed=["get_*"])
    assert is_blocked("drive", allowed=[])


def test_blocked_counts_more_than_allowed() -> None:
    assert is_blocked("drive", blocked=["drive"], allowed=["*"])


def test_the_model_is_told_which_tool() -> None:
    for settings in ({"blocked": ["drive"]}, {"allowed": []}):
        result = verdict("drive", **settings)
        assert result is not None
        assert "drive" in result.text


def test_it_judges_what_other_hooks_left_and_fails_closed() -> None:
    assert SafetyGuardrailHook.priority == -2000
    assert SafetyGuardrailHook.fail_closed


@pytest.mark.parametrize("argument", ["blocked", "allowed"])
@pytest.mark.parametrize("value", ["drive", 3, [3], [""], [None]])
def test_a_wrong_list_is_named(argument: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=argument):
        SafetyGuardrailHook(**{argument: value})
