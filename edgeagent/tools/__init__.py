"""Tools: declaring them, and running their bodies."""

from edgeagent.tools.goal import GoalCancelled, GoalHandle
from edgeagent.tools.handoff import Handoff
from edgeagent.tools.tool import Tool, ToolContext, ToolRegistry, ToolTraits, skill, tool

__all__ = [
    "GoalCancelled",
    "GoalHandle",
    "Handoff",
    "Tool",
    "ToolContext",
    "ToolRegistry",
    "ToolTraits",
    "skill",
    "tool",
]
