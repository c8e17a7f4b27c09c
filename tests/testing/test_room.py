"""A simulated room is a device: its clock, its callbacks, and what is said in it."""

import math
import subprocess
import sys

import numpy as np
import pytest

from edgeagent.audio import SoundDevice
from edgeagent.errors import AudioError, ConfigError
from edgeagent.testing import Room, RoomSettings, rms, snr_db, speech_level, speechlike

RATE = 16_000
BLOCK = 160


def quiet(**fields) -> RoomSettings:
    return RoomSettings(**{"rate_hz": RATE, "rt60_s": 0.2, **fields})


def looped(voice):
    """A loudspeaker that plays one sound for ever."""
    at = 0

    def fill(block, _):
        nonlocal at
        block[:] = np.take(voice, range(at, at + len(block)), mode="wrap")
        at += len(block)

    return fill


# --- the clock ------------------------------------------------------------------------------------------------------


def test_it_has_every_part_of_a_device():
    room: SoundDevice = Room(quiet())
    assert [name for name in dir(SoundDevice) if not name.startswith("_") and not hasattr(room, name)] == []
    assert (room.input_rate_hz, room.output_rate_hz) == (RATE, RATE)


def test_every_block_of_the_microphone_comes_once_and_after_its_end():
    room = Room(quiet())
    taken = []
    room.start(take=lambda block, adc_s: taken.append((len(block), adc_s, room.now())))
    room.run(1)
    assert taken == [(BLOCK, i * BLOCK / RATE, (i + 1) * BLOCK / RATE) for i in range(100)]
    assert room.now() == 1.0


@pytest.mark.parametrize("latency_ms", [0, 35, 200])
def test_a_block_of_the_loudspeaker_is_asked_for_as_long_before_its_time_as_the_latency(latency_ms):
    room = Room(quiet(latency_ms=latency_ms))
    asked = []
    room.start(fill=lambda block, dac_s: asked.append((len(block), dac_s - room.now(), dac_s)))
    room.run(1)
    assert len(asked) == 100
    assert all(length == BLOCK and ahead == pytest.approx(latency_ms / 1000) for length, ahead, _ in asked)
    assert np.diff([dac_s for *_, dac_s in asked]) == pytest.approx(0.01)


@pytest.mark.parametrize(("drift_ppm", "more"), [(1_000, 2), (-1_000, -2)])
def test_a_loudspeaker_with_a_faster_clock_asks_for_more_blocks(drift_ppm, more):
    room = Room(quiet(rt60_s=0, drift_ppm=drift_ppm))
    asked = []
    room.start(fill=lambda _, dac_s: asked.append((dac_s, room.now())))
    room.run(20)
    assert abs(len(asked) - (2_000 + more)) <= 1
    assert np.diff([dac_s for dac_s, _ in asked]) == pytest.approx(0.01 / (1 + drift_ppm * 1e-6))
    assert all(-1e-9 <= dac_s - now_s <= 0.01 + 1e-9 for dac_s, now_s in asked)


def test_no_call_comes_after_stop():
    room = Room(quiet())
    calls = []
    room.start(fill=lambda *_: calls.append("fill"), take=lambda *_: calls.append("take"))
    room.run(0.05)
    room.stop()
    room.stop()
    before = len(calls)
    room.run(0.05)
    assert len(calls) == before == 10
    assert room.now() == pytest.approx(0.1)


def test_a_callback_may_stop_it():
    room = Room(quiet())
    taken = []
    room.start(take=lambda block, _: (taken.append(block), room.stop()))
    room.run(0.1)
    assert len(taken) == 1


def test_each_end_has_one_user():
    room = Room(quiet())
    room.start(take=lambda *_: None)
    room.start(fill=lambda *_: None)
    with pytest.raises(AudioError, match="in use"):
        room.start(take=lambda *_: None)
    room.stop()
    room.start(take=lambda *_: None)


def test_what_a_callback_raises_comes_out_of_run():
    room = Room(quiet())

    def take(*_):
        raise ValueError("broken ears")

    room.start(take=take)
    with pytest.raises(ValueError, match="broken ears"):
        room.run(1)


# --- people ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_s", [0.1, 0.123_437_5, 0.250_062_5])
def test_a_person_speaks_at_that_very_sample(at_s):
    room = Room(quiet())
    click = np.zeros(800, np.float32)
    click[0] = click[-1] = 0.5
    said = room.say(click, RATE, at_s)
    room.run(1)
    person = room.recorded.person
    assert said.start == round(at_s * RATE) == np.flatnonzero(np.abs(person) > 1e-6)[0]
    assert (said.end - said.start, said.end_s) == (800, said.end / RATE)
    assert {said.start, said.end - 1} == set(np.argsort(np.abs(person))[-2:])
    assert rms(person[said.end + RATE // 4 :]) == 0


@pytest.mark.parametrize("level_db", [-12, 0, 6])
def test_a_person_is_as_loud_as_asked(level_db):
    room = Room(quiet(person_level_db=-30))
    said = room.say(0.01 * speechlike(3, 4, RATE), RATE, level_db=level_db)
    room.run(5)
    level_dbfs = 20 * math.log10(speech_level(room.recorded.person[said.start :], RATE))
    assert level_dbfs == pytest.approx(-30 + level_db, abs=0.1)
    assert room.person_level == pytest.approx(10 ** (-30 / 20))


def test_a_person_who_is_far_away_reverberates_more():
    def tail_share(distance_m: float) -> float:
        room = Room(quiet(distance_m=distance_m))
        click = np.zeros(160, np.float32)
        click[0] = 0.5
        said = room.say(click, RATE, 0.1)
        room.run(1)
        powers = np.square(room.recorded.person[said.start :].astype(np.float64))
        return float(np.sum(powers[1:]) / powers[0])

    assert 10 * math.log10(tail_share(2.0) / tail_share(1.0)) == pytest.approx(6.0, abs=0.1)
    assert 10 * math.log10(tail_share(1.0)) == pytest.approx(-3.0, abs=0.1)


def test_speech_of_another_rate_keeps_its_length():
    room = Room(quiet())
    said = room.say(speechlike(3, 2, 48_000), 48_000, 0.5)
    assert said.end_s - said.start_s == pytest.approx(2, abs=1e-3)


def test_nobody_speaks_in_the_past():
    room = Room(quiet())
    room.run(1)
    with pytest.raises(ConfigError, match=r"at_s is 0\.5"):
        room.say(speechlike(3, 1, RATE), RATE, 0.5)
    assert room.say(speechlike(3, 1, RATE), RATE).start == RATE


def test_people_may_speak_at_once_and_from_elsewhere():
    voices = [speechlike(seed, 1, RATE) for seed in (3, 4)]

    def person(*said):
        room = Room(quiet())
        for voice, angle_deg in said:
            room.say(voice, RATE, 0.2, angle_deg=angle_deg)
        room.run(2)
        return room.recorded.person

    both = person((voices[0], 0), (voices[1], 90))
    assert np.allclose(both, person((voices[0], 0)) + person((voices[1], 90)), atol=1e-6)
    assert not np.allclose(person((voices[0], 0)), person((voices[0], 90)), atol=1e-3)


# --- what is kept ---------------------------------------------------------------------------------------------------


def everything(seed: int):
    room = Room(quiet(seed=seed, drift_ppm=70, noise_snr_db=20, babble_snr_db=15, clip=0.3))
    room.add_motor(lambda now_s: 0.3 * math.sin(now_s), snr_db=10)
    room.say(speechlike(3, 2, RATE), RATE, 0.3)
    taken = []
    room.start(fill=looped(speechlike(1, 2, RATE)), take=lambda block, _: taken.append(block))
    room.run(1)
    room.turn(60)
    room.run(2)
    return room.recorded, np.concatenate(taken)


def test_equal_settings_make_equal_samples():
    (first, taken), (second, _), (other, _) = everything(1), everything(1), everything(2)
    parts = ("loudspeaker", "microphone", "echo", "person", "noise")
    assert all(np.array_equal(getattr(first, part), getattr(second, part)) for part in parts)
    assert [part for part in parts if np.array_equal(getattr(first, part), getattr(other, part))] == ["loudspeaker"]
    assert np.array_equal(first.microphone, taken)


def test_the_microphone_is_the_sum_of_its_parts():
    recorded, _ = everything(1)
    assert {len(part) for part in (recorded.microphone, recorded.echo, recorded.person, recorded.noise)} == {3 * RATE}
    assert np.allclose(recorded.microphone, recorded.echo + recorded.person + recorded.noise, atol=1e-6)
    assert recorded.microphone.dtype == np.float32
    assert rms(recorded.echo) > 0


def test_a_microphone_that_is_too_loud_clips():
    room = Room(quiet(person_level_db=0))
    room.say(speechlike(3, 2, RATE), RATE)
    room.run(2)
    assert np.max(np.abs(room.recorded.microphone)) == 1
    assert np.max(np.abs(room.recorded.person)) > 1


def test_a_loudspeaker_that_is_given_too_much_clips():
    room = Room(quiet())
    room.start(fill=lambda block, _: block.fill(3.0))
    room.run(0.1)
    assert np.max(room.recorded.loudspeaker) == 1


def test_nothing_is_kept_if_the_settings_say_so():
    room = Room(quiet(record=False, noise_snr_db=10))
    room.run(1)
    assert len(room.recorded.microphone) == len(room.recorded.loudspeaker) == 0


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 4_000),
        ("rate_hz", 16_000.5),
        ("block_ms", 0),
        ("block_ms", 10.03),
        ("rt60_s", -0.1),
        ("rt60_s", math.nan),
        ("delay_ms", 1),
        ("drift_ppm", 5_000),
        ("latency_ms", -1),
        ("echo_gain_db", 90),
        ("loudspeaker_level_db", 3),
        ("person_level_db", 3),
        ("distance_m", 0),
        ("clip", 0),
        ("clip", math.nan),
        ("band_hz", (7_000, 200)),
        ("band_hz", (-1, 200)),
        ("noise_snr_db", math.inf),
        ("noise_kind", "purple"),
        ("babble_snr_db", -100),
        ("seed", -1),
    ],
)
def test_a_wrong_setting_is_named(field, value):
    with pytest.raises(ConfigError, match=rf"^{field} of the room"):
        RoomSettings(**{field: value})


def test_the_scripted_model_loads_no_numpy():
    program = "import sys, edgeagent.testing; edgeagent.testing.ScriptedLLM; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def test_everything_that_it_offers_is_there():
    import edgeagent.testing

    for name in edgeagent.testing.__all__:
        assert getattr(edgeagent.testing, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = edgeagent.testing.nothing


# --- levels ---------------------------------------------------------------------------------------------------------


def test_the_level_of_speech_leaves_out_its_pauses():
    tone = np.sin(np.arange(RATE) * 0.3)
    paused = np.concatenate((tone, np.zeros(3 * RATE), tone))
    assert speech_level(paused, RATE) == pytest.approx(math.sqrt(0.5), rel=1e-2)
    assert speech_level(np.zeros(RATE), RATE) == 0
    assert speech_level(np.zeros(0), RATE) == 0
    noise = np.concatenate((0.1 * tone, 9 * np.ones(3 * RATE), 0.1 * tone))
    assert snr_db(paused, noise, RATE) == pytest.approx(20, abs=0.2)
