"""The way from the loudspeaker to the microphone: delay, clock, band, clipping, reverberation, level."""

import math

import numpy as np
import pytest

from edgeagent.testing import (
    Convolver,
    DelayLine,
    Reverberation,
    Room,
    RoomSettings,
    band_pass,
    echo_gain_db,
    rms,
    speech_level,
    speechlike,
)

RATE = 16_000


def played(signal, seconds=None, *, room=None, **fields) -> Room:
    """A room in which the loudspeaker has played that, beginning with its very first block."""
    room = room or Room(RoomSettings(**{"rate_hz": RATE, "band_hz": (0, RATE / 2), **fields}))
    at = 0

    def fill(block, _):
        nonlocal at
        part = signal[at : at + len(block)]
        block[: len(part)] = part
        at += len(block)

    room.start(fill=fill)
    room.run(seconds or len(signal) / room.settings.rate_hz)
    room.stop()
    return room


def white(seconds: float, seed=0):
    return (0.1 * np.random.default_rng(seed).standard_normal(round(seconds * RATE))).astype(np.float32)


def impulse(rate_hz=RATE):
    made = np.zeros(rate_hz // 10, np.float32)
    made[0] = 0.5
    return made


# --- delay and clock ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay_ms", "latency_ms"), [(20, 0), (60.0625, 60), (300, 0), (300, 60)])
@pytest.mark.parametrize("band_hz", [(0, 8_000), (200, 7_000)])
def test_the_first_sound_is_late_by_the_delay_to_the_sample(delay_ms, latency_ms, band_hz):
    room = played(impulse(), 0.6, delay_ms=delay_ms, latency_ms=latency_ms, rt60_s=0.3, band_hz=band_hz)
    left = np.flatnonzero(room.recorded.loudspeaker)[0]
    echo = np.abs(room.recorded.echo)
    assert np.flatnonzero(echo > 0.01 * echo.max())[0] - left == round(delay_ms * RATE / 1000)


def test_nothing_is_heard_before_it_is_played():
    room = played(white(1), delay_ms=20, rt60_s=0.6)
    left = np.flatnonzero(room.recorded.loudspeaker)[0]
    assert rms(room.recorded.echo[: left + 320]) < 1e-9 < rms(room.recorded.echo[left + 320 :])


@pytest.mark.parametrize(("rate_hz", "drift_ppm"), [(16_000, -800), (16_000, 37), (48_000, 800)])
def test_a_tone_keeps_its_phase_over_fifteen_seconds_of_drift(rate_hz, drift_ppm):
    """All of it is one sine of the shifted frequency: no step, no slip, nothing of the interpolation."""
    hz = 1_000
    tone = 0.3 * np.sin(2 * math.pi * hz / rate_hz * np.arange(16 * rate_hz))
    room = played(
        tone, 15, rate_hz=rate_hz, rt60_s=0, drift_ppm=drift_ppm, delay_ms=100, band_hz=(0, rate_hz / 2), block_ms=20
    )
    lead = math.ceil(0.02 * rate_hz * (1 + drift_ppm * 1e-6))
    heard = np.arange(rate_hz, 15 * rate_hz)
    position = (heard - 0.1 * rate_hz) * (1 + drift_ppm * 1e-6) - lead
    wanted = np.sin(2 * math.pi * hz / rate_hz * position)
    echo = room.recorded.echo[heard].astype(np.float64)
    gain = float(echo @ wanted / (wanted @ wanted))
    assert rms(echo - gain * wanted) < 1e-4 * rms(echo)


def test_the_lag_grows_by_the_drift():
    """By cross-correlation, to a fifth of a sample, at both ends of fifteen seconds."""
    drift = 200e-6
    room = played(white(16), 15, rt60_s=0, drift_ppm=200, delay_ms=100)
    loudspeaker, echo = room.recorded.loudspeaker, room.recorded.echo
    for middle_s in (1, 8, 14):
        middle, half = middle_s * RATE, RATE // 8
        near = echo[middle - half : middle + half]
        expected = (0.1 * RATE) - (middle - 0.1 * RATE) * drift
        lags = np.arange(round(expected) - 20, round(expected) + 21)
        match = [float(near @ loudspeaker[middle - half - lag : middle + half - lag]) for lag in lags]
        best = int(np.argmax(match))
        before, top, after = match[best - 1 : best + 2]
        found = lags[best] + (before - after) / (2 * (before - 2 * top + after))
        assert found == pytest.approx(expected, abs=0.2)


def test_interpolation_is_clean_up_to_seven_kilohertz():
    line = DelayLine()
    line.append(np.zeros(100))
    at = np.arange(4_000)
    for hz in (100, 3_000, 5_500):
        line = DelayLine()
        line.append(np.sin(2 * math.pi * hz / RATE * at))
        read = line.read(200.3, 1.0002, 3_000)
        wanted = np.sin(2 * math.pi * hz / RATE * (200.3 + 1.0002 * np.arange(3_000)))
        assert rms(read - wanted) < 10 ** (-70 / 20)


def test_a_delay_line_read_in_parts_is_one_read_at_once():
    signal = white(1).astype(np.float64)

    def parts(step):
        line = DelayLine()
        read = []
        for block in range(90):
            line.append(signal[160 * block : 160 * block + 160])
            if block >= 2:
                read.append(line.read((160 * (block - 2)) * step, step, 160))
        return np.concatenate(read)

    def whole(step):
        line = DelayLine()
        line.append(signal)
        return line.read(0.0, step, 88 * 160)

    assert np.array_equal(parts(1.0), signal[: 88 * 160])
    assert np.allclose(parts(1.0002), whole(1.0002), atol=1e-12)
    with pytest.raises(IndexError, match="before it was appended"):
        DelayLine().read(0, 1.0, 160)


def test_after_an_underrun_the_echo_is_later_and_the_times_are_as_before():
    def first_sound(lost_ms):
        room = Room(RoomSettings(rate_hz=RATE, rt60_s=0, delay_ms=50))
        room.run(0.2)
        if lost_ms:
            room.underrun(lost_ms)
        assert room.xruns.under == (1 if lost_ms else 0)
        played(impulse(), 0.5, room=room)
        return np.argmax(np.abs(room.recorded.echo)) - np.argmax(np.abs(room.recorded.loudspeaker))

    assert first_sound(75) - first_sound(0) == 0.075 * RATE


# --- the loudspeaker ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
def test_the_loudspeaker_has_its_band(rate_hz):
    spectrum = np.abs(np.fft.rfft(band_pass(rate_hz, (200, 7_000)), rate_hz))
    for hz, level_db in ((100, -24.1), (200, -3), (400, 0), (3_000, 0), (7_000, -3)):
        assert 20 * math.log10(spectrum[hz]) == pytest.approx(level_db, abs=0.5), hz
    assert spectrum[0] < 1e-3
    if rate_hz == 48_000:
        assert 20 * math.log10(spectrum[14_000]) == pytest.approx(-24.1, abs=0.5)


def test_a_loud_loudspeaker_distorts():
    tone = 0.5 * np.sin(2 * math.pi * 500 / RATE * np.arange(2 * RATE))

    def third_db(clip):
        room = played(tone, rt60_s=0, clip=clip)
        spectrum = np.abs(np.fft.rfft(room.recorded.echo[-RATE:] * np.hanning(RATE)))
        return 20 * math.log10(spectrum[1_500] / spectrum[500])

    levels_db = [third_db(clip) for clip in (math.inf, 2.0, 0.5, 0.1)]
    assert levels_db == sorted(levels_db)
    assert levels_db[0] < -90
    assert levels_db[-1] > -15


# --- the room -------------------------------------------------------------------------------------------------------


def rt60_of(response, rate_hz) -> float:
    """Schroeder's backward integral, fitted from -5 to -35 dB (ISO 3382: T30)."""
    left_db = 10 * np.log10(np.cumsum(response[::-1].astype(np.float64) ** 2)[::-1] + 1e-30)
    left_db -= left_db[0]
    part = np.flatnonzero((left_db <= -5) & (left_db >= -35))
    slope, _ = np.polyfit(part / rate_hz, left_db[part], 1)
    return -60 / slope


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
@pytest.mark.parametrize("rt60_s", [0.2, 0.3, 0.45, 0.6])
def test_the_room_reverberates_as_long_as_asked(rate_hz, rt60_s):
    settings = RoomSettings(rate_hz=rate_hz, rt60_s=rt60_s, delay_ms=20, seed=3)
    room = played(impulse(rate_hz), 1, room=Room(settings))
    left = np.argmax(room.recorded.loudspeaker)
    echo = room.recorded.echo[left + round(0.02 * rate_hz) :]
    assert rt60_of(echo, rate_hz) == pytest.approx(rt60_s, rel=0.15)


@pytest.mark.parametrize("seed", range(8))
def test_every_response_is_of_its_room(seed):
    place = Reverberation([seed], rate_hz=RATE, rt60_s=0.4, direct_db=6)
    for angle_deg in (0, 7, 130, 359):
        response = place.towards(angle_deg)
        assert rt60_of(response, RATE) == pytest.approx(0.4, rel=0.15)
        assert response[0] == 1
        assert 10 * math.log10(np.sum(response[1:] ** 2)) == pytest.approx(-6, abs=0.01)


def test_the_streamed_convolution_is_the_convolution():
    random = np.random.default_rng(1)
    response, signal = random.standard_normal(1_000), random.standard_normal(3_200)
    convolver = Convolver(response, 160)
    streamed = np.concatenate([convolver.process(block) for block in signal.reshape(-1, 160)])
    assert np.allclose(streamed, np.convolve(signal, response)[:3_200], atol=1e-10)


# --- turning --------------------------------------------------------------------------------------------------------


def path(room: Room):
    """The way of the echo as it is now, between silences."""
    before = len(room.recorded.echo)
    played(impulse(), 0.6, room=room)
    return room.recorded.echo[before:]


def alike(one, other) -> float:
    return float(one @ other / math.sqrt((one @ one) * (other @ other)))


def test_a_turn_changes_the_way_of_the_echo_and_turning_back_restores_it():
    room = Room(RoomSettings(rate_hz=RATE))
    ways = []
    for angle_deg in (0, 90, -90, 3):
        room.turn(angle_deg)
        room.run(0.1)
        ways.append(path(room))
    first, turned, back, near = ways
    assert alike(first, back) == pytest.approx(1)
    assert alike(first, turned) < 0.9
    assert alike(first, turned) < alike(first, near) < 0.9999
    delay = room.settings.samples(room.settings.delay_ms)
    start = np.flatnonzero(np.abs(first) > 1e-4)[0]
    late = slice(start + 32, start + 32 + delay)
    assert abs(alike(first[late], turned[late])) < 0.3, "only the first sound stays the same"
    levels = [rms(way) for way in ways]
    assert max(levels) < 1.3 * min(levels)


def test_a_turn_takes_fifty_milliseconds_and_makes_no_click():
    hz = 400
    tone = 0.2 * np.sin(2 * math.pi * hz / RATE * np.arange(4 * RATE)).astype(np.float32)
    room = Room(RoomSettings(rate_hz=RATE, rt60_s=0.4))
    played(tone[: 2 * RATE], room=room)
    room.turn(120)
    played(tone[2 * RATE :], room=room)
    echo = room.recorded.echo.astype(np.float64)

    def beside_the_tone(begin_s, seconds):
        part = echo[round(begin_s * RATE) : round((begin_s + seconds) * RATE)]
        return np.abs(np.diff(part, n=2)).max()

    assert beside_the_tone(2, 0.06) < 1.1 * max(beside_the_tone(1.5, 0.4), beside_the_tone(2.1, 0.4))
    period = RATE // hz
    assert np.allclose(echo[-10 * period :], echo[round(2.06 * RATE) :][: 10 * period], rtol=0, atol=0.02)
    amplitude_and_phase = [
        echo[round(at_s * RATE) :][: 10 * period] @ np.exp(-2j * math.pi * hz / RATE * np.arange(10 * period))
        for at_s in (1.9, 1.975, 2.05, 2.1, 3.5)
    ]
    assert amplitude_and_phase[0] == pytest.approx(amplitude_and_phase[1], rel=1e-3)
    assert amplitude_and_phase[3] == pytest.approx(amplitude_and_phase[4], rel=1e-3)
    assert abs(amplitude_and_phase[3] - amplitude_and_phase[0]) > 0.05 * abs(amplitude_and_phase[0])


def test_a_turn_in_small_steps_ends_where_one_step_does():
    rooms = [Room(RoomSettings(rate_hz=RATE)) for _ in range(2)]
    for _ in range(30):
        rooms[0].turn(3)
        rooms[0].run(0.01)
    rooms[1].turn(90)
    for room in rooms:
        room.run(0.5)
    assert alike(*(path(room) for room in rooms)) == pytest.approx(1)


# --- level ----------------------------------------------------------------------------------------------------------


def gain_db(settings: RoomSettings, robot, *, calibrated: bool, turn_deg=0.0) -> float:
    room = Room(settings)
    if calibrated:
        room.calibrate(robot, settings.rate_hz)
    room.turn(turn_deg)
    room.run(0.2)
    room.say(speechlike(11, 6, settings.rate_hz), settings.rate_hz)
    played(robot, room=room)
    room.run(1)
    return echo_gain_db(room.recorded.echo, room.recorded.person, settings.rate_hz)


@pytest.mark.parametrize(("asked_db", "turn_deg"), [(-10, 0), (0, 75), (12, 0)])
def test_the_echo_of_a_known_voice_is_as_loud_as_asked(asked_db, turn_deg):
    settings = RoomSettings(rate_hz=RATE, echo_gain_db=asked_db, rt60_s=0.5, clip=0.2, seed=4)
    robot = 2 * speechlike(5, 8, RATE)
    assert gain_db(settings, robot, calibrated=True, turn_deg=turn_deg) == pytest.approx(asked_db, abs=0.5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_echo_of_any_voice_at_the_level_of_the_settings_is_about_as_loud_as_asked(seed):
    settings = RoomSettings(rate_hz=RATE, echo_gain_db=6, seed=seed)
    robot = speechlike(seed + 20, 8, RATE)
    assert 20 * math.log10(speech_level(robot, RATE)) == pytest.approx(-20, abs=0.1)
    assert gain_db(settings, robot, calibrated=False) == pytest.approx(6, abs=2.5)


# --- speed ----------------------------------------------------------------------------------------------------------
