"""Words that were not surely understood count where most of what may have been said asks for the same."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from edgeagent import Agent, ModelError, tool
from edgeagent.llm import LLMRequest
from edgeagent.robot import SafetyLatch
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
        assert _asked(stage) == ["please go to the kitchen"], "what the model was asked before is not in history"
        assert [event.understood for event in stage.log if event.kind == "transcript"] == [True]


def test_what_most_of_the_probability_asks_for_counts() -> None:
    with _stage(please=KITCHEN, prease="What?", plea="What?", peace=KITCHEN) as stage:
        _say(stage, ("please go to the kitchen", 0.5), ("plea go to the kitchen", 0.25), ("peace to the kitchen", 0.25))
        assert WENT == ["kitchen"]
        _say(stage, ("please go to the kitchen", 0.6), ("prease go to the hall", 0.2), ("plea go to the hall", 0.2))
        assert WENT == ["kitchen"], "0.6 are not enough"
        _say(stage, ("plea go there", 0.26), ("please go to it", 0.25), ("peace to it", 0.49))
        assert WENT == ["kitchen", "kitchen"]
        assert _asked(stage)[-1] == "please go to it", "the likeliest of those that ask for it"


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
    ],
    ids=["another call", "no call", "only the other calls", "it fails", "it ends with an error"],
)
def test_words_stay_in_doubt_that_may_mean_another_thing_or_none(would: dict[str, object]) -> None:
    with _stage(**would) as stage:
        _say(stage, ("please go to the kitchen", 0.6), ("prease go to the hall", 0.4))
        assert WENT == []
        assert _asked(stage) == []
        stage.pass_until(lambda: "heard" in stage.kinds())
        assert stage.state is State.LISTENING, "it has asked, and done nothing"


def test_a_control_or_a_stop_phrase_among_them_is_not_weighed() -> None:
    with _stage(please=KITCHEN, stop=KITCHEN, louder=KITCHEN) as stage:
        for other in ("stop moving please", "louder please"):
            _say(stage, ("please go to the kitchen", 0.6), (other, 0.4))
        assert WENT == []
        assert stage.llm.requests == []


def test_a_robot_that_moves_does_not_weigh_words(drives: Stage) -> None:
    before = len(drives.llm.requests)
    _say(drives, ("please go to the kitchen", 0.6), ("prease go to the kitchen", 0.4))
    assert len(drives.llm.requests) == before


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


def test_what_begins_meanwhile_ends_the_belief(thinking: Thinking) -> None:
    with closing(ScriptedLLM([call("go_to", place="hall")], "There.")) as other:
        thinking.stage.agent.llm = other
        thinking.stage.session.step("the app sends it to the hall")
        thinking.stage.dialogue.say("I am in the hall, and will say so at some length.")
        thinking.stage.ears.block()
        thinking.answers.set()
        thinking.stage.settle()
        assert thinking.heard() == ["please go to the kitchen"]
        assert WENT == ["hall"]


def test_it_ends_with_the_conversation(thinking: Thinking) -> None:
    closer = threading.Thread(target=thinking.stage.dialogue.close)
    closer.start()
    thinking.answers.set()
    closer.join(LIMIT_S)
    assert not closer.is_alive()
    assert "foresight" not in [thread.name for thread in threading.enumerate()]
    assert WENT == []
