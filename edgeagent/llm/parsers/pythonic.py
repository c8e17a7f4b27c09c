"""Pythonic: a list of function calls as Python writes it, ``[drive(distance_m=2), stop()]``.

LFM2 puts it between markers; Llama 4 begins its reply with it. The names of the arguments are always given.
"""

from __future__ import annotations

import ast
import re
from typing import Final

from edgeagent.llm.parsers.call_format import Found, NotACall, end_of, parse, skip_blanks, value_of
from edgeagent.messages import ToolCall, new_id

OPEN: Final = "<|tool_call_start|>"
CLOSE: Final = "<|tool_call_end|>"
_SIGNS: Final = (OPEN, "<|tool_list_start|>", "List of tools: [")  # most of LFM2's templates show the tools alone
_QUOTES: Final = "\"'"
_FIRST_CALL: Final = re.compile(r"\[\s*([A-Za-z_][\w.-]*)\s*\(")
_FIRST_CALL_BEGUN: Final = re.compile(r"\[\s*(?:[A-Za-z_][\w.-]*\s*)?")


class Pythonic:
    """A list of calls, between markers or at the beginning of the reply."""

    name: Final = "pythonic"
    openers: Final = (OPEN,)
    start_openers: Final = ("[",)
    markers: Final = (OPEN, CLOSE)

    def matches(self, template: str) -> bool:
        """See ``CallFormat.matches``."""
        return any(sign in template for sign in _SIGNS)

    def scan(self, text: str, *, final: bool) -> Found | NotACall | None:
        """See ``CallFormat.scan``."""
        marked = text.startswith(OPEN)
        opener = len(OPEN) if marked else 1
        at = skip_blanks(text, len(OPEN)) if marked else 0
        if not _FIRST_CALL.match(text, at):
            begun = at == len(text) or _FIRST_CALL_BEGUN.fullmatch(text, at)
            return None if begun and not final else NotACall(opener)
        end = end_of(text, at, quotes=_QUOTES)
        closed = text.find(CLOSE, at) if marked else -1
        if end is None and closed < 0:
            return Found(len(text), (_unreadable(text[at:]),)) if final else None
        if end is None or (0 <= closed < end and not _is_code(text[at:end])):
            return Found(closed + len(CLOSE), (_unreadable(text[at:closed]),))
        calls = _read(text[at:end])
        if calls is None:
            if not marked:
                return NotACall(opener)
            calls = (_unreadable(text[at:end]),)
        if marked:
            after = skip_blanks(text, end)
            if text.startswith(CLOSE, after):
                end = after + len(CLOSE)
            elif not final and CLOSE.startswith(text[after:]):
                return None
        return Found(end, calls)


def _is_code(text: str) -> bool:
    return _read(text) is not None


def _read(text: str) -> tuple[ToolCall, ...] | None:
    """The calls of a whole list; None when it is none."""
    try:
        tree = parse(_escape_line_breaks(text))
    except ValueError:
        return None
    if not isinstance(tree, ast.List) or not tree.elts:
        return None
    calls = [_call(item, text) for item in tree.elts]
    return tuple(call for call in calls if call) if all(calls) else None


def _escape_line_breaks(text: str) -> str:
    """The text with every line break inside a string escaped, for a parser that allows none there."""
    parts: list[str] = []
    quote = ""
    place = 0
    while place < len(text):
        letter = text[place]
        if quote and letter == "\\":
            parts.append(text[place : place + 2])
            place += 2
            continue
        if letter in _QUOTES and (not quote or letter == quote):
            quote = "" if quote else letter
        parts.append("\\n" if quote and letter == "\n" else letter)
        place += 1
    return "".join(parts)


def _call(node: ast.expr, text: str) -> ToolCall | None:
    if not isinstance(node, ast.Call):
        return None
    name = ast.unparse(node.func)
    if re.fullmatch(r"[A-Za-z_][\w.]*", name) is None:
        return None
    try:
        if node.args or any(word.arg is None for word in node.keywords):
            raise ValueError("arguments without a name")
        arguments = {word.arg: value_of(word.value) for word in node.keywords if word.arg is not None}
    except ValueError:
        return ToolCall(new_id("call"), name, {}, raw=ast.get_source_segment(text, node) or text)
    return ToolCall(new_id("call"), name, arguments)


def _unreadable(text: str) -> ToolCall:
    found = _FIRST_CALL.match(text.strip())
    return ToolCall(new_id("call"), found[1] if found else "", {}, raw=text.strip())


PYTHONIC: Final = Pythonic()
