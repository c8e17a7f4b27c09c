"""Numbers as people say and type them."""

from __future__ import annotations

from typing import Final

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS: Final = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()


def cardinal(n: int, *, hyphen: bool = False, and_: bool = False) -> str:
    """An integer from 0 to 99,999 in words: 123 is "one hundred [and] twenty three"."""
    if n < 20:
        return _ONES[n]
    if n < 100:
        tens, ones = divmod(n, 10)
        return _TENS[tens] + (("-" if hyphen else " ") + _ONES[ones] if ones else "")
    unit, name = (100, "hundred") if n < 1000 else (1000, "thousand")
    head, rest = divmod(n, unit)
    words = f"{cardinal(head, hyphen=hyphen, and_=and_)} {name}"
    if rest:
        words += (" and " if and_ else " ") + cardinal(rest, hyphen=hyphen, and_=and_)
    return words


def digits(value: float) -> str:
    """A number in digits without a superfluous zero: 2.0 is "2"."""
    return f"{value:.6f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))


def decimal_words(value: float) -> str:
    """A decimal read aloud: 1.25 is "one point two five"."""
    whole, _, fraction = digits(value).partition(".")
    words = cardinal(int(whole))
    return f"{words} point {' '.join(_ONES[int(d)] for d in fraction)}" if fraction else words


def number(value: float) -> int | float:
    """The value as JSON writes it: an integer where it is one."""
    rounded = round(value, 4)
    return int(rounded) if rounded == int(rounded) else rounded
