"""Somebody says yes before a run changes anything."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from edgeagent.errors import ConfigError
from edgeagent.hooks.hook import AfterLLM, BaseHook, FirePoint, HookResult, Payload
from edgeagent.messages import ToolCall

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

NOT_DONE: Final = "I did not do it."
"""The reply when the plan was not approved."""

Approve = Callable[[str, tuple[ToolCall, ...]], bool]


class PlanModeHook(BaseHook):
    """At AFTER_LLM, after other hooks: asks once a run, before the first call that is not read-only.

    Args:
        approve: Called on the run's thread with the text of the reply and all its calls. Only True is a yes; anything
            else, an exception included, ends the run with "I did not do it.".

    Raises:
        ConfigError: ``approve`` can't be called.
    """

    points = frozenset({FirePoint.AFTER_LLM})
    priority = -900
    fail_closed = True

    def __init__(self, approve: Approve) -> None:
        if not callable(approve):
            raise ConfigError(f"PlanModeHook(approve={approve!r}): it should be a function of a text and calls")
        self._approve = approve

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if not isinstance(payload, AfterLLM) or state.get("approved"):
            return None
        if all(_is_read_only(ctx, call) for call in payload.tool_calls):
            return None
        if not self._asked(payload):
            return HookResult.end_turn(NOT_DONE)
        state["approved"] = True
        return None

    def _asked(self, payload: AfterLLM) -> bool:
        try:
            answer: object = self._approve(payload.text, payload.tool_calls)
        except Exception:  # the builder's code; no answer is no
            logger.exception("approve raised, so the plan is not approved")
            return False
        if not isinstance(answer, bool):
            logger.warning("approve returned %r, not True or False, so the plan is not approved", answer)
        return answer is True


def _is_read_only(ctx: AgentContext, call: ToolCall) -> bool:
    """True if the tool of a call is known to read only; an unknown tool may change anything."""
    tool = None if ctx.tool_registry is None else ctx.tool_registry.get(call.name)
    return tool is not None and tool.traits.read_only
