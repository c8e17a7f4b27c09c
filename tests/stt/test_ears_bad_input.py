"""What comes out of broken microphones and busy machines: the ears go on, and say what is wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue

import numpy as np
import pytest

from edgeagent.audio import EchoCanceller, EndpointSettings, Fill, Samples, Take, Xruns
from edgeagent.stt import (
    BEHIND_S,
    LOST_S,
    RATE_HZ,
    STALL_S,
    START_S,
    Ears,
    FinalTranscript,
    HardEnd,
    HearingEvent,
    Lateness,
    Level,
    SpeechStarted,
    Trouble,
)
from edgeagent.testing import speechlike, synthesised
from tests.stt.listening import Notes, listening

LIMIT_S = 30.0
BLOCK = RATE_HZ // 100


class Microphone:
    """A device that delivers when the test says so; its clock is the test's."""

    name = "a microphone"
    output_rate_hz = None

    def __init__(self, rate_hz: int = RATE_HZ) -> None:
        self.input_rate_hz = rate_hz
        self.xruns = Xruns()
        self.now_s = 0.0
        self._take: Take | None = None

    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        self._take = take

    def now(self) -> float:
        return self.now_s

    def stop(self) -> None:
        self._take = None

    def deliver(self, sound: Samples) -> None:
        block = self.input_rate_hz // 100
        for at in range(0, len(sound) - block + 1, block):
            assert self._take is not None
            self._take(sound[at : at + block].astype(np.float32), self.now_s)
            self.now_s += 0.01


class Told:
    """What ears over a microphone tell."""

    def __init__(self, microphone: Microphone) -> None:
        self.events: list[HearingEvent] = []
        self.troubles: Queue[Trouble] = Queue()
        self.levels: Queue[Level] = Queue()
        self.notes = Notes()
        self.ears = Ears(microphone, self.notes, self._take)

    def _take(self, event: HearingEvent) -> None:
        if isinstance(event, Level):
            self.levels.put(event)
            return
        self.events.append(event)
        if isinstance(event, Trouble):
            self.troubles.put(event)

    def of(self, kind: type) -> list:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def microphone() -> Microphone:
    return Microphone()


@pytest.fixture
def told(microphone: Microphone):
    told = Told(microphone)
    told.ears.open_sound()
    yield told
    told.ears.close()


def quiet(seconds: float) -> Samples:
    return np.random.default_rng(1).normal(0, 3e-4, round(seconds * RATE_HZ)).astype(np.float32)


def speech(text: str = "could you go to the kitchen") -> Samples:
    sound = synthesised(text, "slt", RATE_HZ)
    return (0.3 / np.abs(sound).max() * sound).astype(np.float32)


def around(sound: Samples) -> Samples:
    return np.concatenate([quiet(2.0), sound, quiet(1.5)])


def test_all_zeros_are_silence(microphone: Microphone, told: Told) -> None:
    microphone.deliver(np.zeros(5 * RATE_HZ, np.float32))
    assert told.ears.settle(LIMIT_S)
    assert told.events == []
    assert told.levels.qsize() == pytest.approx(5.0 / 0.1, abs=2)
    assert told.levels.get().level_db == -90


def _offset(sound: Samples) -> Samples:
    return sound + np.float32(0.3)


def _clipped(sound: Samples) -> Samples:
    return np.clip(20 * sound, -1, 1)


def _broken(sound: Samples) -> Samples:
    damaged = sound.copy()
    damaged[::5000] = np.nan
    damaged[1::5000] = np.inf
    return damaged


@pytest.mark.parametrize("damage", [_offset, _clipped, _broken])
def test_speech_is_heard_whatever_the_microphone_makes_of_it(
    damage: Callable[[Samples], Samples], microphone: Microphone, told: Told
) -> None:
    sound = damage(around(speech()))
    for at in range(0, len(sound), RATE_HZ // 2):  # a busy machine is behind what comes at once
        microphone.deliver(sound[at : at + RATE_HZ // 2])
        assert told.ears.settle(LIMIT_S)
    assert len(told.of(HardEnd)) == len(told.of(FinalTranscript)) == 1
    assert told.of(Trouble) == []
    assert told.of(SpeechStarted)[0].at_s == pytest.approx(2.0, abs=0.3)
    levels = [told.levels.get() for _ in range(told.levels.qsize())]
    assert all(-90 <= level.level_db <= 0 for level in levels)


def test_ears_that_rest_in_silence_do_at_once_what_they_are_told(
    microphone: Microphone, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of silence wait for each other, here for longer than anybody; a command waits for nothing."""
    microphone.deliver(np.zeros(RATE_HZ))
    assert told.ears.settle(LIMIT_S)
    monkeypatch.setattr("edgeagent.stt.ears._REST_S", 10 * LIMIT_S)
    assert told.ears.settle(LIMIT_S)  # the rest that it was in is over
    heard = told.ears.blocks
    microphone.deliver(np.zeros(RATE_HZ))
    assert told.ears.blocks == heard
    assert told.ears.settle(LIMIT_S)
    assert told.ears.blocks == heard + 100


def test_a_microphone_that_stalls_is_told_ends_the_utterance_and_is_back(microphone: Microphone, told: Told) -> None:
    microphone.deliver(np.concatenate([quiet(2.0), speech()[: RATE_HZ // 2]]))
    assert told.ears.settle(LIMIT_S)
    assert len(told.of(SpeechStarted)) == 1
    assert told.of(HardEnd) == []
    while told.levels.qsize():
        told.levels.get()
    microphone.now_s += STALL_S + 0.2
    trouble = told.troubles.get(timeout=LIMIT_S)
    assert (trouble.part, "no sound" in trouble.text) == ("device", True)
    assert len(told.of(HardEnd)) == 1
    microphone.now_s += 5.0
    assert told.levels.get(timeout=LIMIT_S).now_s > 3.0, "it is a clock for others"
    begins_s = microphone.now_s
    microphone.deliver(around(speech()))
    assert told.ears.settle(LIMIT_S)
    assert "again" in told.troubles.get(timeout=LIMIT_S).text
    assert told.of(SpeechStarted)[1].at_s == pytest.approx(begins_s + 2.0, abs=0.3)
    assert len(told.of(FinalTranscript)) == 2


def test_one_that_never_begins_is_told(microphone: Microphone, told: Told) -> None:
    microphone.now_s += START_S + 0.1
    assert "no sound" in told.troubles.get(timeout=LIMIT_S).text


def test_one_whose_clock_stands_has_not_stalled(microphone: Microphone, told: Told) -> None:
    microphone.deliver(quiet(1.0))
    assert told.ears.settle(LIMIT_S)
    assert not threading.Event().wait(0.3), "six looks at it"
    assert told.of(Trouble) == []


def test_one_that_comes_back_with_another_rate_is_heard(microphone: Microphone, told: Told) -> None:
    microphone.deliver(around(speech()))
    assert told.ears.settle(LIMIT_S)
    microphone.now_s += STALL_S + 0.2
    told.troubles.get(timeout=LIMIT_S)
    microphone.input_rate_hz = 48_000
    microphone.deliver(np.repeat(around(speech()), 3))
    assert told.ears.settle(LIMIT_S)
    first, second = told.notes.finished
    assert len(second) == pytest.approx(len(first), abs=0.2 * RATE_HZ)


def test_speech_without_an_end_is_cut_and_none_of_it_is_lost() -> None:
    notes = Notes()
    endpoint = EndpointSettings(max_s=3.0)
    with listening(notes, endpoint=endpoint) as here:
        here.room.say(speechlike(3, 8.0, RATE_HZ), RATE_HZ, 1.5)
        here.run(11.0)
    ended = here.of(HardEnd)
    assert sum(event.cut for event in ended) >= 2
    assert all(len(event.samples) <= 3.0 * RATE_HZ for event in ended)
    # what was told of each last; what was told before was void
    last = {event.utterance: event.transcript.text for event in here.of(FinalTranscript)}
    assert list(last) == list(range(1, len(ended) + 1))
    for event, text in zip(ended, last.values(), strict=True):
        if event.cut:
            assert text == f"{len(event.samples) / RATE_HZ:.2f} s"
    all_s = sum(len(event.samples) for event in ended) / RATE_HZ
    assert all_s == pytest.approx(ended[-1].at_s - 1.5 + 1.0, abs=0.7), "no gaps"


def test_two_people_at_once_are_one_utterance() -> None:
    with listening(Notes()) as here:
        here.say("could you go to the kitchen", at_s=1.5, voice="slt")
        here.say("what time is it now please", at_s=1.6, voice="rms")
        here.run(4.5)
    assert len(here.of(SpeechStarted)) == len(here.of(HardEnd)) == 1


def test_ears_that_are_behind_say_so_drop_and_keep_up_again() -> None:
    lateness = Lateness()
    assert lateness.of(BEHIND_S / 2, 0.01).said == ""
    late = lateness.of(BEHIND_S + 0.1, 0.01)
    assert (late.drop, "behind" in late.said) == (False, True)
    assert lateness.of(BEHIND_S + 0.2, 0.01).said == "", "once"
    first = lateness.of(LOST_S + 0.1, 0.01)
    assert (first.drop, first.begins) == (True, True)
    assert lateness.of(LOST_S - 1.0, 0.01).drop, "until they keep up"
    back = lateness.of(0.1, 0.01)
    assert not back.drop
    assert "0.0 s of sound were dropped" in back.said


def test_a_block_that_breaks_the_ears_is_told_once_and_they_go_on(
    microphone: Microphone, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = EchoCanceller.near
    broken = threading.Event()
    broken.set()

    def raising(self: EchoCanceller, block: Samples, adc_s: float) -> Samples:
        if broken.is_set():
            raise ValueError("a bad block")
        return near(self, block, adc_s)

    monkeypatch.setattr(EchoCanceller, "near", raising)
    microphone.deliver(quiet(0.2))
    assert told.ears.settle(LIMIT_S)
    assert [trouble.part for trouble in told.of(Trouble)] == ["ears"]
    broken.clear()
    microphone.deliver(around(speech()))
    assert told.ears.settle(LIMIT_S)
    assert len(told.of(FinalTranscript)) == 1


def test_ears_that_fail_at_every_block_keep_the_time_and_say_when_they_work_again(
    microphone: Microphone, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told(microphone)

    def fail(self: EchoCanceller, block: Samples, adc_s: float) -> Samples:
        raise ValueError("a broken canceller")

    told.ears.open_sound()
    try:
        monkeypatch.setattr(EchoCanceller, "near", fail)
        microphone.deliver(np.zeros(RATE_HZ, np.float32))
        assert not told.troubles.get(timeout=LIMIT_S).over
        while told.levels.get(timeout=LIMIT_S).now_s < 0.9:
            pass
        assert told.ears.settle(LIMIT_S)
        monkeypatch.undo()
        microphone.deliver(np.zeros(RATE_HZ, np.float32))
        assert told.troubles.get(timeout=LIMIT_S) == Trouble("ears", "they work again", over=True)
        times = [0.9]
        while times[-1] < 1.9:  # as the device has it
            times.append(told.levels.get(timeout=LIMIT_S).now_s)
        assert times == sorted(times)
    finally:
        told.ears.close()
