"""Words that were not surely understood count where most of what may have been said asks for the same."""

import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from edgeagent import Agent, ModelError, Options, Session, tool
from edgeagent.hooks import PIIHook
from edgeagent.llm import LLMRequest
from edgeagent.messages import Message, ToolResult
from edgeagent.robot import SafetyLatch
from edgeagent.session import Foresight
from edgeagent.stt import HearingEvent, RecognisedText, SpottedPhrase, hearing
from edgeagent.testing import ScriptedLLM, call
from edgeagent.voice import DialogueSettings, State

from .scenes import LIMIT_S, until
from .stage import Stage

SETTINGS = DialogueSettings(chimes=False)
KITCHEN = [call("go_to", place="kitchen")]
HALL = [call("go_to", place="hall")]
WENT: list[str] = []


@tool(motion=True)
def go_to(place: str) -> str:
    """Drives to a place."""
    WENT.append(place)
    return "There."


def _stage(**would: object) -> Stage:
    """A robot whose model calls something by the first word of what it is asked, "please" or "prease"."""

    def reply(request: LLMRequest) -> object:
        last = request.messages[-1]
        return would[last.text.split()[0]] if last.role == "user" else "I am there."

    WENT.clear()
    return Stage(*[reply] * 20, settings=SETTINGS, agent=Agent("robi", tools=[go_to]))


def _say(stage: Stage, *possible: tuple[str, float]) -> None:
    stage.say(possible[0][0], understood=False, confidence=0.4, possible=possible)
    stage.pass_s(0.5)


def _asked(stage: Stage) -> list[str]:
    return [message.text for message in stage.session.messages() if message.role == "user"]


def test_words_count_whose_others_make_the_same_call() -> None:
    with _stage(please=KITCHEN, prease=KITCHEN) as stage:
        _say(stage, ("please go to the kitchen", 0.5), ("prease go to the kitchen", 0.4))
        assert WENT == ["kitchen"]
        assert until(lambda: _asked(stage) == ["please go to the kitchen"]), (
            "what the model was asked before is not in history"
        )
        assert [event.understood for event in stage.log if event.kind == "transcript"] == [True]


def test_what_most_of_the_probability_asks_for_counts() -> None:
    with _stage(please=KITCHEN, prease="What?", plea="What?", peace=KITCHEN) as stage:
        _say(stage, ("please go to the kitchen", 0.5), ("plea go to the kitchen", 0.25), ("peace to the kitchen", 0.25))
        assert WENT == ["kitchen"]
        _say(stage, ("please go to the kitchen", 0.6), ("prease go to the hall", 0.2), ("plea go to the hall", 0.2))
        assert WENT == ["kitchen"], "0.6 are not enough"
        _say(stage, ("plea go there", 0.26), ("please go to it", 0.49), ("peace to it", 0.25))
        assert WENT == ["kitchen", "kitchen"]
        assert _asked(stage)[-1] == "please go to it", "the likeliest of those that ask for it"


def test_nothing_is_done_against_what_the_recogniser_would_have_written() -> None:
    with _stage(please=KITCHEN, prease=HALL) as stage:
        _say(stage, ("prease go to the hall", 0.1), ("please go to the kitchen", 0.9))
        assert WENT == []


def test_the_model_is_asked_no_more_than_it_takes() -> None:
    with _stage(please=KITCHEN, prease=HALL, plea=HALL) as stage:
        _say(stage, ("please go to the kitchen", 0.4), ("prease go to the hall", 0.4), ("plea go to the hall", 0.2))
        assert len(stage.llm.requests) == 2, "then neither can have enough"


@pytest.mark.parametrize(
    "would",
    [
        {"please": KITCHEN, "prease": HALL},
        {"please": "Hello.", "prease": "Hello."},
        {"please": "Hello.", "prease": KITCHEN},
        {"please": KITCHEN, "prease": ModelError("broken")},
        {"please": {"error": "broken"}, "prease": KITCHEN},
        {"please": SystemExit("broken"), "prease": KITCHEN},
    ],
    ids=["another call", "no call", "only the other calls", "it fails", "it ends with an error", "it exits"],
)
def test_words_stay_in_doubt_that_may_mean_another_thing_or_none(would: dict[str, object]) -> None:
    with _stage(**would) as stage:
        _say(stage, ("please go to the kitchen", 0.6), ("prease go to the hall", 0.4))
        assert WENT == []
        assert _asked(stage) == []
        stage.pass_until(lambda: "heard" in stage.kinds())
        assert stage.state is State.LISTENING, "it has asked, and done nothing"


@pytest.mark.parametrize(
    "other",
    [
        "stop moving please", "go to the kitchen stop", "don't go to the kitchen", "no need to go to the kitchen",
        "hey robi", "louder", "hey robi louder", "hey robi continue", "hey robi go to sleep",
    ],
)  # fmt: skip
def test_a_control_a_prohibition_or_a_stop_word_among_them_is_not_weighed(other: str) -> None:
    settings = replace(SETTINGS, wake_words=("hey robi",))
    with Stage(*[KITCHEN] * 9, settings=settings, agent=Agent("robi", tools=[go_to])) as stage:
        stage.spot("hey robi")
        _say(stage, ("please go to the kitchen", 0.6), (other, 0.4))
        assert stage.llm.requests == []


def test_the_model_is_asked_without_the_wake_word() -> None:
    settings = replace(SETTINGS, wake_words=("hey robi",))
    with Stage(*[KITCHEN] * 9, settings=settings, agent=Agent("robi", tools=[go_to])) as stage:
        stage.spot("hey robi")
        _say(stage, ("please go to the kitchen", 0.6), ("hey robi go to the kitchen", 0.4))
        assert stage.llm.requests[1].messages[-1].text == "go to the kitchen"


def test_words_that_were_acted_on_are_not_acted_on_again_when_they_are_heard_anew() -> None:
    settings = replace(SETTINGS, wake_words=("robi",))
    WENT.clear()
    replies = [lambda request: KITCHEN if request.messages[-1].role == "user" else ""] * 9
    with Stage(*replies, settings=settings, agent=Agent("robi", tools=[go_to])) as stage:
        stage.spot("robi")
        stage.begin()
        stage.pass_s(0.3)
        stage.pause(
            "robi go to the kitchen",
            understood=False,
            possible=(("robi go to the kitchen", 0.6), ("robi go to the kitten", 0.4)),
        )
        stage.pass_s(0.7)
        assert WENT == ["kitchen"]
        stage.go_on()
        stage.pass_s(0.1)
        stage.pause("robi go to the kitchen")
        stage.pass_s(1.5)
        stage.end()
        assert WENT == ["kitchen"]


def test_a_robot_that_moves_does_not_weigh_words(drives: Stage) -> None:
    before = len(drives.llm.requests)
    _say(drives, ("please go to the kitchen", 0.6), ("prease go to the kitchen", 0.4))
    assert len(drives.llm.requests) == before


# --- what the model is shown ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "agent",
    [
        Agent("robi", tools=[go_to], hooks=[PIIHook("redact")]),
        Agent("robi", tools=[go_to], options=Options(get_ephemeral_messages=lambda: ["You are in the hall."])),
        Agent("robi", tools=[go_to], options=Options(transform_context=lambda messages: messages[-3:])),
        Agent("robi", tools=[go_to], options=Options(convert_messages=lambda messages: messages)),
        Agent("robi", tools=[go_to], options=Options(tool_choice="none")),
        Agent("robi"),
    ],
    ids=["a hook that fails closed", "more messages", "another context", "other messages", "no calls", "no tools"],
)
def test_nothing_is_weighed_where_a_builder_changes_what_a_model_may_see_or_do(agent: Agent) -> None:
    with Stage(*[KITCHEN] * 3, settings=SETTINGS, agent=agent) as stage:
        _say(stage, ("please mail bob@example.com", 0.5), ("please mail to bob@example.com", 0.5))
        assert stage.llm.requests == []


def test_it_is_shown_history_as_a_run_is() -> None:
    with Stage("Okay.", *[KITCHEN] * 2, "There.", settings=SETTINGS, agent=Agent("robi", tools=[go_to])) as stage:
        going = call("go_to", place="hall")
        stage.session.restore([
            Message.user("go to the hall"),
            Message("assistant", "", tool_calls=(going,)),
            Message.tool(ToolResult(going.id, "go_to", "detached", "it goes on")),
            Message("note", "for the app alone"),
            Message.user("go_to has ended: arrived at the hall", origin="follow_up"),
            Message("assistant", "I am there."),
        ])  # fmt: skip
        stage.session.note("the door is open")
        _say(stage, ("please go there", 0.9), ("prease go there", 0.1))
        texts = [message.text for message in stage.llm.requests[0].messages]
        assert texts == [
            "go to the hall",
            "",
            "arrived at the hall",
            "I am there.",
            "the door is open",
            "please go there",
        ]


def test_a_model_that_can_not_answer_here_is_not_given_up_for_another() -> None:
    small, other = ScriptedLLM("Hi.", context_window=200, name="small"), ScriptedLLM("Hi.", name="other")
    session = Session(Agent("robi", llm=small, tools=[go_to]), fallback_models=[other])
    with session, closing(Foresight(session)) as foresight:
        session.restore([Message.user("hello " * 50), Message("assistant", "hello " * 300)])
        told: list[str | None] = []
        foresight.ask([("go to the kitchen", 1.0)], told.append)
        assert foresight.settle(LIMIT_S)
        assert told == [None]
        assert other.requests == []


# --- while the model thinks about them ------------------------------------------------------------------------------


class Thinking:
    """A conversation whose model is asked what it would do, and has not answered."""

    def __init__(self) -> None:
        asked, self.answers = threading.Event(), threading.Event()

        def slow(request: LLMRequest) -> object:
            asked.set()
            assert self.answers.wait(LIMIT_S)
            return KITCHEN if request.messages[-1].role == "user" else "I am there."

        WENT.clear()
        agent = Agent("robi", tools=[go_to], latch=SafetyLatch())
        self.stage = Stage(*[slow] * 20, settings=SETTINGS, agent=agent)
        self.stage.begin()
        self.stage.pass_s(0.3)
        self.tell(hearing.SoftEnd(1, self.stage.now_s))
        possible = (("please go to the kitchen", 0.5), ("prease go to the kitchen", 0.5))
        words = RecognisedText("please go to the kitchen", understood=False, possible=possible)
        self.tell(hearing.FinalTranscript(1, words, self.stage.now_s, 0.1, SpottedPhrase("stop", 0.0, 0.1, 0.1, 0.0)))
        assert asked.wait(LIMIT_S)

    def tell(self, event: HearingEvent) -> None:
        """The ears tell something, and nobody waits for what comes of it."""
        self.stage.ears.on_event(event)

    def heard(self) -> list[str]:
        self.stage.pass_s(1.0)
        return [event.text for event in self.stage.log if event.kind == "transcript"]


@pytest.fixture
def thinking() -> Iterator[Thinking]:
    made = Thinking()
    with made.stage:
        yield made
        made.answers.set()


def test_speech_that_goes_on_takes_the_place_of_the_words(thinking: Thinking) -> None:
    thinking.tell(hearing.SpeechResumed(1, thinking.stage.now_s))
    thinking.answers.set()
    thinking.stage.settle()
    assert thinking.heard() == []
    thinking.stage.pause("please go to the kitchen tomorrow", understood=False)
    thinking.stage.end()
    assert thinking.heard() == ["please go to the kitchen tomorrow"]
    assert WENT == []


def test_who_speaks_again_is_answered_and_the_words_before_stay_in_doubt(thinking: Thinking) -> None:
    thinking.tell(hearing.HardEnd(1, thinking.stage.now_s, cut=False))
    thinking.tell(hearing.SpeechStarted(2, thinking.stage.now_s, begin_s=thinking.stage.now_s))
    thinking.answers.set()
    thinking.stage.settle()
    thinking.stage.ears.utterance = 2
    thinking.stage.pause("what can you do")
    thinking.stage.end()
    assert thinking.heard() == ["please go to the kitchen", "what can you do"]
    assert _asked(thinking.stage) == ["what can you do"]


def test_a_stop_ends_it_and_nothing_moves_after_it(thinking: Thinking) -> None:
    thinking.stage.dialogue.stop()
    thinking.tell(hearing.HardEnd(1, thinking.stage.now_s, cut=False))
    thinking.answers.set()
    thinking.stage.settle()
    assert thinking.heard() == ["please go to the kitchen"]
    assert thinking.stage.dialogue.rearm()
    thinking.stage.pass_s(1.0)
    assert WENT == []
    assert _asked(thinking.stage) == []


def test_a_model_that_is_too_slow_is_not_waited_for(thinking: Thinking) -> None:
    for _ in range(250):
        thinking.stage.ears.block()
    assert until(lambda: any(event.kind == "transcript" for event in thinking.stage.log))
    thinking.answers.set()
    thinking.stage.settle()
    assert thinking.heard() == ["please go to the kitchen"]
    assert _asked(thinking.stage) == []
    thinking.stage.end()
    thinking.stage.pass_until(lambda: thinking.stage.state is State.LISTENING)
    thinking.stage.pass_s(20.0)
    before = len(thinking.stage.llm.requests)
    _say(thinking.stage, ("please go there", 0.5), ("prease go there", 0.5))
    assert len(thinking.stage.llm.requests) == before, "nor asked again"


def test_what_an_app_begins_meanwhile_does_not_wait_and_ends_the_belief(thinking: Thinking) -> None:
    handle = thinking.stage.session.start("the app's own request")
    assert until(lambda: any(event.kind == "transcript" for event in thinking.stage.log)), "nothing is waited for"
    thinking.answers.set()
    handle.result(LIMIT_S)
    thinking.tell(hearing.HardEnd(1, thinking.stage.now_s, cut=False))
    thinking.stage.settle()
    assert thinking.heard() == ["please go to the kitchen"]
    assert _asked(thinking.stage) == ["the app's own request"]


def test_the_rest_of_a_sentence_is_waited_for_as_long_as_if_it_were_unfinished(thinking: Thinking) -> None:
    preset = SETTINGS.preset
    assert until(lambda: thinking.stage.ears.hard_end_ms == max(preset.unfinished_end_ms, preset.reopen_ms))


def test_what_it_is_left_for_is_no_error(thinking: Thinking, caplog: pytest.LogCaptureFixture) -> None:
    thinking.tell(hearing.SpeechResumed(1, thinking.stage.now_s))
    thinking.answers.set()
    thinking.stage.settle()
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


def test_it_ends_with_the_conversation(thinking: Thinking) -> None:
    closer = threading.Thread(target=thinking.stage.dialogue.close)
    closer.start()
    thinking.answers.set()
    closer.join(LIMIT_S)
    assert not closer.is_alive()
    assert "foresight" not in [thread.name for thread in threading.enumerate()]
    assert WENT == []


def test_a_run_is_aborted_before_the_model_has_told(thinking: Thinking) -> None:
    handle = thinking.stage.session.start("the app's own request")
    closer = threading.Thread(target=thinking.stage.dialogue.close)
    closer.start()
    assert handle.result(LIMIT_S).reason == "aborted", "though the model does not heed the stop"
    thinking.answers.set()
    closer.join(LIMIT_S)
    assert not closer.is_alive()
