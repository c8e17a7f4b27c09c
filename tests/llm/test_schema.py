"""A schema's grammar lets through what the schema allows, in any combination, and nothing else."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgeagent.llm import Bound, Grammar, Rules, SchemaError, TokenVocabulary, expression, integer_range, number_range
from tests.llm.json_schema import is_valid, obeys, write
from tests.llm.random_models import open_vocabulary
from tests.llm.source import vocabulary_file

given_often = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


class Judge:
    """Says whether a text obeys a grammar, and writes texts that do."""

    def __init__(self, vocabulary: TokenVocabulary, letters: TokenVocabulary) -> None:
        self._vocabulary = vocabulary
        self._letters = letters

    def obeys(self, text: str, *values: str) -> list[bool]:
        grammar = Grammar(self._vocabulary.pointer, text)
        try:
            return [obeys(self._vocabulary, grammar, value) for value in values]
        finally:
            grammar.free()

    def writes(self, text: str, seeds: range) -> Iterator[str]:
        grammar = Grammar(self._letters.pointer, text)
        try:
            for seed in seeds:
                yield write(self._letters, grammar, seed)
        finally:
            grammar.free()


@pytest.fixture(scope="module")
def judge(babble_file: Path) -> Iterator[Judge]:
    with open_vocabulary(vocabulary_file("qwen2")) as vocabulary, open_vocabulary(babble_file) as letters:
        yield Judge(vocabulary, letters)


def said(schema: Any) -> str:
    rules = Rules()
    return rules.text(expression(rules, schema))


def dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


ROUTE = {
    "type": "object",
    "properties": {
        "place": {"type": "string", "enum": ["kitchen", "living room", 'the "den"']},
        "speed": {"type": "number"},
        "stops": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3},
        "quiet": {"type": "boolean"},
        "then": {"type": "object", "properties": {"note": {"type": ["string", "null"]}}, "required": ["note"]},
    },
    "required": ["place", "quiet"],
    "additionalProperties": False,
}
TREE = {
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "inside": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "required": ["name"],
        }
    },
    "$ref": "#/$defs/node",
}
SHAPE = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "dot"}}, "required": ["kind"]},
        {
            "type": "object",
            "properties": {"kind": {"enum": ["disc", "ball"]}, "r": {"type": "number", "exclusiveMinimum": 0}},
            "required": ["kind", "r"],
        },
        {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        {"type": "null"},
    ]
}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "boolean"}, [True, False], [0, "true", None]),
        ({"type": "null"}, [None], [0]),
        ({"const": 'a\n"b\\'}, ['a\n"b\\'], ["a"]),
        ({"enum": [1, "two", None, [3], {"four": 4}]}, [1, "two", None, [3], {"four": 4}], [2, "one", [4]]),
        ({"enum": ["a", "ab", "abc", "b", ""]}, ["a", "ab", "abc", "b", ""], ["abcd", "c", "bc"]),
        ({"enum": [1, 5, "x", True], "minimum": 3, "type": ["integer", "string"]}, [5, "x"], [1, True]),
        ({"enum": ["a", "abc"], "minLength": 2}, ["abc"], ["a"]),
        ({"const": 2, "enum": [1, 2.0]}, [2], [1]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "äöü", '"\\'], ["a", "abcd", 12]),
        ({"type": "string", "maxLength": 0}, [""], ["a"]),
        ({"minLength": 2}, ["ab"], ["a"]),
        ({"type": "integer", "minimum": 5, "maximum": 120}, [5, 9, 10, 99, 100, 120], [4, 121, 5.5, -7]),
        ({"type": "integer", "exclusiveMinimum": 0}, [1, 10, 999], [0, -1]),
        ({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 3.5}, [1, 2, 3], [0, 4]),
        ({"type": "number", "minimum": -1, "maximum": 1}, [-1, -0.5, 0, 0.25, 1], [1.5, -1.01, 2]),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}, [0.1, 0.5, 0.05], [0, 0.51, -0.1, 1]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [[], [1], [1, 2]], [[1, 2, 3], ["a"]]),
        ({"type": "array", "minItems": 2, "items": {"type": "null"}}, [[None] * 2, [None] * 5], [[], [None]]),
        ({"type": "array", "items": False}, [[]], [[1]]),
        (
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 1},
            [[1], [1, "a"]],
            [[], ["a", 1], [1, "a", 2]],
        ),
        (
            {"prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "minItems": 2, "maxItems": 3},
            [[1, "a"], [1, "a", "b"]],
            [[1], ["a", "b"], [1, "a", "b", "c"]],
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{}, {"a": 1, "b": 2}], [{"a": "b"}]),
        ({"type": "object", "additionalProperties": False}, [{}], [{"a": 1}]),
        (
            {"properties": {"ab": {"type": "null"}, "b": True}, "additionalProperties": {"type": "integer"}},
            [{}, {"a": 1}, {"abc": 1}, {"ab": None, "x": 3, "y": 4}, {"b": "?", "": 1}][:-1],
            [{"ab": 1}, {"x": "y"}],
        ),
        ({"type": "object", "required": ["a"]}, [{"a": 1}, {"a": [], "b": None}], [{}, {"b": 1}]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [3, None], ["a", True]),
        (SHAPE, [{"kind": "dot"}, {"kind": "ball", "r": 0.5}, [1, 2], None], [{"kind": "disc"}, {"r": 1}, [1]]),
        ({"allOf": [{"type": "integer"}]}, [3], ["a"]),
        ({"type": ["integer", "string"]}, [3, "a"], [None, [3]]),
        ({"type": "string", "format": "date", "description": "A day."}, ["any"], [1]),
        ({}, [None, 3, "a", [1, {"b": []}]], []),
        (
            TREE,
            [{"name": "a"}, {"name": "a", "inside": [{"name": "b", "inside": []}]}],
            [{}, {"name": 1}, {"other": {}}],
        ),
        ({"$ref": "#/$defs/a~1b/0", "$defs": {"a/b": [{"type": "null"}]}}, [None], [1]),
        (
            ROUTE,
            [
                {"place": "kitchen", "quiet": True},
                {"place": 'the "den"', "speed": -1.5e3, "stops": [1, 2], "quiet": False, "then": {"note": None}},
            ],
            [{"place": "kitchen"}, {"place": "attic", "quiet": True}, {"place": "kitchen", "stops": [], "quiet": True}],
        ),
    ],
)
def test_values(judge: Judge, schema: Any, good: list[Any], bad: list[Any]) -> None:
    grammar = said(schema)
    assert judge.obeys(grammar, *map(dumps, good)) == [True] * len(good)
    if "enum" not in schema:
        narrow = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in good]
        assert judge.obeys(grammar, *narrow) == [True] * len(good)
    assert judge.obeys(grammar, *map(dumps, bad)) == [False] * len(bad)


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "number", "multipleOf": 0.5}, "multipleOf"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "minimum"),
        ({"type": "number", "exclusiveMinimum": 2, "maximum": 2}, "minimum"),
        ({"type": "string", "minLength": 5, "maxLength": 3}, "maxLength"),
        ({"type": "string", "maxLength": 10**7}, "maxLength"),
        ({"type": "array", "minItems": 2, "maxItems": 1}, "maxItems"),
        ({"type": "array", "items": False, "minItems": 1}, "minItems"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"not": {"type": "null"}}, "not"),
        ({"type": "object", "patternProperties": {"a": {}}}, "patternProperties"),
        ({"type": "object", "additionalProperties": False, "required": ["a"]}, "required"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "allOf"),
        ({"anyOf": [{"type": "integer"}], "enum": [1]}, "anyOf"),
        ({"type": "string", "anyOf": [{"minLength": 3}, {"type": "integer"}]}, "type"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"),
        ({"oneOf": [{"enum": [1, 2]}, {"const": 2.0}]}, "oneOf"),
        ({"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}, "oneOf"),
        ({"type": "thing"}, "type"),
        ({"enum": []}, "enum"),
        ({"enum": ["a"], "type": "integer"}, "enum"),
        ({"const": "half \ud83d"}, "const"),
        ({"const": float("nan")}, "const"),
        ({"properties": {"deep": {"items": {"if": {}}, "type": "array"}}}, "if"),
        ({"$ref": "#/$defs/missing"}, r"\$ref"),
        ({"$ref": "#name", "name": 1}, "name"),
        ({"$ref": "https://example.com/schema"}, r"\$ref"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {}}, "minimum": 3}, r"\$ref.*minimum"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}, "circle"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}, "circle"),
        ({"allOf": [{"$ref": "#"}]}, "circle"),
        ({"type": "string", "pattern": "a+"}, "pattern"),
        ({"type": "string", "pattern": "^a", "minLength": 1}, "pattern"),
        # What no schema has.
        ({"type": "string", "minLength": "a"}, "minLength"),
        ({"type": "string", "minLength": -1}, "minLength"),
        ({"type": "integer", "exclusiveMinimum": True}, "exclusiveMinimum"),
        ({"type": "integer", "minimum": float("inf")}, "minimum"),
        ({"type": []}, "type"),
        ({"type": {"a": 1}}, "type"),
        ({"properties": ["a"]}, "properties"),
        ({"required": "a"}, "required"),
        ({"items": [{}]}, "items"),
        ({"anyOf": {}}, "anyOf"),
        ({"$ref": 3}, r"\$ref"),
        (False, "allows no value"),
        ({"type": "array", "items": 7, "minItems": 1}, "items"),
    ],
)
def test_what_a_grammar_cannot_say_is_refused_by_its_name(schema: Any, keyword: str) -> None:
    with pytest.raises(SchemaError, match=keyword):
        said(schema)


def test_the_place_of_what_cannot_be_said_is_told() -> None:
    with pytest.raises(SchemaError, match=r"schema\.deep\.items"):
        said({"properties": {"deep": {"items": {"if": {}}, "type": "array"}}})


def test_a_schema_that_is_nested_too_deep_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(SchemaError, match="too deep"):
        said(schema)


@given_often
@given(st.integers(-2000, 2000), st.integers(0, 3000), st.lists(st.integers(-2500, 2500), max_size=12))
def test_integer_ranges_are_exact(judge: Judge, least: int, span: int, others: list[int]) -> None:
    most = least + span
    for low, high in ((least, most), (None, most), (least, None)):
        values = [least, most, least - 1, most + 1, (least + most) // 2, *others]
        inside = [(low is None or low <= value) and (high is None or value <= high) for value in values]
        assert judge.obeys(f"root ::= {integer_range(low, high)}", *map(str, values)) == inside


DECIMALS = st.decimals(-30, 30, places=3) | st.decimals(-2, 2, places=1) | st.integers(-30, 30).map(Decimal)


@given_often
@given(DECIMALS, DECIMALS, st.booleans(), st.booleans(), st.lists(DECIMALS, max_size=12))
def test_number_ranges_are_exact(
    judge: Judge, one: Decimal, other: Decimal, with_least: bool, with_most: bool, others: list[Decimal]
) -> None:
    least, most = Bound(min(one, other), with_least), Bound(max(one, other), with_most)
    step = Decimal("0.0001")
    values = [one, other, one - step, one + step, other - step, other + step, (one + other) / 2, *others]
    for low, high in ((least, most), (None, most), (least, None)):
        grammar = number_range(low, high)
        inside = [
            (low is None or value > low.value or (value == low.value and low.inclusive))
            and (high is None or value < high.value or (value == high.value and high.inclusive))
            for value in values
        ]
        if not grammar:
            assert not any(inside)
            continue
        assert judge.obeys(f"root ::= {grammar}", *(f"{value:f}" for value in values)) == inside


def test_ten_lengths_around_the_limits_of_long_strings(judge: Judge) -> None:
    grammar = said({"type": "string", "minLength": 1999, "maxLength": 4001})
    lengths = [0, 1998, 1999, 2000, 2001, 3000, 3999, 4000, 4001, 4002]
    assert judge.obeys(grammar, *(f'"{"x" * length}"' for length in lengths)) == [1999 <= n <= 4001 for n in lengths]


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("^[a-z]+$", ["a", "kitchen"], ["", "A", "a b"]),
        (r"^\d{2}:\d{2}(:\d{2})?$", ["08:15", "08:15:59"], ["8:15", "08:15:"]),
        ("^(red|green|blue)-?[0-9]{1,3}$", ["red7", "blue-123"], ["red", "pink1", "red-1234"]),
        (r"^[^x-z]*\.\w{2,}$", [".ab", "hi there.txt"], ["x.ab", ".a"]),
        ("^(?:a|)b{0}c*?$", ["", "a", "acc", "c"], ["b"]),
        (r"^[-+.a\]]$", ["-", "+", "]"], ["b", "\\"]),
        ("^ü.?$", ["ü", "üx", "ü日"], ["u"]),
    ],
)
def test_simple_patterns(judge: Judge, pattern: str, good: list[str], bad: list[str]) -> None:
    grammar = said({"type": "string", "pattern": pattern})
    assert judge.obeys(grammar, *map(dumps, good)) == [True] * len(good)
    assert judge.obeys(grammar, *map(dumps, bad)) == [False] * len(bad)
    for text in judge.writes(grammar, range(5)):
        assert re.fullmatch(pattern, json.loads(text))


@pytest.mark.parametrize(
    "pattern",
    [
        "a", "^a|b$", "^(a$", "^a)$", "^[a$", "^(?=a)b$", r"^(a)\1$", r"^\bword$", "^a{3,1}$", "^a{x}$", "^(a*)*$",
        '^"$', r"^[^\s]$", "^[z-a]$", "^a\\$", "^*$", "^a{5000}$", r"^\\$",
    ],
)  # fmt: skip
def test_a_pattern_that_cannot_be_said_is_refused(pattern: str) -> None:
    with pytest.raises(SchemaError, match="pattern"):
        said({"type": "string", "pattern": pattern})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3),
    max_leaves=8,
)


def schema_of(value: Any) -> dict[str, Any]:
    """A schema that a value obeys."""
    match value:
        case None:
            return {"type": "null"}
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer", "minimum": value - 3, "exclusiveMaximum": value + 1}
        case str():
            return {"type": "string", "minLength": len(value) // 2, "maxLength": len(value)}
        case list():
            return {"type": "array", "items": {"anyOf": [schema_of(item) for item in value]} if value else {}}
    return {
        "type": "object",
        "properties": {key: schema_of(item) for key, item in value.items()},
        "required": list(value)[::2],
    }


@given_often
@given(VALUES, st.data())
def test_a_value_obeys_its_own_schema_with_any_of_its_optional_parts(judge: Judge, value: Any, data: Any) -> None:
    grammar = said(schema_of(value))
    assert judge.obeys(grammar, dumps(value)) == [True]
    if isinstance(value, dict) and len(value) > 1:
        left_out = data.draw(st.sampled_from(list(value)[1::2]))
        needed = next(iter(value))
        without = [dumps({k: v for k, v in value.items() if k != name}) for name in (left_out, needed)]
        assert judge.obeys(grammar, *without) == [True, False]


NAMES = st.text('ab_"é', min_size=1, max_size=3)


def limited(low: str, high: str, numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Two keywords, of which any may be missing, and which leave something between them."""
    both = st.tuples(numbers, numbers).map(sorted).map(lambda pair: {low: pair[0], high: pair[1]})
    return both | numbers.map(lambda number: {low: number}) | numbers.map(lambda number: {high: number}) | st.just({})


def of_type(kind: str, keywords: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return keywords.map(lambda said: {"type": kind, **said})


def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    objects = st.fixed_dictionaries(
        {"properties": st.dictionaries(NAMES, inner, max_size=4)},
        optional={
            "additionalProperties": st.booleans() | inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
        },
    )
    lists = st.builds(
        lambda items, first, limits: {
            **limits,
            **({"items": items} if items else {}),
            **({"prefixItems": first} if first else {}),
        },
        st.none() | inner,
        st.lists(inner, max_size=2),
        limited("minItems", "maxItems", st.integers(0, 4)),
    )
    choices = st.lists(inner, min_size=1, max_size=3)
    return (
        of_type("object", objects)
        | of_type("array", lists)
        | choices.map(lambda parts: {"anyOf": parts})
        | choices.map(lambda parts: {"oneOf": parts})
        | inner.map(lambda part: {"allOf": [part]})
    )


SCHEMAS = st.recursive(
    of_type("string", limited("minLength", "maxLength", st.integers(0, 6)))
    | of_type("integer", limited("minimum", "maximum", st.integers(-200, 2000)))
    | of_type("number", limited("minimum", "exclusiveMaximum", st.integers(-40, 40) | st.floats(-3, 3)))
    | of_type("number", limited("exclusiveMinimum", "maximum", st.integers(-40, 40) | st.floats(-3, 3)))
    | st.lists(VALUES, min_size=1, max_size=4).map(lambda values: {"enum": values})
    | st.sampled_from([{"type": "boolean"}, {"type": "null"}, {}, {"type": ["string", "null", "integer"]}]),
    larger,
    max_leaves=6,
)


@given_often
@given(SCHEMAS, st.integers(0, 10**6))
def test_whatever_a_grammar_writes_is_valid(judge: Judge, schema: Any, seed: int) -> None:
    try:
        grammar = said(schema)
    except SchemaError:
        return  # there may be no value at all
    for text in judge.writes(grammar, range(seed, seed + 2)):
        assert is_valid(json.loads(text), schema), text


def test_no_one_can_go_on_with_blanks_or_digits(judge: Judge) -> None:
    grammar = said({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]})
    assert judge.obeys(grammar, '{"a":' + " " * 40 + "1}", '{"a":' + "1" * 40 + "}", '{"a": 1}') == [False, False, True]


def test_no_string_holds_half_a_surrogate_pair(judge: Judge) -> None:
    texts = [r'"\ud83d"', r'"\ud83d\ude00"', r'"\ude00"', r'"ä"', '"😀"']
    assert judge.obeys(said({"type": "string", "maxLength": 1}), *texts) == [False, True, False, True, True]


def seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def test_a_megabyte_of_choices_works(judge: Judge) -> None:
    words = [f"{i % 97} word number {i} " + "x" * 80 for i in range(12_000)]
    grammar = said({"enum": words})
    assert len(grammar) > 1_000_000
    assert judge.obeys(grammar, dumps(words[1234]), '"word"', dumps(words[77])[:-2] + '"') == [True, False, False]


def test_many_optional_properties_take_no_longer_than_they_are(judge: Judge) -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(300)}}
    assert seconds(lambda: said(schema)) < 2  # twice as long for each of them, it would never end
    assert judge.obeys(said(schema), '{"p3": 1, "p299": 2}', '{"p4": 1, "p3": 2}') == [True, False]
