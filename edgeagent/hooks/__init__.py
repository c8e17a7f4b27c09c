"""Hooks: code that a run calls at its six fire points, ours and the builder's."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

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
    from edgeagent.hooks.audit_log import AuditLogHook
    from edgeagent.hooks.context_compaction import ContextCompactionHook
    from edgeagent.hooks.echoed_payload import EchoedPayloadHook
    from edgeagent.hooks.echoing import EchoingHook
    from edgeagent.hooks.grounded_reply import GroundedReplyHook
    from edgeagent.hooks.grounding import GroundingHook
    from edgeagent.hooks.loop_detector import LoopDetectorHook
    from edgeagent.hooks.memory import MemoryHook
    from edgeagent.hooks.persist_session import PersistSessionHook
    from edgeagent.hooks.pii_redaction import PIIHook
    from edgeagent.hooks.plan_mode import PlanModeHook
    from edgeagent.hooks.safety_guardrail import SafetyGuardrailHook
    from edgeagent.hooks.schema_retry import SchemaRetryHook
    from edgeagent.hooks.slm import default_slm_hooks
    from edgeagent.hooks.talk_guard import TalkGuardHook
    from edgeagent.hooks.timing import TimingHook
    from edgeagent.hooks.token_budget import TokenBudgetHook
    from edgeagent.hooks.tool_output_cap import ToolOutputCapHook

_HOME_OF = {
    "AuditLogHook": "audit_log",
    "ContextCompactionHook": "context_compaction",
    "EchoedPayloadHook": "echoed_payload",
    "EchoingHook": "echoing",
    "GroundedReplyHook": "grounded_reply",
    "GroundingHook": "grounding",
    "LoopDetectorHook": "loop_detector",
    "MemoryHook": "memory",
    "PIIHook": "pii_redaction",
    "PersistSessionHook": "persist_session",
    "PlanModeHook": "plan_mode",
    "SafetyGuardrailHook": "safety_guardrail",
    "SchemaRetryHook": "schema_retry",
    "TalkGuardHook": "talk_guard",
    "TimingHook": "timing",
    "TokenBudgetHook": "token_budget",
    "ToolOutputCapHook": "tool_output_cap",
    "default_slm_hooks": "slm",
}

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
    "RunStart",
    "SafetyGuardrailHook",
    "SchemaRetryHook",
    "TalkGuardHook",
    "TimingHook",
    "TokenBudgetHook",
    "ToolOutputCapHook",
    "default_slm_hooks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
