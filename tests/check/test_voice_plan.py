"""The lines that a person is asked to say."""

from collections import Counter

import pytest

from edgeagent.app import house_phrases
from edgeagent.check import STORIES, PlannedLine, plan
from edgeagent.stt import confirm, missed, spoken_words

COMMANDS = ["go to the kitchen", "turn left", "drive 2 meters", "where are you", "stop the music"]


def test_a_test_has_lines_of_every_kind() -> None:
    lines = plan(COMMANDS, wake_words=["hey robi"], count=20)
    assert len(lines) == 20
    kinds = Counter(line.kind for line in lines)
    assert set(kinds) == {"command", "stop", "stop_over", "talk", "wake"}
    assert kinds["command"] == max(kinds.values())
    assert {line.phrase for line in lines if line.kind == "wake"} == {"hey robi"}
    assert plan(COMMANDS, wake_words=["hey robi"], count=20) == lines, "the same for everybody"


def test_a_short_test_has_one_of_each_kind() -> None:
    assert Counter(line.kind for line in plan(COMMANDS, count=4)) == Counter(["command", "stop", "stop_over", "talk"])


def test_commands_are_the_app_s_and_easily_read() -> None:
    said = {line.text for line in plan(COMMANDS, count=30) if line.kind == "command"}
    assert said == {"go to the kitchen", "turn left", "where are you"}, "no figures, no stop words"


def test_commands_of_the_house_begin_with_different_verbs() -> None:
    said = [line.text for line in plan(house_phrases(), count=20) if line.kind == "command"]
    assert len({text.split()[0] for text in said}) == len(said)


def test_a_robot_that_is_silent_is_not_spoken_over() -> None:
    assert "stop_over" not in {line.kind for line in plan(COMMANDS, over=False)}


def test_each_place_has_all_lines() -> None:
    lines = plan(COMMANDS, count=6, distances=["1 m", "3 m"])
    assert [line.distance for line in lines] == ["1 m"] * 6 + ["3 m"] * 6
    assert [line.text for line in lines[:6]] == [line.text for line in lines[6:]]


@pytest.mark.parametrize("words", [["stop"], ["whoa", "stop"]])
def test_talk_has_stop_words_in_passing_only(words: list[str]) -> None:
    talk = [line for line in plan(COMMANDS, stop_words=words, count=100) if line.kind == "talk"]
    assert {*words, "halt", "freeze"} == {line.phrase for line in talk}
    for line in talk:
        assert line.phrase in spoken_words(line.text)
        assert confirm(line.text, line.phrase) == "denied"
        assert missed(line.text, [line.phrase]) is None


def test_an_app_without_plain_phrases_has_what_it_has() -> None:
    assert PlannedLine("drive 2 meters", "command") in plan(["drive 2 meters"], count=4)


@pytest.mark.parametrize("story", STORIES)
def test_stories_have_no_stop_words(story: str) -> None:
    assert not {"stop", "halt", "freeze"} & set(spoken_words(story))
    assert 25 <= len(story.split()) <= 45
