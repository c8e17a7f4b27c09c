"""Coercion of what a model wrote into what a JSON Schema asks for, where the meaning is certain.

"0.3" is a number and 2.0 an integer; 2.5 is no integer, and a bool is never a number. Knows only JSON.
"""

from __future__ import annotations

import difflib
import json
import sys
from typing import Any, Final

from edgeagent.errors import EdgeAgentError

_BOOLEANS: Final = {"true": True, "false": False}
_MAX_DEPTH: Final = 64
_LARGEST: Final = sys.float_info.max


class ArgumentError(EdgeAgentError):
    """Arguments that do not fit the schema; the text names each field by its path."""


def coerce(value: Any, schema: dict[str, Any]) -> Any:
    """Fits a JSON value to a schema with as little change as possible.

    Raises:
        ArgumentError: The value does not fit, even with "0.3" read as a number, 2.0 as an integer, "true" as a
            boolean, or an enum's value in another case.
    """
    return _coerce(value, schema, schema.get("$defs", {}), "", 0)


def _coerce(value: Any, schema: dict[str, Any], defs: dict[str, Any], path: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ArgumentError(f"{path or 'arguments'}: nested more than {_MAX_DEPTH} levels deep")
    if "$ref" in schema:
        return _coerce(value, defs[schema["$ref"].rsplit("/", 1)[-1]], defs, path, depth + 1)
    if "const" in schema:
        return _choice(value, [schema["const"]], path)
    if "enum" in schema:
        return _choice(value, schema["enum"], path)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if branches:
        return _union(value, branches, defs, path, depth)
    match schema.get("type"):
        case "object":
            return _object(value, schema, defs, path, depth)
        case "array":
            return _array(value, schema, defs, path, depth)
        case "number":
            return _number(value, path)
        case "integer":
            return _integer(value, path)
        case "boolean":
            return _boolean(value, path)
        case "string" if not isinstance(value, str):
            raise _wrong(value, "a string", path)
        case "null" if value is not None:
            raise _wrong(value, "null", path)
        case _:
            return value


def _object(value: Any, schema: dict[str, Any], defs: dict[str, Any], path: str, depth: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "an object", path)
    properties: dict[str, Any] = schema.get("properties", {})
    extra = schema.get("additionalProperties", True)
    problems = []
    result = {}
    for key, item in value.items():
        inside = f"{path}.{key}" if path else str(key)
        if key not in properties and extra is False:
            near = difflib.get_close_matches(str(key), properties, n=1)
            hint = f", did you mean {near[0]!r}?" if near else f"; known: {', '.join(properties) or 'none'}"
            problems.append(f"{inside}: unknown argument{hint}")
            continue
        rule = properties.get(key, extra if isinstance(extra, dict) else {})
        try:
            result[key] = _coerce(item, rule, defs, inside, depth + 1)
        except ArgumentError as error:
            problems.append(str(error))
    missing = [key for key in schema.get("required", ()) if key not in value]
    problems += [f"{path + '.' if path else ''}{key}: missing" for key in missing]
    if problems:
        raise ArgumentError("; ".join(problems))
    return result


def _array(value: Any, schema: dict[str, Any], defs: dict[str, Any], path: str, depth: int) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(value, "a list", path)
    rules = schema.get("prefixItems", [])
    rest = schema.get("items") or {}
    return [
        _coerce(item, rules[i] if i < len(rules) else rest, defs, f"{path}[{i}]", depth + 1)
        for i, item in enumerate(value)
    ]


def _union(value: Any, branches: list[dict[str, Any]], defs: dict[str, Any], path: str, depth: int) -> Any:
    """The branch that takes the value unchanged, else the first that takes it at all."""
    changed = []
    problems = []
    for branch in branches:
        try:
            fitted = _coerce(value, branch, defs, path, depth + 1)
        except ArgumentError as error:
            problems.append(str(error))
            continue
        if type(fitted) is type(value) and fitted == value:
            return fitted
        changed.append(fitted)
    if not changed:
        raise ArgumentError(" or ".join(dict.fromkeys(problems)))
    return changed[0]


def _number(value: Any, path: str) -> float | int:
    if isinstance(value, str):
        try:
            value = float(value) if any(sign in value for sign in ".eE") else int(value)
        except ValueError:
            raise _wrong(value, "a number", path) from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _wrong(value, "a number", path)
    if not abs(value) <= _LARGEST:  # not so for nan either
        raise _wrong(value, "a finite number", path)
    return value


def _integer(value: Any, path: str) -> int:
    try:
        number = _number(value, path)
    except ArgumentError:
        raise _wrong(value, "a whole number", path) from None
    if number != int(number):
        raise _wrong(value, "a whole number", path)
    return int(number)


def _boolean(value: Any, path: str) -> bool:
    if isinstance(value, str) and value.strip().lower() in _BOOLEANS:
        return _BOOLEANS[value.strip().lower()]
    if not isinstance(value, bool):
        raise _wrong(value, "true or false", path)
    return value


def _choice(value: Any, choices: list[Any], path: str) -> Any:
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return choice
    if isinstance(value, str):
        folded = value.strip().casefold()
        near = [choice for choice in choices if isinstance(choice, str) and choice.casefold() == folded]
        near = near or [choice for choice in choices if not isinstance(choice, str) and json.dumps(choice) == folded]
        if len(near) == 1:
            return near[0]
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        for choice in choices:
            if isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == value:
                return choice
    raise _wrong(value, "one of " + ", ".join(json.dumps(choice) for choice in choices), path)


def _wrong(value: Any, wanted: str, path: str) -> ArgumentError:
    text = json.dumps(value, ensure_ascii=False, default=str)
    shown = text if len(text) <= 80 else text[:77] + "..."
    return ArgumentError(f"{path or 'arguments'}: should be {wanted}, not {shown}")
