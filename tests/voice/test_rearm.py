"""What a stop ends, and what counts after a re-arm or a spoken continue."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from edgeagent import Agent, skill
from edgeagent.robot import SafetyLatch
from edgeagent.testing import call
from edgeagent.tools import GoalHandle
from edgeagent.voice import GUESS_S, State

from .scenes import LIMIT_S, LONG, QUIET, latch, latched, late, transcribed
from .stage import Stage


@pytest.fixture
def base_that_hangs() -> Iterator[threading.Event]:
    """Set when its stop function is to return."""
    returns = threading.Event()
    yield returns
    returns.set()


@pytest.mark.parametrize("spoken", [True, False])
def test_a_stop_said_twice_does_not_stop_again_after_a_re_arm(drives: Stage, spoken: bool) -> None:
    drives.begin()
    drives.pass_s(0.3)
    drives.spot("stop")
    drives.partly("stop")
    drives.pass_s(GUESS_S + 0.1)
    assert latch(drives) == "tripped"
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
    drives.pass_s(GUESS_S + 0.1)
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


def test_a_continue_that_is_refused_says_why(base_that_hangs: threading.Event) -> None:
    began = threading.Event()

    @skill(on_interrupt="detach", stop=lambda: base_that_hangs.wait(LIMIT_S))
    def go_on(goal: GoalHandle) -> str:
        """Drives."""
        began.set()
        while not goal.cancelled:
            threading.Event().wait(0.005)
        return "stopped"

    agent = Agent("robi", tools=[go_on], latch=SafetyLatch())
    with Stage([call("go_on")], agent=agent) as stage:
        stage.say("drive on")
        assert began.wait(LIMIT_S)
        stage.dialogue.stop()
        stage.pass_s(0.5)
        stage.say("continue")
        assert latch(stage) == "tripped"
        why = "go on does not answer: its stop function has not returned after 0.5 s"
        said = f"I can't move yet, because {why}."
        stage.pass_until(lambda: [event.text for event in stage.log if event.kind == "heard"][-1:] == [said])
        base_that_hangs.set()


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


def test_two_stops_whose_news_come_in_the_wrong_order_can_be_followed_by_continue(still: Stage) -> None:
    words = still.dialogue.turns.stop_words
    first, second = words.tripped(0.0), words.tripped(0.0)
    words.obey(second)
    words.obey(first)
    assert not words.trip_waits


def test_a_continue_from_before_another_stop_counts_no_more_though_nothing_moved_any_more(still: Stage) -> None:
    still.dialogue.stop("button")
    still.pass_s(2.0)
    utterance, ended_s = late(still)
    still.spot("stop")
    still.pass_s(0.1)
    transcribed(still, utterance, "continue", ended_s)
    assert latch(still) == "tripped"
    still.pause("")
    still.end()
    still.pass_s(4.0)
    assert latch(still) == "tripped"
    still.say("continue")
    assert latch(still) == "free"


def test_a_yes_does_not_allow_motion_that_somebody_has_stopped_again_since_it_was_asked_about() -> None:
    with Stage("Okay.", agent=latched(), settings=QUIET) as stage:
        stage.dialogue.stop("button")
        stage.pass_s(2.0)
        stage.say("you can move", understood=False)
        stage.pass_s(4.0)
        stage.spot("stop")
        stage.pass_s(0.2)
        stage.say("yes")
        stage.pass_s(1.0)
        assert latch(stage) == "tripped"
