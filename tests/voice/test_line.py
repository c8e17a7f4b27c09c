"""A text in several stretches: what was heard of it is right, however it was cut, and long after."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterator

import pytest

from edgeagent.voice import SpokenLine
from tests.voice.speaking import LIMIT_S, Stage

TEXT = "It is 21 °C in the kitchen. **Two** people are there, and a cat; I can see Dr. Miller, too. Shall I go on?"


@pytest.fixture
def stage() -> Iterator[Stage]:
    with Stage() as made:
        yield made


def said(stage: Stage, text: str, *, suspended: bool = False) -> SpokenLine:
    line = SpokenLine(stage.mouth, suspended=suspended)
    line.feed(text)
    line.end()
    return line


def test_what_was_heard_long_ago_is_still_known(stage: Stage) -> None:
    """The playback remembers the times of two seconds; an utterance before that has left the loudspeaker."""
    first, second = said(stage, "First this."), said(stage, "And then, for much longer than that, I tell you this.")
    stage.run(6)
    assert second.is_whole(stage.now_s)
    assert first.is_whole(stage.now_s)
    assert first.heard_by(stage.now_s) == "First this."


def test_of_a_voice_that_failed_only_what_was_heard_counts(stage: Stage) -> None:
    stage.voice.fails_after_s = 1.0
    line = said(stage, TEXT)
    stage.run(4)
    assert line.error is not None
    assert line.is_over(stage.now_s)
    assert not line.is_whole(stage.now_s)
    assert TEXT.startswith(line.heard_by(stage.now_s))
    assert 1 <= len(line.heard_by(stage.now_s).split()) <= 5


def test_suspended_it_says_nothing_and_resumed_all_of_it(stage: Stage) -> None:
    line = said(stage, "Now it is said.", suspended=True)
    assert not stage.is_loud(1)
    assert not line.is_over(stage.now_s)
    line.resume()
    stage.run(3)
    assert line.is_whole(stage.now_s)
    assert line.heard_by(stage.now_s) == "Now it is said."


def test_however_often_it_is_suspended_each_word_is_heard_once(stage: Stage) -> None:
    rng = random.Random(3)
    for _ in range(2):
        line = SpokenLine(stage.mouth)
        words = TEXT.split(" ")
        heard = ""
        while words or not line.is_over(stage.now_s):
            for word in words[:3]:
                line.feed(f"{word} ")
            words = words[3:]
            if not words:
                line.end()
            stage.run(rng.choice([0.1, 0.3, 0.7]))
            if rng.random() < 0.4 and not line.is_over(stage.now_s):
                line.suspend()
                stage.run(0.2)
                assert line.heard_by(math.inf).startswith(heard), "what was heard stays heard"
                heard = line.heard_by(math.inf)
                line.resume()
        assert line.is_whole(stage.now_s)
        assert line.heard_by(stage.now_s).strip() == TEXT


def test_dropped_it_alone_falls_silent(stage: Stage) -> None:
    first, second = said(stage, TEXT), said(stage, "And now this.")
    stage.run(1)
    first.drop()
    assert first.is_over(stage.now_s)
    stage.run(3)
    assert not first.is_whole(stage.now_s)
    assert second.is_whole(stage.now_s)


def test_many_that_begin_at_once_are_all_said_or_all_flushed(stage: Stage) -> None:
    """A reply begins on its run's thread while the robot says something by itself."""
    barrier = threading.Barrier(8)
    lines: list[SpokenLine] = []

    def begin() -> None:
        barrier.wait(LIMIT_S)
        lines.extend(said(stage, "One.") for _ in range(5))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    stage.mouth.flush()
    stage.run(0.5)
    assert len(lines) == 40
    assert not stage.is_loud(1)
    assert all(line.is_over(stage.now_s) for line in lines)
