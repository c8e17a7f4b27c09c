"""One recogniser behind the product's own ears in a simulated room, for ``scripts/bench people``.

Echo canceller, noise suppression, levels, voice activity and endpoints are the shipped ones, in step with the room's
clock. Each trial has a room and ears of its own; the recogniser is built once a process. Judges nothing.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Event
from typing import Any, Final

from bench.people_trials import Trial

from edgeagent.app import ears_settings, make_transcriber, vocabulary
from edgeagent.audio import Samples
from edgeagent.config import Config
from edgeagent.stt import (
    RATE_HZ,
    Ears,
    FinalTranscript,
    HearingEvent,
    RecognisedText,
    SpeechResumed,
    Transcriber,
    Trouble,
)
from edgeagent.testing import Room

RECOGNISERS: Final[dict[str, dict[str, Any]]] = {
    "sphinx": {"engine": "sphinx"},
    "tiny.en": {"engine": "whisper", "model": "tiny.en"},
    "ships": {},
}
"""Settings of the ears, by the recogniser's name. What ships is what no setting chooses."""
LEAD_S: Final = 2.0
"""Seconds of the room before somebody speaks: the noise suppression learns the noise."""
_TAIL_S: Final = 1.5
_SETTLE_S: Final = 60.0


class Lent:
    """A recogniser that the ears may close without ending it. As ``Transcriber``.

    Says nothing of what a decode costs, so the ears always decode at the soft end, however busy the machine is.
    """

    def __init__(self, transcriber: Transcriber) -> None:
        self._transcriber = transcriber

    @property
    def name(self) -> str:
        return self._transcriber.name

    def begin(self) -> None:
        self._transcriber.begin()

    def feed(self, samples: Samples) -> RecognisedText | None:
        return self._transcriber.feed(samples)

    def finish(self, stop_event: Event) -> RecognisedText:
        return self._transcriber.finish(stop_event)

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        wait = getattr(self._transcriber, "wait_idle", None)
        return wait is None or bool(wait(timeout_s))

    def close(self) -> None:
        """Leaves it open for the next trial."""


def heard(recogniser: str, trial: Trial) -> list[tuple[str, str, bool]] | None:
    """Transcripts of a trial, an utterance each: the text, the engine's own words, and if it was understood.

    Returns:
        None where the machine was too busy to decode what was heard.

    Raises:
        EdgeAgentError: The recogniser or the voice can't be used.
        RecordingsError: The recording was not fetched.
    """
    room = Room(trial.condition.settings(trial.room_seed, rate_hz=RATE_HZ))
    trial.condition.with_noise(room, trial.seed)
    transcripts: dict[int, RecognisedText] = {}
    lost = False

    def take(event: HearingEvent) -> None:
        nonlocal lost
        if isinstance(event, FinalTranscript):
            transcripts[event.utterance] = event.transcript
        elif isinstance(event, SpeechResumed):
            transcripts.pop(event.utterance, None)
        elif isinstance(event, Trouble) and event.lost and not event.over and not event.source:
            lost = True  # a process that is started again, which has a source, hears the utterance again

    config, transcriber = _recogniser(recogniser)
    ears = Ears(room, Lent(transcriber), take, settings=ears_settings(config, in_step=True))
    try:
        ears.open_sound()
        said = room.say(trial.sound(), RATE_HZ, LEAD_S)
        room.run(said.end_s + _TAIL_S)
        ears.end_now()
        ears.settle(_SETTLE_S)
    finally:
        ears.close()
    return None if lost else [(each.text, each.raw, each.understood) for _, each in sorted(transcripts.items())]


@lru_cache
def _recogniser(name: str) -> tuple[Config, Transcriber]:
    """Built once, and left to the end of the process."""
    config = Config(ears=dict(RECOGNISERS[name]))
    return config, make_transcriber(config, vocabulary(config))
