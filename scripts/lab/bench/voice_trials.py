"""Conversations in the simulated room, on its clock, and what happened in them: for the counts of the voice.

Real ears, mouth, robot and conversation; where it does not matter what the model says, a script says it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from bench.report import teller

from edgeagent.config import Config
from edgeagent.llm import LLM, LLMRequest
from edgeagent.messages import Message
from edgeagent.models import is_here, voices
from edgeagent.testing import NATURAL_VOICES, Rehearsal, RoomSettings, ScriptedLLM
from edgeagent.voice import State

tell: Final = teller("voice")
Once = Callable[[int, Callable[[int], Any]], Any]
"""Does a trial by its number, unless its result is kept."""

VOICES: Final = ("slt", "rms", "awb")
ROOM: Final = RoomSettings(echo_gain_db=-6, record=False)
LIMIT_S: Final = 40.0
_REPLIES: Final = 10_000
_CALM_S: Final = 0.4


def natural_voices() -> list[str]:
    """Those of the natural voices that are on this machine."""
    return [voice for voice in NATURAL_VOICES if is_here(voices()[voice])]


@dataclass(slots=True)
class Log:
    """What happened since somebody last looked."""

    events: list[Any] = field(default_factory=list)

    def of(self, kind: str, **fields: object) -> list[Any]:
        return [
            event
            for event in self.events
            if event.kind == kind and all(getattr(event, name) == value for name, value in fields.items())
        ]

    def brief(self) -> str:
        """One line, for who wants to know why."""
        heard = [
            f"heard {event.text!r}" if event.understood else f"not understood {event.text!r}"
            for event in self.of("transcript")
        ]
        spotted = [f"{event.phrase} {event.confirmed}" for event in self.of("keyword")]
        return "; ".join([*heard, *spotted])


class _Script(ScriptedLLM):
    """Says what a function says in every run. What it would do is another model's to tell, where there is one."""

    def __init__(self, reply: Callable[[LLMRequest], Any], foresees: LLM | None) -> None:
        super().__init__(*[reply] * _REPLIES)
        self._foresees = foresees

    def complete(self, request: LLMRequest, stop_event: Event) -> Message:
        if self._foresees is not None:
            return self._foresees.complete(request, stop_event)
        return super().complete(request, stop_event)


@contextmanager
def talking(
    room: RoomSettings = ROOM,
    reply: Callable[[LLMRequest], Any] = lambda request: "Okay.",
    *,
    foresees: LLM | None = None,
    speed: float = 1.0,
    ears: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Iterator[tuple[Rehearsal, Log]]:
    """A conversation with a robot whose model says what a function says.

    Args:
        foresees: Tells what the robot would do for words that are in doubt; None: the function does.
        speed: Of the house, in its seconds for each of the room's.
        ears: Settings of the ears; the others are the conversation's.
    """
    config = Config(conversation={"chimes": False, **settings}, speed=speed, ears=dict(ears or {}))
    log = Log()
    with Rehearsal(config, room, llm=_Script(reply, foresees)) as talk:
        talk.conversation.subscribe(log.events.append)
        talk.pass_s(_CALM_S)
        yield talk, log


def calm(talk: Rehearsal) -> None:
    """Until the robot and everybody else has been silent for a moment."""
    since_s = talk.now_s

    def silent() -> bool:
        nonlocal since_s
        if talk.state not in (State.LISTENING, State.ACTING) or talk.conversation.latch.state == "held":
            since_s = talk.now_s
        return talk.now_s - since_s >= _CALM_S

    talk.pass_until(silent, LIMIT_S)
