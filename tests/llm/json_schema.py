"""Whether a value is valid by the standard, for the keywords that our grammars say; and what a grammar writes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgeagent.llm import Grammar, TokenVocabulary

_PATIENCE = 400
_ENDINGS = b'"', b"}])</>.", b"0123456789abc"


def is_valid(value: Any, schema: Any, root: Any = None) -> bool:
    """Whether a value obeys a JSON Schema of draft 2020-12."""
    if isinstance(schema, bool):
        return schema
    root = schema if root is None else root

    def inner(item: Any, part: Any) -> bool:
        return is_valid(item, part, root)

    kinds = schema.get("type", [])
    return (
        ("$ref" not in schema or inner(value, _target(root, schema["$ref"])))
        and (not kinds or any(_is_of(value, kind) for kind in ([kinds] if isinstance(kinds, str) else kinds)))
        and ("const" not in schema or _same(value, schema["const"]))
        and ("enum" not in schema or any(_same(value, item) for item in schema["enum"]))
        and all(inner(value, part) for part in schema.get("allOf", ()))
        and ("anyOf" not in schema or any(inner(value, part) for part in schema["anyOf"]))
        and ("oneOf" not in schema or sum(inner(value, part) for part in schema["oneOf"]) == 1)
        and _is_within(value, schema, inner)
    )


def _is_within(value: Any, schema: Any, inner: Callable[[Any, Any], bool]) -> bool:
    """Whether a value obeys the keywords that are about its type."""
    match value:
        case bool():
            return True
        case int() | float():
            return bool(
                schema.get("minimum", value) <= value <= schema.get("maximum", value)
                and schema.get("exclusiveMinimum", -math.inf) < value < schema.get("exclusiveMaximum", math.inf)
            )
        case str():
            fits = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
            return fits and re.search(schema.get("pattern", ""), value) is not None
        case list():
            first, rest = schema.get("prefixItems", []), schema.get("items", True)
            return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)) and all(
                inner(item, first[i] if i < len(first) else rest) for i, item in enumerate(value)
            )
        case Mapping():
            properties, more = schema.get("properties", {}), schema.get("additionalProperties", True)
            return all(name in value for name in schema.get("required", ())) and all(
                inner(item, properties.get(name, more)) for name, item in value.items()
            )
    return True


def _target(root: Any, reference: str) -> Any:
    for step in reference.split("/")[1:]:
        root = root[step]
    return root


def _is_of(value: Any, kind: str) -> bool:
    match kind:
        case "integer":
            return isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[kind])


def _same(one: Any, other: Any) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def obeys(vocabulary: TokenVocabulary, grammar: Grammar, text: str) -> bool:
    """Whether a text is whole by a grammar, when it is written token by token."""
    state = grammar.clone()
    try:
        for token in vocabulary.tokenize(text, markers=True):
            if not state.allows(token):
                return False
            state.accept(token)
        return state.may_end
    finally:
        state.free()


def write(vocabulary: TokenVocabulary, grammar: Grammar, seed: int) -> str:
    """A text that a model without any sense writes under a grammar. The vocabulary should be small."""
    rng = np.random.default_rng(seed)
    pieces = [vocabulary.piece(token) for token in range(vocabulary.size)]
    strange = np.array([any(byte > 126 for byte in piece) for piece in pieces])
    endings = [np.array([piece != b"" and piece in ending for piece in pieces]) for ending in _ENDINGS]
    state = grammar.clone()
    text = b""
    try:
        for i in range(10 * _PATIENCE):
            logits = rng.standard_normal(vocabulary.size).astype(np.float32)
            logits[strange] -= 50  # only where the grammar insists, so that characters are whole
            logits[endings[rng.integers(len(endings))]] += 1 if i < _PATIENCE else 30
            token = state.pick(logits)
            if vocabulary.is_end(token):
                return text.decode()
            state.accept(token)
            text += pieces[token]
    finally:
        state.free()
    raise AssertionError(f"a grammar that does not end: {text[:500]!r}")
