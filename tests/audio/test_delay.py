"""How late the loudspeaker is heard: from the robot's own speech, and from a sweep."""

import math

import numpy as np
import pytest

from edgeagent.audio import DelayEstimator, measure, sweep
from edgeagent.testing import Room, RoomSettings, in_db, rms, speechlike

RATE = 16_000


class Looks:
    """Looks at a recording every quarter of a second, as the canceller does."""

    def __init__(self):
        self.estimator = DelayEstimator(RATE)

    def at(self, near, far):
        """What is found at each look; the far end is what was played at the same times."""
        made = self.estimator
        padded = np.concatenate((np.zeros(made.before), far, np.zeros(made.after + RATE))).astype(np.float32)
        for begin in range(0, len(near) - made.near_samples, RATE // 4):
            whole = padded[begin : begin + made.before + made.near_samples + made.after]
            yield made.look(near[begin : begin + made.near_samples].astype(np.float32), whole)


def played(voice, seconds, *, person=None, **fields) -> Room:
    room = Room(RoomSettings(**{"rate_hz": RATE, **fields}))
    at = 0

    def fill(block, _):
        nonlocal at
        part = voice[at : at + len(block)]
        block[: len(part)] = part
        at += len(block)

    room.start(fill=fill)
    if person is not None:
        room.say(person, RATE, 0)
    room.run(seconds)
    return room


def recorded(room):
    return room.recorded.microphone, room.recorded.loudspeaker


@pytest.mark.parametrize(("delay_ms", "rt60_s"), [(20, 0.2), (300, 0.6), (950, 0.2), (1_400, 0.6)])
def test_the_delay_is_found_in_the_robots_own_speech(delay_ms, rt60_s):
    room = played(speechlike(1, 5, RATE), 5, delay_ms=delay_ms, rt60_s=rt60_s)
    found = [look for look in Looks().at(*recorded(room)) if look is not None and look.sure]
    assert len(found) >= 5
    assert all(abs(look.delay_s - delay_ms / 1000) < 0.001 for look in found)


def test_the_delay_is_found_while_a_louder_person_speaks():
    room = played(speechlike(1, 8, RATE), 8, delay_ms=300, echo_gain_db=-12, person=speechlike(2, 8, RATE))
    *_, last = Looks().at(*recorded(room))
    assert last is not None
    assert last.sure
    assert last.delay_s == pytest.approx(0.3, abs=0.001)


def test_an_echo_that_is_earlier_than_the_times_say_is_found():
    voice = speechlike(1, 5, RATE)
    near = np.concatenate((voice[RATE // 10 :], np.zeros(RATE // 10)))
    *_, last = Looks().at(near, voice)
    assert last is not None
    assert last.delay_s == pytest.approx(-0.1, abs=0.0005)


def test_a_delay_that_changes_is_noticed_within_one_and_a_quarter_seconds():
    voice = speechlike(1, 8, RATE)
    near = np.concatenate((np.zeros(960), voice[: 4 * RATE], np.zeros(3200), voice[4 * RATE :]))[: 8 * RATE]
    found = [look.delay_s if look is not None and look.sure else None for look in Looks().at(near, voice)]
    assert found[12] == pytest.approx(0.06, abs=0.001)
    assert found[19] == pytest.approx(0.26, abs=0.001)  # of 4.75 to 5.25 s


def test_two_short_sounds_that_fit_do_not_change_the_delay_that_is_known():
    """The loudspeaker's last sound, a click, and a knock in the room more than a second later."""
    voice, nothing = speechlike(1, 2, RATE), np.zeros(3 * RATE)
    click = np.random.default_rng(0).normal(0, 0.1, RATE // 50)
    far, near = np.concatenate((voice, nothing)), np.concatenate((np.zeros(960), voice, nothing))[: 5 * RATE]
    far[round(2.05 * RATE) :][: len(click)] = click
    near[round(3.40 * RATE) :][: len(click)] = click
    found = [look.delay_s for look in Looks().at(near, far) if look is not None and look.sure]
    assert found == pytest.approx([0.06] * len(found), abs=0.001)
    assert len(found) >= 4


def test_a_delay_that_changes_is_noticed_though_the_robot_says_no_more_than_a_word_at_a_time():
    word, pause = speechlike(3, 1, RATE)[: RATE // 5], np.zeros(2 * RATE)
    far = np.concatenate((speechlike(1, 3, RATE), *[part for _ in range(4) for part in (pause, word)], pause))
    near = np.concatenate((np.zeros(960), far[: 4 * RATE], np.zeros(3840), far[4 * RATE :]))[: len(far)]
    near = near + 2e-4 * np.random.default_rng(0).standard_normal(len(near))
    found = [look.delay_s for look in Looks().at(near, far) if look is not None and look.sure]
    assert found[0] == pytest.approx(0.06, abs=0.001)
    assert found[-1] == pytest.approx(0.3, abs=0.001)


@pytest.mark.parametrize("kind", ["another voice", "noise", "sine"])
def test_what_has_nothing_to_do_with_the_far_end_gives_no_sure_delay(kind):
    at_s = np.arange(6 * RATE) / RATE
    near = {
        "another voice": speechlike(5, 6, RATE),
        "noise": 0.05 * np.random.default_rng(0).standard_normal(6 * RATE),
        "sine": 0.1 * np.sin(2 * math.pi * 440 * at_s),
    }[kind]
    assert not any(look is not None and look.sure for look in Looks().at(near, speechlike(1, 6, RATE)))


def test_silence_is_not_looked_at():
    voice, nothing = speechlike(1, 2, RATE), np.zeros(2 * RATE)
    assert all(look is None for look in Looks().at(nothing, voice))
    assert all(look is None for look in Looks().at(voice, nothing))
    assert all(look is None for look in Looks().at(nothing, nothing))


def test_equal_input_gives_equal_looks():
    room = played(speechlike(1, 3, RATE), 3, delay_ms=137, drift_ppm=200)
    assert list(Looks().at(*recorded(room))) == list(Looks().at(*recorded(room)))


# --- the sweep ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [16_000, 44_100, 48_000])
def test_the_sweep_is_short_soft_and_has_soft_ends(rate_hz):
    made = sweep(rate_hz)
    assert made.dtype == np.float32
    assert len(made) == round(0.6 * rate_hz)
    assert np.abs(made).max() <= 0.1001
    assert np.abs(np.concatenate((made[:20], made[-20:]))).max() < 0.001


@pytest.mark.parametrize(
    ("rate_hz", "gain_db", "delay_ms", "rt60_s"),
    [(16_000, -20, 20, 0.2), (16_000, 6, 950, 0.6), (44_100, 6, 300, 0.6), (48_000, -20, 950, 0.6)],
)
def test_a_sweep_measures_delay_and_echo(rate_hz, gain_db, delay_ms, rt60_s):
    made = sweep(rate_hz)
    room = Room(RoomSettings(rate_hz=rate_hz, delay_ms=delay_ms, echo_gain_db=gain_db, rt60_s=rt60_s, noise_snr_db=25))
    room.calibrate(made, rate_hz)
    room.run(0.2)
    at, first_s = 0, None

    def fill(block, dac_s):
        nonlocal at, first_s
        first_s = dac_s if first_s is None else first_s
        part = made[at : at + len(block)]
        block[: len(part)] = part
        at += len(block)

    room.start(fill=fill)
    room.run(2.5)
    begin = round(first_s * rate_hz)
    echo = measure(room.recorded.microphone[begin:], made, rate_hz)
    true_db = in_db(rms(room.recorded.echo) * math.sqrt(len(room.recorded.echo)) / (rms(made) * math.sqrt(len(made))))
    assert echo.found
    assert echo.delay_s == pytest.approx(delay_ms / 1000, abs=0.0005)
    assert echo.gain_db == pytest.approx(true_db, abs=1.5)


@pytest.mark.parametrize("level", [0.0, 0.01])
def test_without_an_echo_a_sweep_finds_none(level):
    noise = (level * np.random.default_rng(0).standard_normal(3 * RATE)).astype(np.float32)
    assert not measure(noise, sweep(RATE), RATE).found


def test_too_short_a_recording_holds_nothing():
    assert measure(sweep(RATE)[:-1], sweep(RATE), RATE).gain_db == -math.inf
