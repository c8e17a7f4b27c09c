"""The engine on real models of others, where they are on the disk: ``edgeagent models pull`` brings them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import Agent, LlamaLLM, Message, Options, events, tool
from edgeagent.errors import ModelError
from edgeagent.llm import End, LLMRequest, ToolCallEnd
from edgeagent.messages import ToolCall, ToolResult

pytestmark = pytest.mark.timeout(600)  # half a billion weights on a slow machine
MODELS = ("smollm2-135m", "qwen2.5-coder-0.5b")


@pytest.fixture(scope="module", params=MODELS)
def mind(request: pytest.FixtureRequest, pulled_models: Path) -> Iterator[LlamaLLM]:
    try:
        llm = LlamaLLM(request.param)
    except ModelError as error:
        pytest.skip(f"not run: {error}")
    yield llm
    llm.close()


@tool
def lower_blind(window: str, percent: int) -> str:
    """Lower the blind of a window.

    Args:
        window: Name of the window.
        percent: 0 is open, 100 is closed.
    """
    return f"The blind of the {window} is at {percent}."


@tool(read_only=True)
def wind_speed() -> str:
    """Wind outside, in metres a second."""
    return "7.5 metres a second"


TOOLS = (lower_blind, wind_speed)
SYSTEM = "You look after the blinds of a house."


def ask(said: str, **options: Any) -> LLMRequest:
    messages = [Message.user(said)]
    return LLMRequest(**{"system": SYSTEM, "messages": messages, "tools": TOOLS, "max_tokens": 8, **options})


def test_the_same_prompt_gets_the_same_reply_with_and_without_its_prefix(mind: LlamaLLM) -> None:
    talk = LLMRequest(system=SYSTEM, messages=[Message.user("Good morning!")], max_tokens=12)
    first = mind.complete(talk, Event())
    again = mind.complete(talk, Event())
    assert mind.stats.reused_tokens >= mind.stats.prompt_tokens - 1
    assert again.text == first.text != ""


def test_tools_are_evaluated_once(mind: LlamaLLM) -> None:
    mind.complete(ask("Good morning!"), Event())
    mind.complete(ask("Is it stormy?"), Event())
    assert mind.stats.evaluated_tokens < mind.stats.prompt_tokens / 4


def test_a_required_call_fits_its_tool(mind: LlamaLLM) -> None:
    request = ask("Close the blind of the kitchen window.", tool_choice="required", max_tokens=48)
    first = next(event.call for event in mind.stream(request, Event()) if isinstance(event, ToolCallEnd))
    assert first.raw is None
    called = {known.name: known for known in TOOLS}[first.name]
    called.signature.validate(first.arguments)


def test_a_reply_obeys_a_schema(mind: LlamaLLM) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": 20}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    request = LLMRequest(messages=[Message.user("Say hello.")], max_tokens=64, response_schema=schema)
    assert json.loads(mind.complete(request, Event()).text).keys() == {"answer"}


def test_it_stops_inside_a_prompt_and_answers_the_next(mind: LlamaLLM) -> None:
    expected = mind.complete(ask("Good morning!"), Event()).text
    stop = Event()
    long = LLMRequest(messages=[Message.user("a storm is coming. " * 400)], max_tokens=8)
    threading.Timer(0.2, stop.set).start()
    *_, end = mind.stream(long, stop)
    assert isinstance(end, End)
    assert end.stop_reason == "aborted"
    assert mind.stats.evaluated_tokens < mind.stats.prompt_tokens
    assert mind.complete(ask("Good morning!"), Event()).text == expected


def test_a_run_shows_no_json(mind: LlamaLLM) -> None:
    shown: list[str] = []
    agent = Agent("blinds", SYSTEM, llm=mind, tools=TOOLS, options=Options(max_tokens=32, max_turns=2))
    agent.subscribe(lambda event: shown.append(event.delta) if isinstance(event, events.MessageUpdate) else None)
    for said in ("Lower the blind of the bedroom to forty percent.", "Good night!"):
        result = agent.run(said)
        assert not any(sign in f"{''.join(shown)} {result.reply}" for sign in ('"name"', '"arguments"', "<tool"))


@pytest.mark.parametrize("mind", ["qwen2.5-coder-0.5b"], indirect=True)
def test_a_second_command_is_called_for_as_the_first_is(mind: LlamaLLM) -> None:
    call = ToolCall("call_1", "lower_blind", {"window": "kitchen", "percent": 50})
    before = [
        Message.user("Lower the blind of the kitchen to 50 percent."),
        Message.assistant("", [call]),
        Message.tool(ToolResult(call.id, call.name, "ok", "The blind of the kitchen is at 50.")),
        Message.assistant("The blind of the kitchen is at 50 percent."),
    ]
    request = ask("Now lower the blind of the bedroom to 80 percent.", max_tokens=60)
    request = replace(request, messages=[*before, *request.messages])
    calls = [event.call for event in mind.stream(request, Event()) if isinstance(event, ToolCallEnd)]
    assert [(one.name, one.arguments) for one in calls] == [("lower_blind", {"window": "bedroom", "percent": 80})]
