"""Calls in a form that is not their model's own: what stands alone is called or hidden, and all other text is text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeagent import Message, ToolResult, tool
from edgeagent.llm import (
    HERMES,
    End,
    Error,
    LLMEvent,
    LLMRequest,
    StreamGate,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ToolCallEnd,
    ToolChoice,
    read_reply,
)
from edgeagent.messages import Reading, StopReason
from edgeagent.testing import call


@tool
def drive(distance_m: float) -> str:
    """Drive straight."""
    return "drove"


@tool
def stop() -> str:
    """Stop."""
    return "stopped"


DRIVE = '{"name": "drive", "arguments": {"distance_m": 2}}'
STOP = '{"name": "stop", "parameters": {}}'
UNKNOWN = '{"name": "fly", "arguments": {"height_m": 2}}'
MISFIT = '{"name": "drive", "arguments": {"distance_m": "far"}}'
DROVE: tuple[str, dict[str, Any]] = ("drive", {"distance_m": 2})
STOPPED: tuple[str, dict[str, Any]] = ("stop", {})


@dataclass(frozen=True)
class Read:
    """What became of a reply."""

    shown: str
    calls: list[tuple[str, dict[str, Any]]]
    outcome: str | None
    faults: tuple[str, ...] = ()
    end: End | None = None


def pieces_of(text: str, cuts: Sequence[int]) -> list[str]:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in pairwise(places)]


def read(
    text: str,
    *cuts: int,
    messages: Sequence[Message] = (),
    tool_choice: ToolChoice = "auto",
    reason: StopReason = "stop",
    before: Sequence[LLMEvent] = (),
) -> Read:
    """The reply as it is told, whose deltas end at these places."""
    request = LLMRequest(messages=messages, tools=[drive, stop], tool_choice=tool_choice)

    def stream() -> Iterator[LLMEvent]:
        yield from before
        for piece in pieces_of(text, cuts):
            yield TextDelta(piece)
        yield TextEnd(text)
        yield End(reason)

    events = list(read_reply(stream(), request))
    end = events[-1]
    assert isinstance(end, End)
    shown = "".join(event.text for event in events if isinstance(event, TextDelta))
    whole = [event.text.rstrip() for event in events if isinstance(event, TextEnd)][-1]
    assert whole == (shown.rstrip() if any(map(str.isalnum, shown)) or end.hidden is None else "")
    calls = [(event.call.name, event.call.arguments) for event in events if isinstance(event, ToolCallEnd)]
    outcome = None if end.hidden is None else end.hidden.outcome
    return Read(shown, calls, outcome, () if end.hidden is None else end.hidden.faults, end)


# --- what is called ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        DRIVE,
        f"\n{DRIVE}\n",
        json.dumps(json.loads(DRIVE), indent=2),
        DRIVE.replace('"', "'"),
        f"```json\n{DRIVE}\n```",
        f"```\n{DRIVE}\n```",
        f"```JSON {DRIVE}```",
        f"```json\n{DRIVE}",
        f"~~~json\n{DRIVE}\n~~~",
        f"````\n{DRIVE}\n````",
        f"[{DRIVE}]",
        f"<json>{DRIVE}</json>",
        f"<s>{DRIVE}</s>",
        f"<|im_start|>\n{DRIVE}\n<|im_end|>",
        f"{DRIVE}<|eot_id|>",
        f"```json\n{DRIVE}\n```<end_of_turn>\n",
        f"<tool_call>{DRIVE}</tool_call><|im_end|>",
        f"<|python_tag|>{DRIVE}",
        f"<tools>\n{DRIVE}\n</tools>",
        f"<tools>\n```json\n{DRIVE}\n```\n</tools>",
        f"{{{DRIVE}}}",
        f"{DRIVE}\n```",  # a fence that was never opened: Qwen2.5-Coder 1.5B
        f"{{{DRIVE}}}\n```\n",
        f"{{{DRIVE}}}}}",
        '{{"name": "drive", "arguments": {{"distance_m": 2}}}}',
        '{"name": "drive", "parameters": {"distance_m": 2}}',
        '{"type": "function", "id": "1", "name": "drive", "arguments": {"distance_m": 2}}',
        f'{{"type": "function", "function": {DRIVE}}}',
        '{"name": "drive", "arguments": "{\\"distance_m\\": 2}"}',
        f"<tool_call>{DRIVE}</tool_call>",
        f"[TOOL_CALLS][{DRIVE}]",
        f"<|tool_call|>[{DRIVE}]",
        "<|tool_call_start|>[drive(distance_m=2)]<|tool_call_end|>",
        "<start_function_call>call:drive{distance_m:2}<end_function_call>",
        "[drive(distance_m=2)]",
        "[ drive(\n  distance_m = 2,\n) ]\n",
    ],
)
def test_a_call_that_stands_alone_is_called_in_any_form(text: str) -> None:
    told = read(text, 3, 11, 40)
    assert (told.calls, told.shown, told.outcome) == ([DROVE], "", "called")
    assert told.end is not None
    assert told.end.stop_reason == "tool_calls"


@pytest.mark.parametrize(
    "text",
    [
        f"{DRIVE}\n{STOP}",
        f"{DRIVE}, {STOP}",
        f"{DRIVE};{STOP}",
        f"[{DRIVE}, {STOP}]",
        f"```json\n{DRIVE}\n{STOP}\n```",
        f"```json\n[\n{DRIVE},\n{STOP}\n]\n```",
        f"<tools>{DRIVE}\n{STOP}</tools>",
        f"{{{DRIVE}}}\n{{{STOP}}}",
        f"<tool_call>{DRIVE}</tool_call>\n<tool_call>{STOP}</tool_call>",
        "[drive(distance_m=2), stop()]",
        "[drive(distance_m=2)]\n[stop()]",
    ],
)
def test_several_calls_are_called_in_their_order(text: str) -> None:
    assert read(text).calls == [DROVE, STOPPED]


XML_CALL = "<function=drive>\n<parameter=distance_m>\n2\n</parameter>\n</function>"
"""As Qwen3-Coder and Qwen 3.5 write it, between the markers of Hermes."""


@pytest.mark.parametrize("text", [XML_CALL, f"<tool_call>\n{XML_CALL}\n</tool_call>", f"<tool_call>{XML_CALL}"])
def test_a_call_of_another_family_in_xml_is_coerced_by_its_tool(text: str) -> None:
    for size in (1, 3, 1000):
        told = read(text, *range(0, len(text), size))
        assert (told.shown, told.calls) == ("", [("drive", {"distance_m": "2"})])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_model_with_another_template_may_call_in_xml(size: int) -> None:
    text = f"<tool_call>\n{XML_CALL}\n</tool_call>\n<tool_call>\n{XML_CALL}\n</tool_call>"
    gate = StreamGate(HERMES)

    def stream() -> Iterator[LLMEvent]:
        for at in range(0, len(text), size):
            yield from gate.feed(text[at : at + size])
        yield from gate.finish()
        yield End("stop")

    events = list(read_reply(stream(), LLMRequest(tools=[drive])))
    assert [event.call.arguments for event in events if isinstance(event, ToolCallEnd)] == [{"distance_m": "2"}] * 2
    assert not any(isinstance(event, TextDelta) for event in events)


# --- what is not ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (UNKNOWN, "unknown"),
        (f"{DRIVE}\n{UNKNOWN}", "unknown"),
        (DRIVE.replace("drive", "Drive"), "unknown"),
        ('{"name": "", "arguments": {}}', "unknown"),
        ('{"function": "drive", "arguments": {"distance_m": 2}}', "unknown"),
        ('{"tool": "drive", "distance_m": 2}', "unknown"),
        ('{"drive": {"distance_m": 2}}', "unknown"),
        ('{"arguments": {"distance_m": 2}}', "unknown"),
        (f"<tool_call>{UNKNOWN}</tool_call>", "unknown"),
        ("[fly(height_m=2)]", "unknown"),
        ("[stop(), fly()]", "unknown"),
        ("[drive(2)]", "misfit"),
        ('[drive(distance_m="far")]', "misfit"),
        ("[drive(distance_m=2", "misfit"),
        (MISFIT, "misfit"),
        (f"{STOP}\n{MISFIT}", "misfit"),
        ('{"name": "stop"}', "misfit"),
        ('{"name": "drive", "arguments": [2]}', "misfit"),
        ('{"name": "drive", "arguments": {"distance_m": 2}, "description": "Drive"}', "misfit"),
        ('{"name": "drive", "arguments": {"distance_m": 2}, "parameters": {"distance_m": 2}}', "misfit"),
        ('{"name": "drive", "description": "Drive.", "parameters": {"type": "object", "properties": {}}}', "misfit"),
        (DRIVE[:-1], "misfit"),
        (DRIVE[:-9], "misfit"),
        (f"```json\n{DRIVE[:-1]}\n```", "misfit"),
        (f"```json\n{DRIVE} // two metres\n```", "misfit"),
        (f"[{DRIVE}, 5]", "misfit"),
        (f'{DRIVE}, "required": ["distance_m"], "type": "object"}}}}', "misfit"),
        (f'{DRIVE},\n"required": ["distance_m"],\n"type": "object"\n}}', "misfit"),
        (f"{DRIVE}}}}}", "misfit"),
        (f'{DRIVE}, "requ', "misfit"),
    ],
)
def test_one_that_fails_hides_them_all(text: str, outcome: str) -> None:
    told = read(text, 2, 9, 30)
    assert (told.calls, told.shown, told.outcome) == ([], "", outcome)
    assert told.end is not None
    assert told.end.hidden is not None
    assert told.end.hidden.raw == text
    assert told.end.stop_reason == "stop"


def test_a_misfit_says_of_each_call_why() -> None:
    told = read(f"{STOP}\n{MISFIT}")
    assert told.faults == ("", 'distance_m: should be a number, not "far"')


def test_an_unknown_name_is_told_also_where_no_tool_could_have_it() -> None:
    told = read('{"name": "good night", "arguments": {}}')
    assert told.end is not None
    assert told.end.hidden is not None
    assert told.end.hidden.why == "no tool that may be called has the name 'good night'"


def test_where_no_tool_may_be_called_every_name_is_unknown() -> None:
    assert read(DRIVE, tool_choice="none").outcome == "unknown"


@pytest.mark.parametrize(
    "messages",
    [
        [Message.user(f"Say exactly {DRIVE}")],
        [Message.user(f"{DRIVE}"), Message.assistant("no"), Message.user("do what I wrote")],
        [Message.user("what says the sign?"), Message.tool(ToolResult("c", "look", "ok", f"a sign: {DRIVE}"))],
        [Message.user("read it"), Message.tool(ToolResult("c", "look", "ok", f'{{"sign": {{"text": [{DRIVE}]}}}}'))],
        [Message.user('run {"arguments": {"distance_m": 2}, "name": "drive", "id": 7}')],
    ],
)
def test_what_a_person_or_a_tool_has_said_is_not_called_because_a_model_repeats_it(messages: list[Message]) -> None:
    told = read(DRIVE, messages=messages)
    assert (told.calls, told.shown, told.outcome) == ([], "", "unknown")


def test_other_calls_than_those_that_were_said_count() -> None:
    said = [Message.user(f"not {DRIVE.replace('2', '3')} but 2")]
    before = [Message.user("look"), Message.tool(ToolResult("c", "look", "ok", DRIVE)), Message.assistant("a sign")]
    assert read(DRIVE, messages=said).calls == [DROVE]
    assert read(DRIVE, messages=[*before, Message.user("drive 2 m")]).calls == [DROVE]


def test_after_a_call_in_the_models_own_format_nothing_else_counts() -> None:
    told = read(STOP, before=[ToolCallEnd(call("drive", distance_m=2))])
    assert (told.calls, told.shown, told.outcome) == ([DROVE], "", "dropped")


@pytest.mark.parametrize("text", [DRIVE, UNKNOWN, MISFIT, f"Sure.\n{DRIVE}", "Good night!", '{"temperature": 21}'])
def test_what_was_read_once_is_not_changed_by_reading_it_again(text: str) -> None:
    request = LLMRequest(tools=[drive, stop])
    stream: list[LLMEvent] = [TextDelta(text), TextEnd(text), End("stop", reading=Reading("prompt", text))]
    once = list(read_reply(stream, request))
    assert list(read_reply(once, request)) == once


def test_every_part_says_what_it_made_of_the_reply() -> None:
    request = LLMRequest(tools=[drive, stop])
    said: list[list[str]] = []
    for text in ("Good night!", f"```json\n{MISFIT}\n```"):
        *_, end = read_reply([TextDelta(text), End("stop", reading=Reading("prompt", text))], request)
        assert isinstance(end, End)
        assert end.reading is not None
        said.append([f"{step.part}: {step.verdict}" for step in end.reading.steps])
    assert said == [
        ["the model's own format: no call", "another form: no call stands alone in it"],
        [
            "the model's own format: no call",
            'another form: JSON in a fence: drive: distance_m: should be a number, not "far"',
        ],
    ]


def test_a_reply_of_a_schema_is_left_alone() -> None:
    request = LLMRequest(tools=[drive], response_schema={"type": "object"})
    events: list[LLMEvent] = [TextDelta(DRIVE), TextEnd(DRIVE), End("stop")]
    assert list(read_reply(events, request)) == events


@pytest.mark.parametrize("last", [End("aborted"), End("error"), Error("llama.cpp failed")])
@pytest.mark.parametrize("ends", [[], [TextEnd(DRIVE[:10])]], ids=["open", "with its whole text"])
def test_a_reply_that_is_cut_off_loses_what_was_held(ends: list[LLMEvent], last: LLMEvent) -> None:
    events: list[LLMEvent] = [TextDelta(DRIVE[:10]), *ends, last]
    assert list(read_reply(events, LLMRequest(tools=[drive]))) == [last]


def test_a_reply_that_is_cut_off_keeps_what_was_told() -> None:
    events: list[LLMEvent] = [TextDelta("I drive."), TextEnd("I drive."), End("aborted")]
    assert list(read_reply(events, LLMRequest(tools=[drive]))) == events


def test_thinking_passes_while_text_is_held() -> None:
    told = list(read_reply([TextDelta('{"na'), ThinkingDelta("hm"), End("stop")], LLMRequest(tools=[drive])))
    assert told[:2] == [ThinkingDelta("hm"), TextDelta('{"na')]


# --- what is text ---------------------------------------------------------------------------------------------------

CALLS = st.sampled_from([DRIVE, STOP, UNKNOWN, MISFIT, f"[{DRIVE}, {STOP}]", json.dumps(json.loads(DRIVE), indent=2)])
CUTS = st.lists(st.integers(0, 400), max_size=12)
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "Po", "Zs"]), min_size=1).filter(
    lambda text: text.strip() and not any(mark in text for mark in "{[`<\n") and text.strip()[0].isalpha()
)
EXAMPLES = st.one_of(
    st.builds("{} {} {}".format, WORDS, CALLS, WORDS),  # inside a sentence
    st.builds("{} `{}`".format, WORDS, CALLS),
    st.builds('I will not call "{}".'.format, CALLS),
    st.builds("- {}\n- {}".format, CALLS, WORDS),
    st.builds("1. {}".format, CALLS),
    st.builds("> {}".format, CALLS),
    st.builds("| {} |".format, CALLS),
    st.builds("```python\ncall = {}\n```".format, CALLS),
    st.builds("```python\n{}\n```".format, CALLS),
    st.builds("```json5\n{}\n```".format, CALLS),
    st.builds('"{}"'.format, CALLS),
    st.builds("({})".format, CALLS),
    st.builds("drive(distance_m=2) # {}".format, WORDS),
    st.builds("{} [drive(distance_m=2)]".format, WORDS),
    st.builds("- [drive(distance_m=2)]\n{}".format, WORDS),
    st.builds("{}\n{}".format, WORDS, CALLS),
    st.builds("{}\n```json\n{}\n```\n{}".format, WORDS, CALLS, WORDS),
    st.builds("{}\n{}".format, CALLS, WORDS),
    st.builds("```json\n{}\n```\n{}".format, CALLS, WORDS),
    st.builds("<tools>{}</tools> {}".format, CALLS, WORDS),
    st.builds("<tool_call>{}</tool_call>\n{}".format, CALLS, WORDS),
)


@given(EXAMPLES, CUTS)
@example(f"I will not call {DRIVE}", [])
@example(f"First {DRIVE}, then {STOP}.", [7])
def test_prose_examples_code_lists_and_quotations_call_nothing(text: str, cuts: list[int]) -> None:
    told = read(text, *cuts)
    assert told.calls == []
    says = any(map(str.isalnum, told.shown))
    assert told.outcome in ((None, "dropped") if says else ("unknown",))


@given(WORDS, CUTS)
def test_prose_is_told_as_it_is(text: str, cuts: list[int]) -> None:
    assert read(text, *cuts).shown == text


MARKED = re.compile(r"<\S|\[/?[A-Z]|```tool")
"""Marks of templates begin so; Hypothesis takes them from the package's own sources, and a mark alone is not told."""


@given(st.text(max_size=200).filter(lambda text: not MARKED.search(text)), CUTS)
def test_whatever_has_no_call_is_told_whole(text: str, cuts: list[int]) -> None:
    assert read(text, *cuts).shown == text


PARTS = (
    *DRIVE,
    *"\n `~{}[]<>\"'(",
    *("```json", "```python\n", "~~~", "<tools>", "</s>", "<|im_end|>", "<json>", "[TOOL_CALLS]"),
    *("[drive(", "distance_m=2", ")]", "[stop()]", "[fly(a=1)]"),
    *(DRIVE, "word"),
)


@given(st.lists(st.sampled_from(PARTS), max_size=40), CUTS, st.sampled_from(["stop", "length"]))
@example(["}", "\n", "\n", "{"], [1, 2, 3], "length")
def test_how_tokens_split_a_reply_makes_no_difference(parts: list[str], cuts: list[int], reason: StopReason) -> None:
    text = "".join(parts)
    whole, split = read(text, reason=reason), read(text, *cuts, reason=reason)
    assert (split.calls, split.outcome) == (whole.calls, whole.outcome)
    assert split.shown == whole.shown


BLOCKS = st.one_of(
    CALLS,
    st.builds("{{{}}}".format, CALLS),
    st.builds("```json\n{}\n```".format, CALLS),
    st.builds("```\n{}\n```".format, CALLS),
    st.builds("<tools>\n{}\n</tools>".format, CALLS),
    st.builds("<|python_tag|>{}".format, CALLS),
    st.builds("<tool_call>{}</tool_call>".format, CALLS),
    st.builds("{}\n{}".format, CALLS, CALLS),
    st.builds(lambda text, less: text[:-less], CALLS, st.integers(1, 5)),
)


@given(st.lists(WORDS.filter(lambda text: "argum" not in text), max_size=2), BLOCKS, CUTS, st.booleans())
def test_what_has_the_shape_of_a_call_is_never_told_however_tokens_split_it(
    prose: list[str], block: str, cuts: list[int], first: bool
) -> None:
    text = "\n".join([block, *prose] if first else [*prose, block])
    told = read(text, *cuts)
    assert "{" not in told.shown
    assert "arguments" not in told.shown


@given(
    CALLS.filter(lambda text: "{" in text[:2]),
    st.integers(2, 200),
    st.sampled_from(["", "{", '"', ",", ":"]),
    CUTS,
)
def test_a_call_that_is_written_wrong_is_never_told(call: str, at: int, instead: str, cuts: list[int]) -> None:
    """One sign is lost, or another stands in its place."""
    signs = [place for place, letter in enumerate(call) if letter in '{}[]:,"' and place > 2]
    place = signs[at % len(signs)]
    text = call[:place] + instead + call[place + 1 :]
    told = read(text, *cuts)
    assert "{" not in told.shown
    assert "arguments" not in told.shown


# --- a reply that ends at its limit of tokens -------------------------------------------------------------------------

FORMS = (
    DRIVE,
    f"[{DRIVE}]",
    f"{{{{{DRIVE[1:-1]}}}}}",
    f"```json\n{DRIVE}\n```",
    f"<tools>\n{DRIVE}\n</tools>",
    f"<|python_tag|>{DRIVE}",
    f"<tool_call>\n{DRIVE}\n</tool_call>",
    f"<tool_call>\n{XML_CALL}\n</tool_call>",
    XML_CALL,
    f"[TOOL_CALLS][{DRIVE}]",
    '[TOOL_CALLS]drive[ARGS]{"distance_m": 2}',
    f"<|tool_call|>[{DRIVE}]",
    "<|tool_call_start|>[drive(distance_m=2)]<|tool_call_end|>",
    "<|tool_call>call:drive{distance_m:2}<tool_call|>",
    "<start_function_call>call:drive{distance_m:2}<end_function_call>",
    "[drive(distance_m=2)]",
    "[stop(), drive(distance_m=2)]",
    '{"tool": "drive", "distance_m": 2}',
    '{"drive": {"distance_m": 2}}',
)


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("prose", ["", "I will.\n"])
@pytest.mark.parametrize("form", FORMS)
def test_no_beginning_of_a_call_is_told_where_a_reply_is_cut(form: str, prose: str, size: int) -> None:
    for length in range(1, len(form) + 1):
        text = prose + form[:length]
        told = read(text, *range(0, len(text), size), reason="length")
        assert told.shown.strip() == prose.strip()
        assert told.outcome is not None
        assert told.end is not None
        assert told.end.stop_reason == "length"
        assert told.end.hidden is not None
        assert told.end.hidden.raw == text


@pytest.mark.parametrize("rest", ["\n</tool_c", "\n<tool_call", "\n<", "</"])
def test_the_beginning_of_a_mark_behind_a_call_is_no_reply_of_its_own(rest: str) -> None:
    told = read(f"<tool_call>{DRIVE}</tool_call>{rest}", reason="length")
    assert (told.shown, told.calls, told.outcome) == ("", [DROVE], "called")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (text, text)
        for text in [
            "He said `",
            'He said "',
            "Go on (",
            "See [1",
            "[1, 2",
            "[laughs] No. [lau",
            "a < b",
            '{"temperature": 21, "hum',
            '[{"id": 1, "name": "Kit',
            '```json\n{"rooms": ["kit',
        ]
    ]
    + [("I have [", "I have"), ("a < b and c <", "a < b and c"), ("x = {", "x =")],
)
def test_prose_and_data_that_are_cut_lose_at_most_a_bracket(text: str, shown: str) -> None:
    assert read(text, *range(len(text)), reason="length").shown == shown


@given(WORDS, CUTS)
def test_prose_that_is_cut_is_told_as_it_is(text: str, cuts: list[int]) -> None:
    told = read(text, *cuts, reason="length")
    assert (told.shown, told.outcome) == (text, None)


# --- calls inside a sentence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"The correct call should be {DRIVE}.", "The correct call should be."),  # Qwen2.5-Coder 1.5B
        (f"First {DRIVE}, then {STOP}.", "First, then."),
        (f"I would say `{DRIVE}` now.", "I would say now."),
        (f'I will not call "{DRIVE}".', "I will not call."),
        (f"It is the last one ({UNKNOWN}).", "It is the last one."),
        (f"I call [{DRIVE}, {STOP}] at once.", "I call at once."),
        (f"I call {{{DRIVE}}} at once.", "I call at once."),
        (f"I call <tool_call>{DRIVE}</tool_call> at once.", "I call at once."),
        (f"I drive: {DRIVE}\nGood night!", "I drive:\nGood night!"),
        (f"I drive: {json.dumps(json.loads(DRIVE), indent=2)} now", "I drive: now"),
        (f"I drive: {DRIVE[:-1]}", "I drive:"),
        ("I write [drive(distance_m=2)] now.", "I write now."),
        ("I write [stop()].", "I write."),
        ("I write [drive(distance_m=2\nGood night!", "I write\nGood night!"),
        ('I fly: {"name": "fly", "argum', "I fly:"),
        ('I fly: {"name": "fly"', "I fly:"),
        ('I drive: {"arguments": {"distance_m": 2}} now', "I drive: now"),
        ('I drive: {"tool": "drive", "distance_m": 2} now', "I drive: now"),
        ('My plan is {"steps": [{"name": "drive", "arguments": {}}], "why": "you asked"}.', "My plan is."),
        (f"```python\ncall = {DRIVE}\nprint(call)\n```", "```python\ncall =\nprint(call)\n```"),
    ],
)
def test_a_call_inside_a_sentence_is_hidden_and_the_sentence_told(text: str, shown: str) -> None:
    told = read(text, 5, 30, 31, 60)
    assert (told.shown, told.calls, told.outcome) == (shown, [], "dropped")


@pytest.mark.parametrize(
    "text", [f'"{DRIVE}"', f"`{DRIVE}`.", f"- {DRIVE}", f"> {MISFIT}", f"({DRIVE[:-1]}", f"👍 {DRIVE}", f"👍\n{DRIVE}"]
)
def test_a_reply_that_says_no_word_beside_a_call_is_asked_for_words(text: str) -> None:
    told = read(text, 1, 2, 20)
    assert (told.calls, told.outcome) == ([], "unknown")


@pytest.mark.parametrize("language", ["python", "javascript", "c++", "JSON5", "tool_call"])
@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_a_call_in_code_is_neither_told_nor_called(language: str, fence: str) -> None:
    for size in (1, 4, 1000):
        text = f"{fence}{language}\n{DRIVE}\n{fence}"
        told = read(text, *range(0, len(text), size))
        assert (told.shown, told.calls, told.outcome) == ("", [], "unknown")


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize(
    "text",
    [
        "drive(2)",
        'drive({"distance_m": 2})',
        "drive(distance_m=2)",
        "stop();",
        "  stop()",
        "stop()\n",
        "drive(2)\nstop()",
        "drive(2);stop()",
        "drive(2); robot.stop();",
        "print(drive(2), 1)",
        "print(drive(2), drive(3))",
        "print(drive(2))",
        "await drive(2)",
        "robot.drive(2)",
        "print(await self.robot.drive(2))",
        "result = drive(2)",
        "`drive(2)`",
        "asyncio.run(robot.drive(2));",
        "```python\ndrive(2)\n```",
        "```\ndrive(2)\n```",
        "```drive(2)```",
        "~~~py\nimport robot\n\n# go\nrobot.drive(2)  # two metres (forward)\nprint(stop())",
    ],
)
def test_a_line_of_code_that_calls_a_tool_is_neither_told_nor_called(text: str, size: int) -> None:
    told = read(text, *range(0, len(text), size))
    assert (told.shown.strip(), told.calls, told.outcome) == ("", [], "misfit")


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize(
    "text",
    [
        *("drive", "stop (now)", "drives(2)", "fly(2)", "st", "drive(2) is how it is written"),
        "drive();" * 5000,
        *("drive(2); that drives me", "drive(2); fly(3)", "print(drive(2), 1) is how it is written"),
        *("drive(2) drives me two metres (forward).", "Sure!\ndrive(2)", "drive(2\nstop)", f"drive({'x' * 310})"),
        *("print(2)", "print(drives(2))", "robot.fly(2)", "robot.drive is a method", "await the end (soon)", "`drive`"),
        *("result = 4", "return to base (now)", "print(drive(2)) is how it is written", 'print("drive(2)")'),
        *("```python\nfly(2)\n```", "```python\nimport robot\n```", "```python\nx = 2\ndrive(x)\n```"),
        f"```python\n{'# more ' * 50}\ndrive(2)\n```",
    ],
)
def test_what_is_more_or_less_than_a_line_of_code_is_told(text: str, size: int) -> None:
    assert read(text, *range(0, len(text), size)).shown == text


def test_prose_that_begins_with_a_tools_name_does_not_wait() -> None:
    text = "stop(ping) is a game that people play"
    told = []
    for event in read_reply([*map(TextDelta, text), End("aborted")], LLMRequest(tools=[drive, stop])):
        told += [event.text] if isinstance(event, TextDelta) else []
    assert len(told) > len(text) / 2
    assert "".join(told) == text


def test_the_mark_of_a_turn_alone_is_no_reply() -> None:
    assert (read("<|im_end|>").shown, read("<|im_end|>").outcome) == ("", "unknown")


@pytest.mark.parametrize(
    "text", ["It is <s>old</s> new.", "~5 m", "~~so~~ no", "```python\nx = [1]\n```", "~~~\nno\n~~~"]
)
def test_marks_and_fences_around_text_are_told(text: str) -> None:
    for size in (1, 1000):
        told = read(text, *range(0, len(text), size))
        assert (told.shown, told.outcome) == (text, None)


OPENING = st.sampled_from([" ", " `", ' "', " (", ": ", ", "])
CLOSING = st.sampled_from([*'."`), ', ""])
SENTENCES = st.builds("{}{}{}{}{}".format, WORDS, OPENING, CALLS, CLOSING, WORDS)


@given(st.lists(SENTENCES, min_size=1, max_size=3).map(" ".join), CUTS)
def test_no_sentence_shows_a_call_however_tokens_split_it(text: str, cuts: list[int]) -> None:
    told, whole = read(text, *cuts), read(text)
    assert (told.shown, told.outcome) == (whole.shown, whole.outcome)
    assert told.calls == []
    assert not any("arguments" in found or "parameters" in found for found in objects_in(told.shown))
    assert not re.search(r'"(?:name|arguments|parameters)"', told.shown)


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand anywhere in a text."""
    for at, letter in enumerate(text):
        if letter == "{":
            with suppress(ValueError):
                yield json.JSONDecoder().raw_decode(text, at)[0]


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8), CALLS.map(json.loads)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=8,
)


@given(WORDS, VALUES, WORDS, CUTS)
def test_no_data_in_a_sentence_shows_a_call_that_stands_in_it(
    before: str, value: Any, after: str, cuts: list[int]
) -> None:
    text = f"{before} {json.dumps(value)} {after}"
    told = read(text, *cuts)
    assert told.shown == read(text).shown
    assert not any(found.keys() & {"arguments", "parameters"} for found in objects_in(told.shown))


@pytest.mark.parametrize(
    "text",
    [
        "Use {name} as a placeholder.",
        'Use "{}" or {} or `{0}`.',
        "The set {1, 2} is {x: x > 0}: all of it.",
        r"That is \frac{1 \text{ mile}}{1 \text{ hour}}.",
        'It is {"temperature": 21} now.',
        '{"name": "Bob", "age": 3} is Bob.',
        "I (or [you]) write a[0] < b, c['name'] and c[\"arguments\"].",
        "She said \"no\" and 'never'.",
        "See {a: b " + "and so on " * 40,
        '{"a": {"b": [1, {"c": "the name of the arguments"}]}} is data.',
    ],
)
def test_braces_that_call_nothing_are_told(text: str) -> None:
    told = read(text, 4, 8, 15)
    assert (told.shown, told.calls, told.outcome) == (text, [], None)


def test_prose_after_a_brace_that_never_closes_waits_for_a_while_only() -> None:
    text = "I mean {a: b" + " and so on" * 100
    told = ""
    for i, piece in enumerate(pieces_of(text, range(0, len(text), 5))):
        reply = read_reply([TextDelta(text[: 5 * i]), TextDelta(piece), End("aborted")], LLMRequest(tools=[drive]))
        told = "".join(event.text for event in reply if isinstance(event, TextDelta))
        assert len(told) > 5 * i - 320
    assert len(told) == len(text)


def test_prose_does_not_wait() -> None:
    """Every piece leaves with its delta, also where a line begins."""
    pieces = [
        "Sure",
        ", I",
        " will.",
        "\n\n",
        "- one",
        "\n",
        "2. two {x}",
        " and [y]",
        " `z`",
        "\n",
        "[1]:",
        " a",
        "\n",
        "Done.",
    ]

    def stream() -> Iterator[LLMEvent]:
        for i, piece in enumerate(pieces):
            assert told.strip() == "".join(pieces[:i]).strip()
            yield TextDelta(piece)
        yield End("stop")

    told = ""
    for event in read_reply(stream(), LLMRequest(tools=[drive])):
        if isinstance(event, TextDelta):
            told += event.text
    assert told == "".join(pieces)


@pytest.mark.parametrize(
    "text",
    [
        '{"temperature": 21}',
        '{"name": "Bob", "age": 3}',
        '```json\n{"rooms": ["kitchen"]}\n```',
        "[1, 2, 3]",
        '{"a": 1} is what I know.',
        "[laughs] No.",
        "[drive carefully] No.",
        "[drive (slowly)] No.",
        "[drive(slowly)] No.",
        "[drive] is a word.",
        "[see(2)] No.",
        "[sin(x), cos(x)]",
        "[f(2), g(3)]",
        "[drive](https://example.com) is a link.",
        "The list [f(a=1), g(b=2)] is code.",
        "[f(a=1) for a in b]",
        "{smile} Hello.",
    ],
)
def test_json_that_is_no_call_is_told(text: str) -> None:
    told = read(text, 4, 8)
    assert (told.shown, told.calls, told.outcome) == (text, [], None)


def test_a_call_before_prose_is_hidden_and_the_prose_told() -> None:
    assert read(f"```json\n{UNKNOWN}\n```\nGood night!").shown == "Good night!"
    assert read(f"Good night!\n{DRIVE}").shown == "Good night!\n"
    assert read(f'{DRIVE}\n"Good night," it said.', 3, 60, 70).shown == '"Good night," it said.'
    assert read(f'{DRIVE}, "b": 1}}\n\nGood night!', 3, 60, 70).shown == "Good night!"
    to_show = f"To show it, you can call `drive`:\n\n```json\n{DRIVE}\n```\n\nThis drives."
    assert read(to_show, 30, 50).shown.split() == "To show it, you can call `drive`: This drives.".split()


# --- braces that are mentioned, and data that look like calls ---------------------------------------------------------


@pytest.mark.parametrize("size", range(1, 8))
@pytest.mark.parametrize(
    "begins",
    [
        'He typed "{" once and went on',
        'say\n{"a quotation',
        "say\n{a: b",
        'Begin with {"name": and then',
        "I (or [1, 2",
    ],
)
def test_prose_after_a_brace_waits_for_a_while_only_however_small_its_pieces(begins: str, size: int) -> None:
    text = begins + " and went on" * 130
    told, fed = "", 0

    def stream() -> Iterator[LLMEvent]:
        nonlocal fed
        for at in range(0, len(text), size):
            assert len(told) > fed - 320
            fed = at + size
            yield TextDelta(text[at:fed])
        yield End("stop")

    for event in read_reply(stream(), LLMRequest(tools=[drive, stop])):
        told += event.text if isinstance(event, TextDelta) else ""
    assert told == text


LONG = f'{{"name": "drive", "arguments": {{"distance_m": "{"far " * 100}"}}}}'


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (text, text)
        for text in [
            'To make one, begin with {"name": and then put the value. After that you close the brace.',
            'Begin with {"type" or {"name" or {"arguments", as you like.\nThen go on.',
            'It is {"name": and so on} in words. Good night!',
            'A colon follows {"a": 1}: that "is" all.',
            'The config is {"mcpServers": {"fs": {"command": "npx", "args": ["-y"]}}}',
            '{"mcpServers": {"fs": {"command": "npx", "args": ["-y"]}}}',
            'Your launch.json: {"type": "node", "args": ["--x"]} is right.',
            'The log says [{"id": 3, "action": "stop", "at": "12:00"}] for noon.',
            '{"params": {"id": 3}}',
        ]
    ]
    + [
        (f"It is {DRIVE}: a call. Good night!", "It is: a call. Good night!"),
        (f'It is {DRIVE} "for you". Good night!', 'It is "for you". Good night!'),
        (f"It is {DRIVE[:-1]}\nGood night!", "It is\nGood night!"),
        (f"It is {DRIVE[:-1]} and" + " so on" * 100, "It is" + (f"{DRIVE[:-1]} and" + " so on" * 100)[300:]),
        ('It is {"name": "fly", "arguments": {"a": 1\nGood night!', "It is\nGood night!"),
        ('It is {\n  "name": "drive",\n  "arguments": {\n    "distance_m": 2\nGood night!', "It is\nGood night!"),
        ('It is {"drive" and so on.\nGood night!', "It is\nGood night!"),
        (f'It is {{"a" or\n{DRIVE}\nGood night!', "It is\nGood night!"),
        (f'It is {{"a": 1}} {{"b" or {DRIVE} now', 'It is {"a": 1}'),
        (f'It is {LONG} {{"b" or "c"}} now', 'It is {"b" or "c"} now'),
        ('It is {"steps": [{"tool": "drive", "args": {"distance_m": 2}}]} now.', "It is now."),
        ('It is {"command": "drive", "args": [2]} now.', "It is now."),
        ('It is {"a": {"action": "drive", "distance_m": 2, "why": "so"}} now.', "It is now."),
        ('It is {"action": "stop"} now.', "It is now."),
        ('It is {"thought": "so", "action": "stop", "action_input": {}} now.', "It is now."),
        ('It is\n{"thought": "' + "so " * 150 + '", "name": "stop", "arguments": {}}\nnow.', "It is\n\nnow."),
    ],
)
def test_a_brace_in_a_sentence_eats_no_answer_and_shows_no_call(text: str, shown: str, size: int) -> None:
    told = read(text, *range(0, len(text), size))
    assert (told.shown, told.calls, told.outcome) == (shown, [], None if shown == text else "dropped")


@pytest.mark.parametrize(
    "ends", [[End("aborted")], [Error("broke")], [TextEnd("I am "), End("aborted")], OSError("broke")]
)
def test_of_a_reply_that_was_cut_off_every_blank_is_told(ends: list[LLMEvent] | OSError) -> None:
    def events() -> Iterator[LLMEvent]:
        yield TextDelta("I am ")
        if isinstance(ends, OSError):
            raise ends
        yield from ends

    told: list[LLMEvent] = []
    with suppress(OSError):
        told.extend(read_reply(events(), LLMRequest(messages=[Message("user", "go")], tools=[drive, stop])))
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == "I am "
    assert [event.text for event in told if isinstance(event, TextEnd)] in ([], ["I am "])
    assert not told or not isinstance(told[-1], TextDelta) or isinstance(ends, OSError)
