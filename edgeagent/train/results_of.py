"""Results that a tool of a builder may give, read from the ``return`` statements in its source.

A model that has seen them tells them better. Where there is no source, a few words stand for every result. Nothing is
run. Any thread.
"""

from __future__ import annotations

import ast
import inspect
import random
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from edgeagent.tools import Tool
from edgeagent.train.dressing import digits

_PLAIN: Final = ("done", "ok", "finished")
FAULTS: Final = (
    "blocked",
    "timed out",
    "the sensor does not answer",
    "motor fault",
    "not available",
    "something is in the way",
    "the battery is empty",
)
_LONGEST: Final = 120
"""Characters of a result that is learnt."""

Template = tuple[str | ast.expr, ...]


def templates_of(tool: Tool) -> list[Template]:
    """Collects the texts and f-strings that a tool's function returns; empty where there is no source."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(tool.function))))
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    return [made for node in ast.walk(tree) if isinstance(node, ast.Return) and (made := _template(node.value))]


def result(templates: list[Template], arguments: dict[str, Any], rng: random.Random) -> str:
    """Draws the text of a result that is no failure."""
    if not templates or rng.random() < 0.15:
        return rng.choice(_PLAIN)
    text = "".join(part if isinstance(part, str) else _shown(part, arguments, rng) for part in rng.choice(templates))
    return text if len(text) <= _LONGEST else rng.choice(_PLAIN)


def told(text: str) -> str:
    """Writes a result as a sentence."""
    text = text.strip().rstrip(".")
    return f"{text[:1].upper()}{text[1:]}." if text and text not in _PLAIN else "Done."


def _template(node: ast.expr | None) -> Template:
    match node:
        case ast.Constant(value=str(text)):
            return (text,)
        case ast.JoinedStr(values=parts):
            return tuple(part.value if isinstance(part, ast.Constant) else _inner(part) for part in parts)  # type: ignore[misc]  # the constants of an f-string are texts
    return ()


def _inner(part: ast.expr) -> ast.expr:
    return part.value if isinstance(part, ast.FormattedValue) else part


def _shown(node: ast.expr, arguments: dict[str, Any], rng: random.Random) -> str:
    """The value of an argument, one of two texts, or else a number."""
    names = [name for name in _names(node) if name in arguments]
    match node:
        case ast.IfExp(body=ast.Constant(value=str(one)), orelse=ast.Constant(value=str(other)), test=test):
            if isinstance(test, ast.Name) and test.id in arguments:
                return one if arguments[test.id] else other
            return rng.choice((one, other))
    if names:
        value = arguments[names[0]]
        return digits(abs(value)) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    return str(rng.randint(0, 100))


def _names(node: ast.expr) -> Iterator[str]:
    return (each.id for each in ast.walk(node) if isinstance(each, ast.Name))
