"""Which hooks a run has: the agent's, the context's, those that stand for options, and those that are on by default."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from edgeagent.agent.callback_hooks import callback_hooks
from edgeagent.agent.run_options import Options
from edgeagent.errors import ConfigError
from edgeagent.hooks import Hook
from edgeagent.hooks.context_compaction import ContextCompactionHook
from edgeagent.hooks.loop_detector import LoopDetectorHook
from edgeagent.hooks.tool_output_cap import ToolOutputCapHook

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
