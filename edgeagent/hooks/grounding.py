"""Arguments that nobody has given are asked about: a number, a place or an object that a small model has made up.

A hook at AFTER_LLM, on the loop's thread: nothing of a reply runs before all of it is judged.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import has_unread, unit_of
from edgeagent.english.answers import is_backchannel, yes_or_no
from edgeagent.english.number_words import UNITS
from edgeagent.english.sentence_rules import is_question
from edgeagent.english.stop_phrases import StopPhrases
from edgeagent.english.tokens import NEGATIONS, is_named, words_in, words_of
from edgeagent.english.word_data import is_number, lists
from edgeagent.hooks.argument_doubts import (
    CORRECTS,
    MARKS,
    Doubt,
    Said,
    doubted_number,
    doubted_way,
    figures,
    in_unit,
    is_a_name,
    is_amount,
    is_left_out,
    is_other_side,
    is_said,
    keeps_so,
    may_be,
    number_for,
    required,
    sign_with,
)
from edgeagent.hooks.call_wording import SAY_YES, is_figure, ways_of, with_article, wording
from edgeagent.hooks.contradictions import Contradiction, contradiction
from edgeagent.hooks.grounded_reply import Retelling
from edgeagent.hooks.hook import AfterLLM, BaseHook, FirePoint, HookResult, Payload
from edgeagent.messages import ToolCall
from edgeagent.tools import Tool

logger = logging.getLogger(__name__)

LIMITS: Final[dict[str, float]] = {"length": 10.0, "angle": 720.0}
"""Meters and degrees above which a motion is read back before it begins."""
_NOT_DONE: Final = "Okay, I will not do that."
_EVERY: Final = frozenset({"all", "both", "each", "every", "everything", "everywhere"})
"""Words by which more is meant than the one that a call names."""
_HANDOFF: Final = "handoff_to_"
_WITH_A_NUMBER: Final = lists("follow_ups").beside_a_number | CORRECTS
"""Words that may stand in an answer beside its number, and say nothing else."""
_HOLDS: Final = StopPhrases()
_ANSWER_WORDS: Final = 4
"""Words beside the number in "make it two meters please"."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """Calls that a yes, or a number, makes run."""

    question: str
    calls: tuple[ToolCall, ...] | None
    """Calls that a yes means; None: nothing was proposed."""
    doubt: Doubt | None
    proposed: tuple[ToolCall, ...]
    """The calls of the reply, in which the doubtful argument can be exchanged."""
    contradiction: Contradiction | None = None
    """The one that was asked about, with its answers."""
    words: frozenset[str] = frozenset()
    """Those that the calls were made of."""
    left_out: frozenset[str] = frozenset()
    """Those of them that name what is left out."""


class GroundingHook(BaseHook):
    """At AFTER_LLM: asks about arguments that come from nowhere, and reads back long ways before it goes them.

    A number comes from the person's words (in any unit, with its sign and simple arithmetic), from a result, an earlier
    turn, the tool's default, or from what words without a number mean: "a little", "turn around", "halfway", "east". A
    parameter's unit is told by its name: ``distance_m``, ``angle_deg``, ``seconds``; where it tells none, the bare
    number occurs. A number that was copied without its unit is converted: "1.2 km" is 1200 for ``distance_m``. A short
    text, such as a place, an object or a code, comes from words, results and earlier turns, with its numbers and signs;
    so does each item of a list. What does not is asked about in place of the whole reply: "Drive 100 meters? Say yes.",
    "How far?". So are calls that contradict their words: both of "the kitchen or the office". A yes, a number or one of
    the two to that runs exactly what was asked about, whatever the model makes of it.

    Args:
        limits: Above which a motion is read back, by parameter and in its unit; 10 m and 720 degrees for others.
        other_names: Further words for places and objects: {"living room": ["parlour"]}.
    """

    points = frozenset({FirePoint.AFTER_LLM})
    priority = -800
    fail_closed = True
    holds_text = True

    def __init__(
        self, *, limits: Mapping[str, float] | None = None, other_names: Mapping[str, Collection[str]] | None = None
    ) -> None:
        self._limits = dict(limits or {})
        self._other_names = {name.casefold(): words_in(others) for name, others in (other_names or {}).items()}
        self._pending: _Pending | None = None

    def __call__(self, point: FirePoint, ctx: AgentContext, payload: Payload) -> HookResult | None:
        if not isinstance(payload, AfterLLM):
            return None
        if self._pending is None and not payload.tool_calls:
            return None
        said = Said.of(ctx.history())
        pending, self._pending = self._pending, None
        begun: tuple[ToolCall, ...] = ()
        if pending is not None and not said.calls and _is_asked(pending, said):
            if (answered := self._answered(pending, payload.tool_calls, said, ctx)) is not None:
                return HookResult.replace(replace(payload, text=answered[0], tool_calls=answered[1]))
            begun = _begun(pending, payload.tool_calls, said, ctx)
            said = replace(said, left_out=said.left_out | (pending.left_out - set(said.words)))
        if not payload.tool_calls:
            return None
        if any(
            (one.name, one.arguments) == (call.name, call.arguments) for one in begun for call in payload.tool_calls
        ):
            begun = ()
        calls = (*begun, *(_converted(call, said, ctx) for call in payload.tool_calls))
        changed = calls != payload.tool_calls
        payload = replace(payload, tool_calls=calls) if changed else payload
        doubts = list(self._doubts(calls, said, ctx))
        if len(doubts) == 1 and not _may_mean(doubts[0], ctx.tool_of(calls[doubts[0].call]), said):
            doubts = [replace(doubts[0], value=None, question=_which(doubts[0].parameter), texts=())]
        contradicted = _contradiction(calls, said, ctx)
        if contradicted is not None and not (doubts and contradicted.choices):
            question = contradicted.question
        else:
            contradicted = None
            question = _question(doubts) if doubts else self._read_back(calls, ctx)
        if not question:
            return HookResult.replace(payload) if changed else None
        if doubts and len(calls) == 1 and isinstance(doubts[0].value, str) and _EVERY.intersection(said.words):
            question = f"I can do one {doubts[0].parameter.replace('_', ' ')} at a time. {question}"
        told = Retelling.since_answer(ctx.history())
        if told.has_failed and ctx.history()[-1].role != "user":
            # a call that the model makes up after a failure is no wish of the person's: the failure is told
            return HookResult.replace(replace(payload, text=" ".join(told.sentences()), tool_calls=()))
        question = " ".join([*told.sentences(), question])
        if contradicted is None:
            asked = _pending(question, calls, doubts) if doubts else self._of_way(question, calls, ctx)
        else:
            asked = _Pending(question, None, None, calls, contradicted)
        if contradicted is None or contradicted.choices or contradicted.begun:  # else nothing answers it
            self._pending = replace(asked, words=frozenset(said.words), left_out=said.left_out)
        logger.info("asked about %s: %s", ", ".join(call.name for call in calls), question)
        return HookResult.replace(replace(payload, text=question, tool_calls=()))

    # --- answers ----------------------------------------------------------------------------------------------------

    def _answered(
        self, pending: _Pending, calls: Sequence[ToolCall], said: Said, ctx: AgentContext
    ) -> tuple[str, tuple[ToolCall, ...]] | None:
        """Returns the text and the calls of a reply, as an answer to the open question makes them; None where it is no
        answer, or one that the model's own calls correct: "no, the keys"."""
        answer = yes_or_no(said.text)
        chosen = None if answer else _chosen(pending, said)
        if chosen:
            return "", chosen
        if (answer and pending.calls is None) or (answer is None and _answers_nothing(pending, calls, said)):
            self._pending = pending
            return pending.question, ()
        numbered = _with_number(pending, said, ctx)
        if numbered is not None:
            if question := self._read_back(numbered, ctx):
                self._pending = replace(self._of_way(question, numbered, ctx), words=pending.words)
                return question, ()
            return "", numbered
        if answer and pending.calls:
            return "", pending.calls
        if answer is not False or len(words_of(said.text)) > _ANSWER_WORDS or _corrects(calls, said):
            return None
        return _NOT_DONE, ()

    # --- doubts -----------------------------------------------------------------------------------------------------

    def _doubts(self, calls: Sequence[ToolCall], said: Said, ctx: AgentContext) -> Iterator[Doubt]:
        every = (*said.calls, *calls)
        for at, call in enumerate(calls):
            tool = ctx.tool_of(call)
            if tool is None or tool.traits.question or tool.name.startswith(_HANDOFF):
                continue
            told = replace(said, left_out=frozenset()) if keeps_so(call, said) else said
            for name, schema in tool.parameters.get("properties", {}).items():
                value = call.arguments.get(name)
                if value in (None, schema.get("default")) or (value == "" and name not in required(tool)):
                    continue
                if (number := number_for(value, schema)) is not None:
                    before = [ctx.tool_of(one) for one in every[: len(said.calls) + at]]
                    doubt = doubted_number(at, tool, name, number, said, every)
                    if doubt := doubt or doubted_way(at, tool, name, number, said, before):
                        yield doubt
                elif isinstance(value, list) and not all(is_said(one, said) for one in value if is_figure(one)):
                    yield Doubt(at, name, None, _which(name))
                elif (doubt := self._doubted_texts(at, name, value, schema, told)) and not (
                    doubt.texts and _is_of_all(at, name, calls, tool, said)
                ):
                    yield doubt

    def _doubted_texts(self, at: int, name: str, value: Any, schema: Mapping[str, Any], said: Said) -> Doubt | None:
        """The doubt about a text, or about the texts of a list; None where it is known from where each comes."""
        texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        names = [text for text in texts if is_a_name(text, schema)]
        made_up = any(not text.strip() or set(MARKS.findall(text)) - said.marks for text in texts)
        if made_up or any(is_left_out(text, said) for text in names):
            return Doubt(at, name, None, _which(name))
        doubtful = [text for text in names if not self._is_named(text, said)]
        if not doubtful:
            return None
        return Doubt(at, name, value, _meant(doubtful), texts=tuple(doubtful))

    def _is_named(self, text: str, said: Said) -> bool:
        others = self._other_names.get(text.casefold(), ())
        named = is_named(text, said.names, others) and said.names | set(others) >= figures(text)
        return named or is_other_side(text, said)

    def _read_back(self, calls: Sequence[ToolCall], ctx: AgentContext) -> str:
        """Returns the question that is asked before a long way; empty where none is."""
        told, long = [], False
        for call in calls:
            tool = ctx.tool_of(call)
            properties = {} if tool is None else tool.parameters.get("properties", {})
            for name, schema in properties.items():
                number = number_for(call.arguments.get(name), schema)
                if tool is not None and tool.traits.motion and number is not None:
                    told.append(wording(tool, name, number))
                    long = long or abs(number) > self._limit(name)
        text = ", then ".join(told)
        return f"{text[:1].upper()}{text[1:]}? {SAY_YES}" if long else ""

    def _of_way(self, question: str, calls: tuple[ToolCall, ...], ctx: AgentContext) -> _Pending:
        """The question about a long way, whose number an answer may exchange where it is the only one: "no, 3"."""
        long = [
            Doubt(at, name, number, question, -1 if number < 0 else 1)
            for at, call in enumerate(calls)
            if (tool := ctx.tool_of(call)) is not None and tool.traits.motion
            for name, schema in tool.parameters.get("properties", {}).items()
            if (number := number_for(call.arguments.get(name), schema)) is not None and abs(number) > self._limit(name)
        ]
        return _Pending(question, calls, long[0] if len(long) == 1 else None, calls)

    def _limit(self, name: str) -> float:
        if name in self._limits:
            return self._limits[name]
        unit = unit_of(name)
        return LIMITS[unit[0]] / unit[1] if unit is not None and unit[0] in LIMITS else float("inf")


def _converted(call: ToolCall, said: Said, ctx: AgentContext) -> ToolCall:
    """The call, with a number in its parameter's unit where it was copied from one that was said in another unit."""
    tool = ctx.tool_of(call)
    properties = {} if tool is None else tool.parameters.get("properties", {})
    changed: dict[str, float | int] = {}
    for name, schema in properties.items():
        value, unit = number_for(call.arguments.get(name), schema), unit_of(name)
        if value is None or unit is None or any(is_amount(one, name, value) for one in said.known):
            continue
        copied = [one for one in said.amounts if one.dimension == unit[0] and one.bare == abs(value) and not one.vague]
        if len(copied) == 1:
            meant = copied[0].value / unit[1]
            if schema.get("type") != "integer" or math.isclose(meant, round(meant)):
                changed[name] = in_unit(copied[0], name, -1 if value < 0 else 1, schema)
    return replace(call, arguments={**call.arguments, **changed}, raw=None) if changed else call


def _is_asked(pending: _Pending, said: Said) -> bool:
    """True if what is said now may answer an open question."""
    return bool(said.text) and said.asked.strip().startswith(pending.question.removesuffix(SAY_YES).strip())


def _corrects(calls: Sequence[ToolCall], said: Said) -> bool:
    """True if calls take what is named beside a no: "no, the keys"."""
    return not NEGATIONS.search(said.text) and any(_is_told(call, said) for call in calls)


def _chosen(pending: _Pending, said: Said) -> tuple[ToolCall, ...]:
    """The calls of the only choice that an answer names, or of all at "both"; nothing where it says more than that."""
    asked = pending.contradiction
    if asked is None or NEGATIONS.search(said.text) or said.amounts:
        return ()
    words = frozenset(said.words)
    known = pending.words - {"or"} | lists("follow_ups").beside_a_choice | _EVERY
    known |= {word for one in asked.choices for word in (*words_of(one.name), *one.words)}
    if not all(any(is_named(one.name, {word}) for one in asked.choices) for word in words - known):
        return ()
    named = [one for one in asked.choices if is_named(one.name, words, one.words)]
    if not named and _EVERY & words:
        return asked.every
    return named[0].calls if len(named) == 1 else ()


def _answers_nothing(pending: _Pending, calls: Sequence[ToolCall], said: Said) -> bool:
    """True if what is said to one of several ways names none, and the model just makes a call that was asked about."""
    asked = pending.contradiction
    if asked is None or not calls:
        return False
    words = words_of(said.text)
    if is_backchannel(words) or _HOLDS.read(said.text) is not None:
        return True
    offered = [*pending.proposed, *(call for one in asked.choices for call in one.calls)]
    made = [(call.name, call.arguments) for call in offered]
    tells = is_question(words) or not lists("classes").be.isdisjoint(words)
    same = [(call.name, call.arguments) in made for call in calls]
    # a model may begin again with what comes before the place
    takes_one = any(same) if asked.choices else all(same)
    return takes_one and (tells or not any(_is_told(call, said) for call in calls))


def _is_told(call: ToolCall, said: Said) -> bool:
    """True if words name a text of a call."""
    return any(isinstance(value, str) and is_named(value, frozenset(said.words)) for value in call.arguments.values())


def _begun(pending: _Pending, calls: Sequence[ToolCall], said: Said, ctx: AgentContext) -> tuple[ToolCall, ...]:
    """The calls that come before one to a place, where it was asked for: "Where should I come back to?"."""
    other = lists("follow_ups").in_place | (lists("classes").verbs - lists("follow_ups").comes_back)
    if pending.contradiction is None or other & set(said.words) or yes_or_no(said.text) is not None:
        return ()
    return pending.contradiction.begun if any(_goes(call, ctx) for call in calls) else ()


def _goes(call: ToolCall, ctx: AgentContext) -> bool:
    """True for a motion that no number tells."""
    tool = ctx.tool_of(call)
    return tool is not None and tool.traits.motion and not any(map(is_figure, call.arguments.values()))


def _contradiction(calls: Sequence[ToolCall], said: Said, ctx: AgentContext) -> Contradiction | None:
    if said.calls:
        return None
    called = [(call, tool) for call in calls if (tool := ctx.tool_of(call)) is not None]
    return contradiction(called, said.words, said.amounts)


def _pending(question: str, calls: tuple[ToolCall, ...], doubts: Sequence[Doubt]) -> _Pending:
    if len(doubts) > 1 and all(one.texts for one in doubts):
        return _Pending(question, calls, None, calls)
    doubt = doubts[0] if len(doubts) == 1 else None
    if doubt is None:
        return _Pending(question, None, None, calls)
    proposed = None if doubt.value is None else _with(calls, doubt, doubt.value)
    return _Pending(question, proposed, doubt, calls)


def _question(doubts: Sequence[Doubt]) -> str:
    """The question about a reply's doubtful arguments: about the first, before others one for which nothing can be
    proposed, or about all where they are names, because a yes runs all of them."""
    if len(doubts) > 1 and all(one.texts for one in doubts):
        return _meant([text for one in doubts for text in one.texts])
    return next((one for one in doubts if one.value is None), doubts[0]).question


def _which(parameter: str) -> str:
    return f"Which {parameter.replace('_', ' ')} do you mean?"


def _meant(texts: Sequence[str]) -> str:
    *names, last = map(with_article, dict.fromkeys(texts))
    return f"Did you mean {', '.join(names)}{' and ' if names else ''}{last}? {SAY_YES}"


def _may_mean(doubt: Doubt, tool: Tool | None, said: Said) -> bool:
    """True if any word may have meant a name that nobody said: "fone", but none of "turn the light on". One of a few
    values may be meant by any."""
    schema = {} if tool is None else tool.parameters.get("properties", {}).get(doubt.parameter, {})
    classes = lists("classes")
    if tool is None or not doubt.texts or said.calls or "enum" in schema or doubt.parameter in classes.function_words:
        return True
    known = classes.function_words | classes.verbs | classes.directions | classes.endings
    known |= words_in((tool.name.replace("_", " "), tool.description))
    return any(not (word in known or is_number(word)) for word in said.words)


def _is_of_all(at: int, name: str, calls: Sequence[ToolCall], tool: Tool, said: Said) -> bool:
    """True if a call is one of several that differ in this argument alone, and all of that kind are meant: "all the
    lights off". What moves or destroys is asked about all the same."""
    if tool.traits.motion or tool.traits.destructive or NEGATIONS.search(" ".join(said.words)):
        return False
    same = [one.arguments for one in calls if one.name == calls[at].name]
    values = {str(arguments.get(name)) for arguments in same}
    rest = [{key: value for key, value in arguments.items() if key != name} for arguments in same]
    each = len(values) == len(same) > 1 and all(one == rest[0] for one in rest)
    return each and not _EVERY.isdisjoint(said.words)


def _with(calls: tuple[ToolCall, ...], doubt: Doubt, value: Any) -> tuple[ToolCall, ...]:
    """The calls with another value for the doubtful argument."""
    changed = calls[doubt.call]
    changed = replace(changed, arguments={**changed.arguments, doubt.parameter: value}, raw=None)
    return (*calls[: doubt.call], changed, *calls[doubt.call + 1 :])


def _with_number(pending: _Pending, said: Said, ctx: AgentContext) -> tuple[ToolCall, ...] | None:
    """The calls with the number that was said in answer; None where none was, or more than that."""
    doubt = pending.doubt
    if doubt is None or len(said.amounts) != 1 or lists("classes").verbs & set(said.words) - {"make"}:
        return None
    amount = said.amounts[0]
    if amount.vague or has_unread(said.words, said.amounts):
        return None
    call = pending.proposed[doubt.call]
    tool = ctx.tool_of(call)
    schema = {} if tool is None else tool.parameters.get("properties", {}).get(doubt.parameter, {})
    if number_for(call.arguments.get(doubt.parameter), schema) is None or not may_be(amount, doubt.parameter):
        return None
    if len(said.words) - 1 - (amount.end - amount.start) > _ANSWER_WORDS:
        return None
    beside = {*said.words[: amount.start], *said.words[amount.end :]}
    if beside - _WITH_A_NUMBER - pending.words - UNITS:
        return None
    sign = sign_with(amount, said.words, None if tool is None else ways_of(tool, doubt.parameter)) or doubt.sign
    return _with(pending.proposed, doubt, in_unit(amount, doubt.parameter, sign, schema))
