"""Hooks: code that a run calls at its six fire points, ours and the builder's."""

from edgeagent.hooks.types import (
    AfterLLM,
    AfterTool,
    BaseHook,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    Hook,
    HookResult,
    RunStart,
)

__all__ = [
    "AfterLLM",
    "AfterTool",
    "BaseHook",
    "BeforeLLM",
    "BeforeTool",
    "FirePoint",
    "Hook",
    "HookResult",
    "RunStart",
]
