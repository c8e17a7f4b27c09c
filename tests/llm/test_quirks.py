"""Any conversation can be shown to any template: what it has no place for goes where it has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from edgeagent import LlamaLLM, Message, ToolResult
from edgeagent.llm import (
    Adapter,
    Quirks,
    as_chat,
    as_tools,
    probe,
    write_granite,
    write_hermes,
    write_pythonic,
)
from edgeagent.messages import ToolCall
from tests.llm.source import chat_template, llama_source

#: These need more than messages and tools (a list of functions, documents), or code that the sandbox does not run.
CAN_NOT = {"fireworks-ai-llama-3-firefunction-v2", "CohereForAI-c4ai-command-r-plus-tool_use"}


def names() -> list[str]:
    return sorted(file.stem for file in (llama_source() / "templates").glob("*.jinja"))


@dataclass(frozen=True)
class Light:
    name: str = "qqlightqq"
    description: str = "Switches a light."
    parameters: dict[str, Any] = field(
        default_factory=lambda: {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}
    )


def call(number: int) -> ToolCall:
    return ToolCall(f"call_0123456789a{number}", "qqlightqq", {"on": True})


def result(number: int, text: str) -> Message:
    return Message.tool(ToolResult(call(number).id, "qqlightqq", "ok", text))


CONVERSATIONS: dict[str, list[Message]] = {
    "a question": [Message.user("qqoneqq")],
    "two users": [Message.user("qqoneqq"), Message.user("qqtwoqq")],
    "a call": [Message.user("qqoneqq"), Message.assistant("", [call(1)]), result(1, "qqtwoqq")],
    "two calls": [
        Message.user("qqoneqq"),
        Message.assistant("", [call(1), call(2)]),
        result(1, "qqtwoqq"),
        result(2, "qqthreeqq"),
    ],
    "a user after results": [
        Message.user("qqoneqq"),
        Message.assistant("", [call(1)]),
        result(1, "qqtwoqq"),
        Message.user("qqthreeqq"),
    ],
    "turns": [Message.user("qqoneqq"), Message.assistant("qqtwoqq"), Message.user("qqthreeqq")],
    "an assistant first": [Message.assistant("qqoneqq"), Message.user("qqtwoqq")],
}
WORDS = ("qqoneqq", "qqtwoqq", "qqthreeqq")


@cache
def adapter_of(name: str) -> Adapter:
    return Adapter(probe(chat_template(name)), write_hermes)


def render(name: str, messages: list[Message], *, system: str | None = "qqsystemqq", tools: bool = True) -> str:
    template, adapter = chat_template(name), adapter_of(name)
    specs = as_tools([Light()] if tools else [], str)
    return template.render(
        lambda as_text: adapter.adapt(as_chat(system, messages, str, arguments_as_text=as_text), specs)[0],
        adapter.adapt([], specs)[1],
        thinking=None,
        bos="",
        eos="",
    )


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_every_text_is_shown_once(conversation: str) -> None:
    messages = CONVERSATIONS[conversation]
    expected = [word for word in WORDS if any(word in message.text for message in messages)]
    for name in names():
        if name in CAN_NOT:
            continue
        text = render(name, messages)
        assert text.count("qqsystemqq") == 1, name
        assert "qqlightqq" in text, name
        for word in expected:
            assert text.count(word) == 1, (name, word)
        assert sorted(expected, key=text.index) == expected, name


def test_calls_are_shown_and_come_before_their_results() -> None:
    for name in names():
        if name in CAN_NOT:
            continue
        with_calls = render(name, CONVERSATIONS["two calls"])
        without = render(name, CONVERSATIONS["a question"])
        assert with_calls.count("qqlightqq") >= without.count("qqlightqq") + 2, name


def test_nothing_of_tools_is_said_where_there_are_none() -> None:
    for name in names():
        if name not in CAN_NOT:
            assert "qqlightqq" not in render(name, CONVERSATIONS["turns"], tools=False), name


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("Qwen-Qwen3-0.6B", set()),
        ("google-gemma-2-2b-it", {"system", "tools", "calls", "results", "several_calls", "long_ids"}),
        ("microsoft-Phi-3.5-mini-instruct", {"tools", "calls", "results"}),
        ("meta-llama-Llama-3.2-3B-Instruct", {"several_calls"}),
        ("mistralai-Mistral-Nemo-Instruct-2407", {"system", "long_ids", "user_after_results", "assistant_first"}),
        ("LFM2-8B-A1B", {"calls", "results"}),
    ],
)
def test_what_a_template_cannot_show_is_found_by_asking_it(name: str, missing: set[str]) -> None:
    quirks = probe(chat_template(name))
    found = {quirk for quirk in Quirks.__dataclass_fields__ if not getattr(quirks, quirk)}
    assert found - {"assistant_first"} <= missing | {"several_calls", "long_ids"}
    assert missing - {"several_calls", "long_ids"} <= found


def test_ids_that_a_template_refuses_are_made_short_and_still_pair() -> None:
    text = render("mistralai-Mistral-Nemo-Instruct-2407", CONVERSATIONS["two calls"])
    ids = [piece[:9] for piece in text.split('"id": "')[1:]]
    assert len(set(ids)) == 2
    for short in ids:
        assert text.count(short) == 2


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (write_hermes, '<tool_call>\n{"name": "a", "arguments": {"b": 1}}\n</tool_call>'),
        (write_granite, '<|tool_call|>[{"name": "a", "arguments": {"b": 1}}]'),
        (write_pythonic, "<|tool_call_start|>[a(b=1)]<|tool_call_end|>"),
    ],
)
def test_calls_are_written_as_the_model_writes_them(write: Any, expected: str) -> None:
    assert write([("a", {"b": 1})]) == expected


@pytest.mark.parametrize("level", [None, "low", "high"])
def test_the_thinking_switch_is_the_templates_own(level: str | None) -> None:
    text = chat_template("Qwen-Qwen3-0.6B").render(
        lambda _: [{"role": "user", "content": "a"}], [], thinking=level, bos="", eos=""
    )
    assert ("<think>\n\n</think>" in text) == (level is None)


def test_a_model_whose_template_knows_no_tools_is_told_how_to_call(cut_file: Any) -> None:
    path: Path = cut_file("gemma2")
    llm = LlamaLLM(path)
    assert llm.tool_format == "hermes"
    llm.close()
