"""Text leaves as soon as it can't be a call or reasoning, however the tokens split it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.llm import (
    CLOSES,
    HERMES,
    OPENS,
    LLMEvent,
    StreamGate,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
)

CALL = '<tool_call>{"name": "drive", "arguments": {"distance_m": 2}}</tool_call>'
STOP = '<tool_call>{"name": "stop", "arguments": {}}</tool_call>'


@dataclass
class Heard:
    """What a listener makes of the events."""

    text: str = ""
    thinking: str = ""
    text_end: str | None = None
    thinking_end: str | None = None
    calls: list[tuple[str, object]] = field(default_factory=list)

    def take(self, event: LLMEvent) -> None:
        match event:
            case TextDelta(piece):
                assert piece
                self.text += piece
            case ThinkingDelta(piece):
                assert piece
                self.thinking += piece
            case TextEnd(whole):
                self.text_end = whole
            case ThinkingEnd(whole):
                self.thinking_end = whole
            case ToolCallEnd(call):
                self.calls.append((call.name, call.arguments if call.raw is None else call.raw))


def hear(*pieces: str, thinking: bool = False, aborted: bool = False) -> Heard:
    gate = StreamGate(HERMES, thinking=thinking)
    heard = Heard()
    for piece in pieces:
        for event in gate.feed(piece):
            heard.take(event)
    for event in gate.finish(aborted=aborted):
        heard.take(event)
    assert gate.called == bool(heard.calls)
    return heard


def test_plain_text_leaves_at_once() -> None:
    gate = StreamGate(HERMES)
    for piece in ("I", " will", " drive", " <", "3", " you."):
        list(gate.feed(piece))
    assert list(gate.feed(" a")) == [TextDelta(" a")]
    assert list(gate.feed(" <tool")) == []
    assert list(gate.feed("s>")) == [TextDelta(" <tools>")]
    assert list(gate.finish()) == [TextEnd("I will drive <3 you. a <tools>")]


def test_text_around_calls() -> None:
    heard = hear(f"Sure.\n{CALL}\n{STOP}\nDone.")
    assert heard.text == heard.text_end == "Sure.\nDone."
    assert heard.calls == [("drive", {"distance_m": 2}), ("stop", {})]
    assert hear(f"Sure.{CALL}Done.").text == "Sure.\nDone."
    assert hear(f"\n{CALL}\n").text == ""


def test_a_call_comes_out_with_its_closing_marker() -> None:
    gate = StreamGate(HERMES)
    assert list(gate.feed(CALL[:-1])) == []
    [event] = gate.feed(">")
    assert isinstance(event, ToolCallEnd)


@pytest.mark.parametrize("rest", ['"}}</tool_call>', "}</tool_call>", "\n</tool_call>", '"}}</tool_call>}</tool_call>'])
def test_the_rest_of_a_call_that_ended_early_is_no_text(rest: str) -> None:
    assert hear(*f"{CALL}{rest}").text == ""
    assert hear(f"{CALL}{rest}", "Done.").text == "Done."
    assert hear(f"{CALL}{rest}{STOP}").calls == [("drive", {"distance_m": 2}), ("stop", {})]


def test_a_quotation_after_a_call_is_text() -> None:
    assert hear(*f'{CALL}"Done", as they say.').text == '"Done", as they say.'


def test_reasoning_is_kept_apart() -> None:
    heard = hear("<think>\nHm.\n</think>\n\nHello.")
    assert (heard.text, heard.thinking, heard.text_end, heard.thinking_end) == ("Hello.", "Hm.", "Hello.", "Hm.")


def test_reasoning_that_never_closes() -> None:
    heard = hear("Well. <think>Hm. Hello.")
    assert (heard.text, heard.thinking, heard.thinking_end) == ("Well.", "Hm. Hello.", "Hm. Hello.")


def test_reasoning_that_the_template_opened() -> None:
    heard = hear("Hm.</think>Hello.", thinking=True)
    assert (heard.text, heard.thinking) == ("Hello.", "Hm.")
    assert hear("Hm.", thinking=True).text_end is None


def test_a_close_without_an_open_says_what_the_text_was() -> None:
    heard = hear("Hm.", "</think>", "Hello.")
    assert (heard.text_end, heard.thinking_end) == ("Hello.", "Hm.")
    assert hear("Hm.", "</think>").text_end == ""


def test_a_second_close_is_nothing() -> None:
    assert hear("<think>Hm.</think>Hel</think>lo.").text_end == "Hello."


def test_calls_inside_reasoning_are_found_once() -> None:
    assert hear(f"<think>I do {CALL}").calls == [("drive", {"distance_m": 2})]
    assert hear(f"<think>I do {CALL} now</think>{CALL}").calls == [("drive", {"distance_m": 2})]
    assert [name for name, _ in hear(f"<think>{STOP}</think>{CALL}").calls] == ["stop", "drive"]


def test_reasoning_that_speaks_of_calls_holds_nothing_back() -> None:
    gate = StreamGate(HERMES)
    list(gate.feed("<think>I write <tool_call>, then {json"))
    events = list(gate.feed("}.</think>Hello"))
    assert events[-1] == TextDelta("Hello")
    assert hear("<think>like <tool_call>{x}</tool_call></think>Hi").calls == []


def test_an_aborted_reply_loses_what_was_held() -> None:
    heard = hear("Sure. <tool_call>{", aborted=True)
    assert (heard.text, heard.text_end, heard.calls) == ("Sure.", "Sure.", [])


def test_without_a_format_calls_are_text() -> None:
    gate = StreamGate(None)
    assert list(gate.feed(CALL)) == [TextDelta(CALL)]


@pytest.mark.parametrize(
    "prose",
    [
        "I will not call release()",
        'The JSON would be {"name": "drive", "arguments": {"distance_m": 2}}.',
        "Use drive(2) to drive. [drive(distance_m=2)]",
        "a < b > c <tool> </tool>",
        "<tool_call",
        "A call begins with <tool_call> and goes on.",
        "```json\n" + CALL[11:-12] + "\n```",
    ],
)
def test_prose_never_becomes_a_call(prose: str) -> None:
    heard = hear(prose)
    assert heard.calls == []
    assert heard.text == heard.text_end == prose


PIECES = st.sampled_from(
    [
        "Hello", " there", "\n", " ", "<", ">", "<t", "tool_call>", "<tool_call>", "</tool_call>", "<think>",
        "</think>", CALL, STOP, '{"name": "x"', "}", '"', "€", "</", "<tool_call>{", "<tool_call>\n{}\n</tool_call>",
    ]
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 200), max_size=20), st.booleans())
def test_any_split_gives_the_same_reply(pieces: list[str], cuts: list[int], thinking: bool) -> None:
    text = "".join(pieces)
    borders = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    split = [text[a:b] for a, b in pairwise(borders)]
    whole, letters, parts = (
        hear(text, thinking=thinking),
        hear(*text, thinking=thinking),
        hear(*split, thinking=thinking),
    )
    assert whole == letters == parts
    if whole.thinking_end is None or "</think>" not in text:
        assert (whole.text_end or "") == whole.text


@settings(max_examples=200)
@given(st.text(alphabet="ab <>/_|cdefghiklnot\n", max_size=60))
def test_text_without_markers_comes_out_whole_and_promptly(text: str) -> None:
    if re.search(r"</?tool_call>|</?think>|<\|channel>thought|<channel\|>", text):
        return
    gate, said = StreamGate(HERMES), ""
    for i, letter in enumerate(text):
        said += "".join(event.text for event in gate.feed(letter) if isinstance(event, TextDelta))
        seen = text[: i + 1]
        start = max(seen.rfind("<"), 0)
        held_back = seen[start:] if any(m.startswith(seen[start:]) for m in ("<tool_call>", *OPENS, *CLOSES)) else ""
        assert said == seen[: len(seen) - len(held_back)].strip()
    assert hear(text).text == text.strip()


@settings(max_examples=200)
@given(st.lists(st.sampled_from(["Hm", " so", "<think>", "</think>", "a<b"]), max_size=8))
def test_reasoning_is_what_a_whole_text_says_it_is(pieces: list[str]) -> None:
    text = "".join(pieces)
    said, thought, thinking = "", "", False
    if "</think>" in text and "<think>" not in text.partition("</think>")[0]:
        thought, _, text = text.partition("</think>")
    for part in re.split("(</?think>)", text):
        if part in ("<think>", "</think>"):
            thinking = part == "<think>"
        elif thinking:
            thought += part
        else:
            said += part
    heard = hear("".join(pieces))
    assert re.sub(r"\s", "", heard.text_end or "") == re.sub(r"\s", "", said)
    assert re.sub(r"\s", "", heard.thinking_end or "") == re.sub(r"\s", "", thought)
