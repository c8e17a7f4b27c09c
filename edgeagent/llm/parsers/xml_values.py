"""Values as the XML format writes them: strings as they are, everything else as JSON.

The parser takes one line break off each end of a value, and reads as JSON what begins like an object or a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from edgeagent.llm.disjoint import fixed_values, implied_kinds
from edgeagent.llm.gbnf import JSON, Rules, one_of, quoted
from edgeagent.llm.pattern import PatternError, pattern_expression
from edgeagent.llm.schema import SchemaError, expression, target

_NULL: Final = quoted("null")
_NOT_AS_IT_IS: Final = re.compile(r"\s*[\[{]|\n|.*\n\Z|.*</", re.DOTALL)
_BARRED: Final = "<{["


def xml_expression(rules: Rules, schema: Any, root: Mapping[str, Any], path: str) -> str:
    """The expression of a value; see ``schema.expression``.

    Raises:
        SchemaError: It can't be said.
    """
    expression(Rules(), schema, root, path)  # raises what no grammar can say, and circles
    ways = _ways(rules, schema, root, path)
    # The text "null" is no null to the one who reads it, so that is written only where there is nothing else to write.
    return one_of([way for way in ways if way != _NULL] or ways)


def _ways(rules: Rules, schema: Any, root: Mapping[str, Any], path: str) -> list[str]:
    if schema is True:
        return [_text(rules)]
    if "$ref" in schema:
        return _ways(rules, target(root, schema["$ref"], path), root, path)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return [way for part in schema[key] for way in _ways(rules, part, root, path)]
    values = fixed_values(schema)
    if values is not None:
        return [rules.choice({_fixed(value, path): "" for value in values})]
    kinds = schema.get("type") or implied_kinds(schema) or "string"
    ways = []
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        typed = {**schema, "type": kind}
        ways.append(_string(rules, typed, path) if kind == "string" else expression(rules, typed, root, path))
    return ways


def _fixed(value: Any, path: str) -> str:
    if not isinstance(value, str):
        return JSON.literal(value)
    if _NOT_AS_IT_IS.match(value):
        raise SchemaError(f"{path}: the value {json.dumps(value)[:80]} can't be written as text in this format")
    return value


def _string(rules: Rules, schema: Mapping[str, Any], path: str) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" in schema:
        try:
            return pattern_expression(rules, schema["pattern"], _BARRED)
        except PatternError as error:
            raise SchemaError(f"{path}: the keyword 'pattern' can't be said in a grammar: {error}") from error
    if not least and most is None:
        return _text(rules)
    if most == 0:
        return '""'
    letter = rules.add("letter", r"[^<\n]")
    rest = rules.repeated(letter, max(0, least - 1), None if most is None else most - 1)
    said = rules.add("letters", rf"[^<{{\[\n] {rest}")
    return said if least else f"{said}?"


def _text(rules: Rules) -> str:
    """Any text in which no closing tag begins."""
    return rules.add("text", r'([^<{\[\n] ([^<] | "<" [^/<])*)? | "<" [^/<] ([^<] | "<" [^/<])*')
