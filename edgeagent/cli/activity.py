"""Activity of an agent as short lines: ``→ drive 2.0`` when a tool starts, ``← drove forward 2 m`` at its end; its
replies, and its questions to a person; and the lines of a conversation aloud.

Turns events into lines and texts, and shows them where there is no terminal. What a person says aloud is a line when it
is certain, what the robot says when it was heard, and as far as it was. Knows nothing of screens.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final

from edgeagent import events
from edgeagent.agent.loop import NO_REPLY
from edgeagent.app.eventlog import event_fields
from edgeagent.cli import streams
from edgeagent.cli.streams import YES_OR_NO, Tone, is_yes, one_line, printable, shortened
from edgeagent.messages import ToolCall, ToolResult
from edgeagent.pii import PII
from edgeagent.robot.latch import LatchState
from edgeagent.views import Answer, Unanswered
from edgeagent.voice.stopped_answer import WAIT
from edgeagent.voice.turn_states import State

_QUESTION_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Line:
    """A line to show. ``tone`` is how."""

    text: str
    tone: Tone = "dim"

    def tell(self) -> None:
        """Shows as much of the line on stderr as fits; any thread."""
        streams.tell(shortened(self.text, streams.width(sys.stderr)), self.tone)


class Activity:
    """The tools of the runs of one agent, one event after the other."""

    def __init__(self) -> None:
        self._running: dict[str, ToolCall] = {}
        self._told_error = False

    @property
    def running(self) -> tuple[ToolCall, ...]:
        """The calls whose tools work at this moment."""
        return tuple(self._running.values())

    def lines(self, event: events.Event) -> list[Line]:
        """Returns the lines to show for an event; most have nothing to show."""
        match event:
            case events.AgentStart():
                self._running.clear()
                self._told_error = False
            case events.ToolExecutionStart(call=call):
                self._running[call.id] = call
                return [Line(f"  → {call_text(call)}")]
            case events.ToolExecutionEnd(call=call, result=result):
                return self._ended(call, result)
            case events.Notice(level=level, text=text):
                return [Line(f"  {printable(text)}", "dim" if level == "info" else "warning")]
            case events.AgentError(error=error) if error != "aborted":
                self._told_error = True
                return [Line(f"error: {printable(error)}", "error")]
            case events.AgentEnd(reason=reason, abort_reason=abort_reason):
                return self._end(reason, abort_reason)
        return []

    def _ended(self, call: ToolCall, result: ToolResult) -> list[Line]:
        started = self._running.pop(call.id, None)
        tone: Tone = "error" if result.is_error else "dim"
        whose = f"{call.name}: " if self._running else ""
        told = Line(f"  ← {whose}{result_text(result)}", tone)
        return [told] if started is not None else [Line(f"  → {call_text(call)}"), told]

    def _end(self, reason: str, abort_reason: str | None) -> list[Line]:
        match reason, abort_reason:
            case "aborted", "safety_stop":
                return [Line("■ stopped", "error")]
            case "aborted", "deadline":
                return [Line("■ stopped: its time was over (--deadline)", "error")]
            case "aborted", "cancelled":
                return [Line("■ cancelled", "warning")]
            case "aborted", "barge_in":
                return []  # by who is answered next
            case "aborted", "user":
                return [Line("■ interrupted", "warning")]
            case "aborted", other:
                return [Line(f"■ stopped: {other}", "warning")]
            case "denied", _:
                return [Line("■ not allowed", "error")]
            case "error", _ if not self._told_error:
                return [Line("error: the model failed", "error")]
        return []


class Replies:
    """Replies of the runs of one agent, one event after the other."""

    def __init__(self) -> None:
        self._spoke = False

    def take(self, event: events.Event) -> str:
        """The text that is complete with this event, or an empty one."""
        match event:
            case events.AgentStart():
                self._spoke = False
            case events.MessageEnd(message=message) if message.role == "assistant" and message.text:
                self._spoke = True
                return message.text
            case events.AgentEnd(reason="budget") if not self._spoke:
                return NO_REPLY
        return ""


class Approvals:
    """Asks by a function that shows a text and waits for a line.

    Args:
        read: Returns the line, or None if nobody can answer.
        always: Allow everything without asking.
    """

    def __init__(self, read: Callable[[str], str | None], *, always: bool = False) -> None:
        self._read = read
        self._always = always

    def confirm(self, name: str, arguments: dict[str, Any]) -> bool:
        """Asks whether a destructive tool may run; anything but a clear yes is a no."""
        if self._always:
            return True
        told = shortened(call_text(ToolCall("", name, arguments)), _QUESTION_CHARS)
        return is_yes(self._read(f"allow {told}? {YES_OR_NO} "))

    def question(self, questions: list[str], answer: Answer) -> None:
        """Asks one after the other; the answers are one text. Where nobody is there to answer, that is told at once."""
        given = []
        for question in questions:
            line = self._read(f"{shortened(printable(question), _QUESTION_CHARS)} ")
            if line is None:
                answer.put(Unanswered("nobody is there to answer"))
                return
            given.append(line)
        answer.put("\n".join(given))


@dataclass(frozen=True, slots=True)
class AskedLine:
    """A question that waits for a line, and where the line goes; None: there is none."""

    text: str
    number: int = 0
    answer: SimpleQueue[str | None] = field(default_factory=SimpleQueue)


def latch_line(state: LatchState, reason: str) -> Line | None:
    """Tells a person of the latch; that a stop word holds it for a moment is no news."""
    match state:
        case LatchState.TRIPPED:
            return Line(f"■ stopped ({one_line(reason)}); it moves again after “continue”", "error")
        case LatchState.HELD if reason == WAIT:
            return Line("■ held; it moves on after “continue”", "warning")
        case _:
            return None


def call_text(call: ToolCall) -> str:
    """The call as a person would jot it down: ``set_light kitchen true``."""
    if call.raw is not None and not call.arguments:
        return f"{call.name} {call.raw}"
    return " ".join([call.name, *(_value(value) for value in call.arguments.values())])


def result_text(result: ToolResult) -> str:
    """Returns the text of a result, with the status where the text alone would mislead."""
    prefix = {"interrupted": "interrupted: ", "not_run": "not run: ", "outcome_unknown": ""}.get(result.status, "")
    return f"{prefix}{result.text}" if result.text else prefix + result.status


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


# --- a conversation aloud ---------------------------------------------------------------------------------------------


_REMEMBERED: Final = 20
"""Messages of the robot whose whole text is known, to tell whether all of it was heard."""
RESTING: Final = (State.ASLEEP, State.LISTENING)
"""States in which nothing is answered and nothing said."""
_REDACTED: Final = PII()

Item = events.Event | events.VoiceEvent | Line | None


class TalkLines:
    """The lines of one conversation, one event after the other.

    Args:
        name: The robot's.

    Attributes:
        partial: What is understood so far of somebody who speaks.
        latency_s: From the end of speech to the first sound of the last answer; None before the first.
    """

    def __init__(self, name: str) -> None:
        self.partial = ""
        self.latency_s: float | None = None
        self._name = printable(name)
        self._activity = Activity()
        self._transcript: events.Transcript | None = None
        self._over = False
        self._ended_s: float | None = None
        """When the speech ended that is answered next."""
        self._texts: dict[str, str] = {}

    def lines(self, event: Item) -> list[Line]:
        """Returns the lines to show for an event; most have nothing to show. A line is shown as it is."""
        match event:
            case None:
                return []
            case Line():
                return [event]
            case events.VoiceEvent():
                return self._voice(event)
            case events.AgentEnd(reason="aborted", abort_reason=why) if why != "deadline":
                return []  # a stop is told by the latch, an interruption by who has made it
            case events.MessageEnd(message=message) if message.role == "assistant":
                self._texts[message.id] = message.text
                while len(self._texts) > _REMEMBERED:
                    del self._texts[next(iter(self._texts))]
        return self._activity.lines(event)

    def _voice(self, event: events.VoiceEvent) -> list[Line]:
        match event:
            case events.SpeechStart():
                self._transcript, self._over, self._ended_s = None, False, None
            case events.Partial(text=text):
                self.partial = text
            case events.Transcript():
                self._transcript, self.partial = event, event.text
                self._ended_s = event.t - event.latency_s
                return self._said()
            case events.SpeechEnd(soft=False):
                self._over = True
                return self._said()
            case events.VoiceState(new=State.SPEAKING):
                if self._ended_s is not None:
                    self.latency_s, self._ended_s = event.t - self._ended_s, None
            case events.VoiceState(new=new) if new in RESTING:
                self._ended_s = None
            case events.Heard():
                return self._heard(event)
            case events.BargeIn(action="final"):
                return [Line("  interrupted")]
            case events.Keyword(phrase=phrase, confirmed=bool(meant)):
                return [Line(f"  key phrase: {phrase}{'' if meant else ' (not meant)'}")]
            case events.Device(state=state, name=name):
                return [Line(one_line(name), "dim" if state == "back" else "warning")]
        return []

    def _said(self) -> list[Line]:
        """Returns what a person has said, once it is over and known; speech that goes on makes a transcript void."""
        said = self._transcript
        if said is None or not self._over:
            return []
        self._transcript, self.partial = None, ""
        text = one_line(said.text)
        if said.understood:
            return [Line(f"you: {text}", "bold")] if text else []
        return [Line(f"you: {text} (not understood)".replace("  ", " "))]

    def _heard(self, event: events.Heard) -> list[Line]:
        text = one_line(event.text)
        whole = one_line(self._texts.pop(event.message_id, event.text))
        if not text:
            return []
        return [Line(f"{self._name}: {text}{' …' if text != whole else ''}", "name")]


class JsonView:
    """Every event as a line, as ``--log`` writes it.

    Args:
        pii: ``pii.log`` says what happens to personal data.
    """

    def __init__(self, pii: PII = _REDACTED) -> None:
        self._mode = pii.log

    def show(self, item: Item) -> None:
        if isinstance(item, events.Event | events.VoiceEvent):
            streams.answer_json(event_fields(item, self._mode))


class LinesView:
    """View of what is certain, a line each, for a pipe or a file.

    Args:
        name: The robot's.
    """

    def __init__(self, name: str) -> None:
        self._lines = TalkLines(name)

    def show(self, item: Item) -> None:
        for line in self._lines.lines(item):
            streams.answer(line.text)
