"""Where utterances begin and end, and which samples they have, with scripted frames for the timing."""

import itertools
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edgeagent.audio import (
    CHUNK,
    FRAME,
    LAG_MS,
    RATE_HZ,
    Endpointer,
    EndpointSettings,
    HardEnd,
    SoftEnd,
    SpeechResumed,
    SpeechStarted,
)
from edgeagent.errors import ConfigError
from tests.audio.scripted import Scripted, kinds, run, samples_are_the_streams, stream

# --- the order and the times of events ------------------------------------------------------------------------------


def test_an_utterance_starts_ends_softly_and_ends():
    found = run(stream(2000, 1000, 2000))
    assert kinds(found) == [SpeechStarted, SoftEnd, HardEnd]
    start, soft, hard = found
    # Silero takes 32 ms to hear the beginning, and goes on hearing after the end; here it does not
    assert start.at_s == pytest.approx(2.0 - CHUNK / RATE_HZ, abs=0.001)
    assert soft.at_s == hard.at_s == pytest.approx(3.0 - LAG_MS / 1000, abs=0.001)
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
    assert kinds(found) == [SpeechStarted, SoftEnd, SpeechResumed, SoftEnd, HardEnd]
    assert found[2].at_s == pytest.approx(1.9 - CHUNK / RATE_HZ, abs=0.001)
    assert found[4].at_s == pytest.approx(2.4 - LAG_MS / 1000, abs=0.001)


def test_a_click_after_the_soft_end_resumes_nothing():
    assert kinds(run(stream(1000, 500, 300, 30, 2000))) == [SpeechStarted, SoftEnd, HardEnd]


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
    assert found == [SpeechStarted, SoftEnd, SpeechResumed, SoftEnd, HardEnd]
    run(stream(1000, 500), endpointer)
    assert endpointer.speaking
    assert endpointer.hard_end_ms == endpointer.settings.hard_end_ms


def test_a_shorter_hard_end_after_the_soft_end_counts_at_once():
    endpointer = Endpointer(EndpointSettings(hard_end_ms=2_000), activity=Scripted())
    assert kinds(run(stream(1000, 500, 500), endpointer)) == [SpeechStarted, SoftEnd]
    endpointer.hard_end_ms = 300  # a complete command
    assert kinds(endpointer.feed(np.zeros(FRAME, np.float32))) == [HardEnd]


def test_a_hard_end_before_the_soft_one_brings_both():
    assert kinds(run(stream(1000, 500, 1000), hard_end_ms=100)) == [SpeechStarted, SoftEnd, HardEnd]


@pytest.mark.parametrize("field", ["soft_end_ms", "hard_end_ms"])
def test_no_end_comes_while_somebody_speaks_however_short_it_is_set(field):
    assert kinds(run(stream(1000, 3000, 1000), **{field: 0})) == [SpeechStarted, SoftEnd, HardEnd]


def test_the_soft_end_may_be_set():
    endpointer = Endpointer(activity=Scripted())
    endpointer.soft_end_ms = 500
    assert kinds(run(stream(1000, 500, 350), endpointer)) == [SpeechStarted]


def test_a_stream_that_is_over_ends_its_utterance():
    assert kinds(run(stream(1000, 500), finish=True)) == [SpeechStarted, SoftEnd, HardEnd]
    assert kinds(run(stream(1000, 500, 400), finish=True)) == [SpeechStarted, SoftEnd, HardEnd]
    assert run(stream(1000), finish=True) == []


def test_reset_forgets_the_utterance():
    endpointer = Endpointer(activity=Scripted())
    run(stream(1000, 500), endpointer)
    endpointer.reset()
    assert not endpointer.speaking
    assert endpointer.now_s == 0
    assert len(endpointer.utterance()) == 0


# --- samples --------------------------------------------------------------------------------------------------------


@example(parts=[32, 97, 359, 900, 621], blocks=[1], max_s=2.0, pre_roll_ms=0)  # a last part of a frame
@example(parts=[238, 419, 200, 853, 633, 1], blocks=[1, 1, 1], max_s=2.0, pre_roll_ms=0)  # a begin within a frame
@settings(max_examples=25)
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
    assert kinds(found).count(SpeechStarted) == kinds(found).count(HardEnd)
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
    assert kinds(found)[:3] == [SpeechStarted, HardEnd, SpeechStarted]
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
        SoftEnd(1, 1.0).at_s = 2
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


def test_speech_without_an_end_takes_no_more_and_more_memory():
    endpointer = Endpointer(EndpointSettings(max_s=2, pre_roll_ms=200), activity=Scripted())
    cut = run(np.full(60 * RATE_HZ, 0.9, np.float32), endpointer)
    assert sum(isinstance(event, HardEnd) for event in cut) > 20
    history = endpointer._history
    assert history.end - history.begin < 8 * RATE_HZ
