"""Calls in a form that is not their model's own: JSON, or another family's tags.

Small models leave the format of their template: they write the bare object, several of them or a list, put them into a
code fence or ``<tools>``, behind a python tag, or double the braces as their template's source does. A block is such a
piece of a reply, in lines of its own or inside a sentence. Nothing here knows the tools: ``reading`` judges what is
found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Final, Literal

from edgeagent.llm.parsers.call_format import CallFormat, Found, end_of, ends_from, loads, skip_blanks
from edgeagent.llm.parsers.function_calls import FUNCTION_GEMMA, GEMMA4, PYTHONIC
from edgeagent.llm.parsers.json_calls import (
    GRANITE,
    MISTRAL,
    MISTRAL_RESULTS,
    PYTHON_TAG,
    call_of,
    guess_name,
    unreadable,
)
from edgeagent.llm.parsers.tool_call_tags import HERMES, XML
from edgeagent.messages import ToolCall

_TAGGED: Final[tuple[CallFormat, ...]] = (HERMES, XML, PYTHONIC, MISTRAL, GEMMA4, FUNCTION_GEMMA, GRANITE)
_TOOLS: Final = "<tools>"
_INFO: Final = ("", "json", "plaintext", "text", "txt")
"""Info strings of a fence that may hold calls. Code in a language is code."""
_FENCE: Final = r"(?:`{3,}|~{3,})"
_FENCE_OPENS: Final = re.compile(rf"({_FENCE})[ \t]*([\w+#.-]*)[ \t]*(?=\s|[{{\[])")
_FENCE_BEGUN: Final = re.compile(rf"`{{1,2}}|~{{1,2}}|{_FENCE}[ \t]*[\w+#.-]*[ \t]*")
_JSON_BEGINS: Final = re.compile(r"""[\[{][\[{\s]*+(?:["'}\]\d,:-]|\w*+["']?\s*+(?::|$))""")
_LIST_BEGINS: Final = re.compile(r"\[\s*([A-Za-z_][\w.-]*)?(\((?=\s*(?:[A-Za-z_]\w*\s*(?:=|\Z)|[\"'\d)-]|\Z)))?")
"""Beginning of a list of calls: no blank stands before a bracket, and no word alone behind it, as in prose."""
_SEPARATORS: Final = " \t\r\n,;"
_STRAY_FENCE: Final = re.compile(rf"\s*{_FENCE}\s*")
_STRAY_FENCE_BEGUN: Final = re.compile(r"\s*(?:`+|~+)\s*")
"""The end of a fence that was never opened."""
_BETWEEN: Final = re.compile(rf"[{_SEPARATORS}]*")
_TAIL: Final = re.compile(r"""[\s,;]*[}\]:]|[ \t,;]*["']|[\s,;]*(["'])[^"'\n]*\1\s*:""")
"""Goes on as JSON after a bracket that was closed too early."""
_TAIL_IN_LINE: Final = re.compile(r"""[\s,;]*[}\]]|[\s,;]*(["'])[^"'\n]*\1\s*:""")
"""The same inside a line, where a colon or a quotation mark may be prose."""
_TAIL_BEGUN: Final = re.compile(r"""[\s,;]*(["'])[^"'\n]*(?:\1\s*)?""")
_HAS_ARGUMENTS: Final = re.compile(r"""["'](?:arguments|parameters)["']\s*:""")
_KEY_OF_CALL: Final = re.compile(r"""\b(?:arguments|parameters)\b|\{\s*["'](?:name|function|type)["']""")
"""A key that calls have, in JSON that can't be read."""
_KEY_AND_VALUE: Final = re.compile(
    r"""\b(?:arguments|parameters)["']?\s*:\s*["'{\[]|["'](?:name|function)["']\s*:\s*["'{]\s*[\w"']"""
)
"""A key that calls have with the beginning of its value. A sentence that mentions a key has none."""
_FIRST_KEY: Final = re.compile(r"""[\[{][\[{\s]*+(["'])[^"'\n]{1,100}\1\s*:""")
"""Beginning of JSON whose first value may be long."""
_FIRST_KEY_BEGUN: Final = re.compile(r"""[\[{][\[{\s]*+(?:["'](\w*)(?:["']\s*(?::\s*["'{]*\w*)?)?)?""")
"""Beginning of JSON up to its first value, or a part of it."""
_LEAVES_JSON: Final = re.compile(r"""\n(?!\s*(?:["'{}\[\]]|\Z))""")
"""The end of a line after which no JSON goes on."""
_ARGUMENTS: Final = ("arguments", "parameters")
_LIKE_ARGUMENTS: Final = frozenset({"args", "params", "kwargs", "input", "action_input"})
"""Keys that data have, too. They count beside the name of a tool."""
_NAMING: Final = ("name", "function", "tool")
"""Keys under which models write the name of a tool. For ``action`` see ``_acts``."""
_BESIDE: Final = frozenset({"name", "type", "id"})
"""Keys that a call may have beside its arguments."""
_KEYS: Final = (*_NAMING, *_ARGUMENTS, *_BESIDE, "action")
"""Keys with which a call may begin."""
_STRING_OR_BRACES: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|\{\{|\}\}', re.DOTALL)

_CLOSING_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "(": ")"}

NEAR: Final = 300
"""Characters of JSON inside a sentence in which a call shows one of its keys, and after which broken JSON ends. A
larger number hides calls that begin with longer values, and lets prose after a brace that never closes wait longer."""

Tools = Mapping[str, Collection[str]]
"""Names of the tools that are offered, with the names of their parameters."""

Open = Literal["open"]
"""More text decides."""


@dataclass(frozen=True, slots=True)
class Written:
    """One call as a block has it. ``fault`` says why it can't be one, as far as its form goes; empty if it can."""

    call: ToolCall
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """The first ``end`` characters of a text: JSON, or calls with tags."""

    end: int
    form: str
    """Notation in which the block is written, for people."""
    calls: tuple[Written, ...]
    """Empty for JSON that has not the shape of a call."""
    is_code: bool = False
    """The block is an example in a programming language: none of its calls may run."""


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """Beginning of what stands around JSON."""

    end: int
    closer: str
    """Empty where nothing closes it."""
    name: str
    """For people."""
    is_code: bool = False


def read_block(text: str, tools: Tools, *, final: bool, quote: str | None = None) -> Block | Open | None:
    """Reads the block at the start of a text; None if the text begins otherwise.

    Args:
        text: What came so far, from the first sign that is no blank.
        tools: The tools that are offered: an object that names one has the shape of a call, too.
        final: Nothing follows.
        quote: Sign before a text that begins inside a line, or an empty string; None of a text that begins a line.
    """
    if not text:
        return None if final else "open"
    if len(text) > NEAR and _is_far(text, tools, in_line=quote is not None):
        near = read_block(text[:NEAR], tools, final=False, quote=quote)
        return None if near == "open" else near
    return (
        _tagged(text, final=final)
        or _bare_list(text, tools, quote, final=final)
        or _json(text, tools, quote, final=final)
    )


def begins_call(text: str, tools: Tools) -> bool:
    """True if a text that was cut off, and has nothing to read yet, may be the beginning of a call: a part of a tag or
    of what stands around JSON, or JSON whose first key calls have."""
    if "open" in (_tagged(text, final=False), _bare_list(text, tools, "", final=False)):
        return True
    if read_block(text, tools, final=False) != "open":
        return False
    at = min((at for at in map(text.find, "{[") if at >= 0), default=-1)
    begun = _FIRST_KEY_BEGUN.fullmatch(text, at)
    key = begun and (begun[1] or "")
    begins = key is not None and any(known.startswith(key) for known in (*_KEYS, *tools))
    return at < 0 or begins or _quotes_name(text, tools)


def _is_far(text: str, tools: Tools, *, in_line: bool) -> bool:
    """True if the first ``NEAR`` characters of a block show no call. A block in lines of its own may begin with a long
    value, or with a wrapper or a tag, so its beginning decides only where that is no key."""
    if in_line:
        return not _shows_call(text[:NEAR], tools)
    no_key = _JSON_BEGINS.match(text) and not _FIRST_KEY.match(text)
    return bool(no_key) and not _may_call(text[:NEAR], tools)


def _tagged(text: str, *, final: bool) -> Block | Open | None:
    """Calls with the tags of a family."""
    undecided = False
    for known in _TAGGED:
        if text.startswith(known.openers):
            answer = known.scan(text, final=final)
            if isinstance(answer, Found):
                return Block(answer.end, known.name, tuple(Written(call) for call in answer.calls))
            undecided = undecided or answer is None
        elif not final and any(opener.startswith(text) for opener in known.openers):
            undecided = True
    return "open" if undecided else None


def _bare_list(text: str, tools: Tools, quote: str | None, *, final: bool) -> Block | Open | None:
    """A list of calls as Python writes it, without tags. One inside a line, or without names of arguments, is a call
    only if it names a tool."""
    begun = _LIST_BEGINS.match(text)
    if begun is None:
        return None
    name, goes_on = begun[1] or "", not begun[2]
    offered = name in tools or (goes_on and any(known.startswith(name) for known in tools))
    if (quote is not None and not offered) or (goes_on and begun.end() < len(text)):
        return None
    answer = PYTHONIC.scan(text, final=final)
    if answer is None:
        return "open" if offered or len(text) <= NEAR else None
    if not isinstance(answer, Found) or not (offered or all(call.arguments for call in answer.calls)):
        return None
    end = answer.end
    if quote is not None and not text[:end].endswith("]"):
        end = min(end, _limit(text, 0))
    return Block(end, PYTHONIC.name, tuple(map(Written, answer.calls)))


def _json(text: str, tools: Tools, quote: str | None, *, final: bool) -> Block | Open | None:
    """JSON, with or without something around it."""
    # 1. what stands around it
    at, wrappers = 0, list[_Wrapper]()
    while text[at : at + 1] not in ("{", "["):
        opened = _wrapper(text, at, final=final)
        if opened is None or opened == "open":
            return opened
        at = skip_blanks(text, opened.end)
        wrappers.append(opened)
    if not _JSON_BEGINS.match(text, at):
        return None
    # 2. the JSON, and where all of it ends
    pieces, json_ends = _pieces(text, at)
    ends, closed = json_ends, True
    closers = [wrapper.closer for wrapper in reversed(wrappers) if wrapper.closer]
    for closer in closers:
        found = text.find(closer, ends)
        ends, closed = (found + len(closer), True) if found >= 0 else (ends if quote is not None else len(text), False)
    is_bare = not closers
    broken = text.startswith(("{", "["), json_ends)
    if is_bare and broken:
        ends, closed = len(text), False
    elif is_bare and quote and text.startswith(_CLOSING_QUOTES[quote], ends):
        ends += 1
    elif is_bare:  # a brace too many is no text of its own, and another object may follow
        ends += text.startswith("}", ends)
        closed = bool(text[ends:].strip(_SEPARATORS)) and not (_TAIL_BEGUN.fullmatch(text, ends) and not final)
        if not final and _STRAY_FENCE_BEGUN.fullmatch(text, ends):
            closed = False
        if "{" in text[at:json_ends] and (_TAIL if quote is None else _TAIL_IN_LINE).match(text, ends):
            stop = text.find("\n\n", ends) if quote is None else _limit(text, ends)
            ends, closed = (stop, True) if 0 <= stop < len(text) else (len(text), False)
    if not (closed or final):
        return "open"
    if quote is not None:
        whole = list(takewhile(lambda piece: _items(piece) != [piece], pieces))
        if broken or len(whole) < len(pieces):
            return _cut(text, at, ends, whole, tools)
    # 3. what is left besides: broken JSON, or what is none
    inside = text[json_ends:ends]
    for closer in reversed(closers):
        inside = inside.removesuffix(closer).rstrip(_SEPARATORS)
    form = " in ".join(("JSON", *(wrapper.name for wrapper in reversed(wrappers))))
    left = inside.strip(_SEPARATORS).removeprefix("}")
    if is_bare and _STRAY_FENCE.fullmatch(text, ends):
        ends = len(text)
    written = _written(pieces, inside if broken else "", "" if broken else left, tools)
    return Block(ends, form, tuple(written), any(wrapper.is_code for wrapper in wrappers))


def _cut(text: str, at: int, ends: int, whole: list[str], tools: Tools) -> Block | None:
    """The block inside a line that goes on with what can't be read: what can be, or so much of it as is no prose."""
    if whole:
        ends = at
        for piece in whole:
            ends = text.index(piece, ends) + len(piece)
        return Block(ends, "JSON", tuple(_written(whole, "", "", tools)))
    ends = min(ends, _limit(text, at))
    if not _shows_call(text[at:ends], tools):
        return None
    return Block(ends, "JSON", (Written(unreadable(text[at:ends]), "it can't be read"),))


def _limit(text: str, at: int) -> int:
    """Returns the latest end of JSON inside a line that can't be read; prose goes on there."""
    left = _LEAVES_JSON.search(text, at, at + NEAR)
    return left.start() if left else min(at + NEAR, len(text))


_TAGS: Final = ((PYTHON_TAG, "", "a python tag"), (_TOOLS, "</tools>", "<tools>"))
"""Tags around JSON, with what closes them and their names."""


def _wrapper(text: str, at: int, *, final: bool) -> _Wrapper | Open | None:
    """Finds the wrapper that is opened around JSON at a place."""
    begun = text[at:]
    for opener, closer, name in _TAGS:
        if begun.startswith(opener):
            return _Wrapper(at + len(opener), closer, name)
        if opener.startswith(begun):
            return None if final else "open"
    fence = _FENCE_OPENS.match(text, at)
    if fence is not None:
        return _Wrapper(fence.end(), fence[1], "a fence", is_code=fence[2].lower() not in _INFO)
    return "open" if not final and _FENCE_BEGUN.fullmatch(begun) else None


def _pieces(text: str, at: int) -> tuple[list[str], int]:
    """The bracketed texts from a place on, and where the last of them ends; a bracket there is never closed."""
    pieces, end = list[str](), at
    while text[at : at + 1] in ("{", "[") and not text.startswith(MISTRAL_RESULTS, at):
        stop = end_of(text, at)
        if stop is None:
            return pieces, at
        pieces.append(text[at:stop])
        end = stop
        between = _BETWEEN.match(text, stop)
        at = between.end() if between else stop
    return pieces, end


# --- from JSON to calls -----------------------------------------------------------------------------------------------


def _written(pieces: list[str], broken: str, rest: str, tools: Tools) -> Iterator[Written]:
    """The calls of a block; none if nothing in it has the shape of one."""
    items = [item for piece in pieces for item in _items(piece)]
    shaped = [*(_has_shape(item, tools) for item in items), bool(_HAS_ARGUMENTS.search(rest))]
    if broken:
        shaped.append(_may_call(broken, tools))
    if not any(shaped):
        return
    beside = "" if not rest and all(isinstance(item, dict) for item in items) else "something else stands beside it"
    for item in items:
        if isinstance(item, dict | list | str):
            written = _as_written(item)
            yield replace(written, fault=written.fault or beside)
    if broken:
        yield Written(unreadable(broken), "its JSON has no end")


def _items(piece: str) -> list[Any]:
    """The values of a bracketed text: of a list what is in it, of broken JSON the text."""
    for spelling in (piece, piece[1:-1] if piece.startswith("{{") else "", _STRING_OR_BRACES.sub(_single, piece)):
        try:
            value = loads(spelling)
        except ValueError:
            continue
        return value if isinstance(value, list) else [value]
    return [piece]


def _single(found: re.Match[str]) -> str:
    return found[0][0] if found[0] in ("{{", "}}") else found[0]


def _may_call(text: str, tools: Tools) -> bool:
    """True if a text that can't be read, or not yet, has the keys of a call."""
    return "{" in text and (bool(_KEY_OF_CALL.search(text)) or guess_name(text) in tools)


def _shows_call(text: str, tools: Tools) -> bool:
    """True if JSON inside a line that can't be read, or not yet, has a call's key with a value, or a tool's name."""
    return "{" in text and (bool(_KEY_AND_VALUE.search(text)) or _quotes_name(text, tools))


def _quotes_name(text: str, tools: Tools) -> bool:
    return any(f"{quote}{name}{quote}" in text for name in tools for quote in "\"'")


def _has_shape(item: Any, tools: Tools) -> bool:
    """True for what nobody writes but to call: an object with arguments, or one that names a tool, at any depth."""
    if isinstance(item, str):
        return _may_call(item, tools)
    inside = [item]
    while inside:
        value = inside.pop()
        if isinstance(value, list):
            inside += value
        elif isinstance(value, dict):
            named = any(isinstance(value.get(key), str) and value[key] in tools for key in _NAMING)
            keyed = len(value) == 1 and any(key in tools and isinstance(value[key], dict) for key in value)
            if named or keyed or _acts(value, tools) or any(key in value for key in _ARGUMENTS):
                return True
            inside += value.values()
    return False


def _acts(value: dict[str, Any], tools: Tools) -> bool:
    """True for the name of a tool beside arguments, under keys that data have, too, as logs and settings do."""
    if any(isinstance(one, str) and one in tools for one in value.values()) and value.keys() & _LIKE_ARGUMENTS:
        return True
    name = value.get("action")
    if not isinstance(name, str) or name not in tools:
        return False
    beside = value.keys() - _BESIDE - {"action"}
    return not beside or any(key in tools[name] for key in beside)


def _as_written(item: dict[str, Any] | list[Any] | str) -> Written:
    if not isinstance(item, dict):
        text = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
        return Written(unreadable(text), "it is no JSON object")
    inner = item.get("function")
    if isinstance(inner, dict) and "name" not in item:  # the form of the OpenAI API
        written = _as_written(inner)
        extra = sorted(map(str, item.keys() - {"function"} - _BESIDE))
        return Written(written.call, f"{extra[0]} is none of its keys") if extra else written
    given = [key for key in _ARGUMENTS if key in item]
    extra = sorted(map(str, item.keys() - _BESIDE - {*given}))
    fault = ""
    if not given:
        fault = "it has no arguments"
    elif len(given) > 1:
        fault = "it has its arguments twice"
    elif extra:
        fault = f"{extra[0]} is none of its keys"
    return Written(call_of(item), fault)


def calls_in(text: str, name: str) -> Iterator[ToolCall]:
    """The calls of a tool that stand anywhere in a text as JSON, in a sentence or within other JSON, too."""
    at = text.find("{") if name in text else -1
    ends: dict[int, int | None] = {}
    while at >= 0:
        if at not in ends and text[at - 1 : at] != "\\":
            ends |= ends_from(text, at)
        end = ends.get(at)
        for item in _items(text[at:end]) if end else ():
            if isinstance(item, dict) and _has_shape(item, {name: ()}):
                yield _as_written(item).call
        at = text.find("{", at + 1)
