"""Numbers that are written as English words, read from a list of words, and the names of units. Knows no sentence.

Values are digits in a str, so that no float rounds them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Final, NamedTuple

from edgeagent.english.word_data import lists

ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SMALL: Final = (
    {word: value for value, word in enumerate(ONES)}
    | {word: 20 + 10 * place for place, word in enumerate(TENS)}
    | {"fourty": 40, "ninty": 90}
)  # as many write them
_SCALES: Final = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_DIGITS: Final = {word: str(value) for value, word in enumerate(ONES[:10])} | {digit: digit for digit in "0123456789"}
_SPOKEN_DIGITS: Final = _DIGITS | {"oh": "0", "o": "0"}
_PARTS: Final = {"a half": "5", "a quarter": "25"} | dict.fromkeys(
    ("three quarters", "three quarter", "3 quarters", "3 quarter"), "75"
)
FRACTION_SIGNS: Final = {"½": "5", "¼": "25", "¾": "75", "1/2": "5", "1/4": "25", "3/4": "75"}
"""Digits that a fraction adds after the point."""
_FIGURES: Final = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_WRITTEN: Final = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
_SHARES: Final = {"half": 2, "halve": 2, "quarter": 4, "hundredth": 100, "thousandth": 1000}
_DENOMINATORS: Final = frozenset((*range(2, 11), 16, 20, 32, 64, 100))
"""Those of fractions that need no unit behind them: 12/25 is a day."""
HALVES: Final = {"am": "am", "pm": "pm", "a.m": "am", "p.m": "pm"}
CLOCK: Final = re.compile(r"([0-9]{1,2})[:.]([0-9]{2})")
CENTURIES: Final = range(13, 21)
"""Numbers with which a year may begin."""

ORDINALS: Final = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_ORDINAL_TENS: Final = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth".split()
_ORDINAL: Final = {word: value for value, word in enumerate(ORDINALS)} | {
    word: 20 + 10 * place for place, word in enumerate(_ORDINAL_TENS)
}
_FEW: Final = 12
"""Up to here an ordinal is a word."""

NUMBER_WORDS: Final = frozenset((*_SMALL, *_SCALES, "hundred", "point", "oh"))
"""Words that a number may be made of, but for its articles and conjunctions."""


class Read(NamedTuple):
    """A number at the beginning of a list of words: how many words it takes, and its digits."""

    taken: int
    digits: str


def figures(word: str) -> bool:
    """True if a word is a plain number in digits: 5, 2.5."""
    return _FIGURES.fullmatch(word) is not None


def ratio(word: str) -> float | None:
    """The value of a written fraction: 0.75 of 3/4; None of any other word, and of 2/0."""
    found = _WRITTEN.fullmatch(word)
    return int(found[1]) / int(found[2]) if found and int(found[2]) else None


def is_share(word: str) -> bool:
    """True if a word is a fraction of one thing, whatever follows: 3/4, but not 24/7 or 12/25."""
    found = _WRITTEN.fullmatch(word)
    return found is not None and 0 < int(found[1]) < int(found[2]) and int(found[2]) in _DENOMINATORS


def sides(word: str) -> tuple[float, ...]:
    """The numbers of a word that holds several: 12 and 25 of 12/25, 1.2 and 3 of 1.2.3; none of any other word."""
    several = word[:1].isdigit() and ("/" in word or word.count(".") > 1)
    return tuple(map(float, _FIGURES.findall(word))) if several else ()


def part(word: str) -> float | None:
    """The part that a word names: half, thirds, sixteenths, 16th; None of any other word. A second is a unit."""
    one = word.removesuffix("s")
    under = _SHARES.get(one) or rank(one) or 0
    return 1 / under if under > 2 or one in _SHARES else None


def is_named(before: Sequence[str]) -> bool:
    """True if the words before a number name a thing by it: "to dock", "shelf number"."""
    return bool(before) and (before[-1] in _SUMS.numbered or before[-1].removesuffix("s") in _SUMS.numbered)


def adds(before: Sequence[str], unit: str) -> bool | None:
    """Tells if a fraction adds to the whole number before it: "drive 3 2/3 meters".

    Args:
        before: Words before the number.
        unit: The word behind the fraction.

    Returns:
        False for two numbers, as in "dock 3 2/3 meters"; None if nobody can tell.
    """
    if is_named(before):
        return False
    for word in reversed(before):
        if word in _TURNING and unit not in _SUMS.of_turns:
            return None
        if word in _CLASSES.verbs | _SUMS.clauses:
            break
    return True if not before or before[-1] in _BEFORE_SUMS else None


def is_plural(unit: str) -> bool:
    """True if a word may be a unit of several: meters, m, percent."""
    return unit in _SEVERAL or (unit in UNITS and unit.endswith("s"))


def is_number_word(word: str) -> bool:
    """True if a word can be a number by itself, in letters or digits."""
    return word in _SMALL or figures(word)


def single_digit(word: str) -> bool:
    """True if a word is zero to nine, in letters or as a digit."""
    return word in _DIGITS


def _under_hundred(words: Sequence[str]) -> tuple[int, int]:
    """Reads a number at the beginning: how many words, and the value; no words if there is none."""
    value = _SMALL.get(words[0]) if words else None
    if value is None:
        return 0, 0
    if value >= 20 and len(words) > 1 and 0 < _SMALL.get(words[1], 0) < 10:
        return 2, value + _SMALL[words[1]]
    return 1, value


def _under_thousand(words: Sequence[str]) -> tuple[int, int]:
    if words[:1] == ["a"] and words[1:2] not in (["hundred"], ["thousand"]):
        return 0, 0  # thanks a million
    at, value = (1, 1) if words and words[0] == "a" else _under_hundred(words)
    if words[:1] == ["hundred"] and _under_hundred(words[2 if words[1:2] == ["and"] else 1 :])[1]:
        at, value = 0, 1  # "hundred and eighty" is said in some places, or its "a" was not heard
    if words[at : at + 1] != ["hundred"] or not value:
        return at, value
    at, value = at + 1, value * 100
    skip = 1 if words[at : at + 1] == ["and"] else 0
    more, rest = _under_hundred(words[at + skip :])
    end = at + skip + more
    if more and rest and words[end : end + 1] != ["hundred"]:
        return end, value + rest
    return at, value


def _whole(words: Sequence[str]) -> tuple[int, int]:
    """Reads the longest whole number at the beginning: how many words, and the value."""
    at, total, least = 0, 0, max(_SCALES.values()) * 1000
    while True:
        skip = 1 if at and words[at : at + 1] == ["and"] else 0
        more, value = _under_thousand(words[at + skip :])
        end = at + skip + more
        if not more or (at and (not value or words[at + skip] == "a")):
            return at, total
        scale = _SCALES.get(words[end]) if end < len(words) else None
        if scale is None:
            if value >= least or (skip and value >= 100):
                return at, total
            return end, total + value
        if scale >= least or not value:
            return (at, total) if at else (end, value)
        at, total, least = end + 1, total + value * scale, scale


def _decimals(words: Sequence[str]) -> Read:
    """The digits after a point, one by one, or a number under a hundred."""
    found = [_SPOKEN_DIGITS[word] for word in takewhile(_SPOKEN_DIGITS.__contains__, words)]
    while found and words[len(found) - 1] == "o":
        found.pop()
    if found:
        return Read(len(found), "".join(found))
    count, value = _under_hundred(words)
    return Read(count, str(value)) if count else Read(0, "")


def number(words: Sequence[str]) -> Read | None:
    """The longest number at the beginning, in letters or digits: whole, with a point, or with a half or a quarter."""
    if not words:
        return None
    if figures(words[0]):
        count, digits = 1, words[0]
    else:
        count, value = _whole(words)
        digits = str(value)
        if not count:
            return None
    if "." in digits:
        return Read(count, digits)
    rest = words[count:]
    if rest[:1] == ["point"]:
        more, decimals = _decimals(rest[1:])
        if more:
            return Read(count + 1 + more, f"{digits}.{decimals}")
    if part := _fraction(rest):
        return Read(count + part.taken, f"{digits}.{part.digits}")
    return Read(count, digits)


def _fraction(words: Sequence[str]) -> Read | None:
    """Reads a fraction after a whole number, which adds to it: and a half, ½."""
    if words[:1] == ["and"] and (decimals := _PARTS.get(" ".join(words[1:3]))):
        return Read(3, decimals)
    return Read(1, FRACTION_SIGNS[words[0]]) if words and words[0] in FRACTION_SIGNS else None


def without_fraction(words: Sequence[str], read: Read) -> Read | None:
    """The whole number of one with a half or a quarter behind it; None of any other."""
    for taken in range(1, read.taken):
        if (part := _fraction(words[taken : read.taken])) and taken + part.taken == read.taken:
            return Read(taken, read.digits.partition(".")[0])
    return None


def after_point(words: Sequence[str]) -> Read | None:
    """A number without its zero: point five."""
    if words[:1] != ["point"]:
        return None
    count, decimals = _decimals(words[1:])
    return Read(count + 1, f"0.{decimals}") if count else None


def pair(words: Sequence[str]) -> tuple[int, int, int] | None:
    """Two numbers that are said as one, such as a time, a year or an angle: seven thirty, nineteen oh five, one eighty.

    Returns:
        How many words, the first and the second number, which is from 1 to 99.
    """
    count, first = _under_hundred(words)
    if not count or not 0 < first <= max(CENTURIES):
        return None
    if words[count : count + 1] == ["oh"] and len(words) > count + 1 and 0 < _SMALL.get(words[count + 1], 0) < 10:
        return count + 2, first, _SMALL[words[count + 1]]
    if first >= 20 and count > 1:
        return None
    more, second = _under_hundred(words[count:])
    after = list(words[count + more : count + more + 3])
    if not more or second < 10 or after[:1] in (["hundred"], ["thousand"], ["point"]) or _fraction(after):
        return None
    return count + more, first, second


def ordinal(words: Sequence[str]) -> Read | None:
    """An ordinal at the beginning in its one form: first to twelfth are words, the others 13th and so on."""
    if not words:
        return None
    value = rank(words[0])
    if value is not None and (value > _FEW or words[0][0].isdigit()):
        return Read(1, ORDINALS[value] if 0 < value <= _FEW else suffixed(value))
    tens = _SMALL.get(words[0], 0)
    # "twenty second" is two words more often than the 22nd
    if tens >= 20 and len(words) > 1 and 0 < _ORDINAL.get(words[1], 0) < 10 and words[1] != "second":
        return Read(2, suffixed(tens + _ORDINAL[words[1]]))
    return None


def rank(word: str) -> int | None:
    """The place that a single word tells: third, 13th; None of any other word."""
    if found := re.fullmatch(r"([0-9]{1,9})(?:st|nd|rd|th)", word):
        return int(found[1])
    return _ORDINAL.get(word)


def suffixed(value: int) -> str:
    """A rank in figures: 13th, 22nd."""
    last = 0 if value % 100 in (11, 12, 13) else value % 10
    return f"{value}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


def half_of_day(words: Sequence[str]) -> tuple[str, int]:
    """am or pm, and how many words it takes."""
    if words[0] in HALVES:
        return HALVES[words[0]], 1
    if list(words[:2]) in (["a", "m"], ["p", "m"]):
        return f"{words[0]}m", 2
    return "", 0


def clock(digits: str) -> str:
    """The hours and minutes before am or pm; nothing if they are none."""
    found = CLOCK.fullmatch(digits)
    hours, minutes = (found[1], found[2]) if found else (digits, "00")
    if not hours.isdigit() or len(hours) > 2 or not 1 <= int(hours) <= 12 or int(minutes) >= 60:
        return ""
    return f"{int(hours)}:{minutes}" if minutes != "00" else f"{int(hours)}"


_UNITS: Final = lists("units")
SYMBOLS: Final[dict[str, tuple[str, str]]] = {
    symbol: (words, f"{words}s") if isinstance(words, str) else (words[0], words[1])
    for symbol, words in _UNITS.table("symbols").items()
}
"""Units as they are written short, each with its words for one and for several."""
SHORT: Final = {symbol: SYMBOLS[symbol] for symbol in _UNITS.short}
SPELLINGS: Final = {
    f"{before}{british}{end}": f"{before}{american}{end}"
    for before in ("", "centi", "milli", "kilo")
    for british, american in (("metre", "meter"), ("litre", "liter"))
    for end in ("", "s")
}
UNITS: Final = _UNITS.units | SPELLINGS.keys()
"""After these, "one" is a number."""
_SUMS: Final = lists("amounts")
_CLASSES: Final = lists("classes")
_TURNING: Final = lists("numbers").turning
_BEFORE_SUMS: Final = (
    _CLASSES.function_words | _CLASSES.verbs | _CLASSES.directions | _CLASSES.particles | _SUMS.before_sums
)
"""Words that name nothing by a number."""
_SEVERAL: Final = SYMBOLS.keys() | _SUMS.several
"""Units that may be of several, beside those in s."""
