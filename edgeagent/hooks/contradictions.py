"""Calls that contradict the words they are made of: one of two things, a way that the robot doesn't know.

A small model does both of what an "or" parts, drives back a meter at "come back", and turns as it likes at "east". Such
calls are asked about. Knows no history; pure functions, on any thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Final

from edgeagent.english.amounts import Amount, sign_of, unit_of
from edgeagent.english.tokens import is_named, words_of
from edgeagent.english.word_data import begins_with, lists
from edgeagent.hooks.call_wording import is_figure, ways_of, with_article
from edgeagent.messages import ToolCall
from edgeagent.tools import Tool

_LISTS: Final = lists("follow_ups")
_WAYS: Final = lists("amounts")
_POINTS: Final = frozenset(_WAYS.table("compass"))
_RETURNS: Final = _LISTS.phrases("returns")
_OR: Final = "or"
_NEAR: Final = 4
"""Words beside an "or" in which the two things are named."""
_QUARTER: Final = 90
"""Degrees of a turn that tells none."""
_NO_SIDE: Final = "I can't go to the side."
_WHERE_TO: Final = "Where should I come back to?"


@dataclass(frozen=True, slots=True)
class Choice:
    """An answer that runs calls."""

    name: str
    calls: tuple[ToolCall, ...]
    words: frozenset[str] = frozenset()
    """Further words for the name."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A question in place of calls.

    Attributes:
        choices: Answers to it. Without any, and without ``begun``, nothing answers it.
        begun: Calls before those that a place in answer makes.
        every: Calls that "both" means.
    """

    question: str
    choices: tuple[Choice, ...] = ()
    begun: tuple[ToolCall, ...] = ()
    every: tuple[ToolCall, ...] = ()


Called = tuple[ToolCall, Tool]
"""A call with its tool."""


def contradiction(called: Sequence[Called], words: Sequence[str], amounts: Sequence[Amount]) -> Contradiction | None:
    """Finds the first contradiction of a reply's calls; None where there is none.

    Args:
        called: All calls of the reply.
        words: Those that the reply answers.
        amounts: In the words.
    """
    found = chain(
        _to_the_side(called, words),
        _either(called, words),
        _back(called, words, amounts),
        _compass(called, words, amounts),
    )
    return next(found, None)


def _to_the_side(called: Sequence[Called], words: Sequence[str]) -> Iterator[Contradiction]:
    """A turn or a way at "strafe left", which no tool names."""
    known = {word for _, tool in called for word in words_of(f"{tool.name} {tool.description}".replace("_", " "))}
    if _WAYS.to_the_side & set(words) - known and any(_directed(*one) for one in called):
        yield Contradiction(_NO_SIDE)


def _either(called: Sequence[Called], words: Sequence[str]) -> Iterator[Contradiction]:
    """Both calls of "the kitchen or the office"."""
    if _LISTS.no_choice & set(words):
        return
    calls = tuple(call for call, _ in called)
    places = [at for at, word in enumerate(words) if word == _OR]
    for first, ((one, tool), (other, _)) in enumerate(pairwise(called)):
        if tool.traits.read_only or one.name != other.name or one.arguments.keys() != other.arguments.keys():
            continue
        differing = [
            (value, other.arguments[key]) for key, value in one.arguments.items() if value != other.arguments[key]
        ]
        if len(differing) != 1 or not all(isinstance(value, str) for value in differing[0]):
            continue
        left, right = differing[0]
        for at in places:
            before, after = set(words[max(0, at - _NEAR) : at]), set(words[at + 1 : at + 1 + _NEAR])
            if is_named(left, before) and is_named(right, after):
                choices = Choice(left, _without(calls, first + 1)), Choice(right, _without(calls, first))
                yield Contradiction(f"Which one: {with_article(left)} or {with_article(right)}?", choices, every=calls)


def _back(called: Sequence[Called], words: Sequence[str], amounts: Sequence[Amount]) -> Iterator[Contradiction]:
    """A short way back after another motion at "go to the kitchen and come back"; "a little" tells how far."""
    if amounts or _WAYS.slightly & set(words) or not any(begins_with(words[at:], _RETURNS) for at in range(len(words))):
        return
    for at, (one, (call, tool)) in enumerate(pairwise(called), 1):
        if (
            one[1].traits.motion
            and not _directed(*one)
            and any(call.arguments[name] < 0 for name in _ahead(call, tool))
        ):
            yield Contradiction(_WHERE_TO, begun=tuple(call for call, _ in called[:at]))


def _compass(called: Sequence[Called], words: Sequence[str], amounts: Sequence[Amount]) -> Iterator[Contradiction]:
    """A way of the robot's own at a point of the compass, for a tool that has no bearing: "turn east"."""
    if _POINTS.isdisjoint(words):
        return
    calls = tuple(call for call, _ in called)
    turns = any(_directed(*one) and not _ahead(*one) for one in called)
    told = any(one.dimension == "angle" for one in amounts)
    for at, (call, tool) in enumerate(called):
        if any(_WAYS.bearing & set(name.lower().split("_")) for name in tool.parameters.get("properties", {})):
            continue
        for name in _directed(call, tool):
            ways, unit = ways_of(tool, name), unit_of(name)
            if ways is None or sign_of(words, ways[0][1] | ways[1][1], ()) or (turns and name in _ahead(call, tool)):
                continue
            value = abs(call.arguments[name])
            if unit is not None and unit[0] == "angle" and not told:
                value = _QUARTER / unit[1]
            choices = tuple(
                Choice(way, (*calls[:at], _with(call, name, sign * value), *calls[at + 1 :]), others)
                for sign, (way, others) in zip((1, -1), ways, strict=True)
            )
            yield Contradiction(f"I have no compass. Which way: {ways[0][0]} or {ways[1][0]}?", choices)


def _directed(call: ToolCall, tool: Tool) -> list[str]:
    """The arguments of a call whose sign is a direction."""
    return [name for name, value in call.arguments.items() if is_figure(value) and ways_of(tool, name) is not None]


def _ahead(call: ToolCall, tool: Tool) -> list[str]:
    """Those of which it is forward or back."""
    both = {_WAYS.forward, _WAYS.back}
    return [
        name for name in _directed(call, tool) if (ways := ways_of(tool, name)) and {ways[0][1], ways[1][1]} == both
    ]


def _without(calls: tuple[ToolCall, ...], at: int) -> tuple[ToolCall, ...]:
    return (*calls[:at], *calls[at + 1 :])


def _with(call: ToolCall, name: str, value: float) -> ToolCall:
    whole = int(value) if value == int(value) else value
    return replace(call, arguments={**call.arguments, name: whole}, raw=None)
