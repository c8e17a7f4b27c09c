"""Real recognisers whose processes are stopped in the middle of their work: noticed soon, and nothing is lost."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Event

import pytest

from edgeagent.stt.keywords import Keyword, KeywordSpotter, SpotterOptions
from edgeagent.stt.sphinx import SphinxOptions, SphinxTranscriber
from edgeagent.stt.worker import WorkerEvent
from tests.stt.speech import PHRASES, RATE_HZ, blocks, said

LIMIT_S = 30.0
Told = Queue[WorkerEvent]


@pytest.fixture
def told() -> Told:
    return Queue()


@pytest.fixture
def transcriber(told: Told, tmp_path: Path) -> Iterator[SphinxTranscriber]:
    made = SphinxTranscriber(PHRASES, SphinxOptions(cache=tmp_path, on_event=told.put, hang_s=LIMIT_S))
    yield made
    made.close()


def next_of(told: Told, kind: str) -> WorkerEvent:
    while (event := told.get(timeout=LIMIT_S)).kind != kind:
        pass
    return event


def test_what_was_said_is_known_though_both_processes_were_stopped(transcriber: SphinxTranscriber, told: Told) -> None:
    sound = said("go to the kitchen", "slt")
    transcriber.begin()
    transcriber.feed(sound[: len(sound) // 2])
    for pid in transcriber.pids:
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
    transcriber.feed(sound[len(sound) // 2 :])
    assert transcriber.finish(Event()).text == "go to the kitchen"
    hung = {event.worker for event in (next_of(told, "hung"), next_of(told, "hung"))}
    assert hung == {"ears-app", "ears-general"}


def test_the_end_of_a_long_utterance_is_no_hang(told: Told, tmp_path: Path) -> None:
    transcriber = SphinxTranscriber(PHRASES, SphinxOptions(cache=tmp_path, on_event=told.put, hang_s=0.2))
    try:
        transcriber.begin()
        for voice in ("slt", "rms", "awb"):
            for phrase in PHRASES[:4]:
                transcriber.feed(said(phrase, voice))
        assert transcriber.wait_idle(LIMIT_S)  # the passes over all of it are left
        assert "go to the kitchen" in transcriber.finish(Event()).raw
        assert [told.get().kind for _ in range(told.qsize())] == ["started", "started"]
    finally:
        transcriber.close()


def test_a_stop_word_that_was_said_to_a_stopped_spotter_is_heard_by_the_next(told: Told) -> None:
    heard: Queue[Keyword] = Queue()
    spotter = KeywordSpotter({"stop": None}, heard.put, SpotterOptions(on_event=told.put))
    try:
        next_of(told, "started")
        assert spotter.pid is not None
        os.kill(spotter.pid, signal.SIGSTOP)
        sound = said("stop", "slt")
        for number, block in enumerate(blocks(sound)):
            spotter.feed(block, number * len(block) / RATE_HZ)
        assert "state T" in next_of(told, "hung").reason
        next_of(told, "started")
        spotter.feed(sound[-160:], len(sound) / RATE_HZ)
        assert heard.get(timeout=LIMIT_S).phrase == "stop"
    finally:
        spotter.close()
