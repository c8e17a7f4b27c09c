"""Mistral: ``[TOOL_CALLS]`` and then a JSON list, or for each call its name and ``[ARGS]`` with a JSON object."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.llm.parsers.brackets import end_of, skip_blanks
from edgeagent.llm.parsers.call_format import Found, NotACall
from edgeagent.llm.parsers.json_calls import guess_name, read_arguments, read_calls, unreadable

OPEN: Final = "[TOOL_CALLS]"
CALL_ID: Final = "[CALL_ID]"
ARGS: Final = "[ARGS]"
# Nemo writes a list; Small 3.2 a name, an id and the arguments; Ministral 3 and Devstral a name and the arguments.
_NAMED: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{)")
_NAMED_BEGUN: Final = re.compile(r"\s*[A-Za-z_][\w.-]*\s*(?:\[[A-Z_]*(?:\]\s*\w*\s*(?:\[[A-Z]*\]?)?)?)?\s*")


class Mistral:
    """Calls after one marker, without a closing one."""

    name: Final = "mistral"
    openers: Final = (OPEN,)
    start_openers: Final = ()
    markers: Final = (OPEN, CALL_ID, ARGS)

    def matches(self, template: str) -> bool:
        """See ``CallFormat.matches``."""
        return OPEN in template

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        at = skip_blanks(text, len(OPEN))
        if text.startswith("[", at) or text.startswith("{", at):
            end = end_of(text, at)
            if end is None:
                if not final:
                    return None
                return Found(len(text), (unreadable(text[at:]),)) if guess_name(text[at:]) else NotACall(len(OPEN))
            return Found(end, read_calls(text[at:end]) or (unreadable(text[at:end]),))
        named = _NAMED.match(text, at)
        if named is None:
            whole = _NAMED_BEGUN.fullmatch(text, at)
            if not final and (at == len(text) or whole):
                return None
            return NotACall(len(OPEN))
        end = end_of(text, named.end())
        if end is None and not final:
            return None
        return Found(end or len(text), (read_arguments(named[1], text[named.end() : end]),))


MISTRAL: Final = Mistral()
