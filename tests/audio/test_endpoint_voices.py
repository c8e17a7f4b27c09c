"""Where utterances begin and end, with real voice activity on real voices and on noise."""

import numpy as np
import pytest

from edgeagent.audio import RATE_HZ, Endpointer, EndpointSettings, HardEnd, SpeechStarted
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.audio.scripted import run, samples_are_the_streams


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


@pytest.mark.parametrize("noise", [None, ("pink", 20), ("fan", 10)])
def test_start_and_end_are_near_the_truth_and_no_first_sound_is_lost(noise):
    lines = [("she sells sea shells", "slt", 4), ("drive to the kitchen", "rms", 8), ("turn around", "awb", 12)]
    sound, said = told(*lines, seconds=16, noise=noise)
    found = hear(sound)
    hard = [e for e in found if isinstance(e, HardEnd)]
    starts = [e for e in found if isinstance(e, SpeechStarted)]
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


def test_two_minutes_of_noise_have_no_utterance():
    random = np.random.default_rng(0)
    minute = np.cumsum(random.standard_normal(60 * RATE_HZ)) * 0.02
    minute -= np.convolve(minute, np.ones(400) / 400, "same")  # rumble and hiss
    sound = (0.05 * minute / minute.std()).astype(np.float32)
    endpointer = Endpointer()
    for _ in range(2):
        swell = (0.3 + 0.7 * random.random(60).repeat(RATE_HZ)).astype(np.float32)
        assert run(sound * swell, endpointer, block=1_600) == []
    assert endpointer.now_s == pytest.approx(120)


def test_sound_that_is_no_number_is_no_speech():
    sound = np.zeros(3 * RATE_HZ, np.float32)
    sound[RATE_HZ:] = np.nan
    assert hear(sound) == []


@pytest.mark.parametrize("kind", ["zeros", "offset", "white", "clipped"])
def test_half_a_minute_without_speech_has_no_utterance(kind):
    noise = np.random.default_rng(0).standard_normal(30 * RATE_HZ).astype(np.float32)
    sound = {"zeros": 0 * noise, "offset": 0 * noise + 0.3, "white": 0.02 * noise, "clipped": np.clip(3 * noise, -1, 1)}
    assert hear(sound[kind]) == []
