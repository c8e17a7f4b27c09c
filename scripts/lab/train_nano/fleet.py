"""Robots of ``fleet/*.txt``: their tools as the product declares them, and sentences with their calls.

Tools vary from draw to draw, so that a model has to read them: parameters that may be left out are absent at times, choices
are in another order, descriptions are missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import fleet_file
from fleet_file import FleetParameter, FleetPhrase, FleetRobot, FleetTool
from fleet_values import SaidValue, say_value
from inflection import VERBS
from invented_tool import SORRY, WHICH, words_of
from results import Call
from tools import ToolSpec
from utterances import Utterance

from edgeagent.train import dressing, wording

FOLDER: Final = Path(__file__).parent / "fleet"
_CORRECTED: Final = 0.03
_LEFT_OUT: Final = 0.25
"""Share of parameters with a default that a tool does without."""
_DESCRIBED: Final = 0.85
_NOTED: Final = 0.75
_ALONE: Final = 0.5
"""Share of settings whose tools are all of one robot."""
_REPLY: Final = ("I can't do that.", "Sorry, I can't do that.", "I'm not able to do that.")


@dataclass(frozen=True, slots=True)
class FleetOffer:
    """A tool as it is offered, and what is said to it.

    Attributes:
        say: Draws a sentence with its call.
        order: Draws one that begins with its verb, None where there is none.
        astray: Draws a sentence near to a call that has none.
    """

    spec: ToolSpec
    say: Callable[[random.Random], Utterance]
    order: Callable[[random.Random], str | None]
    astray: Callable[[random.Random], Utterance | None]


@cache
def _robots() -> tuple[FleetRobot, ...]:
    return fleet_file.load(sorted(FOLDER.glob("*.txt")))


def draw(rng: random.Random, count: int, taken: frozenset[str]) -> list[FleetOffer]:
    """Draws tools of one robot, or of several; those of the same robot that stay away are asked for in vain.

    Args:
        taken: Names that none may have.
    """
    offers: dict[str, FleetOffer] = {}
    alone = rng.random() < _ALONE
    words: set[str] = set()
    while len(offers) < count:
        robot = rng.choice(_robots())
        least = 1 if rng.random() < 0.25 else 2
        some = min(len(robot.tools), count - len(offers), rng.randint(least, 6))
        chosen = rng.sample(robot.tools, min(some, len(robot.tools)))
        if any(tool.name in taken or tool.name in offers or tool.name in words for tool in chosen):
            continue
        words |= {tool.name for tool in robot.tools}
        away = [tool for tool in robot.tools if tool not in chosen]
        for tool in chosen:
            offers[tool.name] = _offer(rng, robot, tool, away)
        if alone:
            break
    return list(offers.values())


def _offer(rng: random.Random, robot: FleetRobot, tool: FleetTool, away: list[FleetTool]) -> FleetOffer:
    left_out = {one.name for one in tool.parameters if one.is_optional and rng.random() < _LEFT_OUT}
    parameters = [one for one in tool.parameters if one.name not in left_out]
    phrases = [one for one in tool.phrases if not one.names & left_out]
    plain = [one for one in phrases if _is_order(one.text)]

    def say(rng: random.Random) -> Utterance:
        return _said(rng, tool, parameters, rng.choice(phrases))

    def order(rng: random.Random) -> str | None:
        return _filled(rng, parameters, rng.choice(plain))[0] if plain else None

    def astray(rng: random.Random) -> Utterance | None:
        kind = rng.random()
        unfinished = [one for one in tool.unfinished if not one.names & left_out]
        if unfinished and kind < 0.4:
            return _asked(rng, tool, parameters, rng.choice(unfinished))
        if robot.talk and kind < 0.6:
            return Utterance(rng.choice(robot.talk), reply=rng.choice(wording.HEARD), tag="none", bare=False)
        if away and kind < 0.75:
            other = rng.choice(away)
            text = _said(rng, other, other.parameters, rng.choice(other.phrases)).text
        elif robot.unserved:
            text = rng.choice(robot.unserved)
        else:
            return None
        return Utterance(text, reply=rng.choice(_REPLY), tag="none", bare=False)

    return FleetOffer(_spec(rng, tool, parameters), say, order, astray)


def _is_order(text: str) -> bool:
    """True if the text is one order that begins with its verb, so that "please" or "don't" may stand before it."""
    return text.partition(" ")[0].lower() in _VERBS and not set(text) & set(",.;:?!")


def _spec(rng: random.Random, tool: FleetTool, parameters: list[FleetParameter]) -> ToolSpec:
    """The declaration of a tool, as the product makes it."""
    told = rng.random() < _NOTED
    properties = {one.name: _schema(rng, one, told=told) for one in parameters}
    schema = {
        "type": "object",
        "properties": properties,
        "required": [one.name for one in parameters if not one.is_optional],
    }
    description = tool.description if rng.random() < _DESCRIBED else ""
    return {"type": "function", "function": {"name": tool.name, "description": description, "parameters": schema}}


_VERBS: Final = frozenset(verb.partition(" ")[0] for row in words_of("acts") for verb in row) | VERBS
_TYPES: Final = {"int": "integer", "number": "number", "bool": "boolean"}


def _schema(rng: random.Random, one: FleetParameter, *, told: bool) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _TYPES.get(one.kind, "string")}
    if one.kind == "choice":
        schema["enum"] = rng.sample(one.words, len(one.words)) if rng.random() < 0.5 else list(one.words)
    if one.is_list:
        schema = {"type": "array", "items": schema}
    if one.is_optional:
        schema = {"anyOf": [schema, {"type": "null"}], "default": None} if one.default is None else schema | {"default": one.default}  # fmt: skip
    return schema | ({"description": one.described} if told and one.described else {})


def _filled(
    rng: random.Random, parameters: list[FleetParameter], phrase: FleetPhrase
) -> tuple[str, dict[str, Any], tuple[str, ...]]:
    """The words of a phrase, the arguments, and what of the words is to be copied."""
    known = {one.name: one for one in parameters}
    given: dict[str, SaidValue] = {name: say_value(rng, known[name]) for name, _ in phrase.slots}
    names = [name for one in given.values() for name in one.names]
    said = {(name, bare): one.bare if bare else one.text for name, one in given.items() for bare in (False, True)}
    for name, bare in phrase.slots:
        if known[name].is_list or rng.random() >= _CORRECTED:
            continue
        wrong = say_value(rng, known[name])
        if wrong.value != given[name].value:
            said[name, bare] = f"{wrong.bare if bare else wrong.text}{rng.choice(SORRY)}{said[name, bare]}"
    values = phrase.fixed | {name: one.value for name, one in given.items()}
    return phrase.filled(said), {name: values[name] for name in known if name in values}, tuple(names)


def _said(rng: random.Random, tool: FleetTool, parameters: list[FleetParameter], phrase: FleetPhrase) -> Utterance:
    text, arguments, names = _filled(rng, parameters, phrase)
    return Utterance(_dressed(rng, text, names), (Call(tool.name, arguments),), tag="as said", bare=False)


def _dressed(rng: random.Random, text: str, names: tuple[str, ...]) -> str:
    """A sentence as it is typed or heard, in which names that are to be copied stay as they are."""
    polite = dressing.polite(text, rng) if _is_order(text) else text
    dressed = dressing.dress(polite, rng, slips=0.04)
    if all(one in dressed for one in names):
        return dressed
    return rng.choice((polite, text, text[:1].upper() + text[1:]))


def _asked(rng: random.Random, tool: FleetTool, parameters: list[FleetParameter], phrase: FleetPhrase) -> Utterance:
    """A sentence that lacks what is needed, the question, and the answer."""
    text, others, names = _filled(rng, parameters, phrase)
    one = next(one for one in parameters if one.name == phrase.missing)
    reply = rng.choice(WHICH).format(one.name.partition("_")[0])
    if one.kind == "bool":
        return Utterance(_dressed(rng, text, names), reply=reply, tag="as said", bare=False)
    value = say_value(rng, one)
    values = others | {one.name: value.value}
    call = Call(tool.name, {each.name: values[each.name] for each in parameters if each.name in values})
    answer = Utterance(_dressed(rng, value.text, value.names), (call,), tag="as said", bare=False) if tool.needed <= set(values) else None  # fmt: skip
    return Utterance(_dressed(rng, text, names), reply=reply, tag="as said", bare=False, answer=answer)
