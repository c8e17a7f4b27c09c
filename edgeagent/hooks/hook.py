"""Hooks: the points at which one is called, its payload, its answers; and the chain of all hooks of a run.

Higher priority first over agent, context and options together, then the order of registration. A hook is called by one
thread at a time unless it says that it is ``concurrent``. No lock of ours is held but the hook's own.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, Protocol, Self

from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError, EdgeAgentError
from edgeagent.messages import Message, Reading, ToolCall, ToolResult
from edgeagent.tools import Tool
from edgeagent.tools.signature import is_async

logger = logging.getLogger(__name__)

UNSAFE: Final = "I can't do that safely."
"""The reply of a run that ends because a hook with ``fail_closed`` raised."""
_NO_LOCK: Final = nullcontext()


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


def counted(told: str, value: object, *, least: int = 1) -> int:
    """Returns a whole number that is not below the least.

    Args:
        told: The argument, for the error, with a place for its value: "ToolOutputCapHook(limit={})".

    Raises:
        ConfigError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{told.format(repr(value))}: it should be a whole number from {least} on")
    return value


def file_path(told: str, value: object) -> Path:
    """Returns the path of a file. Arguments and errors as ``counted``."""
    if not isinstance(value, str | os.PathLike) or not os.fspath(value):
        raise ConfigError(f"{told.format(repr(value))}: it should be the path of a file")
    return Path(value)


# --- all hooks of a run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fired:
    """Answers of all hooks of one point together."""

    payload: Payload
    reply: str | None = None
    """Set when a hook ended the run."""
    result: ToolResult | None = None
    """At BEFORE_TOOL: used instead of running the call."""
    unjudged: bool = False
    """A hook that fails closed raised, or the end came before a hook that holds text: nobody vouches for the text."""
    replaced: bool = False
    """A hook answered with a payload, which may be the given one with other arguments written into its calls."""


class HookChain:
    """The hooks of one run.

    Args:
        hooks: In the order of registration.
        context: Given to each.

    Raises:
        EdgeAgentError: A hook is a coroutine function, can't be called, or names no points.
    """

    def __init__(self, hooks: Iterable[Hook], context: AgentContext) -> None:
        self._context = context
        self._ordered = ordered = sorted(_checked(hooks), key=lambda hook: -getattr(hook, "priority", 0))
        self._at: dict[FirePoint, list[Hook]] = {
            point: [hook for hook in ordered if point in hook.points] for point in FirePoint
        }
        self._locks: dict[int, AbstractContextManager[object]] = {
            id(hook): _NO_LOCK if getattr(hook, "concurrent", False) else threading.Lock() for hook in ordered
        }
        self._holders = [hook for hook in self._at[FirePoint.AFTER_LLM] if _holds_text(hook)]

    def __iter__(self) -> Iterator[Hook]:
        """All hooks, in their order."""
        return iter(self._ordered)

    def __getitem__(self, point: FirePoint) -> Sequence[Hook]:
        """The hooks of a point, in their order."""
        return self._at[point]

    def holds(self, text: str = "") -> bool:
        """True while a reply that begins so waits for AFTER_LLM: a hook may still have something against it."""
        return any(not self._releases(hook, text) for hook in self._holders)

    def _releases(self, hook: Hook, text: str) -> bool:
        releases = getattr(hook, "releases", None)
        if not text or releases is None:
            return False
        try:
            with self._locks[id(hook)]:
                return bool(releases(self._context, text))
        except BaseException:  # the builder's code; what a hook cannot judge stays held
            logger.exception("the hook %s raised at %s", _name(hook), FirePoint.AFTER_LLM)
            return False

    def fire(self, point: FirePoint, payload: Payload) -> Fired:
        """Call every hook of a point, each with what the one before left.

        Raises:
            HookError: One raised at BEFORE_TOOL, where a hook that fails keeps the gate shut.
        """
        kind, replaced = type(payload), False
        hooks = self._at[point]
        for i, hook in enumerate(hooks):
            try:
                with self._locks[id(hook)]:
                    answer = hook(point, self._context, payload)
                if answer is None:
                    continue
                match answer:
                    case HookResult(action="proceed"):
                        continue
                    case HookResult(action="replace", payload=new) if isinstance(new, kind) and _is_usable(new):
                        payload, replaced = new, True
                        continue
                    case HookResult(action="end_turn", reply=str() as reply):
                        unjudged = any(map(_holds_text, hooks[i + 1 :]))
                        return Fired(payload, reply=reply, unjudged=unjudged, replaced=replaced)
                    case HookResult(action="block", reason=str() as reason) if point is FirePoint.BEFORE_TOOL:
                        return Fired(payload, result=ToolResult.blocked(reason))
                    case HookResult(action="supply", result=ToolResult() as result) if point is FirePoint.BEFORE_TOOL:
                        return Fired(payload, result=result)
                raise EdgeAgentError(f"{answer!r} is no answer at {point}")
            except BaseException as error:  # the builder's code; sys.exit() in it must not end the run's thread
                logger.exception("the hook %s raised at %s", _name(hook), point)
                if point is FirePoint.BEFORE_TOOL:
                    raise HookError(f"{_name(hook)} failed: {error}") from error
                if getattr(hook, "fail_closed", False):
                    return Fired(payload, reply=UNSAFE, unjudged=True, replaced=replaced)
        return Fired(payload, replaced=replaced)


class HookError(EdgeAgentError):
    """A hook raised before a tool: the call must not run."""


def _checked(hooks: Iterable[Hook]) -> list[Hook]:
    found = list(hooks)
    for hook in found:
        call = getattr(type(hook), "__call__", None)  # noqa: B004  the method is wanted, not whether there is one
        if call is None:
            raise EdgeAgentError(f"{_name(hook)} is no hook: it can't be called")
        if isinstance(hook, type):
            raise EdgeAgentError(f"{_name(hook)} is no hook but the class of one: give an object, {_name(hook)}()")
        if is_async(hook):
            raise EdgeAgentError(f"{_name(hook)} is async: hooks are plain functions, called on the loop's thread")
        points = getattr(hook, "points", None)
        if not points or not all(isinstance(point, FirePoint) for point in points):
            raise EdgeAgentError(f"{_name(hook)} is no hook: its `points` should be a frozenset of FirePoint")
        priority = getattr(hook, "priority", 0)
        if not isinstance(priority, int | float):
            raise EdgeAgentError(f"{_name(hook)} is no hook: its `priority` should be a number, not {priority!r}")
    return found


def _is_usable(payload: Payload) -> bool:
    """True if there is in a replaced payload what the loop will take out of it."""
    match payload:
        case RunStart(task=task):
            return task is None or isinstance(task, Message | str)
        case BeforeLLM(messages=messages, tools=tools):
            return _are(Message, messages) and _are(Tool, tools)
        case AfterLLM(text=text, tool_calls=calls):
            return _are(str, [text]) and _are(ToolCall, calls)
        case BeforeTool(call=call):
            return isinstance(call, ToolCall)
        case AfterTool(result=result):
            return _are(ToolResult, [result]) and _are(str, [result.text])
    return isinstance(payload.reply, str)  # a RunResult


def _are(kind: type, values: object) -> bool:
    return isinstance(values, Collection) and all(isinstance(value, kind) for value in values)


def _holds_text(hook: object) -> bool:
    return bool(getattr(hook, "holds_text", False))


def _name(hook: object) -> str:
    return getattr(hook, "__name__", type(hook).__name__)
