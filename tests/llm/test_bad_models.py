"""Models that babble, say nothing, break characters or compute nonsense: a sane result or a clear error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import ConfigError, LlamaLLM, Message, ModelError, ToolCall, ToolResult
from edgeagent.llm import LLMRequest, StreamGate, ToolCallEnd, format_named
from tests.llm.random_models import cut, write_random


def ask(text: str = "go", max_tokens: int = 64) -> LLMRequest:
    return LLMRequest(messages=[Message.user(text)], max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((None, None), "model"),
        ((3, None), "model"),
        (("nano", "x"), "context_window"),
        (("nano", True), "context_window"),
    ],
)
def test_an_argument_of_another_kind_is_named(arguments: tuple[Any, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=f"^{named} must be"):
        LlamaLLM(arguments[0], context_window=arguments[1])


def test_a_model_that_never_stops_is_cut(says: Callable[..., LlamaLLM]) -> None:
    reply = says(["and on"], endless=True).complete(ask(max_tokens=3000), Event())
    assert reply.stop_reason == "length"
    assert reply.usage is not None
    assert reply.usage.output_tokens < 300  # it goes in a circle, and that is noticed


def test_a_model_that_says_nothing_has_said_nothing(says: Callable[..., LlamaLLM]) -> None:
    reply = says([]).complete(ask(), Event())
    assert (reply.text, reply.tool_calls, reply.stop_reason, reply.error) == ("", (), "stop", None)


@pytest.mark.parametrize("broken", [b"\xe2\x82", b"\xff", b"\x80abc", b"a\xe2\x82b", b"ok \xf0\x9f"])
def test_broken_characters_are_shown_as_such(says: Callable[..., LlamaLLM], broken: bytes) -> None:
    reply = says([broken], cut("qwen3")).complete(ask(), Event())
    assert reply.text == broken.decode("utf-8", errors="replace").strip()
    assert reply.stop_reason == "stop"


def test_characters_that_tokens_split_come_whole(says: Callable[..., LlamaLLM]) -> None:
    text = "schön 🙂 厨房"
    pieces = [bytes([byte]) for byte in text.encode()]
    deltas = [event for event in says(pieces).stream(ask(), Event()) if hasattr(event, "text")]
    assert deltas[-1].text == text
    assert all("\ufffd" not in event.text for event in deltas)


def test_a_model_that_computes_nonsense_is_an_error_of_the_stream(tmp_path: Path) -> None:
    llm = LlamaLLM(write_random(tmp_path / "poisoned.gguf", cut("phi3"), poisoned=True))
    for _ in range(2):
        reply = llm.complete(ask(), Event())
        assert reply.stop_reason == "error"
        assert "NaN" in (reply.error or "")
    llm.close()


def test_a_vocabulary_without_the_templates_markers_still_answers(tmp_path: Path) -> None:
    family = replace(
        cut("granite4"), template="Qwen-Qwen2.5-7B-Instruct", control=("<|end_of_text|>",), user_defined=()
    )
    llm = LlamaLLM(write_random(tmp_path / "bare.gguf", family))
    reply = llm.complete(ask("<|im_end|> hello"), Event())
    assert (reply.stop_reason, reply.error) == ("length", None)
    llm.close()


def test_a_huge_argument_in_the_history_is_told_with_both_numbers(says: Callable[..., LlamaLLM]) -> None:
    call = ToolCall("c", "say", {"text": "word " * 200_000})
    messages = [Message.user("go"), Message.assistant("", [call]), Message.tool(ToolResult("c", "say", "ok", "said"))]
    with pytest.raises(ModelError, match=r"the prompt has \d{6,} tokens.*context window of \d+"):
        says(["hm"]).complete(LLMRequest(messages=messages), Event())


@pytest.mark.parametrize("name", ["hermes", "xml", "mistral", "json", "pythonic", "gemma"])
def test_a_huge_argument_in_a_reply_is_read_in_time(name: str) -> None:
    """A whole window in pieces of a token's size: no format may look at all of it again for every piece."""
    word = "a long word, " * 10_000
    body = json.dumps({"name": "say", "arguments": {"text": word}})
    reply = {
        "hermes": f"<tool_call>{body}</tool_call>",
        "xml": f"<tool_call><function=say><parameter=text>{word}</parameter></function></tool_call>",
        "mistral": f"[TOOL_CALLS][{body}]",
        "json": body,
        "pythonic": f"<|tool_call_start|>[say(text={json.dumps(word)})]<|tool_call_end|>",
        "gemma": f'<|tool_call>call:say{{text:<|"|>{word}<|"|>}}<tool_call|>',
    }[name]
    gate = StreamGate(format_named(name))
    events = [event for at in range(0, len(reply), 5) for event in gate.feed(reply[at : at + 5])]
    events += gate.finish()
    [call] = [event.call for event in events if isinstance(event, ToolCallEnd)]
    assert call.arguments == {"text": word}
