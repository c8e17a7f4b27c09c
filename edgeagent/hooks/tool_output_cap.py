"""The cap on what a tool may put into the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import AfterTool, BaseHook, FirePoint, HookResult
from edgeagent.tools.tool import OUTPUT_LIMIT, capped

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


class ToolOutputCapHook(BaseHook):
    """AFTER_TOOL, last: cuts the middle out of a long result and says so in it; ``value`` stays as it is.

    Args:
        limit: Characters that may stay.

    Raises:
        ConfigError: ``limit`` is below 1.
    """

    points = frozenset({FirePoint.AFTER_TOOL})
    priority = -1000
    concurrent = True

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        if limit < 1:
            raise ConfigError(f"ToolOutputCapHook(limit={limit}): it should be a whole number from 1 on")
        self.limit = limit

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        text = capped(payload.result.text, self.limit)
        if text == payload.result.text:
            return None
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))
