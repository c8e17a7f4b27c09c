"""Numbers that a small model tells and nobody gave it: such a sentence becomes one made of the results.

A hook at BEFORE_LLM, where it sees what the model is shown, and at AFTER_LLM; on the loop's thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from edgeagent.english.amounts import Amount, amounts_of, derived
from edgeagent.english.number_words import CLOCK, figures
from edgeagent.english.tokens import words_of
from edgeagent.hooks.echoed_payload import in_words
from edgeagent.hooks.hook import AfterLLM, BaseHook, BeforeLLM, FirePoint, HookResult, Payload
from edgeagent.hooks.loop_detector import WARNING
from edgeagent.messages import Message

if TYPE_CHECKING:
    from edgeagent.context import AgentContext

_UNKNOWN: Final = "I do not know."
_FAILED: Final = "That did not work: "
_SENTENCES: Final = re.compile(r"(?<=[.!?])\s+")
_DECIMALS: Final = 4
"""Decimals that are told at most."""
_SAME: Final = 1e-6
_SHARE: Final = 0.001
"""Share of a number by which another is taken for the same."""
_HALF_DAY: Final = 12 * 60
"""Minutes after which a clock of twelve hours shows the same."""


class GroundedReplyHook(BaseHook):
    """At AFTER_LLM: a sentence with a number that stands in no result and in nothing else that the model was shown is
    replaced by what the results say: "battery at 80 percent" told as 40.

    Numbers may be rounded, and told in another unit. A sentence without numbers is left alone, and so is a reply with
    calls. Where there is no result, the sentence is left out.
    """

    points = frozenset({FirePoint.BEFORE_LLM, FirePoint.AFTER_LLM})
    priority = -950
    holds_text = True

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        state = ctx.state_of(self)
        if isinstance(payload, BeforeLLM):
            state["shown"] = [one for one in payload.messages if one.role != "assistant"]
            state["calls"] = [call for one in payload.messages for call in one.tool_calls]
        if not isinstance(payload, AfterLLM) or payload.tool_calls or not any(map(str.isalnum, payload.text)):
            return None
        shown: list[Message] = state.get("shown", [])
        arguments = [str(value) for call in state.get("calls", ()) for value in call.arguments.values()]
        known = _Numbers([*(one.text for one in shown), *arguments])
        results = _results(ctx.history())
        sentences = _SENTENCES.split(payload.text.strip())
        wrong = [not known.has_all_of(sentence, count=len(results)) for sentence in sentences]
        if not any(wrong):
            return None
        text = _mended(sentences, wrong, results)
        return HookResult.replace(replace(payload, text=text))


class _Numbers:
    """The numbers of texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._amounts: list[Amount] = []
        self._clocks: set[int] = set()
        for text in texts:
            words = words_of(text)
            found = amounts_of(words)
            self._amounts += [*found, *derived(found, words)]
            self._clocks |= _clocks(words)

    def has_all_of(self, sentence: str, *, count: int) -> bool:
        """True if every number of a sentence is among these, or counts the results."""
        words = words_of(sentence)
        told = [one for one in amounts_of(words) if any(map(figures, words[one.start : one.end]))]
        clocks = _clocks(words)
        return clocks <= self._clocks and all(one.bare == count or self._has(one) for one in told)

    def _has(self, told: Amount) -> bool:
        """True if a number is one of these in the unit in which it is told, rounded as it is told."""
        for one in self._amounts:
            known = one.bare
            if one.dimension and told.dimension:
                known = one.value * told.bare / told.value if told.value else one.value
            if (not told.dimension or one.dimension in ("", told.dimension)) and _rounds_to(known, told.bare):
                return True
        return False


def _rounds_to(known: float, told: float) -> bool:
    """True if a number, with as many decimals as it is told, may be a known one."""
    decimals = next((places for places in range(_DECIMALS) if abs(round(told, places) - told) < _SAME), _DECIMALS)
    return abs(round(known, decimals) - told) < _SAME or abs(known - told) <= abs(known) * _SHARE


def _clocks(words: Sequence[str]) -> set[int]:
    """Times of day, in minutes of half a day."""
    return {
        (int(found[1]) * 60 + int(found[2])) % _HALF_DAY
        for word in words
        if (found := CLOCK.fullmatch(word)) and ":" in word
    }


def _results(history: Sequence[Message]) -> list[Message]:
    """The results since the robot's last answer."""
    answers = (at for at, one in enumerate(history) if one.role == "assistant" and not one.tool_calls)
    begin = max(answers, default=-1) + 1
    return [one for one in history[begin:] if one.role == "tool" and one.text.strip()]


def _mended(sentences: Sequence[str], wrong: Sequence[bool], results: Sequence[Message]) -> str:
    """The reply with what the results say in the place of the first wrong sentence, and without the others."""
    right = _Numbers(sentence for sentence, is_wrong in zip(sentences, wrong, strict=True) if not is_wrong)
    told = [text for one in results if not (_has_number(text := _sentence(one)) and right.has_all_of(text, count=-1))]
    first = wrong.index(True)
    made = [
        " ".join(told) if at == first else sentence
        for at, sentence in enumerate(sentences)
        if at == first or not wrong[at]
    ]
    return " ".join(text for text in made if text) or _UNKNOWN


def _has_number(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _sentence(result: Message) -> str:
    """A result as a sentence."""
    text = in_words(result.text.partition(f"\n{WARNING}")[0]).strip()
    text = f"{_FAILED}{text}" if result.status not in (None, "ok") else text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
