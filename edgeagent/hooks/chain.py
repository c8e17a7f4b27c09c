"""All hooks of a run in one order, and how their answers are put together.

Higher priority first over agent, context and options together, then the order of registration. A hook is called by one
thread at a time unless it says that it is ``concurrent``. No lock of ours is held but the hook's own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from edgeagent.errors import EdgeAgentError
from edgeagent.hooks.hook import (
    AfterLLM,
    AfterTool,
    BeforeLLM,
    BeforeTool,
    FirePoint,
    Hook,
    HookResult,
    Payload,
    RunStart,
)
from edgeagent.messages import Message, ToolCall, ToolResult
from edgeagent.tools import Tool
from edgeagent.tools.signature import is_async

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

UNSAFE: Final = "I can't do that safely."
"""The reply of a run that ends because a hook with ``fail_closed`` raised."""
_NO_LOCK: Final = nullcontext()


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
