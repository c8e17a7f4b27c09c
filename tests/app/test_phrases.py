"""What the ears are told that people say."""

import sys
from pathlib import Path
from typing import Literal

import pytest

from edgeagent import Agent, tool
from edgeagent.app.phrases import app_phrases, ears_phrases, house_phrases, house_talk, name_groups
from edgeagent.robot import HouseRobot
from edgeagent.stt.app_model import known_words
from edgeagent.stt.phrases import sentences

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
    commands, talk = house_phrases(), house_talk()
    phrases = [*commands, *talk]
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
    assert len(phrases) == len(set(phrases)) > 3000
    assert any(phrase.startswith("turn left") for phrase in commands)
    assert ears_phrases(Agent("other", phrases=["hop"])) == ["hop"]
    assert {"don't", "not", "never"} <= words
    assert words <= set(known_words())
    assert len(sentences(phrases)) == len(phrases), "they have negations of their own"


def test_no_sentence_of_the_benchmarks_is_among_the_house_robots_phrases(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(checkout / "scripts"))
    monkeypatch.delitem(sys.modules, "benchmarks", raising=False)
    from benchmarks import ears_sentences

    assert not {*house_phrases(), *house_talk()} & {text.lower() for text in ears_sentences.ALL}
    assert len(ears_sentences.COMMANDS) >= 120
    assert len(ears_sentences.FORBIDDEN) + len(ears_sentences.TALK) >= 200
    assert len(ears_sentences.FORBIDDEN) >= 60
    assert len(ears_sentences.OTHER) >= 100
