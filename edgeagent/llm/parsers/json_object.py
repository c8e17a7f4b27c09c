"""Calls without any marker: a reply that is a JSON object, or a list of them, from its first character on.

Three families differ in small things: ``json`` is one object with "arguments", ``xlam`` (xLAM 2) a list of objects,
``llama3`` (Llama 3.1 to 3.3) an object with "parameters", also after <|python_tag|> and several with ";" between.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from edgeagent.llm.parsers.brackets import end_of, skip_blanks
from edgeagent.llm.parsers.call_format import Found, NotACall
from edgeagent.llm.parsers.json_calls import begins_call, guess_name, read_calls, unreadable
from edgeagent.messages import ToolCall

PYTHON_TAG: Final = "<|python_tag|>"
_SEPARATOR: Final = re.compile(r"\s*;?\s*")


@dataclass(frozen=True, slots=True)
class BareJson:
    """A format whose calls are JSON and nothing else."""

    name: str
    start_openers: tuple[str, ...]
    openers: tuple[str, ...] = ()
    sign: str = ""
    """Text that a template of this family has in its source."""

    @property
    def markers(self) -> tuple[str, ...]:
        """See ``CallFormat.markers``."""
        return self.openers

    def matches(self, template: str) -> bool:
        """See ``CallFormat.matches``."""
        return self.sign in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        tag = next((opener for opener in self.openers if text.startswith(opener)), "")
        calls: list[ToolCall] = []
        at = end = skip_blanks(text, len(tag))
        while at < len(text) and text[at] in "{[":
            stop = end_of(text, at)
            if stop is None:
                if not final and self._may_be_call(text[at:]):
                    return None
                if calls or not (final and guess_name(text[at:]) and self._may_be_call(text[at:])):
                    break
                return Found(len(text), (unreadable(text[at:]),))
            read = self._read(text[at:stop])
            if read is None:
                break
            calls += read
            end = stop
            separator = _SEPARATOR.match(text, stop)
            at = separator.end() if separator else stop
            if at == len(text) and not final:  # another call may follow
                return None
        if calls:
            return Found(end, tuple(calls))
        if at == len(text) and not final:
            return None
        return NotACall(max(len(tag), 1))

    def _may_be_call(self, text: str) -> bool:
        """True if the beginning of a bracketed text may still become a call."""
        if text[0] == "{":
            return begins_call(text)
        inside = text[1:].lstrip()
        return not inside or begins_call(inside)

    def _read(self, text: str) -> tuple[ToolCall, ...] | None:
        """The calls of a whole bracketed text; None when it is something else."""
        if not self._may_be_call(text):
            return None
        read = read_calls(text)
        if read is None:
            return (unreadable(text),) if guess_name(text) else None
        return read if all(call.name for call in read) else None


BARE_JSON: Final = BareJson("json", ("{",))
XLAM: Final = BareJson("xlam", ("[",))
LLAMA3: Final = BareJson("llama3", ("{",), (PYTHON_TAG,), sign="ipython")
