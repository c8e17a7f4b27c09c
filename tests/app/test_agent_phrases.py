"""What the ears are told that people say."""

import sys
from pathlib import Path
from typing import Literal

import pytest

from edgeagent import Agent, tool
from edgeagent.app import app_phrases, conversation_phrases, ears_phrases, house_heard, house_phrases, name_groups
from edgeagent.english import Control, Phrases, control_of, speakable, yes_or_no
from edgeagent.house import HouseRobot
from edgeagent.stt import known_words, sentences, spoken_words
from edgeagent.voice import Kind, kind_of

ROOMS = ["kitchen", "office"]


@tool(phrases=["light on in the kitchen", "make it dark"])
def set_light(room: Literal["kitchen", "office"]) -> str:
    """Switch a light."""
    return room


@tool
def get_time(form: Literal["short", "long"] = "short") -> str:
    """Time of day."""
    return form


def test_phrases_of_the_agent_its_tools_and_those_it_hands_over_to() -> None:
    other = Agent("other", phrases=["what is for dinner", "hello"])
    agent = Agent("first", tools=[set_light, get_time], handoffs=[other], phrases=["hello"])
    other.handoffs.append(agent)  # a circle ends
    assert app_phrases(agent) == ["hello", "light on in the kitchen", "make it dark", "what is for dinner"]
    assert name_groups(agent) == [ROOMS]
    assert "light on in the office" in sentences(app_phrases(agent), names=name_groups(agent))


def test_an_app_without_phrases_is_heard_by_the_names_of_its_tools() -> None:
    assert app_phrases(Agent("bare", tools=[get_time])) == ["get time"]
    assert app_phrases(Agent("nothing")) == []


def test_the_house_robot_has_phrases_for_all_that_it_does() -> None:
    commands, phrases = house_phrases(), list(house_heard())
    words = {word for phrase in phrases for word in phrase.split()}
    robot = HouseRobot()
    try:
        flat = robot.world.scene.flat
        names = [
            *(room.name for room in flat.rooms),
            *(mark.name for mark in flat.landmarks),
            *robot.world.scene.things,
        ]
        assert {word for name in names for word in name.split()} <= words
        agent = Agent("robi", tools=robot.tools, phrases=commands)
        assert ears_phrases(agent) == phrases
        assert app_phrases(agent) == list(commands)
    finally:
        robot.close()
    assert len(phrases) == len(set(phrases)) > 20_000
    assert any(phrase.startswith("turn left") for phrase in commands)
    assert ears_phrases(Agent("other", phrases=["hop"])) == ["hop"]
    assert {"don't", "not", "never"} <= words
    assert words <= set(known_words())
    assert len(sentences(phrases)) == len(phrases), "they have negations of their own"


def test_what_is_said_in_every_conversation_is_what_a_conversation_knows() -> None:
    said, phrases = conversation_phrases(), Phrases()
    known = (Kind.CONTROL, Kind.BACKCHANNEL, Kind.ANSWER, Kind.STOP)
    for text in said:
        kinds = {kind_of(text, phrases=phrases, speaking=True, question_open=asked) for asked in (False, True)}
        forbidden = any(word in text.split() for word in ("don't", "can't", "mustn't"))
        assert kinds & set(known) or forbidden, (text, kinds)
    assert {control_of(text).control for text in said if control_of(text)} == set(Control)
    assert {yes_or_no(text) for text in said} == {True, False, None}
    assert {"you can move", "you can't move"} <= set(said)


def test_no_sentence_of_the_benchmarks_is_among_the_house_robots_phrases(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(checkout / "scripts" / "lab"))
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    from bench import ears_sentences, voice_commands

    measured = [*ears_sentences.ALL, *(item["text"] for item in voice_commands.commands(1_000))]
    assert len(measured) > 500
    assert not set(house_heard()) & {" ".join(spoken_words(speakable(text, "en").text)) for text in measured}
    assert len(ears_sentences.COMMANDS) >= 120
    assert len(ears_sentences.FORBIDDEN) + len(ears_sentences.TALK) >= 200
    assert len(ears_sentences.FORBIDDEN) >= 60
    assert len(ears_sentences.OTHER) >= 100
