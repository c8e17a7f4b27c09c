"""Invented tools with parameters of every kind and descriptions, and what people say to them.

A tool is an act, a thing and up to five parameters. Its name has one word for the act and one for the thing, its
description may have others, and the sentence has the words of either: so a model has to read both.
"""

from __future__ import annotations

import random
from typing import Any, Final

import lexicon
import lookups
import paired
from invented_tool import ASKS, WHICH, InventedTool, corrected, given_words, snake, spec_of, spoken, words_of
from parameter_notes import with_note
from results import Call
from slots import pseudo_word
from utterances import Utterance
from values import COUNTS, Given, Parameter, code, draw_parameters, of_goal, of_person, of_setting, of_thing

from edgeagent.train import cardinal, wording

_ACTS: Final = words_of("acts")
_THINGS: Final = words_of("things")
_WAYS: Final = tuple(
    tuple(line.split("|"))
    for line in """go|move|head
drive|roll|travel
ride|take the elevator|take the lift
fly|float
sail|cruise
climb|go up
return|go back|come back
hurry|rush|run
walk|march|step
swim|paddle""".splitlines()
)
"""Acts whose object is where to go."""
_SETTERS: Final = ("set", "set", "put", "change", "adjust", "turn", "switch")
_SET_TOLD: Final = (
    "set",
    "change",
    "adjust",
    "control",
    "open or close",
    "switch",
    "raise or lower",
    "regulate",
    "turn up or down",
)
_TO_PEOPLE: Final = frozenset("call greet warn guide fetch visit show track".split())
_TAILS: Final = (
    "", "", "", "", " of the robot", " in front", " once", " and wait until it is done", " for a person", " on the left side",
    " with the given settings", " as told", " of the station", " safely",
)  # fmt: skip
_READINGS: Final = words_of("readings")
_PAIRED: Final = 0.09
"""Share of tools whose verb tells one of their values."""
_LOOKED_UP: Final = 0.09
"""Share of tools that are asked about one thing."""
_GIVING: Final = frozenset("fetch deliver dispense order mix load book print call feed show".split())
"""Acts that are asked for by their object alone."""
_WANTED: Final = (
    "i'd like {}", "i would like {}", "could i have {}", "can i get {}", "i need {}", "i'll have {}", "{}, please", "{} for me", "i want {}", "we need {}",
    "give me {}", "let me have {}", "i could use {}", "get me {}", "bring me {}",
)  # fmt: skip
_CORRECTED_LATE: Final = 0.04
"""Share of sentences that take a value back at their end."""
_OVERHEARD: Final = (
    "{w} wanted to {v} the {t} yesterday", "to {v} a {t} is an art", "a {t} a day keeps the doctor away", "{w} sang a song about a {t}", "no {t}, no fun",
    "as {w} says, who can {v} can do anything", "it was {w} with the {t}, not me", "the {t} again, how boring", "what a lovely {t}, isn't it", "have you heard the one about the {t}",
    "if I were a {t} I would sleep all day", "long live the {t}", "speaking of the {t}, how are you", "once a {t}, always a {t}", "who needs a {t} anyway", "{w} thinks the {t} is haunted",
)  # fmt: skip
"""Talk with the words of a tool: {v} is its act, {t} its thing, {w} somebody."""
_NOT_SERVED: Final = (
    "", "", "", "", " of the neighbour", " for {c}", " {c}", " with {c}", " in the lobby", " number {n}", " by hand", " for the guests",
)  # fmt: skip
"""What may stand behind a request that no tool serves: {n} is a number, {c} a code."""
_OF_THE_HOUSE: Final = frozenset(
    "go drive ride roll travel return come turn rotate spin move fetch get bring take collect deliver pick drop grip grab put "
    "carry charge dock stop halt look follow trace track light lamp lights battery position scan switch set change adjust "
    "head fly walk march run hurry rush climb sail float swim guide call visit patrol approach release retrieve illuminate shine escort".split()
)
"""Words by which a house robot's tools are asked for as well."""


def _thing(rng: random.Random) -> tuple[str, ...]:
    return (pseudo_word(rng),) if rng.random() < 0.06 else rng.choice(_THINGS)


def _reading(rng: random.Random) -> InventedTool:
    what, described, *asked = rng.choice(_READINGS)
    name = rng.choice((f"get_{what}", f"read_{what}", what, f"{what}_report", f"check_{what}"))
    plain = what.replace("_", " ")
    texts = (*asked, *asked, f"what is the {plain}", f"tell me the {plain}", f"{plain}", f"check the {plain}")
    description = rng.choice((described.capitalize(), f"Tells {described}", f"Read {described}")) + "."

    def say(rng: random.Random) -> Utterance:
        return spoken(rng.choice(texts), (), (Call(name, {}),), rng)

    return InventedTool(
        spec_of(name, description, ()), ((what,), (plain,)), say, lambda rng: f"check the {plain}", lambda rng: None
    )


def make(rng: random.Random, act: tuple[str, ...], thing: tuple[str, ...]) -> InventedTool:
    """Draws a tool for an act and a thing."""
    count = rng.choices(range(6), (0.1, 0.3, 0.28, 0.18, 0.09, 0.05))[0]
    way, setter = act in _WAYS, act == _SETTERS
    own = rng.choice(thing)
    first: Parameter | None = None
    if way:
        first = of_goal(rng)
    elif setter:
        first = of_setting(rng)
    elif act[0] in _TO_PEOPLE and rng.random() < 0.5:
        first = of_person(rng)
    elif rng.random() < 0.22:
        first = of_thing(rng, own)
    drawn = draw_parameters(rng, max(count, 1) if first is not None else count, first)
    parameters = tuple(with_note(rng, one) for one in drawn)
    if way:
        parameters = tuple(one for one in parameters if one.role != "object")
    required = [one for one in parameters if not one.optional]
    holder = next((one for one in required if one.role == "object"), first if way else None)
    name_act, name_thing = rng.choice(act[:2]), rng.choice(thing)
    shape = rng.random()
    if shape < 0.07:
        name = rng.choice((pseudo_word(rng), f"{pseudo_word(rng)}_{rng.randint(1, 9)}", f"task_{rng.randint(1, 30)}"))
    elif way and first is not None:
        place = first.name.partition("_")[0]
        name = snake(rng.choice(("{0}", "{0}_to", "{0}_to_{1}", "{0}_{1}")).format(name_act, place))
    elif holder is not None and shape < 0.35:
        name = snake(name_act)
    elif shape < 0.85:
        name = snake(f"{name_act}_{name_thing}")
    else:
        name = snake(f"{name_thing}_{name_act}")
    opaque = shape < 0.07
    told_act, told_thing = rng.choice(_SET_TOLD if setter else act), rng.choice(thing)
    described = opaque or rng.random() < 0.85
    the = rng.choice(("the", "the", "the", "one"))
    lead = rng.choice(("", "", "", "", "Makes the robot ", "Use this to ", "Lets you "))
    object_told = (
        "one " + holder.name.partition("_")[0] if holder is not None and rng.random() < 0.5 else f"{the} {told_thing}"
    )
    sentence = f"{lead}{told_act} {object_told}{rng.choice(_TAILS)}"
    description = f"{sentence[0].upper()}{sentence[1:]}." if described else ""
    if described and way and first is not None:
        place = first.name.partition("_")[0]
        description = f"{lead}{told_act} to {rng.choice(('a', 'one', 'the given'))} {place}{rng.choice(_TAILS)}."
        description = description[0].upper() + description[1:]
    only_act = way or (holder is not None and told_thing not in description and name_thing not in name)

    def words(rng: random.Random) -> tuple[str, str]:
        """Draws the verb and the thing as they are said."""
        kind = rng.random()
        if setter:
            return rng.choice(_SETTERS), rng.choice((name_thing, told_thing)) if described else name_thing
        if described and (opaque or kind < 0.45):
            return told_act, told_thing
        if kind < 0.9:
            return name_act, name_thing
        return rng.choice(act), rng.choice(thing)

    def said(
        rng: random.Random, without: Parameter | None = None, wrong: str = "", *, plain: bool = False
    ) -> tuple[str, dict[str, Any], tuple[str, ...]]:
        given: dict[str, Given] = {}
        for one in parameters:
            if one is without:
                if wrong:
                    given[one.name] = Given("", wrong)
            elif not one.optional or rng.random() < 0.4:
                given[one.name] = given_words(rng, one)
        arguments = {one.name: given[one.name].value for one in parameters if one.name in given}
        late = without is None and not plain and bool(given)
        verb, noun = words(rng)
        the = rng.choice(("the", "the", "the", "the", "your", "my", "", "this"))
        objects = [given[one.name].text for one in parameters if one.name in given and one.role == "object"]
        counted = next((one for one in parameters if one.name in given and one.name in COUNTS), None)
        if objects and counted is not None and holder is not None and rng.random() < 0.4:
            value = given[holder.name].value
            if isinstance(value, str) and value.islower() and value.isalpha():
                objects = [f"{_number(rng, given.pop(counted.name).value)} {value}s"]
        if objects and act[0] in _GIVING and not plain and rng.random() < 0.2:
            body, plain = rng.choice(_WANTED).format(objects[0].strip()), True
        elif way:
            body = verb
        elif objects and holder is None:
            body = f"{verb} {the} {noun} with {objects[0]}"
        elif objects:
            body = (
                f"{verb} {objects[0]}"
                if only_act or name == snake(name_act) or rng.random() < 0.5
                else f"{verb} {the} {noun} {objects[0]}"
            )
        else:
            body = f"{verb} {the} {noun}"
        if setter and not objects and rng.random() < 0.3:
            body, plain = body.removeprefix(verb), True
        adjective = next((one for one in parameters if one.name in given and one.wrong is not None), None)
        noun_at = f"{the} {noun}".strip()
        if (
            adjective is not None
            and body.endswith(f" {noun_at}")
            and rng.random() < 0.15
            and given[adjective.name].value
        ):
            shown = str(given.pop(adjective.name).value).replace("_", " ")
            body = f"{body.removesuffix(noun_at)}{the} {shown} {noun}"
        rest = [given[one.name].text for one in parameters if one.name in given and one.role != "object"]
        if rng.random() < 0.35:
            rng.shuffle(rest)
        first = ""
        if rest and not plain and rng.random() < 0.1:
            first, rest = f"{rest[-1]}, ", rest[:-1]
        for at, text in enumerate(rest):
            joint = rng.choice((" ", " ", " ", ", ", " and ")) if at else rng.choice((" ", " ", " ", " ", ", "))
            body += (
                ("" if text.startswith("and ") else joint if joint != " " else "")
                + (" " if text.startswith("and ") or joint == " " else "")
                + text
            )
        left = [each for each in parameters if each.name in given]
        if late and left and rng.random() < _CORRECTED_LATE:
            one = rng.choice(left)
            if (other := corrected(rng, one, given[one.name])) is not None:
                body += other.text
                given["again"] = other
                arguments[one.name] = other.value
        ask = "{}" if first or plain else rng.choice(ASKS)
        names = tuple(name for one in given.values() for name in one.names)
        return first + ask.format(body), arguments, names

    def say(rng: random.Random) -> Utterance:
        text, arguments, names = said(rng)
        return spoken(text, names, (Call(name, arguments),), rng)

    def order(rng: random.Random) -> str:
        return " ".join(said(rng, plain=True)[0].split())

    def astray(rng: random.Random) -> Utterance | None:
        closed = [(one, one.wrong) for one in parameters if one.wrong is not None]
        if closed and rng.random() < 0.7:
            one, wrong = rng.choice(closed)
            text, _, names = said(rng, one, wrong(rng))
            heard = spoken(text, names, (), rng)
            return Utterance(
                heard.text, reply=rng.choice(("I can't do that.", "Sorry, I can't do that.")), tag="as said", bare=False
            )
        asked = [one for one in required if one.role == "rest"]  # the thing itself may be taken for an object
        if not asked:
            return None
        one = rng.choice(asked)
        text, others, names = said(rng, one)
        heard = spoken(text, names, (), rng)
        reply = rng.choice(WHICH).format(one.name.partition("_")[0])
        given = one.give(rng)
        all_given = others | {one.name: given.value}
        arguments = {each.name: all_given[each.name] for each in parameters if each.name in all_given}
        answer = spoken(given.text, given.names, (Call(name, arguments),), rng)
        return Utterance(heard.text, reply=reply, tag="as said", bare=False, answer=answer)

    def twice(rng: random.Random) -> Utterance | None:
        if not required or any(one.role == "flag" for one in required):
            return None
        both = [{one.name: one.give(rng) for one in required} for _ in range(2)]
        if any(both[0][one.name].value == both[1][one.name].value for one in required):
            return None
        told = [" ".join(one.text for one in given.values()) for given in both]
        verb, noun = words(rng)
        head = verb if way or only_act or holder is not None else f"{verb} the {noun}"
        text = f"{head} {told[0]}{rng.choice((' and ', ' and ', ', ', ', and ', ', then ', ' and then '))}{told[1]}"
        calls = tuple(Call(name, {key: one.value for key, one in given.items()}) for given in both)
        names = tuple(each for given in both for one in given.values() for each in one.names)
        return spoken(rng.choice(ASKS).format(text), names, calls, rng)

    spec = spec_of(name, description, parameters)
    return InventedTool(spec, (act, act if way else thing), say, order, astray, twice)


def _number(rng: random.Random, value: int) -> str:
    return str(value) if rng.random() < 0.4 else cardinal(value)


def draw(rng: random.Random, count: int, taken: frozenset[str], *, beside_house: bool = False) -> list[InventedTool]:
    """Draws tools that a person can tell apart, at times by their act or their thing alone.

    Args:
        taken: Names that none may have.
        beside_house: Tools of the house robot are on offer too.
    """
    tools: list[InventedTool] = []
    names = set(taken)
    while len(tools) < count:
        kind = rng.random()
        if kind < 0.1:
            made = _reading(rng)
        elif kind < 0.1 + _PAIRED:
            made = paired.make(rng, _thing(rng))
        elif kind < 0.1 + _PAIRED + _LOOKED_UP:
            made = lookups.make(rng)
        else:
            act, thing = rng.choice(_ACTS), _thing(rng)
            if kind < 0.3:
                act = rng.choice(_WAYS)
            elif kind > 0.86:
                act = _SETTERS
            last = [one.words for one in tools if one.words[0] in _ACTS]
            if last and 0.3 < kind < 0.46:
                thing = rng.choice(last)[1]
            elif last and 0.46 < kind < 0.58:
                act = rng.choice(last)[0]
            made = make(rng, act, thing)
        name = made.spec["function"]["name"]
        if beside_house and _OF_THE_HOUSE & set(" ".join((*made.words[0], *made.words[1])).split()):
            continue
        if name not in names and all(_apart(made.words, one.words) for one in tools):
            names.add(name)
            tools.append(made)
    return tools


def _apart(one: tuple[tuple[str, ...], tuple[str, ...]], other: tuple[tuple[str, ...], tuple[str, ...]]) -> bool:
    """True if two tools share neither the words of both parts, nor some words of a part that is not the same."""
    acts, things = (set(" ".join(a).split()) & set(" ".join(b).split()) for a, b in zip(one, other, strict=True))
    if acts and things:
        return False
    return (not acts or one[0] == other[0]) and (not things or one[1] == other[1])


def near(rng: random.Random, tools: list[InventedTool]) -> str:
    """Draws a request for a thing of these tools that none of them serves."""
    known = [one for one in tools if one.words[0] in _ACTS]
    mine = {word for one in tools for part in one.words for name in part for word in name.split()}
    act = next(a for a in (rng.choice(_ACTS) for _ in range(999)) if not mine & set(" ".join(a).split()))
    thing = rng.choice(known).words[1] if known and rng.random() < 0.6 else _thing(rng)
    tail = rng.choice(_NOT_SERVED).format(n=rng.randint(1, 20), c=code(rng)) if rng.random() < 0.5 else ""
    return f"{rng.choice(act)} the {rng.choice(thing)}{tail}"


def remark(rng: random.Random, tools: list[InventedTool]) -> str | None:
    """Draws a remark about a thing of these tools, which asks for nothing; None where they have none."""
    known = [one for one in tools if one.words[0] in _ACTS]
    if not known:
        return None
    act, thing = rng.choice(known).words
    if rng.random() < 0.7:
        noun = rng.choice(thing)
        return rng.choice(wording.ABOUT).format(noun)
    return rng.choice(_OVERHEARD).format(v=act[0], t=rng.choice(thing), w=rng.choice(lexicon.NAMES))
