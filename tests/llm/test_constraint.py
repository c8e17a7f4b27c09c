"""Calls and replies that obey their schemas on models that would not: random weights, every family, every format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message, ModelError
from edgeagent.llm import FORMATS, LLMRequest, SchemaError, TextDelta, ToolCallEnd
from edgeagent.messages import ToolCall
from edgeagent.tools import ArgumentError, coerce
from tests.llm.random_models import FAMILIES

PLACES = ["kitchen", "living room", "hall"]


@dataclass(frozen=True)
class Tool:
    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})


GO_TO = Tool(
    "go_to",
    "Drives there.",
    {
        "type": "object",
        "properties": {
            "place": {"type": "string", "enum": PLACES},
            "speed": {"type": "integer", "minimum": 1, "maximum": 40},
            "quietly": {"type": "boolean"},
            "then": {
                "type": "object",
                "properties": {"light": {"type": "boolean"}, "note": {"type": "string", "maxLength": 5}},
                "required": ["light"],
            },
            "stops": {"type": "array", "items": {"type": "string", "enum": PLACES}, "maxItems": 2},
        },
        "required": ["place", "speed", "then"],
    },
)
STOP = Tool("stop", "Stops.")
WAIT = Tool(
    "wait",
    "Waits.",
    {
        "type": "object",
        "properties": {
            "seconds": {"type": "integer", "minimum": 1, "maximum": 40},
            "quietly": {"type": "boolean"},
            "where": {"type": "string", "enum": PLACES},
        },
        "required": ["seconds"],
    },
)
ANSWER = {
    "type": "object",
    "properties": {"answer": {"type": "string", "maxLength": 12}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}


def ask(**options: Any) -> LLMRequest:
    return LLMRequest(**{"messages": [Message.user("go")], "tools": [GO_TO, STOP], "max_tokens": 400, **options})


def is_right(call: ToolCall) -> bool:
    """Whether a call is one of a tool's, with arguments that its schema allows."""
    schemas = {tool.name: tool.parameters for tool in (GO_TO, STOP, WAIT)}
    if call.raw is not None or call.name not in schemas:
        return False
    try:
        coerce(call.arguments, schemas[call.name])
    except ArgumentError:
        return False
    return True


@pytest.fixture(scope="module", params=FAMILIES)
def babbler(
    request: pytest.FixtureRequest, family_file: Callable[[str], Path], cut_file: Callable[[str], Path]
) -> Iterator[LlamaLLM]:
    """A model of each family that writes at random; the two smallest vocabularies are whole."""
    file = family_file if request.param in ("phi3", "granite4") else cut_file
    llm = LlamaLLM(file(request.param), temperature=1.0)
    yield llm
    llm.close()


def beginning(llm: LlamaLLM, request: LLMRequest) -> tuple[list[ToolCall], str]:
    """The first calls of a reply, and the text up to them; a model that babbles would never come to its end."""
    calls, text = list[ToolCall](), ""
    for event in llm.stream(request, Event()):
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ToolCallEnd):
            calls.append(event.call)
            break
    return calls, text


def test_a_required_call_is_made_and_obeys_its_schema(babbler: LlamaLLM) -> None:
    [called], _ = beginning(babbler, ask(tools=[WAIT, STOP], tool_choice="required"))
    assert is_right(called)


def test_a_reply_obeys_its_schema(babbler: LlamaLLM) -> None:
    reply = babbler.complete(ask(tools=[], response_schema=ANSWER), Event())
    assert reply.stop_reason == "stop"
    value = json.loads(reply.text)
    assert set(value) == {"answer", "sure"}
    assert isinstance(value["sure"], bool)
    assert isinstance(value["answer"], str)


def test_a_reply_is_a_call_or_obeys_its_schema(babbler: LlamaLLM) -> None:
    calls, text = beginning(babbler, ask(response_schema=ANSWER))
    if calls:
        assert calls[0].name in {"go_to", "stop"}
    else:
        assert set(json.loads(text)) == {"answer", "sure"}


@pytest.mark.parametrize("name", [known.name for known in FORMATS])
def test_a_required_call_in_every_format(name: str, cut_file: Callable[[str], Path]) -> None:
    llm = LlamaLLM(cut_file("granite4"), temperature=1.0, tool_format=name)
    for seed in range(3):
        request = ask(messages=[Message.user(f"go {seed}")], tools=[WAIT, STOP], tool_choice="required")
        [called], _ = beginning(llm, request)
        assert is_right(called)
    llm.close()


WRONG = [
    ["<tool_call>", '\n{"name": "go_too", "arguments": {"place": "attic"}}\n', "</tool_call>"],
    ["<tool_call>", '\n{"name": "go_to", "arguments": {"place": "kitchen", "speed": 99}}\n', "</tool_call>"],
    ["On my way.\n", "<tool_call>", "\ngo_to(kitchen)\n", "</tool_call>"],
    ["<tool_call>", '\n{"name": "go_to"'],
]


@pytest.mark.parametrize("script", WRONG)
def test_a_call_that_would_be_wrong_becomes_a_right_one(says: Callable[..., LlamaLLM], script: list[str]) -> None:
    free, kept = says(script), says(script)
    free._constrain_tools = False
    before = free.complete(ask(), Event())
    after = kept.complete(ask(), Event())
    assert not any(is_right(call) for call in before.tool_calls)
    [call] = after.tool_calls
    assert is_right(call)
    assert after.text == before.text or not before.tool_calls


def test_a_right_call_and_text_stay_as_they_are(says: Callable[..., LlamaLLM]) -> None:
    call = '{"name": "go_to", "arguments": {"place": "hall", "speed": 7, "then": {"light": true}}}'
    stop = '{"name": "stop", "arguments": {}}'
    first, second = (["<tool_call>", f"\n{text}\n", "</tool_call>", "\n"] for text in (call, stop))
    llm = says(["Off I go.\n", *first, *second])
    reply = llm.complete(ask(), Event())
    assert reply.text == "Off I go."
    assert [c.name for c in reply.tool_calls] == ["go_to", "stop"]
    assert reply.tool_calls[0].arguments == json.loads(call)["arguments"]


@pytest.mark.parametrize(
    "script",
    [
        ["Well [TOOL", "_CALLS", "]", "go_to", "[ARGS]", '{"place": "attic"}'],
        ["[TOOL_", "CALLS]go_too{"],
        ["a [TOOL_CALLS", "][", "1"],
    ],
)
def test_an_opener_split_over_tokens_begins_the_grammar(says: Callable[..., LlamaLLM], script: list[str]) -> None:
    llm = says(script)
    llm._format = next(known for known in FORMATS if known.name == "mistral")
    reply = llm.complete(ask(tools=[STOP]), Event())
    assert is_right(reply.tool_calls[0])


def test_prose_is_left_alone(says: Callable[..., LlamaLLM]) -> None:
    text = "I will not call go_to(). [see below] {x} tool_call it is."
    assert says([text]).complete(ask(), Event()).text == text


def test_no_tools_may_be_called_where_the_choice_is_none(says: Callable[..., LlamaLLM]) -> None:
    llm = says(["No. ", "<tool_call>", '{"name": "stop", "arguments": {}}', "</tool_call>"])
    reply = llm.complete(ask(tool_choice="none"), Event())
    assert reply.tool_calls == ()


PATTERN = Tool("say", "Says.", {"type": "object", "properties": {"word": {"type": "string", "pattern": "a+"}}})


def test_a_schema_that_no_grammar_can_say_is_refused_only_if_that_was_asked_for(
    cut_file: Callable[[str], Path],
) -> None:
    strict = LlamaLLM(cut_file("qwen3"), constrain_tools=True)
    with pytest.raises(SchemaError, match=r"say.*'pattern'"):
        strict.complete(ask(tools=[PATTERN]), Event())
    with pytest.raises(SchemaError, match="pattern"):
        strict.complete(ask(tools=[], response_schema=PATTERN.parameters), Event())
    strict.close()
    llm = LlamaLLM(cut_file("qwen3"), temperature=1.0)
    reply = llm.complete(ask(tools=[PATTERN, STOP], tool_choice="required", max_tokens=64), Event())
    assert reply.error is None
    llm.close()


def test_a_required_call_needs_tools(babble: LlamaLLM) -> None:
    with pytest.raises(ModelError, match="needs tools"):
        babble.complete(ask(tools=[], tool_choice="required"), Event())


def test_a_stop_inside_a_call_leaves_the_next_reply_whole(says: Callable[..., LlamaLLM]) -> None:
    call = '{"name": "go_to", "arguments": {"place": "hall", "speed": 7, "then": {"light": true}}}'
    llm = says(["<tool_call>", f"\n{call}\n", "</tool_call>"])
    for looks in range(3, 30, 3):
        stop = Event()
        for i, _ in enumerate(llm.stream(ask(), stop)):
            if i == looks:
                stop.set()
        assert [c.name for c in llm.complete(ask(), Event()).tool_calls] == ["go_to"]
