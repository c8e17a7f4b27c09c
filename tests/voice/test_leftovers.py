"""What must not be left of a run that was stopped, cancelled or interrupted, and of a call that nobody followed."""

from __future__ import annotations

import threading

import pytest

from edgeagent import Agent, Options, tool
from edgeagent.llm import LLMRequest
from edgeagent.robot import SafetyLatch
from edgeagent.testing import ScriptedLLM, call
from edgeagent.voice import DialogueSettings, State
from tests.voice.scenes import until
from tests.voice.stage import Stage

LIMIT_S = 20


def words_heard(stage: Stage) -> str:
    return " ".join(event.text for event in stage.log if event.kind == "heard").strip()


def test_what_waits_behind_a_tool_is_cancelled_too() -> None:
    release, moved = threading.Event(), []

    @tool(timeout_s=LIMIT_S)
    def note() -> str:
        """Writes a note."""
        release.wait(LIMIT_S)
        return "noted"

    @tool(motion=True)
    def go() -> str:
        """Goes."""
        moved.append(1)
        return "gone"

    llm = ScriptedLLM([call("note")], [call("go")], "I went.", "I went.")
    with Stage(agent=Agent("robi", llm=llm, tools=[note, go], latch=SafetyLatch())) as stage:
        stage.say("write a note")
        stage.pass_until(lambda: stage.state is State.ACTING)
        stage.pass_s(1)
        stage.say("go to the kitchen")
        stage.pass_s(0.3)
        stage.say("cancel that")
        stage.pass_s(0.5)
        release.set()
        stage.pass_s(3)
        assert moved == []
        assert "Okay, cancelled." in words_heard(stage)


def test_the_filler_is_not_said_after_a_stop() -> None:
    release = threading.Event()

    @tool(read_only=True, timeout_s=LIMIT_S)
    def think() -> str:
        """Thinks, whatever happens."""
        release.wait(LIMIT_S)
        return "x"

    llm = ScriptedLLM([call("think")], "done")
    agent = Agent("robi", llm=llm, tools=[think], latch=SafetyLatch(), options=Options(abort_grace_s=LIMIT_S))
    with Stage(agent=agent) as stage:
        stage.say("think")
        stage.pass_s(2.0)
        stage.dialogue.stop("user")
        stage.pass_s(3)
        release.set()
        stage.pass_s(1)
        assert "moment" not in words_heard(stage)


def test_who_waits_until_nothing_goes_on_learns_that_a_request_was_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Event()

    def waits() -> bool:
        looked.set()
        return False

    with Stage() as stage:
        runs = stage.dialogue.robot.runs
        monkeypatch.setattr(stage.session, "start", lambda text: None)  # a run that has not begun
        runs.ask("go to the kitchen")
        settling = threading.Thread(target=runs.settle, args=(2 * LIMIT_S,), kwargs={"waits": waits})
        settling.start()
        assert looked.wait(LIMIT_S)
        runs.forget()
        settling.join(LIMIT_S)
        assert not settling.is_alive()


def test_a_run_that_waited_for_the_end_of_the_one_before_can_be_taken_back() -> None:
    asked, release = threading.Event(), threading.Event()

    def blocks(request: LLMRequest) -> str:
        asked.set()
        release.wait(LIMIT_S)
        return "A"

    with Stage(agent=Agent("robi", llm=ScriptedLLM(blocks, "B"))) as stage:
        runs = stage.dialogue.robot.runs
        runs.ask("a")
        assert asked.wait(LIMIT_S)
        stage.session.abort("barge_in")
        runs.ask("b")
        release.set()
        assert until(lambda: not runs.active)
        assert [message.text for message in stage.session.messages()][-1] == "B"
        assert until(lambda: runs.take_back("b", LIMIT_S)), "who has started it may be about to note that"
        assert "b" not in [message.text for message in stage.session.messages()]


def test_the_answer_to_a_question_that_was_overtaken_is_not_spoken() -> None:
    llm = ScriptedLLM("The kitchen is the second door on the left.", "I am robi.")
    with Stage(agent=Agent("robi", llm=llm)) as stage:
        stage.begin()
        stage.pass_s(0.3)
        stage.pause("where is the kitchen")
        stage.pass_s(0.2)
        stage.end()  # the reply is there at once, and is not heard yet
        assert stage.state is State.THINKING
        stage.dialogue.hear("who are you")
        stage.settle()  # before a sample of it is played
        stage.pass_s(4)
        assert words_heard(stage) == "I am robi."


def test_a_reply_that_somebody_asked_for_is_ended_by_the_next_turn() -> None:
    with Stage("hello there") as stage:
        stage.say("what time is it")
        assert [reply.deferred for reply in stage.dialogue.robot.queue._replies] == [False]


def test_a_call_over_its_voice_that_nothing_follows_leaves_the_robot_listening() -> None:
    settings = DialogueSettings(chimes=False, wake_words=("hey robi",))
    with Stage("hello there", settings=settings) as stage:
        stage.dialogue.say("people call me hey robi and then they ask me something about the house")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_s(0.8)
        stage.spot("hey robi")
        stage.pass_s(1)
        assert stage.state is State.LISTENING
        said = stage.dialogue.say("the soup is ready")
        stage.pass_s(3)
        assert said.done
        assert said.heard == "the soup is ready"


def test_who_called_over_its_voice_is_answered() -> None:
    settings = DialogueSettings(chimes=False, wake_words=("hey robi",))
    with Stage("It is noon.", settings=settings) as stage:
        stage.dialogue.say("the washing machine has finished and the laundry wants to be hung up now")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_s(0.5)
        stage.begin()
        stage.pass_s(0.5)
        stage.spot("hey robi")
        stage.pause("hey robi")
        stage.pass_s(0.3)
        stage.end()
        stage.pass_s(1)
        stage.say("what time is it")
        stage.pass_s(2)
        assert stage.session.messages()[-1].text == "It is noon."


def test_the_button_wakes_it() -> None:
    settings = DialogueSettings(chimes=False, push_to_talk=True, wake_words=("hey robi",))
    with Stage("It is noon.", settings=settings) as stage:
        assert stage.state is State.ASLEEP
        stage.dialogue.push_to_talk(True)
        stage.settle()
        stage.say("what time is it")
        stage.dialogue.push_to_talk(False)
        stage.pass_s(2)
        assert stage.session.messages()[-1].text == "It is noon."


def test_what_was_typed_while_somebody_spoke_is_answered_though_the_microphone_is_lost() -> None:
    with Stage("It is noon.") as stage:
        stage.begin()
        stage.dialogue.hear("what time is it")
        stage.settle()
        stage.dialogue.device("lost", "the microphone")
        stage.pass_s(2)
        assert stage.session.messages()[-1].text == "It is noon."


def test_a_text_without_a_word_interrupts_nothing() -> None:
    with Stage("This is a long answer that takes a while to say, and then some more.") as stage:
        stage.say("tell me something")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.dialogue.hear("  ")
        stage.pass_s(0.3)
        assert stage.state is State.SPEAKING
        assert "barge_in" not in stage.kinds()


def test_motion_that_waits_until_it_is_allowed_takes_the_devices_time() -> None:
    moved = []

    @tool(motion=True)
    def go() -> str:
        """Goes."""
        moved.append(1)
        return "gone"

    latch = SafetyLatch()
    with Stage(agent=Agent("robi", llm=ScriptedLLM([call("go")], "I went."), tools=[go], latch=latch)) as stage:
        assert latch.hold("somebody is near", owner="builder")
        stage.say("go to the kitchen")
        stage.pass_s(1)
        assert moved == []
        latch.release(owner="builder")
        stage.pass_until(lambda: bool(moved))
