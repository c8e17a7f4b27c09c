"""Whole numbers, and decimal numbers, between two bounds as expressions of GBNF."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

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
