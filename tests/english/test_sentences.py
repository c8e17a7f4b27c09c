"""Where a streaming reply is cut, as tables of examples, and what holds for any text and any deltas."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeagent.english import LIMIT, Piece, SentenceStream, holes


def pieces_of(text: str, cuts: list[int] | None = None, first_clause_chars: int | None = None) -> list[Piece]:
    """The pieces of a text that comes in deltas which end at the cuts; by default all at once."""
    stream = SentenceStream(first_clause_chars=first_clause_chars)
    pieces, at = [], 0
    for cut in [*(cuts or []), len(text)]:
        pieces += stream.feed(text[at:cut])
        at = max(at, cut)
    return [*pieces, *stream.end()]


SENTENCES = [
    "One. |Two! |Three? |Four.",
    "It is 2.5 m away. |Next.",
    "It has 1,000 parts. |Next.",
    "At 14:30 it starts. |Next.",
    "Use e.g. this one. |Next.",
    "Use e.g. The Guardian. |Next.",
    "That is i.e. it. |Next.",
    "Cups, etc. are here. |Next.",
    "Cups, etc. |They are here.",
    "Dr. Smith and Mr. Jones are in. |Next.",
    "Take approx. 5 of them. |Next.",
    "It is No. 5 there. |Next.",
    "No. |I can't.",
    "J. R. Smith is in. |Next.",
    "In the U.S. Army it is so. |Next.",
    "At 5 p.m. it ends. |Next.",
    "It ends at 5 p.m. |Then I go.",
    "On Nov. 21 it starts. |Next.",
    "See https://example.com/a.b?c=d. |Next.",
    "Mail bob.smith@example.com now. |Next.",
    "Open main.py in v1.2.3 now. |Next.",
    "Well... maybe so. |Next.",
    "Well... |Maybe so.",
    "Well… maybe so. |Next.",
    '"Really?" he said. |Next.',
    '"Really?" |He said it.',
    "**Done.** |Next.",
    "Done! |😀 Next.",
    "How many? |5. |Then I go.",
    "1. Open the door.\n|2. Close it.",
    "Do this:\n|1. Open it\n|2. Close it",
    "- one\n|- two\n|Done.",
    "# Title\n|Text goes\non here. |Next.",
    "One paragraph\n\n|Another one",
    "| a | b |\n|---|---|\n| 1 | 2 |\nDone.",
    "很好。|我们走吧！|真的吗？",
    "No end",
]


@pytest.mark.parametrize("marked", [text for text in SENTENCES if not text.startswith("| a")])
def test_a_sentence_ends_where_it_does(marked: str) -> None:
    assert [piece.text for piece in pieces_of(marked.replace("|", ""))] == marked.split("|")


def test_each_row_of_a_table_is_a_piece() -> None:
    rows = ["| a | b |\n", "|---|---|\n", "| 1 | 2 |\n", "Done."]
    assert [piece.text for piece in pieces_of("".join(rows))] == rows


@pytest.mark.parametrize(
    "marked",
    [
        "I am going to the kitchen, |because you asked, and then back.",
        "I will drive to the kitchen |and then come back, as you said.",
        "I have seen the door |but it was closed.",
        "There are four of them: |one, two and more.",
        "I have seen it all — |it was good.",
        "I have seen it all - |it was good.",
        "Sure, I can do that; |wait here.",
        "It is at 21 or so, |I think. |It is late, as you know.",
        "Ok, yes, no, well, |what is it?",
        "I count to 10, 20, 30 and more.",
    ],
)
def test_the_first_clause_leaves_early(marked: str) -> None:
    text = marked.replace("|", "")
    got = [piece.text for piece in pieces_of(text, first_clause_chars=8)]
    assert got == marked.split("|") or marked.startswith("I count")
    if marked.startswith("I count"):
        assert got[0].endswith("30 ")


def test_the_first_clause_leaves_before_its_sentence_is_complete() -> None:
    stream = SentenceStream()
    assert stream.feed("I am going to the kitchen,") == []
    assert stream.feed(" b") == [Piece("I am going to the kitchen, ", 0)]
    assert stream.feed("ecause you said so, and then back. ") == []
    assert stream.feed("T") == [Piece("because you said so, and then back. ", 27)]
    assert stream.end() == [Piece("T", 63)]


@pytest.mark.parametrize(
    ("source", "spoken"),
    [
        ("Here:\n```python\nx = 1. Y\n```\nDone.", ["Here:\n", "\nDone."]),
        ("Here:\n```\nnever closed. X", ["Here:\n"]),
        ("~~~\ncode\n~~~\nDone.", ["\nDone."]),
        ("<think>No. Yes.</think>Done.", ["Done."]),
        ("<think>never closed. X", []),
        ("it thinks, and thinks</think>Done.", ["Done."]),
        ("Before <think>x</think>after.", ["Before ", "after."]),
        ("Use `a` and ``b`` now. Ok.", ["Use `a` and ``b`` now. ", "Ok."]),
        ("Use ```a``` now. Ok.", ["Use ```a``` now. ", "Ok."]),
        ("a < b. Then [c]. Ok", ["a < b. ", "Then [c]. ", "Ok"]),
    ],
)
def test_code_and_thinking_are_never_pieces(source: str, spoken: list[str]) -> None:
    for step in (1, 2, 3, 1000):
        assert [p.text for p in pieces_of(source, list(range(step, len(source), step)))] == spoken


def test_nothing_of_a_fence_leaves_while_it_is_open() -> None:
    stream = SentenceStream()
    assert stream.feed("Run this. ```py\nx = 1. Y\n\nz, and more of it\n") == [Piece("Run this. ", 0)]
    assert stream.feed("``") == []
    assert stream.feed("`\nDone. It") == [Piece("\nDone. ", 47)]


def test_a_long_sentence_is_cut_at_a_clause_or_a_word() -> None:
    words = "word " * 100
    assert all(len(p.text) <= LIMIT + 5 for p in pieces_of(words))
    clauses = "and so it goes on and on, as it must do " * 10
    first = pieces_of(clauses)[0].text
    assert first.endswith("on, ")
    assert len(first) <= LIMIT + 5
    assert [p.text for p in pieces_of("x" * 1000)] == ["x" * 1000]


PARTS = st.sampled_from(
    [text.replace("|", "") for text in SENTENCES]
    + list(".!?,;:-—…()[]`~<>*_#|1234567890 \n\n ")
    + "``` ```\n ~~~\n <think> </think> <!-- --> [THINK] [/THINK] ](a word and\x20 but\x20 e.g. Dr. 。 2.5 1,000".split(
        " "
    )
    + ["- ", "1. ", " and ", " - ", "\n\n", "\n- ", "\n```\n", "x" * 90, "word " * 20, " " * 70]
)
TEXTS = st.one_of(st.text(), st.lists(PARTS, max_size=14).map("".join), st.lists(PARTS, max_size=14).map(" ".join))


@settings(max_examples=200)
@given(TEXTS, st.data(), st.sampled_from([None, 0, 16]))
def test_the_cuts_do_not_depend_on_the_deltas(text: str, data: st.DataObject, first: int | None) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    whole = pieces_of(text, None, first)
    assert pieces_of(text, cuts, first) == whole
    assert pieces_of(text, list(range(len(text))), first) == whole


@settings(max_examples=250)
@given(TEXTS, st.sampled_from([None, 0, 16]))
def test_pieces_are_the_source_and_cut_no_word(text: str, first: int | None) -> None:
    at = 0
    for piece in pieces_of(text, None, first):
        assert piece.text.strip()
        assert piece.start >= at
        assert text[piece.start : piece.end] == piece.text
        if piece.start == at and at:
            assert not (text[at - 1].isalnum() and text[at].isalnum())
            assert not re.match(r"[0-9][.,:][0-9]", text[at - 1 : at + 2])
            assert not re.match(r"[0-9][.,:][0-9]", text[max(0, at - 2) : at + 1])
        at = piece.end


@settings(max_examples=150)
@given(st.lists(PARTS, max_size=14).map(" ".join))
def test_without_code_and_thinking_the_joined_pieces_are_the_source(text: str) -> None:
    if not re.search(r"`{3}|~{3}|<!--|think>|THINK\]|\s{64}", text):
        assert not list(holes(text))
        joined = "".join(piece.text for piece in pieces_of(text, None, 16))
        assert joined == text or not text.strip()


@pytest.mark.parametrize(
    "unit",
    [
        "It is 2.5 m, and so on. ",
        "a",
        "a ",
        "a, ",
        "1",
        " ",
        "\n",
        ".",
        "`",
        "``` ",
        "```\n",
        "<",
        "<think>",
        "](",
        "。",
        "- ",
        "- a\n",
    ],
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    text = (unit * 25_000)[:25_000]
    stream = SentenceStream()
    began = time.process_time()
    for at in range(0, len(text), 4):
        stream.feed(text[at : at + 4])
    stream.end()
    assert time.process_time() - began < 1
