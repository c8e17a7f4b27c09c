"""Characters that need care: escape sequences of terminals, and the apostrophes that people and recognisers write.

Common beginnings of texts are here, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

_ESCAPES: Final = re.compile(
    r"""
      (?: \x1b\[ | \x9b ) [0-?]*+ [ -/]*+ [@-~]?                        # CSI: colours, the cursor
    | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] )                          # OSC, DCS, SOS, PM, APC:
          [^\x07\x18\x1a\x1b\x80-\x9f]*+                                #   titles, links, the clipboard
          (?: \x07 | \x1b\\ | \x9c | [\x18\x1a] )                       #   up to BEL, ST, CAN or SUB
    | \x1b[\]PX^_] [^\x07\x18\x1a\x1b\x80-\x9f\r\n]*+                   # the same without its end: the rest of the line
    | \x1b (?: [!-/]++ [0-9@ABGU]? | O[A-DFHP-S](?![a-z]) | [0-@\\|-~]  # character sets, arrow keys, the cursor kept
          | [A-Za-z] (?![A-Za-z'\u2019]) )?                             #   a letter, but never a word's; an ESC alone
    | [\x80-\x84\x86-\x9f]                                              # C1, but U+0085, which ends a line
    """,
    re.VERBOSE,
)
"""Each sequence with its parameters and terminator, seven bits or eight (C1). A letter after ESC that begins a word
stays, because "don't" must not become "on't". No two alternatives can begin within one another's run, so the time is
linear."""


def without_escapes(text: str) -> str:
    """The text without escape sequences, parameters and all: what a terminal would have shown of it."""
    return _ESCAPES.sub("", text)


def with_escapes_as(mark: str, text: str) -> str:
    """The text, of the same length, with a character in the place of each of an escape sequence."""
    return _ESCAPES.sub(lambda found: mark * len(found[0]), text)


def values_without_escapes(value: Any) -> Any:
    """A copy of JSON-like data with every string without them, keys included."""
    return with_texts(value, without_escapes)


def with_texts(value: Any, changed: Callable[[str], str]) -> Any:
    """A copy of JSON-like data with every string as it is changed, keys included."""
    match value:
        case str():
            return changed(value)
        case dict():
            return {changed(str(key)): with_texts(item, changed) for key, item in value.items()}
        case list():
            return [with_texts(item, changed) for item in value]
    return value


def encodable(value: Any) -> Any:
    """A copy of JSON-like data that can be sent: a half of a surrogate pair, which models write, is a question mark."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


APOSTROPHES: Final = "'\u2019\u2018\u02bc`"
"""The plain one; the two single quotation marks; the letter; the accent that some keyboards have in its place."""

_INSIDE: Final = re.compile(rf"(?<=\w)[{APOSTROPHES}](?=\w)")


def plain_apostrophes(text: str) -> str:
    """The text with a plain apostrophe inside of every word; quotation marks around words stay as they are."""
    return _INSIDE.sub("'", text)


def common_length(one: str, other: str) -> int:
    """Counts the characters with which both texts begin. Few comparisons, since prompts are long."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
