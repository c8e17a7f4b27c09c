"""Cases of an app: what is said to it, and which calls are right. Read from TOML, strictly, or begun from its tools.

Knows the tools' schemas; knows nothing of models. Pure functions, any thread.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from edgeagent.config import read_toml
from edgeagent.errors import ConfigError
from edgeagent.tools import Tool
from edgeagent.tools.signature import ArgumentError

_TABLE: Final = "case"
_KEYS: Final = ("say", "calls", "also_right")
_CALL_KEYS: Final = ("name", "arguments")
_HEADER: Final = re.compile(r"[ \t]*\[\[[ \t]*case[ \t]*\]\]")
_SHOWN_CHARS: Final = 40
_EXAMPLE: Final = '[[case]]\nsay = "..."\ncalls = [{ name = "...", arguments = { ... } }]'
_TALK: Final = ("thank you", "how are you?", "what can you do?")
"""Sentences of a starter to which no call is right, whatever the tools."""

Tools = dict[str, Tool]


@dataclass(frozen=True, slots=True)
class Expected:
    """A call that is right. The arguments are as the tool gets them, with the defaults of those that were left out."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """One sentence and the calls that are right."""

    say: str
    calls: tuple[Expected, ...]
    """In their order; empty where no call is right."""
    also_right: tuple[tuple[Expected, ...], ...] = ()
    """Other lists of calls that are as good."""
    line: int | None = None
    """The line of the file, from 1, in which the case begins; None where the file is not written case by case."""

    def accepts(self, made: Sequence[Expected]) -> bool:
        """True if these calls are right: by name, order and arguments."""
        return tuple(made) in (self.calls, *self.also_right)


def complete(tool: Tool, arguments: dict[str, Any]) -> Expected:
    """A call with the arguments as the tool gets them.

    Raises:
        ArgumentError: They do not fit the tool's schema.
    """
    plain, _ = tool.signature.validate(arguments)
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    return Expected(tool.name, {**defaults, **plain})


def read_cases(path: Path, tools: Iterable[Tool]) -> list[Case]:
    """Reads the cases of a file.

    Raises:
        ConfigError: The file can't be read, is not TOML or holds no case; a key is unknown or missing; a value is of
            the wrong type; a call names no tool of the app, or its arguments do not fit. With line and case.
    """
    return _CasesReader(path, {tool.name: tool for tool in tools}).cases()


class _CasesReader:
    """The strict reader of one file."""

    def __init__(self, path: Path, tools: Tools) -> None:
        self._path = path
        self._tools = tools
        self._text, self._table = read_toml(path, "the cases")
        self._where = str(path)
        """The place that an error names."""

    def cases(self) -> list[Case]:
        for key in self._table:
            if key != _TABLE:
                self._refuse(f"there is no key {key!r}; a file of cases has [[case]] only")
        given = self._table.get(_TABLE, [])
        if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
            self._refuse(f"case should be a list of tables; write {_EXAMPLE!r}")
        if not given:
            self._refuse("there is no case; write one as\n" + _EXAMPLE)
        headers = [number for number, line in enumerate(self._text.split("\n"), 1) if _HEADER.match(line)]
        lines: list[int | None] = [*headers] if len(headers) == len(given) else [None] * len(given)
        cases: list[Case] = []
        for number, (table, line) in enumerate(zip(given, lines, strict=True), 1):
            place = str(self._path) if line is None else f"{self._path}:{line}"
            self._where = f"{place}: case {number}"
            case = self._case(table, line)
            twin = next((i for i, other in enumerate(cases, 1) if other.say == case.say), None)
            if twin is not None:
                self._refuse(f"case {twin} says the same; put other right calls into its also_right")
            cases.append(case)
        return cases

    def _case(self, table: dict[str, Any], line: int | None) -> Case:
        say = table.get("say")
        if say is not None and not isinstance(say, str):
            self._refuse(f"say should be a text, not {_shown(say)}")
        if say is None or not say.strip():
            self._refuse("say is missing; it is the text that a person says")
        self._where += f" ({_shown(say.strip())})"
        self._known(table, _KEYS, "a case")
        if "calls" not in table:
            self._refuse("calls is missing; write calls = [] where no call is right")
        also = table.get("also_right", [])
        if not isinstance(also, list):
            self._refuse(f"also_right should be a list of lists of calls, not {_shown(also)}")
        return Case(
            say.strip(),
            self._calls(table["calls"], "calls"),
            tuple(self._calls(one, f"also_right[{i}]") for i, one in enumerate(also)),
            line,
        )

    def _calls(self, given: Any, where: str) -> tuple[Expected, ...]:
        if not isinstance(given, list):
            self._refuse(f"{where} should be a list of calls, not {_shown(given)}")
        return tuple(self._call(one, f"{where}[{i}]") for i, one in enumerate(given))

    def _call(self, given: Any, where: str) -> Expected:
        if not isinstance(given, dict):
            self._refuse(f'{where} should be {{ name = "...", arguments = {{ ... }} }}, not {_shown(given)}')
        self._known(given, _CALL_KEYS, where)
        name, arguments = given.get("name"), given.get("arguments", {})
        if not isinstance(name, str):
            self._refuse(f"{where} should have the name of a tool, a text")
        if not isinstance(arguments, dict):
            self._refuse(f"{where}: arguments should be a table, not {_shown(arguments)}")
        tool = self._tools.get(name)
        if tool is None:
            self._refuse(f"{where}: the app has no tool {name!r}; {nearest(name, list(self._tools))}")
        try:
            return complete(tool, arguments)
        except ArgumentError as error:
            self._refuse(f"{where}: {name}: {error}")

    def _known(self, table: dict[str, Any], known: Sequence[str], what: str) -> None:
        for key in table:
            if key not in known:
                self._refuse(f"{what} has no key {key!r}; {nearest(key, known)}")

    def _refuse(self, why: str) -> NoReturn:
        raise ConfigError(f"{self._where}: {why}")


def starter(tools: Iterable[Tool]) -> str:
    """A file of cases to begin with: for each tool a sentence and a call with arguments that fit, and talk."""
    lines = [
        "# What people say, and which calls are right. Correct the sentences and the arguments, and add your own:",
        "# several for each tool, in other words than the tool's; two calls in one sentence; talk that needs no call.",
    ]
    said: set[str] = set()
    for tool in tools:
        arguments = _example(tool)
        for sentence in _sentences(tool, said):
            case = ["[[case]]", f"say = {_text(sentence)}", f"calls = [{_call(tool.name, arguments)}]"]
            try:
                complete(tool, arguments)
            except ArgumentError as error:  # a schema that asks for more than its types tell
                case = [f"# correct the arguments: {' '.join(str(error).split())}", *(f"# {line}" for line in case)]
            lines += ["", *case]
    for sentence in _TALK:
        if sentence not in said:
            lines += ["", "[[case]]", f"say = {_text(sentence)}", "calls = []"]
    return "\n".join(lines) + "\n"


def _sentences(tool: Tool, said: set[str]) -> Iterator[str]:
    """The tool's phrases; where there are none, its name."""
    for phrase in tool.traits.phrases or (re.sub(r"[_-]+", " ", tool.name).strip(),):
        sentence = phrase.strip()
        if sentence and sentence not in said:
            said.add(sentence)
            yield sentence


def _example(tool: Tool) -> dict[str, Any]:
    """The least arguments of a tool, with values that fit their types."""
    defs: dict[str, Any] = tool.parameters.get("$defs", {})
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    values = {name: _value(properties[name], defs) for name in tool.parameters.get("required", ())}
    return {name: value for name, value in values.items() if value is not None}  # TOML has no null


def _call(name: str, arguments: dict[str, Any]) -> str:
    given = f", arguments = {_toml(arguments)}" if arguments else ""
    return f"{{ name = {_text(name)}{given} }}"


def _value(schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    """The plainest value that fits a schema."""
    if "$ref" in schema:
        return _value(defs[schema["$ref"].rsplit("/", 1)[-1]], defs)
    for key in ("enum", "examples"):
        if schema.get(key):
            return schema[key][0]
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for key in ("anyOf", "oneOf"):
        if schema.get(key):
            return next((_value(one, defs) for one in schema[key] if one.get("type") != "null"), None)
    match schema.get("type"):
        case "object":
            properties: dict[str, Any] = schema.get("properties", {})
            return {name: _value(properties[name], defs) for name in schema.get("required", ())}
        case "array":
            return [_value(schema.get("items", {}), defs)] * int(schema.get("minItems", 1))
        case "integer" | "number" as kind:
            least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
            value = min(max(1, least), schema.get("maximum", max(1, least)))
            return int(value) if kind == "integer" else float(value)
        case "boolean":
            return True
        case _:
            return "..."


def _toml(value: Any) -> str:
    """A JSON value as TOML writes it."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + " }"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case str():
            return _text(value)
        case _:
            return json.dumps(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(text: str) -> str:
    """A text as TOML writes it; JSON's escapes are TOML's too, but for DEL and halves of surrogate pairs."""
    return json.dumps(text.encode("utf-8", "replace").decode("utf-8"), ensure_ascii=False).replace("\x7f", "\\u007f")


def nearest(name: str, known: Sequence[str]) -> str:
    """A hint to somebody who has written a name that is none of the known ones."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known) or 'none'}"


def _shown(value: Any) -> str:
    match value:
        case dict():
            return "a table"
        case list():
            return "a list"
        case _:
            text = json.dumps(value, ensure_ascii=False, default=str)
            return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 3] + "..."


def calls_text(calls: Sequence[Expected]) -> str:
    """Calls as people write them, in one line."""

    def told(call: Expected) -> str:
        values = {name: json.dumps(value, ensure_ascii=False, default=str) for name, value in call.arguments.items()}
        return f"{call.name}({', '.join(f'{name}={value}' for name, value in values.items())})"

    return "; ".join(map(told, calls)) or "no call"
