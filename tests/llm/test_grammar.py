"""A grammar's state, and what the grammars of calls write in each format, read by the parser of that format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest

from edgeagent import LlamaLLM, Message, ModelError
from edgeagent.llm import (
    FORMATS,
    CallFormat,
    Found,
    Grammar,
    LLMRequest,
    SchemaError,
    TokenVocabulary,
    call_grammar,
    format_named,
)
from edgeagent.messages import ToolCall
from edgeagent.tools import coerce
from tests.llm.json_schema import is_valid, obeys, write
from tests.llm.random_models import open_vocabulary
from tests.llm.source import vocabulary_file

SEEDS = range(8)
REST: dict[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Tool:
    name: str
    parameters: dict[str, Any] = field(default_factory=lambda: REST)
    description: str = ""


def taking(**properties: Any) -> dict[str, Any]:
    """Parameters, of which those with a name in capitals are required."""
    required = [name for name in properties if name.isupper()]
    return {"type": "object", "properties": properties, "required": required}


TOOLS = [
    Tool("stop"),
    Tool("stop_all"),
    Tool(
        "go_to",
        taking(
            PLACE={"type": "string", "enum": ["kitchen", "living room", "Küche"]},
            speed={"type": "number", "minimum": 0.1, "exclusiveMaximum": 2},
            steps={"type": "integer", "minimum": -3, "maximum": 12},
            quietly={"type": "boolean"},
        ),
    ),
    Tool(
        "say",
        taking(
            TEXT={"type": "string"},
            short={"type": "string", "minLength": 1, "maxLength": 4},
            at={"type": "string", "pattern": r"^\d{2}:\d{2}$"},
            to={"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
    ),
    Tool(
        "plan",
        {
            **taking(
                STEPS={"type": "array", "items": {"$ref": "#/$defs/step"}, "minItems": 1, "maxItems": 3},
                mode={"const": "fast"},
                level={"enum": [1, 2.5, "high"]},
                limit={"anyOf": [{"type": "integer"}, {"type": "null"}]},
            ),
            "$defs": {
                "step": {
                    "type": "object",
                    "properties": {"what": {"type": "string", "maxLength": 6}, "then": {"$ref": "#/$defs/step"}},
                    "required": ["what"],
                    "additionalProperties": False,
                }
            },
        },
    ),
]


@pytest.fixture(scope="module")
def letters(babble_file: Path) -> Iterator[TokenVocabulary]:
    """A vocabulary of little more than the bytes."""
    with open_vocabulary(babble_file) as vocabulary:
        yield vocabulary


@pytest.fixture(scope="module")
def qwen() -> Iterator[TokenVocabulary]:
    """A real one, of 152k tokens."""
    with open_vocabulary(vocabulary_file("qwen2")) as vocabulary:
        yield vocabulary


@pytest.fixture
def compiled() -> Iterator[Callable[[TokenVocabulary, str], Grammar]]:
    """Makes grammars that are freed after the test."""
    made: list[Grammar] = []

    def make(vocabulary: TokenVocabulary, text: str) -> Grammar:
        made.append(Grammar(vocabulary.pointer, text))
        return made[-1]

    yield make
    for grammar in made:
        grammar.free()


Compile = Callable[[TokenVocabulary, str], Grammar]


@pytest.mark.parametrize(
    "text", ["root ::= missing", "no root", "", "root ::= (", 'root ::= "a\0"', 'root ::= root | "a"', 'other ::= "a"']
)
def test_a_grammar_that_llama_cpp_refuses_is_an_error_and_no_crash(letters: TokenVocabulary, text: str) -> None:
    with pytest.raises(ModelError, match="refuses this grammar"):
        Grammar(letters.pointer, text)


def test_a_grammar_goes_on_with_what_it_allows_and_ends_where_it_is_whole(
    letters: TokenVocabulary, compiled: Compile
) -> None:
    grammar = compiled(letters, 'root ::= "he" "llo"?')
    he, hello, letter, end = (letters.tokenize(text, markers=True)[0] for text in ("he", "hello", "l", "<|im_end|>"))
    assert grammar.allows(he)
    assert grammar.allows(hello)
    assert not grammar.allows(letter)
    assert not grammar.may_end
    assert not grammar.allows(end)
    grammar.accept(he)
    assert grammar.may_end
    assert grammar.allows(end)
    assert grammar.allows(letter)


def test_a_clone_goes_its_own_way(letters: TokenVocabulary, compiled: Compile) -> None:
    grammar = compiled(letters, 'root ::= "ab" | "cd"')
    a, b, c = (letters.tokenize(letter, markers=True)[0] for letter in "abc")
    other = grammar.clone()
    other.accept(a)
    assert grammar.allows(c)
    assert not other.allows(c)
    grammar.free()
    grammar.free()
    assert other.allows(b)
    other.free()


def test_a_character_may_come_in_pieces(letters: TokenVocabulary, compiled: Compile) -> None:
    grammar = compiled(letters, 'root ::= "é" | "日"')
    first, second = letters.tokenize("é", markers=True)
    assert grammar.allows(first)
    assert not grammar.allows(second)
    grammar.accept(first)
    assert grammar.allows(second)
    assert not grammar.may_end


def test_the_likeliest_token_that_is_allowed_is_picked(qwen: TokenVocabulary, compiled: Compile) -> None:
    grammar = compiled(qwen, 'root ::= "true" | "false"')
    logits = np.random.default_rng(1).standard_normal(qwen.size).astype(np.float32)
    [true], [false] = qwen.tokenize("true", markers=False), qwen.tokenize("false", markers=False)
    logits[true], logits[false] = -50.0, -40.0
    allowed = [token for token in range(qwen.size) if grammar.allows(token)]
    assert grammar.pick(logits) == max(allowed, key=lambda token: logits[token])
    logits[true] = 50  # and when it is among the likeliest of all
    assert grammar.pick(logits) == true
    logits[:] = np.nan
    with pytest.raises(ModelError):
        grammar.pick(logits)


def test_a_vocabulary_that_cannot_go_on_is_an_error(letters: TokenVocabulary, compiled: Compile) -> None:
    grammar = compiled(letters, "root ::= [\\x00]")
    with pytest.raises(ModelError, match="does not have"):
        grammar.pick(np.zeros(letters.size, np.float32))


def read(known: CallFormat, text: str) -> tuple[ToolCall, ...]:
    """The calls of a text that is nothing else."""
    found = known.scan(text, final=True)
    assert isinstance(found, Found), text
    assert text[found.end :].strip() == "", text
    return found.calls


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
@pytest.mark.parametrize("strict", [True, False])
def test_whatever_a_grammar_of_calls_writes_is_read_as_calls_that_are_right(
    letters: TokenVocabulary, compiled: Compile, known: CallFormat, *, strict: bool
) -> None:
    schemas = {tool.name: tool.parameters for tool in TOOLS}
    seen = set()
    for tools in ([tool] for tool in TOOLS) if strict else [TOOLS]:
        rules, call = call_grammar(known.name, tools, strict=strict)
        grammar = compiled(letters, rules.text(call))
        for seed in SEEDS[:3] if strict else SEEDS:
            text = write(letters, grammar, seed)
            assert text.startswith((*known.openers, *known.start_openers)), text
            for called in read(known, text):
                assert called.raw is None, text
                arguments = called.arguments
                if known.name == "xml":  # whose values are text until the tool's schema says what they are
                    arguments = coerce(arguments, schemas[called.name])
                assert is_valid(arguments, schemas[called.name]), text
                seen.add(called.name)
    assert len(seen) > 2


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_a_tool_without_parameters_takes_no_arguments(
    letters: TokenVocabulary, compiled: Compile, known: CallFormat
) -> None:
    rules, call = call_grammar(known.name, [Tool("stop", {})], strict=True)
    grammar = compiled(letters, rules.text(call))
    for seed in SEEDS:
        for called in read(known, write(letters, grammar, seed)):
            assert (called.name, called.arguments) == ("stop", {})


@pytest.mark.parametrize("name", ["granite", "mistral", "pythonic", "xlam"])
def test_lists_hold_several_calls(letters: TokenVocabulary, compiled: Compile, name: str) -> None:
    rules, call = call_grammar(name, [Tool("stop"), Tool("go")], strict=True)
    grammar = compiled(letters, rules.text(call))
    counts = {len(read(format_named(name), write(letters, grammar, seed))) for seed in range(40)}
    assert max(counts) > 1


LISTED = {"hermes": '<tool_call>{"name": "a", "arguments": {"x": 1, "y": 2}}</tool_call>', "pythonic": "[a(x=1, y=2)]"}


@pytest.mark.parametrize(("name", "text"), LISTED.items())
def test_optional_arguments_may_be_missing_and_others_may_not_be_there(
    qwen: TokenVocabulary, compiled: Compile, name: str, text: str
) -> None:
    number = {"type": "integer"}
    for properties, allowed in (
        ({"x": number, "y": number}, True),
        ({"w": number, "x": number, "y": number, "z": number}, True),
        ({"x": number}, False),
        ({"x": number, "y": number, "Z": number}, False),
    ):
        rules, call = call_grammar(name, [Tool("a", taking(**properties))], strict=True)
        assert obeys(qwen, compiled(qwen, rules.text(call)), text) == allowed, properties


@pytest.mark.parametrize(
    ("name", "parameters", "keyword"),
    [
        ("hermes", taking(word={"type": "string", "not": {}}), r"say: arguments\.word.*'not'"),
        ("pythonic", taking(**{"from": {"type": "string"}}), "from"),
        ("pythonic", {"anyOf": [{"type": "object"}]}, "anyOf"),
        ("xml", taking(**{"a b": {}}), "a b"),
        ("xml", taking(word={"enum": ["ok", "</parameter>"]}), "/parameter"),
        ("xml", taking(word={"const": "[1]"}), r"\[1\]"),
        ("gemma", taking(word={"const": 'a<|"|>b'}), "const"),
    ],
)
def test_what_a_format_cannot_write_is_refused_if_that_was_asked_for(
    letters: TokenVocabulary, compiled: Compile, name: str, parameters: dict[str, Any], keyword: str
) -> None:
    tools = [Tool("say", parameters)]
    with pytest.raises(SchemaError, match=keyword):
        call_grammar(name, tools, strict=True)
    rules, call = call_grammar(name, tools, strict=False)
    [called] = read(format_named(name), write(letters, compiled(letters, rules.text(call)), 1))[:1]
    assert called.name == "say" or called.raw is not None


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_two_hundred_tools_are_one_grammar(letters: TokenVocabulary, compiled: Compile, known: CallFormat) -> None:
    parameters = taking(PLACE={"enum": [f"room {i}" for i in range(50)]}, speed={"type": "number", "minimum": 0})
    rules, call = call_grammar(known.name, [Tool(f"tool_{i}", parameters) for i in range(200)], strict=True)
    text = rules.text(call)
    assert len(text) < 100_000
    assert read(known, write(letters, compiled(letters, text), 1))


@pytest.mark.parametrize("script", [["52"], ["52", " apples"], ["-", "7"]])
def test_a_number_for_a_reply_has_all_its_digits(says: Callable[..., LlamaLLM], script: list[str]) -> None:
    llm = says(script)
    schema = {"type": "integer"}
    reply = llm.complete(LLMRequest(messages=[Message.user("how many")], response_schema=schema), Event())
    assert reply.stop_reason == "stop"
    assert json.loads(reply.text) == int("".join(script).split()[0])
