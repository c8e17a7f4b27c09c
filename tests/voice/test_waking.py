"""Wake words in what was said, as one recogniser or another writes it."""

import pytest

from edgeagent.stt import RecognisedText
from edgeagent.voice import is_called, without_wake_word


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("hey robi where are you", "where are you"),
        ("Hey, Robi, continue.", "continue."),
        ("hey robi hey robi where are you", "where are you"),
        ("Hey, Robi.", ""),
        ("hey robin is at home", "hey robin is at home"),
        ("where are you", "where are you"),
        ("...", "..."),
    ],
)
def test_what_was_said_after_it(text: str, rest: str) -> None:
    assert without_wake_word(text, ["hey robi"]) == rest
    assert without_wake_word(text, ["hey robi", "", "???"]) == rest


def test_whatever_follows_it_it_is_a_call() -> None:
    for text in ("hey robi is the door open", "Hey, Robi, watch me.", "hey robi"):
        assert is_called(RecognisedText(text), ["hey robi"])
    for text in ("the robi is nice today", "don't hey robi", "hey robin is at home", ""):
        assert not is_called(RecognisedText(text), ["hey robi"])
    assert not is_called(RecognisedText("hey robi is it", understood=False), ["hey robi"])
