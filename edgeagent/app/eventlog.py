"""``--log``: every event as a line of JSON, appended and on disk as far as the system is concerned."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any, Final, Self

from edgeagent import events
from edgeagent.json_lines import FILES, MAX_MB, JsonLinesFile
from edgeagent.messages import UNFINISHED, Message
from edgeagent.pii import PII, Mode, for_log, redact, redact_unfinished

_log = logging.getLogger(__name__)
_REDACTED: Final = PII()


class EventWriter:
    """A subscriber that writes. Called on the threads of runs and voice; a disk that is full ends it, never the run.

    Args:
        path: Created with mode 0600, because it holds what was said; None writes nothing.
        pii: ``pii.log`` says what happens to personal data.
        max_mb: Megabytes after which it becomes ``PATH.1``, that one ``PATH.2`` and so on.
        files: How many there are at most, the current one included; the oldest goes.

    Raises:
        ConfigError: The file cannot be opened, or a limit is none.
    """

    def __init__(self, path: Path | None, *, pii: PII = _REDACTED, max_mb: float = MAX_MB, files: int = FILES) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._mode = pii.log
        self._file = None if path is None else JsonLinesFile(path, max_mb=max_mb, files=files, told=f"the log {path}")

    def __call__(self, event: events.Event | events.VoiceEvent) -> None:
        file = self._file
        if file is None:
            return
        try:
            file.write(event_fields(event, self._mode))
        except OSError as error:
            with self._lock:  # runs and voice write side by side, and one warning is enough
                first, self._file = self._file is not None, None
            if not first:
                return
            file.close()
            _log.warning("the log %s cannot be written: %s; no more events are logged", self._path, error.strerror)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Writes nothing more. Safe to call again."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def event_fields(event: events.Event | events.VoiceEvent, mode: Mode) -> dict[str, Any]:
    """The fields of an event as a log may hold them; ``agent_end`` without the history, which would be told again
    with every run, and the reading of a reply without the prompt, which tells the history again with every reply.

    Text that may go on or was cut, in ``message_update``, ``partial``, ``heard`` and replies that were stopped, is left
    out where its end may be the beginning of personal data: no pattern knows half a card number. So are the single
    words of a transcript that holds some.
    """
    fields = events.as_dict(event)
    if isinstance(event, events.AgentEnd):
        del fields["messages"]
    if isinstance(event, events.MessageEnd) and event.reading is not None:
        del fields["reading"]["prompt"]
    if mode == "redact":
        match event:
            case events.MessageUpdate(message=message):
                for channel in ("text", "thinking"):
                    if (so_far := getattr(message, channel)) and (shown := redact_unfinished(so_far)) != so_far:
                        fields["message"][channel] = shown
                        fields["delta"] = "" if event.channel == channel else fields["delta"]
            case events.MessageEnd(message=message) if message.stop_reason in UNFINISHED:
                fields |= {"message": _cut(fields["message"]), "reading": _unfinished(fields["reading"])}
            case events.TurnEnd(message=Message(stop_reason=reason)) if reason in UNFINISHED:
                fields["message"] = _cut(fields["message"])
            case events.AgentEnd(new_messages=messages):
                told = zip(messages, fields["new_messages"], strict=True)
                fields["new_messages"] = [_cut(of) if one.stop_reason in UNFINISHED else of for one, of in told]
            case events.Partial(text=so_far) | events.Heard(text=so_far):
                fields["text"] = redact_unfinished(so_far)
            case events.Transcript(text=said) if redact(said) != said:
                fields["words"] = []
    return for_log(fields, mode, f"the log, at {event.kind},")


def _cut(message: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message whose text may end anywhere."""
    return message | {key: redact_unfinished(message[key]) for key in ("text", "thinking") if key in message}


def _unfinished(value: Any) -> Any:
    """A copy of JSON-like data in which any text may have been cut."""
    match value:
        case str():
            return redact_unfinished(value)
        case dict():
            return {key: _unfinished(item) for key, item in value.items()}
        case list() | tuple():
            return [_unfinished(item) for item in value]
    return value
