"""Where utterances begin and end, with real voice activity on real voices, and with scripted frames for the timing."""

import itertools
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeagent.audio.echo import EchoCanceller
from edgeagent.audio.endpoint import _LAG_MS, Endpointer, EndpointSettings, HardEnd, Resumed, SoftEnd, SpeechStart
from edgeagent.audio.silero import CHUNK
from edgeagent.audio.vad import FRAME, RATE_HZ, VoiceActivity, VoiceFrame
from edgeagent.errors import ConfigError
from edgeagent.testing import Room, RoomSettings, synthesised


class Scripted(VoiceActivity):
    """Speech where the sample itself says so: above 0.5. Any other part of it is as quiet as it says."""

    def __init__(self):
        self._waiting = np.zeros(0, np.float32)
        self._count = 0

    def reset(self):
        self.__init__()

    def process(self, block):
        made = []
        for frame in self._frames(block):
            self._count += FRAME
            level_db = 20 * np.log10(np.abs(frame).mean() + 1e-4)
            made.append(VoiceFrame(self._count, float(frame.mean() > 0.5), level_db, -20.0))
        return made


def stream(*parts):
    """Milliseconds of silence and of speech in turn, beginning with silence; every sample is another."""
    made = np.concatenate([np.full(ms * 16, 0.6 * (i % 2), np.float32) for i, ms in enumerate(parts)])
    return made + np.linspace(0, 0.1, len(made), dtype=np.float32)


def run(sound, endpointer=None, block=FRAME, finish=False, **fields):
    endpointer = endpointer or Endpointer(EndpointSettings(**fields), activity=Scripted())
    found = [e for at in range(0, len(sound), block) for e in endpointer.feed(sound[at : at + block])]
    return found + (endpointer.finish() if finish else [])


def kinds(found):
    return [type(event) for event in found]


def told(*lines, seconds, settings=None, noise=None):
    """A room in which lines are said: (text, voice, at_s)."""
    room = Room(settings or RoomSettings(rate_hz=RATE_HZ))
    if noise:
        room.add_noise(noise[0], snr_db=noise[1])
    said = [room.say(synthesised(text, voice, RATE_HZ), RATE_HZ, at_s) for text, voice, at_s in lines]
    room.run(seconds)
    return room.recorded.microphone, said


def hear(sound, **fields):
    return run(sound, Endpointer(EndpointSettings(**fields)), finish=True)


# --- the order and the times of events ------------------------------------------------------------------------------


def test_an_utterance_starts_ends_softly_and_ends():
    found = run(stream(2000, 1000, 2000))
    assert kinds(found) == [SpeechStart, SoftEnd, HardEnd]
    start, soft, hard = found
    # Silero takes 32 ms to hear the beginning, and goes on hearing after the end; here it does not
    assert start.at_s == pytest.approx(2.0 - CHUNK / RATE_HZ, abs=0.001)
    assert soft.at_s == hard.at_s == pytest.approx(3.0 - _LAG_MS / 1000, abs=0.001)
    assert start.begin_s == hard.begin_s == pytest.approx(start.at_s - 0.5, abs=0.001)
    assert not hard.cut


def test_the_ends_come_when_they_are_due():
    endpointer = Endpointer(EndpointSettings(soft_end_ms=200, hard_end_ms=600), activity=Scripted())
    sound = stream(1000, 1000, 2000)
    late_s = {}
    for at in range(0, len(sound), FRAME):
        for event in endpointer.feed(sound[at : at + FRAME]):
            late_s[type(event)] = endpointer.now_s - event.at_s
    assert late_s[SoftEnd] == pytest.approx(0.2, abs=0.011)
    assert late_s[HardEnd] == pytest.approx(0.6, abs=0.011)


def test_resumption_between_soft_and_hard_end_is_one_utterance():
    found = run(stream(1000, 500, 400, 500, 2000))
    assert kinds(found) == [SpeechStart, SoftEnd, Resumed, SoftEnd, HardEnd]
    assert found[2].at_s == pytest.approx(1.9 - CHUNK / RATE_HZ, abs=0.001)
    assert found[4].at_s == pytest.approx(2.4 - _LAG_MS / 1000, abs=0.001)


def test_a_click_after_the_soft_end_resumes_nothing():
    assert kinds(run(stream(1000, 500, 300, 30, 2000))) == [SpeechStart, SoftEnd, HardEnd]


@pytest.mark.parametrize("ms", [10, 50, 80])
def test_a_click_is_no_speech(ms):
    assert run(stream(1000, ms, 1000, ms, 1000)) == []


def test_many_clicks_do_not_add_up():
    assert run(stream(*[500, 50] * 20, 1000)) == []


def test_two_utterances_never_overlap():
    first, second = [e for e in run(stream(1000, 500, 800, 500, 2000)) if isinstance(e, HardEnd)]
    assert second.begin_s >= first.begin_s + len(first.samples) / RATE_HZ


def test_the_hard_end_may_be_set_while_somebody_speaks_and_counts_for_that_utterance():
    endpointer = Endpointer(activity=Scripted())
    sound = stream(1000, 500, 1200, 500, 1800)
    found = []
    for at in range(0, len(sound), FRAME):
        for event in endpointer.feed(sound[at : at + FRAME]):
            found.append(type(event))
            if len(found) == 1:
                endpointer.hard_end_ms = 1_500  # "drive to the"
    assert found == [SpeechStart, SoftEnd, Resumed, SoftEnd, HardEnd]
    run(stream(1000, 500), endpointer)
    assert endpointer.speaking
    assert endpointer.hard_end_ms == endpointer.settings.hard_end_ms


def test_a_shorter_hard_end_after_the_soft_end_counts_at_once():
    endpointer = Endpointer(EndpointSettings(hard_end_ms=2_000), activity=Scripted())
    assert kinds(run(stream(1000, 500, 500), endpointer)) == [SpeechStart, SoftEnd]
    endpointer.hard_end_ms = 300  # a complete command
    assert kinds(endpointer.feed(np.zeros(FRAME, np.float32))) == [HardEnd]


def test_a_hard_end_before_the_soft_one_brings_both():
    assert kinds(run(stream(1000, 500, 1000), hard_end_ms=100)) == [SpeechStart, SoftEnd, HardEnd]


@pytest.mark.parametrize("field", ["soft_end_ms", "hard_end_ms"])
def test_no_end_comes_while_somebody_speaks_however_short_it_is_set(field):
    assert kinds(run(stream(1000, 3000, 1000), **{field: 0})) == [SpeechStart, SoftEnd, HardEnd]


def test_the_soft_end_may_be_set():
    endpointer = Endpointer(activity=Scripted())
    endpointer.soft_end_ms = 500
    assert kinds(run(stream(1000, 500, 350), endpointer)) == [SpeechStart]


def test_while_the_robots_voice_is_heard_as_loud_as_it_is_nothing_starts_and_what_goes_on_does():
    endpointer = Endpointer(EndpointSettings(), activity=Scripted())
    sound = stream(300, 2_000, 1_000)

    def heard(begin_ms, end_ms, own):
        pieces = [sound[at : at + FRAME] for at in range(begin_ms * 16, end_ms * 16, FRAME)]
        return kinds([e for p in pieces for e in endpointer.feed(p, far_active=own, microphone_db=-20.0, own=own)])

    assert heard(0, 1_000, own=True) == []
    assert heard(1_000, 1_500, own=False) == [SpeechStart]
    assert heard(1_500, 2_300, own=True) == []
    assert heard(2_300, 3_300, own=False) == [SoftEnd, HardEnd]


def test_a_stream_that_is_over_ends_its_utterance():
    assert kinds(run(stream(1000, 500), finish=True)) == [SpeechStart, SoftEnd, HardEnd]
    assert kinds(run(stream(1000, 500, 400), finish=True)) == [SpeechStart, SoftEnd, HardEnd]
    assert run(stream(1000), finish=True) == []


def test_reset_forgets_the_utterance():
    endpointer = Endpointer(activity=Scripted())
    run(stream(1000, 500), endpointer)
    endpointer.reset()
    assert not endpointer.speaking
    assert endpointer.now_s == 0
    assert len(endpointer.utterance()) == 0


# --- samples --------------------------------------------------------------------------------------------------------


def samples_are_the_streams(found, sound):
    for event in found:
        if isinstance(event, HardEnd | SpeechStart):
            begin = round(event.begin_s * RATE_HZ)
            samples = event.samples if isinstance(event, HardEnd) else event.pre_roll
            np.testing.assert_array_equal(samples, sound[begin : begin + len(samples)])
    hard = [e for e in found if isinstance(e, HardEnd)]
    for before, after in itertools.pairwise(hard):
        end = round(before.begin_s * RATE_HZ) + len(before.samples)
        assert round(after.begin_s * RATE_HZ) >= end
        if before.cut:
            assert round(after.begin_s * RATE_HZ) == end


@example(parts=[32, 97, 359, 900, 621], blocks=[1], max_s=2.0, pre_roll_ms=0)  # a last part of a frame
@example(parts=[238, 419, 200, 853, 633, 1], blocks=[1, 1, 1], max_s=2.0, pre_roll_ms=0)  # a begin within a frame
@settings(max_examples=60, deadline=None)
@given(
    parts=st.lists(st.integers(1, 900), min_size=2, max_size=14),
    blocks=st.lists(st.integers(1, 5_000), min_size=1, max_size=5),
    max_s=st.sampled_from([2.0, 3.5, 20.0]),
    pre_roll_ms=st.sampled_from([0, 300, 500]),
)
def test_utterances_are_exactly_the_streams_samples(parts, blocks, max_s, pre_roll_ms):
    sound = stream(*parts)
    endpointer = Endpointer(EndpointSettings(max_s=max_s, pre_roll_ms=pre_roll_ms), activity=Scripted())
    found, at = [], 0
    for size in itertools.cycle(blocks):
        if at >= len(sound):
            break
        found += endpointer.feed(sound[at : at + size])
        at += size
    found += endpointer.finish()
    samples_are_the_streams(found, sound)
    assert kinds(found).count(SpeechStart) == kinds(found).count(HardEnd)
    # an utterance is never longer than it may be
    assert all(len(e.samples) <= max_s * RATE_HZ for e in found if isinstance(e, HardEnd))
    # the size of the blocks changes nothing
    whole = run(sound, block=len(sound), finish=True, max_s=max_s, pre_roll_ms=pre_roll_ms)
    assert [(type(e), e.at_s) for e in whole] == [(type(e), e.at_s) for e in found]


def test_one_who_listens_along_hears_the_same():
    endpointer = Endpointer(activity=Scripted())
    sound = stream(1000, 900, 300, 400, 2000)
    along = [np.zeros(0, np.float32)]
    for at in range(0, len(sound), 400):
        for event in endpointer.feed(sound[at : at + 400]):
            if isinstance(event, HardEnd):
                heard = np.concatenate(along)
                assert len(heard) > RATE_HZ
                np.testing.assert_array_equal(heard, event.samples[: len(heard)])
                return
        along.append(endpointer.utterance(sum(map(len, along))))
    pytest.fail("no end")


def test_speech_without_an_end_is_cut_at_its_quietest_place_without_a_gap():
    sound = np.full(30 * RATE_HZ, 0.9, np.float32)
    sound[10 * RATE_HZ : 101 * RATE_HZ // 10] = 0.6  # quieter at 10.0 s
    sound[25 * RATE_HZ :] = 0
    found = run(sound, max_s=12)
    first, second, third = [e for e in found if isinstance(e, HardEnd)]
    assert kinds(found)[:3] == [SpeechStart, HardEnd, SpeechStart]
    assert (first.cut, second.cut, third.cut) == (True, True, False)
    assert 10.0 <= first.at_s <= 10.1
    samples_are_the_streams(found, sound)
    together = np.concatenate([e.samples for e in (first, second, third)])
    np.testing.assert_array_equal(together, sound[: len(together)])


def test_a_quiet_pre_roll_is_not_where_speech_is_cut():
    sound = np.full(9 * RATE_HZ, 0.9, np.float32)
    sound[:RATE_HZ] = 0
    found = run(sound, max_s=2, pre_roll_ms=500)
    lengths_s = [len(e.samples) / RATE_HZ for e in found if isinstance(e, HardEnd)]
    assert len(lengths_s) in range(3, 9)
    assert min(lengths_s) >= 1
    samples_are_the_streams(found, sound)


def test_events_and_settings_are_frozen():
    with pytest.raises(FrozenInstanceError):
        SoftEnd(1.0).at_s = 2
    with pytest.raises(FrozenInstanceError):
        EndpointSettings().max_s = 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0},
        {"threshold": 0.9},
        {"far_threshold": 0},
        {"far_sure": 2},
        {"far_below_db": -1},
        {"max_s": 1},
        {"soft_end_ms": -1},
        {"pre_roll_ms": 3_000, "max_s": 3},
    ],
)
def test_a_wrong_setting_is_named(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        EndpointSettings(**wrong)


# --- while the robot speaks -----------------------------------------------------------------------------------------


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
    assert lasts(0.2, 0.25, -35.0, far_active=True, microphone_db=-19.0) == [SpeechStart]


def test_where_the_robot_is_silent_that_is_no_speech(lasts):
    assert lasts(5, 0.25, -35.0, microphone_db=-19.0) == []


def test_a_pause_of_the_robot_makes_nothing_of_it_speech(lasts):
    lasts(3, 0.0, -60.0, far_active=True, microphone_db=-20.0)
    assert lasts(1, 0.9, -50.0, far_active=True, microphone_db=-50.0) == []


def test_without_the_microphones_level_it_must_be_quite_sure(lasts):
    assert lasts(2, 0.7, -30.0, far_active=True) == []
    assert lasts(0.2, 0.9, -30.0, far_active=True) == [SpeechStart]


def test_the_robots_voice_resumes_no_utterance_and_does_not_hold_it_open(lasts):
    assert lasts(0.5, 1.0, -30.0) == [SpeechStart]
    assert lasts(0.4, 0.0, -60.0) == [SoftEnd]
    assert lasts(2, 1.0, -45.0, far_active=True, microphone_db=-20.0) == [HardEnd]


@pytest.mark.parametrize("microphone_db", [-np.inf, np.nan])
def test_a_microphone_without_a_level_does_no_harm(lasts, microphone_db):
    assert lasts(1, 1.0, -30.0, far_active=True, microphone_db=microphone_db) == [SpeechStart]


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
    hard, _ = over_own_voice(6, "awb", 12, seed=10, far_below_db=200)
    assert any(isinstance(event, SpeechStart) for event, _ in hard)  # what is left of it is like speech
    assert over_own_voice(6, "awb", 12, seed=10)[0] == []


@pytest.mark.parametrize("echo_gain_db", [-6, 0])
def test_a_person_is_heard_over_the_robots_voice(echo_gain_db):
    lines = [("turn left now", "rms", 6.0), ("no wait", "slt", 9.0), ("go to the bedroom", "en-us", 12.0)]
    found, said = over_own_voice(echo_gain_db, "en-gb", 15, *lines)
    starts = [(event, known_s) for event, known_s in found if isinstance(event, SpeechStart)]
    assert len(starts) == len(said)
    for (event, known_s), true in zip(starts, said, strict=True):
        assert event.begin_s < true.start_s
        assert known_s - true.start_s < 0.4


# --- real voices in the room ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [None, ("pink", 20), ("fan", 10)])
def test_start_and_end_are_near_the_truth_and_no_first_sound_is_lost(noise):
    lines = [("she sells sea shells", "slt", 4), ("drive to the kitchen", "rms", 8), ("turn around", "awb", 12)]
    sound, said = told(*lines, seconds=16, noise=noise)
    found = hear(sound)
    hard = [e for e in found if isinstance(e, HardEnd)]
    starts = [e for e in found if isinstance(e, SpeechStart)]
    assert len(hard) == len(said)
    for true, start, end in zip(said, starts, hard, strict=True):
        assert start.begin_s < true.start_s
        assert start.at_s == pytest.approx(true.start_s, abs=0.3)
        assert end.at_s == pytest.approx(true.end_s, abs=0.3)
    samples_are_the_streams(found, sound)


def test_a_low_voice_is_heard():
    low = RoomSettings(rate_hz=RATE_HZ, person_level_db=-46)
    sound, said = told(("please come back to me", "slt", 3), seconds=6, settings=low)
    (end,) = [e for e in hear(sound) if isinstance(e, HardEnd)]
    assert end.begin_s < said[0].start_s


def test_two_people_at_once_are_one_utterance():
    sound, said = told(("turn to the left now please", "slt", 3), ("no no wait for me", "rms", 3.4), seconds=7)
    (end,) = [e for e in hear(sound) if isinstance(e, HardEnd)]
    assert end.begin_s < said[0].start_s
    assert end.at_s == pytest.approx(max(s.end_s for s in said), abs=0.3)


def test_real_speech_without_an_end_is_cut_too():
    line = synthesised("and then we went on to the next house and the one after that", "rms", RATE_HZ)
    sound = np.tile(line, 6)
    found = hear(sound, max_s=5)
    hard = [e for e in found if isinstance(e, HardEnd)]
    assert len(hard) >= 3
    assert all(len(e.samples) <= 5 * RATE_HZ for e in hard)
    samples_are_the_streams(found, sound)


@pytest.mark.parametrize("block", [77, 1_000, 100_000])
def test_the_size_of_the_blocks_changes_nothing(block):
    sound, _ = told(("turn around", "slt", 3), ("and stop", "rms", 5), seconds=7)
    expected = run(sound, Endpointer(), finish=True)
    found = run(sound, Endpointer(), block=block, finish=True)
    assert [(type(e), e.at_s) for e in found] == [(type(e), e.at_s) for e in expected]
    assert len(found) >= 6


def test_ten_minutes_of_noise_have_no_utterance():
    random = np.random.default_rng(0)
    minute = np.cumsum(random.standard_normal(60 * RATE_HZ)) * 0.02
    minute -= np.convolve(minute, np.ones(400) / 400, "same")  # rumble and hiss
    sound = (0.05 * minute / minute.std()).astype(np.float32)
    endpointer = Endpointer()
    for _ in range(10):
        swell = (0.3 + 0.7 * random.random(60).repeat(RATE_HZ)).astype(np.float32)
        assert run(sound * swell, endpointer, block=1_600) == []
    assert endpointer.now_s == pytest.approx(600)


def test_sound_that_is_no_number_is_no_speech():
    sound = np.zeros(3 * RATE_HZ, np.float32)
    sound[RATE_HZ:] = np.nan
    assert hear(sound) == []


@pytest.mark.parametrize("kind", ["zeros", "offset", "white", "clipped"])
def test_a_minute_without_speech_has_no_utterance(kind):
    noise = np.random.default_rng(0).standard_normal(60 * RATE_HZ).astype(np.float32)
    sound = {"zeros": 0 * noise, "offset": 0 * noise + 0.3, "white": 0.02 * noise, "clipped": np.clip(3 * noise, -1, 1)}
    assert hear(sound[kind]) == []


def test_nobody_starts_while_the_robots_echo_is_sought():
    endpointer = Endpointer(activity=Scripted())
    person = np.full(RATE_HZ, 0.9, np.float32)
    assert endpointer.feed(person, far_active=True, microphone_db=-20.0, own=True) == []
    assert kinds(endpointer.feed(person, far_active=True, microphone_db=-20.0)) == [SpeechStart]


def test_speech_without_an_end_takes_no_more_and_more_memory():
    endpointer = Endpointer(EndpointSettings(max_s=2, pre_roll_ms=200), activity=Scripted())
    cut = run(np.full(60 * RATE_HZ, 0.9, np.float32), endpointer)
    assert sum(isinstance(event, HardEnd) for event in cut) > 20
    history = endpointer._history
    assert history.end - history.begin < 8 * RATE_HZ


@pytest.mark.parametrize(("asked_ms", "kept_s"), [(500, 0.2), (100, 0.1)])
def test_little_of_the_robots_voice_comes_before_a_person_who_speaks_over_it(asked_ms, kept_s):
    endpointer = Endpointer(EndpointSettings(pre_roll_ms=asked_ms), activity=Scripted())
    sound = np.concatenate((stream(1000), np.full(RATE_HZ // 2, 0.9, np.float32)))
    (start,) = endpointer.feed(sound, far_active=True, microphone_db=-20.0)
    assert start.at_s - start.begin_s == pytest.approx(kept_s, abs=0.01)
