"""Stop words and wake words: heard in time, in any voice, by a process that never keeps its caller waiting."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from queue import Queue
from typing import Any

import numpy as np
import pytest

from edgeagent.audio import Samples
from edgeagent.errors import ConfigError
from edgeagent.stt import STOP_WORDS, TUNED, KeywordSpotter, SpottedPhrase, SpotterOptions, WorkerEvent, tune
from tests.stt.speech import PAUSE_S, RATE_HZ, VOICES, blocks, said, within

LIMIT_S = 30.0


class Ears:
    """A spotter and what it told."""

    def __init__(self, *phrases: str) -> None:
        self.keywords: Queue[SpottedPhrase] = Queue()
        self.events: Queue[WorkerEvent] = Queue()
        self.behind: Queue[float] = Queue()
        self.spotter = KeywordSpotter(
            dict.fromkeys(phrases),
            self.keywords.put,
            SpotterOptions(on_event=self.events.put, on_behind=self.behind.put, hang_s=5.0),
        )

    def hear(
        self, text: str, voice: str, at_s: float = 0.0, *, gain: float = 1.0, silence_s: float = 0.0
    ) -> list[SpottedPhrase]:
        """Everything that is heard in a text, fed as fast as it goes."""
        sound = gain * said(text, voice)
        self.feed(np.concatenate([np.zeros(round(silence_s * RATE_HZ), np.float32), sound]), at_s)
        return [self.keywords.get() for _ in range(self.keywords.qsize())]

    def feed(self, sound: Samples, at_s: float, *, nobody_s: float = 0.0, **known: bool) -> None:
        """A sound that has nothing to do with what was before; for its first ``nobody_s`` nobody speaks."""
        self.spotter.flush()
        for number, block in enumerate(blocks(sound)):
            if number % 25 == 0:
                assert self.spotter.wait_idle(LIMIT_S)
            self.spotter.feed(block, at_s + number / 100, nobody=number / 100 < nobody_s, **known)
        assert self.spotter.wait_idle(LIMIT_S)

    def told(self) -> list[str]:
        """The phrases that were told since somebody asked."""
        return [self.keywords.get().phrase for _ in range(self.keywords.qsize())]


@pytest.fixture(scope="module")
def ears() -> Iterator[Ears]:
    ears = Ears("stop", "hey robi")
    yield ears
    ears.spotter.close()


@pytest.fixture
def for_stop() -> Iterator[Ears]:
    """Ears for the stop word alone that have heard nothing yet: what is barely heard depends on all before."""
    ears = Ears("stop")
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


@pytest.mark.parametrize("voice", VOICES)
def test_a_process_that_rests_in_silence_hears_the_first_word_after_it(ears: Ears, voice: str) -> None:
    before_s = ears.spotter.rested_s
    heard = ears.hear("stop", voice, at_s=300.0, silence_s=20.0)
    assert ears.spotter.rested_s - before_s > 18.0
    assert [one.phrase for one in heard] == ["stop"]
    end_s = 320.0 + len(said("stop", voice)) / RATE_HZ - PAUSE_S
    assert 320.0 - 0.15 < heard[0].start_s < heard[0].end_s < end_s + 0.05
    assert heard[0].heard_s < end_s + 0.15


@pytest.mark.parametrize("voice", VOICES)
def test_a_process_that_rests_in_noise_hears_the_first_word_after_it(for_stop: Ears, voice: str) -> None:
    """That nobody speaks is known too late for the first 0.15 s of a word."""
    word, quiet_s = said("stop", voice), 10.0
    sound = np.concatenate([np.zeros(round(quiet_s * RATE_HZ), np.float32), word])
    sound = sound + np.random.default_rng(1).normal(0, 0.002, len(sound)).astype(np.float32)
    for_stop.feed(sound, 0.0, nobody_s=quiet_s + PAUSE_S + 0.15)
    assert for_stop.spotter.rested_s > 8.0
    assert for_stop.told() == ["stop"]


@pytest.mark.parametrize("next_s", [760.0, 20.0], ids=["a gap", "another clock"])
def test_the_times_are_right_after_what_was_not_heard(ears: Ears, next_s: float) -> None:
    ears.spotter.flush()
    noise = np.random.default_rng(3).normal(0, 0.002, RATE_HZ).astype(np.float32)
    word = said("stop", "rms")
    for begin_s, sound in ((700.0, noise), (next_s, word)):
        for number, block in enumerate(blocks(sound)):
            ears.spotter.feed(block, begin_s + number / 100)
            assert number % 25 or ears.spotter.wait_idle(LIMIT_S)
        assert ears.spotter.wait_idle(LIMIT_S)
    heard = [ears.keywords.get() for _ in range(ears.keywords.qsize())]
    assert [one.phrase for one in heard] == ["stop"]
    assert next_s < heard[0].start_s < heard[0].end_s < next_s + len(word) / RATE_HZ + 0.05


def test_a_wake_word_of_a_name_that_no_dictionary_has_is_heard(ears: Ears) -> None:
    assert sum([one.phrase for one in ears.hear("hey roby what time is it", v)] == ["hey robi"] for v in VOICES) >= 2


def test_a_longer_phrase_is_heard_in_every_voice_without_a_threshold_of_its_own() -> None:
    heard: Queue[SpottedPhrase] = Queue()
    spotter = KeywordSpotter({"hello charlie": None, "okay robot": None, "hey robi": None}, heard.put)
    try:
        assert spotter.thresholds == pytest.approx({"hello charlie": 1e-25, "okay robot": 1e-25, "hey robi": 1e-20})
        lines = {"hello charlie": "hello charlie", "okay robot turn left": "okay robot", "hey roby": "hey robi"}
        for number, (line, voice) in enumerate((line, voice) for line in lines for voice in VOICES):
            for at, block in enumerate(blocks(said(line, voice, pause_s=0.5))):
                if at % 25 == 0:
                    assert spotter.wait_idle(LIMIT_S)
                spotter.feed(block, 10 * number + at / 100)
            assert spotter.wait_idle(LIMIT_S)
            assert lines[line] in [heard.get().phrase for _ in range(heard.qsize())], (line, voice)
    finally:
        spotter.close()


@pytest.mark.parametrize("line", ["please stop", "no no stop", "stop now"])
def test_a_stop_word_in_company_is_heard(ears: Ears, line: str) -> None:
    assert all([one.phrase for one in ears.hear(line, voice)] == ["stop"] for voice in VOICES)


@pytest.mark.parametrize("gain", [0.1, 0.3, 3.0])
def test_a_quiet_and_a_loud_voice_are_heard_too(ears: Ears, gain: float) -> None:
    assert [one.phrase for one in ears.hear("stop", "slt", gain=gain)] == ["stop"]


def test_a_process_that_hangs_is_killed_and_back_within_a_second(ears: Ears) -> None:
    events: Queue[WorkerEvent] = Queue()
    spotter = KeywordSpotter({"stop": None}, lambda _: None, SpotterOptions(on_event=events.put))
    try:
        assert events.get(timeout=LIMIT_S).kind == "started"
        pid = spotter.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        began_s = time.monotonic()
        spotter.feed(np.zeros(160, np.float32))
        assert events.get(timeout=LIMIT_S).kind == "hung"
        assert events.get(timeout=LIMIT_S).kind == "started"
        assert time.monotonic() - began_s < 5  # about 0.9 s on an idle machine
        assert spotter.pid not in (None, pid)
    finally:
        spotter.close()


def test_the_stop_words_that_are_shipped_are_tuned() -> None:
    assert "stop" in STOP_WORDS
    assert set(STOP_WORDS) <= set(TUNED)
    assert all(1e-50 <= threshold <= 1 for threshold in TUNED.values())


def test_other_talk_is_mostly_quiet(ears: Ears) -> None:
    talk = "my brother will arrive on monday with all of his luggage and a very large umbrella"
    assert sum(len(ears.hear(talk, voice, at_s=10 * n)) for n, voice in enumerate(VOICES)) <= 1


@pytest.fixture
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is held is not taken to hang."""
    monkeypatch.setattr("edgeagent.stt.worker.STILL_S", LIMIT_S)


@pytest.mark.usefixtures("unwatched")
def test_feeding_never_waits_and_says_when_it_is_behind(ears: Ears) -> None:
    pid = ears.spotter.pid
    assert pid is not None
    block = np.full(160, 0.01, np.float32)  # in silence it rests
    os.kill(pid, signal.SIGSTOP)
    try:
        start_s = time.monotonic()
        for _ in range(450):
            ears.spotter.feed(block)
        assert time.monotonic() - start_s < 1
        assert ears.spotter.dropped_s > 1
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ears.spotter.wait_idle(LIMIT_S)
    ears.spotter.feed(block)
    assert ears.behind.get(timeout=LIMIT_S) == pytest.approx(ears.spotter.dropped_s)


@pytest.mark.usefixtures("unwatched")
def test_what_comes_at_once_over_the_first_words_after_a_rest_is_all_listened_to(ears: Ears) -> None:
    pid = ears.spotter.pid
    assert pid is not None
    ears.spotter.flush()
    rested_s, dropped_s = ears.spotter.rested_s, ears.spotter.dropped_s
    for at in range(200):
        ears.spotter.feed(np.zeros(160, np.float32), 700 + at / 100)
    assert ears.spotter.rested_s > rested_s
    assert ears.spotter.wait_idle(LIMIT_S)
    os.kill(pid, signal.SIGSTOP)  # as if it were slower than what is fed
    try:
        for at in range(200, 370):
            ears.spotter.feed(np.full(160, 0.01, np.float32), 700 + at / 100)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert ears.spotter.wait_idle(LIMIT_S)
    assert ears.spotter.dropped_s == dropped_s


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


@pytest.mark.parametrize("phrase", ["a", "h", "go", "hi"])
def test_a_phrase_of_one_or_two_sounds_is_refused(phrase: str) -> None:
    with pytest.raises(ConfigError, match=f"{phrase!r} has less than 3 sounds"):
        KeywordSpotter({phrase: None}, lambda _: None)


def test_tuning_finds_a_threshold_by_synthesis() -> None:
    tuned = tune("freeze", voices=("en-us",))
    assert 1e-50 <= tuned.threshold <= 0.1
    assert tuned.hits > 0.7 * tuned.examples
    assert tuned.hits + tuned.misses == tuned.examples
    assert tuned.false_alarms_per_hour <= 30


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


def test_callbacks_come_on_a_thread_of_the_spotters_own(ears: Ears, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    monkeypatch.setattr(ears.spotter, "on_keyword", lambda _: threads.append(threading.current_thread()))
    ears.feed(said("stop", "slt"), 0.0)
    assert threads
    assert threading.main_thread() not in threads


def heard_in_noise(ears: Ears, noise_db: float, **known: bool) -> int:
    """How often "stop" is heard in white noise, none of which is dropped."""
    dropped_s = ears.spotter.dropped_s
    word = said("stop", "rms")
    word = word + np.random.default_rng(0).normal(0, 0.05 * 10 ** (noise_db / 20), len(word)).astype(np.float32)
    ears.feed(word, 0.0, **known)
    assert ears.spotter.dropped_s == dropped_s
    return len(ears.told())


@pytest.mark.parametrize("speaking", [False, True])
def test_while_the_robot_speaks_less_of_a_stop_word_is_enough(for_stop: Ears, speaking: bool) -> None:
    assert heard_in_noise(for_stop, -1, speaking=speaking) == speaking


@pytest.mark.parametrize("early", [False, True])
def test_over_its_first_words_less_still_is_enough(for_stop: Ears, early: bool) -> None:
    assert heard_in_noise(for_stop, 7, speaking=True, early=early) == early


@pytest.mark.parametrize("at_s", [59.4, 59.6])
def test_a_word_across_the_renewal_of_the_decoder_is_heard(for_stop: Ears, at_s: float) -> None:
    """After a minute of unbroken sound it begins anew."""
    word = said("stop", "slt")
    sound = np.random.default_rng(2).normal(0, 0.003, round((at_s + 2) * RATE_HZ)).astype(np.float32)
    begin = round(at_s * RATE_HZ)
    sound[begin : begin + len(word)] += word
    for_stop.feed(sound, 1000.0)
    assert for_stop.told() == ["stop"]


@pytest.mark.parametrize(("counts", "told"), [(True, 1), (False, 2)])
def test_a_hit_that_does_not_count_hides_no_other(
    ears: Ears, monkeypatch: pytest.MonkeyPatch, counts: bool, told: int
) -> None:
    heard: list[SpottedPhrase] = []

    def take(keyword: SpottedPhrase) -> bool:
        heard.append(keyword)
        return counts

    monkeypatch.setattr(ears.spotter, "on_keyword", take)
    ears.spotter.flush()
    entry = next(iter(ears.spotter._entries))
    for end_s in (9.8, 10.1):
        ears.spotter._take(hit(ears, entry, end_s))
    assert len(heard) == told


def hit(ears: Ears, entry: str, end_s: float) -> dict[str, Any]:
    """What the process tells of an entry of its list that it has found in what was fed since the last flush."""
    times = {"start_s": end_s - 0.4, "end_s": end_s, "heard_s": end_s}
    return {"keyword": entry, "epoch": ears.spotter._epoch, "score": 0.9, **times}


def test_a_looser_hit_counts_only_while_the_robot_speaks(ears: Ears) -> None:
    ears.spotter.flush()
    entry = next(name for name, (_, pattern) in ears.spotter._entries.items() if pattern.when == "speaking")
    for block in range(200):  # it speaks for the second of two seconds
        ears.spotter.feed(np.zeros(160, np.float32), block / 100, speaking=block >= 100)
    for end_s in (0.9, 1.5, 2.4):
        ears.spotter._take(hit(ears, entry, end_s))
    assert [ears.keywords.get().end_s for _ in range(ears.keywords.qsize())] == [1.5]


def test_a_buffer_that_is_used_again_and_samples_that_are_no_numbers_do_no_harm() -> None:
    heard: Queue[SpottedPhrase] = Queue()
    events: Queue[WorkerEvent] = Queue()
    spotter = KeywordSpotter({"stop": None}, heard.put, SpotterOptions(on_event=events.put, hang_s=5.0))
    buffer = np.zeros(160, np.float32)
    try:
        assert events.get(timeout=LIMIT_S).kind == "started"
        assert spotter.pid is not None
        os.kill(spotter.pid, signal.SIGKILL)
        while events.get(timeout=LIMIT_S).kind != "died":
            pass
        for number, block in enumerate(blocks(said("stop", "slt"))):
            if len(block) == len(buffer):
                buffer[:] = block
                buffer[0] = np.nan
                spotter.feed(buffer, number / 100)
        while events.get(timeout=LIMIT_S).kind != "started":
            pass
        spotter.feed(np.zeros(160, np.float32), (number + 1) / 100)
        assert heard.get(timeout=LIMIT_S).phrase == "stop"
    finally:
        spotter.close()
