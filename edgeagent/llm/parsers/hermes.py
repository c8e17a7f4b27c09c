"""Hermes: ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``, as Qwen 2.5, Qwen 3 and our nano model write it."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.llm.parsers.call_format import Found, NotACall, skip_blanks
from edgeagent.llm.parsers.json_calls import guess_name, looks_like_json, read_calls, scan_behind, unreadable
from edgeagent.llm.parsers.xml import FUNCTION

_OPEN: Final = "<tool_call>"
_CLOSE: Final = "</tool_call>"
_MARKER: Final = re.compile(r"</?tool_call>|<tool_response>")
_PYTHON: Final = re.compile(r"[\s\[{]*'")
"""Beginning of a call in Python's quotes, in whose strings a single quotation mark may stand."""
_QUOTE: Final = re.compile(r'["\\]')


class Hermes:
    """One JSON object, or a list of them, between two markers."""

    name: Final = "hermes"
    openers: Final = (_OPEN,)
    start_openers: Final = ()
    markers: Final = (_OPEN, _CLOSE)

    def matches(self, template: str) -> bool:
        """A template with the marker, unless it is of the family that puts XML between the markers."""
        return _OPEN in template and FUNCTION not in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        body_at = len(_OPEN)
        if text.startswith(FUNCTION, skip_blanks(text, body_at)):  # the family that puts XML there
            return NotACall(body_at)
        doubtful: tuple[int, int] | None = None
        # A call ends at its closing marker, or where the next one opens, or a result that the model makes up. An
        # argument may hold a marker's text: then the JSON before it is not whole and stands inside a string, so a later
        # marker may be the real end.
        quoted, read_to = False, body_at
        for marker in _MARKER.finditer(text, body_at):
            quoted, read_to = _inside_string(text[read_to : marker.start()], quoted), marker.start()
            if quoted and not _PYTHON.match(text, body_at):  # the JSON before it can't be whole
                doubtful = doubtful or _ends(marker)
                continue
            body, end = text[body_at : marker.start()], _ends(marker)[1]
            calls = read_calls(body)
            if calls is not None:
                return Found(end, calls)
            if quoted:
                doubtful = doubtful or _ends(marker)
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


def _ends(marker: re.Match[str]) -> tuple[int, int]:
    """The ends of the body and of the call that a marker closes."""
    return marker.start(), marker.end() if marker[0] == _CLOSE else marker.start()


def _inside_string(text: str, quoted: bool) -> bool:
    """True if a part of JSON ends inside a string; ``quoted`` says if it begins inside one."""
    place = 0
    while sign := _QUOTE.search(text, place):
        place = sign.end()
        if sign[0] == '"':
            quoted = not quoted
        elif quoted:  # what is escaped
            place += 1
    return quoted


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
        return scan_behind(OPEN, text, at, final=final)


GRANITE: Final = Granite()
