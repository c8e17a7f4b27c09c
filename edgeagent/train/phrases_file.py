"""Phrases of a builder: a sentence and the calls that are right, one a line. Read strictly.

    scan the third pallet = scan_pallet(number=3)
    open valve one and water bed two = set_valve(number=1, open=true); water_bed(bed=2)
    who built you = none "I don't know."

Knows the tools' schemas; knows nothing of models. Pure functions, any thread.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from edgeagent.check import Case
from edgeagent.check.cases import complete, nearest
from edgeagent.errors import ConfigError
from edgeagent.tools import Tool
from edgeagent.tools.signature import ArgumentError

_FORM: Final = 'SENTENCE = tool(argument=value), or SENTENCE = none "REPLY"'
_NONE: Final = re.compile(r'none(?:\s+"([^"]*)")?')
_WORDS: Final = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class TaughtCall:
    """A call with the arguments as the builder wrote them."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Phrase:
    """One line of a file."""

    say: str
    calls: tuple[TaughtCall, ...]
    """In their order; empty where no call is right."""
    reply: str = ""
    """The answer where no call is right; empty where the line gives none."""
    line: int = 0
    """From 1."""


def read_phrases(path: Path, tools: Iterable[Tool]) -> list[Phrase]:
    """Reads a file of phrases. Empty lines and those that begin with # are skipped.

    Raises:
        ConfigError: The file can't be read or holds no phrase; a line has another form, names no tool of the app, has
            arguments that do not fit, or says the same as another. With file and line.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is no text in UTF-8; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"{path}: the phrases can't be read: {error.strerror or error}") from None
    known = {tool.name: tool for tool in tools}
    phrases: dict[str, Phrase] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            phrase = _phrase(line.strip(), number, known)
            if (other := phrases.get(phrase.say.lower())) is not None:
                raise ValueError(f"line {other.line} says the same")
        except ValueError as error:
            raise ConfigError(f"{path}:{number}: {error}") from None
        phrases[phrase.say.lower()] = phrase
    if not phrases:
        raise ConfigError(f"{path} has no phrase; write lines such as\n{_FORM}")
    return list(phrases.values())


def cases_of(phrases: Iterable[Phrase], tools: Iterable[Tool]) -> list[Case]:
    """Makes cases of phrases, to be asked as ``edgeagent test`` asks them."""
    known = {tool.name: tool for tool in tools}
    return [
        Case(one.say, tuple(complete(known[call.name], dict(call.arguments)) for call in one.calls), line=one.line)
        for one in phrases
    ]


def kept_apart(phrases: Sequence[Phrase], *, every: int) -> tuple[list[Phrase], list[Phrase]]:
    """Splits phrases into those to learn and those to be scored, without leaving a tool with nothing to learn.

    Args:
        every: Of so many phrases with the same calls, the last one is kept apart.
    """
    learnt: list[Phrase] = []
    apart: list[Phrase] = []
    counts: dict[tuple[str, ...], int] = {}
    for phrase in phrases:
        names = tuple(call.name for call in phrase.calls)
        counts[names] = counts.get(names, 0) + 1
        (apart if counts[names] % every == 0 else learnt).append(phrase)
    return learnt, apart


def _phrase(line: str, number: int, tools: dict[str, Tool]) -> Phrase:
    """Reads one line.

    Raises:
        ValueError: It has another form, or a call does not fit. The text is for the builder.
    """
    say, sign, right = (part.strip() for part in line.partition(" = "))
    if not sign or not say or not right:
        raise ValueError(f"write {_FORM}")
    say = " ".join(say.split())
    if (none := _NONE.fullmatch(right)) is not None:
        return Phrase(say, (), none[1] or "", number)
    calls = tuple(_call(part.strip(), tools) for part in _parts(right) if part.strip())
    if not calls:
        raise ValueError(f"no call stands behind the =; write {_FORM}")
    return Phrase(say, calls, line=number)


def _parts(text: str) -> list[str]:
    """Splits at the semicolons that stand in no text."""
    parts, quote = [""], ""
    for char in text:
        if char == ";" and not quote:
            parts.append("")
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        parts[-1] += char
    return parts


def _call(text: str, tools: dict[str, Tool]) -> TaughtCall:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"{text!r} is no call; write {_FORM}") from None
    if isinstance(node, ast.Name):
        raise ValueError(f"{text!r} is no call; write {text}() for a call without arguments")
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError(f"{text!r} is no call of a tool with named arguments, such as tool(number=3)")
    name = node.func.id
    if name not in tools:
        raise ValueError(f"the app has no tool {name!r}; {nearest(name, list(tools))}")
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in arguments:
            raise ValueError(f"{text!r}: give every argument once, by its name")
        arguments[keyword.arg] = _value(keyword.value, text)
    try:
        complete(tools[name], dict(arguments))
    except ArgumentError as error:
        raise ValueError(f"{name}: {' '.join(str(error).split())}") from None
    return TaughtCall(name, arguments)


def _value(node: ast.expr, text: str) -> Any:
    class Words(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.expr:
            return ast.Constant(_WORDS[name.id]) if name.id in _WORDS else name

    try:
        return ast.literal_eval(Words().visit(node))
    except (ValueError, TypeError):
        raise ValueError(
            f'{text!r}: {ast.unparse(node)} is no value; write 3, 2.5, "text", True or ["a", "b"]'
        ) from None
