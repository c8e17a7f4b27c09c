"""Ears over a simulated room, for tests: what they tell, in order, with the clock of the room."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np

from edgeagent.audio import Samples
from edgeagent.stt import RATE_HZ, Ears, EarsSettings, HearingEvent, Level, RecognisedText
from edgeagent.testing import Room, RoomSettings, synthesised

LIMIT_S = 30.0
STEP_S = 0.01


class Kept:
    """A recogniser or spotter that several tests share: the ears' ``close`` leaves it open."""

    def __init__(self, shared: Any) -> None:
        object.__setattr__(self, "shared", shared)

    def wait_idle(self, timeout_s: float = 10.0) -> bool:
        """Stands here by name, because ``isinstance`` with a protocol does not ask ``__getattr__`` from 3.12 on."""
        idle: bool = self.shared.wait_idle(timeout_s)
        return idle

    def __getattr__(self, name: str) -> Any:
        return getattr(self.shared, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.shared, name, value)

    def close(self) -> None:
        self.shared.on_keyword = lambda keyword: None


class Notes:
    """A transcriber that keeps what it is given; what it says is how many seconds it has heard.

    Attributes:
        utterances: The sound of each, from ``begin`` to ``finish`` or the next ``begin``; in blocks.
        finishing: Called at ``finish`` with the stop event; what it returns or raises is the result.
    """

    name = "notes"

    def __init__(self) -> None:
        self.utterances: list[list[Samples]] = []
        self.finished: list[Samples] = []
        self.finishing: Any = None
        self.closed = 0

    def begin(self) -> None:
        self.utterances.append([])

    def feed(self, samples: Samples) -> RecognisedText | None:
        self.utterances[-1].append(samples.copy())
        return None

    def finish(self, stop_event: Event) -> RecognisedText:
        heard = np.concatenate(self.utterances[-1])
        self.finished.append(heard)
        if self.finishing is not None and (result := self.finishing(stop_event)) is not None:
            return result
        return RecognisedText(f"{len(heard) / RATE_HZ:.2f} s", engine=self.name)

    def close(self) -> None:
        self.closed += 1


class Foresight(Notes):
    """Tells how many seconds it has heard before the end, too.

    Attributes:
        expected: Every time that the end was expected, or was not after all: which, and the seconds that were heard.
    """

    doubted: Sequence[str] = ()

    def __init__(self) -> None:
        super().__init__()
        self.expected: list[tuple[bool, float]] = []

    def expect_end(self, expected: bool) -> None:
        self.expected.append((expected, sum(map(len, self.utterances[-1])) / RATE_HZ))

    def look_early(self, told: Callable[[RecognisedText], object]) -> None:
        seconds = sum(map(len, self.utterances[-1])) / RATE_HZ
        told(RecognisedText(f"{seconds:.2f} s so far", understood=False, engine=self.name))


class Listening:
    """Ears in a room. ``told`` has everything but the levels, each with the room's time."""

    def __init__(self, transcriber: Any, *, spotter: Any = None, room: Room | None = None, **settings: Any) -> None:
        self.room = room or Room(RoomSettings(rate_hz=RATE_HZ))
        self.told: list[tuple[float, HearingEvent]] = []
        self.levels: list[Level] = []
        self.ears = Ears(self.room, transcriber, self._take, spotter=spotter, settings=EarsSettings(**settings))

    def _take(self, event: HearingEvent) -> None:
        if isinstance(event, Level):
            self.levels.append(event)
        else:
            self.told.append((round(self.room.now(), 3), event))

    def say(self, text: str, at_s: float, voice: str = "slt") -> float:
        """Returns the end of speech, in seconds."""
        sound = synthesised(text, voice, RATE_HZ)
        self.room.say(sound, RATE_HZ, at_s)
        return at_s + len(sound) / RATE_HZ

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / STEP_S)):
            self.room.run(STEP_S)
            assert self.ears.settle(LIMIT_S)

    def of(self, kind: type) -> list[Any]:
        return [event for _, event in self.told if isinstance(event, kind)]

    def kinds(self, *left_out: type) -> list[str]:
        return [type(event).__name__ for _, event in self.told if not isinstance(event, left_out)]


@contextmanager
def listening(transcriber: Any, **options: Any) -> Iterator[Listening]:
    """Ears that are open, and closed at the end."""
    fill = options.pop("fill", None)
    made = Listening(transcriber, **options)
    made.ears.open_sound(fill)
    try:
        yield made
    finally:
        made.ears.close()
