"""Questions of tools in a conversation: whoever answers need not wait for their end, and who spoke before has not
answered."""

from __future__ import annotations

from typing import Any

import pytest

from edgeagent import Agent, tool
from edgeagent.english import Phrases
from edgeagent.testing import ScriptedLLM, call
from edgeagent.voice import DialogueSettings, State
from tests.voice.stage import Stage


class Asking(Stage):
    """A conversation whose agent deletes maps, if it may."""

    def __init__(self, *replies: Any, settings: DialogueSettings | None = None) -> None:
        self.deleted: list[str] = []

        @tool(destructive=True)
        def delete_map(name: str) -> str:
            """Deletes a map.

            Args:
                name: Its name.
            """
            self.deleted.append(name)
            return "deleted"

        agent = Agent("robi", llm=ScriptedLLM([call("delete_map", name="hall")], *replies), tools=[delete_map])
        super().__init__(agent=agent, settings=settings)
        person = self.dialogue.robot.person
        agent.options = agent.options.__class__(confirm=person.confirm)
        self.say("delete the map of the hall")
        self.pass_until(lambda: self.state is State.SPEAKING)

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.log if event.kind == "agent_end"]


def heard(stage: Stage) -> list[str]:
    return [event.text for event in stage.log if event.kind == "heard"]


def answered(stage: Asking, how: str) -> None:
    if how == "typed":
        stage.dialogue.hear("yes")
        stage.settle()
    elif how == "button":
        stage.dialogue.push_to_talk(True)
        stage.settle()
        stage.say("yes")
    elif how == "long":
        stage.say("yes", seconds=1.2)
    else:
        stage.say("yes")
    stage.pass_s(3)


@pytest.mark.parametrize("how", ["spoken", "long", "typed", "button"])
def test_an_answer_into_the_question_is_its_answer_and_the_run_goes_on(how: str) -> None:
    with Asking("I deleted it.") as stage:
        stage.pass_s(0.8)
        assert stage.state is State.SPEAKING
        answered(stage, how)
        assert stage.deleted == ["hall"]
        assert stage.reasons == ["completed"]
        assert stage.session.messages()[-1].text == "I deleted it."


def test_a_no_into_the_question_declines_it() -> None:
    with Asking("I left it.") as stage:
        stage.pass_s(0.8)
        stage.say("no")
        stage.pass_s(3)
        assert stage.deleted == []
        assert stage.reasons == ["completed"]


def test_cancel_that_into_the_question_cancels_the_run() -> None:
    with Asking("I left it.") as stage:
        stage.pass_s(0.8)
        stage.say("cancel that")
        stage.pass_s(3)
        assert stage.deleted == []
        assert stage.reasons == ["aborted"]


@pytest.mark.parametrize("how", ["spoken", "long", "heard"])
def test_wait_into_the_question_holds_it_and_leaves_it_open(how: str) -> None:
    with Asking("I deleted it.") as stage:
        stage.pass_s(0.8)
        if how == "heard":
            stage.dialogue.hear("wait")
            stage.settle()
        else:
            stage.say("wait", seconds=1.2 if how == "long" else 0.3)
        stage.pass_s(3)
        assert len(stage.agent.llm.requests) == 1, "the model is not asked"
        stage.say("yes")
        stage.pass_s(3)
        assert stage.deleted == ["hall"]


def test_go_on_after_a_wait_into_the_question_says_the_rest_of_it() -> None:
    with Asking("I deleted it.") as stage:
        stage.pass_s(0.8)
        stage.say("wait")
        stage.pass_s(3)
        stage.say("go on")
        stage.pass_until(lambda: heard(stage)[-1:] == ["Shall I delete map the hall? Yes or no?"])


def test_what_began_before_the_question_does_not_answer_it() -> None:
    with Asking("I left it.", "Yes what?") as stage:
        stage.begin(0.6)  # voice activity is late over the robot's voice
        stage.pass_s(0.4)
        stage.pause("yes sure")
        stage.pass_s(0.2)
        stage.end()
        stage.pass_s(4)
        assert stage.deleted == []


def test_while_a_tool_waits_for_an_answer_nothing_else_is_asked_about() -> None:
    with Asking("Fine.", settings=DialogueSettings(chimes=False, phrases=Phrases(["turn right"]))) as stage:
        stage.pass_until(lambda: stage.state is not State.SPEAKING)
        stage.say("turn right", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is not State.SPEAKING)
        stage.pass_s(0.1)
        heard = [event.text for event in stage.log if event.kind == "heard"]
        assert heard[-1] == "Sorry, I did not understand that."
