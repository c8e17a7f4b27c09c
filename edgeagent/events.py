"""The events of a run and of the voice, and nothing that emits them.

A run's events are emitted from its loop's thread only, so their order is total: ``seq`` counts from 0 in each run. The
voice's are emitted on its own threads, in runs and between them, and are not counted.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from edgeagent.json_lines import json_text
from edgeagent.messages import Message, Reading, Step, ToolCall, ToolResult, Usage

Level = Literal["info", "warning", "error"]
EndReason = Literal["completed", "aborted", "error", "budget", "stopped", "terminated", "denied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Fields of every event: ``t`` is monotonic seconds, ``turn`` counts from 1 (0 before the first turn).

    The run sets them; the defaults are for an event that ``RunControl.emit`` gets.
    """

    kind: ClassVar[str] = "event"
    seq: int = 0
    t: float = 0.0
    run_id: str = ""
    agent: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentStart(Event):
    kind: ClassVar[str] = "agent_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd(Event):
    kind: ClassVar[str] = "agent_end"
    reason: EndReason
    abort_reason: str | None
    messages: tuple[Message, ...]
    new_messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentError(Event):
    kind: ClassVar[str] = "agent_error"
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart(Event):
    kind: ClassVar[str] = "turn_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd(Event):
    """``message`` is None when the turn was stopped before the model was asked."""

    kind: ClassVar[str] = "turn_end"
    message: Message | None
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStart(Event):
    kind: ClassVar[str] = "message_start"
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageUpdate(Event):
    """``message`` is the message as far as it has come, ``delta`` its newest piece on ``channel``."""

    kind: ClassVar[str] = "message_update"
    channel: Literal["text", "thinking"]
    delta: str
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEnd(Event):
    """``reading`` is how the model's reply was read, for people who ask why; None of what no model wrote."""

    kind: ClassVar[str] = "message_end"
    message: Message
    reading: Reading | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionStart(Event):
    kind: ClassVar[str] = "tool_execution_start"
    call: ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionUpdate(Event):
    kind: ClassVar[str] = "tool_execution_update"
    call: ToolCall
    update: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExecutionEnd(Event):
    """A call that never started has this without a start."""

    kind: ClassVar[str] = "tool_execution_end"
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(Event):
    """Something that a person at a terminal may want to know. Never spoken."""

    kind: ClassVar[str] = "notice"
    level: Level
    text: str


# --- the voice --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceEvent:
    """Fields of every event of the voice: ``t`` is monotonic seconds; ``run_id`` is None outside a run."""

    kind: ClassVar[str] = "voice_event"
    t: float
    run_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VoiceState(VoiceEvent):
    """The conversation's state has become another; ``why`` is what happened."""

    kind: ClassVar[str] = "voice_state"
    old: str
    new: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechStart(VoiceEvent):
    """Somebody has begun to speak, or goes on after a soft end."""

    kind: ClassVar[str] = "speech_start"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechEnd(VoiceEvent):
    """Speech has probably ended (``soft``), or certainly."""

    kind: ClassVar[str] = "speech_end"
    soft: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial(VoiceEvent):
    """Words that are understood so far of somebody who still speaks."""

    kind: ClassVar[str] = "partial"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript(VoiceEvent):
    """Words that somebody has said, void if a ``speech_start`` follows before the hard ``speech_end``.

    ``words`` have ``text``, ``start_s``, ``end_s`` and ``confidence``; ``latency_s`` is from the end of speech. A text
    that is not ``understood`` is a guess, to ask about and never to act on.
    """

    kind: ClassVar[str] = "transcript"
    text: str
    words: tuple[Any, ...] = ()
    confidence: float | None = None
    latency_s: float = 0.0
    engine: str = ""
    understood: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Keyword(VoiceEvent):
    """A key phrase was heard; ``confirmed`` is None until the transcript has said whether it was meant.

    A phrase for which motion waits, such as "hold on", is told once, with None.
    """

    kind: ClassVar[str] = "keyword"
    phrase: str
    confirmed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BargeIn(VoiceEvent):
    """Speech over the robot's voice: what became of that voice (hold, resume, final)."""

    kind: ClassVar[str] = "barge_in"
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Playback(VoiceEvent):
    """The loudspeaker; the position is in seconds of what is being said."""

    kind: ClassVar[str] = "playback"
    state: str
    position_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard(VoiceEvent):
    """Words that were heard of a message of the assistant's, or, without an id, of what the robot said by itself."""

    kind: ClassVar[str] = "heard"
    message_id: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Device(VoiceEvent):
    """A device, or a recogniser, is lost, back or in trouble; ``name`` says which, and what about it."""

    kind: ClassVar[str] = "device"
    state: str
    name: str


_NOT_JSON: Final = frozenset({"value", "data"})
"""Fields that hold a builder's own objects of any size; the text beside them says what the model was told."""


def as_dict(event: Event | VoiceEvent) -> dict[str, Any]:
    """The event as JSON-ready fields, with its ``kind`` first."""
    fields = {name: _plain(getattr(event, name)) for name in _field_names(event)}
    if isinstance(event, Transcript):
        fields["words"] = [dataclasses.asdict(word) for word in event.words]
    return {"kind": event.kind, **fields}


def to_json(event: Event | VoiceEvent) -> str:
    """The event as one line of JSON, without a line end."""
    return json_text(as_dict(event))


def _field_names(value: Any) -> list[str]:
    return [f.name for f in dataclasses.fields(value) if f.name not in _NOT_JSON]


def _plain(value: Any) -> Any:
    """Messages, calls, results and readings as dicts, without the fields that are empty; everything else as it is."""
    if isinstance(value, (Message, ToolCall, ToolResult, Usage, Reading, Step)):
        pairs = ((name, getattr(value, name)) for name in _field_names(value))
        return {name: _plain(item) for name, item in pairs if item is not None and item not in ("", ())}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
