"""What is said of a reply that is JSON: its ``answer``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from edgeagent.agent import RunResult
from edgeagent.hooks import BaseHook, FirePoint, HookResult

if TYPE_CHECKING:
    from edgeagent.context import AgentContext


def spoken(text: str) -> str:
    """The ``answer`` of a JSON object, if it has one; otherwise the text as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("answer"), str):
        return str(value["answer"])
    return text


class AnswerHook(BaseHook):
    """ON_RUN_END: the result's reply is the answer in it; history keeps the whole JSON.

    A reply that was cut is no JSON: it stays as it is, with a notice.
    """

    points = frozenset({FirePoint.ON_RUN_END})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: RunResult) -> HookResult | None:
        if ctx.depth > 0 or payload.reason != "completed" or payload.handed_off_to is not None:
            return None
        try:
            json.loads(payload.reply)
        except ValueError:
            ctx.notice("warning", "the reply is not whole: it was cut before its JSON ended")
            return None
        return HookResult.replace(replace(payload, reply=spoken(payload.reply)))
