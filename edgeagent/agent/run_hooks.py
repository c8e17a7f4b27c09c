"""Hooks of a run: the agent's, the context's, those that stand for options, and those that are on by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from edgeagent.agent.run_options import Options
from edgeagent.context import AgentContext
from edgeagent.errors import ConfigError
from edgeagent.hooks import AfterTool, BaseHook, BeforeTool, FirePoint, Hook, HookResult
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.loop_detector import LoopDetectorHook
from edgeagent.hooks.tool_output_cap import ToolOutputCapHook
from edgeagent.messages import ToolCall, ToolResult


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


_OPTION_OF: Final[dict[type, str]] = {
    LoopDetectorHook: "max_tool_errors",
    ToolOutputCapHook: "tool_output_limit",
}


def hooks_of(agent: Sequence[Hook], context: Sequence[Hook], options: Options) -> list[Hook]:
    """All hooks of a run, in the order in which they count as registered.

    Raises:
        ConfigError: A hook is given and the option that does the same is set too.
    """
    given = [*agent, *context]
    return [*given, *callback_hooks(options), *_defaults(given, options)]


def _defaults(given: Sequence[Hook], options: Options) -> Iterator[Hook]:
    made: dict[type, Any] = {
        LoopDetectorHook: lambda: LoopDetectorHook(max_tool_errors=options.max_tool_errors),
        ToolOutputCapHook: lambda: ToolOutputCapHook(options.tool_output_limit),
        ContextCompactionHook: ContextCompactionHook,
    }
    for kind, make in made.items():
        if not any(isinstance(hook, kind) for hook in given):
            yield make()
            continue
        option = _OPTION_OF.get(kind)
        if option is not None and getattr(options, option) != Options.default(option):
            raise ConfigError(f"both {kind.__name__} and Options({option}=...) are given; use one of them")
