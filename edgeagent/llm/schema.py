"""JSON Schema (draft 2020-12) to GBNF.

Every keyword that restricts values is either said by the grammar or refused by its name: a grammar that lets through
what the schema forbids would promise too much. It may allow less than the schema where that is left open: objects have
their properties in the order of the schema, and others than those only where additionalProperties asks for them;
numbers have a limited count of digits. ``format`` and other annotations say nothing, as the standard has it.

A check tells schemas that have no value in common. Values that can't be seen at a glance count as an overlap, and the
check follows no references.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import unquote

from edgeagent.errors import ConfigError
from edgeagent.llm.gbnf import Rules, one_of, quoted
from edgeagent.llm.pattern import Bound, PatternError, integer_range, number_range, pattern_expression

Schema = Mapping[str, Any]

_IGNORED: Final = frozenset(
    "title description default examples example $schema $id $comment deprecated readOnly writeOnly format nullable "
    "contentEncoding contentMediaType $defs definitions discriminator".split()
)
_LARGEST: Final = 100_000
"""Characters or items that a grammar can count."""


class SchemaError(ConfigError):
    """A schema that no grammar can say; the text names the keyword and where it is."""


def expression(rules: Rules, schema: Schema | bool, root: Schema | None = None, path: str = "schema") -> str:
    """The expression of the values that a schema allows.

    Args:
        rules: Where its rules go, and the dialect of the values.
        schema: What is wanted.
        root: Where its references point into; the schema itself by default.
        path: Where it stands, for the error.

    Raises:
        SchemaError: It can't be said.
    """
    writer = _RuleWriter(rules, root if root is not None else schema if isinstance(schema, Mapping) else {})
    try:
        return writer.value(schema, path)
    except RecursionError as error:
        raise SchemaError(f"{path}: the schema is nested too deep") from error


def target(root: Schema, reference: str, path: str) -> Any:
    """Follows a reference to its target.

    Raises:
        SchemaError: It points outside, or to nothing.
    """
    if not reference.startswith("#"):
        raise SchemaError(f"{path}: the keyword '$ref' points outside of this schema: {reference!r}")
    found: Any = root
    for step in unquote(reference[1:]).split("/")[1:]:
        part = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            raise SchemaError(f"{path}: the keyword '$ref' points to {reference!r}, which is not in this schema")
    if reference != "#" and found is root:
        raise SchemaError(f"{path}: the keyword '$ref' names an anchor, {reference!r}, which can't be followed")
    return found


class _RuleWriter:
    """Writes the rules of one schema and of what it refers to."""

    def __init__(self, rules: Rules, root: Schema) -> None:
        self._rules = rules
        self._root = root
        self._references: dict[str, str] = {}

    def value(self, schema: Schema | bool, path: str, leading: tuple[str, ...] = ()) -> str:
        """The expression of a schema.

        Args:
            schema: The schema.
            path: Where it is.
            leading: The references that nothing but references and choices led here from.
        """
        if schema is True:
            return self._rules.anything()
        if not isinstance(schema, Mapping):
            raise SchemaError(f"{path}: the schema {str(schema)[:80]!r} allows no value")
        _check(schema, path)
        if "$ref" in schema:
            self._alone("$ref", schema, path)
            return self._reference(schema["$ref"], path, leading)
        if "const" in schema or "enum" in schema:
            return self._fixed(schema, path)
        for key in ("anyOf", "oneOf", "allOf"):
            if key in schema:
                return self._combined(key, schema, path, leading)
        kinds = schema.get("type") or implied_kinds(schema)
        if not kinds:
            return self._rules.anything()
        return one_of(self._typed(kind, schema, path) for kind in ([kinds] if isinstance(kinds, str) else kinds))

    def _typed(self, kind: str, schema: Schema, path: str) -> str:
        rules = self._rules
        match kind:
            case "string":
                return self._string(schema, path)
            case "integer":
                return rules.add("integer", integer_range(*_whole_bounds(schema, path)))
            case "number":
                least, most = _bounds(schema, path)
                return rules.add("number", number_range(least, most)) if least or most else rules.number()
            case "boolean":
                return one_of([quoted(rules.dialect.true), quoted(rules.dialect.false)])
            case "null":
                return quoted(rules.dialect.null)
            case "array":
                return self._array(schema, path)
        return self._object(schema, path)

    def _string(self, schema: Schema, path: str) -> str:
        least, most = _limits(schema, "minLength", "maxLength", path)
        if "pattern" not in schema:
            return self._rules.string(least, most)
        if least or most is not None:
            raise SchemaError(f"{path}: the keyword 'pattern' beside minLength or maxLength can't be said in a grammar")
        dialect = self._rules.dialect
        try:
            inside = pattern_expression(self._rules, schema["pattern"], dialect.barred)
        except PatternError as error:
            raise SchemaError(f"{path}: the keyword 'pattern' can't be said in a grammar: {error}") from error
        return self._rules.add("string", f"{quoted(dialect.quote)} {inside} {quoted(dialect.quote)}")

    def _array(self, schema: Schema, path: str) -> str:
        least, most = _limits(schema, "minItems", "maxItems", path)
        first = schema.get("prefixItems", ())
        more = schema.get("items", not first or least > len(first))
        fixed = [self._named(item, f"{path}.prefixItems[{i}]") for i, item in enumerate(first)]
        if more is False:
            if least > len(fixed):
                raise SchemaError(f"{path}: the keyword 'minItems' wants more items than there are schemas for")
            return self._rules.items(fixed, (least, most))
        return self._rules.items(fixed, (least, most), self._named(more, f"{path}.items"))

    def _object(self, schema: Schema, path: str) -> str:
        rules = self._rules
        properties: dict[str, Any] = dict(schema.get("properties", {}))
        required = schema.get("required", ())
        more = schema.get("additionalProperties", not properties)
        for name in required:
            if name not in properties and schema.get("additionalProperties") is False:
                raise SchemaError(f"{path}: the keyword 'required' names {name!r}, which additionalProperties forbids")
            properties.setdefault(name, schema.get("additionalProperties", True))
        pairs = [
            (f"{self._key(name, path)} {rules.colon} {self._named(item, f'{path}.{name}')}", name in required)
            for name, item in properties.items()
            if item is not False or name in required
        ]
        another = ""
        if more is not False:
            value = self._named(more, f"{path}.additionalProperties")
            another = rules.add("pair", f"{rules.key(properties)} {rules.colon} {value}")
        return rules.braced(rules.properties(pairs, another))

    def _fixed(self, schema: Schema, path: str) -> str:
        key = "const" if "const" in schema else "enum"
        self._alone(key, schema, path, "const", "enum", *_SIMPLE)
        values = fixed_values(schema)
        if not values:
            raise SchemaError(f"{path}: the keyword {key!r} allows no value")
        try:
            return self._rules.choice({self._rules.dialect.literal(value): "" for value in values})
        except (ValueError, TypeError) as error:
            raise SchemaError(
                f"{path}: the keyword {key!r} has a value that can't be written as {self._rules.dialect.name}: {error}"
            ) from error

    def _combined(self, key: str, schema: Schema, path: str, leading: tuple[str, ...]) -> str:
        self._alone(key, schema, path)
        parts = schema[key]
        if key == "allOf" and len(parts) != 1:
            raise SchemaError(f"{path}: the keyword 'allOf' with several schemas can't be said in a grammar")
        said = one_of([self.value(part, f"{path}.{key}[{i}]", leading) for i, part in enumerate(parts)])
        if key == "oneOf":
            self._exclusive(parts, path)
        return said

    def _exclusive(self, parts: list[Any], path: str) -> None:
        """Make sure that no value is allowed by two of these: a grammar takes what any of them allows."""
        followed = [self._followed(part, path) for part in parts]
        for i, part in enumerate(followed):
            for j, other in enumerate(followed[:i]):
                if not apart(part, other):
                    raise SchemaError(
                        f"{path}: the keyword 'oneOf' can't be said in a grammar: [{j}] and [{i}] overlap"
                    )

    def _followed(self, schema: Any, path: str) -> Any:
        while isinstance(schema, Mapping) and "$ref" in schema:
            schema = target(self._root, schema["$ref"], path)
        return schema

    def _reference(self, reference: str, path: str, leading: tuple[str, ...]) -> str:
        if reference in leading:
            raise SchemaError(f"{path}: the keyword '$ref' goes in a circle: {' -> '.join([*leading, reference])}")
        if reference not in self._references:
            name = self._references[reference] = self._rules.reserve("ref")
            aim = target(self._root, reference, path)
            self._rules.write(name, self.value(aim, reference, (*leading, reference)))
        return self._references[reference]

    def _named(self, schema: Schema | bool, path: str) -> str:
        return self._rules.add("v", self.value(schema, path))

    def _key(self, name: str, path: str) -> str:
        dialect = self._rules.dialect
        try:
            return quoted(dialect.key(name))
        except ValueError as error:
            raise SchemaError(
                f"{path}: the keyword 'properties' has a name that can't be written as {dialect.name}: {error}"
            ) from error

    @staticmethod
    def _alone(key: str, schema: Schema, path: str, *but: str) -> None:
        beside = [name for name in schema if name in _SHAPES and name not in (key, *but)]
        if beside:
            raise SchemaError(f"{path}: the keyword {key!r} beside {beside[0]!r} can't be said in a grammar")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_schemas(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0


def _is_type(value: Any) -> bool:
    return all(kind in KINDS for kind in value) if isinstance(value, list) and value else value in KINDS


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping | bool)


_SIMPLE: Final = (
    "type",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
)
"""Keywords that can be checked by a look at a fixed value."""

_SHAPES: Final[dict[str, Callable[[Any], bool]]] = {
    "type": _is_type,
    "properties": lambda value: isinstance(value, Mapping) and all(isinstance(name, str) for name in value),
    "required": lambda value: isinstance(value, list | tuple) and all(isinstance(name, str) for name in value),
    "additionalProperties": _is_schema,
    "enum": lambda value: isinstance(value, list | tuple),
    "const": lambda _: True,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    "pattern": lambda value: isinstance(value, str),
    "items": _is_schema,
    **dict.fromkeys(("prefixItems", "anyOf", "oneOf", "allOf"), _is_schemas),
    "$ref": lambda value: isinstance(value, str),
}
"""The keywords that restrict values and can be said, and whether a value of theirs is one."""


def _check(schema: Schema, path: str) -> None:
    for key, value in schema.items():
        if key in _IGNORED:
            continue
        if key not in _SHAPES:
            raise SchemaError(f"{path}: the keyword {key!r} can't be said in a grammar")
        if not _SHAPES[key](value):
            raise SchemaError(f"{path}: the keyword {key!r} can't be {str(value)[:80]!r}")


def _limits(schema: Schema, low: str, high: str, path: str) -> tuple[int, int | None]:
    least, most = schema.get(low, 0), schema.get(high)
    for key, limit in ((low, least), (high, most or 0)):
        if limit > _LARGEST:
            raise SchemaError(f"{path}: the keyword {key!r} can't be said in a grammar above {_LARGEST}")
    if most is not None and most < least:
        raise SchemaError(f"{path}: the keyword {high!r} is less than {low}")
    return least, most


def _bounds(schema: Schema, path: str) -> tuple[Bound | None, Bound | None]:
    """The limits of a number; a bound that both keywords give is the narrower one."""

    def said(key: str, *, inclusive: bool) -> list[Bound]:
        return [Bound(Decimal(str(schema[key])), inclusive)] if key in schema else []

    lower = said("minimum", inclusive=True) + said("exclusiveMinimum", inclusive=False)
    upper = said("maximum", inclusive=True) + said("exclusiveMaximum", inclusive=False)
    least = max(lower, key=lambda bound: (bound.value, not bound.inclusive), default=None)
    most = min(upper, key=lambda bound: (bound.value, bound.inclusive), default=None)
    if least and most and not number_range(least, most):
        raise SchemaError(f"{path}: the keyword 'minimum' leaves no number below the maximum")
    return least, most


def _whole_bounds(schema: Schema, path: str) -> tuple[int | None, int | None]:
    """The least and the greatest whole number that a schema allows."""
    least, most = _bounds(schema, path)
    low = high = None
    if least:
        low = math.ceil(least.value)
        low += not least.inclusive and low == least.value
    if most:
        high = math.floor(most.value)
        high -= not most.inclusive and high == most.value
    if low is not None and high is not None and low > high:
        raise SchemaError(f"{path}: the keyword 'minimum' leaves no whole number below the maximum")
    return low, high


# --- schemas that have no value in common -----------------------------------------------------------------------------


KINDS: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
_OF_KIND: Final = {
    "object": ("properties", "required", "additionalProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}


def apart(one: Schema | bool, other: Schema | bool) -> bool:
    """True if no value that a grammar writes for one of two schemas is allowed by the other, either way.

    A grammar writes no properties but the declared ones, unless more are asked for.
    """
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one is False or other is False
    ours, theirs = fixed_values(one), fixed_values(other)
    if ours is not None and theirs is not None:
        return not any(same_value(value, another) for value in ours for another in theirs)
    kinds = _kinds(one) & _kinds(other)
    if kinds == {"object"} and ours is None and theirs is None:
        return _tagged(one, other) or (_foreign(one, other) and _foreign(other, one))
    return not kinds


def fixed_values(schema: Schema) -> list[Any] | None:
    """Those values of const and enum that the keywords beside them allow; None without const and enum."""
    if "const" in schema:
        values = [schema["const"]]
    elif "enum" in schema:
        values = list(schema["enum"])
    else:
        return None
    return [value for value in values if _fits(value, schema)]


def implied_kinds(schema: Schema) -> list[str]:
    """The types that the keywords of a schema are about."""
    return [kind for kind, keys in _OF_KIND.items() if any(key in schema for key in keys)]


def kind_of(value: Any) -> str:
    """The type of a value; a whole number is an integer, however it is written."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case Mapping():
            return "object"
    return "array"


def same_value(one: Any, other: Any) -> bool:
    """True if two values are one: 1 is 1.0, and no bool is a number."""
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _fits(value: Any, schema: Schema) -> bool:
    kind = kind_of(value)
    kinds = schema.get("type", KINDS)
    allowed = (kinds,) if isinstance(kinds, str) else kinds
    if kind not in allowed and not (kind == "integer" and "number" in allowed):
        return False
    if "const" in schema and "enum" in schema and not any(same_value(value, item) for item in schema["enum"]):
        return False
    if kind in ("integer", "number"):
        least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        above, below = schema.get("exclusiveMinimum", -math.inf), schema.get("exclusiveMaximum", math.inf)
        return bool(least <= value <= most and above < value < below)
    if kind == "string":
        return bool(schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", math.inf))
    return True


def _kinds(schema: Schema) -> set[str]:
    """The types that a schema may allow; an integer is a number."""
    values = fixed_values(schema)
    if values is not None:
        kinds = {kind_of(value) for value in values}
    else:
        said = schema.get("type") or (KINDS if "$ref" in schema else None)
        if said is None:
            return _kinds_of_choice(schema)
        kinds = {said} if isinstance(said, str) else set(said)
    return {"number" if kind == "integer" else kind for kind in kinds}


def _kinds_of_choice(schema: Schema) -> set[str]:
    parts = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if parts and all(isinstance(part, Mapping) for part in parts):
        return set().union(*(_kinds(part) for part in parts))
    return {kind for kind in KINDS if kind != "integer"}


def _tagged(one: Schema, other: Schema) -> bool:
    """True if a property that both schemas require has other values in each."""
    for name in set(one.get("required", ())) & set(other.get("required", ())):
        ours, theirs = (schema.get("properties", {}).get(name, True) for schema in (one, other))
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping) and apart(ours, theirs):
            return True
    return False


def _foreign(one: Schema, other: Schema) -> bool:
    """True if no object written for ``one`` is allowed by ``other``."""
    names, theirs = set(one.get("properties", {})), set(other.get("properties", {}))
    closed = one.get("additionalProperties", not names) is False
    lacks = closed and any(name not in names | set(one.get("required", ())) for name in other.get("required", ()))
    forbidden = other.get("additionalProperties") is False and any(
        name not in theirs for name in one.get("required", ())
    )
    return lacks or forbidden
