"""Invented tools that tell something of one thing, place or person: "is there any gravel left" is ``get_stock("gravel")``."""

from __future__ import annotations

import random
from typing import Final

from invented_tool import WHICH, InventedTool, snake, spec_of, spoken, words_of
from parameter_notes import with_note
from results import Call
from utterances import Utterance
from values import Parameter, of_goal, of_object, of_person, of_side, of_thing

_LOOKUPS: Final = words_of("lookups")
"""What is told, its description, of what, and questions; {x} is what it is told of."""
_NAMES: Final = ("get_{}", "read_{}", "{}", "{}_of", "check_{}", "look_up_{}", "find_{}", "tell_{}")
_ASKS: Final = ("{}", "{}", "{}", "{}", "tell me, {}", "I would like to know: {}", "do you know, {}", "please, {}", "quick, {}", "and {}")  # fmt: skip
_ORDERS: Final = ("check the {n} of {x}", "tell me the {n} of {x}", "look up the {n} of {x}", "{n} of {x}", "get the {n} of {x}")  # fmt: skip


def make(rng: random.Random) -> InventedTool:
    """Draws a tool of one parameter, which is asked."""
    what, described, kind, *questions = rng.choice(_LOOKUPS)
    of = _parameter(rng, kind)
    parameter = with_note(rng, of)
    plain = what.replace("_", " ")
    name = snake(rng.choice(_NAMES).format(what))
    description = rng.choice(("", f"Tells {described}.", f"{described.capitalize()}.", f"Get {described}."))

    def asked(rng: random.Random, shapes: tuple[str, ...]) -> tuple[str, Call, tuple[str, ...]]:
        given = parameter.give(rng)
        text = " ".join(rng.choice(shapes).format(x=given.text.strip(), n=plain).split())
        return text, Call(name, {parameter.name: given.value}), given.names

    def say(rng: random.Random) -> Utterance:
        shapes = tuple(questions) if rng.random() < 0.8 else _ORDERS
        text, call, names = asked(rng, shapes)
        if shapes is not _ORDERS:
            text = rng.choice(_ASKS).format(text) + rng.choice(("?", "?", ""))
        return spoken(text, names, (call,), rng)

    def order(rng: random.Random) -> str:
        return asked(rng, _ORDERS[:3])[0]

    def astray(rng: random.Random) -> Utterance:
        given = parameter.give(rng)
        reply = rng.choice(WHICH).format(parameter.name.partition("_")[0])
        answer = spoken(given.text, given.names, (Call(name, {parameter.name: given.value}),), rng)
        text = rng.choice((f"what is the {plain}", f"tell me the {plain}", f"check the {plain}", f"{plain} please"))
        return Utterance(spoken(text, (), (), rng).text, reply=reply, tag="as said", bare=False, answer=answer)

    return InventedTool(spec_of(name, description, (parameter,)), ((what, plain), (kind,)), say, order, astray)


def _parameter(rng: random.Random, kind: str) -> Parameter:
    match kind.partition(" "):
        case ("person", _, _):
            return of_person(rng)
        case ("place", _, _):
            return of_goal(rng)
        case ("thing", _, _):
            return of_object(rng)
        case ("which", _, noun):
            return rng.choice((of_side, of_side, of_thing))(rng, noun)
        case (noun, _, _):
            return of_thing(rng, noun)
