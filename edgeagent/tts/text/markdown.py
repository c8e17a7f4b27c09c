"""Visible part of a reply: Markdown, thinking, fenced code and emoji taken out, pauses put in.

Every step replaces text by text of the same length, so an offset stays an offset in the source. Knows nothing of words.
Emphasis, links and the like are recognised piece by piece, not paired: a piece of a reply may hold half of one.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final

from edgeagent.escapes import with_escapes_as
from edgeagent.tts.text.characters import CLAUSE, DROP, STOP, plain
from edgeagent.tts.text.hidden import holes

Match = re.Match[str]


def _drop(found: Match) -> str:
    return DROP * len(found[0])


def _space(found: Match) -> str:
    return " ".ljust(len(found[0]), DROP)


def _clause(found: Match) -> str:
    return CLAUSE.ljust(len(found[0]), DROP)


def _stop(found: Match) -> str:
    return STOP.ljust(len(found[0]), DROP)


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

_STEPS: Final[tuple[tuple[re.Pattern[str], Callable[[Match], str]], ...]] = tuple(
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
