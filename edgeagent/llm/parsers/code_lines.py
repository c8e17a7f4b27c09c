"""Lines of code that call a tool, at the beginning of a reply: ``drive(2)``, ``print(robot.drive(2))``.

Code is no form of a call, and no speech either: none of it runs, and none is told. The tools are known by their names
alone; what stands beside a call in its line decides if the line is code or prose. Pure functions, on any thread.
"""

from __future__ import annotations

import re
from typing import Final

from edgeagent.llm.parsers.alone import NEAR, Block, Open, Tools, Written
from edgeagent.messages import ToolCall, new_id

_BEFORE: Final = "await yield return".split()
"""Words before a call."""
_VALUES: Final = "result results response output res answer ret status value data".split()
"""Variables that models give a call's result to. No others, because a reply would wait for the sign after any word."""
_AROUND: Final = "print asyncio.run await str repr console.log".split()
"""Functions that are called with a call."""
_OWNERS: Final = "robot self bot agent tools tool functions function api client assistant base arm".split()
"""Objects whose method a tool is made."""
_BEGINNINGS: Final = (
    *(f"{word} " for word in _BEFORE),
    *(f"{word}{sign}" for word in _VALUES for sign in ("=", " =")),
    *(f"{word}(" for word in _AROUND),
    *(f"{word}." for word in _OWNERS),
)


def _either(words: list[str]) -> str:
    return "|".join(map(re.escape, words))


_LEAD: Final = re.compile(
    rf"`{{0,3}}(?:(?:{_either(_BEFORE)})[ \t]++|(?:{_either(_VALUES)})[ \t]*=[ \t]*|(?:{_either(_AROUND)})\([ \t]*"
    rf"|(?:{_either(_OWNERS)})\.(?:\w+\.)*+)*+"
)
"""Code before the name of a tool."""
_REST: Final = re.compile(r"[)\s.;`]*")
"""Code behind a call."""
_NEXT: Final = re.compile(r"\s*;\s*")
"""Signs between two calls in a line."""
_COMMENT: Final = re.compile(r"\s#.*")
_FENCE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*\r?\n")
_MARKS: Final = ("#", "//", "import ", "from ")
_BESIDE: Final = re.compile(rf"(?:(?:{_either([*_MARKS])}).*)?")
"""Lines of a fence beside the calls."""


def read_code(text: str, tools: Tools, *, final: bool) -> Block | Open | None:
    """Reads a line, or a fence, at the beginning of a reply that calls an offered tool as a program does.

    Args:
        text: What came so far, from the first sign that is no blank.
        tools: The tools that are offered.
        final: Nothing follows.
    """
    if fence := _FENCE.match(text):
        return _fenced(text, tools, fence, final=final)
    line, ends, _ = text.partition("\n")
    call = _call(line, tools, ends=bool(ends), final=final)
    return Block(len(line), "code", (call,)) if isinstance(call, Written) else call


def _fenced(text: str, tools: Tools, fence: re.Match[str], *, final: bool) -> Block | Open | None:
    """Reads a fence of which each line calls a tool, imports something or is a comment."""
    calls: list[Written] = []
    at = fence.end()
    while at <= min(len(text), NEAR):
        line, ends, _ = text[at:].partition("\n")
        bare, whole = _COMMENT.sub("", line).strip(), bool(ends) or final
        if bare.startswith(fence[1]):
            return Block(at + len(line), "code", tuple(calls)) if calls else None
        if not whole and (_BESIDE.fullmatch(bare) or any(mark.startswith(bare) for mark in (fence[1], *_MARKS))):
            return "open"
        if not _BESIDE.fullmatch(bare):
            call = _call(bare, tools, ends=bool(ends), final=final)
            if not isinstance(call, Written):
                return call
            calls.append(call)
        at += len(line) + 1
    return Block(len(text), "code", tuple(calls)) if calls and at > len(text) else None


def _call(line: str, tools: Tools, *, ends: bool, final: bool) -> Written | Open | None:
    """Reads a line that is a call of a tool and the code around it.

    Args:
        line: Without the end of the line.
        ends: The line has ended, and another one follows.
        final: Nothing follows.
    """
    lead = _LEAD.match(line)
    after = lead.end() if lead else 0
    begin = next((at for at in (0, after) if "(" in line[at:] and line[at:].partition("(")[0] in tools), None)
    if begin is None:
        left = line[after:]
        method = line[:after].endswith(".") and left.isidentifier()
        opens = method or any(known.startswith(left) for known in (*tools, *_BEGINNINGS))
        return "open" if opens and not (ends or final) else None
    name = line[begin:].partition("(")[0]
    closed = _closes(line, line.index("("))  # of print, in print(drive(2), 1)
    if closed is None and (ends or final):
        closed = _closes(line, begin + len(name))
    if (closed is None and ends) or (closed or len(line)) > NEAR:
        return None
    if closed is not None and not _REST.fullmatch(line, closed):
        next_one = _NEXT.match(line, closed) if len(line) <= NEAR else None
        more = _call(line[next_one.end() :], tools, ends=ends, final=final) if next_one else None
        if not isinstance(more, Written):
            return more
    if not (ends or final):
        return "open"
    return Written(ToolCall(new_id("call"), name, {}, raw=line), "it is code, and no JSON")


def _closes(text: str, at: int) -> int | None:
    """Returns the place behind the bracket that closes the one at a place; None if nothing does."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place + 1
    return None
