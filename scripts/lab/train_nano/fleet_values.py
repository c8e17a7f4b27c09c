"""Values of the parameters of ``fleet/*.txt``, and the words in which a person gives them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, Final

import lexicon
from fleet_file import FleetParameter
from values import FRACTIONS, RARE, UNITS, code, person, title, word

from edgeagent.train import cardinal, digits

_EXAMPLE: Final = 0.5
"""Share of texts that are examples of the file; others take their place."""
_JOINTS: Final = (" and ", " and ", " and ", ", ", " and also ", " as well as ", " & ", " plus ", " or ")
_COUNTS: Final = (1, 2, 2, 3, 3, 4)
_TRIES: Final = 30
_MINUS: Final = ("minus ", "minus ", "-", "negative ")


def _units() -> dict[str, tuple[tuple[str, float], ...]]:
    found: dict[str, dict[str, float]] = {}
    for _, ending, units, *_ in UNITS:
        found.setdefault(ending, {}).update(dict(units))
    return {ending: tuple(units.items()) for ending, units in found.items()}


_UNITS: Final = _units()


@dataclass(frozen=True, slots=True)
class SaidValue:
    """A value, its words, the figure without its unit, and what of the words must stay letter by letter."""

    value: Any
    text: str
    bare: str
    names: tuple[str, ...] = ()


def say_value(rng: random.Random, parameter: FleetParameter) -> SaidValue:
    """Draws a value in its words."""
    if not parameter.is_list:
        return _one(rng, parameter)
    drawn = {one.text: one for one in (_one(rng, parameter) for _ in range(rng.choice(_COUNTS)))}
    items = list(drawn.values())
    shown = list(drawn)
    text = ", ".join(shown[:-1]) + rng.choice(_JOINTS) + shown[-1] if len(shown) > 1 else shown[0]
    names = tuple(name for one in items for name in one.names)
    return SaidValue([one.value for one in items], text, text, names)


def _one(rng: random.Random, parameter: FleetParameter) -> SaidValue:
    match parameter.kind:
        case "choice":
            value = rng.choice(parameter.words)
            shown = value.replace("_", " ")
            return SaidValue(value, shown, shown)
        case "int" | "number":
            return _amount(rng, parameter)
    text = _text(rng, parameter)
    return SaidValue(text, text, text, (text,))


def _text(rng: random.Random, parameter: FleetParameter) -> str:
    kind = parameter.kind
    if parameter.words and rng.random() < _EXAMPLE:
        text = rng.choice(parameter.words)
        return text if kind != "thing" or rng.random() < 0.8 else f"{rng.choice(lexicon.ADJECTIVES)} {text}"
    if kind == "code":
        return code(rng)
    if kind == "person":
        return person(rng)
    if kind == "title":
        return title(rng) if rng.random() < 0.7 else word(rng).capitalize()
    drawn = rng.random()
    if drawn < 0.15:
        return f"{rng.choice(RARE)} {rng.choice(lexicon.UNKNOWN_OBJECTS)}"
    return rng.choice(lexicon.UNKNOWN_OBJECTS) if drawn < 0.4 else rng.choice(RARE) if drawn < 0.7 else word(rng)


def _figure(rng: random.Random, low: float, high: float, *, whole: bool) -> float:
    """A number as people say it: often round, sometimes with a half."""
    step = rng.choice([one for one in (1, 1, 5, 10, 25, 100) if one <= max(1, (high - low) / 4)])
    first, last = -(-low // step), high // step
    value = rng.randint(int(first), int(last)) * step if first <= last else low
    if not whole and (high - low < 1 or (high <= 60 and rng.random() < 0.3)):
        value = min(high, max(low, int(value) + rng.choice((0.5, 0.5, 0.25, 0.75, rng.randint(1, 9) / 10))))
    return round(value, 2)


def _words(rng: random.Random, value: float) -> str:
    if value < 0:
        sign = rng.choice(_MINUS)
        return sign + (digits(-value) if sign == "-" else _words(rng, -value))
    if value == int(value) and rng.random() < 0.5:
        return cardinal(int(value), hyphen=rng.random() < 0.4, and_=rng.random() < 0.5)
    return digits(value)


def _amount(rng: random.Random, parameter: FleetParameter) -> SaidValue:
    whole, low, high = parameter.kind == "int", parameter.low, parameter.high
    ending = parameter.name.rpartition("_")[2]
    units = _UNITS.get(ending, ())
    parts = [(text, value) for text, value in FRACTIONS.get(ending, ()) if low <= value <= high and (not whole or value == int(value))]  # fmt: skip
    if parts and rng.random() < 0.12:
        text, value = rng.choice(parts)
        return _said(value, text, _words(rng, value))
    for _ in range(_TRIES if units else 0):
        unit, factor = rng.choice(units) if rng.random() < 0.6 else units[0]
        if high / factor < 1 or (factor < 1 and high / factor > 5000 and rng.random() < 0.7):
            continue
        figure = _figure(rng, low / factor, high / factor, whole=whole and factor == 1)
        value = round(figure * factor, 3)
        if not low <= value <= high or (whole and value != int(value)):
            continue
        words = _words(rng, figure)
        short = len(unit) < 4 and words[-1].isdigit() and rng.random() < 0.5
        text = words + ("" if unit == "%" or short else " ") + unit
        if figure == 1 and unit.endswith("s") and len(unit) > 2:
            text = f"{rng.choice(('one', '1', 'an' if unit == 'hours' else 'a'))} {unit[:-1]}"
        return _said(value, text.strip(), _words(rng, value))
    value = _figure(rng, low, high, whole=whole)
    words = _words(rng, value)
    return _said(value, words, words)


def _said(value: float, text: str, bare: str) -> SaidValue:
    return SaidValue(int(value) if value == int(value) else value, text, bare)
