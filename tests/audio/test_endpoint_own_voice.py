"""While the robot speaks, what is left of its own voice begins no utterance; a person over it does."""

import itertools

import numpy as np
import pytest

from edgeagent.audio import (
    FRAME,
    RATE_HZ,
    EchoCanceller,
    Endpointer,
    EndpointSettings,
    HardEnd,
    SoftEnd,
    SpeechStarted,
    VoiceActivity,
    VoiceFrame,
)
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.audio.scripted import Scripted, kinds, stream


class Told(VoiceActivity):
    """Every frame is as likely to be speech, and as loud, as it was told."""

    def __init__(self):
        self.probability, self.level_db = 0.0, -60.0
        self.reset()

    def reset(self):
        self._waiting = np.zeros(0, np.float32)
        self._count = 0

    def process(self, block):
        made = []
        for _ in self._frames(block):
            self._count += FRAME
            made.append(VoiceFrame(self._count, self.probability, self.level_db, -75.0))
        return made


@pytest.fixture
def lasts():
    """Feeds so many seconds of one kind to an endpointer."""
    activity = Told()
    endpointer = Endpointer(activity=activity)

    def feed(seconds, probability, level_db, **how):
        activity.probability, activity.level_db = probability, level_db
        blocks = [np.zeros(FRAME, np.float32)] * round(seconds * 100)
        return kinds([event for block in blocks for event in endpointer.feed(block, **how)])

    return feed


def test_what_is_left_of_the_robots_voice_is_no_speech_however_likely(lasts):
    assert lasts(5, 1.0, -45.0, far_active=True, microphone_db=-20.0) == []


def test_a_person_over_the_robots_voice_needs_not_be_as_likely(lasts):
    lasts(1, 0.0, -60.0, far_active=True, microphone_db=-20.0)
    assert lasts(0.2, 0.25, -35.0, far_active=True, microphone_db=-19.0) == [SpeechStarted]


def test_a_person_that_the_canceller_has_suppressed_is_heard_by_another_look(lasts):
    assert lasts(2, 0.0, -60.0, far_active=True, microphone_db=-20.0, double_talk=0.6) == []
    assert lasts(0.2, 0.0, -60.0, far_active=True, microphone_db=-20.0, double_talk=0.8) == [SpeechStarted]


def test_where_that_look_finds_the_robots_voice_nothing_starts(lasts):
    assert lasts(1, 0.4, -35.0, far_active=True, microphone_db=-19.0, double_talk=0.4) == []
    assert lasts(0.2, 0.4, -35.0, far_active=True, microphone_db=-19.0, double_talk=0.6) == [SpeechStarted]


def test_what_the_canceller_has_left_whole_is_a_person_whatever_that_look_finds(lasts):
    assert lasts(1, 0.7, -27.0, far_active=True, microphone_db=-19.0, double_talk=0.1) == []
    assert lasts(0.2, 0.7, -24.0, far_active=True, microphone_db=-19.0, double_talk=0.1) == [SpeechStarted]


@pytest.mark.parametrize("how", [{"far_active": False}, {"far_active": True, "own": True}])
def test_that_look_is_for_a_robot_that_speaks_and_whose_echo_is_known(lasts, how):
    assert lasts(1, 0.0, -60.0, microphone_db=-20.0, double_talk=0.9, **how) == []


def test_where_the_robot_is_silent_that_is_no_speech(lasts):
    assert lasts(5, 0.25, -35.0, microphone_db=-19.0) == []


def test_a_pause_of_the_robot_makes_nothing_of_it_speech(lasts):
    lasts(3, 0.0, -60.0, far_active=True, microphone_db=-20.0)
    assert lasts(1, 0.9, -50.0, far_active=True, microphone_db=-50.0) == []


def test_without_the_microphones_level_it_must_be_quite_sure(lasts):
    assert lasts(2, 0.7, -30.0, far_active=True) == []
    assert lasts(0.2, 0.9, -30.0, far_active=True) == [SpeechStarted]


def test_the_robots_voice_resumes_no_utterance_and_does_not_hold_it_open(lasts):
    assert lasts(0.5, 1.0, -30.0) == [SpeechStarted]
    assert lasts(0.4, 0.0, -60.0) == [SoftEnd]
    assert lasts(2, 1.0, -45.0, far_active=True, microphone_db=-20.0) == [HardEnd]


@pytest.mark.parametrize("microphone_db", [-np.inf, np.nan])
def test_a_microphone_without_a_level_does_no_harm(lasts, microphone_db):
    assert lasts(1, 1.0, -30.0, far_active=True, microphone_db=microphone_db) == [SpeechStarted]


ROBOT = (
    "i am on my way to the kitchen and will be back in about two minutes with the red box that you asked for",
    "the battery is at sixty two percent which is enough for another hour of driving around the house",
    "there is an obstacle in front of me so i will turn around and try the other door",
)


def over_own_voice(echo_gain_db, voice, seconds, *lines, seed=2, rt60_s=0.6, **fields):
    """The robot speaks without a pause; events with the time at which they were known, and what was said when."""
    speech = np.concatenate([synthesised(text, voice, RATE_HZ) for text in ROBOT])
    settings = RoomSettings(
        rate_hz=RATE_HZ, echo_gain_db=echo_gain_db, rt60_s=rt60_s, drift_ppm=100, latency_ms=60, seed=seed, record=False
    )
    speech = speech * np.float32(10 ** (settings.loudspeaker_level_db / 20) / np.sqrt(np.mean(speech**2)))
    room, canceller, endpointer = (
        Room(settings),
        EchoCanceller(RATE_HZ, RATE_HZ),
        Endpointer(EndpointSettings(**fields)),
    )
    room.calibrate(speech, RATE_HZ)
    said = [room.say(synthesised(line, who, RATE_HZ), RATE_HZ, at_s) for line, who, at_s in lines]
    played, found = itertools.count(), []

    def fill(block, dac_s):
        begin = next(played) * len(block)
        block[:] = speech.take(np.arange(begin, begin + len(block)), mode="wrap")
        canceller.far(block, dac_s)

    def take(block, adc_s):
        microphone_db = 10 * np.log10(np.mean(block.astype(np.float64) ** 2) + 1e-10)
        clean = canceller.near(block, adc_s)
        events = endpointer.feed(clean, far_active=canceller.far_active, microphone_db=microphone_db)
        found.extend((event, endpointer.now_s) for event in events)

    room.start(fill=fill, take=take)
    room.run(seconds)
    return found, said


def test_the_robots_own_voice_starts_nothing():
    hard, _ = over_own_voice(6, "slt", 12, seed=12, far_below_db=200)
    assert any(isinstance(event, SpeechStarted) for event, _ in hard)  # what is left of it is like speech
    assert over_own_voice(6, "slt", 12, seed=12)[0] == []


def test_a_person_is_heard_over_the_robots_voice():
    lines = [("turn left now", "rms", 4.0), ("no wait", "slt", 6.5), ("go to the bedroom", "en-us", 9.0)]
    found, said = over_own_voice(0, "en-gb", 10, *lines)
    starts = [(event, known_s) for event, known_s in found if isinstance(event, SpeechStarted)]
    assert len(starts) == len(said)
    for (event, known_s), true in zip(starts, said, strict=True):
        assert event.begin_s < true.start_s
        assert known_s - true.start_s < 0.4


def test_while_the_robots_voice_is_heard_as_loud_as_it_is_nothing_starts_and_what_goes_on_does():
    endpointer = Endpointer(EndpointSettings(), activity=Scripted())
    sound = stream(300, 2_000, 1_000)

    def heard(begin_ms, end_ms, own):
        pieces = [sound[at : at + FRAME] for at in range(begin_ms * 16, end_ms * 16, FRAME)]
        return kinds([e for p in pieces for e in endpointer.feed(p, far_active=own, microphone_db=-20.0, own=own)])

    assert heard(0, 1_000, own=True) == []
    assert heard(1_000, 1_500, own=False) == [SpeechStarted]
    assert heard(1_500, 2_300, own=True) == []
    assert heard(2_300, 3_300, own=False) == [SoftEnd, HardEnd]


def test_nobody_starts_while_the_robots_echo_is_sought():
    endpointer = Endpointer(activity=Scripted())
    person = np.full(RATE_HZ, 0.9, np.float32)
    assert endpointer.feed(person, far_active=True, microphone_db=-20.0, own=True) == []
    assert kinds(endpointer.feed(person, far_active=True, microphone_db=-20.0)) == [SpeechStarted]


@pytest.mark.parametrize(("asked_ms", "kept_s"), [(500, 0.2), (100, 0.1)])
def test_little_of_the_robots_voice_comes_before_a_person_who_speaks_over_it(asked_ms, kept_s):
    endpointer = Endpointer(EndpointSettings(pre_roll_ms=asked_ms), activity=Scripted())
    sound = np.concatenate((stream(1000), np.full(RATE_HZ // 2, 0.9, np.float32)))
    (start,) = endpointer.feed(sound, far_active=True, microphone_db=-20.0)
    assert start.at_s - start.begin_s == pytest.approx(kept_s, abs=0.01)
