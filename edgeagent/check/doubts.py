"""Doubtful tools: names, docstrings and parameters that a small model is likely to misread. Rules as rows of a table.

A rule sees a tool as a model does: its name, its description and the JSON Schema of its arguments. Pure functions.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from edgeagent.english.number_words import SPELLINGS, SYMBOLS
from edgeagent.llm.protocol import ToolSpec

Found = Iterator[tuple[str, str]]
"""Places and what was found there."""

MANY_TOOLS: Final = 16
"""Most tools at once in a dialogue of nano's training (``scripts/lab/train_nano/dialogue.py``).

For other models a rule of thumb: nobody measured where they begin to mix tools up."""
MANY_PARAMETERS: Final = 5
"""Most parameters of one tool; a rule of thumb, because a model may leave out or invent values of many."""
LONG_DESCRIPTION_WORDS: Final = 60
"""Most words of a description; a rule of thumb, because every word costs tokens in every request."""
LARGE_SHARE: Final = 0.25
"""Largest share of the context window for all tools together; a rule of thumb that leaves the history room."""
_ALIKE: Final = 0.85
"""Similarity of two names, or of two descriptions, from 0 to 1 (``difflib.SequenceMatcher``)."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_VOWEL: Final = re.compile(r"[aeiouy]")
_SHORT: Final = frozenset(
    """a ai am at be by do go gps hi i id in is it lcd led my no of off ok on or pi qr rgb tv to up us usb we x y
    z""".split()
)
"""Short words that people say as they are written."""
_ABBREVIATED: Final = frozenset(
    """acc addr alt amt ang arg avg bat btn buf calc cam cfg chg clr cmd cnt col conf config ctl ctrl cur curr del dest
    deg dev diff dir disp dist dur elev env err exec fwd gen grp grip hgt hum idx img init int lat len lft lgt lim loc
    lon lvl med mgr misc mod mot mov msg mtr mv nav num obj obs ori param perc pic pos pow prev proc prox pt ptr pwr
    qty rad req res ret rot rght rst seq sig spd src stat std str svc sw sys temp tgt tmp tok tx usr util val vel vol
    wgt wp""".split()
)
_UNITS: Final = frozenset(
    word.lower() for symbol, names in SYMBOLS.items() for text in (symbol, *names) for word in _WORD.findall(text)
).union(SPELLINGS, "hertz knots percentage pct ratio fraction share euro euros dollar dollars".split()) - frozenset(
    "fluid per revolution square time times x".split()
)
"""Words that tell a unit, written short and in full."""
_COUNTED: Final = frozenset(
    """times count number n index id repeat repeats repetitions page floor line step steps year month hour minute second
    date day shelf slot channel pin port level stage rank priority row column x y seed zone gear quantity copies rounds
    laps track item items people persons cups pieces portions""".split()
)
"""Words of numbers that need no unit: they count, or name one of many."""
_VAGUE: Final = frozenset(
    "run do execute perform action act handle process task command call function tool operate control work".split()
)
_SAME: Final = tuple(
    frozenset(words.split())
    for words in (
        "get read fetch check query show retrieve",
        "set change adjust update",
        "go move drive navigate travel ride",
        "stop halt cancel abort",
        "pick grab take grip grasp",
        "put place drop lay",
        "say speak tell talk announce",
        "turn rotate spin",
        "start begin launch",
        "find search look locate",
        "clean wash wipe",
        "lift raise",
        "bring deliver carry",
    )
)
"""Verbs that people, and so models, take for one another."""


@dataclass(frozen=True, slots=True)
class DoubtRule:
    """A row of the table."""

    name: str
    find: Callable[[Sequence[ToolSpec]], Found]
    advice: str
    """Action that the rule advises, in a sentence."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """One finding of a rule."""

    rule: str
    where: str
    """A tool, a parameter of one as ``tool(parameter)``, or "all tools"."""
    what: str
    advice: str


def doubts(tools: Sequence[ToolSpec]) -> list[Doubt]:
    """All that is doubtful in tools that are offered together, in the order of the rules."""
    return [Doubt(rule.name, where, what, rule.advice) for rule in RULES for where, what in rule.find(tools)]


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _properties(tool: ToolSpec) -> dict[str, dict[str, Any]]:
    """The parameters of a tool, each with the schema that a ``$ref`` or an optional type stands for."""
    defs: dict[str, Any] = tool.parameters.get("$defs", {})

    def resolved(schema: dict[str, Any]) -> dict[str, Any]:
        if "$ref" in schema:
            return {
                **defs.get(schema["$ref"].rsplit("/", 1)[-1], {}),
                **{k: v for k, v in schema.items() if k != "$ref"},
            }
        branches = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
        return {**resolved(branches[0]), **schema} if len(branches) == 1 else schema

    return {name: resolved(schema) for name, schema in tool.parameters.get("properties", {}).items()}


def _parameters(tools: Sequence[ToolSpec]) -> Iterator[tuple[ToolSpec, str, dict[str, Any]]]:
    for tool in tools:
        for name, schema in _properties(tool).items():
            yield tool, name, schema


def _place(tool: ToolSpec, parameter: str) -> str:
    return f"{tool.name}({parameter})"


def _without_docstring(tools: Sequence[ToolSpec]) -> Found:
    for tool in tools:
        if not tool.description.strip():
            yield tool.name, "has no docstring"


def _alike(tools: Sequence[ToolSpec]) -> Found:
    for one, other in combinations(tools, 2):
        if _reads_as(one.name) == _reads_as(other.name) or _similar(one.name, other.name):
            yield f"{one.name}, {other.name}", "have names that read alike"
        elif _told(one) and _told(other) and _similar(_told(one), _told(other)):
            yield f"{one.name}, {other.name}", "have docstrings that read alike"


def _reads_as(name: str) -> tuple[str, ...]:
    """The words of a name in alphabetical order, each verb as the first of those that mean the same."""
    return tuple(sorted(next((min(same) for same in _SAME if word in same), word) for word in _words(name)))


def _similar(one: str, other: str) -> bool:
    """True for texts that differ in letters, not in a whole word such as left and right."""
    words, others = _words(one), _words(other)
    if len(words) != len(others):
        return False
    return all(difflib.SequenceMatcher(None, a, b).ratio() >= _ALIKE for a, b in zip(words, others, strict=True))


def _told(tool: ToolSpec) -> str:
    return tool.description.strip().lower()


def _unclear_names(tools: Sequence[ToolSpec]) -> Found:
    for tool in tools:
        if unclear := _unclear(_words(tool.name)):
            yield tool.name, f"has {unclear} in its name"
    for tool, name, _ in _parameters(tools):
        words = _words(name)
        if unclear := _unclear(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words):
            yield _place(tool, name), f"has {unclear} in its name"


def _unclear(words: Sequence[str]) -> str:
    """The first part of a name that is no word, in words; empty if there is none."""
    for word in words:
        if word.isdigit():
            return f"the number {word}"
        if word in _ABBREVIATED or (word not in _SHORT and (len(word) < 3 or not _VOWEL.search(word))):
            return f"the abbreviation {word!r}"
    return ""


def _vague(tools: Sequence[ToolSpec]) -> Found:
    for tool in tools:
        if set(_words(tool.name)) <= _VAGUE:
            yield tool.name, "could be the name of any tool"


def _without_unit(tools: Sequence[ToolSpec]) -> Found:
    for tool, name, schema in _parameters(tools):
        if schema.get("type") not in ("number", "integer") or "enum" in schema:
            continue
        words = set(_words(name))
        told = f"{schema.get('description', '')} {tool.description}"
        said = {word for word in _words(told) if len(word) > 1}  # "a" is no ampere there
        whole = schema["type"] == "integer" and "number" in _words(schema.get("description", ""))
        if "%" not in told and _UNITS.isdisjoint(words | said) and _COUNTED.isdisjoint(words) and not whole:
            yield _place(tool, name), "is a number without a unit"


def _undescribed(tools: Sequence[ToolSpec]) -> Found:
    for tool, name, schema in _parameters(tools):
        kind = schema.get("type")
        free = kind in ("string", "array", "object", None) and not ("enum" in schema or "const" in schema)
        if free and not schema.get("description", "").strip():
            yield _place(tool, name), "can be anything, and has no description"


def _unclear_choices(tools: Sequence[ToolSpec]) -> Found:
    for tool, name, schema in _parameters(tools):
        described = schema.get("description", "")
        for value in schema.get("enum", ()):
            if value is None or isinstance(value, bool) or (described and str(value) in described):
                continue
            unclear = "a number" if isinstance(value, int | float) else _unclear(_words(value)) if value else "empty"
            if unclear or (isinstance(value, str) and not _words(value)):
                yield _place(tool, name), f"has the choice {value!r}, which says nothing by itself"
                break


def _nested(tools: Sequence[ToolSpec]) -> Found:
    for tool, name, schema in _parameters(tools):
        inner = schema.get("items", {}) if schema.get("type") == "array" else schema
        if inner.get("type") == "object" or ("$ref" in inner and "enum" not in inner):
            yield _place(tool, name), "is an object inside the arguments"


def _many_parameters(tools: Sequence[ToolSpec]) -> Found:
    for tool in tools:
        if (count := len(_properties(tool))) > MANY_PARAMETERS:
            yield tool.name, f"has {count} parameters"


def _long(tools: Sequence[ToolSpec]) -> Found:
    for tool in tools:
        if (count := len(tool.description.split())) > LONG_DESCRIPTION_WORDS:
            yield tool.name, f"has a docstring of {count} words"


def _many(tools: Sequence[ToolSpec]) -> Found:
    if len(tools) > MANY_TOOLS:
        yield "all tools", f"are {len(tools)}"


RULES: Final = (
    DoubtRule("no docstring", _without_docstring, "Say in one sentence what the tool does and when to call it."),
    DoubtRule("alike", _alike, "Say in name and docstring in which way each differs, or make one tool of two."),
    DoubtRule(
        "unclear name", _unclear_names, "Write whole words, as people say them: models know words, not your wiring."
    ),
    DoubtRule("vague name", _vague, "Name what happens: a verb and a thing, such as open_gripper."),
    DoubtRule("no unit", _without_unit, "Put the unit into the name (distance_m), or describe it under Args."),
    DoubtRule("not described", _undescribed, "List what is allowed (Literal or Enum), or describe it under Args."),
    DoubtRule(
        "unclear choice", _unclear_choices, "Use words as values, and have your function look the number or code up."
    ),
    DoubtRule("nested", _nested, "Make plain parameters of its fields: small models lose track of inner braces."),
    DoubtRule(
        "many parameters", _many_parameters, f"Keep to {MANY_PARAMETERS}: give the rest defaults in your function."
    ),
    DoubtRule("long docstring", _long, "Keep what decides when to call it; the rest costs time in every request."),
    DoubtRule(
        "many tools",
        _many,
        f"Offer a small model at most {MANY_TOOLS} at once: hand over to another agent for some.",
    ),
)
"""All rules, the gravest first."""
