"""The base obeys its limits, stops at obstacles."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.house import STEP_S, Drivetrain, Limits, Pose

LIMITS = Limits()


def free_base() -> Drivetrain:
    return Drivetrain(Pose(0.0, 0.0, 0.0), lambda x, y: "")


def wall_at(x_m: float) -> Drivetrain:
    return Drivetrain(Pose(0.0, 0.0, 0.0), lambda x, y: "wall" if x + LIMITS.radius_m > x_m else "")


def test_it_accelerates_to_half_a_metre_per_second_and_no_more() -> None:
    base, speeds = free_base(), []
    for _ in range(200):
        base.step(9.0, 0.0)
        speeds.append(base.speed)
    assert max(speeds) == 0.5
    gains = [b - a for a, b in itertools.pairwise(speeds)]
    assert max(gains) <= LIMITS.acceleration_mps2 * STEP_S + 1e-12


@pytest.mark.parametrize("speed", [0.5, -0.5])
def test_it_brakes_with_at_least_3_metres_per_second_squared(speed: float) -> None:
    base = free_base()
    for _ in range(100):
        base.step(speed, 0.0)
    x, base.halted, steps = base.x, True, 0
    while not base.still:
        base.step(speed, 0.0)
        steps += 1
    assert abs(speed) / (steps * STEP_S) >= 3.0
    assert abs(base.x - x) <= speed**2 / (2 * 3.0)


def test_a_speed_limit_of_zero_brakes_and_one_restores_full_speed() -> None:
    base = free_base()
    for _ in range(100):
        base.step(0.5, 1.0)
    base.speed_limit = 0.0
    for _ in range(30):
        base.step(0.5, 1.0)
    assert base.still
    base.speed_limit = 1.0
    for _ in range(100):
        base.step(0.5, 0.0)
    assert base.speed == 0.5


def test_a_speed_limit_of_one_half_halves_both_speeds() -> None:
    base = free_base()
    base.speed_limit = 0.5
    for _ in range(200):
        base.step(0.5, 9.0)
    assert base.speed == 0.25
    assert base.turn_rate == LIMITS.turn_rate_rps / 2


def test_it_stops_dead_at_a_wall_and_says_what_it_touches() -> None:
    base = wall_at(1.0)
    for _ in range(400):
        base.step(0.5, 0.0)
    assert base.x + LIMITS.radius_m <= 1.0
    assert base.x + LIMITS.radius_m > 0.99
    assert base.contact == "wall"
    assert base.speed == 0.0
    assert abs(base.travelled_m - base.x) < 1e-9, "wheels that do not turn do not count"


def test_it_can_back_off_from_what_it_touches() -> None:
    base = wall_at(1.0)
    for _ in range(400):
        base.step(0.5, 0.0)
    for _ in range(100):
        base.step(-0.5, 0.0)
    assert base.x < 0.6
    assert base.contact == ""


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), max_size=60))
def test_no_command_exceeds_what_the_base_can_do(commands: list[tuple[float, float]]) -> None:
    base, before = free_base(), (0.0, 0.0)
    for speed, turn_rate in commands:
        base.step(speed, turn_rate)
        assert abs(base.speed) <= LIMITS.speed_mps
        assert abs(base.turn_rate) <= LIMITS.turn_rate_rps
        assert abs(base.speed - before[0]) <= LIMITS.braking_mps2 * STEP_S + 1e-12
        assert abs(base.turn_rate - before[1]) <= LIMITS.turn_braking_rps2 * STEP_S + 1e-12
        before = base.speed, base.turn_rate
