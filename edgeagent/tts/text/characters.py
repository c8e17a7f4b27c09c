"""Characters as a voice takes them: a letter, a digit, a symbol with a name, or nothing. One character for one."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
import unicodedata
from typing import Final

DROP: Final = "\0"
"""Stands where nothing is said and nothing is parted."""
CLAUSE: Final = "\x01"
"""A short pause."""
STOP: Final = "\x02"
"""A long pause."""

SUPERSCRIPTS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
FRACTIONS: Final = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
NARROW: Final = "\u00a0"
"""Any space that joins the groups of a number."""
_ALIKE: Final = (
    dict.fromkeys("\u00a0\u2007\u2009\u202f", NARROW)
    | dict.fromkeys("●○▪▫■□◦‣⁃∙•", "•")
    | dict(zip("’‘ʼ‐‑∗∼∕⁄ℹ", "'''--*~// ", strict=True))
)
"""Characters that are read as another one."""
_SYMBOLS: Final = "⁻⁺°№℃℉+<=>^`|~±×÷¬−√∞≈≠≡≤≥→←↔⇒$€£¥₹¢"
_SELECTORS: Final = "\u20e3" + "".join(map(chr, range(0xFE00, 0xFE10)))


def _marks() -> str:
    """The combining marks of the basic plane as ranges for a character class."""
    ranges: list[list[int]] = []
    for point in range(0x300, 0x10000):
        if unicodedata.category(chr(point)) in ("Mn", "Mc") and chr(point) not in _SELECTORS:
            if ranges and ranges[-1][1] == point - 1:
                ranges[-1][1] = point
            else:
                ranges.append([point, point])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


LETTER: Final = rf"[^\W\d_{SUPERSCRIPTS}{FRACTIONS}]"
WORD: Final = rf"{LETTER}(?:{LETTER}|[{_marks()}]|['-](?={LETTER}))*+"
"""A word of letters, with the apostrophes and hyphens inside it."""


class _Table(dict[int, str]):
    """Table of what `str.translate` puts for each character; filled as characters are met."""

    def __missing__(self, point: int) -> str:
        said = self[point] = _said(chr(point))
        return said


def _said(char: str) -> str:
    if char in _ALIKE:
        return _ALIKE[char]
    category = unicodedata.category(char)
    match category:
        case "Cc":
            return "\n" if char in "\n\r\v\f\x85" else " " if char == "\t" else DROP
        case "Zl" | "Zp":
            return "\n"
        case "Zs":
            return " "
        case "Nd":
            return str(unicodedata.digit(char))
        case "No":
            if char in SUPERSCRIPTS or char in FRACTIONS:
                return char
            return str(unicodedata.digit(char)) if char.isdigit() else " "
        case "Mn" | "Mc":
            return DROP if char in _SELECTORS or ord(char) > 0xFFFF else char
        case "So" | "Sm" | "Sc":
            return char if char in _SYMBOLS else " "
        case "Sk":
            return char if char in "^`" else DROP
        case "Nl":
            return " "
        case "Lu" | "Ll" | "Lt" | "Lm" | "Lo":
            return char
        case _ if category[0] == "P":
            return char
        case _:
            return DROP


_TABLE: Final = _Table()
_KEYCAP: Final = re.compile("[0-9#*]\ufe0f?\u20e3")
_CRLF: Final = re.compile("\r(?=\n)")


def plain(text: str) -> str:
    """The text with every character replaced by what it is to a voice, of the same length.

    Digits become ASCII; apostrophes, hyphens, spaces and line ends become one kind each; emoji, and symbols without a
    name, become spaces; what is not seen, and half surrogates, become DROP.
    """
    text = _KEYCAP.sub(lambda found: DROP * len(found[0]), text)
    return _CRLF.sub(DROP, text).translate(_TABLE)
