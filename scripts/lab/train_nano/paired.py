"""Invented tools whose verb tells one of their values: "unlock the gate" is ``set_gate(locked=false)``, and "lower the
crane by two meters" ``move_crane(-2)``."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from invented_tool import WHICH, InventedTool, given_words, snake, spec_of, spoken, words_of
from parameter_notes import with_note
from results import Call
from utterances import Utterance
from values import COURSES, UNITS, Given, Parameter, draw_parameters, measured, of_thing

_SWITCHES: Final = words_of("switches")
"""What a boolean is called, the verbs for true, and those for false."""
_DIRECTIONS: Final = words_of("directions")
"""What an amount is called, the verbs for more than nothing, those for less, and what its description says."""
_TURNED: Final = ("up", "down", "on", "off", "in", "out", "back")
_SENTENCES: Final = (
    "{v} {t}", "{v} {t}", "{v} {t}", "{v} {t} now", "you can {v} {t} now", "{v} {t} again", "and now {v} {t}", "it is time to {v} {t}", "{v} {t} for me",
    "I want you to {v} {t}", "could you {v} {t}", "{v} {t}, will you", "let's {v} {t}", "we have to {v} {t}", "go ahead and {v} {t}",
)  # fmt: skip
_STATES: Final = ("{t} should be {n}", "I want {t} {n}", "make sure {t} is {n}", "keep {t} {n}", "{t} has to be {n}")
"""What asks for a state by its name, where that is a word of the language."""
_ADJECTIVES: Final = frozenset(
    "locked open closed lowered raised up down on off running folded muted armed inflated hidden lit covered frozen".split()
)
_NAMES: Final = ("set_{t}", "{v}_{t}", "move_{t}", "{t}", "{t}_{n}", "switch_{t}", "control_{t}", "{v}_or_{w}_{t}")
_TOLD: Final = (
    "{v} or {w} the {t}.",
    "{v} the {t}, or {w} it.",
    "The {t}: {v} or {w}.",
    "Whether the {t} is {n}.",
    "Set the {t}.",
)
_AMOUNTS: Final = ("m", "cm", "mm", "deg", "degrees", "percent", "c", "meters")


def make(rng: random.Random, thing: tuple[str, ...]) -> InventedTool:
    """Draws a tool for a thing, which is switched by its verb or moved by an amount."""
    return _switch(rng, thing) if rng.random() < 0.65 else _move(rng, thing)


def _switch(rng: random.Random, thing: tuple[str, ...]) -> InventedTool:
    state, *verbs = rng.choice(_SWITCHES)
    yes, no = (tuple(each.split(",")) for each in verbs)
    parameter = Parameter(state, {"type": "boolean"}, lambda rng: Given(True, ""), "flag")
    return _made(rng, thing, with_note(rng, parameter), (yes, no), lambda rng, is_first: Given(is_first, ""))


def _move(rng: random.Random, thing: tuple[str, ...]) -> InventedTool:
    stem, more, less, note = rng.choice(_DIRECTIONS)
    _, ending, units, largest, _ = rng.choice([row for row in UNITS if row[1] in _AMOUNTS and row[0] not in COURSES])
    amount = measured(rng, ("", ending, units, largest, ("by", "by", "")), optional=False)
    described = rng.choice((note, f"{units[0][0]}, {note}", f"{note[0].upper()}{note[1:]}."))
    name = rng.choice((ending, stem, f"{stem}_{ending}"))
    parameter = Parameter(name, amount.schema | {"description": described}, amount.give)

    def give(rng: random.Random, is_first: bool) -> Given:
        drawn = given_words(rng, amount)
        return Given(drawn.value if is_first else -drawn.value, drawn.text, drawn.names)

    return _made(rng, thing, parameter, (tuple(more.split(",")), tuple(less.split(","))), give)


def _made(
    rng: random.Random,
    thing: tuple[str, ...],
    parameter: Parameter,
    verbs: tuple[tuple[str, ...], tuple[str, ...]],
    give: Callable[[random.Random, bool], Given],
) -> InventedTool:
    """A tool of one parameter that the verb tells, and at most two others.

    Args:
        verbs: Those of the first value, and those of the other one.
        give: Draws the value in its words, of which a boolean has none.
    """
    first = of_thing(rng, rng.choice(thing)) if rng.random() < 0.25 else None
    others = draw_parameters(rng, rng.choices((0, 1, 2), (0.5, 0.35, 0.15))[0], first)
    others = [one for one in others if one.name != parameter.name and (one is first or one.role != "object")]
    parameters = [with_note(rng, one) for one in others]
    parameters.insert(rng.randint(0, len([one for one in parameters if not one.optional])), parameter)
    noun, told = rng.choice(thing), rng.choice(thing)
    yes, no = rng.choice(verbs[0]), rng.choice(verbs[1])
    is_switch = parameter.role == "flag"
    name = snake(rng.choice(_NAMES[:6] if not is_switch else _NAMES).format(t=noun, v=yes, w=no, n=parameter.name))
    description = "" if rng.random() < 0.15 else rng.choice(_TOLD).format(v=yes, w=no, t=told, n=parameter.name)

    def said(rng: random.Random, without: Parameter | None = None) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        is_first = rng.random() < 0.5
        value = give(rng, is_first)
        given = {one.name: given_words(rng, one) for one in parameters if one not in (parameter, without) and (not one.optional or rng.random() < 0.4)}  # fmt: skip
        own = next((given[one.name].text for one in parameters if one.name in given and one.role == "object"), "")
        what = own or f"{rng.choice(('the', 'the', 'the', 'your', 'this', ''))} {rng.choice((noun, told))}"
        verb = rng.choice((rng.choice(verbs[not is_first]), yes if is_first else no))
        head, _, tail = verb.rpartition(" ")
        if is_switch and is_first and parameter.name in _ADJECTIVES and rng.random() < 0.12:
            text = rng.choice(_STATES).format(t=what.strip(), n=parameter.name)
        elif head and tail in _TURNED and rng.random() < 0.4:
            text = rng.choice(_SENTENCES[:3]).format(v=head, t=f"{what} {tail}")
        else:
            text = rng.choice(_SENTENCES).format(v=verb, t=what)
        rest = [given[one.name].text for one in parameters if one.name in given and one.role != "object"]
        text = " ".join((text, value.text, *rest))
        values = {name: one.value for name, one in given.items()} | {parameter.name: value.value}
        arguments = {one.name: values[one.name] for one in parameters if one.name in values}
        names = tuple(name for one in given.values() for name in one.names)
        return " ".join(text.split()), arguments, names

    def say(rng: random.Random) -> Utterance:
        text, arguments, names = said(rng)
        return spoken(text, names, (Call(name, arguments),), rng)

    def astray(rng: random.Random) -> Utterance | None:
        asked = [one for one in parameters if not one.optional and one is not parameter and one.role != "object"]
        if not asked:
            return None
        one = rng.choice(asked)
        text, others, names = said(rng, one)
        reply = rng.choice(WHICH).format(one.name.partition("_")[0])
        given = one.give(rng)
        values = others | {one.name: given.value}
        arguments = {each.name: values[each.name] for each in parameters if each.name in values}
        answer = spoken(given.text, given.names, (Call(name, arguments),), rng)
        heard = spoken(text, names, (), rng).text
        return Utterance(heard, reply=reply, tag="as said", bare=False, answer=answer)

    parts = ((*verbs[0], *verbs[1]), thing)
    return InventedTool(spec_of(name, description, tuple(parameters)), parts, say, lambda rng: said(rng)[0], astray)
