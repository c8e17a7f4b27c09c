"""What the robot says by itself is told, how far it has come is known, and so is when it hears."""

from __future__ import annotations

import threading

from edgeagent import Agent
from edgeagent.testing import ScriptedLLM, call
from edgeagent.voice import LEARN_S, DialogueSettings, State
from tests.voice.scenes import LIMIT_S, until
from tests.voice.stage import Stage

QUIET = DialogueSettings(chimes=False)
SENTENCE = "One two three four five six seven eight nine ten."


def said(stage: Stage) -> list[str]:
    return [event.text for event in stage.log if event.kind == "heard" and not event.message_id]


def heard(stage: Stage) -> list[str]:
    return [event.text for event in stage.log if event.kind == "heard"]


def test_what_it_says_by_itself_is_told_when_it_was_heard() -> None:
    with Stage(settings=QUIET) as stage:
        handle = stage.dialogue.say(SENTENCE)
        stage.pass_until(lambda: handle.heard.startswith("One two"))
        assert said(stage) == []
        stage.pass_until(lambda: bool(said(stage)))
        assert said(stage) == [SENTENCE]


def test_of_what_is_stopped_only_what_was_heard_is_told() -> None:
    with Stage(settings=QUIET) as stage:
        handle = stage.dialogue.say(SENTENCE)
        stage.pass_until(lambda: handle.heard.startswith("One two"))
        stage.dialogue.stop("test")
        stage.pass_s(0.2)
        (told,) = said(stage)
        assert told.startswith("One two")
        assert len(told) < len(SENTENCE)


def test_what_is_taken_back_before_it_was_heard_is_not_told() -> None:
    with Stage(settings=QUIET) as stage:
        stage.dialogue.say(SENTENCE).cancel()
        stage.pass_s(1.0)
        assert said(stage) == []


def test_an_answer_and_a_text_of_its_own_are_followed_to_the_word() -> None:
    with Stage(SENTENCE, settings=QUIET) as stage:
        queue = stage.dialogue.robot.queue
        for begin in (lambda: stage.dialogue.hear("count"), lambda: stage.dialogue.say(SENTENCE)):
            assert queue.saying(stage.now_s) == ("", "")
            begin()
            stage.pass_until(lambda: "three" in queue.saying(stage.now_s)[0])
            heard, rest = queue.saying(stage.now_s)
            assert heard + rest == SENTENCE
            assert "ten" in rest
            stage.pass_until(lambda: not any(queue.saying(stage.now_s)))


def test_what_waits_for_a_pause_is_said_while_a_skill_drives(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent, settings=QUIET) as stage:
        stage.say("drive on")
        assert began.wait(LIMIT_S)
        assert until(lambda: stage.state is State.ACTING)
        stage.pass_s(1.0)
        stage.dialogue.say(SENTENCE)
        stage.pass_until(lambda: SENTENCE in said(stage))
        assert agent.is_moving


def test_what_waits_for_a_pause_is_not_said_between_a_question_and_its_answer(drives: Stage) -> None:
    asked, answers = threading.Event(), threading.Event()

    def answer(request: object) -> str:
        asked.set()
        assert answers.wait(LIMIT_S)
        return "It is full."

    drives.agent.llm = ScriptedLLM(answer)
    drives.dialogue.hear("how full is your battery")
    assert asked.wait(LIMIT_S)
    drives.dialogue.say(SENTENCE)
    for _ in range(100):
        drives.ears.block()
    answers.set()
    drives.pass_until(lambda: SENTENCE in heard(drives))
    assert heard(drives)[-2:] == ["It is full.", SENTENCE]


def test_it_hears_when_it_has_heard_the_room_for_a_while() -> None:
    with Stage(settings=QUIET) as stage:
        stage.pass_s(LEARN_S * 0.9)
        assert stage.dialogue.level is not None
        assert not stage.dialogue.hears.is_set()
        stage.pass_s(LEARN_S * 0.2)
        assert stage.dialogue.hears.is_set()
