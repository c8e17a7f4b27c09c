"""Doubts about the arguments of a small model's calls: numbers and names that nobody has said.

Knows no question that is open; pure functions of a conversation, on any thread.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

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
from edgeagent.english.number_words import UNITS
from edgeagent.english.tokens import (
    NEGATIONS,
    alike,
    has_english,
    is_named,
    left_out,
    naming_words,
    parts_of,
    words_of,
)
from edgeagent.english.word_data import begins_with, is_number, lists
from edgeagent.hooks.call_wording import is_figure, proposal, ways_of
from edgeagent.hooks.grounded_reply import bare
from edgeagent.messages import PEOPLE, Message, ToolCall
from edgeagent.tools import Tool

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
_RANGES: Final = frozenset({"to", "through", "until", "till"})
"""Words between the first and the last number of a range."""
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
MARKS: Final = re.compile(r"[][{}<>|\\]")
"""Signs of JSON and of chat templates, which no name has unless a person typed them."""
CORRECTS: Final = frozenset("no not nope sorry actually wait oh i mean meant rather make it".split())
"""Words between a unit and the one that takes its place."""


@dataclass(frozen=True, slots=True)
class Said:
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
    def of(cls, history: Sequence[Message]) -> Said:
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
                mark for one in history if one.role == "tool" or _is_persons(one) for mark in MARKS.findall(one.text)
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
    return [words[at]] if between and words[at + 1] in UNITS and set(between) <= CORRECTS else []


def _is_persons(message: Message) -> bool:
    return message.role == "user" and message.origin in PEOPLE


@dataclass(frozen=True, slots=True)
class Doubt:
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


def doubted_number(at: int, tool: Tool, name: str, value: float, said: Said, calls: Sequence[ToolCall]) -> Doubt | None:
    """The doubt about a number; None where it is known where it comes from."""
    directions = ways_of(tool, name)
    if unit_of(name) is None and value in counted(said.words):
        return None
    if directions is not None and _goes_on(tool, name, value, said):
        back = int(-value) if value == int(value) else -value
        return Doubt(at, name, back, proposal(tool, name, back), -1 if value > 0 else 1)
    of_this = [amount for amount in said.known if is_amount(amount, name, value)]
    if not of_this and _changes_last(tool, name, value, said):
        return None
    if of_this:
        signs = {sign_with(amount, said.words, directions) for amount in of_this}
        if _fits(value, signs, directions, said) or _goes_back(tool, name, value, said, calls[: len(said.calls) + at]):
            return None
    unused = [one for one in said.amounts if may_be(one, name) and not _is_used(one, calls, said)]
    if not of_this and not unused and not has_unread(said.words, said.amounts):
        unit = unit_of(name)
        factor = said_times(said.words, said.amounts)
        usual = unit is not None and is_usual(value * unit[1], unit[0], said.words, moves=tool.traits.motion)
        usual = usual or is_bearing(value, name, said.words)
        before = any(is_amount(one, name, value) or is_amount(one, name, value / factor) for one in said.earlier)
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
        sign = sign_with(amount, said.words, directions) or 1
        proposed = in_unit(amount, name, sign, tool.parameters["properties"][name])
        return Doubt(at, name, proposed, proposal(tool, name, proposed), sign)
    sign = 0 if directions is None else sign_of(said.words, directions[0][1], directions[1][1])
    unit = unit_of(name)
    question = _ASKED.get(unit[0] if unit else "", f"What {name.replace('_', ' ')} do you mean?")
    return Doubt(at, name, None, question, sign or (-1 if value < 0 else 1))


def doubted_way(
    at: int, tool: Tool, name: str, value: float, said: Said, before: Sequence[Tool | None]
) -> Doubt | None:
    """The doubt about a number that was said for a way to the side, "go left for a meter", where the tool knows only
    forward and back, and nothing turns the robot first.

    Args:
        before: Tools that are called before.
    """
    directions = ways_of(tool, name)
    if directions is None or directions[0][0] != _AHEAD or any(one is not None and _turns(one) for one in before):
        return None
    clauses = [set(clause(said.words, one)) for one in said.amounts if is_amount(one, name, value)]
    ahead = directions[0][1] | directions[1][1] | _TURNING
    if not clauses or any(ahead & words or not _SIDES & words for words in clauses):
        return None
    proposed = int(value) if value == int(value) else value  # a whole number may be all that the parameter takes
    return Doubt(at, name, proposed, f"I can't go to the side. {proposal(tool, name, value)}")


def _turns(tool: Tool) -> bool:
    """True if a parameter of a tool is a way to the left or right."""
    ways = (ways_of(tool, name) for name in tool.parameters.get("properties", {}))
    return any(way is not None and way[0][0] in _SIDES for way in ways)


def _fits(value: float, signs: set[int], directions: Directions | None, said: Said) -> bool:
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


def _goes_back(tool: Tool, name: str, value: float, said: Said, before: Sequence[ToolCall]) -> bool:
    """True if a value takes back what an earlier call does, and "back" was said: "forward two meters and back"."""
    ways = [one.arguments.get(name) for one in before if one.name == tool.name]
    return _BACK in said.words and any(is_figure(way) and way == -value for way in ways)


def _goes_on(tool: Tool, name: str, value: float, said: Said) -> bool:
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


def _takes_back(tool: Tool, name: str, value: float, factor: float, said: Said, now: Sequence[ToolCall]) -> bool:
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


def is_other_side(text: str, said: Said) -> bool:
    """True if a text is the contrary of what the last call of earlier turns took, as was said: "now the other side"."""
    taken = {value for call in said.earlier_calls[-1:] for value in call.arguments.values() if isinstance(value, str)}
    sides = [(one, other) for (_, one), (_, other) in PAIRS]
    sides += [(other, one) for one, other in sides]
    forbidden = NEGATIONS.search(" ".join(said.words)) is not None
    return _says_other_way(said.words) and not forbidden and any(text in one and taken & other for one, other in sides)


def _changes_last(tool: Tool, name: str, value: float, said: Said) -> bool:
    """True if a value is a number that was said in the unit of the last call, which it changes: "make it ten"."""
    unit = unit_of(name)
    if unit is None or value <= 0 or not said.earlier_calls or said.earlier_calls[-1].name != tool.name:
        return False
    if lists("classes").verbs & set(said.words) - {"make"}:
        return False
    return any(amount.dimension == unit[0] and is_amount(amount, name, value) for amount in said.changed)


def sign_with(amount: Amount, words: Sequence[str], directions: Directions | None) -> int:
    """1 or -1 for the direction that was said with an amount; 0 where none was."""
    told = 0 if directions is None else sign_of(clause(words, amount), directions[0][1], directions[1][1])
    if amount.negative:
        return 0 if told < 0 else -1
    return told


def may_be(amount: Amount, name: str) -> bool:
    """True if a parameter may be given by an amount, by their units."""
    unit = unit_of(name)
    return amount.dimension != "times" and (unit is None or amount.dimension in (unit[0], ""))


def is_amount(amount: Amount, name: str, value: float) -> bool:
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


def _is_used(amount: Amount, calls: Sequence[ToolCall], said: Said) -> bool:
    """True if any call has an amount, or one that follows from it, as an argument."""
    same = [one for one in said.known if one.start <= amount.start and amount.end <= one.end]
    numbers = [(name, value) for call in calls for name, value in call.arguments.items() if is_figure(value)]
    return any(is_amount(one, name, float(value)) for one in same for name, value in numbers)


def in_unit(amount: Amount, name: str, sign: int, schema: Mapping[str, Any]) -> float | int:
    """An amount as the value of a parameter."""
    unit = unit_of(name)
    value = amount.bare if unit is None or not amount.dimension else amount.value / unit[1]
    value = round(sign * value, 3)
    return int(value) if value == int(value) or schema.get("type") == "integer" else value


def is_a_name(value: str, schema: Mapping[str, Any]) -> bool:
    """True if a text names something; a longer one is what a model words itself."""
    return "enum" in schema or 0 < len(value.split()) <= _NAME_WORDS


def is_left_out(text: str, said: Said) -> bool:
    """True if a name is left out of what is asked for, and not said beside that: the cup in "bring the cup without
    spilling coffee"."""
    if not said.left_out or not is_named(text, said.left_out):
        return False
    return not set(words_of(text)) <= set(said.words) - said.left_out


def keeps_so(call: ToolCall, said: Said) -> bool:
    """True if a call switches as something is to be left: on at "leave the kitchen light on"."""
    keeps = [at for at, word in enumerate(said.words) if word in lists("follow_ups").keeps]
    kept = [next((word for word in said.words[at:] if word in ("on", "off")), "") for at in keeps]
    states = [value for value in call.arguments.values() if isinstance(value, bool)]
    return kept == [("off", "on")[state] for state in states] and len(states) == 1


def figures(text: str) -> set[str]:
    """The numbers in a name: a code is only right with its own."""
    return {word for word in words_of(text) if not word.isalpha()}


def is_said(value: float, said: Said) -> bool:
    """True if a number of a list was said, or lies in a range that was."""
    if value in counted(said.words) or any(value == one.bare for one in (*said.known, *said.earlier)):
        return True
    return any(
        first.bare <= value <= last.bare and _RANGES & set(said.words[first.end : last.start])
        for first, last in pairwise(said.amounts)
    )


def required(tool: Tool) -> Collection[str]:
    """The names of the parameters that a call needs."""
    return tuple(tool.parameters.get("required", ()))


def number_for(value: object, schema: Mapping[str, Any]) -> float | None:
    """The number that an argument is, also one that a model wrote as text."""
    if is_figure(value):
        return float(value)
    if isinstance(value, str) and schema.get("type") in ("number", "integer"):
        try:
            return float(value)
        except ValueError:
            return None
    return None
