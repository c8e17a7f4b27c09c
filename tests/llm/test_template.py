"""What the template is given: roles, joined messages, results in words, calls with their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import pytest

from edgeagent import Message, ModelError, ToolCall, ToolResult
from edgeagent.llm import ChatTemplate, as_chat
from edgeagent.messages import Status


def chat(*messages: Message, system: str | None = None) -> list[dict[str, Any]]:
    return as_chat(system, messages, str)


def render(source: str, messages: Sequence[Message]) -> str:
    return ChatTemplate(source, "m.gguf").render(
        lambda as_text: as_chat("Be brief.", messages, str, arguments_as_text=as_text),
        [],
        thinking=None,
        bos="<s>",
        eos="</s>",
    )


CALLED = Message.assistant("", [ToolCall("call_1", "drive", {"distance_m": 2})])


def test_the_system_prompt_comes_first_and_may_be_absent() -> None:
    assert chat(Message.user("hi"), system="Be brief.")[0] == {"role": "system", "content": "Be brief."}
    assert chat(Message.user("hi")) == [{"role": "user", "content": "hi"}]


def test_adjacent_messages_that_strict_templates_refuse_are_joined() -> None:
    users = [Message.user("a"), Message("note", "mine"), Message.user("b", origin="steering")]
    assert chat(*users) == [{"role": "user", "content": "a\nb"}]
    replies = [Message.user("a"), Message.assistant("x"), Message.assistant(""), Message.assistant("y")]
    assert [m["content"] for m in chat(*replies)] == ["a", "x\ny"]
    assert [m.text for m in users] == ["a", "mine", "b"]


def test_calls_and_results_stay_one_each() -> None:
    results = [Message.tool(ToolResult("call_1", "drive", "ok", "drove 2 m"))] * 2
    assert [m["role"] for m in chat(Message.user("go"), CALLED, CALLED, *results)] == [
        "user", "assistant", "assistant", "tool", "tool",
    ]  # fmt: skip


def test_an_empty_reply_is_left_out_and_the_users_around_it_joined() -> None:
    assert chat(Message.user("a"), Message.assistant(""), Message.user("b")) == [{"role": "user", "content": "a\nb"}]


def test_reasoning_is_not_sent_back() -> None:
    assert "hm" not in str(chat(Message.user("a"), Message("assistant", "x", thinking="hm")))


def test_every_status_is_told_in_words() -> None:
    told = {
        status: chat(Message.tool(ToolResult("c", "drive", status, "TEXT")))[0]["content"]
        for status in get_args(Status)
    }
    assert {status for status, text in told.items() if text == "TEXT"} == {"ok", "detached"}
    errors = {"error", "unknown", "invalid", "blocked", "denied", "timed_out"}
    assert {status for status, text in told.items() if text == "error: TEXT"} == errors
    assert {s for s, text in told.items() if text == "not run: TEXT"} == {"not_run", "skipped", "declined"}
    assert told["interrupted"] == "interrupted: TEXT"
    assert told["outcome_unknown"] == "outcome unknown: TEXT"


def test_arguments_are_a_dict_and_text_where_the_template_needs_text() -> None:
    loop = "{% for m in messages %}{% for c in m.tool_calls %}{{ ... }}{% endfor %}{% endfor %}"
    as_dict = loop.replace("...", "c.function.arguments.distance_m")
    as_text = loop.replace("...", "'a:' + c.function.arguments")
    assert render(as_dict, [Message.user("go"), CALLED]) == "2"
    assert render(as_text, [Message.user("go"), CALLED]) == 'a:{"distance_m": 2}'


def test_arguments_that_nobody_could_read_are_shown_as_they_were_written() -> None:
    raw = Message.assistant("", [ToolCall("c", "drive", {}, raw='{"distance_m": }')])
    assert chat(raw)[0]["tool_calls"][0]["function"]["arguments"] == '{"distance_m": }'


def test_json_in_templates_keeps_letters_and_the_order_of_keys() -> None:
    assert render("{{ {'b': 'é<', 'a': 1} | tojson }}", []) == '{"b": "é<", "a": 1}'


def test_templates_know_what_transformers_gives_them() -> None:
    assert render("{{ bos_token }}{% generation %}{{ messages[0].content }}{% endgeneration %}{{ eos_token }}", []) == (
        "<s>Be brief.</s>"
    )
    source = "{{ strftime_now('%Y') }}{% for m in messages %}{% break %}{% endfor %}"
    assert len(render(source, [])) == 4


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("{{ raise_exception('roles must alternate') }}", "roles must alternate"),
        ("{{ messages[7].content }}", "no element 7"),
        ("{{ 1 + 'a' }}", "unsupported operand"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ 1 // 0 }}", "zero"),
    ],
)
def test_a_template_that_fails_is_a_model_error(source: str, why: str) -> None:
    with pytest.raises(ModelError, match=rf"chat template of m\.gguf fails: .*{why}"):
        render(source, [Message.user("go"), CALLED])
