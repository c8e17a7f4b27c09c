"""Amounts in what somebody says: "half a meter", "3 feet", "minus two", "a minute and a half". Rows of data and rules.

Pure functions, on any thread; words are those of ``tokens.words_of``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final, Literal

from edgeagent.english import number_words
from edgeagent.english.number_words import figures
from edgeagent.english.tokens import words_of
from edgeagent.english.word_data import is_number, lists

_LISTS: Final = lists("amounts")
Dimension = Literal["length", "angle", "time", "percent", "volume", "mass", "times", "other", ""]
"""Of what a number is one; "" for a number without a unit, "other" for what is no amount of a distance, an angle
or a time: steps, a speed, the time of day, and what tells when to end."""

_ROWS: Final[dict[Dimension, list[tuple[float, str]]]] = _LISTS.table("units")  # type: ignore[assignment]  # a file's keys are words
_UNITS: Final[dict[str, tuple[Dimension, float]]] = {
    f"{name}{plural}": (dimension, factor)
    for dimension, rows in _ROWS.items()
    for factor, names in rows
    for name in names.split()
    for plural in ("", "s")
}

_PARTS: Final = {word: number_words.part(word) or 0.0 for word in _LISTS.parts}
_FEW: Final = _LISTS.table("few")
"""Words that count where a unit follows."""
_TIMES: Final = _LISTS.table("times")
_INEXACT: Final = frozenset({0.0254, 0.3048, 0.9144, 1609.344, 57.29578, 0.45359237})
_ROUNDED: Final = 0.03
"""Share by which a converted foot, inch or pound may be rounded, and the largest for a third."""
_EXACT: Final = 0.001
_HALF_CENT: Final = 0.005
"""By so much the value of a fraction may be rounded: 0.67 for 2/3."""
_CENTS: Final = 10
"""Two digits behind a unit are of the next smaller one: "1 meter 80", "1 minute 30"."""
_SMALLER: Final[dict[tuple[Dimension, int], float]] = {("length", 1): 0.01, ("time", 60): 1.0, ("time", 3600): 60.0}
"""That smaller unit, in meters or seconds, by the dimension and the size of the larger."""
_NO_UNITS: Final = ("l", "g", "t")
"""Letters that no parameter has for liters, grams and tons: ``speed_l`` is that of the left wheel."""
_VERBS_TOO: Final = (["turn"], ["circle"], ["spin"], ["round"], ["lap"])
_VERBS: Final = lists("classes").verbs
_PER: Final = (["s"], ["h"])
"""Remains of "per second" and "per hour" in "m/s" and "km/h"."""
_FROM: Final = (["from"], ["before"], ["away"], ["off"])
"""Words that make the end of a way of a length, behind an "until": "2 meters from the wall"."""
_NO_AMOUNT: Final = (["count", "of"],)
"""Words after which a number tells no amount: "on the count of three"."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A number that was said, in meters, degrees, seconds, percent, liters or kilograms where its unit tells; bare
    otherwise.

    Attributes:
        value: Without a sign.
        bare: The number itself, as it was said.
        start, end: Its words.
        negative: "minus" stands before it.
        tolerance: Share by which it may be rounded.
        vague: Nobody can tell of what it is one, as of 1/2 in "gate 1/2", or if two numbers are one, as in "1/2 1/2 m".
    """

    value: float
    dimension: Dimension
    bare: float
    start: int
    end: int
    negative: bool = False
    tolerance: float = _EXACT
    vague: bool = False

    def is_about(self, value: float) -> bool:
        """True if a value is this amount, whatever its sign."""
        return math.isclose(abs(value), self.value, rel_tol=self.tolerance, abs_tol=1e-6)


def unit_of(name: str) -> tuple[Dimension, float] | None:
    """Dimension and factor that the name of a parameter tells: distance_m, angle_deg, seconds; None for others."""
    last = name.lower().rsplit("_", 1)[-1]
    if last in ("in", "pct"):
        return ("length", 0.0254) if last == "in" and "_" in name else ("percent", 1.0) if last == "pct" else None
    if len(last) == 1 and ("_" not in name or last in _NO_UNITS):
        return None
    found = _UNITS.get(last)
    if found is None or found[0] in ("times", "other") or last in ("round", "rounds", "time", "times", "lap", "spin"):
        return None
    return found


def amounts_in(text: str) -> list[Amount]:
    """All amounts of a text, in their order."""
    return amounts_of(words_of(text))


def amounts_of(words: Sequence[str]) -> list[Amount]:
    """All amounts of a list of words, in their order."""
    found: list[Amount] = []
    at = 0
    ends = False
    while at < len(words):
        ends = words[at] in _LISTS.until or (ends and words[at] not in _LISTS.clauses | _VERBS)
        denied = words[at] == "not" and words[max(0, at - 1) : at] != ["why"]  # "two meters, not three"
        one = _amount(words, at + denied)
        if one is None:
            at += 1
        else:
            ends_there = ends and one.dimension == "length" and words[one.end : one.end + 1] in _FROM
            found += [] if denied else [replace(one, dimension="other") if ends_there else one]
            at = one.end
    return found


def tells_amount(text: str) -> bool:
    """True if a text tells how much, in numbers or otherwise: "turn around", "a bit further"."""
    words = words_of(text)
    return bool(amounts_of(words)) or not _LISTS.much.isdisjoint(words)


def has_unread(words: Sequence[str], amounts: Iterable[Amount]) -> bool:
    """True if figures are among words that are no amount, and no time: 12/25, 1.5/2, 1/2/3."""
    read = {at for one in amounts for at in range(one.start, one.end)}
    unread = (word for at, word in enumerate(words) if at not in read and is_number(word))
    return any(not figures(word) and ":" not in word for word in unread)


def counted(words: Collection[str]) -> set[int]:
    """Numbers of things that words tell otherwise than as an amount: "the third pallet", "pallet one", "on 12/25"."""
    ranks = {number_words.rank(word) for word in words}
    dates = (word for word in words if number_words.ratio(word) is not None and not number_words.is_share(word))
    return (
        {int(side) for word in dates for side in number_words.sides(word)}
        | {rank for rank in ranks if rank is not None}
        | ({1} if "one" in words else set())
    )


def derived(said: Sequence[Amount], words: Sequence[str]) -> Iterator[Amount]:
    """Derives amounts from others: sums of hours and minutes, "two plus three", "two meters three times"."""
    for first, second in pairwise(one for one in said if not one.vague):
        between = [word for word in words[first.end : second.start] if word not in ("and", "a", "by")]
        dimension = second.dimension or first.dimension
        left = _in(first, second)
        span = {"start": first.start, "end": second.end, "dimension": dimension}
        if first.dimension == second.dimension and not between and second.value < first.value:
            yield replace(first, **span, value=first.value + second.value)  # type: ignore[arg-type]
        smaller = _SMALLER.get((first.dimension, round(first.value / first.bare))) if first.bare else None
        if smaller is not None and not second.dimension and not between and second.bare >= _CENTS:
            yield replace(first, **span, value=first.value + second.bare * smaller)  # type: ignore[arg-type]
        for sign, value in (
            ("plus", left + second.value),
            ("minus", abs(left - second.value)),
            ("times", first.bare * second.value),
            ("divided", left / second.bare if second.bare else 0.0),
        ):
            if between == [sign] or (sign == "minus" and second.negative and not between):
                yield replace(first, **span, value=value)  # type: ignore[arg-type]
    units = _with_units(said)
    counts = {one.value for one in said if one.dimension == "times"}
    for one in said:
        if one.vague:
            if not one.dimension:  # "dim to 3/4"
                yield replace(one, dimension="percent", value=100 * one.value, vague=False)
            continue
        for other in units:
            # "three minutes, no, make that eight"
            if not one.dimension:
                yield _in_unit_of(one, other)
        for count in counts:
            if one.dimension != "times":
                yield replace(one, value=one.value * count)


def in_units_of(amounts: Iterable[Amount], earlier: Sequence[str]) -> Iterator[Amount]:
    """Numbers without a unit in the units of the newest earlier text that has any: "five minutes", "make it ten"."""
    units = next(filter(None, (_with_units(amounts_in(text)) for text in reversed(earlier))), [])
    bare = (one for one in amounts if not (one.dimension or one.vague))
    return (_in_unit_of(one, other) for one in bare for other in units)


def in_other_units(words: Sequence[str], earlier: Sequence[str]) -> Iterator[Amount]:
    """Figures of the newest earlier text that has any, in another unit of now: "15 minutes", "I meant seconds"."""
    figures = next(filter(None, (_with_units(amounts_in(text)) for text in reversed(earlier))), [])
    alone = [word for before, word in pairwise(["", *words]) if word in _UNITS and not is_number(before)]
    for figure in figures:
        for unit in alone:
            changed = amounts_of([f"{figure.bare:g}", unit])
            yield from (one for one in changed if not math.isclose(one.value, figure.value))


def _with_units(amounts: Iterable[Amount]) -> list[Amount]:
    """An amount of each unit: of many amounts few differ in it, so the work grows as their number does."""
    those = [one for one in amounts if one.dimension not in ("", "times") and one.bare and not one.vague]
    return list({(one.dimension, f"{one.value / one.bare:.9g}", one.tolerance): one for one in those}.values())


def _in_unit_of(one: Amount, other: Amount) -> Amount:
    factor = other.value / other.bare
    tolerance = _ROUNDED if any(math.isclose(factor, inexact) for inexact in _INEXACT) else one.tolerance
    return replace(one, value=one.bare * factor, dimension=other.dimension, tolerance=tolerance)


def _in(one: Amount, like: Amount) -> float:
    """The first of two numbers that share a unit: "2 plus 3 meters"."""
    return one.value if one.dimension or not like.bare else one.value * like.value / like.bare


def _amount(words: Sequence[str], at: int) -> Amount | None:
    """The amount that begins there."""
    start = at
    if at >= len(words) or words[max(0, at - 2) : at] in _NO_AMOUNT:
        return None
    negative = words[at] in _LISTS.minus
    if negative:
        at += 1
    read = _number(words, at)
    if read is None:
        return None
    number, end, needs_unit = read
    sure: bool | None = True
    if not needs_unit or words[end - 1] == "one":
        number, end, sure = _with_part(words, start, number, end)
    is_part = _ends_in_part(words[start:end])
    unit_at = end
    while unit_at < len(words) and words[unit_at] in _LISTS.between:
        unit_at += 1
    unit = _UNITS.get(words[unit_at]) if unit_at < len(words) else None
    if number > 1 and not is_part and words[unit_at : unit_at + 1] in _VERBS_TOO:  # "on the count of three turn around"
        unit = None
    if unit is None and is_part and words[end : end + 1] == ["of"]:
        if whole := _amount(words, unit_at):  # "2/3 of 6 meters"
            value = number * whole.value
            tolerance = max(whole.tolerance, _tolerance(value))
            return replace(
                whole, value=value, bare=number * whole.bare, start=start, negative=negative, tolerance=tolerance
            )
        if not needs_unit:  # "2/3 of the way"
            return Amount(100 * number, "percent", number, start, end, negative, _tolerance(number))
    if unit is None and is_part and not number_words.ratio(words[end - 1]) and not words[end - 1].endswith("s"):
        number, end, _ = read  # "shelf 2 third box"
        is_part = False
    if unit is None and needs_unit:
        return None
    if unit is None:
        tolerance = _tolerance(number) if is_part else _EXACT
        return Amount(number, "", number, start, end, negative, tolerance, is_part)
    dimension, factor = unit
    end = unit_at + 1
    dimension = "other" if _is_speed(dimension, words[end : end + 2]) else dimension
    value = number * factor
    if words[end : end + 1] == ["and"]:
        share_at = end + 1 + (words[end + 1 : end + 2] == ["a"])
        share = _PARTS.get(words[share_at]) if share_at in range(end + 2, len(words)) else _share(words, share_at)
        if share and not _is_of_more(words[share_at + 1 :]):  # "an hour and 1/2", but not "2 meters and a half turn"
            value, end, is_part = value + share * factor, share_at + 1, True
    tolerance = _ROUNDED if factor in _INEXACT else _tolerance(value) if is_part else _EXACT
    return Amount(value, dimension, number, start, end, negative, tolerance, not sure)


def _is_of_more(words: Sequence[str]) -> bool:
    """True if the words behind a fraction tell of what it is one: "turn", "of the way"."""
    return words[:1] == ["of"] or _unit_at(words, 0) in _UNITS


def _is_speed(dimension: Dimension, after: Sequence[str]) -> bool:
    """True if the word behind a unit makes a speed of it: "2 meters per second", "2 m/s"."""
    per = list(after[:1]) == ["per"] and any(_UNITS.get(word, ("",))[0] == "time" for word in after[1:])
    return per or (dimension in ("length", "angle") and list(after[:1]) in _PER)


def _share(words: Sequence[str], at: int) -> float | None:
    """The value of a fraction at a place: 0.5 of 1/2; None where none is."""
    return number_words.ratio(words[at]) if at < len(words) and number_words.is_share(words[at]) else None


def _tolerance(value: float) -> float:
    """Share by which the value of a fraction may be rounded: to two decimals if no four decimals tell it."""
    if math.isclose(value, round(value, 4), rel_tol=1e-9):
        return _EXACT
    return min(_ROUNDED, max(_EXACT, _HALF_CENT / value))


def _with_part(words: Sequence[str], start: int, number: float, end: int) -> tuple[float, int, bool | None]:
    """Reads the part behind a number: three quarters, 2 2/3, 2 and two thirds.

    Returns:
        The number with the part, where both end, and if they certainly are one number; as given where no part follows.
    """
    apart = number, end, True
    before, after = words[:start], words[end] if end < len(words) else ""
    whole = number.is_integer() and number_words.ratio(words[end - 1]) is None
    if part := number_words.part(after):
        named = number_words.is_named(before) and not after.endswith("s")  # "room 2 half a meter on"
        return apart if named else (number * part, end + 1, whole)
    if (part := number_words.ratio(after)) and (not whole or part < 1):
        sure = whole and number_words.adds(before, _unit_at(words, end + 1))
        return apart if whole and sure is False else (number + part, end + 1, sure)
    at = end + 1
    read = None if words[at : at + 1] and words[at] in _PARTS else _number(words, at)
    if after != "and" or read is None or not whole:  # "turn 90 and half a meter on"
        return apart
    more, last, _ = read
    if more >= 1 and last < len(words) and (part := number_words.part(words[last])):
        more, last = more * part, last + 1
    unit = words[last] if last < len(words) else ""
    if not 0 < more < 1 or not number_words.is_plural(unit):
        return apart
    sure = number_words.adds(before, unit)
    return apart if sure is False else (number + more, last, sure)


def _unit_at(words: Sequence[str], at: int) -> str:
    """The word there, behind those that may stand between a number and its unit."""
    return next((word for word in words[at:] if word not in _LISTS.between), "")


def _ends_in_part(words: Sequence[str]) -> bool:
    """True if words end in a fraction: 2/3, two thirds."""
    return bool(words) and (number_words.ratio(words[-1]) or number_words.part(words[-1])) is not None


def _number(words: Sequence[str], at: int) -> tuple[float, int, bool] | None:
    """A number that begins there: its value, where it ends, and whether it is one only before a unit."""
    if at >= len(words):
        return None
    word = words[at]
    if figures(word):
        return float(word), at + 1, False
    if word in _LISTS.one and words[at + 1 : at + 2] == ["and"] and _number(words, at + 2) is not None:
        return 1.0, at, True
    if (written := number_words.ratio(word)) is not None:
        return written, at + 1, not number_words.is_share(word)
    if word in _PARTS:
        return _PARTS[word], at + 1, True
    if word in _TIMES:
        return None
    if word in _FEW:
        after = at + 1
        if after < len(words) and word in ("a", "an") and words[after] in (*_FEW, *_PARTS):
            return _number(words, after)
        if word in ("a", "an") and words[after + 1 : after + 2] == ["of"] and (part := number_words.part(words[after])):
            return part, after + 1, True
        return float(_FEW[word]), after, True
    if word != "point" and (read := number_words.number(words[at:])) is not None:
        return float(read.digits), at + read.taken, False
    return None


def clause(words: Sequence[str], amount: Amount) -> Sequence[str]:
    """The words around an amount that may tell its direction, up to an "and" or a "then"."""
    first = max((at + 1 for at in range(amount.start) if words[at] in _LISTS.clauses), default=0)
    last = min((at for at in range(amount.end, len(words)) if words[at] in _LISTS.clauses), default=len(words))
    return words[first:last]


def said_times(words: Iterable[str], amounts: Iterable[Amount]) -> float:
    """By how much "twice as far", "half of that", "three times that" change what was said before; 1 without such
    words."""
    words = list(words)
    for at, word in enumerate(words):
        if word in _TIMES or word in _PARTS:
            over = number_words.number(words[max(0, at - 1) : at]) if word in _PARTS else None  # "two thirds of that"
            return float(over.digits if over else 1) * (_TIMES.get(word, 0) or _PARTS[word])
        if share := _share(words, at):
            return share
    for one in amounts:
        after = [word for word in words[one.end :] if word not in _LISTS.clauses]
        if one.dimension == "times" and one.value and (not after or after[0] in _LISTS.referring):
            return one.value
    return 1.0


Directions = tuple[tuple[str, frozenset[str]], tuple[str, frozenset[str]]]
"""Names and words of a direction and of its contrary."""
PAIRS: Final[tuple[Directions, ...]] = (
    (("forward", _LISTS.forward), ("back", _LISTS.back)),
    (("left", _LISTS.left), ("right", _LISTS.right)),
    (("up", _LISTS.up), ("down", _LISTS.down)),
)
"""Directions that are each other's contrary, each with the words for it."""
_SIGN: Final = re.compile(
    r"\b(negative|positive)(?: numbers?| values?)? (?:(?:is|are|means?|for|to)(?: to)?(?: the)? )?(\w+)"
)
_RIGHT_NOW: Final = re.compile(
    rf"(?:\b({'|'.join(sorted(lists('numbers').turning))}) )?"
    r"\b(?:right (now|away|there|here|after|then)|all right|is right)\b"
)
_NOW: Final = frozenset({"now", "away"})
""" "turn right then" is to the right, and "turn left right now" to the left."""
_CLOCKWISE: Final = re.compile(r"\b(counter|anti) clockwise\b")
_NOT_THERE: Final = re.compile(r"\bnot (?:to the )?(?:left|right|forwards?|backwards?)\b")

WITHOUT_NUMBER: Final[tuple[tuple[Dimension, tuple[float, ...], frozenset[str]], ...]] = (
    ("length", (1.0, 0.5), frozenset()),
    ("angle", (90.0,), _LISTS.quarter_turn),
    ("angle", (180.0,), _LISTS.half_turn),
    ("angle", (360.0,), _LISTS.full_turn),
    ("percent", (0.0,), _LISTS.nothing),
    ("percent", (25.0,), _LISTS.quarter),
    ("percent", (50.0,), _LISTS.half),
    ("percent", (100.0,), _LISTS.everything),
)
"""Values for words without a number (scripts/lab/train_nano/conventions.md): a dimension, its values in meters, degrees
or percent, and words of which one is said; none for any words to a tool that moves the robot."""
SLIGHT: Final[dict[Dimension, float]] = {"length": 0.5, "angle": 15.0}
"""Meters and degrees of a small one; no other value will do then."""


def orientation(description: str) -> Directions | None:
    """The names and words of the positive and the negative direction, where a description tells: "negative is
    backwards", "positive is left". None where it does not."""
    found = _SIGN.search(description.lower())
    if found is None:
        return None
    for one, other in (*PAIRS, *((other, one) for one, other in PAIRS)):
        if found[2] in one[1]:
            return (one, other) if found[1] == "positive" else (other, one)
    return None


def sign_of(words: Sequence[str], positive: Collection[str], negative: Collection[str]) -> int:
    """1 or -1 for the direction that words tell; 0 where they tell none, or both."""
    text = _NOT_THERE.sub(" ", _CLOCKWISE.sub(r"\1clockwise", " ".join(words)))
    plain = set(_RIGHT_NOW.sub(_without_now, text).split())
    return bool(plain & set(positive)) - bool(plain & set(negative))


def _without_now(found: re.Match[str]) -> str:
    turns_there = found[1] and found[2] and found[2] not in _NOW
    return found[0] if turns_there else f"{found[1] or ''} "


def is_bearing(value: float, name: str, words: Collection[str]) -> bool:
    """Tells if a value in degrees is a point of the compass that was said, for a parameter that is one."""
    points = _LISTS.table("compass")
    return bool(_LISTS.bearing & set(name.lower().split("_"))) and value % 360 in {
        points[word] for word in words if word in points
    }


def is_usual(value: float, dimension: Dimension, words: Collection[str], *, moves: bool) -> bool:
    """Tells if a value in meters, degrees or percent is what words without a number mean.

    Args:
        moves: It is for a tool that moves the robot: "drive forward" tells how far.
    """
    if dimension in SLIGHT and _LISTS.slightly & set(words):
        return abs(value) == SLIGHT[dimension]
    if dimension == "length" and _LISTS.no_way & set(words) and not (_LISTS.forward | _LISTS.back) & set(words):
        return False
    return any(
        dimension == one and abs(value) in values and (cues & set(words) if cues else moves)
        for one, values, cues in WITHOUT_NUMBER
    )
