"""The language of phrase files: patterns, actions, rules.

    # comment
    @move = (drive|go|move)
    3* <move> forward <dist> => drive(distance_m=<dist>)
    turn left <count> => turn(angle_deg=90) * <count>
    (hi|hello) [there] => none "(Hello.|Hi.)"
    tool wave(times: integer)

README.md in this folder has the whole syntax. This module knows nothing of what slots mean.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

_NAME: Final = r"[A-Za-z_]\w*"
_TOKEN: Final = re.compile(rf"\\(.)|<({_NAME})(?::(\d+))?>|([()\[\]|])|(\s+)|([^\\<>()\[\]|\s]+)|(.)")
_CALL: Final = re.compile(rf"\s*({_NAME})\s*\(")
_One = TypeVar("_One")
_WEIGHT: Final = re.compile(r"(\d+(?:\.\d+)?)\*\s+")


class GrammarError(ValueError):
    """A phrase file is wrong; the message begins with FILE:LINE."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place where a value is drawn: <dist>, <dist:2>, in an action also -<dist>, <dist>*2, <dist>/2.

    Attributes:
        scale: What the value is multiplied by.
    """

    kind: str
    index: int = 1
    scale: float = 1

    @property
    def key(self) -> tuple[str, int]:
        """What pattern and action share."""
        return self.kind, self.index


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; a str is one word, " " a space."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the options, each equally likely."""

    options: tuple[Sequence, ...]


Node = str | Slot | Sequence | Choice
Literal = str | int | float | bool


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """A call with slots for values; repeat is how often, a number or a slot."""

    name: str
    arguments: tuple[tuple[str, Literal | Slot], ...]
    repeat: int | Slot = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """What is said, and what is right: calls, or (calls empty) a reply."""

    pattern: Sequence
    calls: tuple[CallTemplate, ...]
    reply: Sequence | None
    weight: float
    where: str
    ways: float
    """How many word sequences the pattern stands for."""

    @property
    def slots(self) -> list[Slot]:
        """Every slot of the pattern, in order, repeats included."""
        return list(_slots(self.pattern))


@dataclass(slots=True)
class Grammar:
    """The rules and declared tools of one or more files."""

    rules: list[Rule] = field(default_factory=list)
    tools: dict[str, str] = field(default_factory=dict)
    """Tool name to signature, as declared with ``tool NAME(ARG: TYPE)``."""


def _slots(node: Node) -> list[Slot]:
    match node:
        case Slot():
            return [node]
        case Sequence(parts):
            return [s for p in parts for s in _slots(p)]
        case Choice(options):
            return [s for o in options for s in _slots(o)]
    return []


def count(node: Node) -> float:
    """How many word sequences a pattern stands for, each slot counted once."""
    match node:
        case Sequence(parts):
            return math.prod(count(p) for p in parts)
        case Choice(options):
            return sum(count(o) for o in options)
    return 1.0


def expand(node: Node, rng: random.Random) -> list[str | Slot]:
    """Draws one sequence of words, spaces and slots."""
    match node:
        case Sequence(parts):
            return [piece for p in parts for piece in expand(p, rng)]
        case Choice(options):
            return expand(rng.choice(options), rng)
    return [node]


def parse_pattern(text: str, macros: dict[str, Sequence], where: str) -> Sequence:
    """Parses a pattern.

    Raises:
        GrammarError: brackets that do not match, or a stray character.
    """
    tokens = list(_TOKEN.finditer(text.strip()))
    position = 0

    def sequence(closer: str) -> list[Sequence]:
        nonlocal position
        options: list[Sequence] = []
        parts: list[Node] = []
        while position < len(tokens):
            escaped, slot, index, bracket, space, word, stray = tokens[position].groups()
            position += 1
            if escaped is not None:
                parts.append(escaped)
            elif slot is not None:
                macro = macros.get(slot) if index is None else None
                parts.append(macro if macro is not None else Slot(slot, int(index or 1)))
            elif space is not None:
                parts.append(" ")
            elif word is not None:
                parts.append(word)
            elif bracket == "(":
                parts.append(Choice(tuple(sequence(")"))))
            elif bracket == "[":
                parts.append(Choice((*sequence("]"), Sequence(()))))
            elif bracket == "|" and closer:
                options.append(Sequence(tuple(parts)))
                parts = []
            elif bracket == closer:
                return [*options, Sequence(tuple(parts))]
            else:
                raise GrammarError(
                    f"{where}: unexpected {bracket or stray!r}; a literal one is written \\{bracket or stray}"
                )
        if closer:
            raise GrammarError(f"{where}: missing {closer!r}")
        return [Sequence(tuple(parts))]

    return sequence("")[0]


def _value(text: str, where: str) -> Literal | Slot:
    text = text.strip()
    slot = re.fullmatch(rf"(-?)<({_NAME})(?::(\d+))?>(?:([*/])([\d.]+))?", text)
    if slot:
        by = float(slot[5] or 1)
        return Slot(slot[2], int(slot[3] or 1), (-1 if slot[1] else 1) * (1 / by if slot[4] == "/" else by))
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    if re.fullmatch(r"[+-]?\d*\.\d+", text):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    if re.fullmatch(r"[A-Za-z_][\w ]*", text):
        return text
    raise GrammarError(f"{where}: not a value: {text!r}")


def _parse_calls(text: str, where: str) -> tuple[CallTemplate, ...]:
    calls: list[CallTemplate] = []
    for piece in filter(None, (p.strip() for p in text.split(";"))):
        match = re.fullmatch(rf"({_NAME})\s*\((.*)\)\s*(?:\*\s*(\S+))?", piece)
        if match is None:
            raise GrammarError(f"{where}: not a call: {piece!r}")
        name, inside, times = match.groups()
        arguments: list[tuple[str, Literal | Slot]] = []
        for part in filter(None, (p.strip() for p in inside.split(","))):
            arg, sep, value = part.partition("=")
            if not sep:
                raise GrammarError(f"{where}: write ARG=VALUE, not {part!r}")
            arguments.append((arg.strip(), _value(value, where)))
        repeat = _value(times, where) if times else 1
        if isinstance(repeat, bool | float | str):
            raise GrammarError(f"{where}: * takes a whole number or a slot")
        calls.append(CallTemplate(name, tuple(arguments), repeat))
    if not calls:
        raise GrammarError(f"{where}: no call")
    return tuple(calls)


def parse_rule(
    line: str, macros: dict[str, Sequence], where: str, earlier: frozenset[tuple[str, int]] = frozenset()
) -> Rule:
    """Parses a rule.

    Args:
        earlier: Slots that are known from lines before.

    Raises:
        GrammarError: it cannot be read.
    """
    left, arrow, right = line.partition("=>")
    if not arrow:
        raise GrammarError(f"{where}: a rule is PATTERN => ACTION")
    left, right = left.strip(), right.strip()
    weight = 1.0
    if match := _WEIGHT.match(left):
        weight, left = float(match[1]), left[match.end() :]
    pattern = parse_pattern(left, macros, where)
    if right.startswith("none"):
        body = right[4:].strip()
        if len(body) < 2 or body[0] != '"' or body[-1] != '"':
            raise GrammarError(f'{where}: write none "REPLY"')
        return Rule(pattern, (), parse_pattern(body[1:-1], macros, where), weight, where, count(pattern))
    calls = _parse_calls(right, where)
    known = {s.key for s in _slots(pattern)} | earlier
    for call in calls:
        wanted = [v for _, v in call.arguments if isinstance(v, Slot)]
        wanted += [call.repeat] if isinstance(call.repeat, Slot) else []
        for slot in wanted:
            if slot.key not in known:
                raise GrammarError(f"{where}: <{slot.kind}:{slot.index}> is not in the pattern")
    return Rule(pattern, calls, None, weight, where, count(pattern))


def _read(path: Path, shared: dict[str, Sequence], grammar: Grammar) -> dict[str, Sequence]:
    macros = dict(shared)
    for number, raw in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        line, where = raw.strip(), f"{path.name}:{number}"
        if not line or line.startswith("#"):
            continue
        if line.startswith("@"):
            name, sep, body = line[1:].partition("=")
            if not sep or not re.fullmatch(_NAME, name.strip()):
                raise GrammarError(f"{where}: a macro is @NAME = PATTERN")
            macros[name.strip()] = parse_pattern(body, macros, where)
        elif line.startswith("tool ") and "=>" not in line:
            signature = line[5:].strip()
            match = _CALL.match(signature)
            if match is None:
                raise GrammarError(f"{where}: a declaration is tool NAME(ARG: TYPE)")
            grammar.tools[match[1]] = signature
        else:
            grammar.rules.append(parse_rule(line, macros, where))
    return macros


def load(paths: list[Path]) -> Grammar:
    """Reads phrase files in order; macros of common.txt are shared with the others.

    Raises:
        GrammarError: with file and line.
    """
    grammar = Grammar()
    common = [p for p in paths if p.name == "common.txt"]
    shared: dict[str, Sequence] = {}
    for path in common:
        shared |= _read(path, {}, grammar)
    for path in paths:
        if path not in common:
            _read(path, shared, grammar)
    return grammar


def read_all(paths: list[Path], read: Callable[[Path, list[str]], Iterator[_One]]) -> tuple[_One, ...]:
    """Reads files with a function that adds what is wrong to a list.

    Raises:
        GrammarError: all that is wrong, a line each.
    """
    errors: list[str] = []
    found = tuple(one for path in paths for one in read(path, errors))
    if errors:
        raise GrammarError("\n".join(errors))
    return found
