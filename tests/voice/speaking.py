"""A mouth with a real voice in the simulated room, whose clock goes when it is told to: the same words every time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self

import numpy as np

from edgeagent.audio import PlaybackQueue
from edgeagent.errors import SpeechError
from edgeagent.testing import Room, RoomSettings
from edgeagent.tts import EspeakSpeaker, Mouth, Speaker, SpeechChunk
from edgeagent.voice import SpeechHandle, SpeechQueue

RATE_HZ = 16_000
LIMIT_S = 20
TICK_S = 0.05
LOUD = 0.003
"""-50 dBFS."""


class ListenedTo:
    """espeak-ng, with the sentences that it was given, and made to fail in the middle of the next one."""

    name = "listened to"

    def __init__(self) -> None:
        self._voice = EspeakSpeaker()
        self.rate_hz = self._voice.rate_hz
        self.spoken: list[str] = []
        self.fails_after_s: float | None = None

    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        self.spoken.append(text.strip())
        done_s = 0.0
        for chunk in self._voice.speak(text, stop_event):
            yield chunk
            done_s += len(chunk.samples) / chunk.rate_hz
            if self.fails_after_s is not None and done_s >= self.fails_after_s:
                raise SpeechError("the voice has lost its tongue")

    def close(self) -> None:
        self._voice.close()


class Stage:
    """A simulated room whose loudspeaker is the robot's, and the robot's speech queue. A context manager."""

    def __init__(self, *, limit: int = 100, voice: Speaker | None = None) -> None:
        self.room = Room(RoomSettings(rate_hz=RATE_HZ))
        self.voice = ListenedTo()
        self.playback = PlaybackQueue(RATE_HZ)
        self.mouth = Mouth(voice or self.voice, self.playback)
        self.queue = SpeechQueue(self.mouth, limit=limit)
        self.room.start(fill=self.playback.fill)
        self.may_begin = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.queue.close()
        self.mouth.close()

    @property
    def now_s(self) -> float:
        return self.room.now()

    def tick(self) -> None:
        assert self.mouth.settle(LIMIT_S)
        self.queue.tick(self.room.now(), may_begin=self.may_begin)
        assert self.mouth.settle(LIMIT_S)

    def run(self, seconds: float) -> None:
        """Lets time pass, with its ticks."""
        for _ in range(round(seconds / TICK_S)):
            self.room.run(TICK_S)
            self.tick()

    def run_until_over(self, *handles: SpeechHandle, limit_s: float = 60) -> None:
        end_s = self.now_s + limit_s
        while not all(handle.done for handle in handles):
            assert self.now_s < end_s, "not said in time"
            self.run(TICK_S)

    def is_loud(self, seconds: float) -> bool:
        """Lets time pass, and says whether the loudspeaker was heard in it."""
        begin = self.room.recorded.loudspeaker.size
        self.run(seconds)
        return bool(np.abs(self.room.recorded.loudspeaker[begin:]).max() > LOUD)
