"""The clock of a stream, by the times of its blocks."""

import math

import numpy as np
import pytest

from edgeagent.audio import StreamClock


@pytest.mark.parametrize("nothing", [math.nan, math.inf, -math.inf])
def test_a_time_that_is_none_changes_nothing(nothing: float) -> None:
    clock = StreamClock()
    for block in range(200):
        clock.observe(block / 100, 5 + block / 100)
        if block in (0, 100, 101, 102):
            assert clock.observe(block / 100, nothing) == 0
    assert clock.time(2.0) == pytest.approx(7.0, abs=1e-3)


def test_a_first_time_that_is_none_is_waited_over() -> None:
    clock = StreamClock()
    clock.observe(0.0, math.nan)
    clock.observe(0.01, 5.01)
    assert clock.time(0.02) == pytest.approx(5.02, abs=1e-3)


def test_a_step_of_the_times_is_followed_within_a_second() -> None:
    random = np.random.default_rng(0)
    clock = StreamClock()
    for block in range(4_000):
        time_s = block / 100 + (0.010 if block >= 3_900 else 0.0) + 0.0005 * random.standard_normal()
        clock.observe(block / 100, time_s)
    assert clock.time(40.0) == pytest.approx(40.010, abs=5e-4)


def test_the_skew_of_times_that_wander_is_not_thought_to_be_known() -> None:
    """As of a sound server: two streams of one clock, 460 ppm slow."""
    random = np.random.default_rng(0)
    skews, errors = [], []
    for phase in (0.1, 0.4):
        clock = StreamClock()
        for block in range(6_000):
            at_s = block / 100
            wander_s = 0.001 * math.sin(2 * math.pi * (at_s / 20 + phase)) + 0.0005 * random.standard_normal()
            clock.observe(at_s, at_s * (1 - 460e-6) + wander_s)
        skews.append(clock.skew)
        errors.append(clock.skew_error)
    assert skews == pytest.approx([-460e-6] * 2, abs=150e-6)
    assert abs(skews[0] - skews[1]) < 3 * math.hypot(*errors)


def test_the_skew_of_a_cards_times_is_known_within_seconds() -> None:
    random = np.random.default_rng(0)
    clock = StreamClock()
    for block in range(1_000):
        clock.observe(block / 100, block / 100 * (1 + 80e-6) + 30e-6 * random.standard_normal())
    assert clock.skew == pytest.approx(80e-6, abs=10e-6)
    assert clock.skew_error < 20e-6


def test_a_stream_that_begins_again_keeps_its_skew() -> None:
    clock = StreamClock(jitter_s=55e-6)
    for look in range(80):
        clock.observe(look / 4, look / 4 * (1 + 100e-6))
    clock.begin_again()
    assert clock.later(20.0, 25.0) == 0
    clock.observe(20.0, 25.0)
    assert clock.skew == pytest.approx(100e-6, abs=5e-6)
    assert clock.later(30.0, 35.0 + 10 * 100e-6) == pytest.approx(0, abs=1e-4)
