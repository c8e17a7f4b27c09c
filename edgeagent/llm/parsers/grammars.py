"""What a call may look like, for each format: the names and arguments of the tools on offer, in GBNF.

A grammar begins with the format's opener and ends where its call, or list of calls, ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from edgeagent.llm.parsers import gemma, granite, json_object, mistral, pythonic, xml
from edgeagent.llm.schema import JSON, PYTHON, Dialect, Rules, SchemaError, quoted
from edgeagent.llm.types import ToolSpec

_MOST_CALLS: Final = 8  # in one list
_OBJECT: Final = {"type": "object"}


def call_grammar(name: str, tools: Sequence[ToolSpec], *, strict: bool) -> tuple[Rules, str]:
    """The rules, and the expression of a call in the format of that name.

    Args:
        name: The format's.
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

    def alternatives(self, write: Callable[[ToolSpec], str]) -> str:
        """One alternative for each tool."""
        return self._rules.add("call", " | ".join(write(tool) for tool in self._tools))

    def arguments(self, tool: ToolSpec) -> str:
        """The object of a tool's arguments."""
        # Of a tool without parameters every argument is one too many.
        closed = {"additionalProperties": False} if not tool.parameters.get("properties") else {}
        return self._rules.add("args", self._said(tool, closed | tool.parameters, f"{tool.name}: arguments"))

    def parameters(self, tool: ToolSpec) -> Iterable[tuple[str, str, bool, dict[str, Any]]]:
        """Each parameter's name, the expression of its value, whether it is required, and its schema."""
        required = tool.parameters.get("required", ())
        for key, schema in (tool.parameters.get("properties") or {}).items():
            value = self._rules.add("v", self._said(tool, schema, f"{tool.name}: {key}"))
            yield key, value, key in required, schema

    def _said(self, tool: ToolSpec, schema: dict[str, Any], path: str) -> str:
        try:
            return self._rules.value(schema, tool.parameters, path)
        except SchemaError:
            if self._strict:
                raise
            return self._rules.value(_OBJECT if schema.get("type") == "object" else True)


def _json_call(rules: Rules, tools: _Tools, arguments: str = "arguments") -> str:
    ws = rules.blanks
    return tools.alternatives(
        lambda tool: (
            f'"{{" {ws} "\\"name\\"" {ws} ":" {ws} {quoted(JSON.literal(tool.name))} {ws} "," {ws} '
            f'"\\"{arguments}\\"" {ws} ":" {ws} {tools.arguments(tool)} {ws} "}}"'
        )
    )


def _list_of(rules: Rules, call: str) -> str:
    ws = rules.blanks
    return f'"[" {ws} {call} ({ws} "," {ws} {call}){{0,{_MOST_CALLS - 1}}} {ws} "]"'


def _hermes(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    return f'"<tool_call>" {ws} {_json_call(rules, tools)} {ws} "</tool_call>"'


def _xml(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    text = rules.add("text", '([^<] | "<" [^/<])*')
    closed = quoted("</parameter>")

    def call(tool: ToolSpec) -> str:
        pairs = [
            (
                f"{quoted(f'<parameter={key}>')} {ws} {_xml_value(rules, schema, value, text)} {ws} {closed} {ws}",
                required,
            )
            for key, value, required, schema in tools.parameters(tool)
        ]
        return f'{quoted(f"{xml.FUNCTION}{tool.name}>")} {ws} {rules.properties(pairs, "")} "</function>"'

    calls = tools.alternatives(call)
    return f"({quoted(xml.OPEN)} {ws} {calls} {ws} {quoted(xml.CLOSE)} | {calls})"


def _xml_value(rules: Rules, schema: dict[str, Any], value: str, text: str) -> str:
    """A parameter's text: strings without quotes, everything else as JSON."""
    if isinstance(schema.get("const"), str):
        return quoted(schema["const"])
    if "enum" in schema:
        items = (quoted(item if isinstance(item, str) else JSON.literal(item)) for item in schema["enum"])
        return f"({' | '.join(items)})"
    if schema.get("type") in ("integer", "number", "boolean", "array", "object", "null"):
        return value
    return text


def _pythonic(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks

    def call(tool: ToolSpec) -> str:
        pairs = [(f"{quoted(f'{key}=')} {value}", required) for key, value, required, _ in tools.parameters(tool)]
        return f'{quoted(f"{tool.name}(")} {ws} {rules.properties(pairs, f"""{ws} "," {ws}""")} {ws} ")"'

    calls = rules.add("calls", _list_of(rules, tools.alternatives(call)))
    return f"({quoted(pythonic.OPEN)} {ws} {calls} {ws} {quoted(pythonic.CLOSE)} | {calls})"


def _mistral(rules: Rules, tools: _Tools) -> str:
    ws = rules.blanks
    named = tools.alternatives(
        lambda tool: (
            f"{quoted(tool.name)} ({quoted(mistral.CALL_ID)} [a-zA-Z0-9]{{9}})? {quoted(mistral.ARGS)}? "
            f"{ws} {tools.arguments(tool)}"
        )
    )
    listed = _list_of(rules, _json_call(rules, tools))
    return f"{quoted(mistral.OPEN)} {ws} ({listed} | {named})"


def _gemma(family: gemma.Gemma) -> Callable[[Rules, _Tools], str]:
    def write(rules: Rules, tools: _Tools) -> str:
        call = tools.alternatives(lambda tool: f"{quoted(f'call:{tool.name}')} {tools.arguments(tool)}")
        return f"{quoted(family.open)} {call} {quoted(family.close)}"

    return write


_DIALECTS: Final = {
    "pythonic": PYTHON,
    "gemma": Dialect(quote=gemma.GEMMA4.quote, bare_keys=True),
    "functiongemma": Dialect(quote=gemma.FUNCTION_GEMMA.quote, bare_keys=True),
}
_WRITERS: Final[dict[str, Callable[[Rules, _Tools], str]]] = {
    "hermes": _hermes,
    "xml": _xml,
    "pythonic": _pythonic,
    "llama3": lambda rules, tools: f"{quoted(json_object.PYTHON_TAG)}? {_json_call(rules, tools, 'parameters')}",
    "mistral": _mistral,
    "gemma": _gemma(gemma.GEMMA4),
    "functiongemma": _gemma(gemma.FUNCTION_GEMMA),
    "granite": lambda rules, tools: (
        f"{quoted(granite.OPEN)} {rules.blanks} {_list_of(rules, _json_call(rules, tools))}"
    ),
    "xlam": lambda rules, tools: _list_of(rules, _json_call(rules, tools)),
    "json": _json_call,
}
