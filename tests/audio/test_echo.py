"""The robot does not hear itself: in the simulated room, with what clocks, sound systems and people do to it."""

import shutil
import time

import numpy as np
import pytest

from edgeagent.audio import EchoCanceller, Resampler, Xruns
from edgeagent.errors import ConfigError
from edgeagent.testing import Room, RoomSettings, in_db, rms, speech_frames, speech_level, speechlike, synthesised

OUT = 16_000
ROBOT = (
    "The kitchen is clear and the door is open. I have driven four metres and turned to the left. My battery is at "
    "sixty two percent, so I can go on for about two hours. Shall I look for the red box in the living room?"
)
PERSON = "Wait a moment please, I did not mean the kitchen. Could you drive to the bedroom?"


def robot(rate_hz, seconds, *, begin_s=1.0, voice="en-gb"):
    """The robot's speech: silence first, at -20 dBFS."""
    if shutil.which("flite" if voice == "slt" else "espeak-ng"):
        words = synthesised(ROBOT, voice, rate_hz)
        words = np.tile(np.concatenate((words, np.zeros(rate_hz // 2, np.float32))), 4)
    else:
        words = speechlike(1, seconds, rate_hz)
    spoken = np.concatenate((np.zeros(round(begin_s * rate_hz), np.float32), words))[: round(seconds * rate_hz)]
    return (spoken * (0.1 / speech_level(spoken, rate_hz))).astype(np.float32)


def person(rate_hz):
    return synthesised(PERSON, "slt", rate_hz) if shutil.which("flite") else speechlike(4, 4, rate_hz)


class Heard:
    """A run of the canceller in a room."""

    def __init__(
        self,
        seconds=8.0,
        *,
        events=(),
        says=(),
        told=True,
        times=None,
        late=(0.0, 0.0),
        silent=False,
        begin_s=1.0,
        speaker="en-gb",
        pauses=(0.0, 0.0),
        **fields,
    ):
        options = {name: fields.pop(name) for name in ("mode", "noise_suppression") if name in fields}
        self.room = Room(RoomSettings(**{"rate_hz": OUT, "rt60_s": 0.2, **fields}))
        rate_hz = self.room.settings.rate_hz
        voice = np.zeros(1, np.float32) if silent else robot(rate_hz, seconds, begin_s=begin_s, voice=speaker)
        if not silent:
            self.room.calibrate(voice, rate_hz)
        begin, end = (round(at_s * rate_hz) for at_s in pauses)
        voice[begin:end] = 0
        self.skipped = 0
        """Blocks that were left out in the robot's pause."""
        self.canceller = EchoCanceller(rate_hz, rate_hz, xruns=self.room.xruns if told else None, **options)
        self.track = []
        """(aligned, delay_s, far_active) after each block."""
        self.seeking = []
        self.released = []
        self.counts = []
        """Samples that had come out after each block."""
        clean, at = [], 0
        kept = []

        def fill(block, dac_s):
            nonlocal at
            part = voice[at : at + len(block)]
            block[: len(part)] = part
            at += len(block)
            kept.append((block.copy(), dac_s if times is None else times("far", dac_s)))
            while kept and not late[0] <= at / rate_hz < late[1]:
                self.canceller.far(*kept.pop(0))

        def take(block, adc_s):
            adc_s = adc_s if times is None else times("near", adc_s)
            if self.canceller.idle and at < end - rate_hz:
                self.canceller.skip(len(block), adc_s)
                self.skipped += 1
                clean.append(np.zeros(len(block) * OUT // rate_hz, np.float32))
                return
            clean.append(self.canceller.near(block, adc_s))
            self.counts.append((self.counts[-1] if self.counts else 0) + len(clean[-1]))
            self.track.append((self.canceller.aligned, self.canceller.delay_s, self.canceller.far_active))
            self.seeking.append(self.canceller.seeking)
            self.released += self.canceller.released

        self.room.start(fill=fill, take=take)
        for at_s, samples in says:
            self.room.say(samples, rate_hz, at_s)
        now_s = 0.0
        for at_s, happens in events:
            self.room.run(at_s - now_s)
            now_s = at_s
            happens(self.room)
        self.room.run(seconds - now_s)
        self.clean = np.concatenate(clean)
        self.echo = self._resampled(self.room.recorded.echo)

    def _resampled(self, samples):
        return Resampler(self.room.settings.rate_hz, OUT).process(samples, last=True)[: len(self.clean)]

    def removed_db(self, begin_s, end_s=None):
        """Echo over what is left, on the frames with echo."""
        piece = slice(round(begin_s * OUT), None if end_s is None else round(end_s * OUT))
        echo, clean = self.echo[piece], self.clean[piece][: len(self.echo[piece])]
        heard = speech_frames(echo, OUT)
        return in_db(rms(echo[heard])) - in_db(rms(clean[heard]) + 1e-9)

    def voiced(self, begin_s):
        """Share of the frames that are taken for a voice: by WebRTC's detector, or else because they are loud."""
        clean = self.clean[round(begin_s * OUT) :]
        frames = clean[: len(clean) // 160 * 160].reshape(-1, 160)
        try:
            import webrtcvad
        except ImportError:
            return float(np.mean(np.sqrt(np.mean(np.square(frames), axis=1)) > 10 ** (-50 / 20)))
        detector = webrtcvad.Vad(2)
        return float(
            np.mean([detector.is_speech((frame * 32_767).astype(np.int16).tobytes(), OUT) for frame in frames])
        )


def loss_db(seconds, at_s, **fields):
    """What a person loses who speaks over the robot: two runs, the second with the person upside down."""
    words = person(fields.get("rate_hz", OUT))
    upright = Heard(seconds, says=[(at_s, words)], **fields)
    upside_down = Heard(seconds, says=[(at_s, -words)], **fields)
    kept = (upright.clean - upside_down.clean) / 2
    spoken = upright._resampled(upright.room.recorded.person)
    later = max(range(400), key=lambda shift: float(np.dot(kept[shift:], spoken[: len(kept) - shift])))
    heard = speech_frames(spoken[: len(kept) - later], OUT)
    return in_db(rms(spoken[: len(heard)][heard])) - in_db(rms(kept[later:][: len(heard)][heard]))


# --- echo -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("echo_gain_db", "rt60_s", "drift_ppm"), [(-20, 0.2, 0), (-6, 0.6, 100), (6, 0.2, 200), (6, 0.6, 200)]
)
def test_the_echo_is_removed(echo_gain_db, rt60_s, drift_ppm):
    heard = Heard(6, echo_gain_db=echo_gain_db, rt60_s=rt60_s, drift_ppm=drift_ppm)
    assert heard.removed_db(1, 3) > 24
    assert heard.removed_db(3) > 40
    assert heard.voiced(4) < 0.02
    assert heard.canceller.removed_db > 25
    assert heard.canceller.delay_s == pytest.approx(0.06, abs=0.001)


@pytest.mark.parametrize("rate_hz", [16_000, 44_100])
def test_the_echo_is_removed_at_once_after_sound_that_was_left_out(rate_hz):
    heard = Heard(30, pauses=(6, 24), rate_hz=rate_hz, drift_ppm=100, echo_gain_db=-6)
    assert heard.skipped > 1_400
    assert heard.removed_db(24.2, 26) > 35
    assert heard.canceller.delay_s == pytest.approx(0.06, abs=0.002)


def test_the_echo_is_learnt_anew_after_a_long_time_that_was_left_out():
    heard = Heard(4)
    assert heard.canceller.aligned
    silence = np.zeros(160, np.float32)
    for number in range(29_900):
        heard.canceller.skip(len(silence), 4 + number / 100)
    assert heard.canceller.aligned
    for number in range(29_900, 30_100):
        heard.canceller.skip(len(silence), 4 + number / 100)
    assert not heard.canceller.aligned


def test_a_drift_that_the_times_do_not_tell_is_left_to_aec3_and_the_gate():
    counted = {"far": 0, "near": 0}
    begun = {}

    def times(end, time_s):
        counted[end] += 1
        return begun.setdefault(end, time_s) + (counted[end] - 1) * 0.01

    heard = Heard(6, drift_ppm=200, times=times)
    assert heard.removed_db(3) > 28
    assert heard.voiced(3) < 0.03


def test_times_that_jitter_do_little_harm():
    random = np.random.default_rng(0)
    heard = Heard(6, drift_ppm=100, times=lambda _, time_s: time_s + 0.003 * random.standard_normal())
    assert heard.removed_db(3) > 30


def test_a_single_wrong_time_does_nothing():
    heard = Heard(5, times=lambda end, time_s: time_s + (0.4 if end == "far" and 2.999 < time_s < 3.005 else 0))
    assert heard.removed_db(2) > 40


@pytest.mark.parametrize("delay_ms", [5, 950])
def test_a_delay_that_the_times_do_not_tell_is_found_and_aligned(delay_ms):
    heard = Heard(6.5, delay_ms=delay_ms)
    assert heard.canceller.aligned
    assert heard.canceller.delay_s == pytest.approx(delay_ms / 1000, abs=0.001)
    assert heard.removed_db(4.5) > 35
    assert [aligned for aligned, *_ in heard.track].index(True) < 100 + delay_ms / 10 + 150


def test_a_callback_that_comes_late_once_costs_nothing():
    """The far end's blocks come late, but were played in time: on the recording there is nothing wrong."""
    heard = Heard(6, late=(5.0, 5.06))
    assert heard.removed_db(4, 5) > 50
    assert heard.removed_db(5, 6) > 50
    assert len(heard.clean) == 6 * OUT


def test_a_callback_that_stays_away_for_long_holds_nothing_up():
    heard = Heard(6, late=(3.0, 3.5))
    counts = np.array(heard.counts)
    assert (np.arange(1, len(counts) + 1) * 160 - counts).max() <= 0.1 * OUT
    assert heard.removed_db(4.5) > 35
    assert len(heard.clean) == 6 * OUT


def wandering(random):
    """Times of a sound server: both ends have one clock, 460 ppm slow, and each of them wanders by a millisecond."""

    def times(end, time_s):
        slow = np.sin(2 * np.pi * (time_s / 23 + (0.2 if end == "near" else 0.7)))
        return time_s * (1 - 460e-6) + 0.001 * slow + 0.0005 * random.standard_normal()

    return times


def jittered(jitter_s):
    random = np.random.default_rng(0)
    return lambda _, time_s: time_s + jitter_s * random.standard_normal()


def told_of_somebody(heard, begin_s, end_s=None):
    """Share of the frames of the robot's own voice in which a person is found, and what is left in them, in dB."""
    piece = slice(round(begin_s * 100), None if end_s is None else round(end_s * 100))
    frames = [frame for frame in heard.released[piece] if frame.far_active]
    near, sound = (np.concatenate([getattr(frame, name) for frame in frames]) for name in ("near", "sound"))
    return np.mean([bool(frame.person) for frame in frames]), in_db(rms(sound)) - in_db(rms(near))


def test_times_that_wander_as_a_sound_servers_leave_the_echo_where_it_was_learnt():
    heard = Heard(24, times=wandering(np.random.default_rng(0)), echo_gain_db=-6)
    share, left_db = told_of_somebody(heard, 6)
    assert share < 0.02
    assert left_db < -25


def test_after_a_pause_of_the_robot_the_echo_is_where_it_was_learnt():
    heard = Heard(26, times=wandering(np.random.default_rng(1)), echo_gain_db=-6, pauses=(10, 22))
    assert heard.skipped > 800
    share, left_db = told_of_somebody(heard, -3)
    assert share < 0.02
    assert left_db < -25


@pytest.mark.parametrize("drift_ppm", [20, 100])
def test_of_two_clocks_whose_times_jitter_the_echo_itself_tells_how_they_differ(drift_ppm):
    heard = Heard(14, times=jittered(0.0005), drift_ppm=drift_ppm, echo_gain_db=-6, rt60_s=0.4)
    share, left_db = told_of_somebody(heard, 10)
    assert share < 0.03
    assert left_db < -12


def test_after_an_under_run_that_moves_the_echo_by_a_block_the_robot_is_nobody_else():
    heard = Heard(9, events=[(4, lambda room: room.underrun(12))], echo_gain_db=-6)
    assert heard.canceller.delay_s == pytest.approx(0.072, abs=0.002)
    assert told_of_somebody(heard, 4.5)[0] < 0.02


def test_two_clocks_that_are_known_blur_no_first_words():
    heard = Heard(24, drift_ppm=200, echo_gain_db=-6, events=[(21, lambda room: setattr(room.xruns, "under", 1))])
    frames = [frame for frame in heard.released[2100:] if frame.early and frame.far_active]
    assert len(frames) > 100
    near, sound = (np.concatenate([getattr(frame, name) for frame in frames]) for name in ("near", "sound"))
    assert in_db(rms(sound)) - in_db(rms(near)) < -30


@pytest.mark.parametrize("lost_ms", [60, 200, 500])
def test_an_under_run_leaves_no_wrong_echo_in_the_fit_of_the_first_words(lost_ms):
    heard = Heard(11, events=[(7, lambda room: room.underrun(lost_ms))], echo_gain_db=-6, noise_snr_db=30)
    share, left_db = told_of_somebody(heard, 7.7, 11)
    assert share < 0.02
    assert left_db < -10


def test_a_few_words_before_a_pause_do_not_tell_the_rooms_response():
    events = [(9.75, lambda room: room.underrun(20))]
    heard = Heard(14, events=events, told=False, times=jittered(0.0004), echo_gain_db=-6, noise_snr_db=35)
    share, left_db = told_of_somebody(heard, 10.75, 13.25)
    assert share < 0.02
    assert left_db < -15


def test_smooth_times_that_wander_are_contradicted_by_the_echo():
    def times(end, time_s):
        return time_s + (0.001 * np.sin(2 * np.pi * time_s / 23) if end == "near" else 0)

    share, left_db = told_of_somebody(Heard(30, times=times, echo_gain_db=-6), 8)
    assert share < 0.03
    assert left_db < -15


def test_a_far_end_that_is_always_late_is_heard_of():
    """Else it would jump for ever to a lead that it can't have, and nobody would know that the robot speaks."""
    voice, canceller, frames = robot(OUT, 10), EchoCanceller(OUT, OUT), []
    for block in range(1_000):
        at = block * 160
        if block >= 4:
            canceller.far(voice[at - 640 : at - 480], (block - 4) / 100)
        echo = voice[at - 320 : at - 160] if block >= 2 else np.zeros(160, np.float32)
        canceller.near(echo / 2, block / 100)
        frames += canceller.released
    assert np.mean([frame.far_active for frame in frames[500:]]) > 0.9


def test_where_no_echo_is_heard_a_drift_of_the_times_begins_no_search():
    heard = Heard(40, echo_gain_db=-60, noise_snr_db=40, delay_ms=300, drift_ppm=300, times=jittered(0.0005))
    assert not np.any(heard.seeking[1_500:])


def test_times_that_jitter_at_one_end_only_are_no_other_clock():
    """Both ends have the same clock, as fast as that of a null sink of PulseAudio; the microphone's times jitter, so
    that its clock is known later."""
    random = np.random.default_rng(0)

    def times(end, time_s):
        return time_s * (1 - 900e-6) + (0.0015 * random.standard_normal() if end == "near" else 0.0)

    heard = Heard(9, times=times)
    assert min(heard.removed_db(begin_s, begin_s + 1) for begin_s in range(3, 8)) > 55
    assert told_of_somebody(heard, 4)[0] < 0.02


def test_a_latency_that_the_times_do_tell_needs_no_search():
    heard = Heard(4, delay_ms=20, latency_ms=200)
    assert heard.canceller.delay_s == pytest.approx(0.02, abs=0.001)
    assert heard.removed_db(1.2, 3) > 25


def test_what_a_sweep_has_measured_is_used_from_the_first_word():
    canceller = EchoCanceller(OUT, OUT)
    assert not canceller.aligned
    canceller.align(0.95)
    assert canceller.aligned
    assert canceller.delay_s == 0.95


@pytest.mark.parametrize("told", [True, False])
def test_an_under_run_in_mid_speech_is_measured_again_and_meanwhile_the_echo_is_sought(told):
    heard = Heard(7.5, events=[(3, lambda room: room.underrun(200))], told=told)
    assert heard.canceller.delay_s == pytest.approx(0.26, abs=0.001)
    found = next(i for i, (_, delay_s, _) in enumerate(heard.track) if abs(delay_s - 0.26) < 0.001)
    assert found < 500
    if told:
        aligned, sought = [aligned for aligned, *_ in heard.track], np.array(heard.seeking)
        first, again = aligned.index(True), 305 + aligned[305:].index(True)
        assert again > 305
        assert sought[:first].any()
        assert not sought[first + 1 : 300].any()
        assert sought[305:again].any()
        assert not sought[again + 1 :].any()
    assert heard.removed_db(6) > 35
    assert len(heard.clean) == 7.5 * OUT
    loudest_echo = np.abs(heard.echo).max()
    assert np.abs(np.diff(heard.clean)).max() < 2 * np.abs(np.diff(heard.echo)).max()
    assert np.abs(heard.clean).max() < 1.5 * loudest_echo


def test_an_echo_that_is_too_soft_is_not_sought_for_ever():
    sought = np.array(Heard(6, echo_gain_db=-60, noise_snr_db=40, delay_ms=300).seeking)
    assert sought.any()
    assert not sought[500:].any()


def test_a_turn_of_the_robot_is_learnt_again():
    heard = Heard(7, events=[(3, lambda room: room.turn(90))])
    assert heard.removed_db(5.5) > 30
    assert heard.canceller.delay_s == pytest.approx(0.06, abs=0.001)


def test_a_loudspeaker_that_clips_leaves_more_but_not_a_voice():
    heard = Heard(6, clip=0.2)
    assert heard.removed_db(4) > 25
    assert heard.voiced(4) < 0.10


# --- people and noise -----------------------------------------------------------------------------------------------


def test_a_person_who_speaks_over_the_robot_is_heard():
    assert loss_db(8, at_s=4, echo_gain_db=0) < 5


def test_a_person_is_heard_where_there_is_no_echo_to_find():
    """Headphones: the delay stays unknown, and nothing that is heard is the robot."""
    lost_db = loss_db(13, at_s=10, echo_gain_db=-60, noise_snr_db=40, delay_ms=300)
    assert lost_db < 3


def test_a_person_alone_loses_next_to_nothing():
    assert loss_db(5, at_s=1, silent=True, noise_snr_db=50) < 1.5


def test_noise_suppression_lowers_steady_noise():
    noise = {"silent": True, "noise_snr_db": 10, "noise_kind": "white"}
    raw = Heard(3.5, mode="off", noise_suppression=False, **noise)
    for mode in ("webrtc", "hardware"):
        quieter = Heard(3.5, mode=mode, **noise)
        assert in_db(rms(raw.clean[2 * OUT :])) - in_db(rms(quieter.clean[2 * OUT :])) > 6


@pytest.mark.parametrize("mode", ["hardware", "off"])
def test_a_microphone_that_cancels_itself_is_only_resampled(mode):
    heard = Heard(3, mode=mode, noise_suppression=False)
    assert np.array_equal(heard.clean, heard.room.recorded.microphone)
    assert heard.canceller.removed_db is None
    assert any(active for *_, active in heard.track)


def test_a_frame_with_nobody_but_the_robot_is_told_to_be_its_own():
    def own(heard, begin_s, end_s):
        frames = heard.released[round(begin_s / 0.01) : round(end_s / 0.01)]
        return np.mean([frame.own for frame in frames if frame.far_active])

    words = person(OUT)
    alone = Heard(9, noise_snr_db=20, echo_gain_db=-20)
    over = Heard(9, noise_snr_db=20, echo_gain_db=-20, says=[(6, words)])
    assert own(alone, 4, 9) > 0.9
    assert own(over, 6.3, 6 + len(words) / OUT) < 0.3
    assert not any(frame.own for frame in alone.released if not frame.far_active)


def test_over_an_echo_that_is_too_soft_to_be_found_a_person_is_told_and_kept():
    words = person(OUT)
    heard = Heard(12, noise_snr_db=10, echo_gain_db=-40, says=[(6, words)])
    frames = heard.released[630 : 600 + len(words) // 160]
    assert not heard.canceller.aligned
    assert all(frame.inaudible for frame in frames if frame.far_active)
    told = [frame.person or not frame.far_active for frame in frames]
    assert np.mean(told) > 0.5
    level = in_db(rms(np.concatenate([frame.sound for frame in frames])))
    assert level == pytest.approx(in_db(rms(np.concatenate([frame.near for frame in frames]))), abs=2)
    assert not any(frame.inaudible for frame in Heard(8).released)


def test_a_person_over_the_robots_first_words_is_told_before_their_echo_is_found():
    words = person(OUT)[: OUT // 2]
    heard = Heard(3.2, noise_snr_db=10, echo_gain_db=-30, says=[(1.6, words)])
    spoken = heard.released[180:210]  # of what is heard from 1.6 s on
    assert not any(aligned for aligned, *_ in heard.track)
    assert all(not frame.far_active and not frame.own for frame in spoken)
    assert in_db(rms(np.concatenate([frame.clean for frame in spoken]))) > -40
    alone = Heard(3.2, noise_snr_db=10, echo_gain_db=-30)
    assert all(frame.own for frame in alone.released if frame.far_active)


@pytest.mark.parametrize(
    ("begin_s", "fields"),
    [
        (1.0, {"echo_gain_db": -12, "noise_snr_db": 10}),
        (1.0, {"noise_snr_db": 10, "delay_ms": 950}),
        (1.0, {"noise_snr_db": 20, "rt60_s": 0.3, "delay_ms": 200}),
        (1.0, {"noise_snr_db": 20, "rt60_s": 0.6}),
        (0.2, {"noise_snr_db": 20, "rt60_s": 0.3, "delay_ms": 200}),
        (1.0, {"noise_snr_db": 20, "rt60_s": 0.3, "events": [(2.2, lambda room: room.underrun(200))]}),
    ],
)
def test_the_echo_itself_is_never_taken_for_somebody_else(begin_s, fields):
    heard = Heard(4, begin_s=begin_s, speaker="slt", **fields)
    loud = [rms(piece) > 10 ** (-50 / 20) for piece in heard.echo[: len(heard.released) * 160].reshape(-1, 160)]
    told = [frame.far_active for frame, echo in zip(heard.released, loud, strict=False) if echo]
    assert len(told) > 50
    assert all(told)


def test_far_active_follows_the_robots_voice():
    heard = Heard(3)
    active = np.array([active for *_, active in heard.track])
    assert not active[:95].any()
    assert active[115:].mean() > 0.9


# --- rates and blocks -----------------------------------------------------------------------------------------------


def test_a_device_of_another_rate_is_resampled():
    heard = Heard(5, rate_hz=44_100)
    assert 5 * OUT - 800 <= len(heard.clean) <= 5 * OUT
    assert heard.removed_db(3) > 40


@pytest.mark.parametrize(("input_hz", "output_hz"), [(16_000, 48_000), (44_100, 16_000)])
def test_both_ends_may_have_rates_of_their_own(input_hz, output_hz):
    seconds = 5
    voice = robot(output_hz, seconds)
    echo = np.concatenate((np.zeros(input_hz // 10), Resampler(output_hz, input_hz).process(voice, last=True)))
    echo = (0.5 * echo).astype(np.float32)
    canceller = EchoCanceller(input_hz, output_hz)
    clean = []
    for block in range(seconds * 100):
        canceller.far(voice[block * output_hz // 100 :][: output_hz // 100], block / 100)
        clean.append(canceller.near(echo[block * input_hz // 100 :][: input_hz // 100], block / 100))
    left = np.concatenate(clean)[3 * OUT :]
    assert canceller.delay_s == pytest.approx(0.1, abs=0.002)
    assert in_db(rms(echo[3 * input_hz :])) - in_db(rms(left)) > 35


def fed(blocks, *, far_blocks=None, signal=None, **options):
    """A canceller that is given one signal at both ends, in blocks of these lengths in turn."""
    canceller = EchoCanceller(OUT, OUT, **options)
    signal = robot(OUT, 4) if signal is None else signal
    clean, at, far_at, i, j = [], 0, 0, 0, 0
    far_blocks = far_blocks or blocks
    while at < len(signal):
        count = blocks[i % len(blocks)]
        i += 1
        while far_at < min(at + count + 800, len(signal)):
            more = far_blocks[j % len(far_blocks)]
            j += 1
            canceller.far(signal[far_at : far_at + more], far_at / OUT)
            far_at += more
        near = 0.5 * signal[at : at + count]
        clean.append(canceller.near(near.astype(np.float32), at / OUT))
        at += count
    return canceller, np.concatenate(clean), len(signal)


@pytest.mark.parametrize("blocks", [(1, 7, 333), (1_024,), (4_800,)])
def test_blocks_may_have_any_length(blocks):
    _, clean, count = fed(blocks, far_blocks=(512,))
    assert count - 160 - 0.08 * OUT < len(clean) <= count  # the far end ends here: its last frames wait for it
    assert clean.dtype == np.float32
    assert in_db(rms(0.5 * robot(OUT, 4)[3 * OUT :])) - in_db(rms(clean[3 * OUT :])) > 25


@pytest.mark.parametrize("kind", ["zeros", "ones", "square"])
def test_strange_signals_give_finite_samples(kind):
    signal = {
        "zeros": np.zeros(2 * OUT),
        "ones": np.ones(2 * OUT),
        "square": np.sign(np.sin(np.arange(2 * OUT) / 9)),
    }[kind].astype(np.float32)
    canceller, clean, _ = fed((160,), signal=signal)
    assert np.isfinite(clean).all()
    assert np.abs(clean).max() <= 1
    if kind == "zeros":
        assert not canceller.aligned
        assert canceller.removed_db is None
        assert rms(clean) < 1e-4


def test_a_loudspeaker_that_stops_and_comes_back_is_aligned_by_its_times():
    voice = robot(OUT, 8)
    canceller = EchoCanceller(OUT, OUT)
    clean = []
    for block in range(800):
        begin = block * 160
        if not 200 <= block < 300:
            canceller.far(voice[begin : begin + 160], block / 100)
        echo = voice[begin - 640 : begin - 480] if block >= 4 and not 204 <= block < 304 else np.zeros(160)
        clean.append(canceller.near(0.5 * np.asarray(echo, np.float32), block / 100))
    left = np.concatenate(clean)[6 * OUT :]
    assert canceller.delay_s == pytest.approx(0.04, abs=0.002)
    assert in_db(rms(0.5 * voice[6 * OUT :])) - in_db(rms(left)) > 35


def test_without_a_loudspeaker_a_person_is_heard():
    canceller = EchoCanceller(OUT, None)
    voice = np.concatenate((np.zeros(OUT, np.float32), person(OUT)))
    voice = voice + (1e-4 * np.random.default_rng(0).standard_normal(len(voice))).astype(np.float32)
    clean = np.concatenate([canceller.near(voice[at : at + 160], at / OUT) for at in range(0, len(voice), 160)])
    assert in_db(rms(voice)) - in_db(rms(clean)) < 1.5


def test_a_loudspeaker_without_a_microphone_fills_no_memory():
    canceller = EchoCanceller(OUT, OUT)
    for block in range(5_000):
        canceller.far(np.zeros(160, np.float32), block / 100)
    assert len(canceller._ends.far._queue) <= 1_000


# --- the rest -------------------------------------------------------------------------------------------------------


def test_an_under_run_is_noticed_by_its_count():
    xruns = Xruns()
    canceller = EchoCanceller(OUT, OUT, xruns=xruns)
    canceller.align(0.1)
    xruns.under += 1
    canceller.near(np.zeros(160, np.float32), 0.0)
    assert not canceller.aligned
    assert canceller.delay_s == 0.1


def test_equal_input_gives_equal_output():
    assert np.array_equal(Heard(2.5, drift_ppm=100).clean, Heard(2.5, drift_ppm=100).clean)


def test_a_wrong_mode_or_rate_is_named():
    with pytest.raises(ConfigError, match="hardware"):
        EchoCanceller(OUT, OUT, mode="on")
    with pytest.raises(ConfigError, match="22050"):
        EchoCanceller(OUT, OUT, rate_hz=22_050)


def test_the_callback_and_a_frame_are_cheap():
    canceller = EchoCanceller(OUT, OUT)
    voice = robot(OUT, 5)
    began_s = time.thread_time()
    for at in range(0, len(voice) - 159, 160):
        canceller.far(voice[at : at + 160], at / OUT)
    assert time.thread_time() - began_s < 0.1  # 500 blocks
    began_s = time.thread_time()
    for at in range(0, len(voice) - 159, 160):
        canceller.near(voice[at : at + 160], at / OUT)
    assert time.thread_time() - began_s < 1.5  # of 5 s; 0.15 as a rule


def test_silence_after_the_robot_has_spoken_costs_no_more_than_its_speech():
    canceller = EchoCanceller(OUT, OUT)
    voice = robot(OUT, 8.0)[OUT:]
    silence = np.zeros(4 * OUT, np.float32)
    took_s = []
    for sound in (voice[: 4 * OUT], silence, silence):
        late = np.concatenate((np.zeros(OUT * 6 // 100, np.float32), sound))
        begun_s = time.thread_time()
        for at in range(0, len(sound), OUT // 100):
            at_s = len(took_s) * 4 + at / OUT
            canceller.far(sound[at : at + OUT // 100], at_s)
            canceller.near(late[at : at + OUT // 100] / 2, at_s)
        took_s.append(time.thread_time() - begun_s)
    assert took_s[2] < 2 * took_s[0]


def test_after_a_long_silence_the_echo_is_learnt_as_at_the_start(monkeypatch):
    """After 15 minutes AEC3 has lost it, and a "stop" over the robot's next words with it."""
    monkeypatch.setattr("edgeagent.audio.echo._FORGOTTEN_S", 2.0)
    canceller = EchoCanceller(OUT, OUT)
    voice = robot(OUT, 4.0)[OUT:]
    aligned = []
    for part, sound in enumerate((voice, np.zeros(3 * OUT, np.float32), voice)):
        late = np.concatenate((np.zeros(OUT * 6 // 100, np.float32), sound))
        for at in range(0, len(sound) - 159, OUT // 100):
            at_s = (0, 3, 6)[part] + at / OUT
            canceller.far(sound[at : at + OUT // 100], at_s)
            canceller.near(late[at : at + OUT // 100] / 2, at_s)
        aligned.append(canceller.aligned)
    assert aligned == [True, False, True]
