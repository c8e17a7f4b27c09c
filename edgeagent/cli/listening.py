"""Shows what the ears hear, until the file ends or somebody presses Ctrl-C.

The ears' threads only put what they tell into a queue; the main thread takes it out, decides what is certain, shows it
and keeps it.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from edgeagent import events
from edgeagent.app import ears_setup as parts
from edgeagent.audio.files import FileDevice
from edgeagent.cli import streams
from edgeagent.cli.listen_view import ListenJson, ListenLines, MeterView, View
from edgeagent.cli.utterances import Utterances
from edgeagent.config import Config
from edgeagent.stt.ears import Ears
from edgeagent.stt.hearing import HearingEvent, Level
from edgeagent.stt.recordings import Recordings

_SETTLE_S: Final = 10.0
_JOIN_S: Final = 5.0

Item = tuple[float, HearingEvent | events.Device]


def listen(config: Config, *, json: bool, record: Path | None, verbose: bool) -> None:
    """Listens to a microphone until Ctrl-C, to a file until it ends.

    Raises:
        AudioError: The microphone or a recogniser can't be used.
        ConfigError: A setting is wrong, or nothing can be kept in ``record``.
    """
    parts.check(config)
    streams.told_by_events("edgeagent.stt", "edgeagent.audio")
    queue: SimpleQueue[Item | None] = SimpleQueue()

    def put(item: HearingEvent | events.Device) -> None:
        queue.put((time.monotonic(), item))

    recordings = None if record is None else Recordings(record, streams.warn)
    device = parts.open_device(
        config,
        ends=("input",),
        paced=False,
        on_state=lambda state, told: put(events.Device(t=time.monotonic(), state=state, name=told)),
    )
    view = _view(json, verbose)
    with streams.patience("getting the ears ready; the first time, their language model is built …"):
        vocabulary = parts.vocabulary(config)
        ears = parts.build_ears(config, device, vocabulary, put, in_step=isinstance(device, FileDevice))
    ending: threading.Thread | None = None
    try:
        utterances = Utterances(view, parts.stop_words(config), recordings)
        if isinstance(device, FileDevice):
            ending = _end_with(device, ears, queue)
        elif sys.stderr.isatty():
            streams.tell(f"listening to {device.name}; Ctrl-C ends", "dim")
        with streams.own_screen() if isinstance(view, MeterView) else nullcontext():
            ears.open_sound()
            while (item := queue.get()) is not None:
                told_s, event = item
                if isinstance(event, Level):
                    view.level(event)
                else:
                    utterances.take(told_s, event)
    finally:
        try:
            view.close()
        finally:
            ears.close()
            if ending is not None and isinstance(device, FileDevice):  # it holds the ears, also where the file goes on
                device.ended.set()
                ending.join(_JOIN_S)


def _view(json: bool, verbose: bool) -> View:
    if json:
        return ListenJson()
    if streams.animated(streams.stdout()):
        return MeterView()
    return ListenLines(verbose=verbose)


def _end_with(device: FileDevice, ears: Ears, queue: SimpleQueue[Item | None]) -> threading.Thread:
    """Has the queue end when the file has ended, and everything of it was told; returns the thread that sees to it."""

    def wait() -> None:
        device.ended.wait()
        ears.end_now()
        while not ears.settle(_SETTLE_S):
            pass
        queue.put(None)

    thread = threading.Thread(target=wait, name="listen-end", daemon=True)
    thread.start()
    return thread
