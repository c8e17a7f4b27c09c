"""A conversation as lines: who said what, what the robot does, what became of its devices.

Turns events into lines, and shows them where there is no terminal. What a person says is shown when it is certain, what
the robot says when it was heard, and as far as it was.
"""

from __future__ import annotations

from typing import Final

from edgeagent import events
from edgeagent.app.eventlog import event_fields
from edgeagent.cli import streams
from edgeagent.cli.activity import Activity, Line
from edgeagent.cli.streams import one_line, printable
from edgeagent.pii import PII
from edgeagent.voice.turn_states import State

_REMEMBERED: Final = 20
"""Messages of the robot whose whole text is known, to tell whether all of it was heard."""
RESTING: Final = (State.ASLEEP, State.LISTENING)
"""States in which nothing is answered and nothing said."""
_REDACTED: Final = PII()

VoiceOrRun = events.Event | events.VoiceEvent
Item = VoiceOrRun | Line | None


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

    def lines(self, event: VoiceOrRun) -> list[Line]:
        """Returns the lines to show for an event; most have nothing to show."""
        match event:
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
        if item is not None:
            for line in [item] if isinstance(item, Line) else self._lines.lines(item):
                streams.answer(line.text)
