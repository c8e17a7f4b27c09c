"""XML: ``<tool_call><function=drive><parameter=distance_m>2</parameter></function></tool_call>``.

Qwen 3.5, Qwen3-Coder, Nemotron 3 and Step 3.5 write calls like this. A value is text: what is an object or a list is
read as one, everything else is handed on as text, because only the tool's schema knows what "2" is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from edgeagent.llm.gbnf import JSON, Rules, one_of, quoted
from edgeagent.llm.parsers.call_format import Found, NotACall
from edgeagent.llm.parsers.repair import loads
from edgeagent.llm.pattern import PatternError, pattern_expression
from edgeagent.llm.schema import SchemaError, expression, fixed_values, implied_kinds, target
from edgeagent.messages import ToolCall, new_id

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


OPEN: Final = "<tool_call>"
CLOSE: Final = "</tool_call>"
FUNCTION: Final = "<function="
_FUNCTION: Final = re.compile(r"\s*<function=([^>\s]+)\s*>")
_FUNCTION_END: Final = re.compile(r"\s*</function>\s*")
_PARAMETER: Final = re.compile(
    r"\s*<parameter=([^>\s]+)\s*>(.*?)</parameter>(?=\s*(?:<parameter=|</function>))", re.DOTALL
)
_END: Final = re.compile(r"</function>\s*(</tool_call>)?|</tool_call>")


class Xml:
    """One function between two markers; the outer ones may be missing."""

    name: Final = "xml"
    openers: Final = (OPEN, FUNCTION)
    start_openers: Final = ()
    markers: Final = (OPEN, CLOSE)

    def matches(self, template: str) -> bool:
        """See ``CallFormat.matches``."""
        return OPEN in template and FUNCTION in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        opener = len(OPEN) if text.startswith(OPEN) else 0
        head = _FUNCTION.match(text, opener)
        if head is None:
            begun = text[opener:].lstrip()
            may_be = (begun.startswith(FUNCTION) and ">" not in begun) or FUNCTION.startswith(begun)
            return None if may_be and not final else NotACall(opener or len(FUNCTION))
        arguments: dict[str, Any] = {}
        at = head.end()
        while parameter := _PARAMETER.match(text, at):
            arguments[parameter[1]] = _value(parameter[2])
            at = parameter.end()
        end = _FUNCTION_END.match(text, at)
        if end is not None:
            stop = self._outer_end(text, end.end(), final=final)
            return None if stop is None else Found(stop, (ToolCall(new_id("call"), head[1], arguments),))
        # What is left is no parameter: more of it may come, or it is broken.
        broken = _END.search(text, at)
        if not final and (broken is None or text.find("<parameter=", at, broken.start()) >= 0):
            return None
        stop = broken.end() if broken else len(text)
        return Found(stop, (ToolCall(new_id("call"), head[1], {}, raw=text[head.end() : stop].strip()),))

    @staticmethod
    def _outer_end(text: str, at: int, *, final: bool) -> int | None:
        """Returns the end of the call whose function ended at ``at``; None while the closing marker may still come."""
        if text.startswith(CLOSE, at):
            return at + len(CLOSE)
        return None if not final and CLOSE.startswith(text[at:]) else at


def _value(text: str) -> Any:
    """The value of a parameter: without the line breaks that templates put around it."""
    text = text.removeprefix("\n").removesuffix("\n")
    if text[:1] in ("{", "["):
        try:
            return loads(text)
        except ValueError:
            return text
    return text


XML: Final = Xml()
