"""Descriptions of parameters, as builders write them: a few words that repeat a name, or that alone tell its unit."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, Final

from values import COUNTS, UNITS, Parameter

_DESCRIBED: Final = 0.55
"""Share of parameters that have a description."""
_UNIT_IN_NOTE: Final = 0.4
"""Share of described measures whose name leaves the unit to the description."""
_UNITS: Final = {
    "m": "meters|metres|m", "cm": "centimeters|cm|centimetres", "mm": "millimeters|mm", "deg": "degrees|deg", "degrees": "degrees",
    "s": "seconds|s|sec", "seconds": "seconds|s", "minutes": "minutes|min", "hours": "hours|h", "percent": "percent|0 to 100|percent, 0 to 100",
    "mps": "meters per second|m/s", "kmh": "kilometers per hour|km/h", "rpm": "revolutions per minute|rpm", "knots": "knots",
    "days": "days", "min": "minutes|min", "meters": "meters|metres", "kg": "kilograms|kg|kilos", "g": "grams|g", "liters": "liters|litres", "ml": "milliliters|ml", "c": "degrees celsius|celsius", "bar": "bar",
    "hz": "hertz|hz", "v": "volts|v",
}  # fmt: skip
"""Words for the unit at the end of a parameter's name; "|" parts them."""
_STEMS: Final = frozenset(stem for stem, *_ in UNITS)
"""Names of measures that leave out their unit already."""
_OF_MEASURES: Final = (
    "{unit}",
    "in {unit}",
    "{stem} in {unit}",
    "the {stem} in {unit}",
    "how many {unit}",
    "{stem}, {unit}",
)
_OF_NAMES: Final = (
    "name of the {word}", "the {word}", "which {word}", "label of the {word}", "{word} by its name", "the {word} as it is labelled",
    "the {word} to use", "what the {word} is called", "its {word}",
)  # fmt: skip
_OF_NUMBERS: Final = ("which {word}", "number of the {word}", "the {word}", "{word} by its number", "from 1 on")
_OF_COUNTS: Final = ("how many {word}", "how many", "number of {word}", "how often")
_OF_CHOICES: Final = ("which {word}", "the {word}", "one of these", "{word} to use", "how it is done")
_OF_LISTS: Final = (
    "all of them",
    "one or several",
    "which {word}",
    "the {word}",
    "names or numbers",
    "{word} in order",
)
_OF_FLAGS: Final = ("true for {word}", "{word} or not", "if {word}", "true to do it {word}", "whether {word}")


def with_note(rng: random.Random, parameter: Parameter) -> Parameter:
    """The parameter with a description, at times with a name that leaves the unit to it."""
    if rng.random() >= _DESCRIBED:
        return parameter
    schema: dict[str, Any] = parameter.schema
    inner = schema["anyOf"][0] if "anyOf" in schema else schema
    stem, _, ending = parameter.name.rpartition("_")
    if parameter.name in _STEMS:
        return parameter
    word = parameter.name.removesuffix("_id").removesuffix("_name").removesuffix("_number").replace("_", " ")
    name, unit = parameter.name, _UNITS.get(ending)
    if unit is not None and inner["type"] in ("integer", "number"):
        said = rng.choice(unit.split("|"))
        note = rng.choice([one for one in _OF_MEASURES if stem or "{stem}" not in one]).format(
            stem=stem.replace("_", " "), unit=said
        )
        if stem and rng.random() < _UNIT_IN_NOTE:
            name = stem
    elif parameter.name in COUNTS:
        note = rng.choice(_OF_COUNTS).format(word=word)
    else:
        forms = {"array": _OF_LISTS, "boolean": _OF_FLAGS, "integer": _OF_NUMBERS, "number": _OF_NUMBERS}.get(
            inner["type"], _OF_CHOICES if "enum" in inner else _OF_NAMES
        )
        note = rng.choice(forms).format(word=word)
    note = rng.choice((note, note[0].upper() + note[1:] + "."))
    return replace(parameter, name=name, schema={**schema, "description": note})
