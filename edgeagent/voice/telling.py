"""A call in words: what a robot says when a skill starts, asks before a dangerous one, and reports when it has ended.

By rules from the names of tools and parameters, so that it needs no model and no table for a builder's own tools; who
wants better words gives a function of his own. English.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.messages import ToolCall

_UNITS: Final = {"m": "m", "cm": "cm", "mm": "mm", "deg": "degrees", "s": "s", "min": "minutes", "percent": "percent"}
"""By the last word of a parameter's name."""
_DOUBLED: Final = frozenset({"get", "put", "set", "run", "stop", "cut", "grab", "grip", "drop", "scan", "map", "step"})
"""Short verbs whose last letter is doubled; ``scan`` and the like stand for those that end so."""
_LONGEST: Final = 60
"""Characters of an argument that are said."""


def command(call: ToolCall) -> str:
    """The call as a command: "go to the kitchen", "drive 2 m", "delete map"."""
    return " ".join([*_verb(call.name), *_objects(call.arguments)])


def announcement(call: ToolCall) -> str:
    """Sentence that is said when a call starts: "Going to the kitchen."."""
    verb, *rest = _verb(call.name)
    words = [_gerund(verb), *rest, *_objects(call.arguments)]
    return _sentence(" ".join(words))


def report(name: str, text: str) -> str:
    """Sentence that is said when a call of a tool has ended after its run: the result's text as a sentence."""
    return _sentence(text or f"{' '.join(_verb(name))} has ended")


def _verb(name: str) -> list[str]:
    return [word for word in name.replace("-", "_").split("_") if word] or [name]


def _objects(arguments: dict[str, Any]) -> list[str]:
    return [words for name, value in arguments.items() if (words := _object(name, value))]


def _object(name: str, value: Any) -> str:
    """An argument as it is said; what is no word and no number is left out."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, int | float):
        unit = _UNITS.get(name.rpartition("_")[2], "")
        if abs(value) == 1 and unit in ("degrees", "minutes"):
            unit = unit.removesuffix("s")
        return f"{value:g} {unit}".strip()
    if isinstance(value, str) and value.strip():
        text = " ".join(value.split())[:_LONGEST]
        return text if text.partition(" ")[0].casefold() in ("the", "a", "an", "my") else f"the {text}"
    return ""


def _gerund(verb: str) -> str:
    verb = verb.casefold()
    if verb in _DOUBLED:
        return f"{verb}{verb[-1]}ing"
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and len(verb) > 2 and verb[-2] not in "eoy":
        return f"{verb[:-1]}ing"
    return f"{verb}ing"


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        return ""
    return text[:1].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """Sentences in which a robot speaks of its skills."""

    announcement: Callable[[ToolCall], str] = announcement
    """Sentence that is said when a call starts; empty: none."""
    report: Callable[[str, str], str] = report
    """Sentence that is said of the result, by the tool's name and the result's text, when a call has ended after its
    run."""
