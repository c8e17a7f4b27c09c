"""What an echo canceller leaves is closed away; a person is not."""

import numpy as np
import pytest

from edgeagent.audio import ResidualGate
from edgeagent.testing import in_db, rms, speech_frames, speechlike

RATE = 16_000
FRAME = 160


def gated(clean, near, far, *, gate=None):
    """All frames through a gate, and whether it was open in each."""
    gate = gate or ResidualGate(RATE)
    made, opened = [], []
    for at in range(0, len(clean) - FRAME + 1, FRAME):
        piece = slice(at, at + FRAME)
        made.append(gate.process(*(signal[piece].astype(np.float32) for signal in (clean, near, far))))
        opened.append(gate.open)
    return np.concatenate(made), np.array(opened)


def room(signal, seed=0):
    """A short reverberation, of gain 1."""
    random = np.random.default_rng(seed)
    response = 0.2 * random.standard_normal(3_200) * np.exp(-np.arange(3_200) / 700)
    response[0] = 1.0
    heard = np.convolve(signal, response)[: len(signal)]
    return heard * rms(signal) / rms(heard)


def late(signal, seconds=0.05):
    count = round(seconds * RATE)
    return np.concatenate((np.zeros(count), signal[:-count]))


FAR = np.concatenate((np.zeros(2 * RATE), speechlike(1, 14, RATE)))
ECHO = room(late(FAR))
PERSON = np.concatenate((np.zeros(8 * RATE), speechlike(4, 8, RATE)))


@pytest.mark.parametrize(("left_db", "closed_db"), [(-6, 15), (-20, 25), (-40, 25)])
def test_a_residual_is_closed_away(left_db, closed_db):
    left = ECHO * 10 ** (left_db / 20)
    made, opened = gated(left, ECHO, FAR)
    learnt = slice(5 * RATE, None)
    assert in_db(rms(left[learnt])) - in_db(rms(made[learnt])) > closed_db
    assert opened[500:].mean() < 0.02


@pytest.mark.parametrize(("left_db", "person_db", "most_db"), [(-40, -20, 5), (-20, -10, 3), (-6, 0, 3)])
def test_a_person_over_the_robot_loses_little(left_db, person_db, most_db):
    person = PERSON * 10 ** (person_db / 20)
    left = ECHO * 10 ** (left_db / 20)
    upright, _ = gated(left + person, ECHO + person, FAR)
    upside_down, _ = gated(left - person, ECHO - person, FAR)
    kept = (upright - upside_down) / 2
    spoken = speech_frames(person, RATE)
    assert in_db(rms(person[spoken])) - in_db(rms(kept[spoken])) < most_db


def test_a_person_is_let_through_in_the_first_frame_that_is_heard():
    left = 0.01 * ECHO
    at = 8 * RATE
    person = np.zeros(len(FAR))
    person[at:] = 0.05 * np.sin(2 * np.pi * 300 * np.arange(len(person) - at) / RATE)
    made, opened = gated(left + person, ECHO + person, FAR)
    first = at // FRAME
    assert not opened[first - 20 : first].any()
    assert opened[first]
    assert in_db(rms(person[at : at + 2 * FRAME])) - in_db(rms(made[at : at + 2 * FRAME])) < 2


def test_noise_is_no_echo_that_hides_a_person():
    """The robot's voice has soft sounds, beside which noise is loud; that says nothing of its loud ones."""
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(FAR))
    echo = 10 ** (-20 / 20) * ECHO
    person = PERSON * 10 ** (-10 / 20)
    _, opened = gated(0.1 * echo + noise + person, echo + noise + person, FAR)
    spoken = speech_frames(person, RATE)[: len(opened) * FRAME].reshape(-1, FRAME).all(axis=1)
    loud = np.array([rms(piece) for piece in FAR[: len(opened) * FRAME].reshape(-1, FRAME)]) > rms(FAR[2 * RATE :])
    assert opened[spoken & loud].mean() > 0.5
    _, opened = gated(0.1 * echo + noise, echo + noise, FAR)
    assert opened[500:].mean() < 0.02


def test_a_person_whom_the_canceller_has_suppressed_is_told_by_the_microphone():
    noise = 0.01 * np.random.default_rng(0).standard_normal(len(FAR))
    echo, nothing = 10 ** (-20 / 20) * ECHO, 1e-4 * ECHO

    def louder(near):
        gate, told = ResidualGate(RATE), []
        for at in range(0, len(near) - FRAME + 1, FRAME):
            piece = slice(at, at + FRAME)
            gate.process(*(signal[piece].astype(np.float32) for signal in (nothing, near, FAR)))
            told.append(gate.louder)
        return np.array(told)

    told = louder(echo + noise + PERSON * 10 ** (-6 / 20))
    spoken = speech_frames(PERSON, RATE)[: len(told) * FRAME].reshape(-1, FRAME).all(axis=1)
    assert told[spoken].mean() > 0.3
    assert louder(echo + noise)[500:].mean() < 0.02


def test_a_microphone_that_was_muted_hears_no_person_in_the_robots_voice_afterwards():
    noise = 0.001 * np.random.default_rng(0).standard_normal(len(FAR))
    near, clean = ECHO + noise, 0.1 * ECHO + noise
    for muted in (near, clean):
        muted[6 * RATE : 10 * RATE] = 0.0
    gate, told = ResidualGate(RATE), []
    for at in range(0, len(near) - FRAME + 1, FRAME):
        piece = slice(at, at + FRAME)
        gate.process(*(signal[piece].astype(np.float32) for signal in (clean, near, FAR)))
        told.append(gate.open or gate.louder)
    assert np.mean(told[700:]) < 0.05


def test_the_robots_first_sounds_after_a_silence_are_closed_away_at_once():
    far = np.concatenate((FAR, np.zeros(RATE), FAR[2 * RATE : 4 * RATE]))
    echo, noise = room(late(far)), 1e-4 * np.random.default_rng(0).standard_normal(len(far))
    made, _ = gated(0.1 * echo + noise, echo + noise, far)
    again = slice(len(FAR) + RATE, len(FAR) + round(1.25 * RATE))
    assert in_db(rms(0.1 * echo[again])) - in_db(rms(made[again])) > 15


def test_without_the_far_end_every_sample_passes():
    person = speechlike(4, 3, RATE)
    made, opened = gated(person, person, np.zeros(len(person)))
    assert np.array_equal(made, person)
    assert opened.all()


def test_what_is_spared_in_silence_changes_nothing():
    noise = 0.003 * np.random.default_rng(0).standard_normal(len(FAR))
    clean, near = 0.05 * ECHO + noise + PERSON[: len(FAR)], ECHO + noise + PERSON[: len(FAR)]
    inaudible = np.where(FAR == 0, 1e-30, FAR)  # but not nothing, so that nothing is spared
    made, opened = gated(clean, near, FAR)
    whole, whole_opened = gated(clean, near, inaudible)
    assert np.array_equal(opened, whole_opened)
    assert np.allclose(made, whole, atol=1e-9)


def test_the_gate_makes_no_clicks():
    """A steady tone under the residual's level, so that all it does is to open and close."""
    tone = 0.01 * np.sin(2 * np.pi * 1_000 * np.arange(len(FAR)) / RATE)
    made, _ = gated(tone, ECHO, FAR)
    assert np.abs(np.diff(made)).max() < 2 * np.abs(np.diff(tone)).max()
    assert np.abs(np.diff(made, 2)).max() < 3 * np.abs(np.diff(tone, 2)).max()


def test_noise_is_not_pumped():
    """Where the residual is under the noise, closing would only make holes into it."""
    noise = 0.003 * np.random.default_rng(0).standard_normal(len(FAR) + RATE)
    far, echo = (np.concatenate((np.zeros(RATE), signal)) for signal in (FAR, ECHO))
    made, _ = gated(1e-4 * echo + noise, echo + noise, far)
    frames = np.sqrt(np.mean(np.square(made[4 * RATE :].reshape(-1, FRAME)), axis=1))
    assert in_db(np.percentile(frames, 95)) - in_db(np.percentile(frames, 5)) < 8


def test_a_canceller_that_gets_worse_is_learnt_again():
    left = np.concatenate((0.01 * ECHO[: 8 * RATE], 0.3 * ECHO[8 * RATE :]))
    made, _ = gated(left, ECHO, FAR)
    end = slice(11 * RATE, None)
    assert in_db(rms(left[end])) - in_db(rms(made[end])) > 20


def test_after_forget_a_loud_residual_is_closed_at_once():
    gate = ResidualGate(RATE)
    half = 8 * RATE
    gated(0.01 * ECHO[:half], ECHO[:half], FAR[:half], gate=gate)
    gate.forget()
    made, _ = gated(0.3 * ECHO[half:], ECHO[half:], FAR[half:], gate=gate)
    assert in_db(rms(0.3 * ECHO[half:])) - in_db(rms(made)) > 15


def test_while_the_delay_is_unknown_a_late_echo_is_closed_away():
    echo = room(late(FAR, 0.6))
    gate = ResidualGate(RATE)
    gate.waiting = True
    _, opened = gated(0.5 * echo, echo, FAR, gate=gate)
    assert opened[300:].mean() < 0.1


@pytest.mark.parametrize(
    "signal", [np.zeros(RATE), np.ones(RATE), np.sign(FAR[:RATE])], ids=["zeros", "ones", "square"]
)
def test_strange_signals_give_finite_samples(signal):
    made, _ = gated(signal, signal, signal)
    assert made.dtype == np.float32
    assert np.isfinite(made).all()
    assert np.abs(made).max() <= 1


def test_equal_input_gives_equal_output():
    assert np.array_equal(gated(0.1 * ECHO, ECHO, FAR)[0], gated(0.1 * ECHO, ECHO, FAR)[0])
