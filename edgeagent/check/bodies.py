"""Tools without their bodies: a model sees and calls them as ever, and nothing moves.

A call of such a tool passes the gates of the loop, and where the body would begin the result "done" comes instead. The
functions of ``stop=``, ``pause=`` and ``resume=`` are gone too, and no person is asked.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from edgeagent.agent import Agent
from edgeagent.agent.handoffs import handoff_tool, reached
from edgeagent.tools import Tool, ToolRegistry

RESULT: Final = "done"
"""The result of every call, in words that any tool could say."""


def stop_bodies(agent: Agent) -> None:
    """Takes the bodies from the tools of an agent, and of all that it may hand over to; also from tools that are added
    later. To hand over stays possible."""
    for each in reached(agent):
        own = [handoff_tool(target) for target in each.handoffs]
        each.tools = StoppedTools(dict(each.tools.tools), {tool.name: tool for tool in own})


def app_tools(agent: Agent) -> list[Tool]:
    """The tools of an agent whose bodies were stopped, and of all that it may hand over to, each name once; to hand
    over is none of them."""
    found: dict[str, Tool] = {}
    for each in reached(agent):
        kept = each.tools.kept if isinstance(each.tools, StoppedTools) else {}
        found |= {tool.name: tool for tool in each.tools if tool.name not in kept}
    return list(found.values())


@dataclass(slots=True)
class StoppedTools(ToolRegistry):
    """A registry that gives out tools without bodies, whatever is put into it."""

    kept: dict[str, Tool] = field(default_factory=dict)
    """Tools of the agent itself, which move nothing: to hand over."""
    _stopped: dict[int, tuple[Tool, Tool]] = field(default_factory=dict)
    """Each tool that was asked for and its twin without a body, by the tool's id."""

    def get(self, name: str) -> Tool | None:
        tool = self.tools.get(name)
        return None if tool is None else self._twin(tool)

    def __iter__(self) -> Iterator[Tool]:
        return iter([self._twin(tool) for tool in self.tools.values()])

    def _twin(self, tool: Tool) -> Tool:
        if tool.name in self.kept:
            return self.kept[tool.name]
        if id(tool) not in self._stopped:
            self._stopped[id(tool)] = (tool, _without_body(tool))
        return self._stopped[id(tool)][1]


def _without_body(tool: Tool) -> Tool:
    twin = copy.copy(tool)
    twin.function = _nothing
    twin.stop = twin.pause = twin.resume = None
    twin.traits = replace(tool.traits, destructive=False, question=False)
    return twin


def _nothing(**arguments: Any) -> str:
    """Stands for every body."""
    return RESULT
