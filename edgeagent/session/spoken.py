"""Speech for a reply that is JSON: its ``answer``, or a sentence, because nobody listens to JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from edgeagent.agent import RunResult
from edgeagent.context import AgentContext
from edgeagent.hooks import BaseHook, FirePoint, HookResult

DATA: Final = "My answer is data that I can't read aloud."
"""Said in the place of JSON that no ``response_schema`` has asked for."""
_NO_JSON: Final = object()
_FENCE: Final = re.compile(r"```\w*\s(.*?)(?:```)?", re.DOTALL)
_SEPARATORS: Final = " \t\r\n,;"
_DECODER: Final = json.JSONDecoder()


def spoken_text(text: str) -> str:
    """The ``answer`` of a JSON object, if it has one: a string as it is, anything else as JSON. Otherwise the text."""
    value = _parsed(text)
    if not isinstance(value, dict) or value.get("answer") is None:
        return text
    answer = value["answer"]
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def aloud(piece: str) -> str:
    """A piece of a reply as it is said: JSON that stands in it by itself is replaced by a sentence."""
    return f" {DATA} " if _is_data(piece) else piece


def _is_data(text: str) -> bool:
    """True for objects and lists, alone or in a code fence. A number in brackets is a footnote."""
    fence = _FENCE.fullmatch(text.strip())
    rest = (fence[1] if fence else text).strip(_SEPARATORS)
    if not rest.startswith(("{", "[")):
        return False
    found = False
    while rest:
        try:
            value, end = _DECODER.raw_decode(rest)
        except (ValueError, RecursionError):
            return False
        items = value if isinstance(value, list) else [value]
        found = found or any(not isinstance(item, int | float) and item != {} for item in items)
        rest = rest[end:].strip(_SEPARATORS)
    return found


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
        return HookResult.replace(replace(payload, reply=spoken_text(payload.reply)))
