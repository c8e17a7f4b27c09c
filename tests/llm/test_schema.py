"""A schema's grammar lets through what the schema allows, in any combination, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from edgeagent import LlamaLLM, ModelError
from edgeagent.llm.grammar import Grammar
from edgeagent.llm.ranges import integer_range, number_range
from edgeagent.llm.schema import Rules, SchemaError
from tests.llm.random_models import open_vocabulary
from tests.llm.source import vocabulary_file


class Judge:
    """Says whether a text obeys a grammar, letter by letter as a model would write it."""

    def __init__(self, vocabulary: Any) -> None:
        self._vocabulary = vocabulary

    def grammar(self, text: str) -> Grammar:
        return Grammar(self._vocabulary.pointer, text)

    def obeys(self, grammar: str, text: str) -> bool:
        state = self.grammar(grammar)
        try:
            for token in self._vocabulary.tokenize(text, markers=True):
                if not state.allows(token):
                    return False
                state.accept(token)
            return state.may_end
        finally:
            state.free()


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with open_vocabulary(vocabulary_file("qwen2")) as vocabulary:
        yield Judge(vocabulary)


def said(schema: Any) -> str:
    rules = Rules()
    return rules.text(rules.value(schema))


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


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "boolean"}, [True, False], [0, "true", None]),
        ({"type": "null"}, [None], [0]),
        ({"const": 'a\n"b\\'}, ['a\n"b\\'], ["a"]),
        ({"enum": [1, "two", None, [3], {"four": 4}]}, [1, "two", None, [3], {"four": 4}], [2, "one", [4]]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "äöü"], ["a", "abcd", 12]),
        ({"type": "integer", "minimum": 5, "maximum": 120}, [5, 9, 10, 99, 100, 120], [4, 121, 5.5, -7]),
        ({"type": "integer", "exclusiveMinimum": 0}, [1, 10, 999], [0, -1]),
        ({"type": "number", "minimum": -1, "maximum": 1}, [-1, -0.5, 0, 0.25, 1], [1.5, -1.01, 2]),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 2}, [[], [1], [1, 2]], [[1, 2, 3], ["a"]]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}, [[1, "a"]], [[1], ["a", 1]]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, [{}, {"a": 1, "b": 2}], [{"a": "b"}]),
        ({"type": "object", "additionalProperties": False}, [{}], [{"a": 1}]),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, [3, None], ["a", True]),
        ({"allOf": [{"type": "integer"}]}, [3], ["a"]),
        ({"type": ["integer", "string"]}, [3, "a"], [None, [3]]),
        ({"type": "integer", "nullable": True}, [3, None], ["a"]),
        ({}, [None, 3, "a", [1, {"b": []}]], []),
        (
            {
                "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
                "$ref": "#/$defs/node",
            },
            [{}, {"next": {}}, {"next": {"next": {}}}],
            [{"next": 1}, {"other": {}}],
        ),
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
    for value in good:
        assert judge.obeys(grammar, json.dumps(value, ensure_ascii=False)), value
        if "enum" not in schema:
            assert judge.obeys(grammar, json.dumps(value, ensure_ascii=False, separators=(",", ":"))), value
    for value in bad:
        assert not judge.obeys(grammar, json.dumps(value, ensure_ascii=False)), value


@pytest.mark.parametrize(
    ("schema", "keyword"),
    [
        ({"type": "string", "pattern": "^a+$"}, "pattern"),
        ({"type": "number", "multipleOf": 0.5}, "multipleOf"),
        ({"type": "number", "minimum": 0.5}, "minimum"),
        ({"type": "number", "exclusiveMaximum": 3}, "exclusiveMaximum"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "minimum"),
        ({"type": "array", "uniqueItems": True}, "uniqueItems"),
        ({"not": {"type": "null"}}, "not"),
        ({"type": "object", "patternProperties": {"a": {}}}, "patternProperties"),
        ({"type": "object", "properties": {}, "required": ["a"]}, "required"),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "allOf"),
        ({"anyOf": [{"type": "integer"}], "enum": [1]}, None),
        ({"type": "thing"}, "type"),
        ({"$ref": "#/$defs/missing"}, r"\$ref"),
        ({"$ref": "https://example.com/schema"}, r"\$ref"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}, r"\$ref"),
        ({"enum": []}, "enum"),
        ({"properties": {"deep": {"items": {"if": {}}, "type": "array"}}}, "if"),
    ],
)
def test_what_a_grammar_cannot_say_is_refused_by_its_name(schema: Any, keyword: str | None) -> None:
    if keyword is None:
        said(schema)  # an enum says everything there is to say
        return
    with pytest.raises(SchemaError, match=keyword):
        said(schema)


def test_the_place_of_what_cannot_be_said_is_told() -> None:
    with pytest.raises(SchemaError, match=r"schema\.deep\.items"):
        said({"properties": {"deep": {"items": {"if": {}}, "type": "array"}}})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(-2000, 2000), st.integers(0, 3000), st.lists(st.integers(-2500, 2500), max_size=12))
def test_integer_ranges_are_exact(judge: Judge, least: int, span: int, others: list[int]) -> None:
    most = least + span
    grammar = f"root ::= {integer_range(least, most)}"
    for value in {least, most, least - 1, most + 1, (least + most) // 2, *others}:
        assert judge.obeys(grammar, str(value)) == (least <= value <= most), value
    for open_low, open_high in ((None, most), (least, None)):
        grammar = f"root ::= {integer_range(open_low, open_high)}"
        for value in {least, most, least - 1, most + 1, *others}:
            inside = (open_low is None or value >= open_low) and (open_high is None or value <= open_high)
            assert judge.obeys(grammar, str(value)) == inside, value


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(-50, 50), st.integers(0, 60), st.lists(st.decimals(-120, 120, places=2), max_size=10))
def test_number_ranges_are_exact(judge: Judge, least: int, span: int, others: list[Any]) -> None:
    most = least + span
    grammar = f"root ::= {number_range(least, most)}"
    for value in others:
        assume(value != 0 or least <= 0)
        assert judge.obeys(grammar, f"{value:f}".replace("-0.00", "0.00")) == (least <= value <= most), value


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
            return {"type": "integer"}
        case str():
            return {"type": "string"}
        case list():
            return {"type": "array", "items": {"anyOf": [schema_of(item) for item in value]} if value else {}}
    return {
        "type": "object",
        "properties": {key: schema_of(item) for key, item in value.items()},
        "required": list(value)[::2],
    }


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(VALUES, st.data())
def test_a_value_obeys_its_own_schema_with_any_of_its_optional_parts(judge: Judge, value: Any, data: Any) -> None:
    grammar = said(schema_of(value))
    assert judge.obeys(grammar, dumps(value))
    if isinstance(value, dict) and len(value) > 1:
        left_out = data.draw(st.sampled_from(list(value)[1::2]))
        assert judge.obeys(grammar, dumps({k: v for k, v in value.items() if k != left_out}))
        needed = next(iter(value))
        assert not judge.obeys(grammar, dumps({k: v for k, v in value.items() if k != needed}))


def test_no_one_can_go_on_with_blanks_or_digits(judge: Judge) -> None:
    grammar = said({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]})
    assert not judge.obeys(grammar, '{"a":' + " " * 40 + "1}")
    assert not judge.obeys(grammar, '{"a":' + "1" * 40 + "}")


def test_a_grammar_that_llama_cpp_refuses_is_an_error_and_no_crash(judge: Judge) -> None:
    for text in ("root ::= missing", "no root", "root ::= (", 'root ::= root | "a"'):
        with pytest.raises(ModelError, match="refuses this grammar"):
            judge.grammar(text)


def test_a_huge_schema_works(judge: Judge) -> None:
    words = [f"word number {i} " + "x" * 100 for i in range(2000)]
    grammar = said({"enum": words})
    assert judge.obeys(grammar, json.dumps(words[1234]))
    assert not judge.obeys(grammar, '"word"')


def test_the_likeliest_token_that_is_allowed_is_picked(judge: Judge, family_file: Callable[[str], Path]) -> None:
    import numpy as np

    llm = LlamaLLM(family_file("qwen3"))
    llm.load()
    assert llm._loaded is not None
    vocabulary = llm._loaded.prompter.vocabulary
    grammar = Grammar(vocabulary.pointer, 'root ::= "true" | "false"')
    logits = np.random.default_rng(1).standard_normal(vocabulary.size).astype(np.float32)
    [true], [false] = vocabulary.tokenize("true", markers=False), vocabulary.tokenize("false", markers=False)
    logits[true], logits[false] = -50.0, -40.0
    allowed = [t for t in range(vocabulary.size) if grammar.allows(t)]
    best = max(allowed, key=lambda token: logits[token])
    assert grammar.pick(logits) == best
    grammar.accept(true)
    assert grammar.may_end
    grammar.free()
    llm.close()
