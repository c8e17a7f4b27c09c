"""Escape sequences are taken out whole: what is left is what a terminal would have shown."""

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeagent import Agent, Message, Session, ToolResult, tool
from edgeagent.characters import APOSTROPHES, common_length, plain_apostrophes, without_escapes
from edgeagent.cli import printable, utterance
from edgeagent.testing import ScriptedLLM, call

ANY = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]))
PRINTED = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)
CSI = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["\x1b[", "\x9b"]),
    st.text(st.sampled_from("0123456789;:<=>?"), max_size=8),
    st.text(st.sampled_from(" !\"#$%&'()*+,-./"), max_size=2),
    st.characters(min_codepoint=0x40, max_codepoint=0x7E),
)
STRING = st.builds(
    "{}{}{}".format,
    st.sampled_from([*(f"\x1b{letter}" for letter in "]PX^_"), "\x90", "\x98", "\x9d", "\x9e", "\x9f"]),
    PLAIN,
    st.sampled_from(["\x07", "\x1b\\", "\x9c"]),
)
SHORT = st.sampled_from(["\x1b7", "\x1b8", "\x1b=", "\x1b(B", "\x1b#8", "\x1b%G", "\x84", "\x8f"])


@given(st.lists(st.tuples(PLAIN, st.one_of(CSI, STRING, SHORT))), PLAIN)
@example([("drive 3", "\x1b[31m")], " m")
@example([("", "\x1b]0;a title\x07")], "go")
@example([("", "\x1b]8;;http://example.com\x1b\\")], "link")
def test_all_of_a_sequence_goes_and_nothing_else(pieces: list[tuple[str, str]], end: str) -> None:
    text = "".join(plain + sequence for plain, sequence in pieces) + end
    assert without_escapes(text) == "".join(plain for plain, _ in pieces) + end


@given(ANY)
def test_nothing_is_left_that_could_begin_one(text: str) -> None:
    left = without_escapes(text)
    assert not {"\x1b", "\x90", "\x98", "\x9b", "\x9d", "\x9e", "\x9f"} & set(left)
    assert without_escapes(left) == left


@given(PLAIN)
def test_other_text_stays(text: str) -> None:
    assert without_escapes(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1bstop", "stop"),
        ("\x1bdon't go", "don't go"),
        ("\x1b don't go", " don't go"),
        ("\x1b(don't go", "don't go"),
        ("\x1bNever, \x1bno", "Never, no"),
        ("a\x1bc b\x1bM", "a b"),
        ("\x1bOA\x1bOB", ""),
        ("stop\x1b", "stop"),
        ("drive 2\x1b[3", "drive 2"),
        ("a\x1b]0;no end\nb", "a\nb"),
        ("a\x1b]0;broken off\x1b[1mb", "ab"),
        ("â\x80\x9d says a text in the wrong encoding", "â says a text in the wrong encoding"),
    ],
)
def test_a_sequence_without_its_end(text: str, left: str) -> None:
    assert without_escapes(text) == left


@pytest.mark.parametrize("unit", ["\x1b]", "\x9d", "\x9d\n", "\x1b[", "\x1b ", "\x1b]a\n", "\x9b3;", "\x1bP\x1b"])
def test_the_time_grows_as_the_text(unit: str) -> None:
    def seconds(length: int) -> float:
        measured = []
        for _ in range(3):
            began_s = time.thread_time()
            without_escapes((unit * length)[:length])
            measured.append(time.thread_time() - began_s)
        return min(measured)

    assert seconds(128_000) < 64 * seconds(8_000) + 0.002, "a quadratic pattern takes 256 times as long"


def test_what_people_type_has_none() -> None:
    assert utterance("drive \x1b[31m3\x1b[0m m \x9b1mnow\x1b]0;x\x07") == "drive 3 m now"
    assert printable("a \x1b[31mred\x1b[0m word") == "a red word"


@pytest.mark.parametrize(
    "returned",
    [
        "\x1b[31mhot\x1b[0m",
        {"state": "\x1b[31mhot\x1b[0m", "\x1b[1mlist": ["\x9b1mhot"]},
        ToolResult.ok("\x1b[31mhot"),
        ToolResult.error("\x1b]0;title\x07hot"),
        RuntimeError("\x1b[31mhot\x1b[0m"),
    ],
    ids=["text", "json", "ok", "error", "raised"],
)
def test_what_tools_return_has_none(returned: object) -> None:
    @tool
    def look() -> object:
        """Look."""
        if isinstance(returned, Exception):
            raise returned
        return returned

    llm = ScriptedLLM([call("look")], "I looked.")
    result = Agent("toy", llm=llm, tools=[look]).run("look")
    (seen,) = [message.text for message in llm.requests[1].messages if message.role == "tool"]
    assert "hot" in seen
    for text in (seen, json.loads(json.dumps(result.tool_calls[0].result.text))):
        assert not any(part in text for part in ("[31m", "[0m", "[1m", "title", "\x1b", "\\u001b", "\x9b"))


def test_what_a_builder_passes_on_of_what_people_type_loses_them_too() -> None:
    llm = ScriptedLLM("Yes.", "Yes.")
    with Session(Agent("toy", llm=llm)) as session:
        session.follow_up("\x1b]0;title\x07and back")
        session.step("\x1b[31mdrive a metre")
    assert [message.text for message in llm.requests[1].messages] == ["drive a metre", "Yes.", "and back"]
    llm = ScriptedLLM("Yes.")
    Agent("toy", llm=llm).run(Message.user("\x9b31mdrive"))
    assert llm.requests[0].messages[0].text == "drive"


@pytest.mark.parametrize("kind", APOSTROPHES)
def test_inside_of_a_word_each_is_the_plain_one(kind: str) -> None:
    assert plain_apostrophes(f"please don{kind}t go, it{kind}s late") == "please don't go, it's late"


def test_quotation_marks_stay() -> None:
    assert plain_apostrophes("say \u2018hello there\u2019 and run `ls`") == "say \u2018hello there\u2019 and run `ls`"


@given(st.text("ab"), st.text("ab"))
def test_the_common_beginning_of_two_texts_is_the_longest(one: str, other: str) -> None:
    common = common_length(one, other)
    assert one[:common] == other[:common]
    assert one[common : common + 1] != other[common : common + 1] or common == len(one) == len(other)
