"""What the canceller passes on over the robot's first words: all of it, late, and with the person in it."""

import numpy as np
import pytest

from edgeagent.audio import EarlyEcho, EchoCanceller, Frame
from edgeagent.testing import Room, RoomSettings, speechlike

RATE_HZ = 16_000
FRAME = 160


class Passed:
    """What a canceller passes on while a voice speaks from 1 s on."""

    def __init__(self, seconds=4.0, *, person_at_s=None, events=(), mode="webrtc", **fields):
        self.room = Room(RoomSettings(**{"rate_hz": RATE_HZ, "rt60_s": 0.2, **fields}))
        voice = np.concatenate((np.zeros(RATE_HZ, np.float32), speechlike(1, seconds, RATE_HZ)))
        self.room.calibrate(voice, RATE_HZ)
        self.canceller = EchoCanceller(RATE_HZ, RATE_HZ, xruns=self.room.xruns, mode=mode)
        self.frames, self.late = [], []
        taken = at = 0

        def fill(block, dac_s):
            nonlocal at
            block[:] = voice[at : at + len(block)]
            at += len(block)
            self.canceller.far(block, dac_s)

        def take(block, adc_s):
            nonlocal taken
            self.canceller.near(block, adc_s)
            self.frames += self.canceller.released
            taken += len(block)
            self.late.append(taken // FRAME - len(self.frames))

        self.room.start(fill=fill, take=take)
        if person_at_s is not None:
            self.room.say(speechlike(4, 0.6, RATE_HZ), RATE_HZ, person_at_s)
        now_s = 0.0
        for at_s, happens in events:
            self.room.run(at_s - now_s)
            now_s = at_s
            happens(self.room)
        self.room.run(seconds - now_s)
        self.frames += self.canceller.flush()

    def near(self):
        return np.concatenate([frame.near for frame in self.frames])

    def share_of_persons(self, begin_s, end_s):
        """Of the frames while the robot speaks: a person is in them, or what is in them is not its own voice."""
        frames = self.frames[round(begin_s * 100) : round(end_s * 100)]
        return np.mean([bool(frame.person) or not frame.far_active for frame in frames])


@pytest.mark.parametrize(
    "fields",
    [{"delay_ms": 950}, {"echo_gain_db": -60, "noise_snr_db": 40}, {"events": [(2.0, lambda r: r.underrun(200))]}],
    ids=["a delay of which no time tells", "no echo to find", "an under-run"],
)
def test_every_frame_is_passed_on_once_and_in_order(fields):
    passed = Passed(**fields)
    assert np.array_equal(passed.near(), passed.room.recorded.microphone)
    assert max(passed.late) <= 160


@pytest.mark.parametrize("frames", range(1, 8))
def test_a_first_sound_of_few_frames_is_passed_on_once_and_in_order(frames):
    noise = np.random.default_rng(0).standard_normal((100, FRAME)).astype(np.float32) / 100
    early, passed = EarlyEcho(RATE_HZ), []
    for number, near in enumerate(noise):
        active = 40 <= number < 40 + frames
        passed += early.take(Frame(near, near, near, near, None, active), active=active, aligned=True, waits=False)
        if early.holds and early.due:
            passed += early.look(np.zeros(early.samples, np.float32))
    assert np.array_equal([frame.near for frame in passed], noise)


@pytest.mark.parametrize("mode", ["hardware", "off"])
def test_nothing_waits_where_something_else_cancels_the_echo(mode):
    assert max(Passed(3.0, mode=mode).late) <= 9


def test_nothing_waits_while_the_loudspeaker_is_silent_or_its_echo_is_learnt_until_an_under_run():
    passed = Passed(10.0, events=[(5.0, lambda room: room.underrun(200))])
    assert max(passed.late[:95]) <= 9, "nothing is played"
    assert max(passed.late[200:300]) > 20
    assert max(passed.late[450:500]) <= 9
    assert max(passed.late[500:620]) > 20
    assert max(passed.late[-50:]) <= 9


@pytest.mark.parametrize("echo_gain_db", [-20, 0])
def test_a_person_in_the_first_words_is_told_from_the_robots_own_voice(echo_gain_db):
    alone = Passed(2.5, echo_gain_db=echo_gain_db)
    assert alone.share_of_persons(1.2, 2.4) < 0.1
    both = Passed(2.5, echo_gain_db=echo_gain_db, person_at_s=1.4)
    assert both.share_of_persons(1.5, 1.9) > 0.9
    assert any(frame.early for frame in both.frames)


@pytest.mark.parametrize("seed", [1, 2])
def test_noise_over_the_robots_soft_first_words_is_no_person(seed):
    alone = Passed(2.5, echo_gain_db=-12, noise_snr_db=10, noise_kind="fan", seed=seed)
    assert any(frame.early for frame in alone.frames)
    assert not any(frame.person for frame in alone.frames)
    both = Passed(2.5, echo_gain_db=-12, noise_snr_db=10, noise_kind="fan", seed=seed, person_at_s=1.4)
    assert both.share_of_persons(1.5, 1.9) > 0.9


def test_an_echo_without_room_or_noise_is_fitted_too():
    """As on a sound server's null sinks: silence, and the loudspeaker's samples 10 ms later at half of their level."""
    far = np.concatenate((np.zeros(RATE_HZ // 2, np.float32), speechlike(3, 0.7, RATE_HZ)))
    near = np.concatenate((np.zeros(160, np.float32), far[:-160] / 2))
    near += np.float32(10 ** (-72 / 20)) * np.random.default_rng(0).standard_normal(len(near)).astype(np.float32)
    early = EarlyEcho(RATE_HZ)
    count = 0
    for at in range(0, len(near) - FRAME + 1, FRAME):
        piece, active = near[at : at + FRAME], at > RATE_HZ // 2
        frame = Frame(piece, far[at : at + FRAME], piece, piece, None, far_active=active)
        early.take(frame, active=active, aligned=True, waits=False)
        count = at + FRAME
    made = early.look(far[count - early.samples : count])
    assert len(made) > 60
    left, heard = (np.concatenate([getattr(frame, name) for frame in made]) for name in ("sound", "near"))
    assert np.mean(left**2) < 1e-3 * np.mean(heard**2)
    assert not any(frame.person for frame in made)
