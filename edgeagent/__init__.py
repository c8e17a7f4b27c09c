"""edgeagent: an offline agent for robots, driven by a local model.

The public names load what they need when they are first used: importing this package loads no engine.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from edgeagent.front import front

if TYPE_CHECKING:
    from edgeagent import events, hooks, views
    from edgeagent.agent import (
        Agent,
        AgentContext,
        Options,
        Orchestrator,
        QueueMode,
        RunControl,
        RunHandle,
        RunResult,
        RunState,
        ToolMode,
    )
    from edgeagent.app.conversation import Conversation
    from edgeagent.errors import BusyError, ConfigError, EdgeAgentError, ModelError, PolicyViolationError
    from edgeagent.hooks import FirePoint, Hook, HookResult
    from edgeagent.llm import LLM
    from edgeagent.llm.llama import LlamaLLM
    from edgeagent.messages import Message, ToolCall, ToolResult, Usage
    from edgeagent.pii import PII
    from edgeagent.session import Session
    from edgeagent.tools import GoalHandle, Handoff, Tool, ToolContext, ToolRegistry, skill, tool

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # onnxruntime from 1.29 on, if somebody has forced it upon us

__version__ = "0.1.0"

_ROOMS = frozenset({"events", "hooks", "views"})

__all__ = [
    "LLM",
    "PII",
    "Agent",
    "AgentContext",
    "BusyError",
    "ConfigError",
    "Conversation",
    "EdgeAgentError",
    "FirePoint",
    "GoalHandle",
    "Handoff",
    "Hook",
    "HookResult",
    "LlamaLLM",
    "Message",
    "ModelError",
    "Options",
    "Orchestrator",
    "PolicyViolationError",
    "QueueMode",
    "RunControl",
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
    "events",
    "hooks",
    "skill",
    "tool",
    "views",
]


_load = front(
    __name__,
    {
        "agent": """
            Agent AgentContext Options Orchestrator QueueMode RunControl RunHandle RunResult RunState ToolMode
        """,
        "app.conversation": "Conversation",
        "errors": "BusyError ConfigError EdgeAgentError ModelError PolicyViolationError",
        "hooks": "FirePoint Hook HookResult",
        "llm": "LLM",
        "llm.llama": "LlamaLLM",
        "messages": "Message ToolCall ToolResult Usage",
        "pii": "PII",
        "session": "Session",
        "tools": "GoalHandle Handoff Tool ToolContext ToolRegistry skill tool",
    },
)


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}") if name in _ROOMS else _load(name)


def __dir__() -> list[str]:
    return sorted(__all__)
