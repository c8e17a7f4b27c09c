"""Calls written as functions are called: Python's ``[drive(distance_m=2), stop()]``, and Gemma's.

LFM2 puts Python's between markers; Llama 4 begins its reply with them. The names of the arguments are always given.
Gemma writes ``call:drive{distance_m:2,place:<|"|>kitchen<|"|>}`` between markers; keys are bare, strings in quote
markers. Gemma 4's markers are those of its template in llama.cpp's source; FunctionGemma's are those of its model card
(https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices).
"""

from __future__ import annotations

import ast
import re
from functools import partial
from typing import Any, Final

from edgeagent.llm.parsers.call_format import CallFormat, Found, NotACall, end_of, parse, skip_blanks, value_of
from edgeagent.messages import ToolCall, new_id

OPEN: Final = "<|tool_call_start|>"
CLOSE: Final = "<|tool_call_end|>"
_SIGNS: Final = (OPEN, "<|tool_list_start|>", "List of tools: [")  # most of LFM2's templates show the tools alone
_QUOTES: Final = "\"'"
_FIRST_CALL: Final = re.compile(r"\[\s*([A-Za-z_][\w.-]*)\s*\(")
_FIRST_CALL_BEGUN: Final = re.compile(r"\[\s*(?:[A-Za-z_][\w.-]*\s*)?")


def _scan_python(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads a list of calls, between markers or at the beginning of the reply; see ``Scan``."""
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
    if end is None or (0 <= closed < end and _read(text[at:end]) is None):
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


PYTHONIC: Final = CallFormat(
    name="pythonic",
    scan=_scan_python,
    openers=(OPEN,),
    start_openers=("[",),
    markers=(OPEN, CLOSE),
    matches=lambda template: any(sign in template for sign in _SIGNS),
)


# --- Gemma ------------------------------------------------------------------------------------------------------------


_HEAD: Final = re.compile(r"\s*call:\s*([A-Za-z_][\w.-]*)\s*(?=\{)")
_HEAD_BEGUN: Final = re.compile(r"\s*(?:c|ca|cal|call|call:\s*(?:[A-Za-z_][\w.-]*\s*)?)?")
_KEY: Final = re.compile(r"\s*([\w.-]+)\s*:")
_SCALAR: Final = re.compile(r"\s*([^,{}\[\]]*)")
_WORDS: Final = {"true": True, "false": False, "null": None, "none": None}
_NUMBER: Final = re.compile(r"-?\d{1,4000}(\.\d+)?([eE][+-]?\d{1,3})?")
_DEEPEST: Final = 64


def _scan_gemma(text: str, *, final: bool, opens: str, closes: str, quote: str) -> Found | NotACall | None:
    """Reads one call between the markers of a family; see ``Scan``."""
    at = len(opens)
    head = _HEAD.match(text, at)
    if head is None:
        begun = _HEAD_BEGUN.fullmatch(text, at)
        return None if begun and not final else NotACall(at)
    reader = _ValueReader(text, head.end(), quote)
    try:
        arguments = reader.object(0)
    except ValueError:
        closed = text.find(closes, at)
        if closed < 0 and not final:
            return None
        end = len(text) if closed < 0 else closed
        call = ToolCall(new_id("call"), head[1], {}, raw=text[head.end() : end].strip())
        return Found(min(len(text), end + len(closes)), (call,))
    rest = text[reader.at :].lstrip()
    if rest.startswith(closes):
        end = text.index(closes, reader.at) + len(closes)
    elif not final and closes.startswith(rest):
        return None
    else:
        end = reader.at
    return Found(end, (ToolCall(new_id("call"), head[1], arguments),))


class _ValueReader:
    """Reads values from a place of a text on."""

    def __init__(self, text: str, at: int, quote: str) -> None:
        self._text = text
        self.at = at
        self._quote = quote

    def object(self, depth: int) -> dict[str, Any]:
        """Reads the object between braces, the first of which is next."""
        self._take("{")
        found: dict[str, Any] = {}
        while not self._next("}"):
            if found:
                self._take(",")
            key = self._key()
            found[key] = self._value(depth + 1)
        self._take("}")
        return found

    def _key(self) -> str:
        if self._next(self._quote):
            key = self._string()
            self._take(":")
            return key
        found = _KEY.match(self._text, self.at)
        if found is None:
            raise ValueError("no key")
        self.at = found.end()
        return found[1]

    def _value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("nested too deep")
        if self._next(self._quote):
            return self._string()
        if self._next("{"):
            return self.object(depth)
        if self._next("["):
            return self._list(depth)
        found = _SCALAR.match(self._text, self.at)
        word = found[1].strip() if found else ""
        end = found.end() if found else self.at
        if end == len(self._text):
            raise ValueError("the text ends inside a value")
        self.at = end
        if word.lower() in _WORDS:
            return _WORDS[word.lower()]
        number = _NUMBER.fullmatch(word)
        if number is None:
            raise ValueError(f"{word!r} is no value")
        return float(word) if number[1] or number[2] else int(word)

    def _list(self, depth: int) -> list[Any]:
        self._take("[")
        found: list[Any] = []
        while not self._next("]"):
            if found:
                self._take(",")
            found.append(self._value(depth + 1))
        self._take("]")
        return found

    def _string(self) -> str:
        self._take(self._quote)
        end = self._text.find(self._quote, self.at)
        if end < 0:
            raise ValueError("the text ends inside a value")
        found = self._text[self.at : end]
        self.at = end + len(self._quote)
        return found

    def _next(self, mark: str) -> bool:
        while self.at < len(self._text) and self._text[self.at].isspace():
            self.at += 1
        rest = self._text[self.at : self.at + len(mark)]
        if len(rest) < len(mark) and mark.startswith(rest):
            raise ValueError("the text ends inside a value")
        return rest == mark

    def _take(self, mark: str) -> None:
        if not self._next(mark):
            raise ValueError(f"{mark!r} is missing")
        self.at += len(mark)


def _gemma(name: str, opens: str, closes: str, quote: str) -> CallFormat:
    return CallFormat(
        name=name,
        scan=partial(_scan_gemma, opens=opens, closes=closes, quote=quote),
        openers=(opens,),
        markers=(opens, closes, quote),
        matches=lambda template: opens in template and quote in template,
    )


GEMMA4: Final = _gemma("gemma", "<|tool_call>", "<tool_call|>", '<|"|>')
FUNCTION_GEMMA: Final = _gemma("functiongemma", "<start_function_call>", "<end_function_call>", "<escape>")
