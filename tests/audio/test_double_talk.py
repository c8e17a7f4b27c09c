"""A person over the robot's voice is heard in what is left of the microphone, and the robot's own voice is not."""

import numpy as np
import pytest

from edgeagent.audio import FRAME, RATE_HZ, DoubleTalk, Samples
from edgeagent.testing import synthesised


def said(text: str, voice: str) -> Samples:
    sound = synthesised(text, voice, RATE_HZ)
    return (sound * (0.2 / np.abs(sound).max())).astype(np.float32)


def heard(
    double_talk: DoubleTalk, sound: Samples, *, person: bool | None, near: Samples | None = None
) -> list[float | None]:
    near = sound if near is None else near
    frames = (slice(at, at + FRAME) for at in range(0, len(sound) - FRAME + 1, FRAME))
    return [double_talk.process(sound[frame], near[frame], person=person) for frame in frames]


def sure(found: list[float | None]) -> list[bool]:
    return [each is not None and each > 0.5 for each in found]


@pytest.mark.parametrize("voice", ["slt", "rms"])
def test_speech_counts_where_there_is_a_person_and_else_does_not(voice: str) -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", voice)
    for person in (False, None):
        assert set(heard(double_talk, sound, person=person)) == {None}
    assert np.mean(sure(heard(double_talk, sound, person=True))) > 0.7


@pytest.mark.parametrize("before", [False, None])
def test_a_syllable_counts_at_once(before: bool | None) -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", "slt")
    middle = len(sound) // 2
    heard(double_talk, sound[:middle], person=before)
    found = heard(double_talk, sound[middle : middle + 8 * FRAME], person=True)
    assert None not in found, "it does not guess before it has heard something"
    assert sum(sure(found)) > 5


def test_nothing_is_said_before_anything_was_heard() -> None:
    assert DoubleTalk().process(np.zeros(FRAME, np.float32), np.zeros(FRAME, np.float32), person=True) is None


def test_what_is_no_speech_does_not_count() -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, 2 * RATE_HZ).astype(np.float32)
    assert not any(sure(heard(DoubleTalk(), noise, person=True)))


def test_what_is_left_of_a_loudspeaker_that_distorts_does_not_count() -> None:
    sound = said("she put the book on the table", "slt")
    loud = sound * np.float32(10**0.5)
    assert set(heard(DoubleTalk(), sound, person=True, near=loud)) == {None}


def test_another_stream_is_heard_as_the_first_one() -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", "slt")
    before = heard(double_talk, sound, person=True)
    double_talk.reset()
    assert heard(double_talk, sound, person=True) == before
