"""Marks of templates in a reply: a result that a model writes itself is neither told nor taken for one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import Agent, LlamaLLM, Message, ToolResult, tool
from edgeagent.llm import HERMES, End, LLMEvent, LLMRequest, StreamGate, TextDelta, ToolCallEnd, read_reply
from edgeagent.testing import ScriptedLLM, call
from tests.llm.recorded_replies import robot

RECORDED: Final = json.loads(
    (Path(__file__).resolve().parents[1] / "fixtures" / "replies_with_marks.json").read_text(encoding="utf-8")
)
"""Replies of real models with marks in them, as ``scripts/bench minds`` kept them, with what tools had told before."""
MARK: Final = re.compile(r"</?\|?(?:tool|function)[_\w]*\|?>|\[/?TOOL_|<\|python_tag|```tool_")
OPENERS: Final = (
    "<tool_response>",
    '<tool_response name="wetness">',
    "<tool_result>",
    "<tool_output>",
    "<function_response>",
    "<|tool_response>",
    "<|tool_response_start|>",
    "<start_function_response>",
    "<|observation|>",
    "<\uff5ctool\u2581outputs\u2581begin\uff5c>",
    "[TOOL_RESULTS]",
    "```tool_response\n",
    "```tool_output\n",
    "<|python_tag|>",
)
TAGS: Final = (
    "<tool_call>",
    "</tool_call>",
    "</tool_response>",
    "</tools>",
    "[TOOL_CALLS]",
    "</function>",
    "<tool_made>",
)
WORDS: Final = st.from_regex(r"[a-z]{1,9}( [a-z]{1,9}){0,5}[.!]", fullmatch=True)
CUTS: Final = st.lists(st.integers(0, 200), max_size=12)


@tool(read_only=True)
def wetness(bed: int) -> str:
    """Tell how wet a bed is."""
    return "Bed 2 is 40 % wet."


CALL: Final = '{"name": "wetness", "arguments": {"bed": 2}}'
ASKED: Final = [Message.user("How wet is bed 2?")]
TOLD: Final = [
    *ASKED,
    Message.assistant("", (call("wetness", bed=2),)),
    Message.tool(ToolResult("call", "wetness", "ok", "Bed 2 is 40 % wet.")),
]


def read(raw: str, cuts: Sequence[int] = (), messages: Sequence[Message] = ASKED, tools: Any = (wetness,)) -> Any:
    """The text that is told, the calls, and the end of a reply whose pieces end at these places."""
    enough = Event()

    def stream() -> Iterator[LLMEvent]:
        gate = StreamGate(HERMES)
        places = sorted({0, len(raw), *(cut % (len(raw) + 1) for cut in cuts)})
        for a, b in pairwise(places):
            yield from gate.feed(raw[a:b])
            if enough.is_set():
                break
        yield from gate.finish()
        yield End("tool_calls" if gate.called else "stop")

    events = list(read_reply(stream(), LLMRequest(messages=messages, tools=tools), enough))
    told = "".join(event.text for event in events if isinstance(event, TextDelta))
    calls = [(event.call.name, event.call.arguments) for event in events if isinstance(event, ToolCallEnd)]
    return told, calls, events[-1]


@given(WORDS, st.sampled_from(OPENERS), WORDS, st.sampled_from(["", " ", "\n"]), CUTS)
def test_of_a_result_that_a_model_makes_up_nothing_is_told(
    before: str, opener: str, made_up: str, between: str, cuts: list[int]
) -> None:
    between = "\n" if opener.startswith("`") else between  # a fence begins its line
    told, calls, end = read(f"{before}{between}{opener}\n{made_up}\n</tool_response>\n{made_up}", cuts)
    assert told.rstrip() == before
    assert calls == []
    assert end.hidden.outcome == "dropped"


@given(st.sampled_from(OPENERS), WORDS, CUTS)
def test_a_reply_that_is_a_made_up_result_alone_is_asked_for_words(opener: str, made_up: str, cuts: list[int]) -> None:
    for messages in (ASKED, TOLD):
        told, calls, end = read(f"{opener}{made_up}", cuts, messages)
        assert (told, calls, end.hidden.outcome) == ("", [], "unknown")


@given(st.sampled_from(OPENERS[:-1]), WORDS, st.sampled_from(["{}", "<tool_call>{}</tool_call>"]), CUTS)
def test_the_call_before_a_made_up_result_counts(opener: str, made_up: str, form: str, cuts: list[int]) -> None:
    told, calls, _ = read(f"{form.format(CALL)}\n{opener}{made_up}", cuts)
    assert (told, calls) == ("", [("wetness", {"bed": 2})])


def test_a_call_that_is_not_closed_ends_where_its_made_up_result_begins() -> None:
    for cuts in ((), range(200)):
        assert read(f"<tool_call>{CALL}\n<tool_response>90 %", cuts)[:2] == ("", [("wetness", {"bed": 2})])


@given(WORDS, st.sampled_from(TAGS), WORDS, CUTS)
def test_a_tag_of_a_call_is_left_out_of_prose(before: str, tag: str, after: str, cuts: list[int]) -> None:
    told, calls, _ = read(f"{before} {tag} {after}", cuts)
    assert told.split() == f"{before} {after}".split()
    assert calls == []


@given(CUTS)
def test_a_result_that_a_tool_gave_is_told_without_its_marks(cuts: list[int]) -> None:
    for raw in ("<tool_response>\nBed 2 is 40 % wet.\n</tool_response>", f"{CALL}\n<tool_response>Bed 2 is 40 % wet."):
        told, calls, _ = read(raw, cuts, TOLD)
        assert (told, calls) == ("Bed 2 is 40 % wet.", [])
    assert read("<tool_response>Bed 2 is 90 % wet.</tool_response> So it is.", cuts, TOLD)[0] == ""


@pytest.mark.parametrize("text", ["a < b", "<b>so</b> [1]", "the tool <", "x <too", "see [T", "a ` b", "<t", "1 <2> 3"])
def test_what_only_begins_like_a_mark_is_told(text: str) -> None:
    for cuts in ((), tuple(range(len(text)))):
        assert read(text, cuts)[0] == text


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{row['model']}-{row['case']}")
@pytest.mark.parametrize("size", [3, 5000])
def test_no_real_reply_shows_a_mark(row: dict[str, Any], size: int) -> None:
    results = [Message.tool(ToolResult("call", "some", "ok", text)) for text in row["results"]]
    raw = row["raw"]
    told, _, _ = read(raw, range(0, len(raw), size), [Message.user("Go."), *results], list(robot(row["robot"]).tools))
    assert not MARK.search(told)
    assert not results or told == row["results"][0]


def test_an_agent_neither_shows_a_made_up_result_nor_goes_on_from_it() -> None:
    llm = ScriptedLLM("<tool_response>Bed 2 is 90 % wet.</tool_response>", "I have not measured that.")
    result = Agent("toy", llm=llm, tools=[wetness]).run("How wet is bed 2?")
    assert result.reply == "I have not measured that."
    assert not any(message.role == "tool" for message in llm.requests[-1].messages)


def test_a_generation_ends_at_a_made_up_result(says: Callable[..., LlamaLLM]) -> None:
    llm = says(["It is wet. <tool_response> one two three four five six seven eight nine ten"])
    request = LLMRequest(messages=ASKED, tools=[wetness], max_tokens=200)
    *_, end = llm.stream(request, Event())
    assert isinstance(end, End)
    assert end.reading is not None
    assert "three" not in end.reading.raw
    assert end.stop_reason == "stop"
