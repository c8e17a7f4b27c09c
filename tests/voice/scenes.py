"""What the tests of a conversation on the stage share: what it says, how it is set, and ways to wait and look."""

from __future__ import annotations

import threading
from collections.abc import Callable

from edgeagent import Agent
from edgeagent.robot import SafetyLatch
from edgeagent.stt import RecognisedText, hearing
from edgeagent.voice import DialogueSettings, State

from .stage import Stage

LIMIT_S = 10.0
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
QUIET = DialogueSettings(chimes=False)


def quiet(**changes: object) -> DialogueSettings:
    return DialogueSettings(chimes=False, **changes)  # type: ignore[arg-type]


def latched() -> Agent:
    return Agent("robi", latch=SafetyLatch())


def latch(stage: Stage) -> str:
    return str(stage.dialogue.latch.state)


def count_to_sixteen(stage: Stage) -> None:
    stage.say("count to sixteen")
    stage.pass_until(lambda: stage.state is State.SPEAKING)
    stage.pass_s(1.0)


def transcribed(stage: Stage, utterance: int, text: str, at_s: float) -> None:
    """The words of an utterance come late."""
    stage.tell(hearing.FinalTranscript(utterance, RecognisedText(text, confidence=0.9), at_s, stage.now_s - at_s))


def late(stage: Stage, *, cut: bool = False) -> tuple[int, float]:
    """Somebody has spoken, and speaks again before the words are known."""
    stage.begin()
    stage.pass_s(0.8)
    utterance, ended_s = stage.ears.utterance, stage.now_s
    if not cut:
        stage.tell(hearing.SoftEnd(utterance, ended_s))
        stage.pass_s(0.4)
    stage.tell(hearing.HardEnd(utterance, ended_s, cut=cut))
    stage.begin(0.0)
    stage.pass_s(0.2)
    return utterance, ended_s


def until(condition: Callable[[], object]) -> bool:
    """Waits for something that another thread brings about."""
    waiting = threading.Event()
    for _ in range(int(LIMIT_S / 0.005)):
        if condition():
            return True
        waiting.wait(0.005)
    return False


class Waiting:
    """A model that answers when it is allowed to, or stopped."""

    def __init__(self, inner: object, go: threading.Event) -> None:
        self._inner, self._go = inner, go
        self.asked = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def stream(self, request: object, stop_event: threading.Event):  # type: ignore[no-untyped-def]
        self.asked += 1
        while not self._go.wait(0.01):
            if stop_event.is_set():
                break
        return self._inner.stream(request, stop_event)  # type: ignore[attr-defined]
