"""Untagged calls that have named an offered tool, on models that write a wrong rest."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message, skill, tool
from edgeagent.llm import End, LLMRequest, untagged_name
from edgeagent.messages import Reading
from tests.llm.random_models import cut

WRONG = '{"name": "lamp", "arguments": {"brightness": "very", "colour": "red"}}'


@tool
def lamp(brightness: int) -> str:
    """Set the lamp."""
    return f"{brightness}"


@skill
def drive(distance_m: float) -> str:
    """Drive."""
    return f"{distance_m}"


def read(llm: LlamaLLM, **options: Any) -> Reading:
    request = LLMRequest(**{"messages": [Message.user("go")], "tools": [lamp, drive], "max_tokens": 120, **options})
    *_, end = llm.stream(request, Event())
    assert isinstance(end, End)
    assert end.reading is not None
    return end.reading


@pytest.fixture
def forced(scripted_file: Callable[..., Path]) -> Iterator[Callable[..., LlamaLLM]]:
    """Makes models that write a script, with arguments forced."""
    made: list[LlamaLLM] = []

    def make(*script: str) -> LlamaLLM:
        made.append(LlamaLLM(scripted_file(script, cut("granite4")), force_arguments=True))
        return made[-1]

    yield make
    for llm in made:
        llm.close()


def arguments(text: str) -> list[dict[str, Any]]:
    """Those of the calls in a reply, whose closing bracket may be missing."""
    given, decoder = [], json.JSONDecoder()
    while (text := text.lstrip("[, \n")).startswith("{"):
        call, end = decoder.raw_decode(text)
        given.append(call["arguments"])
        text = text[end:]
    return given


@pytest.mark.parametrize(
    "script",
    [
        [WRONG],
        ['{"name": "lamp', '", "arguments": {"brightness": "very"}}'],
        ['{\n  "name": "lamp",\n  "arguments": {\n    "brightness": "very"\n  }\n}'],
        ['[{"name": "lamp", "arguments": {"brightness": 5', "}}", ", ", '{ "name" : "lamp" , "arguments" : "very"}]'],
        [" ", "\n", WRONG],
        ['{"name": "lamp"}'],
    ],
    ids=["an object", "a name and its quote", "indented", "a list", "after blanks", "no arguments"],
)
def test_arguments_obey_the_schema_once_a_tool_is_named(forced: Callable[..., LlamaLLM], script: list[str]) -> None:
    reading = read(forced(*script))
    calls = arguments(reading.raw)
    assert len(calls) == "".join(script).count('"name"')
    for given in calls:
        assert set(given) == {"brightness"}
        assert isinstance(given["brightness"], int)
    assert reading.refused


def test_arguments_in_a_fence_obey_the_schema(forced: Callable[..., LlamaLLM]) -> None:
    raw = read(forced("```", "json\n", WRONG, "\n```")).raw
    assert re.fullmatch(r'```json\n{"name": "lamp", "arguments": {"brightness":\s+-?\d+\s*}\s*}', raw)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "drive", "arguments": {"distance_m": "far"}}',
        '{"name": "lamps", "arguments": {"brightness": "very"}}',
        '{"lamp": {"name": "lamp", "arguments": {"brightness": "very"}}}',
        f"Here is one: {WRONG}",
        '{"arguments": {"brightness": "very"}, "name": "lamp"}',
        '{{"name": "lamp", "arguments": {{"brightness": "very"}}}}',
        '{"name": "lamp", "arguments": {"brightness": 5}}',
    ],
    ids=["a tool that moves", "no such tool", "inside", "prose", "the name last", "doubled", "right"],
)
def test_what_stays_as_it_was_written(forced: Callable[..., LlamaLLM], text: str) -> None:
    reading = read(forced(text))
    assert (reading.raw, reading.refused) == (text, ())


def test_nothing_is_forced_unless_the_app_asks(says: Callable[..., LlamaLLM]) -> None:
    assert read(says([WRONG], cut("granite4"))).raw == WRONG


def test_nothing_is_forced_where_no_tool_may_be_called(forced: Callable[..., LlamaLLM]) -> None:
    assert read(forced(WRONG), tool_choice="none").refused == ()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"name": "lamp"', "lamp"),
        ('```json\n[{"name": "lamp", "arguments": {"name": "x"}}', "lamp"),
        ('{"name": "la', ""),
        ('{"arguments": {"name": "lamp"}}', ""),
        ('I call {"name": "lamp"}', ""),
        ("", ""),
    ],
)
def test_a_name_is_declared_once_it_is_whole(text: str, name: str) -> None:
    assert untagged_name(text) == name
