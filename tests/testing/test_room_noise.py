"""What disturbs the microphone: as loud as asked, babble of six, motors that follow the wheels."""

import math

import numpy as np
import pytest

from edgeagent.errors import ConfigError
from edgeagent.testing import Loop, Room, RoomSettings, rms, snr_db, speechlike

RATE = 16_000


def a_room(**fields) -> Room:
    return Room(RoomSettings(**{"rate_hz": RATE, "rt60_s": 0.3, **fields}))


def noise_of(room: Room, seconds: float):
    room.run(seconds)
    return room.recorded.noise


@pytest.mark.parametrize(("kind", "snr"), [("white", -5), ("pink", 20), ("hum", -5), ("fan", 20)])
def test_the_snr_is_as_asked_on_the_frames_with_speech(kind, snr):
    room = a_room(person_level_db=-30)
    room.add_noise(kind, snr_db=snr)
    room.say(speechlike(3, 8, RATE), RATE, 0.5)
    room.run(9)
    assert snr_db(room.recorded.person, room.recorded.noise, RATE) == pytest.approx(snr, abs=0.5)


def test_the_snr_of_babble_is_as_asked_over_a_minute():
    room = a_room(babble_snr_db=10)
    room.say(speechlike(3, 55, RATE), RATE, 0.5)
    room.run(56)
    assert snr_db(room.recorded.person, room.recorded.noise, RATE) == pytest.approx(10, abs=0.5)


def test_babble_is_made_of_the_voices_that_are_given():
    bursts = [np.zeros(6 * RATE, np.float32) for _ in range(6)]
    for number, burst in enumerate(bursts):
        burst[:RATE] = np.sin(2 * math.pi * 200 * (number + 1) / RATE * np.arange(RATE))
    room = a_room()
    room.add_babble(bursts, snr_db=0)
    spectrum = np.abs(np.fft.rfft(noise_of(room, 6)))
    powers = [float(np.sum(spectrum[6 * 200 * n - 30 : 6 * 200 * n + 30] ** 2)) for n in range(1, 7)]
    assert max(powers) < 1.3 * min(powers), "all are equally loud"
    assert sum(powers) > 0.9 * float(np.sum(spectrum**2))
    assert rms(room.recorded.noise) == pytest.approx(room.person_level, rel=0.01)


def test_babble_of_another_rate_is_heard_at_its_pitch():
    tone = np.sin(2 * math.pi * 500 / 48_000 * np.arange(48_000)).astype(np.float32)
    room = a_room()
    room.add_babble([tone], snr_db=0, rate_hz=48_000)
    assert np.argmax(np.abs(np.fft.rfft(noise_of(room, 2)))) == 1_000


@pytest.mark.parametrize("voices", [[], [np.zeros(RATE, np.float32)]])
def test_babble_needs_voices(voices):
    with pytest.raises(ConfigError, match=r"^voices"):
        a_room().add_babble(voices, snr_db=0)


@pytest.mark.parametrize("snr", [-5, 20])
def test_any_sound_is_as_loud_as_asked_and_goes_on(snr):
    room = a_room(person_level_db=-30)
    room.add_sound(0.01 * np.sin(np.arange(RATE, dtype=np.float32)), RATE, snr_db=snr)
    room.say(speechlike(3, 3, RATE), RATE, 0.5)
    room.run(4)
    assert snr_db(room.recorded.person, room.recorded.noise, RATE) == pytest.approx(snr, abs=0.1)


def test_a_silent_sound_is_refused():
    with pytest.raises(ConfigError, match=r"^the sound"):
        a_room().add_sound(np.zeros(RATE, np.float32), RATE, snr_db=0)


def test_steady_noise_has_no_seam():
    for kind in ("white", "pink", "hum", "fan"):
        room = a_room(noise_snr_db=0, noise_kind=kind)
        noise = noise_of(room, 16.5)
        steps = np.abs(np.diff(noise))
        assert steps[16 * RATE - 5 : 16 * RATE + 5].max() <= steps[: 15 * RATE].max(), kind


def test_the_kinds_of_noise_sound_like_their_names():
    def shares(kind):
        power = np.abs(np.fft.rfft(noise_of(a_room(noise_snr_db=0, noise_kind=kind), 16))) ** 2
        octaves = [(125, 250), (1_000, 2_000), (4_000, 8_000)]
        return [float(np.sum(power[16 * low : 16 * high]) / np.sum(power)) for low, high in octaves]

    low, middle, high = shares("white")
    assert high == pytest.approx(4 * middle, rel=0.1)
    low, middle, high = shares("pink")
    assert low == pytest.approx(middle, rel=0.1) == pytest.approx(high, rel=0.1)
    low, middle, high = shares("fan")
    assert low > 10 * middle > 100 * high
    hum = np.abs(np.fft.rfft(noise_of(a_room(noise_snr_db=0, noise_kind="hum"), 16)))
    assert set(np.argsort(hum)[-3:]) == {16 * 50, 16 * 100, 16 * 150}


def test_noises_add_up_and_do_not_repeat_each_other():
    room = a_room()
    room.add_noise("white", snr_db=0)
    room.add_noise("white", snr_db=0)
    assert rms(noise_of(room, 16)) == pytest.approx(math.sqrt(2) * room.person_level, rel=0.02)


def test_a_loop_goes_on_where_it_was():
    period = np.arange(7.0)
    loop = Loop(period)
    assert np.concatenate([loop.block(at, 5) for at in range(0, 50, 5)]).tolist() == [float(n % 7) for n in range(50)]
    assert loop.block(3, 20).tolist() == [float(n % 7) for n in range(3, 23)]


# --- motors ---------------------------------------------------------------------------------------------------------


def motor(speed, seconds: float = 2, snr: float = 10):
    room = a_room()
    room.add_motor(speed, snr_db=snr)
    return room, noise_of(room, seconds)


def pitch_hz(noise) -> float:
    spectrum = np.abs(np.fft.rfft(noise * np.hanning(len(noise)), 16 * len(noise)))
    hz = np.fft.rfftfreq(16 * len(noise), 1 / RATE)
    return float(hz[np.argmax(np.where(hz > 100, spectrum, 0))])


def test_a_motor_at_rest_is_silent():
    _, noise = motor(lambda _: 0.0)
    assert rms(noise) == 0


def test_a_motor_at_full_speed_is_as_loud_as_asked():
    room, noise = motor(lambda _: 0.5, 16)
    assert 20 * math.log10(room.person_level / rms(noise)) == pytest.approx(10, abs=0.5)
    room = a_room()
    room.add_motor(lambda _: 0.5, snr_db=3)
    room.say(speechlike(3, 8, RATE), RATE, 0.5)
    room.run(9)
    assert snr_db(room.recorded.person, room.recorded.noise, RATE) == pytest.approx(3, abs=0.5)


@pytest.mark.parametrize("sign", [1, -1])
def test_pitch_and_level_of_a_motor_follow_the_wheels(sign):
    _, slow = motor(lambda _: sign * 0.2)
    _, fast = motor(lambda _: sign * 0.4)
    assert pitch_hz(fast) == pytest.approx(2 * pitch_hz(slow), rel=0.01)
    assert rms(fast) == pytest.approx(2 * rms(slow), rel=0.05)


def test_a_motor_is_heard_while_the_wheels_turn():
    _, noise = motor(lambda now_s: 0.5 if 1 <= now_s < 2 else 0.0, 3)
    assert rms(noise[: RATE - 160]) == 0 == rms(noise[2 * RATE + 160 :])
    assert rms(noise[RATE : 2 * RATE]) > 0
    spectrum = np.abs(np.fft.rfft(noise[RATE : 2 * RATE]))
    broadband = np.median(spectrum[100:4_000])
    assert broadband > 0.003 * spectrum.max(), "there is more than tones"


def test_a_motor_that_speeds_up_makes_no_clicks():
    _, noise = motor(lambda now_s: min(now_s, 1.0) * 0.5, 2)
    steps = np.abs(np.diff(noise))
    assert steps[:RATE].max() < 1.2 * steps[RATE:].max()


def test_the_speed_is_asked_once_a_block_in_the_rooms_time():
    asked = []
    motor(lambda now_s: asked.append(now_s) or 0.1, 0.1)
    assert asked == [pytest.approx(0.01 * (n + 1)) for n in range(10)]
