"""Dates, years and decades in words."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from edgeagent.tts.text.numbers import END, cardinal, is_year, ordinal, year
from edgeagent.tts.text.rule import Rule, before
from edgeagent.tts.text.units import UNIT

_MONTHS: Final = "January February March April May June July August September October November December".split()
_SHORT: Final = {month[:3]: month for month in _MONTHS} | {"Sept": "September"}
NAMES: Final = frozenset((*_MONTHS, *_SHORT))
_MONTH: Final = rf"(?P<month>{'|'.join((*_MONTHS, 'Sept', *_SHORT))})\b\.?"
_YEAR: Final = r"(?P<year>(?:1[1-9]|20)[0-9]{2})"
_YEAR_AFTER: Final = re.compile(r"\b(?:[Ii]n|[Ss]ince|[Uu]ntil|[Yy]ear|[Dd]uring|[Cc]irca|[Bb]y|[Ff]rom)[ \n]$")


def _is_date(year_number: int, month: int, day: int) -> bool:
    try:
        dt.date(year_number, month, day)
    except ValueError:
        return False
    return True


def _month_first(year_digits: str, month: int, day: int) -> str:
    return f"{_MONTHS[month - 1]} {ordinal(day)}, {year(year_digits)}"


def _iso(found: re.Match[str]) -> str | None:
    digits, month, day = found["year"], int(found["month"]), int(found["day"])
    return _month_first(digits, month, day) if _is_date(int(digits), month, day) else None


def _slashes(found: re.Match[str]) -> str | None:
    """A date in the American or the British order, where only one of them is possible; else its numbers."""
    first, second, digits = int(found[1]), int(found[2]), found["year"]
    number = int(digits)
    american, british = _is_date(number, first, second), _is_date(number, second, first)
    if american and (not british or first == second):
        return _month_first(digits, first, second)
    if british and not american:
        return _month_first(digits, second, first)
    return f"{cardinal(str(first))}, {cardinal(str(second))}, {year(digits)}"


def _dots(found: re.Match[str]) -> str | None:
    day, month, digits = int(found[1]), int(found[2]), found["year"]
    return _month_first(digits, month, day) if _is_date(int(digits), month, day) else None


def _month(found: re.Match[str]) -> str:
    name = found["month"]
    return name if name in _MONTHS else _SHORT[name]


def _day_month(found: re.Match[str]) -> str | None:
    day = int(found["day"])
    if not 1 <= day <= 31:
        return None
    the = "" if found.string[max(0, found.start() - 4) : found.start()].lower() == "the " else "the "
    words = f"{the}{ordinal(day)} of {_month(found)}"
    return f"{words}, {year(found['year'])}" if found["year"] else words


def _month_day(found: re.Match[str]) -> str | None:
    if found["day"] is None:
        return f"{_month(found)} {year(found['year'])}"
    day = int(found["day"])
    if not 1 <= day <= 31:
        return None
    words = f"{_month(found)} {ordinal(day)}"
    return f"{words}, {year(found['year'])}" if found["year"] else words


def _year_after(found: re.Match[str]) -> str | None:
    at = found.start()
    return year(found[0]) if _YEAR_AFTER.search(found.string[max(0, at - 8) : at]) else None


def _years(found: re.Match[str]) -> str | None:
    if before(found) in ".,-$€£¥" or not (is_year(found[1]) and is_year(found[2])):
        return None
    return f"{year(found[1])} to {year(found[2])}"


def _decade(found: re.Match[str]) -> str | None:
    digits = found[1]
    ahead = found.string[max(0, found.start() - 5) : found.start()].lower()
    if len(digits) == 2 and not ahead.endswith(("the ", "the '")):
        return None
    words = year(digits) if len(digits) == 4 else cardinal(digits)
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


_NO_UNIT: Final = rf"(?![,.][0-9])(?! ?(?:{UNIT}){END})"
RULES: Final = (
    Rule(re.compile(rf"(?P<year>[12][0-9]{{3}})-(?P<month>[0-9]{{2}})-(?P<day>[0-9]{{2}})(?:T(?=[0-9])|{END})"), _iso),
    Rule(re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/{_YEAR}{END}"), _slashes),
    Rule(re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.{_YEAR}{END}"), _dots),
    Rule(
        re.compile(rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR}{END}{_NO_UNIT})?{END}"),
        _day_month,
    ),
    Rule(re.compile(rf"([0-9]{{4}})[-–—]([0-9]{{4}}){END}{_NO_UNIT}"), _years),
    Rule(re.compile(rf"([1-9][0-9]{{0,2}}0)s{END}"), _decade),
    Rule(re.compile(rf"(?:19|20)[0-9]{{2}}{END}{_NO_UNIT}"), _year_after),
)
WORD_RULES: Final = (
    Rule(
        re.compile(
            rf"{_MONTH} (?:(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?=[12])|{END}(?![:/.][0-9]){_NO_UNIT}))?"
            rf"(?:(?<= ){_YEAR}{END}{_NO_UNIT})?(?<=[0-9a-z]){END}"
        ),
        lambda found: _month_day(found) if found["day"] or found["year"] else None,
    ),
)
