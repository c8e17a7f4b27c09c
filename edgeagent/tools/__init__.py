"""Tools: declaring them, and running their bodies."""

from edgeagent.front import front
from edgeagent.tools.goal import GoalCancelled, GoalHandle
from edgeagent.tools.tool import Handoff, Tool, ToolContext, ToolRegistry, ToolTraits, skill, tool

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

__getattr__ = front(
    __name__,
    {
        "execution": "Execution",
        "signature": "ArgumentError SchemaSignature coerce",
        "threads": "MAX_IDLE Threads",
        "tool": "capped",
    },
)
