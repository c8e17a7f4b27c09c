"""Calls written as functions are called: Python's ``[drive(distance_m=2), stop()]``, and Gemma's.

LFM2 puts Python's between markers; Llama 4 begins its reply with them. The names of the arguments are always given.
Gemma writes ``call:drive{distance_m:2,place:<|"|>kitchen<|"|>}`` between markers; keys are bare, strings in quote
markers. Gemma 4's markers are those of its template in llama.cpp's source; FunctionGemma's are those of its model card
(https://ai.google.dev/gemma/docs/functiongemma/formatting-and-best-practices).
"""

from __future__ import annotations

import ast
import json
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
_STRING: Final = re.compile(r"""(["'])(?:\\.|(?!\1)[^\\])*+\1?""", re.DOTALL)
"""A string up to its closing quotation mark, or to the end of the text."""
_ESCAPE_OR_BREAK: Final = re.compile(r"(\\.)|\n", re.DOTALL)
_FIRST_CALL_BEGUN: Final = re.compile(r"\[\s*(?:[A-Za-z_][\w.-]*\s*)?")


def _scan_python(text: str, *, final: bool) -> Found | NotACall | None:
    """Reads a list of calls, between markers or at the beginning of the reply; see ``ReadsCalls``."""
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
    return _STRING.sub(lambda string: _ESCAPE_OR_BREAK.sub(lambda found: found[1] or "\\n", string[0]), text)


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
_JSON_WORDS: Final = {"true": "true", "false": "false", "null": "null", "none": "null"}
_NUMBER: Final = re.compile(r"-?\d{1,4000}(\.\d+)?([eE][+-]?\d{1,3})?")
_DEEPEST: Final = 64


def _scan_gemma(text: str, *, final: bool, opens: str, closes: str, quote: str) -> Found | NotACall | None:
    """Reads one call between the markers of a family; see ``ReadsCalls``."""
    at = len(opens)
    head = _HEAD.match(text, at)
    if head is None:
        begun = _HEAD_BEGUN.fullmatch(text, at)
        return None if begun and not final else NotACall(at)
    try:
        arguments, end = _object(text, head.end(), quote)
    except ValueError:
        closed = text.find(closes, at)
        if closed < 0 and not final:
            return None
        end = len(text) if closed < 0 else closed
        call = ToolCall(new_id("call"), head[1], {}, raw=text[head.end() : end].strip())
        return Found(min(len(text), end + len(closes)), (call,))
    rest = text[end:].lstrip()
    if rest.startswith(closes):
        end = text.index(closes, end) + len(closes)
    elif not final and closes.startswith(rest):
        return None
    return Found(end, (ToolCall(new_id("call"), head[1], arguments),))


def _object(text: str, at: int, quote: str) -> tuple[dict[str, Any], int]:
    """The object at a place, and its end. Its signs are JSON's; words, keys and strings are written anew as JSON.

    Raises:
        ValueError: It is none, or the text ends inside it.
    """
    mark = re.escape(quote)
    part = re.compile(
        rf"\s*(?:{mark}(?P<text>.*?){mark}|(?P<sign>[{{}}\[\],:])|(?P<key>[\w.-]++)(?=\s*:)|(?P<word>[^\s,:{{}}\[\]]+))",
        re.DOTALL,
    )
    written: list[str] = []
    depth = 0
    while found := part.match(text, at):
        at, kind = found.end(), found.lastgroup or ""
        said = found[kind]
        if kind != "sign":
            written.append(_word(said) if kind == "word" else json.dumps(said))
            continue
        written.append(said)
        depth += (said in "{[") - (said in "}]")
        if depth > _DEEPEST:
            raise ValueError("nested too deep")
        if not depth:
            arguments: dict[str, Any] = json.loads(" ".join(written))
            return arguments, at
    raise ValueError("the text ends inside a value")


def _word(word: str) -> str:
    """A number, or a word that stands for a value, as JSON."""
    if word.lower() in _JSON_WORDS:
        return _JSON_WORDS[word.lower()]
    number = _NUMBER.fullmatch(word)
    if number is None:
        raise ValueError(f"{word!r} is no value")
    return json.dumps(float(word) if number[1] or number[2] else int(word))


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
