"""edgeagent: an offline agent for robots, driven by a local model.

The public names load what they need when they are first used: importing this package loads no engine.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from edgeagent.agent import Agent, AgentContext, Options, QueueMode, RunHandle, RunResult, RunState, ToolMode
    from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError, PolicyViolationError
    from edgeagent.llm import LLM
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.messages import Message, ToolCall, ToolResult, Usage
    from edgeagent.session import Session
    from edgeagent.tools import GoalHandle, Tool, ToolContext, ToolRegistry, skill, tool

__version__ = "0.1.0"

_HOMES = {
    "edgeagent.agent": (
        "Agent",
        "AgentContext",
        "Options",
        "QueueMode",
        "RunHandle",
        "RunResult",
        "RunState",
        "ToolMode",
    ),
    "edgeagent.errors": ("BusyError", "ConfigError", "EdgeAgentError", "ModelError", "PolicyViolationError"),
    "edgeagent.llm": ("LLM",),
    "edgeagent.llm.llama": ("LlamaLLM",),
    "edgeagent.messages": ("Message", "ToolCall", "ToolResult", "Usage"),
    "edgeagent.session": ("Session",),
    "edgeagent.tools": ("GoalHandle", "Tool", "ToolContext", "ToolRegistry", "skill", "tool"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "LLM",
    "Agent",
    "AgentContext",
    "BusyError",
    "ConfigError",
    "EdgeAgentError",
    "GoalHandle",
    "LlamaLLM",
    "Message",
    "ModelError",
    "Options",
    "PolicyViolationError",
    "QueueMode",
    "RunHandle",
    "RunResult",
    "RunState",
    "Session",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolMode",
    "ToolRegistry",
    "ToolResult",
    "Usage",
    "skill",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
