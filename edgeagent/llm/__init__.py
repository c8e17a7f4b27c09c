"""Models: the protocol, and the engines behind it."""

from edgeagent.llm.protocol import (
    LLM,
    End,
    Error,
    LLMEvent,
    LLMRequest,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
    ToolSpec,
)

__all__ = [
    "LLM",
    "End",
    "Error",
    "LLMEvent",
    "LLMRequest",
    "TextDelta",
    "TextEnd",
    "ThinkingDelta",
    "ThinkingEnd",
    "ToolCallEnd",
    "ToolSpec",
]
