"""Granite 3: ``<|tool_call|>`` and a JSON list. Granite 4 writes calls as Hermes does."""

from __future__ import annotations

from typing import Final

from edgeagent.llm.parsers.brackets import end_of, skip_blanks
from edgeagent.llm.parsers.call_format import Found, NotACall
from edgeagent.llm.parsers.json_calls import guess_name, read_calls, unreadable

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
