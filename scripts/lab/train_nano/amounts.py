"""Amounts beyond plain meters, degrees and seconds: feet, inches, yards, millimetres, parts of turns, short spellings.

Surfaces and values in the units of the tools, as rows. A converted value has three decimals, as the product's own
conversion has (edgeagent/hooks/grounding.py).
"""

from __future__ import annotations

import random
from typing import Final

from edgeagent.train import cardinal, digits, number

Said = tuple[str, float]
"""A surface and its value."""

_LENGTHS: Final[tuple[tuple[float, float, str, str, tuple[str, ...], tuple[int, ...]], ...]] = (
    (4, 0.3048, "foot", "feet", ("ft",), (*range(1, 13), *range(2, 11), 15, 20, 30)),
    (3, 0.0254, "inch", "inches", ("in", "inches"), (*range(1, 13), *range(2, 13), 15, 18, 20, 24, 30, 36)),
    (2, 0.9144, "yard", "yards", ("yd", "yds"), (*range(1, 7), *range(1, 11), 15, 20)),
    (1.5, 0.001, "millimeter", "millimeters", ("mm",), (10, 50, 80, 100, 150, 200, 250, 300, 400, 500, 700, 750, 900)),
    (0.5, 0.001, "millimetre", "millimetres", ("mm",), (20, 50, 100, 120, 200, 250, 350, 500, 600, 800, 1000)),
    (0.7, 0.1, "decimeter", "decimeters", ("decimeters",), tuple(range(1, 10))),
)
"""Weight, meters, one, many, short forms, and the numbers that are said of it."""

_HALVES: Final = (("half a {}", 0.5), ("a half {}", 0.5), ("{n} and a half {}s", 0), ("a {} and a half", 1.5))
PARTS: Final[tuple[Said, ...]] = (
    ("half a turn", 180), ("a half turn", 180), ("one half turn", 180), ("half a circle", 180), ("half a rotation", 180),
    ("a quarter turn", 90), ("a quarter of a turn", 90), ("one quarter turn", 90), ("a quarter circle", 90),
    ("three quarters of a turn", 270), ("a three quarter turn", 270), ("three quarter turns", 270), ("three quarters of a circle", 270),
    ("an eighth of a turn", 45), ("an eighth turn", 45), ("a third of a turn", 120), ("two thirds of a turn", 240),
    ("a full turn", 360), ("one full turn", 360), ("a complete turn", 360), ("one turn", 360), ("a whole circle", 360), ("a full rotation", 360),
    ("one and a half turns", 540), ("1.5 turns", 540), ("a turn and a half", 540), ("one and a quarter turns", 450),
    ("two full turns", 720), ("two turns", 720), ("2 turns", 720), ("two complete turns", 720), ("two whole circles", 720), ("two rotations", 720),
    ("two and a half turns", 900), ("2.5 turns", 900), ("three turns", 1080), ("three full turns", 1080), ("3 rotations", 1080), ("four turns", 1440),
    ("two half turns", 360), ("three half turns", 540), ("two quarter turns", 180), ("three quarter turns in a row", 270), ("half a revolution", 180),
    ("a couple of turns", 720), ("a couple of full turns", 720), ("one revolution", 360), ("0.5 turns", 180),
)  # fmt: skip
"""Parts of a turn and several turns, in degrees."""


def words_or_digits(rng: random.Random, n: int) -> str:
    """A whole number as it is said or typed."""
    return cardinal(n, hyphen=rng.random() < 0.4) if rng.random() < 0.5 else str(n)


def length(rng: random.Random) -> Said:
    """A distance in a unit that must be converted, or in meters with what follows them."""
    kind = rng.random()
    if kind < 0.15:
        n, rest = rng.randint(1, 9), rng.choice((10, 20, 25, 30, 40, 50, 50, 60, 70, 75, 80, 90))
        metre = rng.choice(("meter", "metre")) + "s" * (n > 1)
        shapes = (
            f"{n} {metre} {rest:02d}",
            f"{n}m{rest:02d}",
            f"{words_or_digits(rng, n)} {metre} and {rest} centimeters",
        )
        shapes += (f"{cardinal(n)} {metre} {cardinal(rest)}",) * (rest >= 10) + (f"{n} m {rest} cm",)
        return rng.choice(shapes), number(n + rest / 100)
    _, metres, one, many, short, range_ = rng.choices(_LENGTHS, [row[0] for row in _LENGTHS])[0]
    if kind < 0.28 and metres >= 0.3:
        shape, value = rng.choice(_HALVES)
        n = rng.randint(1, 8)
        if value:
            return shape.format(one), round(value * metres, 3)
        return f"{words_or_digits(rng, n)} and a half {many}", round((n + 0.5) * metres, 3)
    n = rng.choice(range_)
    value = round(n * metres, 3)
    if n == 1:
        return rng.choice(
            (f"{'an' if one[0] == 'i' else 'a'} {one}", f"one {one}", f"1 {rng.choice(short[:1])}")
        ), value
    if n == 2 and rng.random() < 0.2:
        return rng.choice((f"a couple of {many}", f"a couple {many}")), value
    figure = words_or_digits(rng, n)
    if figure[-1].isdigit() and rng.random() < 0.4:
        unit = rng.choice(short)
        return figure + rng.choice(("", " ")) + unit, value
    return f"{figure} {many}", value


def negative(surface: str, value: float, rng: random.Random) -> Said:
    """The same with a sign."""
    if surface[:1].isdigit():
        sign = rng.choice(("-", "-", "-", "minus ", "negative ", "\u2212"))
    else:
        sign = rng.choice(("minus ", "minus ", "minus ", "negative "))
    return sign + surface, number(-value)


def span(rng: random.Random) -> Said:
    """A time in a short spelling, or with what is left out."""
    h, m, s = (
        rng.randint(1, 5),
        rng.choice((5, 10, 15, 20, 30, 45, rng.randint(1, 59))),
        rng.choice((10, 15, 20, 30, 40, 45, rng.randint(1, 59))),
    )
    n = rng.randint(1, 15)
    minutes, hours = "minute" + "s" * (n > 1), "hour" + "s" * (h > 1)
    rows: tuple[Said, ...] = (
        (f"{h}h {m}m", h * 3600 + m * 60), (f"{h}h{m:02d}", h * 3600 + m * 60), (f"{h} h {m} min", h * 3600 + m * 60),
        (f"{h}h{m}m", h * 3600 + m * 60), (f"{n}m {s}s", n * 60 + s), (f"{n}m{s}s", n * 60 + s), (f"{n} min {s} sec", n * 60 + s),
        (f"{n}min {s}s", n * 60 + s), (f"{n} {minutes} {s}", n * 60 + s), (f"{cardinal(n)} {minutes} {cardinal(s)}", n * 60 + s),
        (f"{cardinal(n)} {minutes} and {cardinal(s)} seconds", n * 60 + s), (f"{h} {hours} {m}", h * 3600 + m * 60),
        (f"{cardinal(h)} {hours} {cardinal(m)}", h * 3600 + m * 60), (f"{cardinal(h)} {hours} and {cardinal(m)} minutes", h * 3600 + m * 60),
        (f"{cardinal(n)} and a quarter minutes", n * 60 + 15), (f"{n}.5 min", n * 60 + 30), (f"{digits(h + 0.25)} hours", h * 3600 + 900),
        ("a quarter hour", 900), ("three quarters of an hour", 2700), ("half a minute", 30), ("a half minute", 30), ("a quarter of a minute", 15),
        ("an hour and a quarter", 4500), ("an hour and a half", 5400), ("a couple of seconds", 2), ("a couple minutes", 120), ("a dozen minutes", 720),
        ("an hour and " + cardinal(m) + " minutes", 3600 + m * 60), ("a minute and " + cardinal(s) + " seconds", 60 + s), ("a minute " + cardinal(s), 60 + s),
        ("quarter of an hour", 900), ("quarter hour", 900), ("half hour", 1800), ("half an hour", 1800), ("half-hour", 1800), ("three quarters of an hour", 2700), ("three-quarters of an hour", 2700), ("1/2 hour", 1800), ("1/4 hour", 900), ("3/4 hour", 2700), ("1/2 an hour", 1800), ("1 1/2 hours", 5400), ("1 1/2 minutes", 90), (f"{h} 1/2 hours", h * 3600 + 1800), ("½ hour", 1800), ("1½ hours", 5400),
        ("one and a quarter hours", 4500), ("an hour and three quarters", 6300), ("two and a quarter hours", 8100), ("two hours and a quarter", 8100), ("two hours and a half", 9000), ("a minute and a quarter", 75),
        ("one and a half minutes", 90), ("one and a half minute", 90), ("one minute and a half", 90), ("a minute and a half", 90), ("one and a quarter minutes", 75), ("two and a half minutes", 150), ("three and a half minutes", 210),
        ("three quarters of a minute", 45), ("quarter of a minute", 15), ("half a minute", 30), ("half minute", 30), ("half an hour and five minutes", 2100), ("an hour and five", 3900), ("one hour and a half", 5400), ("one hour thirty", 5400),
        ("ninety seconds", 90), ("90 seconds", 90), ("90 secs", 90), ("ninety minutes", 5400), ("ninety mins", 5400), ("sixty seconds", 60), ("a hundred seconds", 100), ("a hundred and twenty seconds", 120), ("one hundred eighty seconds", 180),
        ("a hundred and fifty minutes", 9000), ("a dozen seconds", 12), ("half a dozen minutes", 360), ("a couple of minutes", 120), ("couple of hours", 7200), ("two dozen minutes", 1440), ("a full hour", 3600), ("a full minute", 60), ("a whole hour", 3600),
        (f"{n} and a half min", n * 60 + 30), (f"{cardinal(n)} and a half minutes", n * 60 + 30), (f"{cardinal(h)} and a half hours", h * 3600 + 1800), (f"{cardinal(n)} {minutes} and a half", n * 60 + 30), (f"{n}:{s:02d} minutes", n * 60 + s),
        (f"{cardinal(h)} {hours} and a half", h * 3600 + 1800), (f"{cardinal(h)} {hours} and a quarter", h * 3600 + 900), (f"{n} and a quarter minutes", n * 60 + 15), (f"{digits(n + 0.25)} minutes", n * 60 + 15), (f"{h}.5h", h * 3600 + 1800),
        (f"{h}.5 hrs", h * 3600 + 1800), (f"{cardinal(n)} point five minutes", n * 60 + 30), (f"{cardinal(h)} point five hours", h * 3600 + 1800), (f"{s}s", s), (f"{s} secs", s), (f"{m}mins", m * 60), (f"{h}hrs", h * 3600), (f"{m} min", m * 60),
        (f"{s * 10} seconds", s * 10), (f"{rng.randint(61, 300)} minutes", 0), (f"{rng.randint(100, 3600)} seconds", 0),
    )  # fmt: skip
    surface, value = rng.choice(rows)
    if not value:
        figure, unit = surface.split()
        value = int(figure) * (60 if unit == "minutes" else 1)
    return surface, int(value)
