"""Protocol of a tool-call format; and what the formats share: how brackets are found, and values read.

The seam between the stream gate and the files beside this one. A value that is written a little wrong is read where
there is one reading, and left alone where there are two.
"""

from __future__ import annotations

import ast
import html
import io
import itertools
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn, Protocol

from edgeagent.messages import ToolCall


@dataclass(frozen=True, slots=True)
class Found:
    """Calls that stand in the first ``end`` characters of the text. A call that could not be read has ``raw`` set."""

    end: int
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class NotACall:
    """The first ``end`` characters are text after all."""

    end: int


class ReadsCalls(Protocol):
    """Reads the calls at the start of a text that begins with an opener of the format."""

    def __call__(self, text: str, *, final: bool) -> Found | NotACall | None:
        """Reads; None while more text could decide.

        With ``final`` nothing follows, and the answer is never None. What is certainly a call but can't be read comes
        as a call with ``raw``, so that the loop can tell the model.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFormat:
    """Form in which one family of models writes its calls. Stateless, so any thread may use it."""

    name: str
    """Name that ``LlamaLLM(tool_format=...)`` and the catalogue give the format."""
    scan: ReadsCalls
    openers: tuple[str, ...] = ()
    """Texts with which a call may begin, wherever they stand."""
    start_openers: tuple[str, ...] = ()
    """Single characters with which a call may begin, but only where the reply does, or after another call."""
    markers: tuple[str, ...] = ()
    """Texts of control tokens that the parser needs to see in a reply."""
    matches: Callable[[str], bool] = lambda template: True
    """True of a template's source that has the texts which this format needs; ``detect_format`` makes sure."""


_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}
_DEEPEST: Final = 50
"""Levels of the deepest JSON in which a call is looked for. Work grows as this number times the length of a text."""
_SIGNS: Final = {quotes: re.compile(rf"[{quotes}\\{{}}\[\]()]") for quotes in ('"', "\"'")}
"""Characters at which a bracket or a string may begin or end, by the quotes of strings."""


def end_of(text: str, at: int, *, quotes: str = '"') -> int | None:
    """The place after the bracket that closes the one at ``at``; None while it is open.

    Args:
        text: What came so far.
        at: Where the opening bracket is.
        quotes: What strings stand in; brackets inside them do not count.
    """
    return next((end for begin, end in _pairs(text, at, quotes) if begin == at), None)


def ends_from(text: str, at: int) -> dict[int, int | None]:
    """The ends of the bracket at ``at`` and of all that stand behind it, in one pass; None of one that never closes,
    and of one with more than ``_DEEPEST`` levels in it. Those in its strings and behind a backslash are left out."""
    ends: dict[int, int | None] = {}
    inside: list[tuple[int, int]] = []  # brackets that have closed, each with its levels
    for begin, end in _pairs(text, at, '"', every=True):
        levels = 1
        while inside and inside[-1][0] > begin:
            levels = max(levels, inside.pop()[1] + 1)
        inside.append((begin, levels))
        ends[begin] = end if levels <= _DEEPEST else None
    return ends


def _pairs(text: str, at: int, quotes: str, *, every: bool = False) -> Iterator[tuple[int, int | None]]:
    """The brackets from a place on with their ends, as they close; with ``every`` also those that never do."""
    open_at: list[int] = []
    quote = ""
    place = at
    while sign := _SIGNS[quotes].search(text, place):
        letter, place = sign[0], sign.end()
        if letter == "\\":
            place += bool(quote) or every
        elif quote:
            if letter == quote:
                quote = ""
        elif letter in quotes:
            quote = letter
        elif letter in _CLOSES:
            open_at.append(sign.start())
        elif letter in _CLOSES.values() and open_at:
            yield open_at.pop(), place
    if every:
        yield from ((begin, None) for begin in open_at)


def skip_blanks(text: str, at: int) -> int:
    """The first place from ``at`` on that is no blank."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


# --- values that are written a little wrong ---------------------------------------------------------------------------


_ESCAPED: Final = re.compile(r"&(?:quot|#34|#x22);")
_STRANGE_ESCAPE: Final = re.compile(r"""(?<!\\)(?:\\\\)*\\[^"'\\/bfnrtu]""")
_WORDS: Final = {"true": True, "false": False, "null": None}


def loads(text: str) -> Any:
    """The value of a JSON text, or of a text that says the same in another spelling.

    Read are: line breaks inside strings; JSON whose quotes are HTML escapes; Python's quotes, True, False, None and
    commas before a closing bracket.

    Raises:
        ValueError: It is none of these; also NaN, infinities and numbers of more digits than Python reads.
    """
    try:
        return _json(text)
    except ValueError:
        pass
    if _ESCAPED.search(text) and '"' not in text:
        return _json(html.unescape(text))
    return literal(text)


def literal(text: str) -> Any:
    """The value of a Python literal, in which JSON's true, false and null are words, too.

    Raises:
        ValueError: It is none.
    """
    return value_of(parse(text))


def parse(text: str) -> ast.expr:
    """A Python expression with one reading.

    Raises:
        ValueError: It is none; or it has an escape that JSON does not know, or two strings side by side, where a comma
            or a bracket may be missing.
    """
    if _STRANGE_ESCAPE.search(text):
        raise ValueError("an escape that is none in JSON")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(text.strip(), mode="eval").body
        kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline)]
    except (SyntaxError, Warning, RecursionError, MemoryError, tokenize.TokenError) as error:
        raise ValueError(str(error)) from error
    if any(pair == (tokenize.STRING, tokenize.STRING) for pair in itertools.pairwise(kinds)):
        raise ValueError("two strings side by side")
    return tree


def value_of(node: ast.expr) -> Any:
    """The JSON value of a parsed literal.

    Raises:
        ValueError: It is not made of constants, lists and dicts alone.
    """
    match node:
        case ast.Constant(value=str() | int() | float() | None):
            return node.value
        case ast.Name(id=word) if word in _WORDS:
            return _WORDS[word]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)) if number is not True:
            return -number
        case ast.List(elts=items):
            return [value_of(item) for item in items]
        case ast.Dict(keys=keys, values=values) if all(
            isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys
        ):
            pairs = zip(keys, values, strict=True)
            return {key.value: value_of(value) for key, value in pairs if isinstance(key, ast.Constant)}
    raise ValueError("not a literal")


def _json(text: str) -> Any:
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
