"""Values of a JSON Schema as seen at a glance, and a check that two schemas have none in common.

Values that can't be seen at a glance count as an overlap. References are not followed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

Schema = Mapping[str, Any]

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
