"""A stop is never lost or undone: what releases it, what does not, and who holds the latch."""

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from edgeagent import Agent, ToolContext, skill, tool
from edgeagent.robot import SafetyLatch
from edgeagent.stt import hearing
from edgeagent.stt.keywords import Keyword
from edgeagent.stt.types import Transcript
from edgeagent.testing import call
from edgeagent.tools import GoalHandle
from edgeagent.voice.hearing_loss import EARS_S, RECOGNISERS_S
from edgeagent.voice.table import State

from .stage import Stage

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
LIMIT_S = 10.0


def until(condition: Callable[[], object]) -> bool:
    """Waits for something that another thread brings about."""
    waiting = threading.Event()
    for _ in range(int(LIMIT_S / 0.005)):
        if condition():
            return True
        waiting.wait(0.005)
    return False


@pytest.fixture
def drives() -> Iterator[Stage]:
    """A conversation with a robot that drives until it is stopped."""
    began = threading.Event()

    @skill(on_interrupt="detach", pause=lambda: None, resume=lambda: None)
    def drive(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        while not goal.cancelled:
            goal.checkpoint()
            threading.Event().wait(0.005)
        return "stopped"

    agent = Agent("robi", tools=[drive], latch=SafetyLatch())
    with Stage([call("drive")], *["Okay."] * 4, agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(LIMIT_S)
        assert until(lambda: stage.dialogue.robot.runs.acting)
        stage.pass_s(1.0)
        yield stage


@pytest.fixture
def still() -> Iterator[Stage]:
    """One with a robot that does nothing."""
    with Stage(LONG, "Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        yield stage


def latch(stage: Stage) -> str:
    return str(stage.dialogue.latch.state)


def transcribed(stage: Stage, utterance: int, text: str, at_s: float) -> None:
    """The words of an utterance come late."""
    stage.tell(hearing.Transcribed(utterance, Transcript(text, confidence=0.9), at_s, stage.now_s - at_s))


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
    drives.tell(hearing.SoftEnded(before, ended_s))
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
    drives.tell(hearing.Spotted(Keyword("stop", said_s - 0.5, said_s - 0.2, drives.now_s, 0.9)))
    assert latch(drives) == "free"
    drives.pass_s(3.5)
    assert latch(drives) == "free"


# --- words that come late -------------------------------------------------------------------------------------------


def late(stage: Stage, *, cut: bool = False) -> tuple[int, float]:
    """Somebody has spoken, and speaks again before the words are known."""
    stage.begin()
    stage.pass_s(0.8)
    utterance, ended_s = stage.ears.utterance, stage.now_s
    if not cut:
        stage.tell(hearing.SoftEnded(utterance, ended_s))
        stage.pass_s(0.4)
    stage.tell(hearing.Ended(utterance, ended_s, cut=cut))
    stage.begin(0.0)
    stage.pass_s(0.2)
    return utterance, ended_s


def test_a_stop_counts_though_somebody_speaks_again_before_its_words_are_known(drives: Stage) -> None:
    transcribed(drives, *_with("stop", late(drives)))
    assert latch(drives) == "tripped"


def _with(text: str, utterance: tuple[int, float]) -> tuple[int, str, float]:
    return utterance[0], text, utterance[1]


def test_a_stop_counts_though_the_microphone_is_lost_before_its_words_are_known(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.5)
    utterance, ended_s = drives.ears.utterance, drives.now_s
    drives.tell(hearing.SoftEnded(utterance, ended_s), hearing.Ended(utterance, ended_s, cut=False))
    drives.dialogue.device("lost", "usb")
    drives.settle()
    transcribed(drives, utterance, "stop", ended_s)
    assert latch(drives) == "tripped"


def test_a_command_is_answered_though_somebody_speaks_again_before_its_words_are_known(still: Stage) -> None:
    transcribed(still, *_with("what time is it", late(still)))
    assert until(lambda: [m.text for m in still.session.messages()][:1] == ["what time is it"])
    assert until(lambda: still.state is State.HEARING), "who speaks again has the floor"
    assert still.ears.hard_end_ms > 0, "and is not cut"
    still.pause("")
    still.end()
    still.pass_until(lambda: still.state is State.LISTENING)
    still.pass_s(0.1)
    assert [event.text for event in still.log if event.kind == "heard"] == [LONG]


def test_a_noise_whose_words_come_late_does_not_end_what_is_said_meanwhile(still: Stage) -> None:
    transcribed(still, *_with("", late(still)))
    assert still.state is State.HEARING
    assert still.ears.hard_end_ms > 0


def test_an_utterance_that_was_too_long_is_answered_with_what_follows(still: Stage) -> None:
    transcribed(still, *_with("go to the kitchen", late(still, cut=True)))
    assert not still.session.messages()
    still.pause("and bring me a cup")
    still.pass_s(0.7)
    still.end()
    still.pass_until(lambda: still.state is State.LISTENING)
    assert still.session.messages()[0].text == "go to the kitchen and bring me a cup"


def test_a_stop_over_the_robots_voice_counts_when_its_words_come_after_it_went_on(still: Stage) -> None:
    still.say("count to sixteen")
    still.pass_until(lambda: still.state is State.SPEAKING)
    still.pass_s(0.5)
    still.begin()
    still.pass_s(0.3)
    utterance, ended_s = still.ears.utterance, still.now_s
    still.tell(hearing.SoftEnded(utterance, ended_s))
    still.pass_s(0.35)
    still.end()
    still.pass_s(0.4)
    assert still.state is State.SPEAKING
    transcribed(still, utterance, "stop", ended_s)
    assert latch(still) == "tripped"
    assert still.state is State.LISTENING
    assert [event.phrase for event in still.log if event.kind == "keyword"] == ["stop"]


# --- trip and re-arm ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spoken", [True, False])
def test_a_stop_said_twice_does_not_stop_again_after_a_re_arm(drives: Stage, spoken: bool) -> None:
    drives.begin()
    drives.pass_s(0.3)
    drives.spot("stop")
    drives.partly("stop")
    assert latch(drives) == "tripped"
    drives.pass_s(0.6)
    drives.spot("stop")
    drives.pass_s(0.1)
    drives.pause("stop stop")
    drives.pass_s(0.4)
    drives.end()
    drives.pass_s(0.1)
    if spoken:
        drives.say("continue")
    else:
        assert drives.dialogue.rearm()
    assert latch(drives) == "free"
    drives.pass_s(3.5)
    assert latch(drives) == "free"


def test_a_stop_word_that_waits_while_it_is_re_armed_counts_no_more(still: Stage) -> None:
    still.dialogue.stop("button")
    still.settle()
    still.dialogue.say(LONG)  # so that there is something to stop
    still.pass_until(lambda: still.state is State.SPEAKING)
    still.begin()
    still.spot("stop")
    still.pass_s(0.1)
    assert still.dialogue.rearm()
    still.settle()
    assert latch(still) == "free"
    still.pass_s(3.5)
    assert latch(still) == "free"


def test_the_rest_of_a_stop_that_has_counted_does_not_stop_again_after_a_re_arm(drives: Stage) -> None:
    drives.begin()
    drives.pass_s(0.3)
    drives.spot("stop")
    drives.partly("stop")
    assert drives.dialogue.rearm()
    drives.pause("stop")
    assert latch(drives) == "free"
    drives.go_on()
    drives.pass_s(0.5)
    drives.pause("stop please stop")
    assert latch(drives) == "tripped", "but another one does"


def test_the_echo_of_a_stop_that_has_stopped_everything_does_not_stop_what_is_asked_next(still: Stage) -> None:
    still.dialogue.stop("button")
    still.settle()
    still.spot("stop")
    still.dialogue.hear("count to sixteen")
    still.pass_s(2.0)
    assert still.state is State.SPEAKING


def test_a_stop_after_a_re_arm_stops_again(drives: Stage) -> None:
    drives.dialogue.stop()
    drives.settle()
    drives.dialogue.rearm()
    drives.spot("stop")
    assert latch(drives) == "held"
    drives.pass_s(1.1)
    assert latch(drives) == "tripped"


def test_continue_that_was_typed_before_a_stop_does_not_undo_it(drives: Stage) -> None:
    go_on = threading.Event()
    drives.dialogue._post(lambda: go_on.wait(LIMIT_S))
    drives.dialogue.hear("continue")
    drives.dialogue.stop("button")
    go_on.set()
    drives.settle()
    assert latch(drives) == "tripped"
    drives.dialogue.hear("continue")
    drives.settle()
    assert latch(drives) == "free"


def test_continue_that_was_begun_before_a_stop_does_not_undo_it(still: Stage) -> None:
    still.dialogue.stop("button")
    still.settle()
    still.pass_s(0.5)
    still.say("continue")
    assert latch(still) == "free"
    still.pass_s(0.5)
    still.dialogue.stop("button")
    still.settle()
    still.begin(ago_s=0.3)  # the onset is known some time after it
    still.pass_s(0.3)
    still.pause("continue")
    still.pass_s(0.4)
    still.end()
    assert latch(still) == "tripped"


class Thinking:
    """A model that thinks until it is told to stop."""

    def __init__(self, inner: object) -> None:
        self._inner = inner
        self.thinks, self.stopped = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def stream(self, request: object, stop_event: threading.Event):  # type: ignore[no-untyped-def]
        self.thinks.set()
        if stop_event.wait(LIMIT_S):
            self.stopped.set()
        return self._inner.stream(request, stop_event)  # type: ignore[attr-defined]


def test_stop_stops_the_model_though_the_conversation_is_busy(still: Stage) -> None:
    still.agent.llm = model = Thinking(still.llm)  # type: ignore[assignment]
    still.dialogue.robot.runs.ask("tell me a story")
    assert model.thinks.wait(LIMIT_S)
    go_on = threading.Event()
    still.dialogue._post(lambda: go_on.wait(LIMIT_S))
    try:
        still.dialogue.stop("button")
        assert model.stopped.wait(LIMIT_S / 2)
    finally:
        go_on.set()


def test_when_stop_returns_nothing_sounds(still: Stage) -> None:
    still.say("count to sixteen")
    still.pass_until(lambda: still.state is State.SPEAKING)
    still.dialogue.say(
        "Nobody may interrupt this, and it is a long one as well.", priority="urgent", interruptible=False
    )
    still.pass_s(1.0)
    go_on, busy = threading.Event(), threading.Event()
    still.dialogue._post(lambda: (busy.set(), go_on.wait(LIMIT_S)))  # the conversation's thread is busy
    assert busy.wait(LIMIT_S)
    try:
        still.dialogue.stop("button")
        before = len(still.ears.played)
        for _ in range(50):
            still.ears.block()
        assert max(float(np.abs(block).max()) for block in still.ears.played[before + 8 :]) == 0.0
    finally:
        go_on.set()
    still.settle()
    assert still.state is State.LISTENING


def test_what_was_typed_while_somebody_spoke_is_not_asked_after_a_stop(still: Stage) -> None:
    still.begin()
    still.dialogue.hear("drive to the garage")
    still.settle()
    still.dialogue.stop()
    still.settle()
    still.pause("oh")
    still.end()
    still.pass_s(1.0)
    assert not still.llm.requests


# --- who holds ------------------------------------------------------------------------------------------------------


def test_a_hold_of_the_builders_is_released_by_nobody_else(drives: Stage) -> None:
    drives.dialogue.latch.hold("a person before the lidar")
    drives.begin()
    drives.pass_s(0.5)
    drives.spot("stop")
    drives.pass_s(0.2)
    drives.pause("the bus stop is far away")
    assert drives.dialogue.latch.reason == "a person before the lidar"
    drives.dialogue.device("lost", "usb")
    drives.dialogue.device("back", "usb")
    drives.settle()
    assert latch(drives) == "held"
    drives.dialogue.latch.release()
    assert latch(drives) == "free"


def test_a_robot_that_hears_nothing_is_held_after_a_re_arm_too(still: Stage) -> None:
    still.dialogue.device("lost", "usb")
    still.settle()
    still.dialogue.stop()
    still.settle()
    assert still.dialogue.rearm()
    still.settle()
    assert latch(still) == "held"
    still.dialogue.device("back", "usb")
    still.settle()
    assert latch(still) == "free"


@pytest.mark.parametrize("why", ["stop word", "microphone"])
def test_a_conversation_that_is_closed_holds_nothing(why: str) -> None:
    agent = Agent("robi", latch=SafetyLatch())
    with Stage(agent=agent) as stage:
        if why == "microphone":
            stage.dialogue.device("lost", "usb")
            stage.settle()
        else:
            stage.spot("stop")
        assert latch(stage) == "held"
    assert agent.latch is not None
    assert agent.latch.state == "free"


# --- who hears nothing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "after_s"), [(["ears"], EARS_S), (["keywords", "transcriber"], RECOGNISERS_S), (["keywords"], None)]
)
def test_who_hears_no_stop_word_holds_what_moves(drives: Stage, parts: list[str], after_s: float | None) -> None:
    drives.tell(*(hearing.Trouble(part, "it is gone") for part in parts))
    drives.pass_s(0.8)
    assert latch(drives) == "free", "most troubles are over soon"
    drives.pass_s(3.0 if after_s is None else after_s)
    assert latch(drives) == ("free" if after_s is None else "held")
    drives.tell(hearing.Trouble(parts[0], "it is back", over=True))
    drives.pass_s(0.1)
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


def test_two_conversations_on_one_latch_release_nothing_of_each_other() -> None:
    shared = SafetyLatch()
    with (
        Stage("Okay.", agent=Agent("robi", latch=shared)) as one,
        Stage("Okay.", agent=Agent("ben", latch=shared)) as other,
    ):
        for stage in (one, other):
            stage.begin()
            stage.pass_s(0.5)
            stage.spot("stop")
        other.partly("the bus stop is over there")
        assert latch(one) == "held"
        one.partly("the bus stop is over there")
        assert latch(one) == "free"


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


# --- two at once ----------------------------------------------------------------------------------------------------


def test_two_stops_whose_news_come_in_the_wrong_order_can_be_followed_by_continue(still: Stage) -> None:
    words = still.dialogue.turns.stop_words
    first, second = words.tripped(0.0), words.tripped(0.0)
    words.obey(second)
    words.obey(first)
    assert not words.trip_waits


def test_a_card_that_is_back_is_not_heard_before_it_delivers_sound(drives: Stage) -> None:
    drives.dialogue.device("lost", "usb")
    drives.tell(hearing.Trouble("device", "no sound for 1.0 s"))
    drives.dialogue.device("back", "usb")
    drives.settle()
    assert latch(drives) == "held"
    drives.tell(hearing.Trouble("device", "delivers sound again", over=True))
    assert latch(drives) == "free"


def test_one_recogniser_of_two_that_is_back_does_not_stand_for_the_other(drives: Stage) -> None:
    lost = [("keywords", ""), ("transcriber", "ears-app"), ("transcriber", "ears-general")]
    drives.tell(*(hearing.Trouble(part, "it died", source=source) for part, source in lost))
    drives.tell(hearing.Trouble("transcriber", "it is back", over=True, source="ears-general"))
    drives.pass_s(RECOGNISERS_S + 0.5)
    assert latch(drives) == "held"


def test_what_is_only_told_is_no_loss(drives: Stage) -> None:
    drives.tell(*(hearing.Trouble(part, "it is slow", lost=False) for part in ("keywords", "transcriber")))
    drives.pass_s(RECOGNISERS_S + 0.5)
    assert latch(drives) == "free"


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


def test_a_forbidding_half_stays_with_its_other_half() -> None:
    with Stage("Okay.", "Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        half(stage, "under no circumstances")
        whole(stage, "under no circumstances go to the kitchen")
        stage.pass_until(lambda: len(asked(stage)) > 0 and stage.state is State.LISTENING)
        assert "go to the kitchen" not in asked(stage)


def test_nothing_moves_while_the_conversation_is_closed() -> None:
    with Stage("Okay.", agent=Agent("robi", latch=SafetyLatch())) as stage:
        stage.dialogue.quit()
        assert latch(stage) == "held"
        agent = stage.agent
    assert agent.latch is not None
    assert agent.latch.state == "free"
