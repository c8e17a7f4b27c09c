"""What is taken back in the same breath: a slot, a direction, a whole command; and what is named only to be excluded."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Final

from results import Call
from slots import KINDS, Drawn
from utterances import SWAPPABLE, Realised, Speaker, Utterance

from edgeagent.train import cardinal, number

_SORRY: Final = (
    "no", "no", "no wait", "no sorry", "sorry", "sorry i mean", "i mean", "i mean", "no i mean", "wait no", "actually", "actually no", "or rather", "make that", "no make that",
    "make it", "correction", "i meant", "oh no", "no no", "hmm no", "rather", "scratch that", "wait", "er no", "uh no", "oops", "oops no", "my mistake", "my bad", "i meant to say",
    "i wanted to say", "no not that", "or no", "well no", "pardon", "excuse me", "that is", "better", "or better", "no better", "no let's say", "let's say", "on second thought",
    "strike that", "ah no", "sorry no", "not that", "i take that back", "no hang on", "hold on", "forget that", "no forget that", "i said that wrong",
)  # fmt: skip
_WHOLE: Final = (
    "scratch that", "forget that", "never mind", "cancel that", "no wait", "no, don't", "wait", "oh wait", "nevermind that", "forget it", "strike that", "no, do something else",
    "i changed my mind", "on second thought", "no, that's wrong", "no no no", "that was wrong", "better not", "no, leave it", "no, rather", "actually no", "wait, no", "instead", "or rather",
)  # fmt: skip
_INSTEAD: Final = (
    "instead of {o}, {y}", "{y} instead of {o}", "{y} instead of {o}", "{y} rather than {o}", "rather than {o}, {y}", "{y}, and not {o}", "{y}, not {o}", "{y} not {o}", "{y} but not {o}", "not {o}, {y}",
    "not {o} but {y}", "{y} and certainly not {o}", "forget {o}, {y}", "forget about {o}, {y}", "leave {o}, {y}", "no, not {o}, {y}", "i said {o} but {y}", "i don't want {o}, {y}", "{y} in place of {o}", "this time not {o}, {y}",
    "{y}, i don't mean {o}", "i don't mean {o}, {y}", "not {o} this time, {y}", "never mind {o}, {y}", "{o} is wrong, {y}",
)  # fmt: skip
"""{o} is a place, an object, an amount that is not meant."""
_CONTRARY: Final = {
    "left": "right", "right": "left", "on": "off", "off": "on", "forward": "backwards", "forwards": "backwards", "ahead": "back", "backwards": "forward", "backward": "forward",
    "back": "forward", "up": "down", "down": "up", "clockwise": "counterclockwise", "counterclockwise": "clockwise", "anticlockwise": "clockwise",
}  # fmt: skip
_WORDS: Final = re.compile(rf"\b(?:{'|'.join(_CONTRARY)})\b")
_SIDED: Final = {"drive": "distance_m", "turn": "angle_deg"}
_DIRECTIONS: Final = {
    "drive": ("forward", "forwards", "ahead", "backwards", "backward", "back"), "turn": ("left", "right", "clockwise", "counterclockwise", "anticlockwise"),
    "set_light": ("on", "off"), "look": ("left", "right", "up", "down"),
}  # fmt: skip
_POSITIVE: Final = frozenset(("forward", "forwards", "ahead", "left", "counterclockwise", "anticlockwise", "on"))
_UNITS: Final[dict[str, tuple[tuple[str, float, tuple[int, ...]], ...]]] = {
    "duration": (
        ("seconds", 1, (5, 10, 15, 20, 30, 40, 45, 50, 90)), ("minutes", 60, (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 45)), ("hours", 3600, (2, 3, 4, 5, 6, 8, 10, 12)),
    ),
    "dist": (
        ("meters", 1, (2, 3, 4, 5, 6, 8, 10)), ("centimeters", 0.01, (10, 20, 25, 30, 40, 50, 60, 75, 80)), ("metres", 1, (2, 3, 4, 6, 7, 9)),
        ("feet", 0.3048, (2, 3, 4, 5, 6, 8, 10, 12)), ("inches", 0.0254, (6, 8, 10, 12, 15, 20)), ("yards", 0.9144, (2, 3, 4, 5, 6)),
    ),
}  # fmt: skip
"""Units that are confused, what one of them is in the tool's unit, and numbers that are said of it."""
_TRIES: Final = 30


def contrary(call: Call) -> Call | None:
    """The call in the other direction, or with the other state."""
    arguments = dict(call.arguments)
    if call.name in _SIDED:
        arguments[_SIDED[call.name]] = number(-arguments[_SIDED[call.name]])
    elif call.name == "set_light":
        arguments["on"] = not arguments["on"]
    elif call.name == "look" and arguments["direction"] in _DIRECTIONS["look"]:
        arguments["direction"] = _CONTRARY[arguments["direction"]]
    else:
        return None
    return Call(call.name, arguments)


def _tells(word: str, call: Call) -> bool:
    """True if a word is the direction or the state of a call."""
    if word not in _DIRECTIONS[call.name]:
        return False
    value = call.arguments.get(_SIDED.get(call.name, "on"))
    return call.arguments["direction"] == word if value is None else (value > 0) == (word in _POSITIVE)


def _comma(rng: random.Random) -> str:
    return rng.choice((", ", ", ", " ", "... ", ". ", " - "))


def _one_swap(speaker: Speaker, *, several: bool) -> tuple[Realised, tuple[str, int], Drawn] | None:
    """A command, one of its slots, and another draw of that slot."""
    for _ in range(_TRIES):
        one = speaker.chainable() if several else speaker.imperative()
        keys = [key for key in one.draws if key[0] in SWAPPABLE]
        if not keys or (not several and (len(keys) != 1 or len(one.calls()) != 1)):
            continue
        key = speaker.rng.choice(keys)
        new = KINDS[key[0]](speaker.rng)
        if new.value not in {drawn.value for drawn in one.draws.values()}:
            return one, key, new
    return None


def _slot(speaker: Speaker) -> Utterance | None:
    """A slot, corrected behind the command or where it stands: "bring the cup, no, the book to the sofa"."""
    rng = speaker.rng
    inside = rng.random() < 0.45
    found = _one_swap(speaker, several=inside and rng.random() < 0.4)
    if found is None:
        return None
    one, key, new = found
    fixed = replace(one, draws={**one.draws, key: new})
    said, sorry = new.surface, f"{_comma(rng)}{rng.choice(_SORRY)}{rng.choice((', ', ' '))}"
    if inside:
        both = Drawn(f"{one.draws[key].surface}{sorry}{said}", new.value)
        text = replace(one, draws={**one.draws, key: both}).text()
    else:
        if rng.random() < 0.2 and key[0] in ("place", "room", "dropplace") and one.rule.calls[0].name == "go_to":
            said = f"to {said}"
        text = f"{one.text()}{sorry}{said}{rng.choice(('', '', '', ' please', ' of course'))}"
    return Utterance(text, fixed.calls(), tag="correction", bare=not inside)


def _amount(speaker: Speaker) -> Utterance | None:
    """A unit or a figure alone: "20 seconds, no, minutes", "five, I mean ten, minutes", "ten minutes, no, twenty"."""
    rng = speaker.rng
    for _ in range(_TRIES):
        one = speaker.draw(rng.choice(("set_timer", "set_timer", "drive")))
        keys = [key for key in one.draws if key[0] in _UNITS]
        if len(keys) != 1 or len(one.calls()) != 1:
            continue
        (key,) = keys
        (unit, scale, numbers), (other, other_scale, _) = rng.sample(_UNITS[key[0]], 2)
        if scale == other_scale:
            continue
        n, m = rng.sample(numbers, 2)
        words = rng.random() < 0.5
        said, new = (cardinal(n), cardinal(m)) if words else (str(n), str(m))
        sorry = f"{_comma(rng)}{rng.choice(_SORRY)}{rng.choice((', ', ' '))}"
        kind = rng.random()
        if kind < 0.4:
            first, second, value = f"{said} {unit}", other, n * other_scale
        elif kind < 0.7:
            first, second, value = f"{said} {unit}", rng.choice((new, f"{new} {unit}")), m * scale
        else:
            first, second, value = said, f"{new} {unit}", m * scale
        drawn = Drawn(f"{first}{sorry}{second}", number(round(value, 3)))
        fixed = replace(one, draws={**one.draws, key: drawn})
        text = fixed.text()
        if drawn.surface not in text or re.search(
            r" (?:timer|alarm|nap|countdown)s?\b", text.partition(drawn.surface)[2]
        ):
            continue
        if kind < 0.7 and rng.random() < 0.5:
            text = f"{replace(one, draws={**one.draws, key: Drawn(first, value)}).text()}{sorry}{second}"
        return Utterance(text, fixed.calls(), tag="correction", bare=False)
    return None


def _side(speaker: Speaker) -> Utterance | None:
    """A direction: "turn left, I mean right", "drive two meters forward, no, backwards"."""
    rng = speaker.rng
    for _ in range(_TRIES):
        one = speaker.command([rng.choice(("turn", "turn", "drive", "set_light", "look"))])
        calls, text = one.calls(), one.text()
        found = _WORDS.findall(text)
        if len(calls) != 1 or len(found) != 1 or not _tells(found[0], calls[0]):
            continue
        other = contrary(calls[0])
        if other is None:
            continue
        word, sorry = _CONTRARY[found[0]], f"{_comma(rng)}{rng.choice(_SORRY)}{rng.choice((', ', ' '))}"
        if rng.random() < 0.5:
            text = _WORDS.sub(f"{found[0]}{sorry}{word}", text)
        elif rng.random() < 0.2:
            text = f"{text}{rng.choice((', not ', ' and not '))}{word}"
            other = calls[0]
        else:
            text = f"{text}{sorry}{word}{rng.choice(('', '', '', ' please', ' of course'))}"
        return Utterance(text, (other,), tag="correction")
    return None


def instead(speaker: Speaker) -> Utterance | None:
    """What is named only to be excluded: "go to the office instead of the kitchen"."""
    found = _one_swap(speaker, several=False)
    if found is None:
        return None
    yes, _, other = found
    text = speaker.rng.choice(_INSTEAD).format(o=other.surface, y=yes.text())
    return Utterance(text, yes.calls(), tag="negation", bare=False)


def corrected(speaker: Speaker) -> Utterance:
    """A command that its speaker takes back, in a part or as a whole."""
    rng = speaker.rng
    kind = rng.random()
    if kind < 0.3:
        said = _slot(speaker)
    elif kind < 0.48:
        said = _amount(speaker)
    elif kind < 0.68:
        said = _side(speaker)
    else:
        said = instead(speaker) if kind < 0.8 else None
    if said is not None:
        return said
    wrong, right = speaker.imperative(), speaker.imperative()
    text = f"{wrong.text()}{_comma(rng)}{rng.choice(_WHOLE)}{rng.choice((', ', ' '))}{right.text()}"
    return Utterance(text, right.calls(), tag="correction")
