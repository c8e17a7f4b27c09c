"""Calls as the real templates write them are read back, whatever the template, however tokens split them.

A template that renders an assistant's calls tells what its model emits; the files are llama.cpp's.
"""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest

from edgeagent.llm import (
    FORMATS,
    CallFormat,
    LLMEvent,
    StreamGate,
    TextDelta,
    ToolCallEnd,
    detect_format,
    format_named,
    written_by,
)
from edgeagent.messages import ToolCall
from edgeagent.tools import coerce
from tests.llm.mutations import check, replies
from tests.llm.source import chat_template, llama_source

#: Template files by the format that their models write.
TEMPLATES = {
    "hermes": [
        "Bielik-11B-v3.0-Instruct",
        "MiMo-VL",
        "Qwen-QwQ-32B",
        "Qwen-Qwen2.5-7B-Instruct",
        "Qwen-Qwen3-0.6B",
        "Reka-Edge",
        "ibm-granite-granite-4.0",
        "ibm-granite-granite-4.1",
    ],
    "xml": ["NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "Qwen3-Coder", "Qwen3.5-4B", "StepFun3.5-Flash"],
    "pythonic": ["LFM2.5-8B-A1B"],
    "llama3": [
        "meta-llama-Llama-3.1-8B-Instruct",
        "meta-llama-Llama-3.2-3B-Instruct",
        "meta-llama-Llama-3.3-70B-Instruct",
    ],
    "mistral": [
        "Mistral-Small-3.2-24B-Instruct-2506",
        "mistralai-Ministral-3-14B-Reasoning-2512",
        "mistralai-Mistral-Nemo-Instruct-2407",
        "unsloth-mistral-Devstral-Small-2507",
    ],
    "gemma": ["google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved"],
}
#: These show no call of an assistant; their source has the markers.
SILENT = {
    "hermes": ["NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use"],
    "granite": ["ibm-granite-granite-3.3-2B-Instruct"],
    "pythonic": ["LFM2-8B-A1B", "LFM2.5-Instruct"],
}
ONE_CALL_ONLY = TEMPLATES["llama3"]
PAIRS = [(known, name) for known, names in TEMPLATES.items() for name in names]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "place": {"type": "string"},
        "distance_m": {"type": "number"},
        "count": {"type": "integer"},
        "on": {"type": "boolean"},
        "route": {"type": "object"},
        "stops": {"type": "array"},
    },
}
ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"place": "kitchen"},
    {"place": 'the "big" room, Müller\'s 厨房 🙂 (left) {1} [2]'},
    {"place": "line one\nline two", "on": False},
    {"distance_m": -1.5, "count": 12, "on": True},
    {"route": {"first": {"x": 1, "names": ["a", "b"]}, "empty": {}}, "stops": [1, "two", [3], {"four": 4}]},
    {"place": "a < b && c > d </div>"},
]

# What the families write whose templates are not among llama.cpp's, and what models write beside their templates.
WRITTEN: list[tuple[str, str, list[tuple[str, dict[str, Any]]]]] = [
    ("pythonic", "[drive(distance_m=2), stop()]", [("drive", {"distance_m": 2}), ("stop", {})]),
    ("pythonic", '<|tool_call_start|>[say(text="a ] b")]<|tool_call_end|>', [("say", {"text": "a ] b"})]),
    ("pythonic", "[light(on=true, place=null)]", [("light", {"on": True, "place": None})]),
    ("llama3", '<|python_tag|>{"name": "stop", "parameters": {}}', [("stop", {})]),
    (
        "llama3",
        '{"name": "stop", "parameters": {}}; {"name": "turn", "parameters": {"angle_deg": 90}}',
        [("stop", {}), ("turn", {"angle_deg": 90})],
    ),
    ("mistral", '[TOOL_CALLS]drive{"distance_m": 2}', [("drive", {"distance_m": 2})]),
    (
        "functiongemma",
        "<start_function_call>call:go_to{place:<escape>kitchen<escape>,speed:0.5}<end_function_call>",
        [("go_to", {"place": "kitchen", "speed": 0.5})],
    ),
    (
        "granite",
        '<|tool_call|>[{"name": "drive", "arguments": {"distance_m": 2}}, {"name": "stop", "arguments": {}}]',
        [("drive", {"distance_m": 2}), ("stop", {})],
    ),
    (
        "xlam",
        '[{"name": "drive", "arguments": {"distance_m": 2}}, {"name": "stop", "arguments": {}}]',
        [("drive", {"distance_m": 2}), ("stop", {})],
    ),
    ("json", '{"name": "drive", "arguments": {"distance_m": 2}}', [("drive", {"distance_m": 2})]),
    ("xml", "<function=stop>\n</function>\n</tool_call>", [("stop", {})]),
    ("xml", "<tool_call><function=go_to><parameter=place>x</parameter></function>", [("go_to", {"place": "x"})]),
]

# Written a little wrong, with one reading.
REPAIRED = [
    ("hermes", "<tool_call>{'name': 'drive', 'arguments': {'distance_m': 2, 'fast': True}}</tool_call>"),
    ("hermes", '<tool_call>{"name": "drive", "arguments": {"distance_m": 2, "fast": true,},}</tool_call>'),
    (
        "hermes",
        '<tool_call>{"name": "drive", "arguments": {"distance_m": 2, "fast": true}}</tool_call>'.replace('"', "&quot;"),
    ),
    ("hermes", '<tool_call>{"name": "drive", "arguments": {"distance_m": 2, "fast": True}}'),
    ("mistral", "[TOOL_CALLS][{'name': 'drive', 'arguments': {'distance_m': 2, 'fast': True}}]"),
    ("granite", "<|tool_call|>[{'name': 'drive', 'arguments': {'distance_m': 2, 'fast': True}}]"),
    ("json", "{'name': 'drive', 'arguments': {'distance_m': 2, 'fast': True}}"),
]

# Broken: the model is told. The arguments could be anything.
BROKEN = [
    ("hermes", '<tool_call>{"name": "drive", "arguments": {"distance_m": 2'),
    ("hermes", '<tool_call>{"name": "drive", "arguments": {"distance_m": }}</tool_call>'),
    ("xml", "<tool_call>\n<function=drive>\n<parameter=distance_m>\n2"),
    ("xml", "<tool_call>\n<function=drive>\n2\n</function>\n</tool_call>"),
    ("pythonic", "<|tool_call_start|>[drive(2)]<|tool_call_end|>"),
    ("pythonic", "<|tool_call_start|>[drive(distance_m=a + 2)]<|tool_call_end|>"),
    ("pythonic", "<|tool_call_start|>[drive(distance_m=2"),
    ("llama3", '{"name": "drive", "parameters": {"distance_m": 2'),
    ("llama3", '{"name": "drive", "parameters": {"distance_m": two}}'),
    ("mistral", '[TOOL_CALLS]drive[ARGS]{"distance_m": 2'),
    ("mistral", '[TOOL_CALLS][{"name": "drive", "arguments": {"distance_m": 2}'),
    ("gemma", "<|tool_call>call:drive{distance_m:two}<tool_call|>"),
    ("gemma", '<|tool_call>call:drive{place:<|"|>kitch'),
    ("functiongemma", "<start_function_call>call:drive{distance_m:2"),
    ("granite", '<|tool_call|>[{"name": "drive", "arguments": {"distance_m": 2}'),
    ("xlam", '[{"name": "drive", "arguments": {"distance_m": 2}'),
    ("json", '{"name": "drive", "arguments": {"distance_m": 2}'),
]

PROSE = [
    "I will not call release() or drive(2).",
    "[see below] The way is free.",
    "[1] is the first, [2] the second.",
    '{"a": 1} is JSON, and {x} is not.',
    '{"answer": "yes"}',
    'The name is "drive", the arguments are {}.',
    "call:drive{distance_m:2} is how it is written.",
    "<function> and <tool> are words in brackets; a < b.",
    "TOOL_CALLS are what a model makes. [TOOL] CALLS",
    "{",
    "[",
    "{name: drive}",
    "[drive] is not a call, [drive (slowly) either.",
]


def gated(
    known: CallFormat, text: str, cuts: list[int] | None = None
) -> tuple[str, list[tuple[str, Any]], list[LLMEvent]]:
    """What a gate makes of a reply that comes in pieces: its text, its calls, all events."""
    gate = StreamGate(known)
    places = [0, *sorted(cuts or []), len(text)]
    events: list[LLMEvent] = []
    for begin, end in pairwise(places):
        events += gate.feed(text[begin:end])
    events += gate.finish()
    calls = [
        (e.call.name, e.call.arguments if e.call.raw is None else e.call.raw)
        for e in events
        if isinstance(e, ToolCallEnd)
    ]
    return "".join(e.text for e in events if isinstance(e, TextDelta)), calls, events


def written(template: str, calls: list[dict[str, Any]]) -> str:
    """What an assistant writes who makes these calls of ``go_to``, ended where its turn ends."""
    made = [ToolCall("abcdefgh1", "go_to", arguments) for arguments in calls]
    text = written_by(chat_template(template), made)
    assert text is not None
    return text


@pytest.mark.parametrize(("known", "template"), PAIRS)
def test_the_format_is_told_by_the_template(known: str, template: str) -> None:
    found = detect_format(chat_template(template))
    assert found is format_named(known)


@pytest.mark.parametrize(("known", "template"), [(k, name) for k, names in SILENT.items() for name in names])
def test_a_template_that_shows_no_calls_is_told_by_its_source(known: str, template: str) -> None:
    assert detect_format(chat_template(template)) is format_named(known)


def test_other_families_have_none_of_our_formats() -> None:
    ours = {name for names in (*TEMPLATES.values(), *SILENT.values()) for name in names}
    for file in sorted((llama_source() / "templates").glob("*.jinja")):
        if file.stem not in ours:
            assert detect_format(chat_template(file.stem)) is None, file.stem


@pytest.mark.parametrize("arguments", ARGUMENTS)
@pytest.mark.parametrize(("known", "template"), PAIRS)
def test_a_call_comes_back_as_it_was(known: str, template: str, arguments: dict[str, Any]) -> None:
    if known == "pythonic" and "'" in str(arguments.get("place")):
        arguments = {"place": arguments["place"].replace("'", "")}  # LFM2's template does not escape its quotes
    _, calls, _ = gated(format_named(known), written(template, [arguments]))
    [(name, found)] = calls
    assert name == "go_to"
    assert coerce(found, SCHEMA) == arguments


@pytest.mark.parametrize(("known", "template"), [pair for pair in PAIRS if pair[1] not in ONE_CALL_ONLY])
def test_several_calls_come_back_in_order(known: str, template: str) -> None:
    several = [ARGUMENTS[i] for i in (0, 1, 3, 4, 5, 6)]
    _, calls, _ = gated(format_named(known), written(template, several))
    assert [coerce(found, SCHEMA) for _, found in calls] == several


@pytest.mark.parametrize(("known", "text", "calls"), WRITTEN)
def test_other_ways_to_write_a_call(known: str, text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert gated(format_named(known), text)[:2] == ("", calls)


@pytest.mark.parametrize(("known", "text"), REPAIRED)
def test_a_call_with_one_reading_is_repaired(known: str, text: str) -> None:
    assert gated(format_named(known), text)[1] == [("drive", {"distance_m": 2, "fast": True})]


@pytest.mark.parametrize(("known", "text"), BROKEN)
def test_a_broken_call_is_told_and_not_made(known: str, text: str) -> None:
    _, calls, _ = gated(format_named(known), text)
    [(name, raw)] = calls
    assert name == "drive"
    assert isinstance(raw, str)


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_prose_is_never_a_call(known: CallFormat, text: str) -> None:
    assert gated(known, text)[:2] == (text, [])


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_text_after_a_first_word_is_never_a_call_without_a_marker(known: CallFormat) -> None:
    for form in ('{"name": "drive", "arguments": {}}', '[{"name": "drive", "arguments": {}}]', "[drive()]"):
        assert gated(known, f"Sure: {form}")[:2] == (f"Sure: {form}", [])


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
def test_text_leaves_at_once(known: CallFormat) -> None:
    """After each piece all is out but blanks and what may begin a marker."""
    gate = StreamGate(known)
    said = ""
    for letter in "The robot is in the kitchen, 2.5 m from the fridge.":
        said += letter
        out = "".join(event.text for event in gate.feed(letter) if isinstance(event, TextDelta))
        assert out.endswith(letter) or letter == " "


@pytest.mark.parametrize(("known", "template"), PAIRS)
def test_pieces_change_nothing(known: str, template: str) -> None:
    rng = random.Random(template)
    calls = [ARGUMENTS[4]] if template in ONE_CALL_ONLY else ARGUMENTS[1:5]
    text = written(template, calls)
    whole = gated(format_named(known), text)[:2]
    for cut in range(1, len(text)):
        assert gated(format_named(known), text, [cut])[:2] == whole
    for _ in range(20):
        assert gated(format_named(known), text, rng.choices(range(len(text)), k=30))[:2] == whole


def test_mutated_replies_make_no_call_out_of_nothing() -> None:
    """No exception either."""
    rng = random.Random(1)
    for known, text, called in replies(3_000, seed=1):
        check(known, text, called=called, rng=rng)
