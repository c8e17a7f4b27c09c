"""Where a turn ends, what belongs to it, and what its answer is."""

import threading

import pytest

from edgeagent import Agent, skill
from edgeagent.english import Phrases
from edgeagent.robot import SafetyLatch
from edgeagent.stt import RecognisedText, hearing
from edgeagent.testing import call
from edgeagent.tools import GoalHandle
from edgeagent.voice import GUESS_S, PRESETS, State

from .scenes import LONG, Waiting, quiet, until
from .stage import Stage


def test_a_question_is_answered_aloud() -> None:
    with Stage("It is noon.") as stage:
        stage.say("what time is it")
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert stage.states() == ["hearing", "thinking", "speaking", "listening"]
        assert [m.text for m in stage.session.messages()] == ["what time is it", "It is noon."]
        stage.pass_s(0.1)
        assert [event.text for event in stage.log if event.kind == "heard"] == ["It is noon."]


def test_a_complete_command_ends_soon_and_an_unfinished_one_late() -> None:
    with Stage("Going.", settings=quiet(phrases=Phrases(["go to the kitchen"]))) as stage:
        stage.begin()
        stage.pause("go to the")
        assert stage.ears.hard_end_ms == PRESETS["balanced"].unfinished_end_ms
        stage.pass_s(1.2)
        assert not stage.session.messages()
        stage.go_on()
        stage.pause("go to the kitchen")
        assert _waited_ms(stage) == pytest.approx(PRESETS["balanced"].command_end_ms, abs=60)
        assert stage.ears.hard_end_ms == PRESETS["balanced"].reopen_ms, "it may go on"
        assert stage.session.messages()[0].text == "go to the kitchen"


def _waited_ms(stage: Stage) -> float:
    """Silence until the turn is over."""
    since_s = stage.now_s
    stage.pass_until(lambda: stage.state is not State.HEARING, 3.0)
    return (stage.now_s - since_s) * 1000


@pytest.mark.parametrize(
    ("text", "probability", "ends"),
    [
        ("the kitchen is nice", 0.9, "command_end_ms"),
        ("the kitchen is nice", 0.1, "unfinished_end_ms"),
        ("go to the kitchen", 0.9, "command_end_ms"),
        ("go to the kitchen", 0.1, "statement_end_ms"),
        ("what time is it", 0.9, "question_end_ms"),
        ("go to the", 0.9, "unfinished_end_ms"),
    ],
)
def test_a_turn_end_model_decides_where_the_words_do_not(text: str, probability: float, ends: str) -> None:
    with Stage("Yes.") as stage:
        stage.begin()
        stage.pause(text)
        stage.tell(hearing.Judged(stage.ears.utterance, probability))
        assert _waited_ms(stage) == pytest.approx(getattr(PRESETS["balanced"], ends), abs=60)


def test_what_is_not_understood_is_asked_about_and_never_acted_on() -> None:
    with Stage() as stage:
        stage.say("hop to the kick", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        assert stage.session.messages() == []
        assert not stage.llm.requests


def test_what_is_not_understood_but_unfinished_is_waited_for_before_it_is_asked_about() -> None:
    with Stage("Right.") as stage:
        stage.begin()
        stage.pause("turn right by", understood=False)
        assert _waited_ms(stage) == pytest.approx(PRESETS["balanced"].unfinished_end_ms, abs=60)


def test_a_noise_is_no_turn() -> None:
    with Stage() as stage:
        stage.say("", understood=False)
        assert stage.state is State.LISTENING
        assert not stage.llm.requests


def test_speech_that_goes_on_after_a_hard_end_makes_one_turn_of_both_parts() -> None:
    with Stage("Wrong.", "Right.", token_delay_s=0) as stage:
        held = threading.Event()
        model = Waiting(stage.llm, held)
        stage.agent.llm = model  # type: ignore[assignment]
        stage.begin()
        stage.pause("go to the kitchen")
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: stage.state is State.THINKING)
        stage.ears.utterance += 1
        stage.ears.on_event(hearing.SpeechStarted(stage.ears.utterance, stage.now_s))
        assert until(lambda: stage.state is State.HEARING)
        stage.ears.on_event(hearing.SoftEnd(stage.ears.utterance, stage.now_s))
        stage.ears.on_event(
            hearing.FinalTranscript(stage.ears.utterance, RecognisedText("and bring me a cup"), stage.now_s, 0.1)
        )
        stage.ears.on_event(hearing.HardEnd(stage.ears.utterance, stage.now_s, cut=False))
        assert until(lambda: model.asked == 2)
        held.set()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        texts = [m.text for m in stage.session.messages() if m.role == "user"]
        assert texts == ["go to the kitchen and bring me a cup"]


def _answer_to_half(stage: Stage, text: str) -> None:
    """Somebody says half of something, and pauses until the robot begins to answer."""
    stage.begin()
    stage.pause(text)
    stage.pass_until(lambda: stage.state in (State.SPEAKING, State.ACTING))


def _asked(stage: Stage) -> list[str]:
    return [m.text for m in stage.session.messages() if m.role == "user" and m.origin != "marker"]


def test_speech_that_goes_on_after_the_answer_has_begun_is_one_turn_and_the_answer_is_taken_back() -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        assert stage.state is State.HELD
        stage.pause("drive forward two meters")
        stage.pass_s(0.4)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward two meters", "Right."]
        assert stage.kinds().count("speech_start") == 2
        assert [e.soft for e in stage.log if e.kind == "speech_end"] == [True, False, True, False]


def test_speech_that_goes_on_after_it_was_asked_about_is_answered_as_a_whole() -> None:
    with Stage("Right.") as stage:
        stage.begin()
        stage.pause("please try to me", understood=False)
        stage.pass_until(lambda: stage.state is State.SPEAKING)
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("please drive to the bedroom")
        stage.pass_s(0.4)
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["please drive to the bedroom", "Right."]


@pytest.mark.parametrize("spotted", [True, False])
def test_a_stop_that_follows_at_once_stops_though_it_belongs_to_the_same_utterance(
    driving: tuple[Agent, threading.Event, list[str]], spotted: bool
) -> None:
    agent, _, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.3)
        if spotted:
            stage.spot("stop")
            stage.partly("drive forward stop")
            stage.pass_s(GUESS_S + 0.1)
            assert stage.dialogue.latch.state == "tripped", "it begins what goes on"
        stage.pause("drive forward stop")
        assert stage.dialogue.latch.state == "tripped"
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert len(stage.llm.requests) == 1


def test_never_mind_that_follows_at_once_cancels_though_it_belongs_to_the_same_utterance(
    driving: tuple[Agent, threading.Event, list[str]],
) -> None:
    agent, _, _ = driving
    with Stage([call("drive")], agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pause("drive forward never mind")
        stage.end()
        assert until(lambda: not agent.goals_at_work)
        assert len(stage.llm.requests) == 1


def test_a_noise_after_the_answer_has_begun_lets_it_go_on() -> None:
    with Stage(LONG) as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        assert stage.state is State.HELD
        stage.pause("drive forward")
        assert stage.state is State.SPEAKING
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward", LONG]


@pytest.mark.parametrize(
    ("rest", "asked"),
    [
        ("what time is it", "what time is it"),
        ("please go to the kitchen", "please go to the kitchen"),
        ("no to the kitchen", "drive forward no to the kitchen"),
        ("two meters", "drive forward two meters"),
        ("to the window", "drive forward to the window"),
        ("and turn around", "drive forward and turn around"),
    ],
)
def test_only_what_is_no_utterance_of_its_own_belongs_to_what_was_answered(rest: str, asked: str) -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause(f"drive forward {rest}")
        stage.pass_s(1.4)
        assert until(lambda: len(stage.llm.requests) == 2)
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert _asked(stage)[-1] == asked
        assert len(_asked(stage)) == (1 if asked.startswith("drive") else 2)


def test_speech_whose_beginning_was_taken_for_a_noise_still_belongs_to_the_turn() -> None:
    with Stage(LONG, "Right.") as stage:
        _answer_to_half(stage, "drive forward")
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("drive forward")
        stage.pass_s(0.4)
        assert stage.ears.hard_end_ms == PRESETS["balanced"].reopen_ms
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause("drive forward two meters")
        stage.end()
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [m.text for m in stage.session.messages()] == ["drive forward two meters", "Right."]


@pytest.mark.parametrize(
    ("whole", "asked"),
    [
        ("drive forward two meters", ["drive forward", "drive forward two meters"]),
        ("drive forward and turn left", ["drive forward", "turn left"]),
    ],
)
def test_what_half_of_a_turn_has_begun_stays_in_history_and_the_rest_is_asked(whole: str, asked: list[str]) -> None:
    driven: list[str] = []

    @skill(on_interrupt="detach", resources=["base"])
    def drive(goal: GoalHandle, how: str) -> str:
        """Drives until it is replaced."""
        driven.append(how)
        while how == "on" and not goal.cancelled:
            goal.checkpoint()
        return "stopped"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive", how="on")], [call("drive", how="anew")], "Right.", "Yes.", agent=agent) as stage:
        _answer_to_half(stage, "drive forward")
        stage.pass_until(lambda: driven == ["on"])
        stage.go_on()
        stage.pass_s(0.2)
        stage.pause(whole)
        stage.end()
        assert until(lambda: driven == ["on", "anew"]), "the second replaces the first"
        stage.pass_until(lambda: stage.state is State.LISTENING)
        assert [text.removeprefix("and ") for text in _asked(stage)][:2] == asked
