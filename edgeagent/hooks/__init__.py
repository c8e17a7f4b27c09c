"""Hooks: code that a run calls at its six fire points, ours and the builder's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgeagent.front import front
from edgeagent.hooks.hook import (
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

if TYPE_CHECKING:
    from edgeagent.hooks.context_compaction import ContextCompactionHook
    from edgeagent.hooks.grounded_reply import GroundedReplyHook
    from edgeagent.hooks.grounding import GroundingHook
    from edgeagent.hooks.memory import MemoryHook
    from edgeagent.hooks.pii_redaction import PIIHook
    from edgeagent.hooks.repeated_calls import RepeatedCallHook
    from edgeagent.hooks.run_guards import LoopDetectorHook, TokenBudgetHook, ToolOutputCapHook
    from edgeagent.hooks.run_records import AuditLogHook, PersistSessionHook
    from edgeagent.hooks.slm import EchoedPayloadHook, SchemaRetryHook, default_slm_hooks
    from edgeagent.hooks.timing import EchoingHook, TimingHook
    from edgeagent.hooks.tool_guards import PlanModeHook, SafetyGuardrailHook, TalkGuardHook


__all__ = [
    "AfterLLM",
    "AfterTool",
    "AuditLogHook",
    "BaseHook",
    "BeforeLLM",
    "BeforeTool",
    "ContextCompactionHook",
    "EchoedPayloadHook",
    "EchoingHook",
    "FirePoint",
    "GroundedReplyHook",
    "GroundingHook",
    "Hook",
    "HookResult",
    "LoopDetectorHook",
    "MemoryHook",
    "PIIHook",
    "PersistSessionHook",
    "PlanModeHook",
    "RepeatedCallHook",
    "RunStart",
    "SafetyGuardrailHook",
    "SchemaRetryHook",
    "TalkGuardHook",
    "TimingHook",
    "TokenBudgetHook",
    "ToolOutputCapHook",
    "default_slm_hooks",
]


def __dir__() -> list[str]:
    return sorted(__all__)


__getattr__ = front(
    __name__,
    {
        "audit_reader": "RunRecord read",
        "compaction": "LEFT_OUT SUMMARY compact exchanges summary_of truncated",
        "context_compaction": "ContextCompactionHook",
        "grounded_reply": "GroundedReplyHook",
        "grounding": "GroundingHook LIMITS",
        "hook": "HookChain HookError UNSAFE",
        "memory": "FACT_CHARS MemoryHook",
        "pii_redaction": "PIIHook",
        "repeated_calls": "RepeatedCallHook",
        "run_guards": "LoopDetectorHook SPENT TokenBudgetHook ToolOutputCapHook",
        "run_records": "AuditLogHook PersistSessionHook",
        "slm": "EchoedPayloadHook SchemaRetryHook default_slm_hooks",
        "timing": "EchoingHook TimingHook",
        "tool_guards": """
            I_WAIT NOT_DONE NOT_LATER NOT_UNDERSTOOD ONLY_ENGLISH PlanModeHook SafetyGuardrailHook TalkGuardHook changes
            moves
        """,
    },
)
