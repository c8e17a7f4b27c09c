"""Whole numbers between two bounds, and numbers between two whole bounds, as expressions of GBNF."""

from __future__ import annotations

from typing import Final

_DIGITS: Final = 15
"""Of a number without a bound; beyond 2^53 a JSON number is not exact."""

_FRACTION: Final = '("." [0-9]{1,15})?'
_ZEROS: Final = '("." "0"{1,15})?'


def integer_range(least: int | None, most: int | None) -> str:
    """The whole numbers from ``least`` to ``most``; None is no bound."""
    parts: list[str] = []
    if least is None or least < 0:
        low = 1 if most is None or most >= 0 else -most
        parts.append(f'"-" ({_from_to(low, None if least is None else -least)})')
    if most is None or most >= 0:
        parts.append(_from_to(max(least or 0, 0), most))
    return " | ".join(parts)


def number_range(least: int | None, most: int | None) -> str:
    """The numbers from ``least`` to ``most``, without exponents; None is no bound."""
    parts: list[str] = []
    if least is None or least < 0:
        low = 0 if most is None or most >= 0 else -most
        parts.append(f'"-" ({_fractions(low, None if least is None else -least)})')
    if most is None or most >= 0:
        parts.append(_fractions(max(least or 0, 0), most))
    return " | ".join(parts)


def _fractions(least: int, most: int | None) -> str:
    """Numbers from ``least``, which is not negative, to ``most``."""
    if most is None:
        return f"({_from_to(least, None)}) {_FRACTION}"
    exact = f'"{most}" {_ZEROS}'
    return exact if least >= most else f"({_from_to(least, most - 1)}) {_FRACTION} | {exact}"


def _from_to(least: int, most: int | None) -> str:
    """Whole numbers from ``least``, which is not negative, to ``most``, without leading zeros."""
    if most is None:
        digits = len(str(least))
        parts = _same_length(str(least), "9" * digits)
        return " | ".join([*parts, f"[1-9] [0-9]{{{digits},{max(_DIGITS, digits)}}}"])
    parts = []
    for digits in range(len(str(least)), len(str(most)) + 1):
        low = str(max(least, 10 ** (digits - 1) if digits > 1 else 0))
        parts += _same_length(low, str(min(most, 10**digits - 1)))
    return " | ".join(parts)


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
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"
