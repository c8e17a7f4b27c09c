"""Directions: of a number's sign, and of turns and ways that are asked for without a number. Rows of data."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

from edgeagent.english.amounts import Dimension

Directions = tuple[tuple[str, frozenset[str]], tuple[str, frozenset[str]]]
"""Names and words of a direction and of its contrary."""
PAIRS: Final[tuple[Directions, ...]] = (
    (
        ("forward", frozenset("forward forwards ahead advance straight onward onwards further closer nearer".split())),
        (
            "back",
            frozenset(
                "back backward backwards backing backed backup reverse reversed reversing retreat retreating rearward "
                "rearwards rear off away behind".split()
            ),
        ),
    ),
    (
        ("left", frozenset("left leftward leftwards counterclockwise anticlockwise counter anti port".split())),
        ("right", frozenset("right rightward rightwards clockwise starboard".split())),
    ),
    (
        ("up", frozenset("up upward upwards raise lift higher above".split())),
        ("down", frozenset("down downward downwards lower below".split())),
    ),
)
"""Directions that are each other's contrary, each with the words for it."""
_SIGN: Final = re.compile(
    r"\b(negative|positive)(?: numbers?| values?)? (?:is|are|means?|for|to)(?: to)?(?: the)? (\w+)"
)
_RIGHT_NOW: Final = re.compile(r"\b(?:right (?:now|away|there|here|after|then)|all right|is right|that is right)\b")

WITHOUT_NUMBER: Final[tuple[tuple[Dimension, tuple[float, ...], frozenset[str]], ...]] = (
    ("length", (1.0, 0.5), frozenset()),
    (
        "angle",
        (90.0,),
        frozenset(
            "left right leftward leftwards rightward rightwards clockwise counterclockwise anticlockwise sideways turn "
            "rotate pivot swivel".split()
        ),
    ),
    (
        "angle",
        (180.0,),
        frozenset(
            "around round about back backwards behind opposite other reverse u face heel way where came flip".split()
        ),
    ),
    (
        "angle",
        (360.0,),
        frozenset("full circle spin around round once complete whole pirouette twirl loop all entire".split()),
    ),
)
"""Values for words without a number (scripts/train_nano/conventions.md): a dimension, its values in meters or degrees,
and words of which one is said; none for any words."""
SLIGHTLY: Final = frozenset("little bit slightly tad touch somewhat".split())
"""Words that make a way or a turn a small one."""
SLIGHT: Final[dict[Dimension, float]] = {"length": 0.5, "angle": 15.0}
"""Meters and degrees of a small one; no other value will do then."""


def orientation(description: str) -> Directions | None:
    """The names and words of the positive and the negative direction, where a description tells: "negative is
    backwards", "positive is left". None where it does not."""
    found = _SIGN.search(description.lower())
    if found is None:
        return None
    for one, other in PAIRS:
        if found[2] in one[1]:
            return (one, other) if found[1] == "positive" else (other, one)
        if found[2] in other[1]:
            return (other, one) if found[1] == "positive" else (one, other)
    return None


def sign_of(words: Sequence[str], positive: Collection[str], negative: Collection[str]) -> int:
    """1 or -1 for the direction that words tell; 0 where they tell none, or both."""
    plain = set(_RIGHT_NOW.sub(" ", " ".join(words)).split())
    return bool(plain & set(positive)) - bool(plain & set(negative))


def is_usual(value: float, dimension: Dimension, words: Collection[str]) -> bool:
    """Tells if a value in meters or degrees is what words without a number mean."""
    if dimension in SLIGHT and SLIGHTLY & set(words):
        return abs(value) == SLIGHT[dimension]
    return any(
        dimension == one and abs(value) in values and (not cues or cues & set(words))
        for one, values, cues in WITHOUT_NUMBER
    )
