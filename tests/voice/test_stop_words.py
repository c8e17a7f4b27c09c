"""A stop word halts at once, and what else is heard of it decides whether it was one."""

import threading
from typing import cast

import pytest

from edgeagent import Agent, tool
from edgeagent.llm import LLM
from edgeagent.robot import SafetyLatch
from edgeagent.stt import hearing
from edgeagent.testing import call
from edgeagent.voice import State

from .scenes import LONG, QUIET, Waiting, count_to_sixteen, latched, late, quiet, transcribed, until
from .stage import Stage


def test_a_stop_word_halts_at_once_and_its_transcript_trips(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        assert stage.dialogue.latch.state == "held"
        stage.partly("stop")
        assert stage.dialogue.latch.state == "held", "it may be the beginning of anything"
        stage.pause("stop")
        assert stage.dialogue.latch.state == "tripped"
        assert until(lambda: "stopped" in ends)
        stage.end()
        assert len(stage.llm.requests) == 1, "no model is asked"


def test_a_guess_before_the_end_does_not_trip_where_a_dont_may_stand_before_the_word() -> None:
    with Stage("All right.", agent=latched()) as stage:
        stage.begin()
        stage.pass_s(0.6)
        stage.spot("stop")
        stage.partly("stop")
        assert stage.dialogue.latch.state == "held"
        stage.pause("please do not stop")
        assert stage.dialogue.latch.state == "free"


def test_a_stop_word_that_was_none_lets_the_robot_drive_on(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "I see.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        stage.pause("the bus stop is far away")
        assert stage.dialogue.latch.state == "free"
        stage.end()
        assert until(lambda: ends == ["paused", "resumed"]), ends
        stage.dialogue.stop()
        assert until(lambda: "stopped" in ends)


def test_a_stop_word_that_was_none_lets_the_robot_drive_on_while_somebody_still_speaks(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "I see.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.pass_s(0.6)
        stage.spot("stop")
        stage.look("please turn by thirty degrees")
        assert stage.dialogue.latch.state == "held", "the end of the word may be missing"
        assert stage.ears.looks == []
        stage.pass_s(0.4)
        assert stage.ears.looks == [("stop",)]
        stage.look("turn thirty degrees")
        assert stage.dialogue.latch.state == "held", "three words may be a stop word"
        stage.look("please turn by thirty degrees")
        assert stage.dialogue.latch.state == "free"
        stage.pass_s(4.0)
        assert len(stage.ears.looks) == 1, "no word waits"
        assert stage.ears.doubted == ()
        assert ends == ["paused", "resumed"]
        stage.pause("please turn by thirty degrees and stop")
        assert stage.dialogue.latch.state == "tripped", "all of it was heard"
        assert until(lambda: "stopped" in ends)


def test_a_stop_word_that_the_ears_have_looked_for_in_vain_lets_the_robot_drive_on_though_little_was_said(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "I see.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin(ago_s=0.5)
        stage.pass_s(0.6)
        stage.spot("stop")
        stage.pass_s(0.2)
        assert stage.ears.doubted == ("stop",)
        stage.pause("where are you", excluded=("stop",))
        assert stage.dialogue.latch.state == "free"
        stage.pass_s(4.0)
        assert ends == ["paused", "resumed"]


def test_words_that_were_answered_already_make_no_stop_word_longer(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], "I see.", agent=agent) as stage:
        stage.begin()
        stage.pass_s(0.6)
        stage.pause("drive on to the kitchen")
        stage.pass_s(0.6)
        assert began.wait(10)
        stage.go_on()
        stage.pass_s(0.5)
        stage.spot("stop")
        stage.pass_s(0.4)
        stage.look("drive on to the kitchen up")
        assert stage.dialogue.latch.state == "held"
        stage.look("drive on to the kitchen and then wave to me")
        assert stage.dialogue.latch.state == "free"


def test_a_stop_word_in_the_robots_own_voice_lets_it_go_on_where_nobody_has_spoken() -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        stage.pass_s(1.0)
        stage.spot("stop")
        assert stage.state is State.HELD
        assert stage.dialogue.latch.state == "held"
        stage.pass_s(1.0)
        assert stage.dialogue.latch.state == "free"
        assert stage.state is State.SPEAKING
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.session.messages()[1].text == LONG


def test_a_stop_word_over_the_robots_voice_counts_where_somebody_has_spoken() -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        stage.pass_s(1.0)
        stage.spot("stop")
        stage.begin()
        stage.pause("", understood=False)
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == "tripped"


TEMPTING = "I never stop in the middle of a room full of people who are talking to each other."


def until_it_says_stop(stage: Stage) -> None:
    stage.pass_until(lambda: "stop" in stage.dialogue.robot.queue.saying(stage.now_s)[0])


def spotted_without_words(stage: Stage) -> None:
    """The spotter hears a "stop" in speech of which no recogniser knows a word."""
    stage.begin()
    stage.spot("stop")
    assert stage.dialogue.latch.state == "held"
    stage.pause("", understood=False)
    stage.end()
    stage.pass_s(1.2)


@pytest.mark.parametrize(("wait_s", "latched_after"), [(0.3, "free"), (2.2, "tripped")])
def test_a_stop_word_that_the_robot_was_just_saying_needs_a_recogniser_that_has_heard_it(
    wait_s: float, latched_after: str
) -> None:
    with Stage(TEMPTING, agent=latched()) as stage:
        stage.say("tell me of rooms")
        until_it_says_stop(stage)
        stage.pass_s(wait_s)
        spotted_without_words(stage)
        assert stage.dialogue.latch.state == latched_after
        assert stage.state is (State.SPEAKING if latched_after == "free" else State.LISTENING)


def test_a_stop_word_that_the_robot_was_just_saying_counts_where_somebody_has_said_it_too() -> None:
    with Stage(TEMPTING, agent=latched()) as stage:
        stage.say("tell me of rooms")
        until_it_says_stop(stage)
        stage.begin()
        stage.spot("stop")
        stage.pause("stop")
        assert stage.dialogue.latch.state == "tripped"


def test_a_stop_word_that_the_robot_was_just_saying_counts_where_something_moves(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.dialogue.say(TEMPTING, priority="urgent")
        until_it_says_stop(stage)
        spotted_without_words(stage)
        assert stage.dialogue.latch.state == "tripped"


def test_a_stop_word_that_the_robot_was_just_saying_counts_where_a_tool_works() -> None:
    began, go = threading.Event(), threading.Event()

    @tool
    def unlock() -> str:
        """Unlocks the door, after which the robot drives on."""
        began.set()
        go.wait(20)
        return "unlocked"

    with Stage([call("unlock")], "Done.", agent=Agent("robi", tools=[unlock], latch=SafetyLatch())) as stage:
        stage.say("unlock the door")
        assert began.wait(10)
        stage.dialogue.say(TEMPTING, priority="urgent")
        until_it_says_stop(stage)
        spotted_without_words(stage)
        assert stage.dialogue.latch.state == "tripped"
        go.set()


@pytest.mark.parametrize(("heard", "understood", "trips"), [("nice", True, False), ("nice", False, True)])
def test_a_backchannel_over_the_robots_voice_is_no_stop_word(heard: str, understood: bool, trips: bool) -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        stage.begin()
        stage.spot("stop")
        stage.pause(heard, understood=understood)
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == ("tripped" if trips else "free")


def test_a_backchannel_is_not_enough_where_something_moves(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.begin()
        stage.spot("stop")
        stage.pause("nice")
        stage.end()
        stage.pass_s(1.2)
        assert stage.dialogue.latch.state == "tripped"


def test_without_a_transcript_a_stop_word_counts() -> None:
    with Stage(agent=latched()) as stage:
        stage.spot("stop")
        stage.pass_s(0.9)
        assert stage.dialogue.latch.state == "held"
        stage.pass_s(0.2)
        assert stage.dialogue.latch.state == "tripped"


def test_the_transcript_catches_a_stop_word_that_the_spotter_missed() -> None:
    with Stage(agent=latched()) as stage:
        stage.say("stop")
        assert stage.dialogue.latch.state == "tripped"


def test_a_trip_lasts_until_somebody_says_continue() -> None:
    with Stage(agent=latched()) as stage:
        stage.say("stop")
        stage.say("continue")
        assert stage.dialogue.latch.state == "free"
        assert not stage.llm.requests


def test_motion_asked_for_while_it_is_off_is_answered_in_words_of_ours(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.dialogue.stop("button")
        stage.settle()
        stage.say("drive on")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.1)
        assert stage.session.messages()[-1].text == QUIET.stopped
        assert QUIET.stopped in [event.text for event in stage.log if event.kind == "heard"]
        assert not began.is_set()
        assert len(stage.llm.requests) == 1


def test_what_is_wanted_beside_a_stop_is_asked_once_the_robot_has_stopped(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, ends = driving
    with Stage([call("drive")], "I am in the hall.", agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        stage.say("stop and then tell me where you are")
        assert stage.dialogue.latch.state == "tripped"
        stage.pass_until(lambda: len(stage.llm.requests) == 2)
        assert until(lambda: "stopped" in ends)
        assert stage.llm.requests[-1].messages[-1].text == "tell me where you are"
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.dialogue.latch.state == "tripped", "motion stays off"


@pytest.mark.parametrize(
    "text",
    [
        "stop and",
        "stop and stop",
        "stop and then",
        "stop and go to",
        "stop and thank you",
        "stop and do not go to the kitchen",
        "stop and never drive again",
        "stop and you can move",
    ],
)
def test_nothing_is_asked_beside_a_stop_where_nothing_whole_is_wanted(text: str) -> None:
    with Stage("never said", agent=latched()) as stage:
        stage.say(text)
        stage.settle()
        assert stage.dialogue.latch.state == "tripped"
        assert not stage.llm.requests


def test_motion_that_is_wanted_beside_a_stop_stays_off(driving: tuple[Agent, threading.Event, list[str]]) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        stage.say("stop and drive on")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.dialogue.latch.state == "tripped"
        assert not began.is_set()


def test_a_second_stop_silences_a_robot_that_was_stopped_already() -> None:
    with Stage(LONG, agent=latched()) as stage:
        stage.say("stop")
        count_to_sixteen(stage)
        stage.say("stop")
        assert stage.state is State.LISTENING
        heard = [event.text for event in stage.log if event.kind == "heard"]
        assert heard
        assert heard != [LONG]


def test_a_stop_while_the_model_thinks_stops_the_model() -> None:
    with Stage("never said", agent=latched()) as stage:
        go = threading.Event()
        stage.agent.llm = cast(LLM, Waiting(stage.llm, go))
        stage.begin()
        stage.pause("tell me a story")
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: stage.state is State.THINKING)
        stage.dialogue.stop("button")
        assert until(lambda: stage.state is State.LISTENING)
        stage.settle()
        assert stage.dialogue.latch.reason == "button"


def test_stop_typed_while_nothing_goes_on_is_for_the_model() -> None:
    with Stage("There is nothing to stop.", agent=latched()) as stage:
        stage.dialogue.hear("stop", typed=True)
        stage.settle()
        stage.pass_s(0.5)
        assert stage.dialogue.latch.state == "free"
        assert len(stage.llm.requests) == 1


def test_stop_typed_while_it_speaks_stops_it() -> None:
    with Stage(LONG, agent=latched()) as stage:
        count_to_sixteen(stage)
        stage.dialogue.hear("stop")
        stage.settle()
        assert stage.dialogue.latch.state == "tripped"
        assert stage.state is State.LISTENING


@pytest.mark.parametrize("awake", [True, False])
def test_a_wake_word_beside_a_stop_allows_no_motion_again(awake: bool) -> None:
    with Stage("I see.", agent=latched(), settings=quiet(wake_words=("hey robi",))) as stage:
        if awake:
            stage.spot("hey robi")
        stage.say("stop and hey robi continue")
        stage.pass_s(1.0)
        assert stage.dialogue.latch.state == "tripped"
        assert not stage.llm.requests


def test_what_was_wanted_beside_a_stop_is_not_asked_once_motion_is_allowed_again(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, began, _ = driving
    with Stage([call("drive")], [call("drive")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(10)
        began.clear()
        utterance, at_s = late(stage)
        stage.spot("stop")
        stage.end()
        stage.pass_s(4.0)
        assert stage.dialogue.latch.state == "tripped"
        stage.dialogue.rearm()
        transcribed(stage, utterance, "stop and drive on", at_s)
        stage.pass_s(2.0)
        assert not began.is_set()
        assert len(stage.llm.requests) == 1


def test_a_second_stop_leaves_nothing_to_ask_of_the_first() -> None:
    with Stage(LONG, agent=latched()) as stage:
        utterance, at_s = late(stage)
        stage.pause("stop")
        stage.end()
        transcribed(stage, utterance, "stop and tell me a long story", at_s)
        stage.pass_s(2.0)
        assert not stage.llm.requests
        stage.begin()
        stage.pause("stop and tell me a long story")
        stage.dialogue.stop("button")
        stage.end()
        stage.pass_s(2.0)
        assert not stage.llm.requests
