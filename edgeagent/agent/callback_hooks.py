"""The callbacks of ``Options`` that are hooks in another dress: one mechanism, two doors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from edgeagent.agent.run_options import Options
from edgeagent.context import AgentContext
from edgeagent.hooks import AfterTool, BaseHook, BeforeTool, FirePoint, HookResult
from edgeagent.messages import ToolCall, ToolResult

logger = logging.getLogger(__name__)


def callback_hooks(options: Options) -> Iterator[BaseHook]:
    """The hooks that stand for the options that are set, in the order in which they are called."""
    if options.before_tool_call is not None:
        yield BeforeToolCall(options.before_tool_call)
    if options.error_intervention is not None:
        yield ErrorIntervention(options.error_intervention)
    if options.after_tool_call is not None:
        yield AfterToolCall(options.after_tool_call)


@dataclass(eq=False)
class _CallbackHook(BaseHook):
    """Callbacks may run side by side, as the calls that they are asked about do."""

    callback: Any
    concurrent: ClassVar[bool] = True  # type: ignore[misc]  # a class variable over one of an instance


class BeforeToolCall(_CallbackHook):
    points = frozenset({FirePoint.BEFORE_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: BeforeTool) -> HookResult | None:
        answer = self.callback(payload.call, ctx.stop_event)
        match answer:
            case None:
                return None
            case ToolResult():
                return HookResult.supply(answer)
            case ToolCall():
                return HookResult.replace(replace(payload, call=answer))
        raise TypeError(
            f"before_tool_call returned {type(answer).__name__}; None, a ToolCall or a ToolResult is wanted"
        )


class ErrorIntervention(_CallbackHook):
    points = frozenset({FirePoint.AFTER_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        if payload.result.status not in ("error", "timed_out"):
            return None
        hint = self.callback(payload.call.name, payload.result.text)
        if not hint:
            return None
        text = f"{payload.result.text}\n{hint}"
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))


class AfterToolCall(_CallbackHook):
    points = frozenset({FirePoint.AFTER_TOOL})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        patched = self.callback(payload.call, payload.result, ctx.stop_event)
        return None if patched is None else HookResult.replace(replace(payload, result=patched))
