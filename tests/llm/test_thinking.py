"""Reasoning is told apart from what is said, whichever model wrote it and however it is marked."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from edgeagent import Agent, tool
from edgeagent.llm import End, Error, TextDelta, TextEnd, ThinkingDelta, ThinkingEnd, drain, thinking_apart
from edgeagent.testing import ScriptedLLM, call

REPLIES = [
    ("<think>hm</think>yes", "hm", "yes"),
    ("<think>\nhm, so\n</think>\n\nyes it is", "hm, so", "yes it is"),
    (" \n<think>hm</think> yes", "hm", "yes"),
    ("hm</think>yes", "hm", "yes"),
    ("hm, so\n</think>\n\nyes", "hm, so", "yes"),
    ("<think>hm, and so on", "hm, and so on", ""),
    ("[THINK]hm[/THINK]yes", "hm", "yes"),
    ("<|channel>thought hm<channel|>yes", "hm", "yes"),
    ("<think>hm</think>yes <think>or not</think>no", "hmor not", "yes no"),
    ("<think></think>yes", "", "yes"),
    ("  kept as it is \n", "", "  kept as it is \n"),
    ("2 < 3, [sic] and <b>", "", "2 < 3, [sic] and <b>"),
    ("ends with <", "", "ends with <"),
]


@pytest.mark.parametrize(("written", "thought", "said"), REPLIES)
def test_the_reply_is_what_was_said(written: str, thought: str, said: str) -> None:
    result = Agent("a", llm=ScriptedLLM(written)).run("so?")
    assert (result.reply, result.messages[-1].text, result.messages[-1].thinking) == (said, said, thought)


@pytest.mark.parametrize("told", [False, True], ids=["untold", "told"])
@pytest.mark.parametrize(("written", "thought", "said"), REPLIES)
def test_however_it_is_split_and_whether_or_not_its_end_is_told(
    written: str, thought: str, said: str, told: bool
) -> None:
    places = range(1, len(written))
    even = [places[step - 1 :: step] for step in (1, 2, 3, 5)]
    for cuts in [(), *combinations(places, 1), *combinations(places, 2), *even]:
        pieces = [TextDelta(written[start:end]) for start, end in pairwise([0, *cuts, len(written)])]
        made = drain(thinking_apart([*pieces, *([TextEnd(written)] if told else []), End("stop")]))
        assert (made.text, made.thinking) == (said, thought), cuts


def test_what_streams_is_never_reasoning_once_its_opening_marker_was_seen() -> None:
    handle = Agent("a", llm=ScriptedLLM("<think>one two three</think>yes it is")).start("so?")
    updates = [event for event in handle.events() if event.kind == "message_update"]
    text = "".join(event.delta for event in updates if event.channel == "text")
    assert text == "yes it is"
    assert "".join(event.delta for event in updates if event.channel == "thinking") == "one two three"
    assert all("think>" not in event.message.text + event.message.thinking for event in updates)


def test_after_a_closing_marker_alone_the_updates_have_what_is_right() -> None:
    handle = Agent("a", llm=ScriptedLLM("one two </think>yes it is")).start("so?")
    last = [event.message for event in handle.events() if event.kind == "message_update"][-1]
    assert (last.text, last.thinking) == ("yes it is", "one two")


def test_reasoning_that_the_model_told_apart_stays_before_what_stood_in_its_text() -> None:
    events = [ThinkingDelta("first"), ThinkingEnd("first"), TextDelta("<think> then</think>yes"), End("stop")]
    made = drain(thinking_apart(events))
    assert (made.text, made.thinking) == ("yes", "firstthen")


def test_calls_after_reasoning_run_and_the_reasoning_is_not_sent_back() -> None:
    @tool(read_only=True)
    def look() -> str:
        """Looks."""
        return "a wall"

    llm = ScriptedLLM({"text": "<think>I should look</think>", "calls": [call("look")]}, "a wall")
    result = Agent("a", llm=llm, tools=[look]).run("what is there?")
    assert result.reply == "a wall"
    assert all("look</think>" not in message.text for message in llm.requests[1].messages)


def test_what_a_failed_stream_held_back_is_dropped() -> None:
    made = drain(thinking_apart([TextDelta("one <thi"), Error("boom")]))
    assert (made.text, made.error) == ("one ", "boom")
