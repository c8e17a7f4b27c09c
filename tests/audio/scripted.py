"""Voice activity by script: sound that says itself what is speech, and what an endpointer finds in it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from edgeagent.audio import (
    FRAME,
    RATE_HZ,
    Endpointer,
    EndpointSettings,
    HardEnd,
    Samples,
    SpeechStarted,
    VoiceActivity,
    VoiceEvent,
    VoiceFrame,
)


class Scripted(VoiceActivity):
    """Speech where the sample itself says so: above 0.5. Any other part of it is as quiet as it says."""

    def __init__(self) -> None:
        self._waiting = np.zeros(0, np.float32)
        self._count = 0

    def reset(self) -> None:
        self.__init__()

    def process(self, block: Samples) -> list[VoiceFrame]:
        made = []
        for frame in self._frames(block):
            self._count += FRAME
            level_db = 20 * np.log10(np.abs(frame).mean() + 1e-4)
            made.append(VoiceFrame(self._count, float(frame.mean() > 0.5), level_db, -20.0))
        return made


def stream(*parts: int) -> Samples:
    """Milliseconds of silence and of speech in turn, beginning with silence; every sample is another."""
    made = np.concatenate([np.full(ms * 16, 0.6 * (i % 2), np.float32) for i, ms in enumerate(parts)])
    return made + np.linspace(0, 0.1, len(made), dtype=np.float32)


def run(
    sound: Samples, endpointer: Endpointer | None = None, block: int = FRAME, finish: bool = False, **fields: Any
) -> list[VoiceEvent]:
    endpointer = endpointer or Endpointer(EndpointSettings(**fields), activity=Scripted())
    found = [e for at in range(0, len(sound), block) for e in endpointer.feed(sound[at : at + block])]
    return found + (endpointer.finish() if finish else [])


def kinds(found: list[VoiceEvent]) -> list[type]:
    return [type(event) for event in found]


def samples_are_the_streams(found: list[VoiceEvent], sound: Samples) -> None:
    for event in found:
        if isinstance(event, HardEnd | SpeechStarted):
            begin = round(event.begin_s * RATE_HZ)
            samples = event.samples if isinstance(event, HardEnd) else event.pre_roll
            np.testing.assert_array_equal(samples, sound[begin : begin + len(samples)])
    hard = [e for e in found if isinstance(e, HardEnd)]
    for before, after in itertools.pairwise(hard):
        end = round(before.begin_s * RATE_HZ) + len(before.samples)
        assert round(after.begin_s * RATE_HZ) >= end
        if before.cut:
            assert round(after.begin_s * RATE_HZ) == end
