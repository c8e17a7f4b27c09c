"""Lines that the page shows of a conversation, made of its events in their order, and where each turn's time went.

Plain values, ready for JSON. Redacted as a log is, because fields come from ``event_fields``. Knows neither pages nor
sockets. One thread.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from edgeagent import events
from edgeagent.app.eventlog import event_fields
from edgeagent.json_lines import json_text
from edgeagent.messages import PEOPLE, UNFINISHED, Message, picture_type
from edgeagent.pii import Mode, redact, redact_unfinished
from edgeagent.web.inbox import Item, Note

KEPT: Final = 300
"""Lines that a page shows; the oldest go."""
MOST_CHARS: Final = 4000
"""Characters of one text that a page gets."""
MOST_SPANS: Final = 60
"""Parts of one turn's time that are told apart."""
_TITLE_CHARS: Final = 120
"""Characters of what was asked, over the turn's time."""
_SOON_S: Final = 30.0
"""Seconds within which a run answers what was said before it."""
_STATES: Final = ("ready", "thinking", "acting", "speaking")
_ABORTED: Final = {
    "deadline": "stopped: its time was over",
    "cancelled": "cancelled",
    "user": "interrupted",
}
"""Lines for reasons of an abort; a safety stop is told by the latch, a barge-in by who is answered next."""

Fields = dict[str, Any]
Event = events.Event | events.VoiceEvent


class Story:
    """Lines of one conversation. ``version`` grows with every change, and each line has that of its last one.

    Args:
        mode: Treatment of personal data: ``PII.log``.
        voice: True for a conversation aloud.

    Attributes:
        state: State of a typed conversation: ready, thinking, acting or speaking.
        partial: Words that are understood so far of somebody who speaks.
        picture: Type and bytes of the newest picture that a tool returned.
        picture_version: Grows with every new picture of a tool.
        map_version: Grows with everything that may have changed a map.
    """

    def __init__(self, mode: Mode, *, voice: bool = False) -> None:
        self._mode, self._voice = mode, voice
        self._lines: deque[Fields] = deque(maxlen=KEPT)
        self._versions: dict[int, int] = {}
        self._messages: dict[str, Fields] = {}
        self._calls: dict[str, Fields] = {}
        self._turn: Fields | None = None
        self._said: Fields | None = None
        """Transcript whose speech may go on."""
        self._over = False
        """The speech is over for good; its words may come later."""
        self._heard_s: tuple[float, float] | None = None
        """End of the speech and time of its transcript that no run has answered yet."""
        self._unanswered: deque[str] = deque(maxlen=8)
        """Texts that were shown when they were heard, and that no run has told of yet."""
        self._unheard: deque[str] = deque(maxlen=8)
        """Texts that a run has told of since somebody began to speak, and no ears yet."""
        self._next = 0
        self.version = 0
        self.state = _STATES[0]
        self.partial = ""
        self.picture: tuple[str, bytes] | None = None
        self.picture_version = self.map_version = 0

    def since(self, version: int) -> list[Fields]:
        """The lines that have changed after a version, in their order."""
        return [line for line in self._lines if self._versions[line["n"]] > version]

    @property
    def first(self) -> int:
        """Number of the oldest line that is kept."""
        return int(self._lines[0]["n"]) if self._lines else self._next

    def remember(self, messages: Iterable[Message]) -> None:
        """Begins with the history of a conversation that goes on. Before the first ``take``."""
        for message in messages:
            hide = redact_unfinished if message.stop_reason in UNFINISHED else redact
            text = hide(message.text) if self._mode == "redact" else message.text
            if message.role == "user" and message.origin == "user":
                self._add("you", text=text)
            elif message.role == "assistant" and text:
                self._add("robot", text=text, done=True)

    def take(self, item: Item, *, lost: int = 0) -> None:
        """Takes the next event.

        Args:
            lost: Number of events before it that never came.
        """
        if lost:
            self._note(f"{lost} events were too many to show", "warning")
        if isinstance(item, Note):
            self._note(item.text, item.tone)
            return
        event = self._without_picture(item)
        if (take := self._TAKES.get(event.kind)) is not None:
            take(self, event_fields(event, self._mode))

    # --- runs -------------------------------------------------------------------------------------------------------

    def _agent_start(self, fields: Fields) -> None:
        start_s, spans = fields["t"], []
        if self._heard_s is not None and fields["t"] - self._heard_s[0] < _SOON_S:
            start_s, understood_s = self._heard_s
            spans = [_span("hear", "understand", 0.0, understood_s - start_s)]
        self._heard_s = None
        self._turn = self._add("turn", text="", t=start_s, spans=spans, end=None, reason="")
        self.state = "thinking"

    def _turn_start(self, fields: Fields) -> None:
        self._open("think", "model", fields["t"])
        self.state = "thinking"

    def _message_update(self, fields: Fields) -> None:
        message = fields["message"]
        if self._close("think", fields["t"]):
            self._open("write", "model", fields["t"])
        if text := message.get("text", ""):
            self.state = "speaking" if not self._voice else self.state
            self._robot(message["id"], text, done=False)

    def _message_end(self, fields: Fields) -> None:
        message = fields["message"]
        text = message.get("text", "")
        if message["role"] == "assistant":
            self._close("think", fields["t"])
            self._close("write", fields["t"])
            if text:
                self._robot(message["id"], text, done=True)
        elif message["role"] == "user" and text:
            self._person(text, message.get("origin", "user"))

    def _robot(self, message_id: str, text: str, *, done: bool) -> None:
        line = self._messages.get(message_id)
        if line is None:
            line = self._messages[message_id] = self._add("robot", text="", done=False, heard=None)
            while len(self._messages) > KEPT:
                del self._messages[next(iter(self._messages))]
        self._change(line, text=text[:MOST_CHARS], done=done)

    def _person(self, text: str, origin: str) -> None:
        if origin not in PEOPLE:
            return
        if self._turn is not None and not self._turn["text"]:
            self._change(self._turn, text=text[:_TITLE_CHARS])
        if (plain := _plain(text)) in self._unanswered:  # it was shown when it was heard
            self._unanswered.remove(plain)
        elif origin == "follow_up":
            self._note(text, "dim")
        else:
            self._unheard.append(plain)
            self._add("you", text=text[:MOST_CHARS])

    def _tool_start(self, fields: Fields) -> None:
        call = fields["call"]
        line = self._add("tool", **_call(call), status="running", text="", t=fields["t"], end=None)
        self._calls[call["id"]] = line
        self._open("tool", call["name"], fields["t"], call_id=call["id"])
        self.state = "acting"
        self.map_version += 1

    def _tool_update(self, fields: Fields) -> None:
        self.map_version += 1
        if (line := self._calls.get(fields["call"]["id"])) is not None:
            self._change(line, text=_short(fields["update"]))

    def _tool_end(self, fields: Fields) -> None:
        call, result = fields["call"], fields["result"]
        line = self._calls.pop(call["id"], None)
        if line is None:  # it never started
            line = self._add("tool", **_call(call), status="", text="", t=fields["t"], end=None)
        self._close("tool", fields["t"], call_id=call["id"])
        self._change(line, status=result["status"], text=_short(result.get("text", "")), end=fields["t"])
        self.state = "acting" if self._calls else "thinking"
        self.map_version += 1

    def _agent_error(self, fields: Fields) -> None:
        if fields["error"] != "aborted":
            self._note(f"error: {_short(fields['error'])}", "error")

    def _agent_end(self, fields: Fields) -> None:
        reason, why = fields["reason"], fields.get("abort_reason")
        for line in self._calls.values():
            self._change(line, status="interrupted", end=fields["t"])
        self._calls.clear()
        if self._turn is not None:
            for span in self._turn["spans"]:
                if span["end"] is None and span["kind"] != "speak":
                    span["end"] = fields["t"] - self._turn["t"]
            self._change(self._turn, end=fields["t"], reason=_ended(reason, why))
        self.state = "ready"
        self.map_version += 1
        match reason:
            case "aborted":
                if (told := _ABORTED.get(why or "", "")) and not (self._voice and why != "deadline"):
                    self._note(told, "warning")
            case "denied":
                self._note("not allowed", "error")
            case "budget":
                self._note("it was given up: too many steps", "warning")

    def _notice(self, fields: Fields) -> None:
        self._note(fields["text"], "dim" if fields["level"] == "info" else fields["level"])

    # --- the voice --------------------------------------------------------------------------------------------------

    def _speech_start(self, fields: Fields) -> None:
        self._said, self._heard_s, self._over = None, None, False
        self._unheard.clear()

    def _partial(self, fields: Fields) -> None:
        self._touch(partial=fields["text"][:MOST_CHARS])

    def _transcript(self, fields: Fields) -> None:
        self._said = fields
        self._heard_s = fields["t"] - fields.get("latency_s", 0.0), fields["t"]
        self._touch(partial=fields["text"][:MOST_CHARS])
        self._say()

    def _speech_end(self, fields: Fields) -> None:
        if not fields["soft"]:
            self._over = True
            self._say()

    def _say(self) -> None:
        """Shows what a person has said, once it is over and known."""
        if not self._over or self._said is None:
            return
        text, understood = self._said["text"].strip(), self._said.get("understood", True)
        self._said = None
        self._touch(partial="")
        if _plain(text) in self._unheard:
            self._unheard.clear()
        elif text or not understood:
            self._add("you", text=text[:MOST_CHARS], understood=understood)
            self._unanswered.append(_plain(text))

    def _heard(self, fields: Fields) -> None:
        line, text = self._messages.get(fields["message_id"]), fields["text"]
        if line is not None:
            self._change(line, heard=text[:MOST_CHARS])
        elif text:
            self._add("robot", text=text[:MOST_CHARS], done=True, heard=text[:MOST_CHARS])

    def _voice_state(self, fields: Fields) -> None:
        if fields["new"] == "speaking":
            self._open("speak", "voice", fields["t"])
        elif fields["old"] == "speaking":
            self._close("speak", fields["t"])

    def _keyword(self, fields: Fields) -> None:
        if fields["confirmed"] is not None:
            meant = "" if fields["confirmed"] else " (not meant)"
            self._note(f"key phrase: {fields['phrase']}{meant}", "dim")

    def _device(self, fields: Fields) -> None:
        self._note(fields["name"], "dim" if fields["state"] == "back" else "warning")

    _TAKES: Final[dict[str, Callable[[Story, Fields], None]]] = {
        "agent_start": _agent_start,
        "turn_start": _turn_start,
        "message_update": _message_update,
        "message_end": _message_end,
        "tool_execution_start": _tool_start,
        "tool_execution_update": _tool_update,
        "tool_execution_end": _tool_end,
        "agent_error": _agent_error,
        "agent_end": _agent_end,
        "notice": _notice,
        "speech_start": _speech_start,
        "partial": _partial,
        "transcript": _transcript,
        "speech_end": _speech_end,
        "heard": _heard,
        "voice_state": _voice_state,
        "keyword": _keyword,
        "device": _device,
    }

    # --- lines ------------------------------------------------------------------------------------------------------

    def _add(self, kind: str, **fields: Any) -> Fields:
        line = {"n": self._next, "kind": kind, "at": time.time(), **fields}
        self._next += 1
        if len(self._lines) == KEPT:
            del self._versions[self._lines[0]["n"]]
        self._lines.append(line)
        self._change(line)
        return line

    def _change(self, line: Fields, **fields: Any) -> None:
        line.update(fields)
        self.version += 1
        if line["n"] >= self.first:
            self._versions[line["n"]] = self.version

    def _touch(self, *, partial: str) -> None:
        self.partial = partial
        self.version += 1

    def _note(self, text: str, tone: str) -> None:
        self._add("note", text=text[:MOST_CHARS], tone=tone)

    def _open(self, kind: str, label: str, t: float, *, call_id: str = "") -> None:
        turn = self._turn
        if turn is None or len(turn["spans"]) >= MOST_SPANS:
            return
        turn["spans"].append(_span(kind, label, t - turn["t"], None, call_id))
        self._change(turn)

    def _close(self, kind: str, t: float, *, call_id: str = "") -> bool:
        """Ends the part of the turn that is open; False where none is."""
        turn = self._turn
        if turn is None:
            return False
        for span in reversed(turn["spans"]):
            if span["end"] is None and span["kind"] == kind and span["call"] == call_id:
                span["end"] = t - turn["t"]
                self._change(turn)
                return True
        return False

    def _without_picture(self, item: Event) -> Event:
        """Keeps the picture that a tool has returned. Returns the event, without the bytes."""
        match item:
            case events.ToolExecutionEnd(result=result):
                found = result.value
            case events.ToolExecutionUpdate(update=update):
                found = update
            case _:
                return item
        if not isinstance(found, bytes | bytearray):
            return item
        if (kind := picture_type(found)) is not None:
            self.picture = kind, bytes(found)
            self.picture_version += 1
        return replace(item, update="a picture") if isinstance(item, events.ToolExecutionUpdate) else item


def _span(kind: str, label: str, start_s: float, end_s: float | None, call_id: str = "") -> Fields:
    return {"kind": kind, "label": label, "start": start_s, "end": end_s, "call": call_id}


def _call(call: Fields) -> Fields:
    """Name and arguments of a call, as texts for a person."""
    arguments = call.get("arguments") or {}
    values = [call["raw"]] if call.get("raw") and not arguments else list(arguments.values())
    return {"name": call["name"], "arguments": [_short(value) for value in values]}


def _ended(reason: str, why: str | None) -> str:
    """End of a run, for a person; empty for one that ended as it should."""
    match reason, why:
        case "completed" | "terminated", _:
            return ""
        case "aborted", "safety_stop":
            return "stopped"
        case "aborted", "barge_in" | "user":
            return "interrupted"
        case _:
            return why or reason


def _short(value: Any) -> str:
    return (value if isinstance(value, str) else json_text(value))[:MOST_CHARS]


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())
