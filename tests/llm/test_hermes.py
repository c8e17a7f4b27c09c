"""Calls between <tool_call> markers: read where they are certain, told to the model where not, never made of prose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent import ConfigError
from edgeagent.llm import HERMES, ChatTemplate, Found, NotACall, detect_format, format_named

GOOD = '{"name": "drive", "arguments": {"distance_m": 2}}'


def calls_of(text: str, *, final: bool = True) -> list[tuple[str, object]]:
    answer = HERMES.scan(text, final=final)
    assert isinstance(answer, Found)
    return [(call.name, call.arguments if call.raw is None else call.raw) for call in answer.calls]


@pytest.mark.parametrize(
    "body",
    [
        GOOD,
        f"\n{GOOD}\n",
        '{"arguments": {"distance_m": 2}, "name": "drive"}',
        '{"name": "drive", "parameters": {"distance_m": 2}}',
        '{"name": "drive", "arguments": "{\\"distance_m\\": 2}"}',
        '{"type": "function", "function": {"name": "drive", "arguments": {"distance_m": 2}}}',
        f"[{GOOD}]",
    ],
)
def test_the_ways_models_write_one_call(body: str) -> None:
    assert calls_of(f"<tool_call>{body}</tool_call>") == [("drive", {"distance_m": 2})]


@pytest.mark.parametrize(
    "body", ['{"name": "stop"}', '{"name": "stop", "arguments": null}', '{"name": "stop", "arguments": ""}']
)
def test_a_call_without_arguments(body: str) -> None:
    assert calls_of(f"<tool_call>{body}</tool_call>") == [("stop", {})]


def test_several_calls_in_one_pair_of_markers() -> None:
    assert [name for name, _ in calls_of(f'<tool_call>[{GOOD}, {{"name": "stop"}}]</tool_call>')] == ["drive", "stop"]


def test_an_argument_may_hold_the_markers_themselves() -> None:
    body = json.dumps({"name": "say", "arguments": {"text": "a </tool_call> and <tool_call> b"}})
    text = f"<tool_call>{body}</tool_call> after"
    answer = HERMES.scan(text, final=False)
    assert isinstance(answer, Found)
    assert text[answer.end :] == " after"
    assert answer.calls[0].arguments == {"text": "a </tool_call> and <tool_call> b"}


def test_a_call_whose_closing_marker_is_missing_ends_where_the_next_begins() -> None:
    text = f"<tool_call>{GOOD}\n<tool_call>{GOOD}</tool_call>"
    answer = HERMES.scan(text, final=False)
    assert isinstance(answer, Found)
    assert text[answer.end :] == f"<tool_call>{GOOD}</tool_call>"


@pytest.mark.parametrize(
    ("body", "name", "raw"),
    [
        ('{"name": "drive", "arguments": {"distance_m": }}', "drive", '{"distance_m": }}'),
        (
            '{"name": "drive", "arguments": {"distance_m": 2}',
            "drive",
            '{"name": "drive", "arguments": {"distance_m": 2}',
        ),
        ('{"name": "drive", "arguments": [2]}', "drive", "[2]"),
        ('{"name": "drive", "arguments": "2 metres"}', "drive", "2 metres"),
        ('{"name": "drive", "arguments": {"distance_m": NaN}}', "drive", '{"distance_m": NaN}}'),
        ("drive(2)", "", "drive(2)"),
        ('{"distance_m": 2}', "", '{"distance_m": 2}'),
        ('{"name": 3, "arguments": {}}', "", '{"name": 3, "arguments": {}}'),
        ("", "", ""),
        ("[]", "", "[]"),
        ("[" * 100_000, "", "[" * 100_000),
        ('{"name": "drive", "arguments": {"distance_m": ' + "9" * 5000 + "}}", "drive", None),
    ],
)
def test_what_cannot_be_read_is_told_and_never_executed(body: str, name: str, raw: str | None) -> None:
    [(found, text)] = calls_of(f"<tool_call>{body}</tool_call>")
    assert found == name
    assert isinstance(text, str)
    assert raw is None or text == raw


def test_a_call_cut_at_the_end_is_made_only_if_its_json_is_whole() -> None:
    assert calls_of(f"<tool_call>{GOOD}") == [("drive", {"distance_m": 2})]
    for length in range(len('{"name": "drive"'), len(GOOD)):
        [(name, raw)] = calls_of(f"<tool_call>{GOOD[:length]}")
        assert name == "drive"
        assert isinstance(raw, str)


@pytest.mark.parametrize(
    "text",
    ["<tool_call> is what opens a call.", "<tool_call>drive two metres", '<tool_call> is where "name": "drive" goes'],
)
def test_prose_after_an_opener_is_prose(text: str) -> None:
    assert HERMES.scan(text, final=True) == NotACall(len("<tool_call>"))


@settings(max_examples=300)
@given(st.text(alphabet='{}[]":, name\\ardgumetsiv_2<>/_cl\n', max_size=120), st.booleans())
def test_no_text_makes_it_fail_or_read_what_is_not_json(body: str, closed: bool) -> None:
    text = f"<tool_call>{body}" + ("</tool_call>" if closed else "")
    answer = HERMES.scan(text, final=True)
    assert answer is not None
    assert 0 < answer.end <= len(text)
    for call in answer.calls if isinstance(answer, Found) else ():
        if call.raw is None:
            assert call.name in text


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8),
        max_size=4,
    )
)
def test_any_arguments_come_back_as_they_were(arguments: dict[str, object]) -> None:
    for ascii_only in (True, False):
        body = json.dumps({"name": "drive", "arguments": arguments}, ensure_ascii=ascii_only)
        assert calls_of(f"<tool_call>{body}</tool_call>", final=False) == [("drive", arguments)]


HERMES_TEMPLATE = """{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}
<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endfor %}"""
XML_TEMPLATE = """{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}
<tool_call>{{ c.function.name }}{% for k, v in c.function.arguments | items %}<arg_key>{{ k }}</arg_key>{% endfor %}
</tool_call>{% endfor %}{% endfor %}"""


def test_the_format_is_the_one_in_which_the_template_itself_writes_a_call() -> None:
    def detect(source: str) -> object:
        return detect_format(ChatTemplate(source, "m.gguf"))

    assert detect(HERMES_TEMPLATE) is HERMES
    assert detect(XML_TEMPLATE) is None
    assert detect("{% for m in messages %}{{ m.content }}{% endfor %}") is None
    assert detect(HERMES_TEMPLATE + "<function=") is None
    assert detect("{{ raise_exception('alternate!') }}<tool_call>") is HERMES


def test_a_format_may_be_named() -> None:
    assert format_named("hermes") is HERMES
    with pytest.raises(ConfigError, match="choose from hermes"):
        format_named("morse")
