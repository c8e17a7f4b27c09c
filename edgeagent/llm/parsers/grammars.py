"""Grammars of calls, for each format: the names and arguments of the tools on offer, in GBNF.

A grammar begins with the format's opener and ends where its call, or list of calls, ends.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from edgeagent.llm.gbnf import JSON, PYTHON, Dialect, Rules, marked, one_of, quoted
from edgeagent.llm.parsers import function_calls, json_calls, tool_call_tags
from edgeagent.llm.parsers.call_format import CallFormat
from edgeagent.llm.pattern import PatternError, pattern_expression
from edgeagent.llm.protocol import ToolSpec
from edgeagent.llm.schema import SchemaError, expression, fixed_values, implied_kinds, target

_MOST_CALLS: Final = 8  # in one list
_OBJECT: Final = {"type": "object"}
_CHOICES: Final = ("$ref", "anyOf", "oneOf", "allOf", "enum", "const")
_XML_NAME: Final = re.compile(r"[^>\s]+")

Write = Callable[[Rules, Any, Mapping[str, Any], str], str]
"""Writes a value: the rules, its schema, where the references of that point into, and where it stands."""


def call_grammar(name: str | None, tools: Sequence[ToolSpec], *, strict: bool) -> tuple[Rules, str]:
    """The rules, and the expression of a call in the format of that name.

    Args:
        name: The format's; None is a JSON object without any tag, with either key of its arguments.
        tools: What may be called.
        strict: A tool whose schema no grammar can say is an error; otherwise its arguments may be any object.

    Raises:
        SchemaError: With the tool, the keyword and its place.
    """
    rules = Rules(_DIALECTS.get(name, JSON))
    return rules, _WRITERS[name](rules, _Tools(rules, tools, strict=strict))


class _Tools:
    """The tools' schemas as expressions."""

    def __init__(self, rules: Rules, tools: Sequence[ToolSpec], *, strict: bool) -> None:
        self._rules = rules
        self._tools = tools
        self._strict = strict

    def alternatives(self, name: Callable[[str], str], rest: Callable[[ToolSpec], str]) -> str:
        """One alternative for each tool: its name as the format writes it, and what follows."""
        return self._rules.choice({name(tool.name): self._rules.add("call", rest(tool)) for tool in self._tools})

    def arguments(self, tool: ToolSpec) -> str:
        """The object of a tool's arguments."""
        schema = tool.parameters
        if not schema.get("properties") and not any(key in schema for key in (*_CHOICES, "required")):
            # Of a tool without parameters every argument is one too many.
            schema = {"additionalProperties": False} | schema
        return self._rules.add("args", self._written(expression, tool, schema, f"{tool.name}: arguments", _OBJECT))

    def parameters(
        self, tool: ToolSpec, write: Write, can_name: Callable[[str], object]
    ) -> Iterable[tuple[str, str, bool]]:
        """Each parameter's name, the expression of its value, and whether it is required.

        Args:
            tool: Whose.
            write: Writes a value.
            can_name: Whether the format can write a parameter's name.
        """
        path, schema = f"{tool.name}: arguments", tool.parameters
        required = schema.get("required", ())
        properties = {**(schema.get("properties") or {})}
        for key in required:
            properties.setdefault(key, True)
        if self._strict:
            expression(Rules(), schema, path=path)
            choice = next((key for key in _CHOICES if key in schema), None)
            if choice:
                raise SchemaError(f"{path}: the keyword {choice!r} can't be said where each argument stands alone")
            odd = next((key for key in properties if not can_name(key)), None)
            if odd is not None:
                raise SchemaError(f"{path}: the keyword 'properties' has a name that this format can't write: {odd!r}")
        for key, inner in properties.items():
            if not can_name(key):
                continue  # written anyway, it would make the whole call unreadable
            otherwise = _OBJECT if isinstance(inner, Mapping) and inner.get("type") == "object" else True
            yield (
                key,
                self._rules.add("v", self._written(write, tool, inner, f"{path}.{key}", otherwise)),
                key in required,
            )

    def _written(self, write: Write, tool: ToolSpec, schema: Any, path: str, otherwise: Any) -> str:
        try:
            return write(self._rules, schema, tool.parameters, path)
        except SchemaError:
            if self._strict:
                raise
            return write(self._rules, otherwise, tool.parameters, path)


def _json_call(rules: Rules, tools: _Tools, *keys: str) -> str:
    ws, colon = rules.blanks, rules.colon
    key = one_of(quoted(JSON.literal(key)) for key in keys or ("arguments",))
    named = tools.alternatives(
        JSON.literal, lambda tool: f'{rules.comma} {key} {colon} {tools.arguments(tool)} {ws} "}}"'
    )
    return rules.add("named", f'"{{" {ws} {quoted(JSON.literal("name"))} {colon} {named}')


def _list_of(rules: Rules, call: str) -> str:
    return rules.items((), (1, _MOST_CALLS), call)


def _hermes(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    return f'"<tool_call>" {ws} {_json_call(rules, tools)} {ws} "</tool_call>"'


def _xml(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    line = rules.add("line", '"\\n"?')  # is no part of a value, as a blank would be
    closed = quoted("</parameter>")

    def rest(tool: ToolSpec) -> str:
        pairs = [
            (f"{quoted(f'<parameter={key}>')} {line} {value} {line} {closed} {ws}", required)
            for key, value, required in tools.parameters(tool, _xml_value, _XML_NAME.fullmatch)
        ]
        return f'{ws} {rules.properties(pairs, comma="")} "</function>"'

    calls = tools.alternatives(lambda name: f"{tool_call_tags.FUNCTION}{name}>", rest)
    return f"({quoted(tool_call_tags.OPEN)} {ws} {calls} {ws} {quoted(tool_call_tags.CLOSE)} | {calls})"


def _pythonic(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks

    def rest(tool: ToolSpec) -> str:
        parameters = tools.parameters(tool, expression, _is_python_name)
        pairs = [(f"{quoted(f'{key}=')} {value}", required) for key, value, required in parameters]
        return f'{ws} {rules.properties(pairs)} {ws} ")"'

    calls = _list_of(rules, tools.alternatives(lambda name: f"{name}(", rest))
    return f"({quoted(function_calls.OPEN)} {ws} {calls} {ws} {quoted(function_calls.CLOSE)} | {calls})"


def _is_python_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name)


def _mistral(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    head = f"({quoted(json_calls.CALL_ID)} [a-zA-Z0-9]{{9}})? {quoted(json_calls.ARGS)}? {ws}"
    named = tools.alternatives(str, lambda tool: f"{head} {tools.arguments(tool)}")
    listed = _list_of(rules, _json_call(rules, tools))
    return f"{quoted(json_calls.MISTRAL_CALLS)} {ws} ({listed} | {named})"


def _gemma(family: CallFormat) -> Callable[[Rules, _Tools], str]:
    opens, closes, _ = family.markers

    def write(rules: Rules, tools: _Tools) -> str:
        call = tools.alternatives(lambda name: f"call:{name}", tools.arguments)
        return f"{quoted(opens)} {call} {quoted(closes)}"

    return write


_DIALECTS: Final[dict[str | None, Dialect]] = {
    "pythonic": PYTHON,
    "gemma": marked("Gemma's values", function_calls.GEMMA4.markers[-1]),
    "functiongemma": marked("Gemma's values", function_calls.FUNCTION_GEMMA.markers[-1]),
}
_WRITERS: Final[dict[str | None, Callable[[Rules, _Tools], str]]] = {
    "hermes": _hermes,
    "xml": _xml,
    "pythonic": _pythonic,
    "llama3": lambda rules, tools: f"{quoted(json_calls.PYTHON_TAG)}? {_json_call(rules, tools, 'parameters')}",
    "mistral": _mistral,
    "gemma": _gemma(function_calls.GEMMA4),
    "functiongemma": _gemma(function_calls.FUNCTION_GEMMA),
    "granite": lambda rules, tools: (
        f"{quoted(json_calls.GRANITE_CALL)} {rules.blanks} {_list_of(rules, _json_call(rules, tools))}"
    ),
    "xlam": lambda rules, tools: _list_of(rules, _json_call(rules, tools)),
    "json": _json_call,
    None: lambda rules, tools: _json_call(rules, tools, "arguments", "parameters"),
}


# --- values in XML ----------------------------------------------------------------------------------------------------


_NULL: Final = quoted("null")
_NOT_AS_IT_IS: Final = re.compile(r"\s*[\[{]|\n|.*\n\Z|.*</", re.DOTALL)
_BARRED: Final = "<{["


def _xml_value(rules: Rules, schema: Any, root: Mapping[str, Any], path: str) -> str:
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
