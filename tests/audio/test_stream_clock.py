"""The clock of a stream: a time that is none leaves it as it was."""

import math

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
