"""Caps on the tokens of one run, and on what a tool may put into the prompt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgeagent.hooks.hook import AfterTool, BaseHook, FirePoint, HookResult, Payload, counted
from edgeagent.tools.tool import OUTPUT_LIMIT, capped

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


SPENT: Final = "I have used up the tokens for this request."
"""The reply of a run that reached its limit."""
_EARLIER: Final = "earlier"
_SPENT: Final = "spent"


class TokenBudgetHook(BaseHook):
    """BEFORE_LLM: ends the run once its model calls have taken ``max_tokens``, prompts and replies together.

    A call that is under way is never cut: the last one may go beyond. ON_RUN_START notes what history was there before.
    BEFORE_TOOL only counts, because a handoff leaves the history behind in which its call stands.

    Raises:
        ConfigError: ``max_tokens`` is no whole number from 1 on.
    """

    points = frozenset({FirePoint.ON_RUN_START, FirePoint.BEFORE_LLM, FirePoint.BEFORE_TOOL})

    def __init__(self, max_tokens: int) -> None:
        self.max_tokens = counted("TokenBudgetHook(max_tokens={})", max_tokens)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if point is FirePoint.ON_RUN_START:
            if ctx.depth == 0:  # an agent that was handed over to spends from the same budget
                state[_EARLIER] = {message.id for message in ctx.history()}
                state[_SPENT] = {}
            return None
        if _count(state, ctx) < self.max_tokens or point is not FirePoint.BEFORE_LLM:
            return None
        return HookResult.end_turn(SPENT)


def _count(state: dict[str, Any], ctx: AgentContext) -> int:
    """Tokens of this run so far; what was counted once stays counted."""
    spent: dict[str, int] = state.setdefault(_SPENT, {})
    earlier: set[str] = state.setdefault(_EARLIER, set())
    for message in ctx.history():
        if message.usage is not None and message.id not in earlier:
            spent[message.id] = message.usage.input_tokens + message.usage.output_tokens
    return sum(spent.values())


# --- characters of a result -------------------------------------------------------------------------------------------


class ToolOutputCapHook(BaseHook):
    """AFTER_TOOL, last: cuts the middle out of a long result and says so in it; ``value`` stays as it is.

    Args:
        limit: Characters that may stay.

    Raises:
        ConfigError: ``limit`` is no whole number from 1 on.
    """

    points = frozenset({FirePoint.AFTER_TOOL})
    priority = -1000
    concurrent = True

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self.limit = counted("ToolOutputCapHook(limit={})", limit)

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: AfterTool) -> HookResult | None:
        text = capped(payload.result.text, self.limit)
        if text == payload.result.text:
            return None
        return HookResult.replace(replace(payload, result=replace(payload.result, text=text)))
