"""Text from outside, and text for a terminal."""

import io
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.utils import get_cwidth

from edgeagent.cli import Flow, streams

ANY = st.text(st.characters(exclude_categories=[]))


@given(ANY)
def test_an_utterance_is_one_clean_line(said: str) -> None:
    clean = streams.utterance(said)
    assert clean == streams.utterance(clean) == clean.strip()
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in clean)
    clean.encode("utf-8")


@given(ANY)
def test_what_is_shown_moves_no_cursor(said: str) -> None:
    assert all(c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") for c in streams.printable(said))


@given(ANY, st.integers(5, 50))
def test_a_shortened_text_fits(said: str, width: int) -> None:
    assert len(streams.shortened(said, width)) <= width


@given(st.binary(max_size=300))
def test_there_are_as_many_lines_as_line_ends(data: bytes) -> None:
    found = list(streams.lines(io.BytesIO(data)))
    assert len(found) == data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


@given(st.lists(st.text(st.sampled_from("ab \n界"), max_size=12), max_size=30), st.integers(12, 30))
def test_streamed_text_is_wrapped_and_nothing_is_lost(deltas: list[str], width: int) -> None:
    flow = Flow(lambda: width, indent=2)
    shown = [line for delta in deltas for line in flow.feed(delta)] + flow.end()
    assert "".join("".join(shown).split()) == "".join("".join(deltas).split())
    assert all(get_cwidth(line) < width for line in shown)
