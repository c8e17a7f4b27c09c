"""Ears that doze while a room is as quiet as ever, and miss nothing."""

from __future__ import annotations

import numpy as np
import pytest

from edgeagent.audio import EchoCanceller, PlaybackQueue, Samples
from edgeagent.stt import (
    LEAD_S,
    RATE_HZ,
    Doze,
    FinalTranscript,
    HardEnd,
    KeyPhraseSpotter,
    KeywordSpotted,
    SpeechStarted,
)
from edgeagent.testing import Room, RoomSettings, synthesised
from tests.stt.listening import Notes, listening
from tests.stt.test_ears_bad_input import LIMIT_S, Microphone, Told

HZ = 48_000
BLOCK = HZ // 100


def noise(seconds: float, level_db: float = -60.0, seed: int = 0) -> Samples:
    white = np.random.default_rng(seed).normal(0, 10 ** (level_db / 20), round(seconds * HZ))
    return white.astype(np.float32)


def judged(doze: Doze, sound: Samples, *, may: bool = True) -> list[bool]:
    """For each block, whether it need not be heard."""
    return [doze.sleeps(sound[at : at + BLOCK], may=may) for at in range(0, len(sound), BLOCK)]


# --- the judge ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level_db", [-110.0, -60.0, -30.0])
def test_steady_noise_puts_ears_to_sleep_in_three_seconds_and_for_good(level_db: float) -> None:
    found = judged(Doze(HZ), noise(60.0, level_db))
    assert not any(found[:100])
    assert all(found[300:])


@pytest.mark.parametrize("voice", ["heart", "slt", "rms"])
def test_a_voice_as_loud_as_the_noise_wakes_them_within_a_word(voice: str) -> None:
    doze = Doze(HZ)
    sound = noise(12.0)
    said = synthesised("please come here", voice, HZ)
    begin = 10 * HZ
    sound[begin : begin + len(said)] += said * (np.std(sound) / np.std(said))
    found = judged(doze, sound)
    assert all(found[400 : begin // BLOCK])
    assert not all(found[begin // BLOCK : begin // BLOCK + 40])


def test_a_voice_over_hum_and_an_offset_wakes_them() -> None:
    doze = Doze(HZ)
    times = np.arange(12 * HZ) / HZ
    sound = (0.05 + 0.03 * np.sin(2 * np.pi * 50 * times)).astype(np.float32) + noise(12.0, -70.0)
    said = synthesised("please come here", "slt", HZ)
    sound[10 * HZ : 10 * HZ + len(said)] += 0.02 * said / np.abs(said).max()
    found = judged(doze, sound)
    assert all(found[400:1000])
    assert not all(found[1000:1040])


def test_noise_that_begins_wakes_them_until_it_is_the_rooms() -> None:
    found = judged(Doze(HZ), np.concatenate((noise(8.0), noise(12.0, -40.0, seed=1))))
    assert all(found[400:800])
    assert not any(found[805:900])
    assert all(found[-200:])


def test_noise_that_grows_slowly_is_heard_now_and_then() -> None:
    """Or a fan that starts up in minutes would be unknown to whoever looks for louder sounds."""
    grows = noise(200.0) * np.geomspace(1.0, 10.0, 200 * HZ).astype(np.float32)
    found = judged(Doze(HZ), np.concatenate((noise(5.0, seed=1), grows)))
    heard = [at for at, asleep in enumerate(found) if not asleep]
    assert max(np.diff([*heard, len(found)])) < 5_000, "a quarter of 20 dB"


def test_what_is_as_loud_as_noise_that_has_ended_wakes_them() -> None:
    sound = np.concatenate((noise(8.0, -40.0), noise(8.0, -60.0, seed=1), noise(1.0, -45.0, seed=2)))
    assert not all(judged(Doze(HZ), sound)[-90:])


@pytest.mark.parametrize("after_s", [0.5, 1.0, 2.0])
def test_a_voice_softer_than_noise_that_has_ended_wakes_them(after_s: float) -> None:
    sound = np.concatenate((noise(20.0, -20.0), noise(5.0, -65.0, seed=1)))
    said = synthesised("stop", "rms", HZ)
    begin = round((20.0 + after_s) * HZ)
    sound[begin : begin + len(said)] += said * np.float32(10 ** (-45 / 20) / np.std(said))
    first = begin // BLOCK
    assert not all(judged(Doze(HZ), sound)[first : first + 30])


def test_nothing_is_slept_through_that_must_be_heard() -> None:
    doze = Doze(HZ)
    assert not any(judged(doze, noise(8.0), may=False))
    assert judged(doze, noise(2.0, seed=1))[-1]
    assert not doze.sleeps(noise(0.01, seed=2), may=False)
    assert not doze.sleeps(noise(0.01, seed=3), may=True), "they are awake for a second"


# --- the ears -------------------------------------------------------------------------------------------------------


class Counted:
    """Seconds of sound that a canceller was given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds = 0.0
        near = EchoCanceller.near

        def counted(canceller: EchoCanceller, block: Samples, adc_s: float) -> Samples:
            self.seconds += len(block) / RATE_HZ
            return near(canceller, block, adc_s)

        monkeypatch.setattr(EchoCanceller, "near", counted)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def quiet_room(echo_gain_db: float = 0.0) -> Room:
    return Room(RoomSettings(rate_hz=RATE_HZ, noise_snr_db=30, echo_gain_db=echo_gain_db))


def test_a_quiet_room_is_not_heard_and_the_clock_goes_on(counted: Counted) -> None:
    with listening(Notes(), room=quiet_room()) as here:
        here.run(30.0)
        assert here.ears.now_s == pytest.approx(30.0, abs=0.05)
        assert here.ears.blocks == 3_000
    assert counted.seconds < 8.0
    told = np.array([level.now_s for level in here.levels])
    assert max(np.diff(told)) < 0.15
    assert {level.level_db > -80 for level in here.levels[20:]} == {True}


def test_speech_after_a_long_silence_is_heard_from_its_beginning(counted: Counted) -> None:
    notes = Notes()
    with listening(notes, room=quiet_room()) as here:
        end_s = here.say("go to the kitchen", at_s=25.0)
        here.run(28.0)
        before_s = counted.seconds
        again_s = here.say("and back", at_s=45.0)
        here.run(20.0)
    assert before_s < 12.0
    assert [round(start.at_s, 1) for start in here.of(SpeechStarted)] == [25.0, pytest.approx(45.0, abs=0.15)]
    assert [end.at_s for end in here.of(HardEnd)] == pytest.approx([end_s, again_s], abs=0.2)
    assert [heard.at_s for heard in here.of(FinalTranscript)] == pytest.approx([end_s, again_s], abs=0.2)
    first = here.of(SpeechStarted)[0]
    assert first.begin_s == pytest.approx(first.at_s - 0.5, abs=0.15)
    assert len(notes.finished[0]) / RATE_HZ == pytest.approx(end_s - 25.0 + 0.7, abs=0.3)


def test_a_stop_word_after_a_long_silence_is_spotted_in_time() -> None:
    spotter = KeyPhraseSpotter({"stop": None}, lambda keyword: None)
    with listening(Notes(), spotter=spotter, room=quiet_room()) as here:
        end_s = here.say("stop", at_s=20.0, voice="rms")
        here.run(21.5)
    (spotted,) = here.of(KeywordSpotted)
    assert spotted.keyword.end_s == pytest.approx(end_s, abs=0.15)
    assert next(told_s for told_s, event in here.told if event is spotted) == pytest.approx(end_s, abs=0.2)


def test_the_robots_own_voice_after_a_long_silence_wakes_them_and_is_no_speech(counted: Counted) -> None:
    room = quiet_room(echo_gain_db=-6)
    playback = PlaybackQueue(RATE_HZ)
    with listening(Notes(), room=room, fill=playback.fill) as here:
        here.run(20.0)
        before_s = counted.seconds
        talk = playback.begin()
        for _ in range(2):
            playback.write(talk, synthesised("the kitchen is warm and the lamp in the hall is on.", "en-gb", RATE_HZ))
        here.run(4.0)
        assert counted.seconds - before_s > 4.0 + LEAD_S - 0.2
        end_s = here.say("could you please stop right there", at_s=24.5, voice="rms")
        here.run(end_s - 23.0)
    assert here.of(SpeechStarted)[0].at_s == pytest.approx(24.5, abs=0.4)


def test_ears_that_were_closed_have_not_heard_what_was_said_meanwhile() -> None:
    notes = Notes()
    with listening(notes, room=quiet_room()) as here:
        here.run(10.0)
        here.ears.listen(False)
        here.say("go to the kitchen", at_s=12.0)
        here.run(10.0)
        here.ears.listen(True)
        end_s = here.say("and back", at_s=25.0)
        here.run(8.0)
    assert [start.at_s for start in here.of(SpeechStarted)] == pytest.approx([25.0], abs=0.15)
    assert here.of(HardEnd)[0].at_s == pytest.approx(end_s, abs=0.2)


def test_the_robots_own_voice_is_heard_though_no_echo_is(counted: Counted) -> None:
    playback = PlaybackQueue(RATE_HZ)
    with listening(Notes(), room=quiet_room(echo_gain_db=-60), fill=playback.fill) as here:
        here.run(10.0)
        before_s = counted.seconds
        playback.write(playback.begin(), synthesised("the kitchen is warm. " * 4, "en-gb", RATE_HZ))
        here.run(5.0)
    assert counted.seconds - before_s > 5.0


@pytest.mark.parametrize("rate_hz", [44_100, 48_000])
def test_the_clock_keeps_time_through_many_wakings(rate_hz: int) -> None:
    """Resampler and canceller give their samples in bursts."""
    microphone = Microphone(rate_hz)
    told = Told(microphone)
    told.ears.open_sound()
    random = np.random.default_rng(1)
    room = random.normal(0, 3e-4, round(3.7 * rate_hz)).astype(np.float32)
    room[: rate_hz // 10] *= 5
    try:
        for _ in range(60):
            microphone.deliver(room)
            assert told.ears.settle(LIMIT_S)
            assert told.ears.now_s == pytest.approx(microphone.now_s, abs=0.06)
    finally:
        told.ears.close()


@pytest.mark.parametrize("rate_hz", [22_050, 44_100])
def test_the_time_of_speech_is_right_at_every_rate(rate_hz: int) -> None:
    """At 22,050 Hz a block of 220 samples is 159.6 at 16 kHz."""
    microphone = Microphone(rate_hz)
    told = Told(microphone)
    told.ears.open_sound()
    second = rate_hz // 100 * 100
    room = np.random.default_rng(1).normal(0, 3e-4, second).astype(np.float32)
    said = synthesised("could you go to the kitchen", "slt", rate_hz)[:second]
    try:
        for _ in range(100):
            microphone.deliver(room)
            assert told.ears.settle(LIMIT_S)
        begin_s = microphone.now_s
        microphone.deliver(np.concatenate((0.3 / np.abs(said).max() * said, room, room)))
        assert told.ears.settle(LIMIT_S)
    finally:
        told.ears.close()
    assert [start.at_s for start in told.of(SpeechStarted)] == pytest.approx([begin_s], abs=0.12)
