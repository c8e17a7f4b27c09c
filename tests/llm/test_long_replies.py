"""Reading of a reply that stays half open: the work grows as its length does, however small its pieces are."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest

from edgeagent import Message, tool
from edgeagent.llm import HERMES, CallFormat, End, LLMEvent, LLMRequest, StreamGate, TextDelta, format_named, read_reply

SHORT, LONG = 2_000, 8_000
MOST: Final = 1.4
"""Times the share of the lengths that the work may grow by; a reader that looks at everything again does four times."""
PIECE: Final = 4
WORDS: Final = "the (red) {cube} > [x] at `home` "
NUMBERS: Final = '{"a": [1, 2]}, '


@tool
def note(text: str) -> str:
    """Note a text."""
    return text


def read(raw: str, known: CallFormat, said: str = "") -> Iterator[LLMEvent]:
    def stream() -> Iterator[LLMEvent]:
        gate = StreamGate(known)
        for at in range(0, len(raw), PIECE):
            yield from gate.feed(raw[at : at + PIECE])
        yield from gate.finish()
        yield End("tool_calls" if gate.called else "stop")

    yield from read_reply(stream(), LLMRequest(tools=[note], messages=[Message.user(said)]))


def work(raw: str, known: CallFormat, said: str = "") -> int:
    """Count the functions that are entered until a reply to what was said is read, those of C included."""
    entered = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for _ in read(raw, known, said):
            pass
    finally:
        sys.setprofile(before)
    return entered


@pytest.mark.parametrize(
    ("form", "begins", "goes_on"),
    [
        ("hermes", '{"name": "note", "arguments": {"text": "', WORDS),
        ("hermes", '{"name": "note", "arguments": {"text": [', NUMBERS),
        ("hermes", '```json\n{"name": "note", "arguments": {"text": "', WORDS),
        ("hermes", "", '{"name": "note", "arguments": {"text": "x"}}\n'),
        ("hermes", 'Look: {"name": "note", "arguments": {"text": "', WORDS),
        ("hermes", '{"rows": [', NUMBERS),
        ("hermes", '<tool_call>{"name": "note", "arguments": {"text": "', "</tool_call> "),
        ("hermes", '<think><tool_call>{"name": "note", "arguments": {"text": "', WORDS),
        ("xml", "<tool_call>\n<function=note>\n<parameter=text>\n", WORDS),
        ("mistral", '[TOOL_CALLS][{"name": "note", "arguments": {"text": [', NUMBERS),
        ("llama3", '{"name": "note", "parameters": {"text": [', NUMBERS),
        ("pythonic", "[note(text=[", NUMBERS),
    ],
)
def test_the_work_for_a_call_that_never_closes_grows_as_it_does(form: str, begins: str, goes_on: str) -> None:
    short, long = ((begins + goes_on * (size // len(goes_on)))[:size] for size in (SHORT, LONG))
    known = format_named(form)
    assert work(long, known) / work(short, known) < MOST * LONG / SHORT


@pytest.mark.parametrize(
    ("part", "close"), [("{ ", ""), ('{"name": "note", ', ""), ('{\\"', ""), ("\\{", ""), ('{"a": ', "}"), ("{ ", "}")]
)
def test_the_work_for_a_call_grows_as_what_was_said_does(part: str, close: str) -> None:
    call = '{"name": "note", "arguments": {"text": "x"}}'
    counts = (size // len(part + close) for size in (SHORT, LONG))
    short, long = (work(call, HERMES, f"note {part * count}1{close * count}") for count in counts)
    assert long / short < MOST * LONG / SHORT


@pytest.mark.parametrize("around", ["{}", '{{"a": [{{"b": {}}}]}}', "C:\\{{ {}", 'He said "{}" once'])
def test_a_call_that_was_said_is_not_made_wherever_it_stands_in_what_was_said(around: str) -> None:
    call = '{"name": "note", "arguments": {"text": "x"}}'
    *_, end = read(call, HERMES, around.format(call))
    assert isinstance(end, End)
    *_, made = read(call, HERMES, "note it")
    assert isinstance(made, End)
    assert (made.stop_reason, end.stop_reason) == ("tool_calls", "stop")


@pytest.mark.parametrize("known", [HERMES, format_named("llama3")])
def test_a_long_call_is_made_whatever_its_pieces(known: CallFormat) -> None:
    text = WORDS * 100
    raw = f'{{"name": "note", "arguments": {{"text": "{text}"}}}}'
    *_, end = read(raw, known)
    assert isinstance(end, End)
    assert end.stop_reason == "tool_calls"


def test_prose_after_long_json_is_told_before_the_reply_ends() -> None:
    data = '{"rows": [' + NUMBERS * 300 + "1]}\n\n"
    told = [event.text for event in read(data + WORDS * 40, HERMES) if isinstance(event, TextDelta)]
    assert len(told[-1]) < len(WORDS * 40) / 2
