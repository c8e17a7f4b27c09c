"""``edgeagent listen``: what people say, as text, while they say it, until the file ends or somebody presses Ctrl-C.

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
from typing import TYPE_CHECKING, Annotated, Final

import typer

from edgeagent.cli import exits, options, streams
from edgeagent.cli.help import epilog
from edgeagent.stop import JOIN_S

if TYPE_CHECKING:
    from edgeagent import events
    from edgeagent.audio.files import FileDevice
    from edgeagent.cli.listen_view import View
    from edgeagent.config import Config
    from edgeagent.pii import PII
    from edgeagent.stt.ears import Ears
    from edgeagent.stt.hearing import HearingEvent

    Item = tuple[float, HearingEvent | events.Device]

EPILOG: Final = epilog(
    {
        "edgeagent listen": "the microphone, until Ctrl-C",
        "edgeagent listen --input talk.wav": "a file, as fast as it can be heard",
        "edgeagent listen --json > heard.jsonl": "every event of the voice as a line of JSON",
        "edgeagent listen --record people": "keeps each utterance and its text, to measure your own people's voices",
        "edgeagent listen --app my_robot.py": "with the phrases of your own robot",
        "edgeagent listen --engine whisper --model tiny.en": "with faster-whisper",
    },
    exit_code="0 the file has ended · 2 wrong usage or settings · 3 the app's model · 4 the microphone or the "
    "recogniser · 130 Ctrl-C",
)
_SETTLE_S: Final = 10.0


def listen(
    input: options.Input = None,  # noqa: A002 - the name of the option
    json: Annotated[bool, typer.Option("--json", help="The events of the voice, a line of JSON each.")] = False,
    record: Annotated[
        Path | None,
        typer.Option("--record", metavar="DIR", help="Keep every utterance as a WAV file, and its text beside it."),
    ] = None,
    engine: options.Engine = None,
    model: options.WhisperModel = None,
    language: Annotated[
        str | None, typer.Option("--language", metavar="CODE", help="Of whisper: en, de … or auto. [dim](en)[/]")
    ] = None,
    app: options.App = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell how long each transcript took, and from which engine it is.")
    ] = False,
    log_level: options.LogLevel = None,
    config: options.ConfigFile = None,
) -> None:
    """Listen, and show what is heard. The phrases of the app make its commands likelier than other words."""
    with exits.guarded():
        chosen = options.settings(
            config,
            app=app,
            audio__input=input,
            ears__engine=engine,
            ears__model=model,
            ears__language=language,
        )
        _listen(chosen, json=json, record=record, verbose=verbose)


def _listen(config: Config, *, json: bool, record: Path | None, verbose: bool) -> None:
    """Listens to a microphone until Ctrl-C, to a file until it ends.

    Raises:
        AudioError: The microphone or a recogniser can't be used.
        ConfigError: A setting is wrong, or nothing can be kept in ``record``.
    """
    from edgeagent import events
    from edgeagent.app import ears_setup as parts
    from edgeagent.audio.files import FileDevice
    from edgeagent.cli.listen_view import MeterView, Utterances
    from edgeagent.pii import PII
    from edgeagent.stt.hearing import Level
    from edgeagent.stt.recordings import Recordings

    parts.check(config)
    streams.told_by_events()
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
    view = _view(PII(**config.pii), json=json, verbose=verbose)
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
                if not isinstance(event, Level):
                    utterances.take(told_s, event)
                elif isinstance(view, MeterView):
                    view.level(event)
    finally:
        try:
            if isinstance(view, MeterView):
                view.close()
        finally:
            ears.close()
            if ending is not None and isinstance(device, FileDevice):  # it holds the ears, also where the file goes on
                device.ended.set()
                ending.join(JOIN_S)


def _view(pii: PII, *, json: bool, verbose: bool) -> View:
    from edgeagent.cli.activity import JsonView
    from edgeagent.cli.listen_view import ListenLines, MeterView

    if json:
        return JsonView(pii)
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
