"""Replies of a small model that tell what no result says: they become sentences made of the results.

A hook at BEFORE_LLM, where it sees what the model is shown, and at AFTER_LLM; on the loop's thread.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from edgeagent.hooks.hook import AfterLLM, BaseHook, BeforeLLM, FirePoint, HookResult, Payload
from edgeagent.hooks.retelling import SENTENCES, KnownNumbers, Retelling, sentence
from edgeagent.messages import Message

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

logger = logging.getLogger(__name__)

_UNKNOWN: Final = "I do not know."


class GroundedReplyHook(BaseHook):
    """At AFTER_LLM: a reply that contradicts the results, or leaves out a failure or an undone part, is made of them.

    A sentence with a number that stands in no result and in nothing else that the model was shown is replaced alone:
    "battery at 80 percent" told as 40. Numbers may be rounded, and told in another unit; where there is no result, the
    sentence is left out. Then the whole reply is compared with the task's results since the last answer, word for word:
    "the distance must be at most 50 m" told as "the sensor does not answer", a failure told as done, "Okay." Where it
    does not tell them, they are told in their own words, and what was not run in a clause. A reply with calls, and one
    to what a person has said since the results, is left alone.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.AFTER_LLM})
    priority = -790
    """Before GroundingHook, whose questions are no telling."""

    holds_text = True

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if isinstance(payload, BeforeLLM):
            state["shown"] = [one for one in payload.messages if one.role != "assistant"]
            state["calls"] = [call for one in payload.messages for call in one.tool_calls]
        if not isinstance(payload, AfterLLM) or payload.tool_calls:
            return None
        told = Retelling.since_answer(ctx.history())
        is_wordless = not any(map(str.isalnum, payload.text))
        if not told.results and is_wordless:
            return None
        shown: list[Message] = state.get("shown", [])
        arguments = [str(value) for call in state.get("calls", ()) for value in call.arguments.values()]
        known = KnownNumbers([*(one.text for one in shown), *arguments])
        sentences = SENTENCES.split(payload.text.strip())
        wrong = [not known.has_all_of(one, count=len(told.results)) for one in sentences]
        text = _mended(sentences, wrong, told.results) if any(wrong) else payload.text
        if told.results and ctx.history()[-1].role != "user" and (is_wordless or not told.is_told_by(text)):
            text = " ".join(told.sentences()) or text
        if text == payload.text:
            return None
        logger.info("told %r in the place of %r", text, payload.text)
        return HookResult.replace(replace(payload, text=text))


def _mended(sentences: Sequence[str], wrong: Sequence[bool], results: Sequence[Message]) -> str:
    """The reply with what the results say in the place of the first wrong sentence, and without the others."""
    right = KnownNumbers(one for one, is_wrong in zip(sentences, wrong, strict=True) if not is_wrong)
    told = [text for one in results if not (_has_number(text := sentence(one)) and right.has_all_of(text, count=-1))]
    first = wrong.index(True)
    made = [" ".join(told) if at == first else one for at, one in enumerate(sentences) if at == first or not wrong[at]]
    return " ".join(text for text in dict.fromkeys(made) if text) or _UNKNOWN


def _has_number(text: str) -> bool:
    return any(character.isdigit() for character in text)
