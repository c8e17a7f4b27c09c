"""Refused arguments are answered with the tool's parameters, as often as is allowed."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from edgeagent import ToolResult, tool
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import AfterTool, FirePoint, HookChain, SchemaRetryHook
from edgeagent.testing import call
from edgeagent.tools import ToolRegistry


@tool
def drive(distance_m: float, title: str = "", pace: Literal["slow", "fast"] = "slow") -> str:
    """Drive.

    Args:
        distance_m: How far.
    """
    return "drove"


def chain_of(hook: SchemaRetryHook, *tools: Any) -> HookChain:
    return HookChain([hook], AgentContext(tool_registry=ToolRegistry(tools or [drive])))


def text_of(chain: HookChain, status: Any = "invalid", name: str = "drive") -> str:
    made = call(name)
    fired = chain.fire(FirePoint.AFTER_TOOL, AfterTool(made, ToolResult(made.id, name, status, "refused")))
    text: str = fired.payload.result.text
    assert fired.payload.result.status == status
    return text


def test_the_error_shows_the_parameters_and_asks_for_the_call_again() -> None:
    first, parameters, ask = text_of(chain_of(SchemaRetryHook())).split("\n")
    assert first == "refused"
    assert ask == "Call drive again with arguments of this form."
    schema = json.loads(parameters.removeprefix("Parameters of drive: "))
    assert set(schema["properties"]) == {"distance_m", "title", "pace"}
    assert schema["properties"]["pace"]["enum"] == ["slow", "fast"]
    assert schema["required"] == ["distance_m"]
    assert "How far" not in parameters


def test_once_a_tool_and_run_unless_told_otherwise() -> None:
    chain = chain_of(SchemaRetryHook())
    assert text_of(chain) != "refused"
    assert text_of(chain) == "refused"
    twice = chain_of(SchemaRetryHook(max_retries=2))
    assert [text_of(twice) == "refused" for _ in range(3)] == [False, False, True]
    assert text_of(chain_of(SchemaRetryHook(max_retries=0))) == "refused"


def test_each_tool_and_each_run_has_its_own_count() -> None:
    @tool
    def turn(degrees: float) -> str:
        """Turn."""
        return "turned"

    hook = SchemaRetryHook()
    chain = chain_of(hook, drive, turn)
    assert text_of(chain) != "refused"
    assert text_of(chain, name="turn") != "refused"
    assert text_of(chain_of(hook)) != "refused"


@pytest.mark.parametrize("status", ["ok", "error", "unknown", "blocked", "timed_out"])
def test_other_results_stay(status: str) -> None:
    assert text_of(chain_of(SchemaRetryHook()), status) == "refused"


def test_a_tool_that_has_gone_is_left_alone() -> None:
    assert text_of(chain_of(SchemaRetryHook()), name="fly") == "refused"


def test_a_very_long_schema_is_shown_as_names_and_types() -> None:
    @tool
    def pick(thing: Literal["a", "b"]) -> str:
        """Pick."""
        return "picked"

    pick.parameters = {
        "type": "object",
        "properties": {"thing": {"type": "string", "enum": [f"thing number {i}" for i in range(200)]}},
        "required": ["thing"],
    }
    text = text_of(chain_of(SchemaRetryHook(), pick), name="pick")
    assert '"properties":{"thing":"string"}' in text
    assert len(text) < 400


@pytest.mark.parametrize("value", [-1, 0.5, True, "1"])
def test_a_wrong_number_is_named(value: Any) -> None:
    with pytest.raises(ConfigError, match="max_retries"):
        SchemaRetryHook(max_retries=value)
