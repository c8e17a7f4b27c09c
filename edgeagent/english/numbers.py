"""Numbers as they are read aloud: digits, and the rows of rules that reading text is made of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from unicode_rbnf import FormatPurpose, RbnfEngine
from unicode_rbnf.engine import RbnfError

from edgeagent.english.number_words import ONES

Say = Callable[[re.Match[str]], str | None]
"""Gives the words for all of a match, or None if the match is none of its kind."""


class Rule(NamedTuple):
    """Pattern and its words."""

    pattern: re.Pattern[str]
    say: Say


def rules(*rows: tuple[str, Say]) -> tuple[Rule, ...]:
    """Rules of patterns and their words, in their order."""
    return tuple(Rule(re.compile(pattern), say) for pattern, say in rows)


def either(texts: Iterable[str]) -> str:
    """A pattern for one of some texts."""
    return "|".join(sorted(map(re.escape, texts), key=len, reverse=True))


def ahead(found: re.Match[str], size: int) -> str:
    """The characters in front of a match, as many as there are."""
    return found.string[max(0, found.start() - size) : found.start()]


def before(found: re.Match[str]) -> str:
    """The character in front of a match, or a space."""
    return ahead(found, 1) or " "


# ruff: noqa: RUF001 - text has dashes and the like that look alike


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


_MARKS: Final = "".join(
    sign for sign in map(chr, range(0x300, 0x10000)) if unicodedata.category(sign) in ("Mn", "Mc")
).translate(str.maketrans("", "", _SELECTORS))
"""The combining marks of the basic plane."""
LETTER: Final = rf"[^\W\d_{SUPERSCRIPTS}{FRACTIONS}]"
WORD: Final = rf"{LETTER}(?:{LETTER}|[{_MARKS}]|['-](?={LETTER}))*+"
"""A word of letters, with the apostrophes and hyphens inside it."""


class _Table(dict[int, str]):
    """Table of what `str.translate` puts for each character; filled as characters are met."""

    def __missing__(self, point: int) -> str:
        said = self[point] = _said(chr(point))
        return said


def _said(char: str) -> str:
    if char in _ALIKE:
        return _ALIKE[char]
    if char in _SYMBOLS or char in SUPERSCRIPTS or char in FRACTIONS or char.isalpha():
        return char
    if char.isdigit():
        return str(unicodedata.digit(char))
    match unicodedata.category(char):
        case "Cc":
            return "\n" if char in "\n\r\v\f\x85" else " " if char == "\t" else DROP
        case "Zl" | "Zp":
            return "\n"
        case "Zs" | "No" | "Nl" | "So" | "Sm" | "Sc":
            return " "
        case "Mn" | "Mc":
            return DROP if char in _SELECTORS or ord(char) > 0xFFFF else char
        case category:
            return char if category[0] == "P" else DROP


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


NUMBER: Final = (
    rf"(?:[0-9]{{1,3}}(?:[,{NARROW}][0-9]{{3}})++(?![0-9])(?:\.[0-9]++)?"
    r"|(?<![0-9] )[1-9][0-9]{0,2}(?: [0-9]{3}){0,3} 0[0-9]{2}(?![0-9 .-][0-9]|[0-9])|[0-9]++(?:\.[0-9]++)?)"
)
"""A number without a sign: 5, 2.5, 1,000, 10 000 with a narrow space, or with any if a group begins with 0."""
END: Final = r"(?![^\W_])"
"""No letter or digit follows."""

_LONGEST: Final = 12
"""Digits of the longest number that is read as one."""
_SERIAL: Final = 7
"""Digits from which a number without separators and zeros at its end is read digit by digit."""
_PARTS: Final = dict(
    zip(FRACTIONS, "1/2 1/3 2/3 1/4 3/4 1/5 2/5 3/5 4/5 1/6 5/6 1/8 3/8 5/8 7/8".split(), strict=True),
)


@lru_cache(maxsize=8)
def _engine(language: str) -> RbnfEngine | None:
    for name in (language.replace("-", "_"), re.split("[-_]", language)[0]):
        if name in RbnfEngine.get_supported_languages():
            return RbnfEngine.for_language(name)
    return None


@lru_cache(maxsize=4096)
def _words(number: int, purpose: FormatPurpose, language: str) -> str | None:
    engine = _engine(language)
    if engine is None:
        return None
    try:
        return engine.format_number(number, purpose).text
    except (RbnfError, ValueError):
        return None


def in_language(digits: str, language: str) -> str:
    """An integer in the words of a language; the digits themselves where the rules have none."""
    if len(digits) > _LONGEST:
        return digits
    return _words(int(digits), FormatPurpose.CARDINAL, language) or digits


def spelled(digits: str) -> str:
    """Digit by digit."""
    return " ".join(ONES[int(digit)] for digit in digits)


def cardinal(digits: str) -> str:
    """An integer: as one number, or digit by digit where it is a code or is too long."""
    if len(digits) > _LONGEST or (len(digits) > 1 and digits[0] == "0"):
        return spelled(digits)
    return _words(int(digits), FormatPurpose.CARDINAL, "en") or spelled(digits)


def ordinal(number: int) -> str:
    """first, twenty-second."""
    return _words(number, FormatPurpose.ORDINAL, "en") or cardinal(str(number))


def year(digits: str) -> str:
    """twenty twenty-six, nineteen oh five."""
    return (_words(int(digits), FormatPurpose.YEAR, "en") or cardinal(digits)).replace("oh-", "oh ")


def number(text: str) -> str:
    """A NUMBER in words."""
    whole, point, decimals = text.replace(",", "").replace(NARROW, "").replace(" ", "").partition(".")
    grouped = len(whole) + len(point) + len(decimals) < len(text)
    if not grouped and not point and len(whole) >= _SERIAL and not whole.endswith("000"):
        return spelled(whole)
    return f"{cardinal(whole)} point {spelled(decimals)}" if point else cardinal(whole)


def is_year(digits: str) -> bool:
    """True if four digits may be a year of our time."""
    return len(digits) == 4 and digits[:2] in ("19", "20")


_IDIOMS: Final = {(24, 7): "twenty-four seven", (50, 50): "fifty-fifty"}


def fraction(over: int, under: int) -> str:
    """one half, three quarters; "seven over three" where it is no part of one."""
    if (over, under) in _IDIOMS:
        return _IDIOMS[over, under]
    if not (0 < over < under and (under <= 20 or under in (32, 50, 64, 100, 1000))):
        return f"{cardinal(str(over))} over {cardinal(str(under))}"
    part = {2: "half", 4: "quarter"}.get(under) or ordinal(under)
    return f"{cardinal(str(over))} {part}{'' if over == 1 else 's'}"


def with_part(whole: str, part: str) -> str:
    """A whole number and a part of one, both in words: two and a half."""
    return f"{whole} and {part.replace('one half', 'a half').replace('one quarter', 'a quarter')}"


def mixed(whole: str | None, sign: str) -> tuple[str, bool]:
    """A number with a fraction sign in words, and whether it counts at most one."""
    words = fraction(*map(int, _PARTS[sign].split("/")))
    if not whole:
        return words, True
    return with_part(cardinal(whole), words), False


def _slashed(found: re.Match[str]) -> str | None:
    words = fraction(int(found[2]), int(found[3]))
    if found[1] is None:
        return words
    if "over" in words:
        return None
    return with_part(cardinal(found[1]), words)


def _groups(found: re.Match[str]) -> str | None:
    text = found[0]
    digits = re.findall("[0-9]+", text)
    if sum(map(len, digits)) < _SERIAL:
        return None
    return ("plus " if text[0] == "+" else "") + ", ".join(map(spelled, digits))


def _power(found: re.Match[str]) -> str | None:
    """6.02e23, 10²³, 2⁻³; one square or cube is read with its unit or name."""
    exponent = found["exponent"] or found["raised"].translate(_LOWERED)
    if found["raised"] in ("²", "³") or before(found).isalnum():
        return None
    base = f"{number(found['base'])} times ten" if found["exponent"] else number(found["base"])
    minus = "minus " if exponent[0] in "-−" else ""
    return f"{base} to the power of {minus}{cardinal(str(int(exponent.strip('+-−'))))}"


def _dotted(found: re.Match[str]) -> str:
    parts = found[0].split(".")
    address = len(parts) == 4 and max(map(len, parts)) > 1
    return (" dot " if address else " point ").join(map(spelled if address else cardinal, parts))


def _by(found: re.Match[str]) -> str | None:
    return None if found[0] == "0x" else f"{number(found[1])} by"


_LOWERED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
RULES: Final = rules(
    (
        rf"(?P<base>{NUMBER})(?:[eE](?P<exponent>[-−+]?[0-9]{{1,3}})|(?P<raised>[⁻⁺]?[{SUPERSCRIPTS}]{{1,4}})){END}",
        _power,
    ),
    (rf"({NUMBER})(?: x |x)(?=[0-9])", _by),
    # Telephone numbers and the like: three groups and more, or two as +49 123 or 555-0199.
    (rf"\+[0-9]{{1,3}}(?:[ .-]?\(?[0-9]{{1,14}}\)?){{1,6}}{END}", _groups),
    (rf"\(?[0-9]{{3,5}}\)?[ -][0-9]{{3,4}}-[0-9]{{3,4}}{END}", _groups),
    (rf"[0-9]{{1,5}}(?:-[0-9]{{1,6}}){{2,8}}{END}", _groups),
    (rf"0[0-9]{{1,4}} [0-9]{{3,8}}(?: [0-9]{{2,4}}){{0,3}}{END}", _groups),
    (rf"[0-9]{{3}}-[0-9]{{4}}{END}(?! ?[^\W\d_]{{1,3}}\b)", _groups),
    (rf"[0-9]{{1,9}}(?:\.[0-9]{{1,9}}){{2,9}}{END}", _dotted),
    (rf"(?:([0-9]{{1,4}}) )?([0-9]{{1,4}})/([0-9]{{1,4}})(?!/){END}", _slashed),
)
