"""What was probably said is asked about, and a yes makes it count."""

import pytest

from edgeagent import Agent
from edgeagent.english import Phrases
from edgeagent.robot import SafetyLatch
from edgeagent.stt import RecognisedText
from edgeagent.voice import DialogueSettings, Guess, State, guessed

from .scenes import LONG
from .stage import Stage

PHRASES = Phrases(["go to the kitchen", "turn right", "where are you"])
SETTINGS = DialogueSettings(chimes=False, phrases=PHRASES)


def _unclear(text: str, confidence: float | None = 0.3) -> RecognisedText:
    return RecognisedText(text, understood=False, confidence=confidence)


@pytest.mark.parametrize("text", ["go to the kitchen", "turn right 3 times", "where are you"])
def test_a_whole_command_or_question_is_worth_asking_about(text: str) -> None:
    assert guessed(_unclear(text), PHRASES, ["stop"]) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "nothing"),
        ("turn", "a word"),
        ("don't go to the kitchen", "forbidden"),
        ("Don’t go to the kitchen", "forbidden, as Whisper may write it"),  # noqa: RUF001
        ("NEVER turn right", "forbidden in capitals"),
        ("dont turn right", "forbidden without an apostrophe"),
        ("continue", "it allows motion again"),
        ("you can move", "it allows motion again"),
        ("louder please", "a control"),
        ("robot stop", "a stop word"),
        ("go to the kitchen and stop", "a stop word"),
        ("go to the", "unfinished"),
        ("the odd occasion when i was young", "a statement"),
        ("go to the kitchen " * 4, "too long to be repeated"),
    ],
)
def test_what_is_not_worth_asking_about(text: str, why: str) -> None:
    assert guessed(_unclear(text), PHRASES, ["stop"]) is None, why


def test_while_motion_is_off_it_is_worth_asking_whether_it_was_allowed_again() -> None:
    assert guessed(_unclear("you can move"), PHRASES, ["stop"], stopped=True) == "you can move"
    for text in ("you can't move", "continue", "louder please", "stop you can move"):
        assert guessed(_unclear(text), PHRASES, ["stop"], stopped=True) is None


@pytest.mark.parametrize(
    ("text", "confidence", "worth"),
    [
        ("turn right", 0.1, False),
        ("turn right", None, False),
        ("sound an alarm", 0.5, True),
        ("sound an alarm", 0.3, False),
        ("the coffee is cold", 0.9, False),
    ],
)
def test_it_has_to_be_likely_and_what_no_rule_knows_more_so(text: str, confidence: float | None, worth: bool) -> None:
    assert (guessed(_unclear(text, confidence), PHRASES, ["stop"]) == text) is worth


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("yes", True), ("yeah do it", True), ("no", False), ("no thank you", False), ("no not that", False),
        ("no the bedroom", None), ("uh huh", None), ("what time is it", None), ("no don't", None),
    ],
)  # fmt: skip
def test_only_a_clear_yes_is_one(text: str, answer: bool | None) -> None:
    with Stage() as stage:
        handle = stage.dialogue.robot.remark("Did you say: turn right?")
        assert handle is not None
        stage.pass_until(lambda: handle.done)
        assert Guess("turn right", 0.0, handle).answered(text) is answer


# --- in a conversation ----------------------------------------------------------------------------------------------


def _ask_about(stage: Stage, text: str) -> None:
    stage.say(text, understood=False)
    stage.pass_until(lambda: stage.state is State.SPEAKING)


def _asked(stage: Stage) -> list[str]:
    return [message.text for message in stage.session.messages() if message.role == "user"]


def test_a_command_that_was_not_understood_counts_after_a_yes() -> None:
    with Stage("On my way.", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        assert _asked(stage) == []
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.1)
        assert [event.text for event in stage.log if event.kind == "heard"] == ["Did you say: go to the kitchen?"]
        stage.say("yes")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert _asked(stage) == ["go to the kitchen"]


def test_a_robot_at_rest_acts_on_what_is_likely() -> None:
    with Stage("On my way.", settings=SETTINGS) as stage:
        stage.say("please go to the kitchen", understood=False, likely=True, confidence=0.4)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert _asked(stage) == ["please go to the kitchen"]
        assert [event.understood for event in stage.log if event.kind == "transcript"] == [True]


def test_a_robot_that_moves_or_was_stopped_asks_about_what_is_likely(drives: Stage) -> None:
    drives.say("please go to the kitchen", understood=False, likely=True, confidence=0.4)
    drives.pass_s(0.5)
    assert "please go to the kitchen" not in _asked(drives)
    drives.dialogue.stop()
    drives.pass_until(lambda: drives.state is State.LISTENING)
    drives.say("now you can move again", understood=False, likely=True, confidence=0.4)
    drives.pass_s(0.5)
    assert drives.dialogue.latch.state == "tripped"
    assert [event.understood for event in drives.log if event.kind == "transcript"] == [True, False, False]


def test_likely_words_that_began_over_its_voice_are_not_believed_after_it() -> None:
    with Stage(LONG, "On my way.", settings=SETTINGS) as stage:
        stage.say("what can you do")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.begin()
        stage.pass_s(1.5)
        assert not stage.dialogue.robot.busy, "they have cut it"
        stage.pause("please go to the kitchen", understood=False, likely=True, confidence=0.4)
        stage.pass_s(0.3)
        stage.end()
        stage.pass_s(0.5)
        assert "please go to the kitchen" not in _asked(stage)


def test_likely_words_are_no_answer_to_a_question_of_the_models() -> None:
    with Stage("Shall I drive to the kitchen now?", "On my way.", settings=SETTINGS) as stage:
        stage.say("what can you do")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.say("yes please do that now", understood=False, likely=True, confidence=0.4)
        stage.pass_s(0.5)
        assert _asked(stage) == ["what can you do"]


def test_a_question_of_the_robots_is_not_answered_by_what_is_only_likely() -> None:
    with Stage("On my way.", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.pass_s(0.1)
        stage.say("yes please go to it", understood=False, likely=True, confidence=0.4)
        stage.pass_s(0.5)
        assert _asked(stage) == []


def test_a_yes_while_it_still_asks_is_one_too() -> None:
    with Stage("On my way.", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_s(1.4)
        assert stage.state is State.SPEAKING
        stage.say("yes")
        stage.pass_until(lambda: bool(_asked(stage)))
        assert _asked(stage) == ["go to the kitchen"]


def test_after_a_no_it_is_to_be_said_again() -> None:
    with Stage(settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.say("no")
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert not stage.llm.requests
        stage.say("yes")
        stage.pass_until(lambda: bool(_asked(stage)))
        assert _asked(stage) == ["yes"], "it is asked about once"


@pytest.mark.parametrize("said", ["turn right", "no the bedroom"])
def test_anything_else_is_asked_in_its_place(said: str) -> None:
    with Stage("Good.", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.say(said)
        stage.pass_until(lambda: bool(_asked(stage)))
        assert _asked(stage) == [said]


@pytest.mark.parametrize(("answer", "state"), [("yes", "free"), ("no", "tripped"), ("you can't move", "tripped")])
def test_motion_that_was_allowed_unclearly_is_allowed_after_a_yes(answer: str, state: str) -> None:
    with Stage("I stay.", agent=Agent("robi", latch=SafetyLatch()), settings=SETTINGS) as stage:
        stage.dialogue.stop("a person said so")
        stage.settle()
        _ask_about(stage, "you can move")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.dialogue.latch.state == "tripped"
        stage.say(answer)
        stage.pass_s(1)
        assert stage.dialogue.latch.state == state


def test_a_stop_takes_back_what_was_asked_about() -> None:
    with Stage(agent=Agent("robi", latch=SafetyLatch()), settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.dialogue.stop("a person said so")
        stage.settle()
        stage.dialogue.rearm()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        stage.say("yes")
        stage.pass_until(lambda: bool(_asked(stage)))
        assert _asked(stage) == ["yes"]


def _says_yes(stage: Stage) -> list[str]:
    """What the model is asked then."""
    stage.say("yes")
    stage.pass_until(lambda: bool(_asked(stage)))
    return _asked(stage)


def test_a_yes_of_somebody_who_has_not_heard_what_is_asked_is_none() -> None:
    with Stage("Yes?", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_s(0.1)
        assert _says_yes(stage) == ["yes"]


def test_a_yes_to_what_was_said_since_is_none() -> None:
    with Stage("Yes?", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        said = stage.dialogue.say("Shall I read your mail?")
        stage.pass_until(lambda: said.done)
        stage.pass_s(0.1)
        assert _says_yes(stage) == ["yes"]


def test_nobody_answers_a_question_half_a_minute_later() -> None:
    with Stage("Yes?", settings=SETTINGS) as stage:
        _ask_about(stage, "go to the kitchen")
        stage.pass_s(30)
        assert not stage.dialogue.turns._answering.question_open(stage.now_s)
        assert _says_yes(stage) == ["yes"]
