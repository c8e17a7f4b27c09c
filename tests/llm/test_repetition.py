"""A reply that goes round in circles is noticed; one that only repeats what was asked for is not."""

from hypothesis import given
from hypothesis import strategies as st

from edgeagent.llm import LONGEST_PERIOD, SHORTEST_RUN, TIMES, repeats


def noticed_after(ids: list[int]) -> int | None:
    return next((n for n in range(1, len(ids) + 1) if repeats(ids[:n])), None)


@given(st.lists(st.integers(0, 50_000), min_size=1, max_size=LONGEST_PERIOD), st.lists(st.integers(), max_size=40))
def test_a_circle_is_noticed_soon(circle: list[int], before: list[int]) -> None:
    found = noticed_after(before + circle * 600)
    assert found is not None
    assert found <= len(before) + max(len(circle) * TIMES, SHORTEST_RUN) + 16


@given(st.lists(st.integers(0, 1), min_size=20, max_size=24, unique_by=None))
def test_four_equal_calls_are_no_circle(call: list[int]) -> None:
    four = [*(token + 10 * i for i, token in enumerate(call))] * 4
    assert noticed_after([1, 2, 3, *four, 4]) is None


def test_a_row_of_zeros_is_no_circle() -> None:
    assert noticed_after([7] * (SHORTEST_RUN - 1) + [8] * 10) is None


def test_a_counter_is_no_circle() -> None:
    assert noticed_after([token for i in range(200) for token in (1, 2, i, 3)]) is None
