"""A model of the protocol on the real engine: streams, limits, sampling, figures, closing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from edgeagent import LLM, LlamaLLM, Message, ModelError
from edgeagent.llm import (
    End,
    EngineSettings,
    LLMRequest,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallEnd,
)
from edgeagent.testing import ScriptedLLM

DRIVE = '{"name": "drive", "arguments": {"distance_m": 2}}'


def ask(text: str = "hi", **options: Any) -> LLMRequest:
    return LLMRequest(messages=[Message.user(text)], **options)


def test_it_is_an_llm_with_the_signatures_of_the_protocol(babble: LlamaLLM) -> None:
    assert isinstance(babble, LLM)
    assert babble.name == "babble"
    assert babble.context_window == 4096
    for method in ("stream", "complete", "tokenize", "count_tokens", "close"):
        mine, scripted, protocol = (inspect.signature(getattr(x, method)) for x in (LlamaLLM, ScriptedLLM, LLM))
        assert list(mine.parameters) == list(scripted.parameters) == list(protocol.parameters)


def test_a_reply_with_text_and_a_call(scripted: Callable[..., LlamaLLM], spec: type[Any]) -> None:
    llm = scripted("Sure", ".", "<tool_call>", DRIVE, "</tool_call>")
    events = list(llm.stream(ask(tools=[spec()]), Event()))
    assert events[:2] == [TextDelta("Sure"), TextDelta(".")]
    [call] = [event.call for event in events if isinstance(event, ToolCallEnd)]
    assert (call.name, call.arguments, call.raw) == ("drive", {"distance_m": 2}, None)
    assert call.id.startswith("call_")
    assert TextEnd("Sure.") in events
    last = events[-1]
    assert isinstance(last, End)
    assert last.stop_reason == "tool_calls"
    assert last.usage.output_tokens == 5
    assert last.usage.input_tokens == llm.count_tokens(ask(tools=[spec()]))


def test_a_broken_call_comes_as_text_for_the_loop_to_refuse(scripted: Callable[..., LlamaLLM]) -> None:
    message = scripted("<tool_call>", '{"name": "drive", "arg', "</tool_call>").complete(ask(), Event())
    [call] = message.tool_calls
    assert (call.name, call.arguments, call.raw) == ("drive", {}, '{"name": "drive", "arg')


def test_tool_choice_none_makes_no_call_of_it(scripted: Callable[..., LlamaLLM], spec: type[Any]) -> None:
    llm = scripted("Sure", ".", "<tool_call>", DRIVE, "</tool_call>")
    message = llm.complete(ask(tools=[spec()], tool_choice="none"), Event())
    assert (message.text, message.tool_calls, message.stop_reason) == ("Sure.", (), "stop")
    assert llm.count_tokens(ask(tools=[spec()], tool_choice="none")) == llm.count_tokens(ask(tools=[spec()]))


@pytest.mark.parametrize("tools", [0, 1])
def test_a_call_that_may_not_be_made_is_hidden(scripted: Callable[..., LlamaLLM], spec: type[Any], tools: int) -> None:
    request = ask(tools=[spec()] * tools, tool_choice="none")
    *events, end = scripted("<tool_call>", DRIVE, "</tool_call>", call_gate=0).stream(request, Event())
    assert isinstance(end, End)
    assert end.hidden is not None
    assert (end.hidden.outcome, end.hidden.raw) == ("unknown", f"<tool_call>{DRIVE}</tool_call>")
    assert [event for event in events if event != TextEnd("")] == []


def test_reasoning_is_streamed_apart(scripted: Callable[..., LlamaLLM]) -> None:
    events = list(scripted("<think>", "Hm", "</think>", "Hello").stream(ask(), Event()))
    assert events[:3] == [ThinkingDelta("Hm"), ThinkingEnd("Hm"), TextDelta("Hello")]


def test_reasoning_that_the_template_opens(scripted: Callable[..., LlamaLLM]) -> None:
    template = "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>\n{% endfor %}<think>{{ '\n' }}"
    message = scripted("Hm", "</think>", "Hello", template=template).complete(ask(), Event())
    assert (message.thinking, message.text) == ("Hm", "Hello")


def test_a_switch_for_reasoning_is_off_unless_it_is_asked_for(scripted: Callable[..., LlamaLLM]) -> None:
    llm = scripted("a", template="{{ 'think' if enable_thinking else 'no' }}{% for m in messages %}{% endfor %}\n\n")
    assert llm.count_tokens(ask()) < llm.count_tokens(ask(thinking_level="high"))
    assert llm.count_tokens(ask()) == llm.count_tokens(ask(thinking_level="off"))


def test_max_tokens_ends_a_model_that_never_stops(babble: LlamaLLM) -> None:
    for count in (1, 7, 30):
        message = babble.complete(ask(max_tokens=count), Event())
        assert message.stop_reason == "length"
        assert message.usage is not None
        assert message.usage.output_tokens == count


def test_a_call_that_max_tokens_cut_is_not_lost_and_cannot_run(scripted: Callable[..., LlamaLLM]) -> None:
    message = scripted("<tool_call>", '{"name": "drive", "ar').complete(ask(max_tokens=2), Event())
    assert message.stop_reason == "length"
    assert [call.raw for call in message.tool_calls] == ['{"name": "drive", "ar']


def test_a_prompt_that_does_not_fit_says_both_numbers(babble: LlamaLLM) -> None:
    request = ask("hello " * 3000, max_tokens=100)
    tokens = babble.count_tokens(request)
    with pytest.raises(ModelError, match=rf"{tokens}.* 100 .*4096"):
        babble.complete(request, Event())
    fitting = 4096 - babble.count_tokens(ask())
    assert babble.complete(ask(max_tokens=20), Event()).stop_reason == "length"
    with pytest.raises(ModelError, match="does not fit"):
        babble.complete(ask(max_tokens=fitting + 1), Event())


def test_the_window_can_be_filled_to_its_last_token(write: Callable[..., Path]) -> None:
    llm = LlamaLLM(write(trained=512))
    room = 512 - llm.count_tokens(ask())
    message = llm.complete(ask(max_tokens=room, temperature=1.0), Event())
    assert message.usage is not None
    assert message.usage.output_tokens == room
    llm.close()


def test_greedy_is_the_default_and_always_the_same(babble_file: Path) -> None:
    replies = set()
    for seed in (1, 2, None):
        llm = LlamaLLM(babble_file, seed=seed)
        replies |= {llm.complete(ask(max_tokens=20), Event()).text for _ in range(2)}
        llm.close()
    assert len(replies) == 1


def test_above_zero_a_seed_decides(babble_file: Path) -> None:
    def reply(seed: int | None, temperature: float | None = None) -> str:
        llm = LlamaLLM(babble_file, seed=seed, temperature=2.0)
        text = llm.complete(ask(max_tokens=20, temperature=temperature), Event()).text
        assert llm.complete(ask(max_tokens=20, temperature=temperature), Event()).text == text or seed is None
        llm.close()
        return text

    assert reply(1) == reply(1)
    assert reply(1) != reply(2)
    assert reply(1, temperature=0) == reply(2, temperature=0)
    assert reply(None) != reply(None)


def test_a_template_of_an_unknown_format_works_without_tools(
    scripted: Callable[..., LlamaLLM], spec: type[Any]
) -> None:
    template = (
        "{% for t in tools or [] %}[{{ t.function.name }}]{% endfor %}"
        "{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    llm = scripted("<tool_call>", DRIVE, "</tool_call>", template=template)
    assert llm.tool_format is None
    assert llm.complete(ask(), Event()).text == f"<tool_call>{DRIVE}</tool_call>"
    with pytest.raises(ModelError, match="hermes"):
        llm.complete(ask(tools=[spec()]), Event())
    named = scripted("<tool_call>", DRIVE, "</tool_call>", template=template, tool_format="hermes")
    assert [call.name for call in named.complete(ask(tools=[spec()]), Event()).tool_calls] == ["drive"]


def test_a_template_that_refuses_is_a_model_error(scripted: Callable[..., LlamaLLM]) -> None:
    llm = scripted("a", template="{{ raise_exception('no system role') }}")
    with pytest.raises(ModelError, match="no system role"):
        llm.complete(ask(), Event())
    with pytest.raises(ModelError, match="no system role"):
        llm.count_tokens(ask())


def test_nothing_is_loaded_before_it_is_needed(babble: LlamaLLM) -> None:
    assert babble.stats.load_s == 0
    stream = babble.stream(ask(), Event())
    assert babble.stats.load_s == 0
    next(stream)
    assert babble.stats.load_s > 0


def test_the_figures_of_a_request(babble_file: Path) -> None:
    llm = LlamaLLM(babble_file, settings=EngineSettings(threads=1, chunk_tokens=32))
    request = ask("hello there " * 20, max_tokens=10)
    llm.complete(request, Event())
    stats = llm.stats
    assert (stats.threads, stats.chunk_tokens) == (1, 32)
    assert stats.prompt_tokens == stats.evaluated_tokens == llm.count_tokens(request)
    assert (stats.reused_tokens, stats.output_tokens) == (0, 10)
    assert stats.prompt_tokens_per_s > 0
    assert stats.tokens_per_s > 0
    assert stats.resident_bytes > 1_000_000
    llm.complete(request, Event())
    assert llm.stats.evaluated_tokens == 1
    llm.close()


@pytest.mark.parametrize("chunk", [1, 7, 64, 300])
def test_the_size_of_a_chunk_changes_nothing_in_the_reply(babble_file: Path, chunk: int) -> None:
    request = ask("hello there " * 10, max_tokens=10)
    llm = LlamaLLM(babble_file, settings=EngineSettings(chunk_tokens=chunk))
    reference = LlamaLLM(babble_file)
    assert llm.complete(request, Event()).text == reference.complete(request, Event()).text
    llm.close()
    reference.close()


def test_a_closed_model_says_so_and_closing_twice_is_nothing(babble_file: Path) -> None:
    llm = LlamaLLM(babble_file)
    llm.complete(ask(max_tokens=2), Event())
    llm.close()
    llm.close()
    for use in (lambda: llm.complete(ask(), Event()), lambda: llm.count_tokens(ask()), llm.load):
        with pytest.raises(ModelError, match="was closed"):
            use()
    never_loaded = LlamaLLM(babble_file)
    never_loaded.close()


def test_closing_gives_the_memory_back(write: Callable[..., Path]) -> None:
    path = write(width=512, layers=4)
    sizes = []
    for _ in range(6):
        llm = LlamaLLM(path)
        llm.complete(ask(max_tokens=2), Event())
        sizes.append(llm.stats.resident_bytes)
        llm.close()
    assert sizes[-1] - sizes[1] < 20_000_000  # each holds a context of 33 MB


def test_a_model_that_is_dropped_frees_itself(write: Callable[..., Path]) -> None:
    llm = LlamaLLM(write())
    llm.load()
    engine = llm._ready().engine
    del llm
    assert engine._model is None
