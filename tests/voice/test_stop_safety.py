"""A stop is never lost or undone: which words count it, deny it, or say nothing of it."""

import pytest

from edgeagent import Agent, ToolContext, tool
from edgeagent.robot import SafetyLatch
from edgeagent.stt import SpottedPhrase, hearing
from edgeagent.testing import call
from edgeagent.voice import State

from .scenes import LONG, latch, transcribed, until
from .stage import Stage

# --- which words say something of a stop word -----------------------------------------------------------------------


@pytest.mark.parametrize("guess", ["the bus stop is over there", "don't stop at the door"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_second_stop_in_a_sentence_is_not_released_by_the_words_before_it(
    drives: Stage, guess: str, lost: bool
) -> None:
    drives.begin()
    drives.pass_s(0.5)
    drives.spot("stop")
    drives.pass_s(0.3)
    drives.partly(guess)
    assert latch(drives) == "free", "a false stop word lets it go on"
    drives.pass_s(1.0)
    drives.spot("stop")
    drives.partly(guess)
    assert latch(drives) == "held"
    drives.pass_s(0.2)
    drives.pause(guess if lost else f"{guess} stop")
    drives.end()
    drives.pass_s(1.2)
    assert latch(drives) == "tripped"


def test_a_second_stop_in_a_sentence_is_released_by_its_own_negation(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.5)
    drives.spot("stop")
    drives.partly("don't stop")
    drives.pass_s(0.6)
    drives.spot("stop")
    drives.pass_s(0.1)
    assert latch(drives) == "held"
    drives.pause("don't stop please don't stop")
    assert latch(drives) == "free"


def test_the_words_of_the_utterance_before_say_nothing_of_a_stop_word(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.8)
    before, ended_s = drives.ears.utterance, drives.now_s
    drives.tell(hearing.SoftEnd(before, ended_s))
    drives.pass_s(0.4)
    drives.end()
    drives.pass_s(0.6)
    drives.spot("stop")
    transcribed(drives, before, "how full is your battery please", ended_s)
    assert latch(drives) == "held"
    drives.pass_s(1.2)
    assert latch(drives) == "tripped"


def test_what_is_said_long_after_a_stop_word_does_not_deny_it(drives: Stage) -> None:
    drives.spot("stop")
    drives.pass_s(0.8)
    drives.begin(0.0)
    drives.pass_s(0.1)
    assert latch(drives) == "held"
    drives.pause("how full is your battery please")
    drives.end()
    drives.pass_s(0.3)
    assert latch(drives) == "tripped"


def test_a_stop_word_that_is_spotted_late_is_judged_by_the_words_it_lies_in(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.8)
    said_s = drives.now_s
    drives.pause("the bus stop is far")
    drives.pass_s(0.4)
    drives.end()
    drives.tell(hearing.KeywordSpotted(SpottedPhrase("stop", said_s - 0.5, said_s - 0.2, drives.now_s, 0.9)))
    assert latch(drives) == "free"
    drives.pass_s(3.5)
    assert latch(drives) == "free"


# --- the robot's own voice ------------------------------------------------------------------------------------------


def test_a_stop_word_in_the_robots_own_voice_counts_where_a_drive_is_about_to_begin() -> None:
    moved: list[str] = []

    @tool(motion=True)
    def drive(context: ToolContext) -> str:
        """Drives."""
        moved.append("drove")
        return "arrived"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive")], "Okay.", agent=agent) as stage:
        stage.dialogue.say(LONG)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_s(0.5)
        stage.spot("stop")
        stage.dialogue.robot.runs.ask("drive on")
        assert until(lambda: stage.dialogue.robot.runs.moves), "the drive waits while motion is held"
        for _ in range(110):
            stage.ears.block()
        assert until(lambda: latch(stage) == "tripped")
        assert until(lambda: not stage.agent.state.is_streaming)
        assert not moved


def test_a_false_stop_word_still_lets_the_drive_go_on(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.4)
    drives.spot("stop")
    assert latch(drives) == "held"
    drives.pass_s(0.4)
    drives.pause("the bus stop is far away")
    assert latch(drives) == "free"
    drives.end()
    drives.pass_s(3.5)
    assert latch(drives) == "free"
    assert drives.dialogue.robot.runs.acting


# --- a part of a sentence -------------------------------------------------------------------------------------------


def half(stage: Stage, text: str, *, understood: bool = True) -> None:
    """The first part of an utterance, which is answered or asked about before it goes on."""
    stage.begin()
    stage.pass_s(0.3)
    stage.pause(text, understood=understood)
    stage.pass_s(0.7)


def whole(stage: Stage, text: str) -> None:
    """It goes on, and is heard anew as a whole."""
    stage.go_on()
    stage.pass_s(0.8)
    stage.pause(text)
    stage.pass_s(0.9)
    stage.end()


def asked(stage: Stage) -> list[str]:
    return [message.text for message in stage.session.messages() if message.role == "user"]


@pytest.mark.parametrize(("first", "understood"), [("own", False), ("own", True), ("don't", False), ("don't", True)])
def test_a_prohibition_whose_beginning_was_heard_as_something_else_is_asked_whole(first: str, understood: bool) -> None:
    with Stage("Okay.", "Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        half(stage, first, understood=understood)
        whole(stage, "don't go to the kitchen")
        stage.pass_until(lambda: len(asked(stage)) > 0 and stage.state is State.LISTENING)
        assert not any(text.startswith("go to") for text in asked(stage))


@pytest.mark.parametrize("first", ["own", "thanks", "don't"])
def test_a_part_of_a_sentence_never_allows_motion(still: Stage, first: str) -> None:
    still.dialogue.stop("test")
    still.settle()
    half(still, first)
    whole(still, f"{'thanks' if first == 'thanks' else 'don' + chr(39) + 't'} continue")
    still.pass_s(0.5)
    assert latch(still) == "tripped"
    still.say("continue")
    still.pass_until(lambda: latch(still) == "free")


def test_a_forbidding_half_stays_with_its_other_half() -> None:
    with Stage("Okay.", "Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        half(stage, "under no circumstances")
        whole(stage, "under no circumstances go to the kitchen")
        stage.pass_until(lambda: len(asked(stage)) > 0 and stage.state is State.LISTENING)
        assert "go to the kitchen" not in asked(stage)


@pytest.mark.parametrize("first", ["the bus stop is over there", "don't stop at the door"])
@pytest.mark.parametrize("answered", [True, False])
def test_a_stop_counts_after_a_sentence_with_another_one_be_that_answered_or_not(
    drives: Stage, first: str, answered: bool
) -> None:
    drives.begin()
    drives.pass_s(0.5)
    drives.spot("stop")
    drives.pass_s(0.6)
    drives.pause(first)
    if answered:
        drives.pass_s(0.7)
    drives.go_on()
    drives.pass_s(0.6)
    drives.spot("stop")
    drives.pass_s(0.1)
    drives.partly(first)
    assert latch(drives) == "held", "the words of it are not known yet"
    drives.pass_s(0.2)
    drives.pause(first)
    drives.pass_s(1.0)
    drives.end()
    drives.pass_s(3.5)
    assert latch(drives) == "tripped", "the recogniser has lost it"


# --- code that wants to leave ---------------------------------------------------------------------------------------


def test_a_subscriber_that_calls_exit_ends_no_thread_of_the_conversation(drives: Stage) -> None:
    def leaves(event: object) -> None:
        raise SystemExit(1)

    unsubscribe = drives.dialogue.subscribe(leaves)
    drives.say("what time is it")
    unsubscribe()
    drives.begin()
    drives.pass_s(0.3)
    drives.spot("stop")
    assert latch(drives) == "held"
    drives.pause("stop")
    assert latch(drives) == "tripped"
