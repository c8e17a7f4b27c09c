"""Texts that the tools of other builders report: reasons of failures, values, sentences, JSON.

Whatever a text says, it is told by copying. Knows nothing of calls; results.py says what they were for.
"""

from __future__ import annotations

import json
import random
from typing import Any, Final

import lexicon
from slots import pseudo_word

_REASONS: Final = (
    "the {noun} is {state}",
    "the {noun} is {state}",
    "the {noun} is not {state}",
    "the {noun} does not answer",
    "the {noun} did not move",
    "the {noun} must be at most {number} {unit}",
    "the {noun} must be at least {number} {unit}",
    "the {noun} must be between {number} and {number} {unit}",
    "{number} {unit} is too much, the most is {number}",
    "{number} is over the limit of {number} {unit}",
    "only {number} {unit} are left",
    "there is no {noun} called {word}",
    "there is no {noun} {code}",
    "no {noun} at {code}",
    "{code} is taken",
    "{code} is already {state}",
    "{noun} fault, code {code}",
    "{noun} error {code}",
    "{code}: {noun} {state}",
    "error {number} on the {noun}",
    "{name} has not allowed it",
    "not allowed while the {noun} is {state}",
    "not allowed after {hour}:30",
    "only {name} may do that",
    "the {place} is off limits",
    "the {place} is closed until {hour}:15",
    "not before the {noun} is {state}",
    "waiting for {name}",
    "no reply from {code} after {number} s",
    "lost the {noun} after {number} {unit}",
    "stopped after {number} of {number} {unit}: the {noun} is {state}",
    "moved {number} of {number} {unit}, then the {noun} was {state}",
    "{number} of {number} done, then the {noun} was {state}",
    "something is in the way",
    "the {noun} is in the way",
    "out of {thing}",
    "not enough {thing}: {number} {unit}",
    "cannot reach the {place}",
    "ValueError: {word} is no {noun}",
    "KeyError: {word}",
    "OSError: no device at {code}",
    "RuntimeError: {noun} {state}",
    "ConnectionError: the {noun} is {state}",
    "{words}",
    "{words}",
)
_VALUES: Final = (
    "{number} {unit}",
    "{number} {unit}",
    "{noun} at {number} {unit}",
    "the {noun} is at {number} {unit}",
    "{noun} {state}",
    "the {noun} is {state}",
    "the {noun} is {state}, {number} {unit}",
    "{noun} {code} is {state}",
    "{code}",
    "{word}",
    "{noun}: {number}",
    "{noun}: {code}",
    "{number} of {number} {unit}",
    "{number} {thing} at {code}",
    "{number} {thing} and {number} {thing}",
    "{thing}, {thing} and {thing}",
    "{thing} at {code}, {number} {unit} left",
    "found the {thing} in the {place}",
    "the {thing} is in the {place}",
    "no {thing} in the {place}",
    "nothing found",
    "no {noun} seen",
    "{name} is in the {place}",
    "told {name}",
    "ticket {code} for {name}",
    "moved the {noun} to {number} {unit}",
    "set the {noun} to {state}",
    "opened {code}",
    "{thing} delivered to {name}",
    "next at {hour}:45 in the {place}",
    "{words}",
    "{words}",
)
_NOUNS: Final = tuple(
    """arm gripper lid door gate belt pump valve tank hatch drawer shelf pallet rack bin crate box camera sensor laser lidar
motor wheel brake servo lift winch fan heater filter hose nozzle blade brush battery charger cable screen speaker radio
server key card ticket order queue slot lane dock bay row bed plant pot hive tray cart trolley drone rover scanner printer
temperature pressure speed height weight level moisture angle distance volume voltage zone code name lamp light path map
user operator emergency stop bumper joint tool part spool bucket mower sprinkler feeder water oil soil air""".split()
)
_STATES: Final = tuple(
    """open closed locked jammed stuck empty full cold hot wet dry blocked busy offline online loose broken missing ready
running charging asleep awake dirty clean worn flat low high on off tilted raised lowered armed paused occupied free
unplugged overloaded disconnected calibrated unknown""".split()
)
_UNITS: Final = "m cm mm meters kg g degrees percent s seconds minutes hours liters ml volts V amps bar rpm boxes pallets steps plants trays".split()
_KEYS: Final = (
    "temperature humidity level count speed weight position name state status color row shelf zone id code battery charging "
    "open moisture distance height items free mode room owner unit error ready"
).split()


def reason(rng: random.Random) -> str:
    """Draws why something failed."""
    return _filled(rng.choice(_REASONS), rng)


def value(rng: random.Random) -> tuple[str, str]:
    """Draws the report of something that went well, and the sentence that tells it."""
    if rng.random() < 0.3:
        drawn = _structure(rng)
        return json.dumps(drawn, ensure_ascii=False), told(_said(drawn))
    text = _filled(rng.choice(_VALUES), rng)
    return text, told(text)


def told(text: str) -> str:
    """A report as a sentence, without its full stop."""
    return f"{text[:1].upper()}{text[1:]}".rstrip(".")


def _structure(rng: random.Random) -> Any:
    if rng.random() < 0.2:
        return [_simple(rng) for _ in range(rng.randint(1, 3))]
    keys = rng.sample(_KEYS, rng.randint(1, 3))
    if rng.random() < 0.15:
        keys = [f"{key}_{rng.choice(_KEYS)}" for key in keys]
    return {key: _simple(rng) for key in keys}


def _simple(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.45:
        return rng.choice((rng.randint(0, 100), rng.randint(0, 400) / 10))
    return rng.random() < 0.5 if kind < 0.6 else _filled(rng.choice(("{word}", "{code}", "{state}", "{thing}")), rng)


def _said(drawn: Any) -> str:
    """JSON in words, as the product says it: "Level: 3, open: yes"."""
    match drawn:
        case dict():
            return ", ".join(f"{key.replace('_', ' ')}: {_said(one)}" for key, one in drawn.items())
        case list():
            return ", ".join(map(_said, drawn))
        case bool():
            return "yes" if drawn else "no"
    return str(drawn)


def _filled(template: str, rng: random.Random) -> str:
    text = template
    while (begin := text.find("{")) >= 0:
        end = text.index("}", begin)
        text = text[:begin] + _word(text[begin + 1 : end], rng) + text[end + 1 :]
    return text


def _word(kind: str, rng: random.Random) -> str:
    match kind:
        case "noun":
            noun = rng.choice(_NOUNS)
            return f"{rng.choice(_NOUNS)} {noun}" if rng.random() < 0.2 else noun
        case "state":
            return rng.choice(_STATES)
        case "unit":
            return rng.choice(_UNITS)
        case "number":
            number = rng.choice((rng.randint(0, 12), rng.randint(0, 120), rng.randint(0, 5000)))
            return str(number) if rng.random() < 0.7 else f"{number / 10:g}"
        case "hour":
            return str(rng.randint(0, 23))
        case "name":
            return rng.choice(lexicon.NAMES)
        case "place":
            return rng.choice((*lexicon.ROOMS, *lexicon.UNKNOWN_PLACES))
        case "thing":
            return rng.choice((*lexicon.OBJECTS, *lexicon.UNKNOWN_OBJECTS))
        case "code":
            return _code(rng)
        case "words":
            return " ".join(rng.choice(lexicon.COMMON_WORDS) for _ in range(rng.randint(2, 7)))
    return pseudo_word(rng) if rng.random() < 0.5 else rng.choice(lexicon.COMMON_WORDS)


def _code(rng: random.Random) -> str:
    letters = "".join(rng.choice("ABCDEFGHJKLMNPRSTUVWXZ") for _ in range(rng.choice((1, 1, 1, 2, 3))))
    return f"{letters}{rng.choice(('', '', '-', ' '))}{rng.randint(0, rng.choice((9, 99, 999)))}"
