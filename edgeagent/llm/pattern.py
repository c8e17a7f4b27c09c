"""Grammar rules for texts of a regular expression, and for numbers within a range."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from edgeagent.llm.gbnf import Rules

_MOST: Final = 1000
_CLASSES: Final = {"d": ((48, 57),), "w": ((48, 57), (65, 90), (95, 95), (97, 122)), "s": ((32, 32),)}
_QUANTIFIERS: Final[dict[str, tuple[int, int | None]]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_SPECIAL: Final = "^$.*+?()[]{}|\\"

Range = tuple[int, int]


class PatternError(ValueError):
    """A pattern that can't be said."""


def pattern_expression(rules: Rules, pattern: str, barred: str) -> str:
    """The expression of the texts that match a pattern.

    Args:
        rules: Where its rules go.
        pattern: The regular expression.
        barred: Characters that can't stand in the text, beside control characters.

    Raises:
        PatternError: It can't be said.
    """
    if not (pattern.startswith("^") and pattern.endswith("$")):
        raise PatternError(f"{pattern!r} is not anchored by ^ and $")
    reader = _Reader(rules, pattern[1:-1], barred)
    ways = reader.alternatives()
    if reader.more:
        raise PatternError(f"{pattern!r} has a bracket too many")
    if len(ways) > 1:
        raise PatternError(f"{pattern!r} is anchored in some of its alternatives only: put them in brackets")
    return rules.add("pattern", ways[0])


class _Reader:
    """Reads a regular expression once, from left to right."""

    def __init__(self, rules: Rules, text: str, barred: str) -> None:
        self._rules = rules
        self._text = text
        self._at = 0
        self._barred = barred
        self._may_be_empty: set[str] = set()

    @property
    def more(self) -> bool:
        """True if some of the text is left."""
        return self._at < len(self._text)

    def alternatives(self) -> list[str]:
        """Reads the alternatives between two brackets."""
        ways = [self._sequence()]
        while self._next("|"):
            ways.append(self._sequence())
        return ways

    def _sequence(self) -> str:
        parts = []
        empty = True
        while self.more and self._text[self._at] not in "|)":
            part, may_be_empty = self._quantified()
            parts.append(part)
            empty = empty and may_be_empty
        said = " ".join(parts) or '""'
        if empty:
            self._may_be_empty.add(said)
        return said

    def _quantified(self) -> tuple[str, bool]:
        """A part with what says how often it comes, and whether it may be empty."""
        part = self._rules.add("part", self._atom())
        empty = part in self._may_be_empty
        limits = self._quantifier()
        if limits is None:
            return part, empty
        least, most = limits
        if empty and most is None:
            raise PatternError("something that may be empty is repeated without a limit")
        if least > _MOST or (most or 0) > _MOST or (most is not None and most < least):
            raise PatternError(f"the limits of a repetition are not within {_MOST}")
        return self._rules.repeated(part, least, most), empty or least == 0

    def _quantifier(self) -> tuple[int, int | None] | None:
        sign = self._text[self._at : self._at + 1]
        if sign in _QUANTIFIERS:
            self._at += 1
            limits = _QUANTIFIERS[sign]
        elif sign == "{":
            end = self._text.find("}", self._at)
            low, comma, high = self._text[self._at + 1 : end].partition(",")
            if end < 0 or not low.isdecimal() or (high and not high.isdecimal()):
                raise PatternError("a repetition is not {n}, {n,} or {n,m}")
            self._at = end + 1
            limits = int(low), int(high) if high else None if comma else int(low)
        else:
            return None
        self._next("?")  # a lazy quantifier matches the same texts
        return limits

    def _atom(self) -> str:
        sign = self._take()
        if sign == "(":
            if self._next("?") and not self._next(":"):
                raise PatternError("a group that looks around, or has a name")
            ways = self.alternatives()
            if not self._next(")"):
                raise PatternError("a bracket is not closed")
            name = self._rules.add("group", " | ".join(ways))
            if not self._may_be_empty.isdisjoint(ways):
                self._may_be_empty.add(self._rules.add("part", name))
            return name
        if sign == ".":
            return self._class([(0, sys.maxunicode)])
        if sign == "[":
            return self._bracketed()
        if sign == "\\":
            return self._class(self._escape(self._take()))
        if sign in _SPECIAL:
            raise PatternError(f"{sign!r} stands where it can't be said")
        return self._class([(ord(sign), ord(sign))])

    def _bracketed(self) -> str:
        negated = self._next("^")
        ranges: list[Range] = []
        while not self._next("]"):
            sign = self._take()
            single = sign != "\\" or self._text[self._at : self._at + 1] not in _CLASSES
            low = self._escape(self._take()) if sign == "\\" else [(ord(sign), ord(sign))]
            if negated and not single:
                raise PatternError("a class inside of a negated one")
            if single and self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._at += 1
                sign = self._take()
                high = self._escape(self._take())[0][1] if sign == "\\" else ord(sign)
                if high < low[0][0]:
                    raise PatternError("a range goes backwards")
                low = [(low[0][0], high)]
            ranges += low
        return self._class(_without([(0, sys.maxunicode)], ranges) if negated else ranges)

    def _escape(self, letter: str) -> list[Range]:
        if letter in _CLASSES:
            return list(_CLASSES[letter])
        if letter.isalnum():
            raise PatternError(f"the escape \\{letter}")
        return [(ord(letter), ord(letter))]

    def _class(self, ranges: list[Range]) -> str:
        kept = _without(ranges, [(0, 31), *((ord(letter), ord(letter)) for letter in self._barred)])
        if not kept:
            raise PatternError("a character that can't stand in a string unescaped")
        return "[" + "".join(f"\\U{low:08X}-\\U{high:08X}" for low, high in kept) + "]"

    def _next(self, sign: str) -> bool:
        if self._text.startswith(sign, self._at):
            self._at += 1
            return True
        return False

    def _take(self) -> str:
        if not self.more:
            raise PatternError("it ends in the middle")
        self._at += 1
        return self._text[self._at - 1]


def _without(ranges: list[Range], taken: list[Range]) -> list[Range]:
    """Leaves the taken ranges out of some ranges."""
    for low, high in taken:
        left = []
        for first, last in ranges:
            left += [(first, min(last, low - 1)), (max(first, high + 1), last)]
        ranges = [(first, last) for first, last in left if first <= last]
    return ranges


_DIGITS: Final = 15
"""Of a number without a bound; with more a JSON number is not exact."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of decimal numbers."""

    value: Decimal
    inclusive: bool = True


def integer_range(least: int | None, most: int | None) -> str:
    """The whole numbers from ``least`` to ``most``; None is no bound."""
    parts: list[str] = []
    if least is None or least < 0:
        low = 1 if most is None or most >= 0 else -most
        parts.append(f'"-" ({" | ".join(_from_to(low, None if least is None else -least))})')
    if most is None or most >= 0:
        parts += _from_to(max(least or 0, 0), most)
    return " | ".join(parts)


def number_range(least: Bound | None, most: Bound | None) -> str:
    """The numbers between two bounds, without exponents; None is no bound. Empty where there is none."""
    zero = Bound(Decimal(0))
    parts: list[str] = []
    if least is None or least.value < 0:
        low = zero if most is None or most.value > 0 else Bound(-most.value, most.inclusive)
        negative = _between(low, None if least is None else Bound(-least.value, least.inclusive))
        parts += [f'"-" ({" | ".join(negative)})'] if negative else []
    if most is None or most.value >= 0:
        parts += _between(zero if least is None or least.value < 0 else least, most)
    return " | ".join(parts)


def _between(low: Bound, high: Bound | None) -> list[str]:
    """The numbers between two bounds that are not negative."""
    whole, fraction = _split(low.value)
    # So many digits behind the point that no two numbers are the same one to a computer.
    room = max(0, _DIGITS - len(str(whole if high is None else int(high.value))))
    anything = f'("." [0-9]{{1,{room}}})?' if room else ""
    if high is None:
        above = " | ".join(_from_to(whole + 1, None))
        return [*_after(whole, _Digits(fraction, None, low.inclusive, False, room)), f"({above}) {anything}"]
    last, top = _split(high.value)
    if whole > last:
        return []
    if whole == last:
        width = max(len(fraction), len(top))
        digits = _Digits(fraction.ljust(width, "0"), top.ljust(width, "0"), low.inclusive, high.inclusive, room)
        return _after(whole, digits)
    parts = _after(whole, _Digits(fraction, None, low.inclusive, False, room))
    if last - whole > 1:
        parts.append(f"({' | '.join(_from_to(whole + 1, last - 1))}) {anything}")
    return parts + _after(last, _Digits("", top, True, high.inclusive, room))


def _split(value: Decimal) -> tuple[int, str]:
    """The whole part, and the digits behind the point."""
    whole, _, fraction = f"{value:f}".partition(".")
    return int(whole), fraction.rstrip("0")


def _after(whole: int, digits: _Digits) -> list[str]:
    """The numbers with this whole part."""
    more = digits.alternatives()
    behind = f'"." {_grouped(more)}' if more else ""
    if digits.may_end:
        return [f'"{whole}" ({behind})?' if behind else f'"{whole}"']
    return [f'"{whole}" {behind}'] if behind else []


@dataclass(frozen=True, slots=True)
class _Digits:
    """Digits behind a point, between two rows of digits; those above have no end where ``most`` is None."""

    least: str
    most: str | None
    least_inclusive: bool
    most_inclusive: bool
    room: int  # so many digits, unless the bounds have more

    @property
    def may_end(self) -> bool:
        """True if no digit at all is between the two rows."""
        if self.least.strip("0") or not self.least_inclusive:
            return False
        return self.most is None or bool(self.most.strip("0")) or self.most_inclusive

    def alternatives(self) -> list[str]:
        """Lists the expressions of at least one digit."""
        if not self.least and not self.most:
            return self._past_the_bounds()
        bounded = self.most is not None
        low, high = int(self.least[:1] or "0"), int((self.most or "9")[:1])
        top, room = self.most[1:] if self.most else None, max(0, self.room - 1)
        if low == high and bounded:
            return _Digits(self.least[1:], top, self.least_inclusive, self.most_inclusive, room).behind(low)
        parts = _Digits(self.least[1:], None, self.least_inclusive, False, room).behind(low)
        first, last = low + 1, high - 1 if bounded else high
        if first <= last:
            parts.append(f"[{first}-{last}] [0-9]{{0,{room}}}")
        return parts + (_Digits("", top, True, self.most_inclusive, room).behind(high) if bounded else [])

    def behind(self, digit: int) -> list[str]:
        """The digit, and these after it."""
        more = self.alternatives()
        if not more:
            return [f'"{digit}"'] if self.may_end else []
        return [f'"{digit}" {_grouped(more)}{"?" if self.may_end else ""}']

    def _past_the_bounds(self) -> list[str]:
        if not self.room:
            return []
        if self.most is not None:
            return [f'"0"{{1,{self.room}}}'] if self.least_inclusive and self.most_inclusive else []
        if self.least_inclusive:
            return [f"[0-9]{{1,{self.room}}}"]
        return [f'"0"{{0,{self.room - 1}}} [1-9] [0-9]{{0,{self.room}}}']


def _from_to(least: int, most: int | None) -> list[str]:
    """Whole numbers from ``least``, which is not negative, to ``most``, without leading zeros."""
    if most is None:
        digits = len(str(least))
        return [*_same_length(str(least), "9" * digits), f"[1-9] [0-9]{{{digits},{max(_DIGITS, digits)}}}"]
    parts = []
    for digits in range(len(str(least)), len(str(most)) + 1):
        low = str(max(least, 10 ** (digits - 1) if digits > 1 else 0))
        parts += _same_length(low, str(min(most, 10**digits - 1)))
    return parts


def _same_length(low: str, high: str) -> list[str]:
    """Numbers between two of the same length, as alternatives."""
    if low == high:
        return [f'"{low}"']
    if low == "0" * len(low) and high == "9" * len(high):
        return [f"[0-9]{{{len(low)}}}"]
    if len(low) == 1:
        return [f"[{low}-{high}]"]
    if low[0] == high[0]:
        return [f'"{low[0]}" {_grouped(_same_length(low[1:], high[1:]))}']
    rest = len(low) - 1
    first, last = int(low[0]), int(high[0])
    parts: list[str] = []
    if low[1:] != "0" * rest:
        parts.append(f'"{first}" {_grouped(_same_length(low[1:], "9" * rest))}')
        first += 1
    above: list[str] = []
    if high[1:] != "9" * rest:
        above.append(f'"{last}" {_grouped(_same_length("0" * rest, high[1:]))}')
        last -= 1
    if first <= last:
        parts.append(f"[{first}-{last}] [0-9]{{{rest}}}")
    return parts + above


def _grouped(parts: list[str]) -> str:
    return f"({' | '.join(parts)})"
