"""Stop words and wake words: heard in time, in any voice, by a process that never keeps its caller waiting."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from queue import Queue

import numpy as np
import pytest

from edgeagent.errors import ConfigError
from edgeagent.stt.keywords import Keyword, KeywordSpotter, SpotterOptions, confirm, missed, tune
from edgeagent.stt.types import Transcript
from edgeagent.stt.worker import WorkerEvent
from tests.stt.speech import PAUSE_S, RATE_HZ, VOICES, blocks, said, within

LIMIT_S = 30.0


class Ears:
    """A spotter and what it told."""

    def __init__(self) -> None:
        self.keywords: Queue[Keyword] = Queue()
        self.events: Queue[WorkerEvent] = Queue()
        self.behind: Queue[float] = Queue()
        self.spotter = KeywordSpotter(
            {"stop": None, "hey robi": None},
            self.keywords.put,
            SpotterOptions(on_event=self.events.put, on_behind=self.behind.put, hang_s=5.0),
        )

    def hear(self, text: str, voice: str, at_s: float = 0.0) -> list[Keyword]:
        """Everything that is heard in a text, fed as fast as it goes."""
        self.spotter.flush()
        sound = said(text, voice)
        for number, block in enumerate(blocks(sound)):
            if number % 25 == 0:
                assert self.spotter.wait_idle(LIMIT_S)
            self.spotter.feed(block, at_s + number / 100)
        assert self.spotter.wait_idle(LIMIT_S)
        return [self.keywords.get() for _ in range(self.keywords.qsize())]


@pytest.fixture(scope="module")
def ears() -> Iterator[Ears]:
    ears = Ears()
    yield ears
    ears.spotter.close()


@pytest.mark.parametrize("voice", VOICES)
def test_a_stop_word_is_heard_within_150_ms_of_its_end(ears: Ears, voice: str) -> None:
    heard = ears.hear("stop", voice, at_s=100.0)
    end_s = 100.0 + len(said("stop", voice)) / RATE_HZ - PAUSE_S
    assert [one.phrase for one in heard] == ["stop"]
    assert heard[0].heard_s < end_s + 0.15
    assert 100.0 < heard[0].start_s < heard[0].end_s <= heard[0].heard_s
    assert 0 < heard[0].score <= 1


def test_a_wake_word_of_a_name_that_no_dictionary_has_is_heard(ears: Ears) -> None:
    assert sum([one.phrase for one in ears.hear("hey roby what time is it", v)] == ["hey robi"] for v in VOICES) >= 2


def test_other_talk_is_mostly_quiet(ears: Ears) -> None:
    talk = "my brother will arrive on monday with all of his luggage and a very large umbrella"
    assert sum(len(ears.hear(talk, voice, at_s=10 * n)) for n, voice in enumerate(VOICES)) <= 1


def test_feeding_never_waits_and_says_when_it_is_behind(ears: Ears) -> None:
    pid = ears.spotter.pid
    assert pid is not None
    block = np.zeros(160, np.float32)
    os.kill(pid, signal.SIGSTOP)
    try:
        start_s = time.monotonic()
        for _ in range(300):
            ears.spotter.feed(block)
        assert time.monotonic() - start_s < 1
        assert ears.spotter.dropped_s > 1
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ears.spotter.wait_idle(LIMIT_S)
    ears.spotter.feed(block)
    assert ears.behind.get(timeout=LIMIT_S) == pytest.approx(ears.spotter.dropped_s)


def test_a_stop_word_during_a_restart_is_heard_after_it(ears: Ears) -> None:
    ears.spotter.flush()
    pid = ears.spotter.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    for number, block in enumerate(blocks(said("stop", "slt"))):
        ears.spotter.feed(block, 500 + number / 100)
    assert within(LIMIT_S, lambda: ears.spotter.pid not in (None, pid))
    ears.spotter.feed(np.zeros(160, np.float32), 501.7)
    assert ears.keywords.get(timeout=LIMIT_S).phrase == "stop"
    while (event := ears.events.get(timeout=LIMIT_S)).kind != "started" or not event.restarts:
        pass


def test_closing_leaves_nothing() -> None:
    spotter = KeywordSpotter({"halt": 1e-10}, lambda _: None)
    assert spotter.thresholds == {"halt": 1e-10}
    pid = spotter.pid
    spotter.close()
    spotter.close()
    assert spotter.pid is None
    assert not os.path.exists(f"/proc/{pid}/exe")  # noqa: PTH110


@pytest.mark.parametrize("phrases", [{}, {"!": None}, {"stop": 0.0}, {"stop": 2.0}, {"♥": None}])
def test_phrases_that_are_none(phrases: dict[str, float | None]) -> None:
    with pytest.raises(ConfigError):
        KeywordSpotter(phrases, lambda _: None)


def test_tuning_finds_a_threshold_by_synthesis() -> None:
    tuned = tune("freeze", voices=("en-us", "en-gb"))
    assert 1e-60 <= tuned.threshold <= 0.1
    assert tuned.hits > 0.7 * tuned.examples
    assert tuned.false_alarms < 0.2 * tuned.others


def test_tuning_takes_the_recordings_of_the_builder() -> None:
    tuned = tune(
        "stop",
        voices=(),
        examples=[said("stop", voice) for voice in VOICES],
        others=[said("what a lovely garden", voice) for voice in VOICES],
    )
    assert (tuned.hits, tuned.examples, tuned.false_alarms, tuned.others) == (3, 3, 0, 3)
    with pytest.raises(ConfigError, match="needs recordings or voices"):
        tune("stop", voices=())


@pytest.mark.parametrize(
    "text",
    """stop | robot stop | please stop now | Stop! | no, no, stop | stop it | could you please stop | I said stop
    stop moving | go to the kitchen. No, stop | okay that's enough, stop | robot, please stop driving right now
    don't stop there... stop, stop! | Stop the robot | will you stop""".replace("\n", "|").split("|"),
)
def test_a_command_to_stop_is_confirmed(text: str) -> None:
    assert confirm(text, "stop") == "confirmed"
    assert missed(text, ["halt", "stop"]) == "stop"


@pytest.mark.parametrize(
    "text",
    """don't stop | never stop | do not stop | please don't stop | don't you ever stop | robot, don't stop
    the bus stop is far | stop sign | there is a stop sign at the corner | when does the bus stop
    I don't want you to stop | we stop here every day | the next stop is the airport | it would not stop raining
    full stop | you never stop talking | tell me when to stop | let's not stop | I can't stop laughing
    the shop is on top of the hill""".replace("\n", "|").split("|"),
)
def test_talk_about_stopping_is_denied(text: str) -> None:
    assert confirm(text, "stop") == "denied"
    assert missed(text, ["halt", "stop"]) is None


def test_a_doubtful_transcript_decides_nothing() -> None:
    assert confirm("top", "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", understood=False), "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", final=False), "stop") == "unclear"
    assert confirm(Transcript("the shop was on the hill", confidence=0.9), "stop") == "denied"
    assert confirm("", "stop") == "unclear"


def test_a_wake_word_of_two_words_is_confirmed() -> None:
    assert confirm("hey robi what time is it", "hey robi") == "confirmed"
    assert confirm("Hey, Robi!", "hey robi") == "confirmed"


def test_callbacks_come_on_a_thread_of_the_spotters_own() -> None:
    threads = []
    spotter = KeywordSpotter({"stop": None}, lambda _: threads.append(threading.current_thread()))
    for block in blocks(said("stop", "slt")):
        spotter.feed(block)
    assert spotter.wait_idle(LIMIT_S)
    spotter.close()
    assert threads
    assert threading.main_thread() not in threads
