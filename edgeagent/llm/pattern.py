"""The simple regular expressions of JSON Schema's ``pattern`` to GBNF.

Anchored at both ends; literals, classes, groups, alternatives and quantifiers. Nothing that looks around or back.
"""

from __future__ import annotations

from typing import Final

from edgeagent.llm.gbnf import Rules

_LAST: Final = 0x10FFFF
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
            return self._class([(0, _LAST)])
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
        return self._class(_without([(0, _LAST)], ranges) if negated else ranges)

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
