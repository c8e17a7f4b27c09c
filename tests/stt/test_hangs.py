"""Real recognisers whose processes are stopped or killed, at times with their files: noticed, and nothing is lost."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Event
from typing import Any

import numpy as np
import pytest

from edgeagent.stt import KeywordSpotter, SphinxOptions, SphinxTranscriber, SpottedPhrase, SpotterOptions, WorkerEvent
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


def test_an_utterance_whose_process_is_lost_twice_is_known(
    transcriber: SphinxTranscriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = transcriber._models["app"]
    killed: set[int] = set()
    hear_again = model.hear_again

    def killed_while_it_hears(*heard: Any) -> None:
        hear_again(*heard)
        if len(killed) < 2:
            kill()

    def kill() -> None:
        if (pid := model.worker.pid) is not None:
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)

    monkeypatch.setattr(model, "hear_again", killed_while_it_hears)
    transcriber.begin()
    transcriber.feed(said("go to the kitchen", "slt"))
    kill()
    assert transcriber.finish(Event()).text == "go to the kitchen"
    assert len(killed) == 2


def test_who_stops_does_not_wait_for_a_process_that_comes_back(
    transcriber: SphinxTranscriber, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeagent.stt.worker._PAUSES_S", (LIMIT_S,))
    transcriber.begin()
    transcriber.feed(said("go to the kitchen", "slt"))
    assert transcriber.pids[0] is not None
    os.kill(transcriber.pids[0], signal.SIGKILL)
    next_of(told, "died")
    stopped = Event()
    threading.Timer(0.2, stopped.set).start()
    begun_s = time.monotonic()
    assert not transcriber.finish(stopped).final
    assert time.monotonic() - begun_s < 3.0


def test_a_recogniser_whose_files_have_gone_is_back(transcriber: SphinxTranscriber, told: Told, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path)
    assert transcriber.pids[0] is not None
    os.kill(transcriber.pids[0], signal.SIGKILL)
    while next_of(told, "started").restarts != 1:
        pass
    transcriber.begin()
    transcriber.feed(said("go to the kitchen", "slt"))
    assert transcriber.finish(Event()).text == "go to the kitchen"


def test_a_spotter_whose_files_have_gone_is_back(told: Told) -> None:
    heard: Queue[SpottedPhrase] = Queue()
    spotter = KeywordSpotter({"stop": None}, heard.put, SpotterOptions(on_event=told.put))
    try:
        next_of(told, "started")
        assert spotter._folder is not None
        shutil.rmtree(spotter._folder.name)
        assert spotter.pid is not None
        os.kill(spotter.pid, signal.SIGKILL)
        next_of(told, "started")
        sound = said("stop", "slt")
        for number, block in enumerate(blocks(sound)):
            spotter.feed(block, number / 100)
        assert heard.get(timeout=LIMIT_S).phrase == "stop"
        folder = Path(spotter._folder.name)
        assert folder.is_dir()
    finally:
        spotter.close()
    assert not folder.exists()


def test_ctrl_c_while_a_recogniser_starts_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("edgeagent.stt.worker.Worker.wait_ready", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SphinxTranscriber(PHRASES, SphinxOptions(cache=tmp_path))
    with pytest.raises(KeyboardInterrupt):
        KeywordSpotter({"stop": None}, lambda keyword: None)
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("ears-")]


def test_the_end_of_a_long_utterance_is_no_hang(told: Told, tmp_path: Path) -> None:
    transcriber = SphinxTranscriber(PHRASES, SphinxOptions(cache=tmp_path, on_event=told.put, hang_s=0.2))
    try:
        transcriber.begin()
        for phrase in PHRASES[:5]:
            transcriber.feed(said(phrase, "slt"))
        assert transcriber.wait_idle(LIMIT_S)  # the passes over all of it are left
        assert "go to the kitchen" in transcriber.finish(Event()).raw
        assert [told.get().kind for _ in range(told.qsize())] == ["started", "started"]
    finally:
        transcriber.close()


def test_a_stop_word_that_was_said_to_a_stopped_spotter_is_heard_by_the_next(told: Told) -> None:
    heard: Queue[SpottedPhrase] = Queue()
    spotter = KeywordSpotter({"stop": None}, heard.put, SpotterOptions(on_event=told.put))
    try:
        next_of(told, "started")
        assert spotter.pid is not None
        os.kill(spotter.pid, signal.SIGSTOP)
        sound = said("stop", "slt")
        for number, block in enumerate(blocks(sound)):
            spotter.feed(block, number / 100)
        assert "state T" in next_of(told, "hung").reason
        next_of(told, "started")
        spotter.feed(sound[-160:], len(sound) / RATE_HZ)
        assert heard.get(timeout=LIMIT_S).phrase == "stop"
    finally:
        spotter.close()


def test_a_word_right_before_a_gap_in_the_sound_is_heard(told: Told) -> None:
    heard: Queue[SpottedPhrase] = Queue()
    spotter = KeywordSpotter({"stop": None}, heard.put, SpotterOptions(on_event=told.put))
    try:
        sound = said("stop", "slt")
        last = int(np.flatnonzero(np.abs(sound) > 0.02 * np.abs(sound).max())[-1])
        for number, block in enumerate(blocks(sound[: last // 160 * 160])):
            spotter.feed(block, number / 100)
        assert spotter.wait_idle(LIMIT_S)
        spotter.feed(sound[:160], 60.0)
        assert heard.get(timeout=LIMIT_S).phrase == "stop"
    finally:
        spotter.close()
