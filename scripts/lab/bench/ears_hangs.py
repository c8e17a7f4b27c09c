"""Recognisers' processes that are stopped and killed: how soon another one is ready."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from queue import Empty, Queue
from typing import Final

import numpy as np
from bench.report import Rows

from edgeagent.app import house_heard
from edgeagent.stt import (
    RATE_HZ,
    STOP_WORDS,
    KeywordSpotter,
    SphinxOptions,
    SphinxTranscriber,
    SpotterOptions,
    WorkerEvent,
)

NAMES: Final = ("app's model", "general model", "key phrases")
_BLOCK: Final = RATE_HZ // 50
_FLOOR: Final = 1e-3
_LIMIT_S: Final = 30.0
_SETTLED_S: Final = 11.0
"""A process that has served for ten seconds is started again at once."""


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target; and what does not work. Sound goes on meanwhile."""
    told: Queue[tuple[float, WorkerEvent]] = Queue()

    def on_event(event: WorkerEvent) -> None:
        told.put((time.monotonic(), event))

    made: Rows = []
    wrong: list[str] = []
    stop = threading.Event()
    transcriber = SphinxTranscriber(house_heard(), SphinxOptions(on_event=on_event))
    spotter = KeywordSpotter(dict.fromkeys(STOP_WORDS), lambda keyword: None, SpotterOptions(on_event=on_event))

    def process(index: int) -> int | None:
        return [*transcriber.pids, spotter.pid][index]

    def feed() -> None:
        random = np.random.default_rng(0)
        transcriber.begin()
        while not stop.wait(_BLOCK / RATE_HZ):
            block = (random.standard_normal(_BLOCK) * _FLOOR).astype(np.float32)
            transcriber.feed(block)
            spotter.feed(block)

    feeding = threading.Thread(target=feed, name="microphone")
    feeding.start()
    try:
        for what, number in (("stopped", signal.SIGSTOP), ("killed", signal.SIGKILL)):
            after_s: dict[str, list[float]] = {name: [] for name in NAMES}
            for _ in range(1 if quick else 5):
                stop.wait(_SETTLED_S)  # who is lost again sooner than that gets a pause, and is measured below
                for index, name in enumerate(NAMES):
                    after_s[name].append(_back_s(lambda i=index: process(i), number, told))  # type: ignore[misc]
            for name, each_s in after_s.items():
                made.append((f"process of the {name} is {what}: until the next one is ready", _range(each_s), "1 s"))
                if max(each_s) == float("inf"):
                    wrong.append(f"the process of the {name} was {what}, and none came back")
        again_s = [_back_s(lambda: process(0), signal.SIGKILL, told) for _ in range(2 if quick else 6)]
        made.append((f"process of the {NAMES[0]} is killed {len(again_s)} times in a row", _range(again_s), ""))
    finally:
        stop.set()
        feeding.join()
        transcriber.close()
        spotter.close()
    return made, wrong


def _range(seconds: list[float]) -> str:
    return f"{min(seconds):.2f} to {max(seconds):.2f} s"


def _back_s(pid: Callable[[], int | None], number: signal.Signals, told: Queue[tuple[float, WorkerEvent]]) -> float:
    """From a signal to the next process, in seconds; infinity if it does not come."""
    while not told.empty():
        told.get()
    process = pid()
    if process is None:
        return float("inf")
    begun_s = time.monotonic()
    os.kill(process, number)
    while True:
        try:
            at_s, event = told.get(timeout=_LIMIT_S)
        except Empty:
            return float("inf")
        if event.kind == "started":
            return at_s - begun_s
