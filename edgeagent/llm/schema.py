"""JSON Schema to GBNF, llama.cpp's grammar language (https://github.com/ggml-org/llama.cpp/blob/master/grammars).

Every keyword that restricts values is either said by the grammar or refused by its name: a grammar that lets through
what the schema forbids would promise too much. Objects have their properties in declared order; of a schema that leaves
additional properties open, the grammar allows the declared ones. Numbers and blanks are bounded, so that no model can
go on with digits or blanks for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edgeagent.errors import EdgeAgentError
from edgeagent.llm.ranges import integer_range, number_range

Schema = Mapping[str, Any]

_IGNORED: Final = frozenset(
    "title description default examples example $schema $id $comment deprecated readOnly writeOnly format "
    "contentEncoding contentMediaType $defs definitions discriminator".split()
)
_SAID: Final = frozenset(
    "type properties required additionalProperties enum const minimum maximum exclusiveMinimum exclusiveMaximum "
    "minLength maxLength items prefixItems minItems maxItems anyOf oneOf allOf $ref nullable".split()
)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MOST: Final = 2000
"""Longest string or list that can be counted; a longer limit is as good as none."""


class SchemaError(EdgeAgentError):
    """A schema that no grammar can say; the text names the keyword and where it is."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How values are written. The defaults are JSON's."""

    true: str = "true"
    false: str = "false"
    null: str = "null"
    quote: str = '"'
    bare_keys: bool = False

    def literal(self, value: Any) -> str:
        """A fixed value as text."""
        if value is None or isinstance(value, bool):
            return {True: self.true, False: self.false, None: self.null}[value]
        if isinstance(value, str):
            return json.dumps(value, ensure_ascii=False) if self.quote == '"' else f"{self.quote}{value}{self.quote}"
        if isinstance(value, list):
            return "[" + ", ".join(map(self.literal, value)) + "]"
        if isinstance(value, dict):
            pairs = (f"{self.key(key)}: {self.literal(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        return json.dumps(value)

    def key(self, name: str) -> str:
        """A property's name as text."""
        return name if self.bare_keys else json.dumps(name, ensure_ascii=False)


JSON: Final = Dialect()
PYTHON: Final = Dialect(true="True", false="False", null="None")


class Rules:
    """The rules of one grammar; equal bodies share a rule.

    Args:
        dialect: How values are written.
        prefix: What the names of the rules begin with, where they stand beside those of another grammar.
    """

    def __init__(self, dialect: Dialect = JSON, prefix: str = "") -> None:
        self.dialect = dialect
        self._prefix = prefix
        self._rules: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._any = ""
        self._references: dict[tuple[int, str], str] = {}

    def text(self, root: str) -> str:
        """The grammar, whose root is this expression."""
        return f"root ::= {root}\n{self.body}"

    @property
    def body(self) -> str:
        """The rules without a root."""
        return "\n".join(f"{name} ::= {body}" for name, body in self._rules.items())

    def add(self, kind: str, body: str) -> str:
        """The name of a rule with this body."""
        if body not in self._names:
            self._names[body] = self._reserve(kind)
            self._rules[self._names[body]] = body
        return self._names[body]

    def value(self, schema: Schema | bool, root: Schema | None = None, path: str = "schema") -> str:
        """The expression of the values that a schema allows.

        Args:
            schema: What is wanted.
            root: Where its references point into; the schema itself by default.
            path: Where it stands, for the error.

        Raises:
            SchemaError: It can't be said.
        """
        return _Writer(self, schema if root is None and isinstance(schema, Mapping) else root or {}).value(schema, path)

    @property
    def blanks(self) -> str:
        """At most one blank, or a line break and what a nested object is indented by."""
        return self.add("ws", '" "? | "\\n" [ \\t]{0,12}')

    def anything(self) -> str:
        """Any value."""
        if not self._any:
            self._any = self._reserve("any")
            inside = f"{self.string({})} | {self.number()} | {self.words()}"
            self._rules[self._any] = f"{inside} | {self.free_object(self._any)} | {self.free_list(self._any)}"
        return self._any

    def words(self) -> str:
        """true, false and null."""
        return self.add("word", " | ".join(quoted(self.dialect.literal(word)) for word in (True, False, None)))

    def number(self) -> str:
        """Any number of at most 15 digits before and after its point."""
        return self.add("number", '"-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?')

    def string(self, limits: Schema) -> str:
        """Any string, or one of so many characters."""
        least, most = limits.get("minLength", 0), limits.get("maxLength")
        quote = quoted(self.dialect.quote)
        return self.add("string", f"{quote} {self.character()}{repeated(least, most)} {quote}")

    def character(self) -> str:
        """One character of a string."""
        if self.dialect.quote == '"':
            return self.add("char", r'[^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})')
        return self.add("char", r"[^<\x00-\x08]")

    def key(self) -> str:
        """Any name of a property."""
        return self.add("key", "[a-zA-Z_] [a-zA-Z0-9_.-]{0,63}") if self.dialect.bare_keys else self.string({})

    def free_object(self, value: str) -> str:
        """An object of any names and these values."""
        ws = self.blanks
        pair = f'{self.key()} {ws} ":" {ws} {value}'
        return self.add("object", f'"{{" {ws} ({pair} ({ws} "," {ws} {pair})*)? {ws} "}}"')

    def free_list(self, value: str, least: int = 0, most: int | None = None) -> str:
        """A list of these values."""
        ws = self.blanks
        more = f'({ws} "," {ws} {value}){repeated(max(0, least - 1), None if most is None else most - 1)}'
        inside = f"{value} {more}" if most != 1 else value
        inside = "" if most == 0 else inside if least > 0 else f"({inside})?"
        return self.add("list", f'"[" {ws} {inside} {ws} "]"')

    def properties(self, pairs: Sequence[tuple[str, bool]], separator: str, *, needed: bool = False) -> str:
        """Some of these in order, separated: all that are required, and any of the others.

        Args:
            pairs: An expression, and whether it is required.
            separator: Stands between two.
            needed: Something stands before the first already.
        """
        if not pairs:
            return '""'
        (first, required), rest = pairs[0], pairs[1:]
        with_it = f"{separator} {first}" if needed else first
        taken = f"{with_it} {self.properties(rest, separator, needed=True)}" if rest else with_it
        if required:
            return self.add("p", taken)
        return self.add("p", f"{taken} | {self.properties(rest, separator, needed=needed)}")

    def reference(self, key: tuple[int, str]) -> tuple[str, bool]:
        """The rule of a referenced schema, and whether it has yet to be written."""
        if key in self._references:
            return self._references[key], False
        self._references[key] = self._reserve("ref")
        return self._references[key], True

    def write(self, name: str, body: str) -> None:
        """Write a rule whose name ``reference`` gave."""
        self._rules[name] = body

    def _reserve(self, kind: str) -> str:
        name = f"{self._prefix}{kind}"
        name = name if name not in self._rules else f"{name}-{len(self._rules)}"
        self._rules[name] = ""
        return name


class _Writer:
    """Writes the rules of one schema and of what it refers to."""

    def __init__(self, rules: Rules, root: Schema) -> None:
        self._rules = rules
        self._root = root
        self._open: list[str] = []  # references that nothing but references led to

    def value(self, schema: Schema | bool, path: str) -> str:
        if schema is True:
            return self._rules.anything()
        if not isinstance(schema, Mapping):
            raise SchemaError(f"{path}: the schema {schema!r} allows no value")
        unknown = [key for key in schema if key not in _IGNORED and key not in _SAID]
        if unknown:
            raise SchemaError(f"{path}: the keyword {unknown[0]!r} can't be said in a grammar")
        if "$ref" in schema:
            return self._reference(schema["$ref"], path)
        self._open = []
        if "const" in schema:
            return quoted(self._rules.dialect.literal(schema["const"]))
        if "enum" in schema:
            if not schema["enum"]:
                raise SchemaError(f"{path}: the keyword 'enum' allows no value")
            return self._one_of([quoted(self._rules.dialect.literal(item)) for item in schema["enum"]])
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._combined(key, schema, path)
        kinds = schema.get("type")
        if isinstance(kinds, list):
            return self._one_of([self._typed(kind, schema, path) for kind in kinds])
        if kinds is None and "properties" in schema:
            kinds = "object"
        expression = self._rules.anything() if kinds is None else self._typed(kinds, schema, path)
        if schema.get("nullable") is True:
            return self._one_of([expression, quoted(self._rules.dialect.null)])
        return expression

    def _typed(self, kind: str, schema: Schema, path: str) -> str:
        rules = self._rules
        match kind:
            case "string":
                return rules.string(schema)
            case "integer":
                return self._rules.add("integer", integer_range(*_whole_bounds(schema, path)))
            case "number":
                return self._number(schema, path)
            case "boolean":
                return self._one_of([quoted(rules.dialect.true), quoted(rules.dialect.false)])
            case "null":
                return quoted(rules.dialect.null)
            case "array":
                return self._array(schema, path)
            case "object":
                return self._object(schema, path)
        raise SchemaError(f"{path}: the keyword 'type' has the unknown value {kind!r}")

    def _number(self, schema: Schema, path: str) -> str:
        for key in ("exclusiveMinimum", "exclusiveMaximum"):
            if key in schema:
                raise SchemaError(f"{path}: the keyword {key!r} can't be said in a grammar for a number")
        least, most = schema.get("minimum"), schema.get("maximum")
        for key, bound in (("minimum", least), ("maximum", most)):
            if bound is not None and bound != int(bound):
                raise SchemaError(f"{path}: the keyword {key!r} can be said in a grammar for whole bounds only")
        if least is None and most is None:
            return self._rules.number()
        return self._rules.add("number", number_range(_whole(least), _whole(most)))

    def _array(self, schema: Schema, path: str) -> str:
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most is not None and most < least:
            raise SchemaError(f"{path}: the keyword 'maxItems' is less than minItems")
        if "prefixItems" in schema:
            if schema.get("items") not in (None, False):
                raise SchemaError(f"{path}: the keyword 'items' beside prefixItems can't be said in a grammar")
            ws = self._rules.blanks
            items = [self.value(item, f"{path}.prefixItems[{i}]") for i, item in enumerate(schema["prefixItems"])]
            separator = f' {ws} "," {ws} '
            return f'"[" {ws} {separator.join(items)} {ws} "]"'
        return self._rules.free_list(self._named(schema.get("items", True), f"{path}.items"), least, most)

    def _object(self, schema: Schema, path: str) -> str:
        properties = schema.get("properties") or {}
        more = schema.get("additionalProperties")
        required = schema.get("required", ())
        missing = [name for name in required if name not in properties]
        if missing:
            raise SchemaError(f"{path}: the keyword 'required' names {missing[0]!r}, which is no property")
        if not properties:
            if more is False:
                return f'"{{" {self._rules.blanks} "}}"'
            value = True if more is None else more
            return self._rules.free_object(self._named(value, f"{path}.additionalProperties"))
        ws, dialect = self._rules.blanks, self._rules.dialect
        pairs = [
            (f'{quoted(dialect.key(name))} {ws} ":" {ws} {self._named(item, f"{path}.{name}")}', name in required)
            for name, item in properties.items()
        ]
        inside = self._rules.properties(pairs, f'{ws} "," {ws}')
        return f'"{{" {ws} {inside} {ws} "}}"'

    def _combined(self, key: str, schema: Schema, path: str) -> str:
        beside = [name for name in schema if name in _SAID and name not in (key, "type")]
        if beside:
            raise SchemaError(f"{path}: the keyword {key!r} beside {beside[0]!r} can't be said in a grammar")
        if key == "allOf" and len(schema[key]) != 1:
            raise SchemaError(f"{path}: the keyword 'allOf' with several schemas can't be said in a grammar")
        if not schema[key]:
            raise SchemaError(f"{path}: the keyword {key!r} allows no value")
        return self._one_of([self.value(part, f"{path}.{key}[{i}]") for i, part in enumerate(schema[key])])

    def _reference(self, reference: str, path: str) -> str:
        if reference in self._open:
            raise SchemaError(f"{path}: the keyword '$ref' goes in a circle: {' -> '.join([*self._open, reference])}")
        target: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            part = step.replace("~1", "/").replace("~0", "~")
            if part and (not isinstance(target, Mapping) or part not in target):
                raise SchemaError(f"{path}: the keyword '$ref' points to {reference!r}, which is not in this schema")
            target = target[part] if part else target
        if not reference.startswith("#"):
            raise SchemaError(f"{path}: the keyword '$ref' points outside of this schema: {reference!r}")
        name, new = self._rules.reference((id(self._root), reference))
        if new:
            before, self._open = self._open, [*self._open, reference]
            body = self.value(target, path)
            self._open = before
            self._rules.write(name, body)
        return name

    def _named(self, schema: Schema | bool, path: str) -> str:
        return self._rules.add("v", self.value(schema, path))

    @staticmethod
    def _one_of(expressions: list[str]) -> str:
        unique = list(dict.fromkeys(expressions))
        return unique[0] if len(unique) == 1 else f"({' | '.join(unique)})"


def quoted(text: str) -> str:
    """A literal of GBNF."""
    for letter, escape in _ESCAPES.items():
        text = text.replace(letter, escape)
    return f'"{text}"'


def repeated(least: int, most: int | None) -> str:
    """The suffix of an expression that comes so often."""
    if most is None or most > _MOST:
        return "*" if least == 0 else f"{{{min(least, _MOST)},}}"
    return f"{{{least},{most}}}"


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def _whole_bounds(schema: Schema, path: str) -> tuple[int | None, int | None]:
    """The least and the greatest whole number that a schema allows."""
    least = [-(-schema["minimum"] // 1)] if "minimum" in schema else []
    least += [schema["exclusiveMinimum"] // 1 + 1] if "exclusiveMinimum" in schema else []
    most = [schema["maximum"] // 1] if "maximum" in schema else []
    most += [-(-schema["exclusiveMaximum"] // 1) - 1] if "exclusiveMaximum" in schema else []
    low, high = (int(max(least)) if least else None), (int(min(most)) if most else None)
    if low is not None and high is not None and low > high:
        raise SchemaError(f"{path}: the keyword 'minimum' is greater than maximum")
    return low, high
