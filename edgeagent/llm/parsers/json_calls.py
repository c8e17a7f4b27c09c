"""Calls written as JSON objects, bare or behind a marker that nothing closes: read where they are certain.

A call that can't be read is told as such.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from edgeagent.llm.parsers.call_format import CallFormat, Found, NotACall, end_of, loads, skip_blanks
from edgeagent.messages import ToolCall, new_id

PYTHON_TAG: Final = "<|python_tag|>"
MISTRAL_CALLS: Final = "[TOOL_CALLS]"
MISTRAL_RESULTS: Final = "[TOOL_RESULTS]"
CALL_ID: Final = "[CALL_ID]"
ARGS: Final = "[ARGS]"
GRANITE_CALL: Final = "<|tool_call|>"
_SEPARATOR: Final = re.compile(r"\s*;?\s*")


def _scan_bare(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads calls that are JSON and nothing else, maybe behind a python tag; see ``ReadsCalls``."""
    tag = PYTHON_TAG if text.startswith(PYTHON_TAG) else ""
    calls: list[ToolCall] = []
    at = end = skip_blanks(text, len(tag))
    while at < len(text) and text[at] in "{[":
        stop = end_of(text, at)
        if stop is None:
            if not final and _may_be_call(text[at:]):
                return None
            if calls or not (final and guess_name(text[at:]) and _may_be_call(text[at:])):
                break
            return Found(len(text), (unreadable(text[at:]),))
        read = _read(text[at:stop])
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


def _may_be_call(text: str) -> bool:
    """True if the beginning of a bracketed text may still become a call: its first key is one that a call has."""
    inside = text if text[0] == "{" else text[1:].lstrip()
    found = _FIRST_KEY.match(inside)
    if found is None:
        return not inside
    key = found[1] or ""
    return key in _KEYS if found[2] else any(known.startswith(key) for known in _KEYS)


def _read(text: str) -> tuple[ToolCall, ...] | None:
    """The calls of a whole bracketed text; None when it is something else."""
    if not _may_be_call(text):
        return None
    read = read_calls(text)
    if read is None:
        return (unreadable(text),) if guess_name(text) else None
    return read if all(call.name for call in read) else None


BARE_JSON: Final = CallFormat(name="json", scan=_scan_bare, start_openers=("{",))
XLAM: Final = CallFormat(name="xlam", scan=_scan_bare, start_openers=("[",))
LLAMA3: Final = CallFormat(
    name="llama3",
    scan=_scan_bare,
    openers=(PYTHON_TAG,),
    start_openers=("{",),
    markers=(PYTHON_TAG,),
    matches=lambda template: "ipython" in template,
)

# Nemo writes a list; Small 3.2 a name, an id and the arguments; Ministral 3 and Devstral a name and the arguments.
_NAMED: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*(?:\[CALL_ID\]\s*\w+\s*)?(?:\[ARGS\])?\s*(?=\{)")
_NAMED_BEGUN: Final = re.compile(r"\s*[A-Za-z_][\w.-]*\s*(?:\[[A-Z_]*(?:\]\s*\w*\s*(?:\[[A-Z]*\]?)?)?)?\s*")


def _scan_mistral(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads calls after one marker: a JSON list, or for each its name and a JSON object; see ``ReadsCalls``."""
    at = skip_blanks(text, len(MISTRAL_CALLS))
    if text.startswith(("[", "{"), at):
        return scan_behind(MISTRAL_CALLS, text, at, final=final)
    named = _NAMED.match(text, at)
    if named is None:
        whole = _NAMED_BEGUN.fullmatch(text, at)
        if not final and (at == len(text) or whole):
            return None
        return NotACall(len(MISTRAL_CALLS))
    end = end_of(text, named.end())
    if end is None and not final:
        return None
    return Found(end or len(text), (read_arguments(named[1], text[named.end() : end]),))


MISTRAL: Final = CallFormat(
    name="mistral",
    scan=_scan_mistral,
    openers=(MISTRAL_CALLS,),
    markers=(MISTRAL_CALLS, CALL_ID, ARGS),
    matches=lambda template: MISTRAL_CALLS in template,
)


def _scan_granite(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads a JSON list, or one object, after a marker; see ``ReadsCalls``."""
    at = skip_blanks(text, len(GRANITE_CALL))
    if at == len(text) and not final:
        return None
    if not text.startswith(("[", "{"), at):
        return NotACall(len(GRANITE_CALL))
    return scan_behind(GRANITE_CALL, text, at, final=final)


GRANITE: Final = CallFormat(
    name="granite",
    scan=_scan_granite,
    openers=(GRANITE_CALL,),
    markers=(GRANITE_CALL,),
    matches=lambda template: GRANITE_CALL in template,
)


_NAME: Final = re.compile(r'"name"\s*:\s*"([^"\\]{1,200})"')
_FIRST_KEY: Final = re.compile(r"""\s*\{\s*(?:["'](\w*)(["']?)|$())""")
_KEYS: Final = ("name", "arguments", "parameters", "type", "function", "id")
_TOOL_NAME: Final = re.compile(r"[\w.:/-]+")
_ARGUMENTS: Final = re.compile(r'"(?:arguments|parameters)"\s*:\s*')


def scan_behind(opener: str, text: str, at: int, *, final: bool) -> Found | NotACall | None:
    """Reads the bracketed text at a place behind an opener that no marker closes; see ``ReadsCalls``."""
    end = end_of(text, at)
    if end is not None:
        return Found(end, read_calls(text[at:end]) or (unreadable(text[at:end]),))
    if not final:
        return None
    return Found(len(text), (unreadable(text[at:]),)) if guess_name(text[at:]) else NotACall(len(opener))


def read_calls(text: str) -> tuple[ToolCall, ...] | None:
    """The calls of a JSON object or list; None when the text is not whole JSON of that kind."""
    value = _parse(text)
    items = value if isinstance(value, list) else [value]
    if not items or not all(isinstance(item, dict) for item in items):
        return None
    return tuple(call_of(item) for item in items)


def read_arguments(name: str, text: str) -> ToolCall:
    """A call whose name stands apart from its arguments, a JSON object."""
    value = _parse(text)
    if isinstance(value, dict):
        return ToolCall(new_id("call"), name, value)
    return ToolCall(new_id("call"), name, {}, raw=text.strip())


def unreadable(text: str) -> ToolCall:
    """A call whose text is no JSON: with its name if that can be seen, and the rest as text for the loop to refuse."""
    body = text.strip()
    found = _ARGUMENTS.search(body)
    raw = body[found.end() :].strip() if found else body
    if _parse(raw) is not None:  # never hand on as arguments what is only a piece of something broken
        raw = body
    return ToolCall(new_id("call"), guess_name(body), {}, raw=raw)


def guess_name(text: str) -> str:
    """The name that a broken call seems to ask for; empty when there is none."""
    found = _NAME.search(text)
    return found[1] if found else ""


def looks_like_json(text: str) -> bool:
    """True if the text begins as a JSON object or list does."""
    return text.lstrip().startswith(("{", "["))


def call_of(item: dict[str, Any]) -> ToolCall:
    """The call that a JSON object is; with ``raw`` if its arguments are none, without a name if that is none."""
    inner = item.get("function")
    if "name" not in item and isinstance(inner, dict):  # the form of the OpenAI API
        item = inner
    name = item.get("name")
    arguments = item.get("arguments", item.get("parameters"))
    if arguments is None:
        arguments = {}
    if isinstance(arguments, str):
        parsed = _parse(arguments) if arguments.strip() else {}
        arguments = parsed if isinstance(parsed, dict) else arguments
    call_id = new_id("call")
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        return ToolCall(call_id, "", {}, raw=json.dumps(item, ensure_ascii=False))
    if isinstance(arguments, dict):
        return ToolCall(call_id, name, arguments)
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(call_id, name, {}, raw=raw)


def _parse(text: str) -> Any:
    """The value of a text, or None."""
    try:
        return loads(text)
    except ValueError:
        return None
