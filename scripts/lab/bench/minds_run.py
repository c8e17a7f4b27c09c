"""Asks one model the cases, as ``edgeagent chat --app`` would build the agent, and keeps what came of each.

A process of its own: ``python -m bench.minds_run MODEL KEPT CASE...``. What is said aloud goes through the voice's
own path, up to the text that a voice is given. Judges nothing.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from threading import Event
from typing import Any, Final

from bench.kept import Kept
from bench.minds_cases import Case, app_file, cases

from edgeagent import events
from edgeagent.app import App, build
from edgeagent.audio import PlaybackQueue
from edgeagent.config import load_config
from edgeagent.tts import Mouth, SpeechChunk
from edgeagent.voice import SpokenReply

_RATE_HZ: Final = 16_000
_STARTED: Final = ("ok", "error")
"""Statuses of calls whose body ran."""


class RecognisedText:
    """A voice that makes no sound and remembers what it should say."""

    name = "transcript"
    rate_hz = _RATE_HZ
    language = "en-us"

    def __init__(self) -> None:
        self.said: list[str] = []

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """Remembers a piece of a reply."""
        self.said.append(text)
        yield from ()

    def close(self) -> None:
        """Nothing is open."""


def ask(app: App, case: Case) -> dict[str, Any]:
    """Asks one case in a session of its own.

    Returns:
        ``calls`` (name, arguments, status, turn), ``reply``, ``shown`` (all text that streamed), ``spoken`` (pieces),
        ``raw`` (the model's replies), ``seconds``, and ``error`` if the run failed.
    """
    app.renew()
    voice = RecognisedText()
    begun_s = time.perf_counter()
    with Mouth(voice, PlaybackQueue(_RATE_HZ)) as mouth:
        reply = SpokenReply(mouth, spoken=app.session.context.spoken)
        unsubscribe = app.session.subscribe(reply)
        handle = app.session.start(case.said)
        log = list(handle.events())
        handle.wait()
        unsubscribe()
        told = "" if handle.error else handle.result().reply
        reply.conclude(told)
        mouth.settle()
    ended = [event for event in log if isinstance(event, events.ToolExecutionEnd)]
    asked = [call.id for event in log if isinstance(event, events.MessageEnd) for call in event.message.tool_calls]
    ended.sort(key=lambda event: asked.index(event.call.id))  # what runs side by side ends in any order
    shown = [event.delta for event in log if isinstance(event, events.MessageUpdate) and event.channel == "text"]
    readings = [event.reading for event in log if isinstance(event, events.MessageEnd) and event.reading is not None]
    return {
        "calls": [(event.call.name, event.call.arguments, event.result.status, event.turn) for event in ended],
        "reply": told,
        "shown": "".join(shown),
        "spoken": voice.said,
        "raw": [reading.raw for reading in readings],
        "opener_probability": readings[0].opener_probability if readings else None,
        "seconds": time.perf_counter() - begun_s,
        "error": str(handle.error) if handle.error else None,
    }


def made(answer: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The calls of an answer whose bodies ran, in their order."""
    return [(name, arguments) for name, arguments, status, _ in answer["calls"] if status in _STARTED]


def main(arguments: Sequence[str]) -> None:
    """Asks the cases, robot by robot, so that a robot's tools are evaluated once."""
    model, file, *names = arguments
    kept = Kept(Path(file))
    chosen = [case for case in cases() if case.name in names]
    for robot, asked in groupby(chosen, lambda case: case.robot):
        settings = load_config(Path(os.devnull), environ={}, flags={"model": model, "app": app_file(robot)})
        with build(settings) as app:
            app.load()
            for case in asked:
                kept.put(case.name, ask(app, case))
                print(case.name, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
