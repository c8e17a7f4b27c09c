"""What is speech and what is not, frame by frame, with the real detectors."""

import builtins
import time

import numpy as np
import pytest

from edgeagent.audio import FRAME, RATE_HZ, VoiceActivity, VoiceSettings, vad
from edgeagent.errors import AudioError, ConfigError
from edgeagent.testing import Room, RoomSettings, synthesised

LINE = "could you tell me what time it is"


def speech(voice="slt", text=LINE, before_s=1.0, after_s=1.0, level_dbfs=-26.0):
    """A line with faint noise around it."""
    line = synthesised(text, voice, RATE_HZ)
    line = line * (10 ** (level_dbfs / 20) / np.sqrt(np.mean(line**2)))
    sound = np.concatenate((np.zeros(round(before_s * RATE_HZ)), line, np.zeros(round(after_s * RATE_HZ))))
    return (sound + hiss(len(sound) / RATE_HZ, -75)[: len(sound)]).astype(np.float32)


def hiss(seconds, level_dbfs, seed=0):
    made = np.random.default_rng(seed).standard_normal(round(seconds * RATE_HZ))
    return (made * 10 ** (level_dbfs / 20)).astype(np.float32)


def probabilities(sound, activity=None, block=FRAME):
    activity = activity or VoiceActivity()
    frames = [f for at in range(0, len(sound), block) for f in activity.process(sound[at : at + block])]
    return np.array([frame.probability for frame in frames])


def share(sound, **more):
    """Of the frames, those with speech."""
    return float(np.mean(probabilities(sound, **more) >= vad.VOICE))


def test_speech_is_speech_and_the_quiet_around_it_is_not():
    heard = probabilities(speech())
    assert heard[105:-130].mean() > 0.8
    assert heard[:90].max() < vad.VOICE
    assert heard[-60:].max() < vad.VOICE


@pytest.mark.parametrize("voice", ["rms", "awb", "en-us"])
def test_other_voices_are_speech_too(voice):
    assert probabilities(speech(voice))[110:-130].mean() > 0.8


@pytest.mark.parametrize("block", [1, 333, 4_000, 100_000])
def test_the_size_of_the_blocks_changes_nothing(block):
    sound = speech()[:32_000]
    np.testing.assert_array_equal(probabilities(sound, block=block), probabilities(sound))


def test_every_frame_is_told_once_with_its_place():
    frames = VoiceActivity().process(hiss(1.005, -60))
    assert [frame.end for frame in frames] == list(range(FRAME, RATE_HZ + 1, FRAME))


def test_reset_begins_another_stream():
    activity, sound = VoiceActivity(), speech()[:32_000]
    first = probabilities(sound, activity)
    activity.reset()
    np.testing.assert_array_equal(probabilities(sound, activity), first)


# --- what is no speech ----------------------------------------------------------------------------------------------


def test_all_zeros_cost_nothing_and_are_no_speech():
    activity = VoiceActivity()
    assert share(np.zeros(60 * RATE_HZ, np.float32), activity=activity) == 0
    assert activity.asked == 0
    assert activity.floor_db == activity.settings.quietest_floor_dbfs


@pytest.mark.parametrize("kind", ["white", "pink", "hum", "fan"])
def test_steady_noise_is_no_speech(kind):
    room = Room(RoomSettings(rate_hz=RATE_HZ, record=True))
    room.add_noise(kind, snr_db=5)
    room.run(17)  # it repeats after 16 s
    assert share(room.recorded.microphone) == 0


def test_motors_that_start_and_stop_are_no_speech():
    room = Room(RoomSettings(rate_hz=RATE_HZ))
    room.add_motor(lambda at_s: 0.5 if at_s % 4 > 2 else 0.0, snr_db=5)
    room.run(20)
    assert share(room.recorded.microphone) == 0


def test_chords_are_no_speech():
    time_s = np.arange(10 * RATE_HZ) / RATE_HZ
    pluck = np.exp(-3 * (time_s % 0.5))
    chord = sum(np.sin(2 * np.pi * hz * n * time_s) / n for hz in (220, 277, 330) for n in range(1, 6))
    assert share((0.05 * pluck * chord).astype(np.float32)) == 0


def test_talk_in_the_background_is_not_for_the_robot_but_a_louder_person_is():
    room = Room(RoomSettings(rate_hz=RATE_HZ))
    voices = [
        synthesised(f"{LINE} {i} and {LINE}", v, RATE_HZ) for i, v in enumerate(("kal", "rms", "awb", "en-gb", "en-us"))
    ]
    room.add_babble([*voices, voices[0][::-1]], snr_db=10, rate_hz=RATE_HZ)
    said = room.say(synthesised(LINE, "slt", RATE_HZ), RATE_HZ, 8.0)
    room.run(10)
    heard = probabilities(room.recorded.microphone)
    assert heard[:790].max() < vad.VOICE
    assert np.mean(heard[800 : round(100 * said.end_s)] >= vad.VOICE) > 0.5


def test_talk_in_the_background_is_over_after_a_silence_that_was_left_out():
    room = Room(RoomSettings(rate_hz=RATE_HZ))
    voices = [synthesised(f"{LINE} {i} and {LINE}", v, RATE_HZ) for i, v in enumerate(("kal", "rms", "awb", "en-gb"))]
    room.add_babble(voices, snr_db=10, rate_hz=RATE_HZ)
    room.run(15)
    quiet, soft = hiss(6, -60), speech(level_dbfs=-53)
    soft += hiss(len(soft) / RATE_HZ, -60, seed=1)[: len(soft)]
    heard = {}
    for skipped_s in (0, 600):
        activity = VoiceActivity()
        probabilities(np.concatenate((room.recorded.microphone, quiet)), activity)
        activity.skip(skipped_s * RATE_HZ)
        heard[skipped_s] = np.mean(probabilities(soft, activity) >= vad.VOICE)
    assert heard[600] > heard[0] + 0.1


# --- sound that is not as it should be ------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-0.4, 0.05, 0.4])
def test_an_offset_is_no_sound(offset):
    activity = VoiceActivity()
    heard = probabilities(speech() + np.float32(offset), activity)
    assert activity.floor_db < -60
    assert heard[105:-130].mean() > 0.8
    assert heard[:90].max() < vad.VOICE


def test_clipped_speech_is_speech():
    sound = np.clip(speech(level_dbfs=-26) * 60, -1, 1)
    assert probabilities(sound)[110:-130].mean() > 0.7


def test_samples_beyond_full_scale_and_no_numbers_do_no_harm():
    sound = speech() * 100
    sound[5_000:5_010] = np.nan
    sound[70_000:] = np.inf
    heard = probabilities(sound)
    assert np.all(np.isfinite(heard))


@pytest.mark.parametrize("voice", ["en-gb+whisper", "en-us+whisperf"])
def test_whispering_is_speech(voice):
    heard = probabilities(speech(voice, level_dbfs=-46))
    assert np.mean(heard[110:-110] >= vad.VOICE) > 0.6


def test_low_voices_are_heard():
    assert probabilities(speech(level_dbfs=-46))[110:-130].mean() > 0.6


def test_the_floor_follows_the_room():
    activity = VoiceActivity()
    probabilities(hiss(6, -70), activity)
    assert activity.floor_db == pytest.approx(-70, abs=2)
    probabilities(hiss(6, -40), activity)
    assert activity.floor_db == pytest.approx(-40, abs=2)
    probabilities(hiss(2, -60), activity)
    assert activity.floor_db == pytest.approx(-60, abs=2)


def test_speech_does_not_raise_the_floor():
    activity = VoiceActivity()
    probabilities(np.tile(speech(before_s=0, after_s=0.1), 4), activity)
    assert activity.floor_db < -45


# --- cost and errors ------------------------------------------------------------------------------------------------


def test_quiet_noise_hardly_asks_silero_and_speech_does():
    activity = VoiceActivity()
    probabilities(hiss(30, -60), activity)
    assert activity.asked < 30
    before = activity.asked
    probabilities(speech(), activity)
    assert activity.asked - before > 40


@pytest.mark.parametrize("noise_dbfs", [-60, -46])
def test_it_sleeps_in_noise_and_is_awake_soon_after_a_word_begins(noise_dbfs):
    word = speech(text="stop", before_s=4.0)
    activity, asleep = VoiceActivity(), []
    for frame in np.split(
        word[: len(word) // 160 * 160] + hiss(9.0, noise_dbfs)[: len(word) // 160 * 160], len(word) // 160
    ):
        activity.process(frame)
        asleep.append(activity.asleep)
    assert np.mean(asleep[100:400]) > 0.8
    assert not asleep[420]
    assert not all(asleep[400:416])


def test_a_minute_of_noise_is_heard_fast():
    sound = hiss(60, -40)
    begun = time.process_time()
    probabilities(sound)
    assert time.process_time() - begun < 3  # 0.15 s here


def test_a_detector_that_is_missing_is_an_error(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **keywords):
        if name == "webrtcvad":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AudioError, match=r"pip install .edgeagent\[voice\]"):
        VoiceActivity()


@pytest.mark.parametrize(
    "wrong", [{"aggressiveness": 4}, {"talk_db": 1}, {"talk_share": 2}, {"rise_db": 0}, {"talk_stays_db": 0}]
)
def test_a_wrong_setting_is_named(wrong):
    with pytest.raises(ConfigError, match="voice activity"):
        VoiceSettings(**wrong)


def test_frames_are_of_ten_milliseconds():
    assert vad.FRAME / vad.RATE_HZ == 0.01
