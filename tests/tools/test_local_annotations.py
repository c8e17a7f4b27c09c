"""Tools whose annotations are text, because of a future import, and name what only the function around them knows."""

from __future__ import annotations

from enum import Enum

import pytest

from edgeagent import Agent, tool
from edgeagent.errors import ToolDefinitionError
from edgeagent.testing import ScriptedLLM, call


def test_a_type_that_is_declared_in_the_function_around_it_is_known() -> None:
    from edgeagent import ToolContext as Context

    class Colour(Enum):
        RED = "red"
        BLUE = "blue"

    @tool
    def paint(colour: Colour, call: Context) -> str:
        """Paints."""
        return colour.value

    assert list(paint.parameters["properties"]) == ["colour"]
    llm = ScriptedLLM([call("paint", colour="blue")], [call("paint", colour="green")], "done")
    result = Agent("a", llm=llm, tools=[paint]).run("go")
    assert [made.result and made.result.status for made in result.tool_calls] == ["ok", "invalid"]


def test_a_name_that_nobody_knows_is_an_error() -> None:
    def paint(colour: str) -> str:
        """Paints."""
        return colour

    paint.__annotations__["colour"] = "Unknown"
    with pytest.raises(ToolDefinitionError, match="Unknown"):
        tool(paint)
