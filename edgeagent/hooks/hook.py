"""Hooks: the points at which it is called, what it is shown, and what it may answer."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from edgeagent.errors import ConfigError
from edgeagent.messages import Message, Reading, ToolCall, ToolResult
from edgeagent.tools import Tool

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


class FirePoint(StrEnum):
    """The moments of a run, in their order. The tool points come once for each call, on the tool's thread."""

    ON_RUN_START = "on_run_start"
    BEFORE_LLM = "before_llm"
    AFTER_LLM = "after_llm"
    BEFORE_TOOL = "before_tool"
    AFTER_TOOL = "after_tool"
    ON_RUN_END = "on_run_end"


@dataclass(frozen=True, slots=True)
class RunStart:
    """ON_RUN_START: what was asked; None when a run continues what is there."""

    task: Message | None
    context: AgentContext


@dataclass(frozen=True, slots=True)
class BeforeLLM:
    """BEFORE_LLM: what the model is about to be shown, in this request only."""

    messages: list[Message]
    tools: list[Tool]
    hop: int


@dataclass(frozen=True, slots=True)
class AfterLLM:
    """AFTER_LLM: what the model said, before it is committed."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    hop: int
    reading: Reading | None = None
    """The reply as it was written and read; None of a model that does not tell."""
    in_words: bool = False
    """Set by a hook that leaves neither text nor calls: the model is asked once more, for words instead of calls."""


@dataclass(frozen=True, slots=True)
class BeforeTool:
    """BEFORE_TOOL: a call that passed the checks of its batch."""

    call: ToolCall
    tool: Tool
    hop: int


@dataclass(frozen=True, slots=True)
class AfterTool:
    """AFTER_TOOL: what a call came to."""

    call: ToolCall
    result: ToolResult


Payload = Any
"""RunStart, BeforeLLM, AfterLLM, BeforeTool, AfterTool, or at ON_RUN_END the RunResult."""

Action = Literal["proceed", "replace", "end_turn", "block", "supply"]


@dataclass(frozen=True, slots=True)
class HookResult:
    """A hook's answer. Make one with the class methods; None means ``proceed``."""

    action: Action
    payload: Payload = None
    reply: str = ""
    reason: str = ""
    result: ToolResult | None = None

    @classmethod
    def proceed(cls) -> Self:
        """Go on unchanged."""
        return cls("proceed")

    @classmethod
    def replace(cls, payload: Payload) -> Self:
        """Go on with another payload of the same kind."""
        return cls("replace", payload=payload)

    @classmethod
    def end_turn(cls, reply: str) -> Self:
        """End the run with this reply."""
        return cls("end_turn", reply=reply)

    @classmethod
    def block(cls, reason: str) -> Self:
        """At BEFORE_TOOL: do not run this call, and tell the model why."""
        return cls("block", reason=reason)

    @classmethod
    def supply(cls, result: ToolResult | str) -> Self:
        """At BEFORE_TOOL: use this result instead of running the call."""
        return cls("supply", result=ToolResult.ok(result) if isinstance(result, str) else result)


class Hook(Protocol):
    """Called at the points it names.

    Attributes:
        points: Where it is called.
        priority: Higher ones first, over all hooks together; then in the order of registration.
        fail_closed: An exception ends the run; otherwise it is logged and the hook skipped. At BEFORE_TOOL an exception
            is always that call's error.
        holds_text: The text of a reply is not streamed before this hook has seen all of it, or before its method
            ``releases``, if it has one, is content with the beginning.
        concurrent: It may be called on several threads at once.
    """

    points: frozenset[FirePoint]
    priority: int = 0
    fail_closed: bool = False
    holds_text: bool = False
    concurrent: bool = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None: ...


class BaseHook:
    """The defaults of a hook, for hooks to inherit.

    Attributes:
        quick: It answers in much less than a millisecond and never waits. Where all hooks at BEFORE_TOOL are so, they
            are called on the loop's thread, which makes a call faster.
    """

    points: frozenset[FirePoint] = frozenset()
    priority: int = 0
    fail_closed: bool = False
    holds_text: bool = False
    concurrent: bool = False
    quick: bool = False

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        """Does nothing; a hook replaces this."""
        return None

    def releases(self, ctx: AgentContext, text: str) -> bool:
        """True once the hook will leave a reply that begins so alone, so that ``holds_text`` need hold it no longer."""
        return False


def counted(told: str, value: object) -> int:
    """Returns a whole number from 1 on.

    Args:
        told: The argument, for the error, with a place for its value: "ToolOutputCapHook(limit={})".

    Raises:
        ConfigError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigError(f"{told.format(repr(value))}: it should be a whole number from 1 on")
    return value


def file_path(told: str, value: object) -> Path:
    """Returns the path of a file. Arguments and errors as ``counted``."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ConfigError(f"{told.format(repr(value))}: it should be the path of a file")
    return Path(value)
