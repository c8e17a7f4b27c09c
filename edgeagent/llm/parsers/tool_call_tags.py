"""Calls between the tags ``<tool_call>`` and ``</tool_call>``: JSON, as Hermes has it, or XML.

``<tool_call>{"name": …, "arguments": {…}}</tool_call>`` is written by Qwen 2.5, Qwen 3 and our nano model, and
``<tool_call><function=drive><parameter=distance_m>2</parameter></function></tool_call>`` by Qwen 3.5, Qwen3-Coder,
Nemotron 3 and Step 3.5. A value in XML is text: what is an object or a list is read as one, everything else is handed
on as text, because only the tool's schema knows what "2" is.
"""

from __future__ import annotations

import re
from typing import Any, Final

from edgeagent.llm.parsers.call_format import CallFormat, Found, NotACall, loads, skip_blanks
from edgeagent.llm.parsers.json_calls import guess_name, looks_like_json, read_calls, unreadable
from edgeagent.messages import ToolCall, new_id

OPEN: Final = "<tool_call>"
CLOSE: Final = "</tool_call>"
FUNCTION: Final = "<function="
_MARKER: Final = re.compile(r"</?tool_call>|<tool_response>")
_PYTHON: Final = re.compile(r"[\s\[{]*'")
"""Beginning of a call in Python's quotes, in whose strings a single quotation mark may stand."""
_QUOTE: Final = re.compile(r'["\\]')


def _scan_json(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads one JSON object, or a list of them, between two markers; see ``ReadsCalls``."""
    body_at = len(OPEN)
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
        elif marker[0] == OPEN and not looks_like_json(body):
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
    return marker.start(), marker.end() if marker[0] == CLOSE else marker.start()


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


HERMES: Final = CallFormat(
    name="hermes",
    scan=_scan_json,
    openers=(OPEN,),
    markers=(OPEN, CLOSE),
    matches=lambda template: OPEN in template and FUNCTION not in template,  # the other family puts XML there
)


_FUNCTION: Final = re.compile(r"\s*<function=([^>\s]+)\s*>")
_FUNCTION_END: Final = re.compile(r"\s*</function>\s*")
_PARAMETER: Final = re.compile(
    r"\s*<parameter=([^>\s]+)\s*>(.*?)</parameter>(?=\s*(?:<parameter=|</function>))", re.DOTALL
)
_END: Final = re.compile(r"</function>\s*(</tool_call>)?|</tool_call>")


def _scan_xml(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads one function between two markers, of which the outer ones may be missing; see ``ReadsCalls``."""
    opener = len(OPEN) if text.startswith(OPEN) else 0
    head = _FUNCTION.match(text, opener)
    if head is None:
        begun = text[opener:].lstrip()
        may_be = (begun.startswith(FUNCTION) and ">" not in begun) or FUNCTION.startswith(begun)
        return None if may_be and not final else NotACall(opener or len(FUNCTION))
    arguments: dict[str, Any] = {}
    at = head.end()
    while parameter := _PARAMETER.match(text, at):
        arguments[parameter[1]] = _value(parameter[2])
        at = parameter.end()
    end = _FUNCTION_END.match(text, at)
    if end is not None:
        stop = _outer_end(text, end.end(), final=final)
        return None if stop is None else Found(stop, (ToolCall(new_id("call"), head[1], arguments),))
    # What is left is no parameter: more of it may come, or it is broken.
    broken = _END.search(text, at)
    if not final and (broken is None or text.find("<parameter=", at, broken.start()) >= 0):
        return None
    stop = broken.end() if broken else len(text)
    return Found(stop, (ToolCall(new_id("call"), head[1], {}, raw=text[head.end() : stop].strip()),))


def _outer_end(text: str, at: int, *, final: bool) -> int | None:
    """Returns the end of the call whose function ended at ``at``; None while the closing marker may still come."""
    if text.startswith(CLOSE, at):
        return at + len(CLOSE)
    return None if not final and CLOSE.startswith(text[at:]) else at


def _value(text: str) -> Any:
    """The value of a parameter: without the line breaks that templates put around it."""
    text = text.removeprefix("\n").removesuffix("\n")
    if text[:1] in ("{", "["):
        try:
            return loads(text)
        except ValueError:
            return text
    return text


XML: Final = CallFormat(
    name="xml",
    scan=_scan_xml,
    openers=(OPEN, FUNCTION),
    markers=(OPEN, CLOSE),
    matches=lambda template: OPEN in template and FUNCTION in template,
)
