"""What is said of a reply that is JSON: its ``answer``."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgeagent.agent import RunResult
from edgeagent.hooks import BaseHook, FirePoint, HookResult

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_NO_JSON: Final = object()


def spoken(text: str) -> str:
    """The ``answer`` of a JSON object, if it has one: a string as it is, anything else as JSON. Otherwise the text."""
    value = _parsed(text)
    if not isinstance(value, dict) or value.get("answer") is None:
        return text
    answer = value["answer"]
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _parsed(text: str) -> Any:
    """The value that the text is as JSON; ``_NO_JSON`` if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _NO_JSON


class AnswerHook(BaseHook):
    """ON_RUN_END: the result's reply is the answer in it; history keeps the whole JSON.

    A reply that was cut is no JSON: it stays as it is, with a notice.
    """

    points = frozenset({FirePoint.ON_RUN_END})

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: RunResult) -> HookResult | None:
        if ctx.depth > 0 or payload.handed_off_to is not None:
            return None
        if _parsed(payload.reply) is _NO_JSON:
            if payload.reason == "completed":
                ctx.notice("warning", "the reply is not whole: it was cut before its JSON ended")
            return None
        return HookResult.replace(replace(payload, reply=spoken(payload.reply)))
