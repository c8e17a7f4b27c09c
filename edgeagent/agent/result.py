"""State and result of a run: values only."""

from __future__ import annotations

from dataclasses import dataclass

from edgeagent.events import EndReason
from edgeagent.llm import LLM
from edgeagent.messages import Message, ToolCall, Usage
from edgeagent.tools import Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """End of a run. ``messages`` is the whole history, ``new_messages`` what this run added."""

    reply: str
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]
    tool_calls: tuple[ToolCall, ...]
    """Every call, in the order asked, each with its ``result`` and ``agent``."""
    usage: Usage
    reason: EndReason
    abort_reason: str | None
    agent_name: str
    """The agent that was asked."""
    elapsed_s: float
    handed_off_to: str | None = None
    """The agent that answered, if it was another one."""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A frozen copy of an agent's state at one moment."""

    system_prompt: str | None
    messages: tuple[Message, ...]
    pending_tool_calls: frozenset[str]
    is_streaming: bool
    error_message: str | None
    streaming_message: Message | None
    thinking_level: str | None
    llm: LLM | None
    tools: tuple[Tool, ...]
    follow_up_queue: tuple[Message, ...]
    steering_queue: tuple[Message, ...]
    run_id: str | None
    hop: int
