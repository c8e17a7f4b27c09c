"""A person over the robot's voice is heard in what is left of the microphone, and the robot's own voice is not."""

from typing import Any

import numpy as np
import pytest

from edgeagent.audio import FRAME, RATE_HZ, DoubleTalk, Samples
from edgeagent.testing import synthesised


def said(text: str, voice: str) -> Samples:
    sound = synthesised(text, voice, RATE_HZ)
    return (sound * (0.2 / np.abs(sound).max())).astype(np.float32)


def heard(double_talk: DoubleTalk, sound: Samples, *, person: bool) -> list[Any]:
    frames = range(0, len(sound) - FRAME + 1, FRAME)
    return [double_talk.process(sound[at : at + FRAME], person=person) for at in frames]


@pytest.mark.parametrize("voice", ["slt", "rms"])
def test_speech_counts_where_there_is_a_person_and_else_does_not(voice: str) -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", voice)
    assert heard(double_talk, sound, person=False) == [None] * (len(sound) // FRAME)
    assert np.mean(np.array(heard(double_talk, sound, person=True)) > 0.5) > 0.7


def test_a_syllable_after_the_robots_voice_counts_at_once() -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", "slt")
    middle = len(sound) // 2
    heard(double_talk, sound[:middle], person=False)
    assert max(heard(double_talk, sound[middle : middle + 8 * FRAME], person=True)) > 0.5


def test_what_is_no_speech_does_not_count() -> None:
    noise = np.random.default_rng(0).normal(0, 0.05, 2 * RATE_HZ).astype(np.float32)
    assert max(heard(DoubleTalk(), noise, person=True)) < 0.5


def test_what_was_heard_before_the_robot_fell_silent_is_forgotten() -> None:
    double_talk, sound = DoubleTalk(), said("she put the book on the table", "slt")
    before = heard(double_talk, sound, person=True)
    double_talk.reset()
    assert heard(double_talk, sound, person=True) == before
