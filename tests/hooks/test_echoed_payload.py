"""A reply that only repeats a result becomes plain words; any other reply stays as it is."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent import Message, ToolCall, ToolResult
from edgeagent.context import AgentContext
from edgeagent.hooks import AfterLLM, EchoedPayloadHook, FirePoint, HookChain
from edgeagent.testing import call

BATTERY = '{"battery_percent": 80, "charging": false, "since": null}'
WORDS = "Battery percent: 80, charging: no, since: nothing."


def reply_to(text: str, *results: str, calls: tuple[ToolCall, ...] = ()) -> str:
    """What becomes of a reply after these results of ``battery(unit="percent")``."""
    history = [Message.user("how full is it")]
    for i, result in enumerate(results):
        made = ToolCall(f"c{i}", "battery", {"unit": "percent"})
        history += [Message.assistant("", [made]), Message.tool(ToolResult(made.id, made.name, "ok", result))]
    chain = HookChain([EchoedPayloadHook()], AgentContext(history=lambda: tuple(history)))
    after: str = chain.fire(FirePoint.AFTER_LLM, AfterLLM(text, calls, 2)).payload.text
    return after


@pytest.mark.parametrize(
    "echo",
    [
        BATTERY,
        f"  {BATTERY}\n",
        json.dumps(json.loads(BATTERY), indent=2),
        '{"charging":false,"since":null,"battery_percent":80}',
        f"```json\n{BATTERY}\n```",
        f"```\n{BATTERY}\n```",
        f"<tool_response>\n{BATTERY}\n</tool_response>",
    ],
)
def test_an_object_that_is_echoed_becomes_words(echo: str) -> None:
    assert reply_to(echo, BATTERY) == WORDS


@pytest.mark.parametrize(
    "echo",
    [
        '{"name": "battery", "arguments": {"unit": "percent"}}',
        '<tool_call>\n{"name": "battery", "arguments": {"unit": "percent"}}\n</tool_call>',
        '{"function": "battery", "parameters": {"unit": "percent"}}',
        '{"unit": "percent"}',
    ],
)
def test_the_call_as_a_reply_becomes_its_result(echo: str) -> None:
    assert reply_to(echo, BATTERY) == WORDS


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ('["kitchen", "hall"]', "Kitchen, hall."),
        ('{"rooms": ["hall"], "robot": {"x": 1.5, "on": true}}', "Rooms: hall, robot: x: 1.5, on: yes."),
        ('{"error": "no such room!"}', "Error: no such room!"),
        ("{}", "Nothing."),
        ('"arrived"', "arrived"),
        ("{battery: 80}", "battery: 80"),
    ],
)
def test_what_a_result_becomes(result: str, words: str) -> None:
    assert reply_to(result, result) == words


@pytest.mark.parametrize("text", ["drove forward 2 m", "Drove  forward 2 m.", "80"])
def test_a_result_that_is_a_sentence_already_is_left_alone(text: str) -> None:
    assert reply_to(text, "drove forward 2 m", "80") == text


def test_a_sentence_in_a_code_fence_loses_the_fence() -> None:
    assert reply_to("```\ndrove forward 2 m\n```", "drove forward 2 m") == "drove forward 2 m"


def test_the_warning_of_the_repetition_guard_is_no_part_of_the_payload() -> None:
    assert reply_to(BATTERY, f"{BATTERY}\nWarning: battery was called again.") == WORDS


def test_an_older_result_of_the_same_request_counts_too() -> None:
    assert reply_to(BATTERY, BATTERY, "drove") == WORDS


@pytest.mark.parametrize(
    "text", ["It is 80 % full.", f"The battery says {BATTERY}", "", '{"battery_percent": 79}', "{"]
)
def test_another_reply_stays(text: str) -> None:
    assert reply_to(text, BATTERY) == text


def test_a_reply_with_calls_is_never_changed() -> None:
    assert reply_to(BATTERY, BATTERY, calls=(call("battery"),)) == BATTERY


def test_results_of_an_earlier_request_do_not_count() -> None:
    history = (
        Message.user("how full is it"),
        Message.assistant("", [ToolCall("c", "battery")]),
        Message.tool(ToolResult("c", "battery", "ok", BATTERY)),
        Message.assistant("full"),
        Message.user("write me that as JSON"),
    )
    chain = HookChain([EchoedPayloadHook()], AgentContext(history=lambda: history))
    assert chain.fire(FirePoint.AFTER_LLM, AfterLLM(BATTERY, (), 1)).payload.text == BATTERY


def test_the_text_waits_for_it() -> None:
    assert HookChain([EchoedPayloadHook()], AgentContext()).holds()


@pytest.mark.parametrize("begun", ["", " ", "{", "```json", "<tool_resp", '"', "battery", "Battery at 80"])
def test_it_holds_a_reply_that_may_become_an_echo(begun: str) -> None:
    assert held(begun, "battery at 80 percent")


@pytest.mark.parametrize("begun", ["It", "Battery is", "The battery"])
def test_it_lets_go_a_reply_that_is_no_echo_any_more(begun: str) -> None:
    assert not held(begun, "battery at 80 percent")


def test_a_reply_without_results_is_told_from_its_first_word_on() -> None:
    history = (Message.user("hello"),)
    assert not HookChain([EchoedPayloadHook()], AgentContext(history=lambda: history)).holds("Hello")


@given(st.text(max_size=40), st.integers(0, 40))
def test_what_it_has_let_go_it_leaves_alone(result: str, length: int) -> None:
    chain, whole = chain_after(result), result.swapcase()
    if not chain.holds(whole[:length]):
        assert chain.fire(FirePoint.AFTER_LLM, AfterLLM(whole, (), 1)).payload.text == whole


def held(begun: str, result: str) -> bool:
    return chain_after(result).holds(begun)


def chain_after(result: str) -> HookChain:
    history = (
        Message.user("how full is it"),
        Message.assistant("", [ToolCall("c", "battery")]),
        Message.tool(ToolResult("c", "battery", "ok", result)),
    )
    return HookChain([EchoedPayloadHook()], AgentContext(history=lambda: history))
