"""Who speaks over the robot's own voice, by what an echo canceller tells of each frame."""

from collections.abc import Iterator

import numpy as np
import pytest

from edgeagent.audio.double_talk import DoubleTalk
from edgeagent.audio.types import Samples
from edgeagent.audio.vad import FRAME, RATE_HZ
from edgeagent.testing import synthesised

MICROPHONE_DB = -25.0
PROOF = 700


def level(sound: Samples, rms_db: float) -> Samples:
    made: Samples = (sound * 10 ** (rms_db / 20) / np.sqrt(np.mean(np.square(sound)))).astype(np.float32)
    return made


SPEECH = level(synthesised("go forward two meters and look at the window", "slt", RATE_HZ)[: 150 * FRAME], -30.0)
NOISE = level(np.random.default_rng(0).normal(0, 1, len(SPEECH)), -30.0)


def take(
    double_talk: DoubleTalk, sound: Samples, person: bool | None, microphone_db: float = MICROPHONE_DB
) -> Iterator[bool]:
    for at in range(0, len(sound) - FRAME + 1, FRAME):
        yield from double_talk.take(sound[at : at + FRAME], [person], microphone_db)


@pytest.fixture
def robot() -> DoubleTalk:
    """It has spoken for a while, and nobody else."""
    made = DoubleTalk()
    quiet = level(np.random.default_rng(1).normal(0, 1, PROOF * FRAME), -50.0)
    assert not any(take(made, quiet, person=False))
    assert not made.asked, "the network is for what may be a person"
    return made


def test_a_person_is_found_within_a_quarter_of_a_second(robot: DoubleTalk) -> None:
    found = list(take(robot, SPEECH, person=True))
    assert any(found[:25])
    assert all(found[40:])


def test_what_the_echo_explains_is_no_person(robot: DoubleTalk) -> None:
    assert not any(take(robot, SPEECH, person=False))


def test_a_loudspeaker_that_is_silent_is_left_to_the_voice_activity(robot: DoubleTalk) -> None:
    assert not any(take(robot, SPEECH, person=None))


def test_noise_is_no_person(robot: DoubleTalk) -> None:
    assert not any(take(robot, NOISE, person=True))


def test_what_is_much_quieter_than_the_robot_is_what_is_left_of_it(robot: DoubleTalk) -> None:
    assert not any(take(robot, level(SPEECH, MICROPHONE_DB - 24), person=True))


def test_nothing_is_believed_until_the_canceller_has_learned() -> None:
    assert not any(take(DoubleTalk(), SPEECH, person=True))


def test_single_frames_are_no_person(robot: DoubleTalk) -> None:
    for at in range(0, len(SPEECH) - 2 * FRAME, 2 * FRAME):
        assert not any(robot.take(SPEECH[at : at + 2 * FRAME], [True, False], MICROPHONE_DB))


def test_another_stream_begins_anew(robot: DoubleTalk) -> None:
    robot.reset()
    assert not any(take(robot, SPEECH, person=True))
