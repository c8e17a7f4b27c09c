"""The end of a stream, by the numbers of its samples."""

import numpy as np
import pytest

from edgeagent.audio import SampleHistory


def counted(history: SampleHistory, count: int) -> None:
    """The next samples, each of which is its own number."""
    history.append(np.arange(history.end, history.end + count, dtype=np.float32))


def test_samples_are_found_by_their_number() -> None:
    history = SampleHistory(10)
    for count in (3, 50, 1):
        counted(history, count)
    assert history.read(51).tolist() == [51, 52, 53]
    assert history.read(2, 5).tolist() == [2, 3, 4]
    assert history.read(60).tolist() == []


@pytest.mark.parametrize("kept", [1, 10, 100])
def test_it_stays_short_and_what_is_kept_is_right(kept: int) -> None:
    history = SampleHistory(kept)
    for _ in range(1000):
        counted(history, 7)
        history.forget()
        assert history.end - history.begin <= 3 * kept + 7
    assert history.read(history.end - kept).tolist() == list(range(7000 - kept, 7000))


def test_what_is_still_needed_stays() -> None:
    history = SampleHistory(10)
    for number in range(100):
        counted(history, 10)
        history.forget(max(number * 10 - 200, 0))
    assert history.begin <= 790
    assert history.end - history.begin < 300
    assert history.read(790, 792).tolist() == [790, 791]
