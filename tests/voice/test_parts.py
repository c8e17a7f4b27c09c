"""An utterance that goes on after a part of it was answered: nothing of it is done twice, and nothing forgotten."""

import pytest

from edgeagent import Agent, tool
from edgeagent.robot import SafetyLatch
from edgeagent.testing import call
from edgeagent.voice import State

from .scenes import late, quiet, transcribed
from .stage import Stage


def _driver(*replies: object) -> Stage:
    """A robot that drives when it is asked something first."""

    @tool(motion=True)
    def drive() -> str:
        """Drives."""
        return "done"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    return Stage([call("drive")], "Okay.", *replies, agent=agent, settings=quiet())  # type: ignore[arg-type]


def _in_parts(stage: Stage, *texts: str) -> None:
    """Each is all that was said until then, and is answered before the next."""
    for number, text in enumerate(texts):
        if number:
            stage.go_on()
        else:
            stage.begin()
        stage.pass_s(0.5)
        stage.pause(text)
        stage.pass_s(0.7)
    stage.end()
    stage.pass_until(lambda: stage.state is State.LISTENING)


def _asked(stage: Stage) -> list[str]:
    """What the model was asked, each once."""
    texts = [[m.text for m in request.messages if m.role == "user"][-1] for request in stage.llm.requests]
    return list(dict.fromkeys(texts))


@pytest.mark.parametrize(
    ("texts", "asked"),
    [
        (
            ["turn left", "turn left and turn around", "turn left and turn around and come back"],
            ["turn left", "and turn around", "and turn around and come back"],  # the second has done nothing
        ),
        (
            ["turn left", "turn left what time is it", "turn left what time is it now"],
            ["turn left", "what time is it", "what time is it now"],
        ),
        (
            ["go to the kitchen", "go to the kitchen and where are you", "go to the kitchen and where are you now"],
            ["go to the kitchen", "and where are you", "and where are you now"],
        ),
        (
            ["Go to the kitchen.", "Go to the kitchen, and turn around."],
            ["Go to the kitchen.", "and turn around"],
        ),
        (["Go to the kitchen.", "Go to the kitchen"], ["Go to the kitchen."]),
    ],
)
def test_what_was_done_is_not_asked_again(texts: list[str], asked: list[str]) -> None:
    with _driver("One.", "Two.", "Three.") as stage:
        _in_parts(stage, *texts)
        assert _asked(stage) == asked


def test_what_was_done_is_not_asked_again_after_a_part_that_was_not_understood() -> None:
    with _driver("One.", "Two.") as stage:
        stage.begin()
        for text, understood in (("turn left", True), ("turn left and urn", False)):
            stage.pass_s(0.5)
            stage.pause(text, understood=understood)
            stage.pass_s(1.0)
            stage.go_on()
        stage.pass_s(0.5)
        stage.pause("turn left and turn around")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert _asked(stage) == ["turn left", "and turn around"]


def test_the_beginning_of_one_that_was_too_long_stays_with_it() -> None:
    with Stage("One.", "Two.", settings=quiet()) as stage:
        utterance, ended_s = late(stage, cut=True)
        transcribed(stage, utterance, "whatever happens don't", ended_s)
        stage.pass_s(0.5)
        stage.pause("go to the kitchen")
        stage.pass_s(0.6)
        stage.go_on()
        stage.pass_s(0.4)
        stage.pause("go to the kitchen please")
        stage.pass_s(0.8)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert _asked(stage)[-1] == "whatever happens don't go to the kitchen please"
