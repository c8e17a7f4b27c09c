"""Markdown taken out of a reply, and parts of it that are not for speaking."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from edgeagent.characters import with_escapes_as
from edgeagent.english.numbers import CLAUSE, DROP, STOP, plain

#: The markers of edgeagent.llm.stream_gate, which this room may not import, and HTML's comment.
PAIRS: Final = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<|channel>thought", "<channel|>"),
    ("<!--", "-->"),
)
_CLOSES: Final = tuple(closes for _, closes in PAIRS[:-1])
_MARKERS: Final = (*(opens for opens, _ in PAIRS), *_CLOSES)
LONGEST: Final = max(map(len, _MARKERS))
"""Characters of the longest marker."""

#: Where a hidden part may begin: a marker, or a run of backticks or tildes.
STARTS: Final = "<[`~"
_FENCE: Final = re.compile(r"(`{3,}+|~{3,}+)")
_LOOK_BACK: Final = 200
_LOOK_AHEAD: Final = 100
"""Characters of a line before and after a fence that are read to judge it."""
_INFO: Final = re.compile(r"[ \t]*+[^\s`]{0,40}+[ \t]*+\r?$")


@dataclass(frozen=True, slots=True)
class Hole:
    """The beginning of a hidden part, ``text[start:after]``, and how it closes. ``closes`` is None for a lone end of
    thinking, which hides all before it."""

    start: int
    after: int
    closes: re.Pattern[str] | None
    fence: bool = False


class Unclear(Exception):
    """More text is needed to tell whether a hidden part begins here."""


def _marker(text: str, at: int) -> Hole | None:
    for opens, closes in PAIRS:
        if text.startswith(opens, at):
            return Hole(at, at + len(opens), re.compile(re.escape(closes)))
    for closes in _CLOSES:
        if text.startswith(closes, at):
            return Hole(at, at + len(closes), None)
    return None


def _fence(text: str, at: int, more: bool) -> Hole | None:
    run = _FENCE.match(text, at)
    if run is None:
        short = text[at : at + 3]
        if more and at + len(short) == len(text) and len(set(short)) == 1:
            raise Unclear
        return None
    line_start = text.rfind("\n", max(0, at - _LOOK_BACK), at) + 1
    before = text[line_start:at] if line_start or at <= _LOOK_BACK else "long"
    alone = not before.strip(" \t>")
    if "```" in before or (run[0][0] == "~" and not alone):
        return None
    if more and run.end() == len(text):
        raise Unclear
    end = text.find("\n", run.end(), run.end() + _LOOK_AHEAD)
    if end < 0 and more and len(text) - run.end() < _LOOK_AHEAD:
        raise Unclear
    line = text[run.end() : end if end >= 0 else run.end() + _LOOK_AHEAD]
    info = end >= 0 and _INFO.match(line) is not None
    opens = (run[0][0] == "~" or "`" not in line) if alone else info
    # Models also close a fence at the end of a line of code, or go on in the same line after a space.
    closes = rf"{re.escape(run[0][0])}{{{len(run[0])},}}+(?=\s|\Z)"
    return Hole(at, run.end(), re.compile(closes), fence=True) if opens else None


def opening(text: str, at: int, *, more: bool) -> Hole | None:
    """The hidden part that begins exactly here, if one does.

    Raises:
        Unclear: Only with ``more``: what follows decides.
    """
    char = text[at]
    if char in "`~":
        if at and text[at - 1] == char:  # inside a run that has been judged
            return None
        return _fence(text, at, more)
    found = _marker(text, at)
    if found is None and more and len(text) - at < LONGEST:
        rest = text[at:]
        if any(marker.startswith(rest) for marker in _MARKERS):
            raise Unclear
    return found


_ANY: Final = re.compile("|".join((*map(re.escape, _MARKERS), "`{3,}+", "~{3,}+")))


def holes(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start, end and "is a fence" of each hidden part of a whole text, in order."""
    at = shown = 0
    while found := _ANY.search(text, at):
        hole = opening(text, found.start(), more=False)
        if hole is None:
            at = found.end()
            continue
        if hole.closes is None:
            yield shown, hole.after, False
            at = shown = hole.after
            continue
        closed = hole.closes.search(text, hole.after)
        at = shown = closed.end() if closed else len(text)
        yield hole.start, at, hole.fence


Match = re.Match[str]


Put = Callable[[Match], str]
"""Gives what stands in the place of a match, as long as it."""


def _only(sign: str) -> Put:
    return lambda found: sign.ljust(len(found[0]), DROP)


_drop, _space, _clause, _stop = map(_only, ("", " ", CLAUSE, STOP))


def _stop_last(found: Match) -> str:
    return found[0][:-1] + STOP if found[0][-1] == "\n" else found[0]


def _keep_group(found: Match) -> str:
    """Drops all but the first group."""
    kept = found.start(1) - found.start()
    return DROP * kept + found[1] + DROP * (len(found[0]) - kept - len(found[1]))


def _prefix(found: Match) -> str:
    """Only a block quote begins without a pause: its lines are one text."""
    return _drop(found) if not found[0].strip(f" \t>{DROP}") else _stop(found)


def _tag(found: Match) -> str:
    return _clause(found) if found[1].lower() in ("br", "p", "li", "div", "tr", "td", "th", "hr") else _drop(found)


def _entity(found: Match) -> str:
    char = html.unescape(found[0])
    # An unescaped control character would be a mark of our own.
    return (plain(char) if len(char) == 1 else " ").ljust(len(found[0]), DROP)


def _stars(found: Match) -> str:
    """Emphasis is dropped; a star between numbers, or one that stands alone in a line, multiplies; two are a power."""
    text, start, end = found.string, found.start(), found.end()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    numbers = (before.isdigit() or before == ")") and (after.isdigit() or after == "(")
    if len(found[0]) == 1 and (numbers or before == after == " "):
        return "*"
    return "^" + DROP if len(found[0]) == 2 and numbers else _drop(found)


_ATX: Final = r"#{1,6}+(?=[ \t]|$)"
_ITEM: Final = r"[-*+•](?=[ \t])|[0-9]{1,3}+[.)](?=[ \t]++\S)"
_URL_TARGET: Final = (
    r"\([ \t]*+<?[^\s()<>]{0,2000}+(?:\([^\s()]{0,200}+\)[^\s()]{0,2000}+)?>?"
    r"(?:[ \t]++(?:\"[^\"\n]{0,300}+\"|'[^'\n]{0,300}+'))?[ \t]*+\)"
)

_STEPS: Final[tuple[tuple[re.Pattern[str], Put], ...]] = tuple(
    (re.compile(pattern, re.MULTILINE), put)
    for pattern, put in (
        # Lines: rules and underlines, the row under a table's head, definitions of links.
        (r"^[ \t]*+(?:[-=_*][ \t]*+){2,}+$", _stop),
        (r"^[ \t]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-*+:?[ \t]*+)++$", _stop),
        (r"^ {0,3}+\[[^\]\n^][^\]\n]{0,200}+\]:[ \t]++\S++[^\n]*+$", _drop),
        # Their beginnings, then their ends: of headings and list items that do not go on, of rows and paragraphs.
        (rf"^(?:[ \t]*+(?:>(?![0-9=])|{_ATX}|{_ITEM}))++[ \t]*+(?:\[[ xX]\](?=[ \t]))?", _prefix),
        (rf"^{STOP}[^\n]*+\n(?![ \t])", _stop_last),
        (r"\|[^\n]*+\n?", _stop_last),
        (r"\n(?=[ \t\0]*+\n)", _stop),
        (r"(?<=[ \t])#++[ \t]*+$", _drop),
        # In the line.
        (r"<(https?://[^\s<>]{1,2000}+|[^\s<>@]{1,64}+@[^\s<>@]{1,200}+)>", _keep_group),
        (r"</?([A-Za-z][A-Za-z0-9]{0,15}+)(?:\s[^<>]{0,300}+)?/?>", _tag),
        (r"&(?:#[0-9]{1,7}+|#[xX][0-9a-fA-F]{1,6}+|[A-Za-z][A-Za-z0-9]{1,30}+);", _entity),
        (r"\\(?=[!-/:-@\[-`{-~])", _drop),
        (rf"\]{_URL_TARGET}", _drop),
        (r"\]\[[^\]\[\n]{0,200}+\]", _drop),
        (r"\[\^[^\]\[\s]{1,50}+\]:?", _drop),
        (r"!(?=\[)", _drop),
        (r"\*++", _stars),
        (r"(?<![^\W_])_++|_++(?![^\W_])|`++|~~++", _drop),
        (r"(?<![^\s\0])[:;]'?-?[()DPp|/\\](?![^\s\0.,!?])", _space),
        (r"\|++", _clause),
    )
)


def mask(source: str) -> str:
    """Masks a source: what is seen of it, of the same length, with DROP for what is not, and CLAUSE and STOP for
    pauses."""
    text = source
    cuts = [(start, end, fence) for start, end, fence in holes(source) if end > start]
    if cuts:
        pieces, at = [], 0
        for start, end, fence in cuts:
            pieces += [source[at:start], "\n" * fence + " " * (not fence), DROP * (end - start - 1)]
            at = end
        text = "".join((*pieces, source[at:]))
    text = plain(with_escapes_as(DROP, text))
    for pattern, put in _STEPS:
        text = pattern.sub(put, text)
    return text
