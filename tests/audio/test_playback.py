"""What leaves the loudspeaker, and what is known of it."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeagent.audio import PlaybackQueue, Samples, Utterance

RATE_HZ = 16_000
BLOCK = 160


class Loudspeaker:
    """Asks for blocks, each the next 10 ms of its clock, and keeps them."""

    def __init__(self, playback: PlaybackQueue) -> None:
        self.playback = playback
        self.blocks: list[Samples] = []

    @property
    def now_s(self) -> float:
        return len(self.blocks) * BLOCK / RATE_HZ

    def play(self, count: int) -> Samples:
        first = len(self.blocks)
        for _ in range(count):
            block = np.full(BLOCK, 7.0, np.float32)
            self.playback.fill(block, self.now_s)
            self.blocks.append(block)
        return np.concatenate(self.blocks[first:])


def tone(seconds: float, level: float = 0.5) -> Samples:
    return np.full(int(seconds * RATE_HZ), level, np.float32)


def spoken(playback: PlaybackQueue, *pieces: Samples) -> Utterance:
    utterance = playback.begin()
    for piece in pieces:
        playback.write(utterance, piece)
    playback.finish(utterance)
    return utterance


@pytest.fixture
def playback() -> PlaybackQueue:
    return PlaybackQueue(RATE_HZ)


@pytest.fixture
def loudspeaker(playback: PlaybackQueue) -> Loudspeaker:
    return Loudspeaker(playback)


def test_without_anything_to_say_there_is_silence(loudspeaker: Loudspeaker) -> None:
    assert not loudspeaker.play(3).any()


def test_sentences_follow_without_a_gap(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    utterance = spoken(playback, tone(0.033), tone(0.0471), tone(0.05))
    out = loudspeaker.play(20)
    sounding = np.flatnonzero(out)
    assert (sounding[0], sounding[-1]) == (1, utterance.written - 1)  # the ramp begins at 0
    assert np.all(out[80 : utterance.written] == 0.5)
    assert utterance.ended


def test_a_hold_is_silent_within_a_block_and_resumes_where_it_was(
    playback: PlaybackQueue, loudspeaker: Loudspeaker
) -> None:
    utterance = spoken(playback, np.linspace(0.1, 0.9, RATE_HZ, dtype=np.float32))
    loudspeaker.play(30)
    before = utterance.handed
    playback.hold()
    fading = loudspeaker.play(1)
    assert np.abs(np.diff(fading)).max() < 0.05, "no click"
    assert not fading[100:].any()
    assert not loudspeaker.play(10).any()
    assert utterance.handed == before, "what fades is played again"
    assert playback.heard_s(utterance, loudspeaker.now_s) == pytest.approx(before / RATE_HZ)
    playback.resume()
    resumed = loudspeaker.play(2)
    assert np.abs(np.diff(resumed)).max() < 0.05
    assert resumed[150] == pytest.approx(0.1 + 0.8 * (before + 150) / RATE_HZ, abs=1e-3)


def test_a_flush_is_silent_within_a_block_and_what_follows_is_spoken(
    playback: PlaybackQueue, loudspeaker: Loudspeaker
) -> None:
    first, second = spoken(playback, tone(1)), spoken(playback, tone(1))
    loudspeaker.play(10)
    playback.flush()
    third = spoken(playback, tone(0.05, 0.25))
    out = loudspeaker.play(8)
    assert np.abs(np.diff(out[:600])).max() < 0.05
    assert out[-1] == 0
    assert out[400] == 0.25
    assert (first.dropped, second.dropped, third.dropped) == (True, True, False)
    assert (first.handed_s, second.handed_s) == (pytest.approx(0.105), 0)
    assert third.ended
    playback.write(first, tone(1))
    assert not loudspeaker.play(5).any(), "a flushed utterance takes no more"


def test_what_was_heard_follows_the_clock_of_the_device(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    loudspeaker.play(5)
    utterance = spoken(playback, tone(0.2))
    loudspeaker.play(30)
    began_s = 5 * BLOCK / RATE_HZ
    for at_s in (0.0, 0.013, 0.1, 0.199):
        assert playback.heard_s(utterance, began_s + at_s) == pytest.approx(at_s, abs=1e-6)
    assert playback.heard_s(utterance, began_s + 5) == pytest.approx(0.2)
    assert playback.heard_s(utterance, 0.0) == 0
    assert playback.heard_s(playback.begin(), began_s) == 0


def test_a_slow_mouth_is_counted(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    utterance = playback.begin()
    playback.write(utterance, tone(0.015))
    loudspeaker.play(4)
    assert utterance.starved == 3
    playback.write(utterance, tone(0.02))
    playback.finish(utterance)
    loudspeaker.play(4)
    assert utterance.starved == 3


def test_the_volume_changes_without_a_click(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    spoken(playback, tone(2, 1.0))
    loudspeaker.play(2)
    playback.volume = 0.25
    out = loudspeaker.play(10)
    assert np.abs(np.diff(out)).max() < 0.005
    assert out[-1] == 0.25
    playback.volume = 0.5
    assert loudspeaker.play(10)[-1] == 0.5


@given(
    st.lists(st.tuples(st.sampled_from(["write", "hold", "resume", "flush", "play"]), st.integers(1, 700)), max_size=40)
)
def test_whatever_is_done_nothing_is_lost_or_said_twice(steps: list[tuple[str, int]]) -> None:
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    utterance, written, out = playback.begin(), 0, []
    for step, size in steps:
        match step:
            case "write":
                playback.write(utterance, np.arange(written + 1, written + size + 1, dtype=np.float32))
                written += size
            case "hold":
                playback.hold()
            case "resume":
                playback.resume()
            case "flush":
                playback.flush()
                utterance, written = playback.begin(), 0
            case "play":
                out.append(loudspeaker.play(1))
        assert 0 <= utterance.handed <= utterance.written == written
    playback.resume()
    loudspeaker.play(written // BLOCK + 3)
    assert utterance.handed == written
    assert all(np.isfinite(block).all() for block in loudspeaker.blocks)


@pytest.mark.parametrize("end", ["hold", "flush"])
def test_an_end_where_a_piece_ends_makes_no_click(playback: PlaybackQueue, loudspeaker: Loudspeaker, end: str) -> None:
    """Voices give chunks that are a whole number of blocks."""
    spoken(playback, *[tone(BLOCK / RATE_HZ)] * 20)
    loudspeaker.play(5)
    getattr(playback, end)()
    assert np.abs(np.diff(np.concatenate((loudspeaker.blocks[-1], loudspeaker.play(2))))).max() < 0.05


def test_after_an_under_run_in_the_middle_of_a_block_it_begins_without_a_click(
    playback: PlaybackQueue, loudspeaker: Loudspeaker
) -> None:
    utterance = playback.begin()
    playback.write(utterance, tone(0.015))
    loudspeaker.play(2)
    playback.write(utterance, tone(0.05))
    assert loudspeaker.play(1)[0] == 0


def test_a_flush_while_it_is_held_leaves_nothing_to_play(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    spoken(playback, tone(1))
    loudspeaker.play(3)
    playback.hold()
    playback.flush()
    loudspeaker.play(1)
    assert playback.queued_s == 0
    assert playback.queued_s == 0
    playback.resume()
    assert not loudspeaker.play(5).any()


def test_what_was_heard_of_an_utterance_is_known_after_long_ones_that_followed(
    playback: PlaybackQueue, loudspeaker: Loudspeaker
) -> None:
    first = spoken(playback, tone(0.5))
    for _ in range(5):
        spoken(playback, *[tone(0.001)] * 1000)
        loudspeaker.play(100)
    assert playback.heard_s(first, loudspeaker.now_s) == pytest.approx(0.5)


def test_pieces_of_a_few_samples_leave_their_times_known(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    utterance = spoken(playback, *[tone(0.0005)] * 2000)
    loudspeaker.play(100)
    for at_s in (0.1, 0.4, 0.9):
        assert playback.heard_s(utterance, at_s) == pytest.approx(at_s, abs=1e-3)


@given(
    st.lists(st.tuples(st.sampled_from(["write", "hold", "resume", "play", "volume"]), st.integers(1, 5)), max_size=60)
)
def test_no_schedule_of_holds_makes_a_click(steps: list[tuple[str, int]]) -> None:
    playback = PlaybackQueue(RATE_HZ)
    loudspeaker = Loudspeaker(playback)
    utterance = playback.begin()
    playback.write(utterance, tone(20))
    for step, size in steps:
        match step:
            case "write":
                playback.write(utterance, tone(size * BLOCK / RATE_HZ))
            case "hold":
                playback.hold()
            case "resume":
                playback.resume()
            case "volume":
                playback.volume = size / 5
            case "play":
                loudspeaker.play(size)
    out = np.concatenate([np.zeros(1, np.float32), *loudspeaker.blocks])
    assert np.abs(np.diff(out)).max(initial=0) < 0.02


def test_a_flush_while_others_write_and_the_device_plays_loses_nothing_after_it() -> None:
    playback = PlaybackQueue(RATE_HZ)
    ended = threading.Event()
    failures: list[Exception] = []

    def forever(work: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                while not ended.is_set():
                    work()
            except Exception as error:  # noqa: BLE001 - the top of this thread; looked at below
                failures.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def write() -> None:
        spoken(playback, *[tone(0.004)] * 3)

    loudspeaker = Loudspeaker(playback)
    threads = [forever(write), forever(write), forever(playback.flush)]
    try:
        for _ in range(300):
            loudspeaker.play(1)
            assert 0 <= playback.queued_s < 1000
    finally:
        ended.set()
        for thread in threads:
            thread.join(20)
    playback.flush()
    loudspeaker.play(2)
    last = spoken(playback, tone(0.05))
    loudspeaker.play(8)
    assert (failures, last.ended, last.handed_s) == ([], True, pytest.approx(0.05))
    assert playback.queued_s == 0


def test_memory_does_not_grow_over_a_thousand_utterances(playback: PlaybackQueue, loudspeaker: Loudspeaker) -> None:
    def say(count: int) -> int:
        for index in range(count):
            spoken(playback, tone(0.05))
            loudspeaker.play(3 if index % 3 else 8)
            if index % 5 == 0:
                playback.flush()
            loudspeaker.blocks.clear()
        playback.flush()
        loudspeaker.play(2)
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        before = say(100)
        assert say(1000) - before < 50_000
    finally:
        tracemalloc.stop()
