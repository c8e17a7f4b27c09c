"""Hermes: ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``, as Qwen 2.5, Qwen 3 and our nano model write it."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.llm.parsers.call_format import Found, NotACall, end_of, skip_blanks
from edgeagent.llm.parsers.json_calls import guess_name, looks_like_json, read_calls, unreadable

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_MARKER: Final = re.compile(r"</?tool_call>")


class Hermes:
    """One JSON object, or a list of them, between two markers."""

    name: Final = "hermes"
    openers: Final = (_OPEN,)
    start_openers: Final = ()
    markers: Final = (_OPEN, _CLOSE)

    def matches(self, template: str) -> bool:
        """A template with the marker, unless it is of the family that puts XML between the markers."""
        return _OPEN in template and "<function=" not in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        body_at = len(_OPEN)
        doubtful: tuple[int, int] | None = None
        # A call ends at its closing marker, or where the next one opens. An argument may hold a marker's text: then
        # the JSON before it is not whole and stands inside a string, so a later marker may be the real end.
        for marker in _MARKER.finditer(text, body_at):
            body, end = text[body_at : marker.start()], marker.end() if marker[0] == _CLOSE else marker.start()
            calls = read_calls(body)
            if calls is not None:
                return Found(end, calls)
            if _inside_string(body):
                doubtful = doubtful or (marker.start(), end)
            elif marker[0] == _OPEN and not looks_like_json(body):
                return NotACall(body_at)
            else:
                return Found(end, (unreadable(body),))
        if not final:
            return None
        body = text[body_at:]
        calls = read_calls(body)
        if calls is not None:
            return Found(len(text), calls)
        if doubtful:
            start, end = doubtful
            return Found(end, (unreadable(text[body_at:start]),))
        if not body.strip() or (looks_like_json(body) and guess_name(body)):
            return Found(len(text), (unreadable(body),))
        return NotACall(body_at)


def _inside_string(text: str) -> bool:
    """True if this beginning of JSON ends inside a string."""
    inside = escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif letter == "\\":
            escaped = inside
        elif letter == '"':
            inside = not inside
    return inside


HERMES: Final = Hermes()


OPEN: Final = "<|tool_call|>"


class Granite:
    """A JSON list, or one object, after a marker, without a closing one."""

    name: Final = "granite"
    openers: Final = (OPEN,)
    start_openers: Final = ()
    markers: Final = (OPEN,)

    def matches(self, template: str) -> bool:
        """See ``CallFormat.matches``."""
        return OPEN in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        at = skip_blanks(text, len(OPEN))
        if at == len(text) and not final:
            return None
        if not text.startswith(("[", "{"), at):
            return NotACall(len(OPEN))
        end = end_of(text, at)
        if end is None:
            if not final:
                return None
            return Found(len(text), (unreadable(text[at:]),)) if guess_name(text[at:]) else NotACall(len(OPEN))
        return Found(end, read_calls(text[at:end]) or (unreadable(text[at:end]),))


GRANITE: Final = Granite()
