"""A router that may hand over to a cook."""

from __future__ import annotations

from typing import Any

from edgeagent import Agent, Handoff, Tool, tool
from edgeagent.testing import ScriptedLLM, call

TO_COOK = call("handoff_to_cook")


@tool(read_only=True)
def look() -> str:
    """Looks."""
    return "seen"


def pair(router_replies: Any, cook_replies: Any, *, router: Any = None, cook: Any = None) -> tuple[Agent, Agent]:
    """The router and the cook, each with a model of its own, and with more keywords for each."""
    target = Agent("cook", "you cook", llm=ScriptedLLM(*cook_replies), **{"tools": [look], **(cook or {})})
    llm = ScriptedLLM(*router_replies)
    return Agent("router", "you route", llm=llm, handoffs=[target], **{"tools": [look], **(router or {})}), target


def router_tool(agent: Agent) -> Tool:
    """The tool by which a target hands back; agents are made one after the other, so it can't be a handoff of it."""

    @tool(name=f"handoff_to_{agent.name}")
    def hand_back(task: str | None = None) -> Handoff:
        """Hands back."""
        return Handoff(agent, task)

    return hand_back
