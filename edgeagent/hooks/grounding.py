"""Arguments that nobody has given are asked about: a number, a place or an object that a small model has made up.

A hook at AFTER_LLM, on the loop's thread: nothing of a reply runs before all of it is judged.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from edgeagent.context import AgentContext
from edgeagent.english.amounts import (
    PAIRS,
    Amount,
    Directions,
    amounts_of,
    clause,
    counted,
    derived,
    has_unread,
    in_other_units,
    in_units_of,
    is_bearing,
    is_usual,
    said_times,
    sign_of,
    unit_of,
)
from edgeagent.english.answers import is_backchannel, yes_or_no
from edgeagent.english.number_words import UNITS
from edgeagent.english.sentence_rules import is_question
from edgeagent.english.stop_phrases import StopPhrases
from edgeagent.english.tokens import (
    NEGATIONS,
    alike,
    has_english,
    is_named,
    left_out,
    naming_words,
    parts_of,
    words_in,
    words_of,
)
from edgeagent.english.word_data import begins_with, is_number, lists
from edgeagent.hooks.call_wording import SAY_YES, is_figure, proposal, ways_of, with_article, wording
from edgeagent.hooks.contradictions import Contradiction, contradiction
from edgeagent.hooks.grounded_reply import Retelling, bare
from edgeagent.hooks.hook import AfterLLM, BaseHook, FirePoint, HookResult, Payload
from edgeagent.messages import PEOPLE, Message, ToolCall
from edgeagent.tools import Tool

logger = logging.getLogger(__name__)

LIMITS: Final[dict[str, float]] = {"length": 10.0, "angle": 720.0}
"""Meters and degrees above which a motion is read back before it begins."""
_NOT_DONE: Final = "Okay, I will not do that."
_ASKED: Final[dict[str, str]] = {
    "length": "How far?",
    "angle": "How many degrees?",
    "time": "How long?",
    "percent": "How many percent?",
    "volume": "How many liters?",
    "mass": "How many kilograms?",
}
_NAME_WORDS: Final = 4
"""Words of the longest text that is taken for a name; a longer one is prose, which a model words itself."""
_MARKS: Final = re.compile(r"[][{}<>|\\]")
"""Signs of JSON and of chat templates, which no name has unless a person typed them."""
_RANGES: Final = frozenset({"to", "through", "until", "till"})
"""Words between the first and the last number of a range."""
_EVERY: Final = frozenset({"all", "both", "each", "every", "everything", "everywhere"})
"""Words by which more is meant than the one that a call names."""
_HANDOFF: Final = "handoff_to_"
_LESS: Final = lists("follow_ups").phrases("less")
_COMPARES: Final = lists("follow_ups").compares
_BACK: Final = "back"
"""The word of a way there and back, whose second call has the other direction."""
_SOUNDS_LIKE: Final = {word: number for word, number in lists("heard").table("sounds_like").items() if word != "for"}
"""Words that are written for a number."""
_AHEAD: Final = "forward"
_SIDES: Final = lists("amounts").left | lists("amounts").right
_TURNING: Final = lists("numbers").turning - _SIDES
"""Words of a turn, which may be told beside a way: "turn left, one meter"."""
_DONE: Final = ("ok", "detached")
_HOUR: Final = "hour"
_AFTER_NOON: Final = 12
"""Hours that "5 pm" may be later than five."""
_EXACT: Final = 0.001
_ROUNDED: Final = 0.03
"""Share by which a third, or another part of what was done before, may be rounded."""
_CORRECTS: Final = frozenset("no not nope sorry actually wait oh i mean meant rather make it".split())
"""Words between a unit and the one that takes its place."""
_WITH_A_NUMBER: Final = lists("follow_ups").beside_a_number | _CORRECTS
"""Words that may stand in an answer beside its number, and say nothing else."""
_HOLDS: Final = StopPhrases()
_ANSWER_WORDS: Final = 4
"""Words beside the number in "make it two meters please"."""


@dataclass(frozen=True, slots=True)
class _Said:
    """Sources of the arguments of a reply.

    Attributes:
        words: Of the person, since the robot's last answer.
        amounts: In them.
        known: The same and what follows from them: sums, and products with "three times".
        changed: Those without a unit, in the units of what was said before, and figures of before in units of now.
        calls: Made since then.
        earlier_calls: Made before, and done.
        earlier: Amounts in earlier turns and in results.
        names: Words of all of that.
        marks: Signs of JSON and of chat templates in all of that.
    """

    words: list[str]
    amounts: list[Amount]
    known: list[Amount]
    changed: list[Amount]
    calls: tuple[ToolCall, ...]
    earlier_calls: tuple[ToolCall, ...]
    earlier: list[Amount]
    earlier_words: list[str]
    names: frozenset[str]
    marks: frozenset[str]
    asked: str
    """The robot's last answer, right before."""
    text: str
    """Words of the person in one message; empty if in several."""
    left_out: frozenset[str]
    """Those that name what is left out: "all lights off except the kitchen"."""

    @classmethod
    def of(cls, history: Sequence[Message]) -> _Said:
        answers = (at for at, one in enumerate(history) if one.role == "assistant" and not one.tool_calls)
        begin = max(answers, default=-1) + 1
        now, before = history[begin:], history[:begin]
        said = [one.text for one in now if _is_persons(one)]
        words = _with_numbers([word for text in said for word in (*words_of(text), "and")])
        told = [part for one in history if one.role == "tool" for part in parts_of(one.text)]
        earlier = [one.text for one in before if _is_persons(one)]
        amounts = amounts_of(words)
        done = {one.call_id for one in before if one.role == "tool" and one.status in _DONE}
        return cls(
            words=words,
            amounts=amounts,
            known=[*amounts, *derived(amounts, words)],
            changed=[*in_units_of(amounts, earlier), *in_other_units(words, earlier)],
            calls=tuple(call for one in now for call in one.tool_calls),
            earlier_calls=tuple(call for one in before for call in one.tool_calls if call.id in done),
            earlier=[amount for text in (*earlier, *told) for amount in amounts_of(words_of(text))]
            + [
                bare(value)
                for one in history
                for call in one.tool_calls
                for value in call.arguments.values()
                if is_figure(value)
            ],
            earlier_words=[word for text in earlier for word in words_of(text)],
            names=naming_words((*said, *told, *earlier)),
            marks=frozenset(
                mark for one in history if one.role == "tool" or _is_persons(one) for mark in _MARKS.findall(one.text)
            ),
            asked=before[-1].text if before else "",
            text=said[0] if len(said) == 1 else "",
            left_out=left_out(words),
        )


def _with_numbers(words: list[str]) -> list[str]:
    """The words, with a number for one that sounds like it and stands before a unit: "too meters". "For" is none.

    A unit with typing errors behind a number is spelt, and one that corrects another gets its number: "10 mintues",
    "20 seconds, no, minutes".
    """
    found: list[str] = []
    for word, after in zip(words, [*words, ""][1:], strict=True):
        counted_here = bool(found) and is_number(found[-1])
        spelt = _as_unit(word) if counted_here else word
        if spelt in UNITS and not counted_here:
            found += _corrected(found)
        found.append(_SOUNDS_LIKE[spelt] if spelt in _SOUNDS_LIKE and after in UNITS else spelt)
    return found


def _as_unit(word: str) -> str:
    """The unit that a word with typing errors is like; else the word."""
    if word in UNITS or has_english(word):
        return word
    return next((unit for unit in UNITS if alike(word, unit)), word)


def _corrected(words: list[str]) -> list[str]:
    """The number whose unit the next word takes the place of, after "20 seconds, no"; nothing where none does."""
    at = max((at for at, one in enumerate(words) if is_number(one)), default=len(words))
    between = words[at + 2 :]
    return [words[at]] if between and words[at + 1] in UNITS and set(between) <= _CORRECTS else []


def _is_persons(message: Message) -> bool:
    return message.role == "user" and message.origin in PEOPLE


@dataclass(frozen=True, slots=True)
class _Doubt:
    """An argument that is asked about.

    Attributes:
        call: Its index in the reply.
        parameter: Its name.
        value: What is proposed instead; None where nobody knows.
        question: What the robot says.
        sign: Of a number that is said in answer.
        texts: Names in ``value`` that come from nowhere.
    """

    call: int
    parameter: str
    value: Any
    question: str
    sign: int = 1
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pending:
    """Calls that a yes, or a number, makes run."""

    question: str
    calls: tuple[ToolCall, ...] | None
    """Calls that a yes means; None: nothing was proposed."""
    doubt: _Doubt | None
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
        said = _Said.of(ctx.history())
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
        self, pending: _Pending, calls: Sequence[ToolCall], said: _Said, ctx: AgentContext
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

    def _doubts(self, calls: Sequence[ToolCall], said: _Said, ctx: AgentContext) -> Iterator[_Doubt]:
        every = (*said.calls, *calls)
        for at, call in enumerate(calls):
            tool = ctx.tool_of(call)
            if tool is None or tool.traits.question or tool.name.startswith(_HANDOFF):
                continue
            told = replace(said, left_out=frozenset()) if _keeps_so(call, said) else said
            for name, schema in tool.parameters.get("properties", {}).items():
                value = call.arguments.get(name)
                if value in (None, schema.get("default")) or (value == "" and name not in _required(tool)):
                    continue
                if (number := _number_for(value, schema)) is not None:
                    before = [ctx.tool_of(one) for one in every[: len(said.calls) + at]]
                    doubt = _doubted_number(at, tool, name, number, said, every)
                    if doubt := doubt or _doubted_way(at, tool, name, number, said, before):
                        yield doubt
                elif isinstance(value, list) and not all(_is_said(one, said) for one in value if is_figure(one)):
                    yield _Doubt(at, name, None, _which(name))
                elif (doubt := self._doubted_texts(at, name, value, schema, told)) and not (
                    doubt.texts and _is_of_all(at, name, calls, tool, said)
                ):
                    yield doubt

    def _doubted_texts(self, at: int, name: str, value: Any, schema: Mapping[str, Any], said: _Said) -> _Doubt | None:
        """The doubt about a text, or about the texts of a list; None where it is known from where each comes."""
        texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        if any(not text.strip() or set(_MARKS.findall(text)) - said.marks for text in texts):
            return _Doubt(at, name, None, f"Which {name.replace('_', ' ')} do you mean?")
        names = [text for text in texts if _is_a_name(text, schema)]
        if any(_is_left_out(text, said) for text in names):
            return _Doubt(at, name, None, f"Which {name.replace('_', ' ')} do you mean?")
        doubtful = [text for text in names if not self._is_named(text, said)]
        if not doubtful:
            return None
        return _Doubt(at, name, value, _meant(doubtful), texts=tuple(doubtful))

    def _is_named(self, text: str, said: _Said) -> bool:
        others = self._other_names.get(text.casefold(), ())
        named = is_named(text, said.names, others) and said.names | set(others) >= _figures(text)
        return named or _is_other_side(text, said)

    def _read_back(self, calls: Sequence[ToolCall], ctx: AgentContext) -> str:
        """Returns the question that is asked before a long way; empty where none is."""
        told, long = [], False
        for call in calls:
            tool = ctx.tool_of(call)
            properties = {} if tool is None else tool.parameters.get("properties", {})
            for name, schema in properties.items():
                number = _number_for(call.arguments.get(name), schema)
                if tool is not None and tool.traits.motion and number is not None:
                    told.append(wording(tool, name, number))
                    long = long or abs(number) > self._limit(name)
        text = ", then ".join(told)
        return f"{text[:1].upper()}{text[1:]}? {SAY_YES}" if long else ""

    def _of_way(self, question: str, calls: tuple[ToolCall, ...], ctx: AgentContext) -> _Pending:
        """The question about a long way, whose number an answer may exchange where it is the only one: "no, 3"."""
        long = [
            _Doubt(at, name, number, question, -1 if number < 0 else 1)
            for at, call in enumerate(calls)
            if (tool := ctx.tool_of(call)) is not None and tool.traits.motion
            for name, schema in tool.parameters.get("properties", {}).items()
            if (number := _number_for(call.arguments.get(name), schema)) is not None and abs(number) > self._limit(name)
        ]
        return _Pending(question, calls, long[0] if len(long) == 1 else None, calls)

    def _limit(self, name: str) -> float:
        if name in self._limits:
            return self._limits[name]
        unit = unit_of(name)
        return LIMITS[unit[0]] / unit[1] if unit is not None and unit[0] in LIMITS else float("inf")


def _converted(call: ToolCall, said: _Said, ctx: AgentContext) -> ToolCall:
    """The call, with a number in its parameter's unit where it was copied from one that was said in another unit."""
    tool = ctx.tool_of(call)
    properties = {} if tool is None else tool.parameters.get("properties", {})
    changed: dict[str, float | int] = {}
    for name, schema in properties.items():
        value, unit = _number_for(call.arguments.get(name), schema), unit_of(name)
        if value is None or unit is None or any(_is(one, name, value) for one in said.known):
            continue
        copied = [one for one in said.amounts if one.dimension == unit[0] and one.bare == abs(value) and not one.vague]
        if len(copied) == 1:
            meant = copied[0].value / unit[1]
            if schema.get("type") != "integer" or math.isclose(meant, round(meant)):
                changed[name] = _in_unit(copied[0], name, -1 if value < 0 else 1, schema)
    return replace(call, arguments={**call.arguments, **changed}, raw=None) if changed else call


def _is_asked(pending: _Pending, said: _Said) -> bool:
    """True if what is said now may answer an open question."""
    return bool(said.text) and said.asked.strip().startswith(pending.question.removesuffix(SAY_YES).strip())


def _corrects(calls: Sequence[ToolCall], said: _Said) -> bool:
    """True if calls take what is named beside a no: "no, the keys"."""
    return not NEGATIONS.search(said.text) and any(_is_told(call, said) for call in calls)


def _chosen(pending: _Pending, said: _Said) -> tuple[ToolCall, ...]:
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


def _answers_nothing(pending: _Pending, calls: Sequence[ToolCall], said: _Said) -> bool:
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
    takes_one = any((call.name, call.arguments) in made for call in calls)
    return takes_one and (tells or not any(_is_told(call, said) for call in calls))


def _is_told(call: ToolCall, said: _Said) -> bool:
    """True if words name a text of a call."""
    return any(isinstance(value, str) and is_named(value, frozenset(said.words)) for value in call.arguments.values())


def _begun(pending: _Pending, calls: Sequence[ToolCall], said: _Said, ctx: AgentContext) -> tuple[ToolCall, ...]:
    """The calls that come before one to a place, where it was asked for: "Where should I come back to?"."""
    other = lists("follow_ups").in_place | (lists("classes").verbs - lists("follow_ups").comes_back)
    if pending.contradiction is None or other & set(said.words) or yes_or_no(said.text) is not None:
        return ()
    return pending.contradiction.begun if any(_goes(call, ctx) for call in calls) else ()


def _goes(call: ToolCall, ctx: AgentContext) -> bool:
    """True for a motion that no number tells."""
    tool = ctx.tool_of(call)
    return tool is not None and tool.traits.motion and not any(map(is_figure, call.arguments.values()))


def _contradiction(calls: Sequence[ToolCall], said: _Said, ctx: AgentContext) -> Contradiction | None:
    if said.calls:
        return None
    called = [(call, tool) for call in calls if (tool := ctx.tool_of(call)) is not None]
    return contradiction(called, said.words, said.amounts)


def _pending(question: str, calls: tuple[ToolCall, ...], doubts: Sequence[_Doubt]) -> _Pending:
    if len(doubts) > 1 and all(one.texts for one in doubts):
        return _Pending(question, calls, None, calls)
    doubt = doubts[0] if len(doubts) == 1 else None
    if doubt is None:
        return _Pending(question, None, None, calls)
    proposed = None if doubt.value is None else _with(calls, doubt, doubt.value)
    return _Pending(question, proposed, doubt, calls)


def _question(doubts: Sequence[_Doubt]) -> str:
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


def _may_mean(doubt: _Doubt, tool: Tool | None, said: _Said) -> bool:
    """True if any word may have meant a name that nobody said: "fone", but none of "turn the light on". One of a few
    values may be meant by any."""
    schema = {} if tool is None else tool.parameters.get("properties", {}).get(doubt.parameter, {})
    classes = lists("classes")
    if tool is None or not doubt.texts or said.calls or "enum" in schema or doubt.parameter in classes.function_words:
        return True
    known = classes.function_words | classes.verbs | classes.directions | classes.endings
    known |= words_in((tool.name.replace("_", " "), tool.description))
    return any(not (word in known or is_number(word)) for word in said.words)


def _is_of_all(at: int, name: str, calls: Sequence[ToolCall], tool: Tool, said: _Said) -> bool:
    """True if a call is one of several that differ in this argument alone, and all of that kind are meant: "all the
    lights off". What moves or destroys is asked about all the same."""
    if tool.traits.motion or tool.traits.destructive or NEGATIONS.search(" ".join(said.words)):
        return False
    same = [one.arguments for one in calls if one.name == calls[at].name]
    values = {str(arguments.get(name)) for arguments in same}
    rest = [{key: value for key, value in arguments.items() if key != name} for arguments in same]
    each = len(values) == len(same) > 1 and all(one == rest[0] for one in rest)
    return each and not _EVERY.isdisjoint(said.words)


def _with(calls: tuple[ToolCall, ...], doubt: _Doubt, value: Any) -> tuple[ToolCall, ...]:
    """The calls with another value for the doubtful argument."""
    changed = calls[doubt.call]
    changed = replace(changed, arguments={**changed.arguments, doubt.parameter: value}, raw=None)
    return (*calls[: doubt.call], changed, *calls[doubt.call + 1 :])


def _with_number(pending: _Pending, said: _Said, ctx: AgentContext) -> tuple[ToolCall, ...] | None:
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
    if _number_for(call.arguments.get(doubt.parameter), schema) is None or not _may_be(amount, doubt.parameter):
        return None
    if len(said.words) - 1 - (amount.end - amount.start) > _ANSWER_WORDS:
        return None
    beside = {*said.words[: amount.start], *said.words[amount.end :]}
    if beside - _WITH_A_NUMBER - pending.words - UNITS:
        return None
    sign = _sign(amount, said.words, None if tool is None else ways_of(tool, doubt.parameter)) or doubt.sign
    return _with(pending.proposed, doubt, _in_unit(amount, doubt.parameter, sign, schema))


def _doubted_number(
    at: int, tool: Tool, name: str, value: float, said: _Said, calls: Sequence[ToolCall]
) -> _Doubt | None:
    """The doubt about a number; None where it is known where it comes from."""
    directions = ways_of(tool, name)
    if unit_of(name) is None and value in counted(said.words):
        return None
    if directions is not None and _goes_on(tool, name, value, said):
        back = int(-value) if value == int(value) else -value
        return _Doubt(at, name, back, proposal(tool, name, back), -1 if value > 0 else 1)
    of_this = [amount for amount in said.known if _is(amount, name, value)]
    if not of_this and _changes_last(tool, name, value, said):
        return None
    if of_this:
        signs = {_sign(amount, said.words, directions) for amount in of_this}
        if _fits(value, signs, directions, said) or _goes_back(tool, name, value, said, calls[: len(said.calls) + at]):
            return None
    unused = [one for one in said.amounts if _may_be(one, name) and not _is_used(one, calls, said)]
    if not of_this and not unused and not has_unread(said.words, said.amounts):
        unit = unit_of(name)
        factor = said_times(said.words, said.amounts)
        usual = unit is not None and is_usual(value * unit[1], unit[0], said.words, moves=tool.traits.motion)
        usual = usual or is_bearing(value, name, said.words)
        before = any(_is(one, name, value) or _is(one, name, value / factor) for one in said.earlier)
        sign = 0 if directions is None else sign_of(said.words, directions[0][1], directions[1][1])
        # "drive at 0.5 m/s" is no way of half a meter; "take one step" may be one of a meter
        copied = any(one.dimension == "other" and one.bare == abs(value) != 1 for one in said.amounts)
        if (usual or before) and not copied and _fits(value, {sign}, directions, said):
            return None
        if _takes_back(tool, name, value, factor, said, calls[: len(said.calls) + at]):
            return None
    strange = any(one.dimension == "other" for one in said.amounts)  # "3 steps of 0.5 meters" are no half meter
    offered = [] if strange else [one for one in (of_this or unused) if one.dimension != "times"]
    if len({one.value for one in offered}) == 1 and not any(one.vague for one in offered):
        amount = offered[0]
        sign = _sign(amount, said.words, directions) or 1
        proposed = _in_unit(amount, name, sign, tool.parameters["properties"][name])
        return _Doubt(at, name, proposed, proposal(tool, name, proposed), sign)
    sign = 0 if directions is None else sign_of(said.words, directions[0][1], directions[1][1])
    unit = unit_of(name)
    question = _ASKED.get(unit[0] if unit else "", f"What {name.replace('_', ' ')} do you mean?")
    return _Doubt(at, name, None, question, sign or (-1 if value < 0 else 1))


def _doubted_way(
    at: int, tool: Tool, name: str, value: float, said: _Said, before: Sequence[Tool | None]
) -> _Doubt | None:
    """The doubt about a number that was said for a way to the side, "go left for a meter", where the tool knows only
    forward and back, and nothing turns the robot first.

    Args:
        before: Tools that are called before.
    """
    directions = ways_of(tool, name)
    if directions is None or directions[0][0] != _AHEAD or any(one is not None and _turns(one) for one in before):
        return None
    clauses = [set(clause(said.words, one)) for one in said.amounts if _is(one, name, value)]
    ahead = directions[0][1] | directions[1][1] | _TURNING
    if not clauses or any(ahead & words or not _SIDES & words for words in clauses):
        return None
    proposed = int(value) if value == int(value) else value  # a whole number may be all that the parameter takes
    return _Doubt(at, name, proposed, f"I can't go to the side. {proposal(tool, name, value)}")


def _turns(tool: Tool) -> bool:
    """True if a parameter of a tool is a way to the left or right."""
    ways = (ways_of(tool, name) for name in tool.parameters.get("properties", {}))
    return any(way is not None and way[0][0] in _SIDES for way in ways)


def _fits(value: float, signs: set[int], directions: Directions | None, said: _Said) -> bool:
    """True if the sign of a value is one that was said, now or in an earlier turn."""
    sign = -1 if value < 0 else 1
    if value == 0 or sign in signs:
        return True
    if 0 not in signs:
        return False
    if sign > 0 or directions is None:
        return sign > 0
    (_, _), (_, negative) = directions
    return bool(negative & {*said.words, *said.earlier_words})


def _goes_back(tool: Tool, name: str, value: float, said: _Said, before: Sequence[ToolCall]) -> bool:
    """True if a value takes back what an earlier call does, and "back" was said: "forward two meters and back"."""
    ways = [one.arguments.get(name) for one in before if one.name == tool.name]
    return _BACK in said.words and any(is_figure(way) and way == -value for way in ways)


def _goes_on(tool: Tool, name: str, value: float, said: _Said) -> bool:
    """True if a value does more of what the last call of earlier turns did, where less was said: "a bit less"."""
    if not said.earlier_calls or said.earlier_calls[-1].name != tool.name or said.calls:
        return False
    way: Any = said.earlier_calls[-1].arguments.get(name)
    ways = ways_of(tool, name)
    told = 0 if ways is None else sign_of(said.words, ways[0][1], ways[1][1])
    if told * value > 0 or NEGATIONS.search(" ".join(said.words)):  # "forward, but not too far"
        return False
    less = any(begins_with(said.words[at:], _LESS) for at in range(len(said.words)))
    return is_figure(way) and way * value > 0 and less and not _COMPARES & set(said.words)


def _takes_back(tool: Tool, name: str, value: float, factor: float, said: _Said, now: Sequence[ToolCall]) -> bool:
    """True if a value takes back what the tool's last call of earlier turns did, as was said: "now the other way".

    Args:
        factor: By how much what was done is changed: "half of it back".
        now: Calls of this turn, of which none may have done so.
    """
    directions = ways_of(tool, name)
    ways: list[Any] = [one.arguments.get(name) for one in said.earlier_calls if one.name == tool.name]
    if directions is None or not ways or not is_figure(ways[-1]) or any(one.name == tool.name for one in now):
        return False
    rounded = _ROUNDED if factor != 1 else _EXACT
    if not math.isfinite(value) or not math.isclose(value, -factor * ways[-1], rel_tol=rounded):
        return False
    told = sign_of(said.words, directions[0][1], directions[1][1])
    back = lists("amounts").reversing & set(said.words)
    other = _says_other_way(said.words)
    forbidden = NEGATIONS.search(" ".join(said.words)) is not None
    # "drive back" after a way back is no way forward
    return bool(back or other) and told in (0, -1 if value < 0 else 1) and not forbidden


def _says_other_way(words: Sequence[str]) -> bool:
    return any(one == "other" and way in lists("amounts").other_way for one, way in pairwise(words))


def _is_other_side(text: str, said: _Said) -> bool:
    """True if a text is the contrary of what the last call of earlier turns took, as was said: "now the other side"."""
    taken = {value for call in said.earlier_calls[-1:] for value in call.arguments.values() if isinstance(value, str)}
    sides = [(one, other) for (_, one), (_, other) in PAIRS]
    sides += [(other, one) for one, other in sides]
    forbidden = NEGATIONS.search(" ".join(said.words)) is not None
    return _says_other_way(said.words) and not forbidden and any(text in one and taken & other for one, other in sides)


def _changes_last(tool: Tool, name: str, value: float, said: _Said) -> bool:
    """True if a value is a number that was said in the unit of the last call, which it changes: "make it ten"."""
    unit = unit_of(name)
    if unit is None or value <= 0 or not said.earlier_calls or said.earlier_calls[-1].name != tool.name:
        return False
    if lists("classes").verbs & set(said.words) - {"make"}:
        return False
    return any(amount.dimension == unit[0] and _is(amount, name, value) for amount in said.changed)


def _sign(amount: Amount, words: Sequence[str], directions: Directions | None) -> int:
    """1 or -1 for the direction that was said with an amount; 0 where none was."""
    told = 0 if directions is None else sign_of(clause(words, amount), directions[0][1], directions[1][1])
    if amount.negative:
        return 0 if told < 0 else -1
    return told


def _may_be(amount: Amount, name: str) -> bool:
    """True if a parameter may be given by an amount, by their units."""
    unit = unit_of(name)
    return amount.dimension != "times" and (unit is None or amount.dimension in (unit[0], ""))


def _is(amount: Amount, name: str, value: float) -> bool:
    """True if a parameter's value is an amount, whatever the sign."""
    unit = unit_of(name)
    if amount.vague and (unit is not None or amount.dimension):
        return False
    if unit is None:
        return amount.is_about(value) or replace(amount, value=amount.bare).is_about(value)
    if amount.dimension == unit[0]:
        return amount.is_about(value * unit[1])
    if amount.dimension == "other" and name.lower().rsplit("_", 1)[-1] == _HOUR:
        return value in (amount.bare, amount.bare + _AFTER_NOON)
    return amount.dimension == "" and amount.is_about(value)


def _is_used(amount: Amount, calls: Sequence[ToolCall], said: _Said) -> bool:
    """True if any call has an amount, or one that follows from it, as an argument."""
    same = [one for one in said.known if one.start <= amount.start and amount.end <= one.end]
    numbers = [(name, value) for call in calls for name, value in call.arguments.items() if is_figure(value)]
    return any(_is(one, name, float(value)) for one in same for name, value in numbers)


def _in_unit(amount: Amount, name: str, sign: int, schema: Mapping[str, Any]) -> float | int:
    """An amount as the value of a parameter."""
    unit = unit_of(name)
    value = amount.bare if unit is None or not amount.dimension else amount.value / unit[1]
    value = round(sign * value, 3)
    return int(value) if value == int(value) or schema.get("type") == "integer" else value


def _is_a_name(value: str, schema: Mapping[str, Any]) -> bool:
    """True if a text names something; a longer one is what a model words itself."""
    return "enum" in schema or 0 < len(value.split()) <= _NAME_WORDS


def _is_left_out(text: str, said: _Said) -> bool:
    """True if a name is left out of what is asked for, and not said beside that: the cup in "bring the cup without
    spilling coffee"."""
    if not said.left_out or not is_named(text, said.left_out):
        return False
    return not set(words_of(text)) <= set(said.words) - said.left_out


def _keeps_so(call: ToolCall, said: _Said) -> bool:
    """True if a call switches as something is to be left: on at "leave the kitchen light on"."""
    keeps = [at for at, word in enumerate(said.words) if word in lists("follow_ups").keeps]
    kept = [next((word for word in said.words[at:] if word in ("on", "off")), "") for at in keeps]
    states = [value for value in call.arguments.values() if isinstance(value, bool)]
    return kept == [("off", "on")[state] for state in states] and len(states) == 1


def _figures(text: str) -> set[str]:
    """The numbers in a name: a code is only right with its own."""
    return {word for word in words_of(text) if not word.isalpha()}


def _is_said(value: float, said: _Said) -> bool:
    """True if a number of a list was said, or lies in a range that was."""
    if value in counted(said.words) or any(value == one.bare for one in (*said.known, *said.earlier)):
        return True
    return any(
        first.bare <= value <= last.bare and _RANGES & set(said.words[first.end : last.start])
        for first, last in pairwise(said.amounts)
    )


def _required(tool: Tool) -> Collection[str]:
    return tuple(tool.parameters.get("required", ()))


def _number_for(value: object, schema: Mapping[str, Any]) -> float | None:
    """The number that an argument is, also one that a model wrote as text."""
    if is_figure(value):
        return float(value)  # type: ignore[arg-type]
    if isinstance(value, str) and schema.get("type") in ("number", "integer"):
        try:
            return float(value)
        except ValueError:
            return None
    return None
