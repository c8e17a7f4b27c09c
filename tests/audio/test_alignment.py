"""The loudspeaker's samples beside the microphone's: they move as the times move, and not as they have wandered."""

from __future__ import annotations

import numpy as np
import pytest

from edgeagent.audio import Alignment

RATE_HZ = 16_000
BLOCK = 160


def test_a_step_moves_the_far_end_by_the_step_and_not_by_what_the_times_had_wandered() -> None:
    random = np.random.default_rng(0)
    ends = Alignment(RATE_HZ, RATE_HZ, RATE_HZ)
    silence = np.zeros(BLOCK, np.float32)
    at_s = 0.0
    for number in range(31_000):
        at_s = number / 100
        far_s, near_s = at_s + 0.001 * random.standard_normal(2)  # so jittery that they tell of no other clock
        step_s = 0.1 if at_s >= 300 else 0.0
        ends.far.put(silence, far_s)
        ends.hear(BLOCK, near_s - 0.001 * at_s + step_s)  # behind by 0.3 s when the step comes
        if ends.stepped:
            break
        ends.next(BLOCK)
        if at_s < 300 and number % 25 == 0:
            ends.set_delay(0.060 + ends.delay_s - (ends.beside_s or 0.0))  # its echo stays where it was
    assert 300 <= at_s < 301
    before_s = ends.missing_s(BLOCK)
    ends.follow()
    assert ends.missing_s(BLOCK) - before_s == pytest.approx(0.1, abs=0.01)
