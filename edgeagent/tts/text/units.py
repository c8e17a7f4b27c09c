"""Amounts: numbers with a sign, a currency, a scale or a unit, and ranges of them."""

# ruff: noqa: RUF001 - text has dashes and the like that look alike

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from edgeagent.tts.text.characters import FRACTIONS, NARROW
from edgeagent.tts.text.numbers import END, NUMBER, is_year, mixed, number, spelled, year
from edgeagent.tts.text.rule import Rule, before

_PREFIXED: Final = """
    nm nanometer, µm micrometer, μm micrometer, um micrometer, mm millimeter, cm centimeter, dm decimeter, m meter,
    km kilometer, mi mile, yd yard, µg microgram, μg microgram, mg milligram, g gram, kg kilogram, t ton, lb pound,
    lbs pound, oz ounce, ns nanosecond, µs microsecond, μs microsecond, us microsecond, ms millisecond, s second,
    sec second, secs second, min minute, mins minute, h hour, hr hour, hrs hour, mV millivolt, V volt, kV kilovolt,
    µA microamp, mA milliamp, A amp, Ah amp hour, mAh milliamp hour, mW milliwatt, W watt, kW kilowatt, MW megawatt,
    Wh watt hour, mWh milliwatt hour, kWh kilowatt hour, MWh megawatt hour, Ω ohm, Ω ohm, kΩ kiloohm, MΩ megaohm,
    µF microfarad, nF nanofarad, pF picofarad, J joule, kJ kilojoule, cal calorie, kcal kilocalorie, B byte,
    kB kilobyte, KB kilobyte, MB megabyte, GB gigabyte, TB terabyte, KiB kibibyte, MiB mebibyte, GiB gibibyte,
    kbit kilobit, Mbit megabit, Gbit gigabit, Pa pascal, hPa hectopascal, kPa kilopascal, bar bar, mbar millibar,
    N newton,
    kN kilonewton, Nm newton meter, l liter, L liter, ml milliliter, mL milliliter, cl centiliter, dl deciliter,
    dB decibel, rad radian, deg degree, px pixel, ° degree, º degree
"""
_OWN: Final = {
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "K": ("kelvin", "kelvin"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "lx": ("lux", "lux"),
    "lm": ("lumen", "lumens"),
    "dBm": ("decibel milliwatt", "decibel milliwatts"),
    "psi": ("pound per square inch", "pounds per square inch"),
    "ft": ("foot", "feet"),
    "″": ("inch", "inches"),
    "′": ("foot", "feet"),
    "%": ("percent", "percent"),
    "‰": ("per mille", "per mille"),
    "rpm": ("revolution per minute", "revolutions per minute"),
    "RPM": ("revolution per minute", "revolutions per minute"),
    "fps": ("frame per second", "frames per second"),
    "mph": ("mile per hour", "miles per hour"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "kmh": ("kilometer per hour", "kilometers per hour"),
    "mps": ("meter per second", "meters per second"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "x": ("time", "times"),
}


def _table() -> dict[str, tuple[str, str]]:
    table = dict(_OWN)
    for entry in _PREFIXED.split(","):
        symbol, _, words = entry.strip().partition(" ")
        table[symbol] = (words, f"{words}s")
    return table | {"℃": _OWN["°C"], "º C": _OWN["°C"], "° C": _OWN["°C"], "℉": _OWN["°F"], "° F": _OWN["°F"]}


UNITS: Final = _table()
_SPACED: Final = frozenset("K A F B x".split())
"""Not units right after a number: 4K, 3A; "x" only there."""
_SQUARED: Final = {"²": "square", "2": "square", "^2": "square", "³": "cubic", "3": "cubic", "^3": "cubic"}
_POWERS: Final = {"²": " squared", "2": " squared", "^2": " squared", "³": " cubed", "3": " cubed", "^3": " cubed"}
_CURRENCIES: Final = {
    "$": ("dollar", "dollars", "cent"),
    "€": ("euro", "euros", "cent"),
    "£": ("pound", "pounds", "penny"),
    "¥": ("yen", "yen", ""),
    "₹": ("rupee", "rupees", ""),
    "¢": ("cent", "cents", ""),
    "USD": ("dollar", "dollars", "cent"),
    "EUR": ("euro", "euros", "cent"),
    "GBP": ("pound", "pounds", "penny"),
    "CHF": ("franc", "francs", ""),
}
_SCALES: Final = {"k": "thousand", "M": "million", "bn": "billion", "mn": "million", "B": "billion"}
_SIGNS: Final = {
    "-": "minus",
    "−": "minus",
    "+": "plus",
    "±": "plus or minus",
    "~": "about",
    "≈": "about",
}


def _either(symbols: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, symbols), key=len, reverse=True))


_SYMBOL: Final = rf"(?:{_either(UNITS)})"
UNIT: Final = rf"{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?(?:/{_SYMBOL}(?:\^?[23](?![0-9])|[²³])?)?"
_AMOUNT: Final = re.compile(
    rf"(?P<sign>[-−+±~≈] ?)?(?P<currency>[$€£¥₹] ?)?(?P<sign_after>[-−])?"
    rf"(?:(?P<whole>[0-9]{{1,4}}+)?[ {NARROW}]?(?P<part>[{FRACTIONS}])|(?P<number>{NUMBER}|\.[0-9]++)"
    rf"(?:(?P<first>{UNIT})?(?P<to>[-–—−]| [–—] ?|\.{{2,3}})(?P<to_sign>[$€£]|[-−](?=[0-9]))?(?P<second>{NUMBER}))?)"
    rf"(?:[ {NARROW}]?(?P<scale>(?:thousand|million|billion|trillion|k|M|mn|bn|B){END}))?"
    rf"(?:(?P<gap>[ {NARROW}]?)(?:(?P<unit>{UNIT})|(?P<money>[$€£¥₹¢]|(?:USD|EUR|GBP|CHF)))(?![²³0-9]){END})?{END}"
)
_ALONE: Final = re.compile(rf"(?:{UNIT}){END}")


def unit(symbol: str, *, one: bool) -> str:
    """A unit in words: "m/s" is meters per second."""
    over, slash, under = symbol.partition("/")
    words = _power(over, one=one)
    if not slash:
        return words
    base, exponent = _split(under)
    return f"{words} per {UNITS[base][0]}{_POWERS.get(exponent, '')}"


def _split(symbol: str) -> tuple[str, str]:
    base = symbol.rstrip("²³23").rstrip("^")
    return base, symbol[len(base) :]


def _power(symbol: str, *, one: bool) -> str:
    base, exponent = _split(symbol)
    words = UNITS[base][0 if one else 1]
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
    if suffix and not _fits(found["gap"], suffix):
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
    said = [_SIGNS[sign]] if sign else []
    return " ".join((*said, "minus", words) if found["sign_after"] else (*said, words))


def _fits(gap: str, suffix: str) -> bool:
    return suffix not in _SPACED or bool(gap) != (suffix == "x")


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
    return unit(symbol, one=False)


RULES: Final = (Rule(_AMOUNT, _amount),)
WORD_RULES: Final = (Rule(_ALONE, _alone),)
