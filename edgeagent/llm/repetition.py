"""Notices that a model repeats itself without end, as small ones do: the same ids over and over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

LONGEST_PERIOD: Final = 48
"""Ids of the longest sentence, or call, whose repetition is noticed."""

TIMES: Final = 8
"""More often than anybody is asked to turn left in one breath."""

SHORTEST_RUN: Final = 64
"""Ids. Rows of dots, dashes or zeros may be meant."""

_LOOK_EVERY: Final = 16


def repeats(ids: Sequence[int]) -> bool:
    """True if the end of a reply is one sequence of at most 48 ids, at least 8 times and 64 ids long.

    It looks only at every 16th id, so that it costs nothing.
    """
    if len(ids) % _LOOK_EVERY or len(ids) < SHORTEST_RUN:
        return False
    tail = list(ids[-LONGEST_PERIOD * TIMES :])
    return any(_has_period(tail, period) for period in range(1, LONGEST_PERIOD + 1))


def _has_period(tail: list[int], period: int) -> bool:
    length = max(period * TIMES, SHORTEST_RUN)
    return length <= len(tail) and tail[-length + period :] == tail[-length:-period]
