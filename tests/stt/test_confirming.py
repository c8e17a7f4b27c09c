"""Whether a key phrase was meant, by the transcript."""

import pytest

from edgeagent.stt.confirming import confirm, missed
from edgeagent.stt.types import Transcript
from tests.stt.stop_sentences import COMMANDS, NO_COMMAND, listed

WORDS = ("stop", "halt", "freeze")


def test_of_210_sentences_that_hold_no_command_none_is_confirmed_and_all_are_denied() -> None:
    verdicts = {line: confirm(line, word) for line, word in listed(NO_COMMAND)}
    assert len(verdicts) == 210
    assert {line: verdict for line, verdict in verdicts.items() if verdict != "denied"} == {}
    assert [line for line in verdicts if missed(line, WORDS)] == []


def test_of_80_commands_all_are_confirmed() -> None:
    commands = listed(COMMANDS)
    assert len(commands) == 80
    assert [line for line, word in commands if confirm(line, word) != "confirmed"] == []
    assert [line for line, word in commands if missed(line, WORDS) != word] == []


@pytest.mark.parametrize(
    "negation", ["don't", "do not", "never", "don't you ever", "please don't", "no don't", "don\u2019t"]
)
@pytest.mark.parametrize("rest", ["", " now", " the robot", " moving please", " there okay"])
def test_what_is_forbidden_is_never_confirmed(negation: str, rest: str) -> None:
    assert confirm(f"{negation} stop{rest}", "stop") == "denied"
    assert confirm(f"robot, {negation} stop{rest}", "stop") == "denied"


def test_a_doubtful_transcript_decides_nothing() -> None:
    assert confirm("top", "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", understood=False), "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", final=False), "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", confidence=0.9), "stop") == "denied"
    assert confirm("", "stop") == "unclear"


def test_a_wake_word_of_two_words_is_confirmed() -> None:
    assert confirm("hey robi what time is it", "hey robi") == "confirmed"
    assert confirm("Hey, Robi!", "hey robi") == "confirmed"
    assert confirm("the robot said hello", "hey robi") == "denied"


def test_a_text_without_words_is_no_command() -> None:
    assert confirm("♥ ... 8-)", "stop") == "unclear"
    assert missed("", WORDS) is None
