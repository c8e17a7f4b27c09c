"""Models made by hand say exactly what they were made to say, with real vocabularies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest

from edgeagent import LlamaLLM, Message
from edgeagent.llm import LLMRequest
from tests.llm.random_models import cut
from tests.llm.scripted_models import write_scripted

SPEECH = "I go, and you go, and they go: 1.5 m, 1.5 m and 1.5 m. Schön, 你好 🙂!"


def ask(llm: LlamaLLM, text: str = "Hello", *, max_tokens: int = 128, thinking: str | None = None) -> Message:
    request = LLMRequest(messages=[Message.user(text)], max_tokens=max_tokens, thinking_level=thinking)
    return llm.complete(request, Event())


@pytest.mark.parametrize("family", ["qwen3", "llama3.2", "phi3", "mistral", "granite4", "lfm2"])
def test_it_says_a_text_whose_words_come_again_and_ends(family: str, says: Callable[..., LlamaLLM]) -> None:
    whole = family in ("mistral", "granite4")
    reply = ask(says([SPEECH], family if whole else cut(family)))
    assert (reply.text.strip(), reply.stop_reason) == (SPEECH, "stop")


def test_it_calls_a_tool_after_a_prompt_of_any_length(says: Callable[..., LlamaLLM]) -> None:
    llm = says(['<tool_call>\n{"name": "drive", "arguments": {"x": 1.5, "y": 1.5, "z": -1.5}}\n</tool_call>'])
    for words, thinking in ((1, "off"), (1, "high"), (2000, "off")):
        reply = ask(llm, "go " * words, thinking=thinking)
        (call,) = reply.tool_calls
        assert (call.name, call.arguments) == ("drive", {"x": 1.5, "y": 1.5, "z": -1.5})
        assert (reply.text, reply.stop_reason) == ("", "tool_calls")


def test_it_answers_nothing(says: Callable[..., LlamaLLM]) -> None:
    reply = ask(says([]))
    assert (reply.text, reply.stop_reason, reply.usage.output_tokens) == ("", "stop", 0)


@pytest.mark.parametrize("family", ["mistral", "granite4"])
def test_it_says_bytes_that_are_no_utf8(family: str, says: Callable[..., LlamaLLM]) -> None:
    reply = ask(says(["Hello", b"\x80\xe2\x82", "again", b"\xe2\x82\xac"], cut(family)))
    assert reply.text.strip().replace(" ", "") == "Hello\ufffd\ufffdagain€"


def test_a_test_decides_where_tokens_begin(says: Callable[..., LlamaLLM]) -> None:
    assert ask(says(["Hello"], "granite4")).usage.output_tokens == 1
    assert ask(says(["H", "e", "l", "l", "o"], "granite4")).usage.output_tokens == 5


def test_it_never_ends_when_it_is_endless(says: Callable[..., LlamaLLM]) -> None:
    reply = ask(says(list("abcb"), endless=True), max_tokens=40)
    assert (reply.text.strip(), reply.stop_reason) == ("abcb" * 10, "length")


def test_a_script_that_it_could_not_follow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="goes on in two ways"):
        write_scripted(tmp_path / "model.gguf", ["a"] * 30 + ["b"])
