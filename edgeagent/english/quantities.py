"""Amounts with units, money, dates and times of day as they are read aloud."""

from __future__ import annotations

import datetime as dt
import re
from typing import Final

from edgeagent.english.number_words import SYMBOLS
from edgeagent.english.numbers import (
    END,
    FRACTIONS,
    NARROW,
    NUMBER,
    ahead,
    before,
    cardinal,
    either,
    fraction,
    is_year,
    mixed,
    number,
    ordinal,
    rules,
    spelled,
    with_part,
    year,
)
from edgeagent.english.word_data import lists

# ruff: noqa: RUF001 - text has dashes and the like that look alike


_READ: Final = lists("signs")
_POWERS: Final = {"²": ("square", "squared"), "³": ("cubic", "cubed")}
"""Words before a unit and behind one."""
_CURRENCIES: Final[dict[str, tuple[str, str, str]]] = _READ.table("currencies")
_SCALES: Final[dict[str, str]] = _READ.table("scales")
"""B only of money: 7B is a door, 5 B are bytes."""
_SIGNS: Final[dict[str, str]] = _READ.table("signs")


_SYMBOL: Final = rf"(?:{either(SYMBOLS)})"
UNIT: Final = rf"{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?(?:/{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?)?"
_AMOUNT: Final = re.compile(
    rf"(?P<sign>[-−+±~≈] ?)?(?P<currency>[$€£] ?)?(?P<sign_after>[-−])?"
    rf"(?:(?P<whole>[0-9]{{1,4}}+)?[ {NARROW}]?(?P<part>[{FRACTIONS}])|(?P<number>{NUMBER}|\.[0-9]++)"
    rf"(?:(?:[ {NARROW}]?(?P<first>{UNIT}))?(?P<to>[-–—−]| [–—] ?|\.{{2,3}})"
    rf"(?P<to_sign>[$€£]|[-−](?=[0-9]))?(?P<second>{NUMBER}))?)"
    rf"(?:[ {NARROW}]?(?P<scale>(?:thousand|million|billion|trillion|k|M|mn|bn|(?<![ {NARROW}])B){END}))?"
    rf"(?:(?P<gap>[ {NARROW}]?)(?:(?P<unit>{UNIT})|(?P<money>[$€£]|(?:USD|EUR|GBP)))(?![²³0-9]){END})?{END}"
    rf"(?:(?<=[a-z])\.(?= [a-z]))?(?:/(?P<each>{either(_READ.every)}|{_SYMBOL}){END})?(?!\.[0-9])"
)


def unit(symbol: str, *, one: bool) -> str:
    """A unit in words: "m/s" is meters per second."""
    over, slash, under = symbol.partition("/")
    words = _power(over, one=one)
    if not slash:
        return words
    base, exponent = _split(under)
    if exponent and base in _READ.lengths and base != over:
        return f"{words} per {_power(under, one=True)}"
    return f"{words} per {SYMBOLS[base][0]}{f' {_POWERS[exponent][1]}' if exponent else ''}"


def _split(symbol: str) -> tuple[str, str]:
    """A unit and its exponent, raised: m and ² of m^2."""
    base = symbol.rstrip("²³23").rstrip("^")
    return base, symbol[len(base) :].removeprefix("^").replace("2", "²").replace("3", "³")


def _power(symbol: str, *, one: bool) -> str:
    base, exponent = _split(symbol)
    words = SYMBOLS[base][0 if one else 1]
    return f"{_POWERS[exponent][0]} {words}" if exponent else words


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
    if (scale == "B" or found["each"]) and not symbol:
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
    return suffix not in _READ.spaced or bool(found["gap"]) or "." in (found["number"] or "")


def _comma(found: re.Match[str]) -> str | None:
    """1,5 km and 2,50 €, as they are written where the comma is the point."""
    amount = _AMOUNT.fullmatch(found[0].replace(",", "."))
    return None if amount is None or before(found) in ".,-" else _amount(amount)


def _part(found: re.Match[str]) -> str | None:
    """1/2 mile, 3/4 h, 1 1/2 tsp"""
    whole, over, under = found[1], int(found[2]), int(found[3])
    words = fraction(over, under)
    symbol = found["unit"]
    if "over" in words or symbol in _READ.spaced:
        return None
    if whole:
        return f"{with_part(number(whole), words)} {unit(symbol, one=False)}"
    one = unit(symbol, one=True)
    if over == 1:
        return f"{words} {one}"
    return f"{words} of {'an' if one[0] in 'aeio' or symbol in _READ.hours else 'a'} {one}"


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


_DATES: Final = lists("dates")
_MONTHS: Final = _DATES.texts("months")
_SHORT: Final = {month[:3]: month for month in _MONTHS} | {"Sept": "September"}
DATE_NAMES: Final = frozenset((*_MONTHS, *_SHORT))
_MONTH: Final = rf"(?P<month>{'|'.join((*_MONTHS, 'Sept', *_SHORT))})\b\.?"
_YEAR: Final = r"(?P<year>(?:1[1-9]|20)[0-9]{2})"
_YEAR_AFTER: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_DATES.before_year))}|ca\.|est\.|q[1-4]|h[12]"
    r"|(?:1[1-9]|20)[0-9]{2} (?:to|and|or|until|till|through))[ \n]$",
    re.IGNORECASE,
)
_LOOK_BACK: Final = 16
_DAYS: Final = _DATES.table("short_days")
_DAY: Final = either(_DAYS)
_TO: Final = "(?:[-–—]| [–—] )"


def _is_date(year_number: int, month: int, day: int) -> bool:
    try:
        dt.date(year_number, month, day)
    except ValueError:
        return False
    return True


def _month_first(year_digits: str, month: int, day: int) -> str:
    return f"{_MONTHS[month - 1]} {ordinal(day)}, {year(year_digits)}"


def _ordered(found: re.Match[str]) -> str | None:
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


def _month(found: re.Match[str]) -> str:
    name = found["month"]
    return name if name in _MONTHS else _SHORT[name]


def _day_month(found: re.Match[str]) -> str | None:
    the = "" if ahead(found, 4).lower() == "the " else "the "
    return _of_month(found, f"{the}{ordinal(int(found['day']))} of {_month(found)}")


def _month_day(found: re.Match[str]) -> str | None:
    if found["day"]:
        return _of_month(found, f"{_month(found)} {ordinal(int(found['day']))}")
    return f"{_month(found)} {year(found['year'])}" if found["year"] else None


def _of_month(found: re.Match[str], words: str) -> str | None:
    if not 1 <= int(found["day"]) <= 31:
        return None
    return f"{words}, {year(found['year'])}" if found["year"] else words


def _year_after(found: re.Match[str]) -> str | None:
    """A year after "in" and the like, between brackets, or between "the" and what it names."""
    left, right, digits = ahead(found, _LOOK_BACK), found.string[found.end() :][:2], found[0]
    alone = left.endswith("(") and right[:1] in (")", ",", ";")
    names = left.lower().endswith("the ") and is_year(digits) and right[:1] == " " and right[1:].isalpha()
    return year(digits) if alone or names or _YEAR_AFTER.search(left) else None


def _years(found: re.Match[str]) -> str | None:
    recent = is_year(found[1]) and is_year(found[2])
    life = before(found) == "(" and found.string[found.end() : found.end() + 1] == ")" and found[1] < found[2]
    if before(found) in ".,-$€£¥" or not (recent or life):
        return None
    return f"{year(found[1])} to {year(found[2])}"


def _weekdays(found: re.Match[str]) -> str:
    return " to ".join(_DAYS[name] for name in found.groups())


def _decade(found: re.Match[str]) -> str | None:
    digits = found[1]
    if len(digits) == 2 and not ahead(found, 4).lower().endswith(("the ", "'")):
        return None
    words = year(digits) if len(digits) == 4 else cardinal(digits)
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


_NO_UNIT: Final = rf"(?![,.][0-9])(?! ?(?:{UNIT}){END})"
_UNCOUNTED: Final = rf"(?! [a-z]++(?<=s)\b| (?:{'|'.join(sorted(_DATES.counted))})\b)"
"""Nothing that a year's number would count."""
DATE_RULES: Final = rules(
    (
        rf"(?P<year>[12][0-9]{{3}})(?P<joint>[-/.])(?P<month>[0-9]{{2}})(?P=joint)(?P<day>[0-9]{{2}})(?:T(?=[0-9])|{END})",
        _ordered,
    ),
    (rf"([0-9]{{1,2}})/([0-9]{{1,2}})/{_YEAR}{END}", _slashes),
    (rf"(?P<day>[0-9]{{1,2}})\.(?P<month>[0-9]{{1,2}})\.{_YEAR}{END}", _ordered),
    (rf"(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR}{END}{_NO_UNIT})?{END}", _day_month),
    (rf"([0-9]{{4}})[-–—]([0-9]{{4}}){END}{_NO_UNIT}", _years),
    (rf"([1-9][0-9]{{0,2}}0)s{END}", _decade),
    (rf"(?:1[1-9]|20)[0-9]{{2}}{END}{_NO_UNIT}{_UNCOUNTED}", _year_after),
)
_DAY_BEHIND: Final = rf"(?:(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?:,? (?=[12])|{END}(?![:/.][0-9]){_NO_UNIT}))?"
DATE_WORD_RULES: Final = rules(
    (rf"({_DAY})\.?{_TO}({_DAY})\b(?:\.(?= [a-z0-9]))?", _weekdays),
    # Sat. and Sun. are words too, at the end of a sentence.
    (rf"{_MONTH} {_DAY_BEHIND}(?:(?<= ){_YEAR}{END}{_NO_UNIT})?(?<=[0-9a-z]){END}", _month_day),
)


_POINTS: Final = r"\.[Mm]\.(?=[^\S\n]+[a-z]|[,;:)?!])|\.[Mm](?=\.)|[Mm]"
_HALF: Final = rf"(?: ?(?P<half>[AaPp])(?:{_POINTS}))"
"""am, PM, p.m.; the last point stays where it may end the sentence too."""
_FIRST_HALF: Final = r"(?: ?(?P<first_half>[AaPp])(?:\.[Mm]\.|[Mm]))?"
_MINUTES: Final = "(?::[0-5][0-9])?"
_HOUR: Final = "(?:1[0-2]|0?[1-9])"


def _clock(found: re.Match[str]) -> str | None:
    hours, minutes, seconds = int(found["hours"]), found["minutes"], found["seconds"] or "00"
    half = f" {found['half'].upper()}M" if found["half"] and 1 <= hours <= 12 else ""
    count = int(seconds)
    words = f"{_hours(hours, minutes, bare=bool(half or count))}{half}"
    return f"{words} and {_counted(count, 'second')}" if count else words


def _hours(hours: int, minutes: str, *, bare: bool) -> str:
    hour = cardinal(str(hours))
    if minutes == "00":
        if bare:
            return hour
        if not hours:
            return "midnight"
        return f"{hour} o'clock" if hours <= 12 else f"{hour} hundred"
    return f"{hour} oh {cardinal(minutes[1])}" if minutes[0] == "0" else f"{hour} {cardinal(minutes)}"


def _hour(found: re.Match[str]) -> str:
    return _with_half(found["clock"], found["half"])


def _with_half(clock: str, half: str | None) -> str:
    hours, _, minutes = clock.replace(".", ":").partition(":")
    return f"{_hours(int(hours), minutes or '00', bare=True)}{f' {half.upper()}M' if half else ''}"


def _range(found: re.Match[str]) -> str:
    return f"{_with_half(found['since'], found['first_half'])} to {_with_half(found['until'], found['half'])}"


def _counted(count: int, word: str) -> str:
    return f"{cardinal(str(count))} {word}{'' if count == 1 else 's'}"


def _duration(found: re.Match[str]) -> str | None:
    parts = [(found[name], name[:-1]) for name in ("hours", "minutes", "seconds") if found[name]]
    if len(parts) < 2:
        return None
    return " ".join(_counted(int(count), word) for count, word in parts)


_DIGITAL: Final = r"(?P<hours>[01]?[0-9]|2[0-4]):(?P<minutes>[0-5][0-9])(?::(?P<seconds>[0-5][0-9])(?:\.[0-9]{1,9})?)?"
_IN_HOURS: Final = "(?:(?P<hours>[0-9]{1,4}) ?h(?:rs?)? ?)?"
_IN_MINUTES: Final = "(?:(?P<minutes>[0-9]{1,4}) ?m(?:ins?)?)?"
TIME_RULES: Final = rules(
    # 9-9:30, 8-10pm, 8 a.m. - 10 a.m., 8:30-9 pm
    (rf"(?P<since>{_HOUR}{_MINUTES}){_FIRST_HALF}(?:[-–—]| [-–—] )(?P<until>{_HOUR}{_MINUTES}){_HALF}{END}", _range),
    (
        rf"(?P<since>[01]?[0-9]|2[0-4]){_FIRST_HALF}(?P<half>)[-–—](?P<until>(?:[01]?[0-9]|2[0-4]):[0-5][0-9])(?!:){END}",
        _range,
    ),
    (rf"(?P<clock>{_HOUR}\.[0-5][0-9]){_HALF}{END}", _hour),
    (rf"{_DIGITAL}(?:{_HALF}| ?h)?(?:Z|{END})(?!:[0-9]){END}", _clock),
    (rf"(?P<clock>{_HOUR}){_HALF}{END}", _hour),
    # 1h 20m, 2m30s, 1 h 5 min 10 s
    (rf"{_IN_HOURS}{_IN_MINUTES}(?: ?(?P<seconds>[0-9]{{1,4}}) ?s(?:ecs?)?)?{END}", _duration),
    (rf"(?P<hours>[0-9]{{1,2}})h(?P<minutes>[0-5][0-9])(?P<seconds>){END}", _duration),
)
