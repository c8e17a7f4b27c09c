"""A run as text: speech to one stream, what tools do to another. A subscriber, on the thread of one agent's loop."""

from __future__ import annotations

import json
import logging
from typing import Final, TextIO

from edgeagent import events
from edgeagent.characters import without_escapes
from edgeagent.messages import ToolCall, ToolResult
from edgeagent.views.callbacks import Callbacks

logger = logging.getLogger(__name__)
_WIDTH: Final = 200  # characters of an indicator; a tool's whole output is in the log


class Writers:
    """Writes speech to ``out`` as it streams, and to ``status`` what tools do and notices. None discards."""

    def __init__(self, out: TextIO | None = None, status: TextIO | None = None) -> None:
        self._out = _Writer(out, "out")
        self._status = _Writer(status, "status")
        self._speech = Callbacks(on_content=self._say)
        self._in_line = False
        self._running: set[str] = set()

    def __call__(self, event: events.Event) -> None:
        self._speech(event)
        match event:
            case events.MessageStart(message=message) if (
                message.role != "assistant" and message.origin != "continuation"
            ):
                self._end_line()
            case events.MessageEnd(message=message) if message.role == "assistant":
                if message.stop_reason != "length" or message.tool_calls:  # what was cut may be continued
                    self._end_line()
            case events.ToolExecutionStart(call=call):
                self._running.add(call.id)
                self._indicate(f"→ {call_text(call)}")
            case events.ToolExecutionEnd(call=call, result=result):
                if call.id not in self._running:  # it was refused
                    self._indicate(f"→ {call_text(call)}")
                self._running.discard(call.id)
                whose = f"{call.name}: " if self._running else ""
                self._indicate(f"← {whose}{result_text(result)}")
            case events.Notice(text=text):
                self._indicate(f"! {text}")
            case events.AgentEnd():
                self._end_line()
                self._running.clear()

    def _say(self, text: str) -> None:
        self._in_line = True
        self._out.write(text)

    def _end_line(self) -> None:
        if self._in_line:
            self._in_line = False
            self._out.write("\n")

    def _indicate(self, text: str) -> None:
        """One line of characters that neither move a cursor nor change a colour."""
        line = "".join(c for c in " ".join(without_escapes(text).split()) if c.isprintable())
        self._status.write((line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…") + "\n")


class _Writer:
    """A stream that is given up when it fails: a run goes on although nobody reads any more."""

    def __init__(self, stream: TextIO | None, name: str) -> None:
        self._stream = stream
        self._name = name

    def write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            try:
                self._stream.write(text)
            except UnicodeEncodeError:  # a ValueError too, but of this text, not of the stream
                encoding = getattr(self._stream, "encoding", None) or "utf-8"
                self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError) as error:
            self._stream = None
            logger.warning("nothing more is written to %s: %s", self._name, error)


def call_text(call: ToolCall) -> str:
    """The call as a person would jot it down: ``drive 2.0``."""
    values = call.arguments.values() if call.arguments or not call.raw else [call.raw]
    texts = (v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, default=repr) for v in values)
    return " ".join([call.name, *texts])


def result_text(result: ToolResult) -> str:
    """Returns the text of a result, with the status where the text alone would mislead."""
    prefix = {"interrupted": "interrupted: ", "not_run": "not run: "}.get(result.status, "")
    return prefix + result.text if result.text else result.status
