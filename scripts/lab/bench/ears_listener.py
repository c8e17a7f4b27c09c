"""The process that listens for ``scripts/bench ears``, because PortAudio finds its devices once, by the environment.

Prints a line of JSON for what the ears tell, with the monotonic clock that all processes of a machine share; lines of
JSON on stdin have it speak and tell its state.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import sys
import threading
import time
from typing import Any, Final

from bench.mouth_voices import SENTENCES

from edgeagent.app import Vocabulary, build_ears, house_heard
from edgeagent.audio import PlaybackQueue, PortAudioDevice
from edgeagent.config import Config
from edgeagent.stt import HearingEvent, Level, PartialTranscript
from edgeagent.tts import Mouth, Speech, make_speaker

_VOICE: Final = "en"
_MORE: Final = 2
_lock: Final = threading.Lock()


def tell(kind: str, **what: Any) -> None:
    """A line for the process that measures."""
    line = json.dumps({"kind": kind, "now_s": time.monotonic(), **what})
    with _lock:
        print(line, flush=True)


def heard(event: HearingEvent) -> None:
    """What the ears tell, on their threads."""
    if not isinstance(event, (Level, PartialTranscript)):
        tell(type(event).__name__.lower(), **dataclasses.asdict(event))


def main() -> None:
    """Listens until stdin ends."""
    logging.disable(logging.CRITICAL)  # what they warn of is told as trouble
    device = PortAudioDevice(ends=("input", "output"), latency_s=float(sys.argv[1]) / 1000)
    playback = PlaybackQueue(device.output_rate_hz or 48_000)
    vocabulary = Vocabulary(phrases=house_heard())
    ears = build_ears(Config(), device, vocabulary, heard)
    speech: Speech | None = None
    with Mouth(make_speaker(_VOICE), playback) as mouth:
        ears.open_sound(playback.fill)
        tell("ready")
        for line in sys.stdin:
            asked = json.loads(line)
            match asked["op"]:
                case "speak":  # each sentence takes longer than a second
                    speech = mouth.begin()
                    for number in range(round(asked["seconds"]) + _MORE):
                        speech.feed(SENTENCES[number % len(SENTENCES)] + " ")
                case "hush":
                    mouth.flush()
                case "state":
                    tell(
                        "state",
                        under=device.xruns.under,
                        over=device.xruns.over,
                        starved=0 if speech is None else speech.utterance.starved,
                        removed_db=ears.sound.echo.removed_db,
                        latency_ms=device.latency_s * 1e3,
                    )
        mouth.flush()
    ears.close()


if __name__ == "__main__":
    main()
