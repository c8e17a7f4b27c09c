"""Amounts with units, money, and symbols as they are read aloud."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from edgeagent.english.number_words import SYMBOLS
from edgeagent.english.numbers import (
    CLAUSE,
    END,
    FRACTIONS,
    NARROW,
    NUMBER,
    STOP,
    before,
    fraction,
    is_year,
    mixed,
    number,
    rules,
    spelled,
    with_part,
    year,
)
from edgeagent.english.word_data import lists

# ruff: noqa: RUF001 - text has dashes and the like that look alike


_READ: Final = lists("signs")
_SPACED: Final = frozenset("K A F B x".split())
"""Not units right after an integer: 4K, 3A; "x" only there."""
_LENGTHS: Final = frozenset("nm µm μm um mm cm dm m km".split())
"""Units of length; a unit that stands over one of these is over an area or a volume."""
_HOURS: Final = frozenset("h hr hrs".split())
_EVERY: Final = frozenset("day week month year night hour minute second person piece item head serving".split())
"""A word that is counted off: 5 $/month."""
_SQUARED: Final = {"²": "square", "2": "square", "^2": "square", "³": "cubic", "3": "cubic", "^3": "cubic"}
_POWERS: Final = {"²": " squared", "2": " squared", "^2": " squared", "³": " cubed", "3": " cubed", "^3": " cubed"}
_CURRENCIES: Final[dict[str, tuple[str, str, str]]] = _READ.table("currencies")
_SCALES: Final[dict[str, str]] = _READ.table("scales")
"""B only of money: 7B is a door, 5 B are bytes."""
_SIGNS: Final[dict[str, str]] = _READ.table("signs")


def _either(symbols: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, symbols), key=len, reverse=True))


_SYMBOL: Final = rf"(?:{_either(SYMBOLS)})"
UNIT: Final = rf"{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?(?:/{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?)?"
_AMOUNT: Final = re.compile(
    rf"(?P<sign>[-−+±~≈] ?)?(?P<currency>[$€£] ?)?(?P<sign_after>[-−])?"
    rf"(?:(?P<whole>[0-9]{{1,4}}+)?[ {NARROW}]?(?P<part>[{FRACTIONS}])|(?P<number>{NUMBER}|\.[0-9]++)"
    rf"(?:(?:[ {NARROW}]?(?P<first>{UNIT}))?(?P<to>[-–—−]| [–—] ?|\.{{2,3}})"
    rf"(?P<to_sign>[$€£]|[-−](?=[0-9]))?(?P<second>{NUMBER}))?)"
    rf"(?:[ {NARROW}]?(?P<scale>(?:thousand|million|billion|trillion|k|M|mn|bn|(?<![ {NARROW}])B){END}))?"
    rf"(?:(?P<gap>[ {NARROW}]?)(?:(?P<unit>{UNIT})|(?P<money>[$€£]|(?:USD|EUR|GBP)))(?![²³0-9]){END})?{END}"
    rf"(?:(?<=[a-z])\.(?= [a-z]))?(?:/(?P<each>{_either(_EVERY)}|{_SYMBOL}){END})?(?!\.[0-9])"
)


def unit(symbol: str, *, one: bool) -> str:
    """A unit in words: "m/s" is meters per second."""
    over, slash, under = symbol.partition("/")
    words = _power(over, one=one)
    if not slash:
        return words
    base, exponent = _split(under)
    if exponent and base in _LENGTHS and base != over:
        return f"{words} per {_power(under, one=True)}"
    return f"{words} per {SYMBOLS[base][0]}{_POWERS.get(exponent, '')}"


def _split(symbol: str) -> tuple[str, str]:
    base = symbol.rstrip("²³23").rstrip("^")
    return base, symbol[len(base) :]


def _power(symbol: str, *, one: bool) -> str:
    base, exponent = _split(symbol)
    words = SYMBOLS[base][0 if one else 1]
    return f"{_SQUARED[exponent]} {words}" if exponent else words


def _money(found: re.Match[str], symbol: str, words: str, scale: str | None) -> str:
    one, many, cent = _CURRENCIES[symbol]
    first, second = found["number"], found["second"]
    whole, point, cents = (first or "").partition(".")
    if point and len(cents) == 2 and cent and not scale and not second and whole:
        count = int(cents)
        if not count:
            return f"{number(whole)} {one if whole == '1' else many}"
        names = "pence" if cent == "penny" and count > 1 else cent if count == 1 else f"{cent}s"
        small = f"{number(str(count))} {names}"
        return small if whole == "0" else f"{number(whole)} {one if whole == '1' else many} and {small}"
    return f"{words} {one if first == '1' and not scale and not second else many}"


def _amount(found: re.Match[str]) -> str | None:
    sign, currency = (found["sign"] or "").strip(), (found["currency"] or "").strip()
    # A sign after a letter or a digit is a hyphen or an operator, and so is one that stands alone.
    if sign and (before(found).isalnum() or (found["sign"].endswith(" ") and sign not in "~≈±")):
        return None
    suffix, symbol, scale = found["unit"], found["money"] or currency, found["scale"]
    if suffix and not _fits(found, suffix):
        return None
    if scale == "B" and not symbol:
        return None
    if found["each"] and not symbol:
        return None
    if found["part"]:
        words, one = mixed(found["whole"], found["part"])
    else:
        one = found["number"] in ("1", "1.0") and not found["second"]
        words = _value(found, suffix or symbol)
    if scale:
        words = f"{words} {_SCALES.get(scale, scale)}"
        one = False
    if symbol:
        words = _money(found, symbol, words, scale)
    if suffix:
        words = f"{words} {unit(suffix, one=one)}"
    if found["each"]:
        words = f"{words} per {SYMBOLS[found['each']][0] if found['each'] in SYMBOLS else found['each']}"
    said = [_SIGNS[sign]] if sign else []
    return " ".join((*said, "minus", words) if found["sign_after"] else (*said, words))


def _fits(found: re.Match[str], suffix: str) -> bool:
    """True if letters behind a number are a unit: 3 A and 2.3A, not 3A; 2x, not 2 x or the 2x of a term."""
    if suffix == "x":
        return not found["gap"] and not re.match(r" ?[-−+*/^=] ?[^\W_]", found.string[found.end() : found.end() + 4])
    return suffix not in _SPACED or bool(found["gap"]) or "." in (found["number"] or "")


def _comma(found: re.Match[str]) -> str | None:
    """1,5 km and 2,50 €, as they are written where the comma is the point."""
    amount = _AMOUNT.fullmatch(found[0].replace(",", "."))
    return None if amount is None or before(found) in ".,-" else _amount(amount)


def _part(found: re.Match[str]) -> str | None:
    """1/2 mile, 3/4 h, 1 1/2 tsp"""
    whole, over, under = found[1], int(found[2]), int(found[3])
    words = fraction(over, under)
    symbol = found["unit"]
    if "over" in words or symbol in _SPACED:
        return None
    if whole:
        return f"{with_part(number(whole), words)} {unit(symbol, one=False)}"
    one = unit(symbol, one=True)
    return (
        f"{words} {one}" if over == 1 else f"{words} of {'an' if one[0] in 'aeio' or symbol in _HOURS else 'a'} {one}"
    )


def _value(found: re.Match[str], measured: str | None) -> str:
    first, second = found["number"], found["second"]
    words = f"zero point {spelled(first[1:])}" if first[0] == "." else number(first)
    if found["first"]:
        words = f"{words} {unit(found['first'], one=first == '1')}"
    if not second:
        return words
    to = "minus " if found["to_sign"] in ("-", "−") else ""
    if not measured and is_year(first) and is_year(second):
        return f"{year(first)} to {year(second)}"
    return f"{words} to {to}{number(second)}"


def _alone(found: re.Match[str]) -> str | None:
    """A unit without a number, where nothing else is written so: m/s, °C, m²."""
    symbol = found[0]
    if before(found).isalnum() or symbol[0] == "x" or not any(char in symbol for char in "/²³°℃℉%‰"):
        return None
    if symbol.isascii() and symbol.upper() == symbol and "%" not in symbol:  # A/B and N/A
        return None
    return unit(symbol, one=False)


FRACTION_RULES: Final = rules(
    (rf"(?:([0-9]{{1,4}}) )?([0-9]{{1,4}})/([0-9]{{1,4}}) ?(?P<unit>{UNIT}){END}(?:\.(?= [a-z]))?", _part),
)
"""Before those of numbers."""
_MEASURE: Final = rf"(?:{UNIT}|[€£$]|EUR)"
RULES: Final = rules((rf"[0-9]++,[0-9]{{1,2}}[ {NARROW}]?{_MEASURE}{END}", _comma), (_AMOUNT.pattern, _amount))
WORD_RULES: Final = rules(
    (rf"(?<=[a-z]/)(?:min|sec|hr|h|s){END}", lambda found: SYMBOLS[found[0]][0]),
    (rf"(?:{UNIT}){END}", _alone),
)


#: Punctuation of all scripts as what a voice knows.
PAUSES: Final = {
    ",": ",", ";": ";", ":": ":", ".": ".", "!": "!", "?": "?", CLAUSE: ",", STOP: ".",
    "，": ",", "、": ",", "；": ";", "：": ":", "。": ".", "！": "!", "？": "?", "．": ".", "｡": ".",
    "؟": "?", "،": ",", "؛": ";", "।": ".", "॥": ".", "۔": ".", "…": ".", "‼": "!", "⁇": "?", "⁈": "?", "⁉": "!",
}  # fmt: skip
STRENGTH: Final = {"": 0, ",": 1, ";": 2, ":": 2, ".": 3, "!": 4, "?": 5}
_BRACKETS: Final = "()（）"
_DASHES: Final = "-‒–—―−"

_BETWEEN: Final[dict[str, str]] = _READ.table("between")
_LONE_SYMBOLS: Final[dict[str, str]] = _READ.table("lone_symbols")
_LONG: Final[dict[str, str]] = _READ.table("long")
_RATES: Final = frozenset("min minute s sec second h hr hour day night week month year person".split())
"""Units that things are counted by: 60 beats/min."""
_OPERANDS: Final = ")]²³°%"

DOTS: Final = re.compile(r"\.{2,}+|…++")


def _side(char: str) -> bool:
    return char.isalnum() or char in _OPERANDS


def word(text: str, at: int) -> str | None:
    """The words for a symbol, seen between its neighbours, or None where it says nothing."""
    char = text[at]
    left, right = text[max(0, at - 2) : at], text[at + 1 : at + 3]
    near_left, near_right = left[-1:], right[:1]
    far_left = left.rstrip()[-1:] or " "
    far_right = right.lstrip()[:1] or " "
    if char in _LONE_SYMBOLS:
        return _LONE_SYMBOLS[char]
    if char == "#":
        return _hash(near_left, near_right)
    if char == "/":
        return _slash(text, at)
    numbers = far_left.isdigit() and far_right.isdigit()
    if char in _DASHES and near_left == near_right == " " and numbers:
        return "to" if char in "–—" else "minus"
    if char in "-–—" and _clock(text, at):
        return "to"
    if char in _BETWEEN:
        return _operator(char, far_left, far_right)
    return None


def _operator(char: str, left: str, right: str) -> str | None:
    if char == "+" and left.isalnum() and not right.isalnum():
        return "plus"
    if char in "<>≤≥" and right.isdigit() and not _side(left):
        return _BETWEEN[char].removeprefix("is ")
    sides = _side(left) and (right.isalnum() or right in "(√-−.$€£∞")
    return _BETWEEN[char] if sides and right != " " else None


def _hash(left: str, right: str) -> str | None:
    if left.isalnum():
        return "sharp" if left.isalpha() and not right.isalnum() else None
    return "number" if right.isdigit() else "hashtag" if right.isalpha() else None


def _slash(text: str, at: int) -> str | None:
    left, right = text[max(0, at - 16) : at], text[at + 1 : at + 17]
    if left[-1:] == " " and right[:1] == " " and left.rstrip()[-1:].isdigit() and right.lstrip()[:1].isdigit():
        return "divided by"
    before, after = re.search(r"[^\W_]+$", left), re.match(r"[^\W_]+", right)
    if not before or not after or "or" in (before[0], after[0]):
        return None
    if after[0] in _RATES:
        return "per"
    return "or" if before[0].islower() and after[0].islower() and len(before[0]) > 1 < len(after[0]) else None


def _clock(text: str, at: int) -> bool:
    """True if a dash stands between times of day, or digits and what is no number."""
    left, right = text[max(0, at - 6) : at].rstrip(), text[at + 1 : at + 7].lstrip()
    return bool(re.search(r":[0-9]{2}$|[0-9] ?[AaPp][Mm]$", left) and re.match("[0-9]", right))


def pause(text: str, at: int) -> str | None:
    """The punctuation that a character makes, or None for none."""
    char = text[at]
    if char in PAUSES:
        return PAUSES[char]
    if char in _BRACKETS:
        touches = text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum()
        return None if touches or (char == "(" and at and text[at - 1].isalnum()) else ","
    if char in _DASHES:
        left, right = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
        joins = left.isalnum() and right.isalnum() and char in "-−"
        return None if joins or (right.isalnum() and char in "-−") else ","
    return None


def _long(found: re.Match[str]) -> str | None:
    text, start, end = found.string, found.start(), found.end()
    left, right = text[max(0, start - 2) : start].strip(), text[end : end + 2].strip()
    return _LONG[found[0]] if left and right else None


SYMBOL_RULES: Final = rules((r"--?>|=>|==|!=|<=|>=|&&", _long))
