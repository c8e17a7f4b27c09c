"""What slots draw: a surface (what is said) and a value (what the call takes).

Every kind is a function of a random generator; KINDS lists them. The flat's vocabulary is in lexicon.py.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import amounts
import lexicon
import wordless

from edgeagent.train import cardinal, decimal_words, digits, number


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw: the words said and the argument's value."""

    surface: str
    value: str | int | float
    adjective: str = ""
    """The form before a noun, where it differs: "five minute" of "five minutes"."""


Draw = Callable[[random.Random], Drawn]


def _cardinal(rng: random.Random, n: int) -> str:
    words = cardinal(n, hyphen=rng.random() < 0.4, and_=rng.random() < 0.5)
    return "a" + words[3:] if words.startswith("one hundred") and rng.random() < 0.5 else words


def _figure(rng: random.Random, value: float, words: float = 0.5) -> str:
    """A number in words or digits."""
    if rng.random() < words:
        return _cardinal(rng, int(value)) if value == int(value) else decimal_words(value)
    return digits(value)


def _unit(rng: random.Random, figure: str, long: str, short: tuple[str, ...], *, one: bool) -> str:
    if figure[-1:].isdigit() and rng.random() < 0.35:
        return figure + rng.choice(("", " ")) + rng.choice(short)
    return f"{figure} {long if one or rng.random() < 0.03 else long + 's'}"


_CONVERTED: Final = 0.17
_SPELLED: Final = 0.28
"""Shares of distances in other units, and of times in short spellings and spoken ones."""


def dist(rng: random.Random) -> Drawn:
    """Metres, positive."""
    if rng.random() < _CONVERTED:
        surface, value = amounts.length(rng)
        return Drawn(surface, number(value))
    metre = rng.choice(("meter", "meter", "metre"))
    kind = rng.random()
    if kind < 0.42:
        n = rng.choice((rng.randint(1, 5), rng.randint(1, 5), rng.randint(1, 12), rng.randint(1, 30)))
        figure = "a" if n == 1 and rng.random() < 0.4 else _figure(rng, n)
        return Drawn(_unit(rng, figure, metre, ("m", "m"), one=n == 1), n, f"{figure} {metre}")
    if kind < 0.62:
        value = rng.choice((rng.randint(1, 50) / 10, rng.randint(1, 50) / 10, rng.randint(5, 400) / 100))
        figure = _figure(rng, value)
        return Drawn(_unit(rng, figure, metre, ("m",), one=value < 1 and rng.random() < 0.5), number(value))
    if kind < 0.82:
        return _fraction_dist(rng, metre)
    n = rng.choice((rng.randint(1, 19) * 5, rng.randint(1, 30) * 10, rng.randint(1, 300)))
    centimetre = "centimeter" if metre == "meter" else "centimetre"
    short = ("cm", "cm", "centimeters")
    return Drawn(_unit(rng, _figure(rng, n, 0.45), centimetre, short, one=n == 1), number(n / 100))


def _fraction_dist(rng: random.Random, metre: str) -> Drawn:
    n = rng.randint(1, 6)
    figure = _figure(rng, n, 0.8)
    options: tuple[tuple[str, float], ...] = (
        (f"half a {metre}", 0.5),
        (f"a half {metre}", 0.5),
        (f"half {metre}", 0.5),
        (f"{figure} and a half {metre}s", n + 0.5),
        (f"a {metre} and a half" if n == 1 else f"{figure} {metre}s and a half", n + 0.5),
        (f"a quarter of a {metre}", 0.25),
        (f"a quarter {metre}", 0.25),
        (f"three quarters of a {metre}", 0.75),
        (f"{figure} and a quarter {metre}s", n + 0.25),
        (f"a couple of {metre}s", 2),
        (f"a couple {metre}s", 2),
        (f"a {metre} or so" if rng.random() < 0.3 else f"about a {metre}", 1),
        (f"a single {metre}", 1),
    )
    surface, value = rng.choice(options)
    return Drawn(surface, number(value))


def angle(rng: random.Random) -> Drawn:
    """Degrees, positive."""
    kind = rng.random()
    if kind < 0.1:
        return parts(rng)
    n: float = rng.choice(
        (
            30,
            45,
            60,
            90,
            90,
            120,
            135,
            180,
            270,
            360,
            rng.randint(1, 36) * 5,
            rng.randint(1, 72) * 5,
            rng.randint(1, 360),
        )
    )
    if kind < 0.13:
        n = rng.choice((22.5, 7.5, 12.5, 67.5))
    figure = _figure(rng, n)
    if rng.random() < 0.15:
        return Drawn(figure, number(n))
    if figure[-1].isdigit() and rng.random() < 0.2:
        return Drawn(figure + rng.choice(("°", " deg", "°")), number(n))
    return Drawn(f"{figure} {'degree' if n == 1 or rng.random() < 0.03 else 'degrees'}", number(n))


def parts(rng: random.Random) -> Drawn:
    """Parts of a turn, and several turns."""
    return Drawn(*rng.choice(amounts.PARTS))


def _negative(draw: Draw) -> Draw:
    def drawn(rng: random.Random) -> Drawn:
        while True:
            one = draw(rng)
            if one.surface.split(" ", 1)[0] not in ("a", "an", "half", "about", "three"):
                return Drawn(*amounts.negative(one.surface, float(one.value), rng))

    return drawn


def _span(rng: random.Random, n: int, unit: str) -> str:
    short = {"second": ("s", "sec", "secs"), "minute": ("min", "mins", "min"), "hour": ("h", "hr", "hrs")}[unit]
    figure = _figure(rng, n, 0.55)
    if n == 1 and rng.random() < 0.6:
        figure = "an" if unit == "hour" else "a"
    return _unit(rng, figure, unit, short, one=n == 1)


def duration(rng: random.Random) -> Drawn:
    """Seconds as an integer."""
    if rng.random() < _SPELLED:
        return Drawn(*amounts.span(rng))
    kind = rng.random()
    if kind < 0.5:
        n = rng.choice(
            (rng.randint(1, 20), rng.randint(1, 60), rng.randint(1, 60), rng.randint(1, 120), rng.randint(1, 12) * 5)
        )
        return Drawn(_span(rng, n, "minute"), n * 60, f"{_figure(rng, n)}{rng.choice((' ', ' ', '-'))}minute")
    if kind < 0.68:
        n = rng.choice((rng.randint(1, 60), rng.randint(1, 12) * 5, rng.randint(1, 120), rng.randint(1, 30) * 10))
        return Drawn(_span(rng, n, "second"), n, f"{_figure(rng, n)}{rng.choice((' ', ' ', '-'))}second")
    if kind < 0.77:
        n = rng.choice((1, 1, 2, 3, rng.randint(1, 12), rng.randint(1, 24)))
        return Drawn(_span(rng, n, "hour"), n * 3600, f"{_figure(rng, n)}{rng.choice((' ', ' ', '-'))}hour")
    if kind < 0.88:
        return _fraction_duration(rng)
    big, small = rng.choice((("minute", "second"), ("minute", "second"), ("hour", "minute")))
    first = rng.randint(1, 10) if big == "minute" else rng.randint(1, 4)
    second = rng.choice((rng.randint(1, 11) * 5, rng.randint(1, 59)))
    scale, step = (60, 1) if big == "minute" else (3600, 60)
    joint = rng.choice((" and ", " and ", " ", ", "))
    return Drawn(_span(rng, first, big) + joint + _span(rng, second, small), first * scale + second * step)


def _fraction_duration(rng: random.Random) -> Drawn:
    n = rng.randint(2, 12)
    figure = _figure(rng, n, 0.8)
    options: tuple[tuple[str, int, str], ...] = (
        ("half a minute", 30, "half minute"),
        ("half an hour", 1800, "half hour"),
        ("half an hour", 1800, "half-hour"),
        ("a half hour", 1800, "half hour"),
        ("a quarter of an hour", 900, "quarter hour"),
        ("three quarters of an hour", 2700, ""),
        ("an hour and a half", 5400, "hour and a half"),
        ("a minute and a half", 90, "minute and a half"),
        ("one and a half minutes", 90, "one and a half minute"),
        ("one and a half hours", 5400, "one and a half hour"),
        (f"{figure} and a half minutes", n * 60 + 30, f"{figure} and a half minute"),
        (f"{figure} and a half hours", n * 3600 + 1800, f"{figure} and a half hour"),
        (f"{digits(n + 0.5)} minutes", n * 60 + 30, f"{digits(n + 0.5)} minute"),
        ("1.5 minutes", 90, "1.5 minute"),
        ("1.5 hours", 5400, "1.5 hour"),
        ("a couple of minutes", 120, ""),
        ("a couple of hours", 7200, ""),
    )
    return Drawn(*rng.choice(options))


def _named(vocabulary: dict[str, tuple[str, ...]], articles: tuple[str, ...]) -> Draw:
    """Draws from a canonical name to its everyday names; the canonical one half the time."""
    names = list(vocabulary)

    def draw(rng: random.Random) -> Drawn:
        name = rng.choice(names)
        said = rng.choice(vocabulary[name]) if vocabulary[name] and rng.random() < 0.45 else name
        article = rng.choice(articles)
        return Drawn(f"{article} {said}".strip(), name, said)

    return draw


def _bare(vocabulary: dict[str, tuple[str, ...]]) -> Draw:
    return _named(vocabulary, ("",))


def _one_of(words: tuple[str, ...], articles: tuple[str, ...] = ("",)) -> Draw:
    def draw(rng: random.Random) -> Drawn:
        word = rng.choice(words)
        return Drawn(f"{rng.choice(articles)} {word}".strip(), word)

    return draw


def _said(make: Callable[[random.Random], str]) -> Draw:
    """Draws what is no argument of any call."""

    def draw(rng: random.Random) -> Drawn:
        text = make(rng)
        return Drawn(text, text)

    return draw


def count(rng: random.Random) -> Drawn:
    """How often: 2 to 4."""
    n = rng.choice((2, 2, 2, 3, 3, 4))
    words = {
        2: ("twice", "two times", "2 times", "twice"),
        3: ("three times", "3 times", "thrice"),
        4: ("four times", "4 times"),
    }
    return Drawn(rng.choice(words[n]), n)


def whole(rng: random.Random) -> Drawn:
    """A whole number from 0 to 100 without a unit."""
    n = rng.choice((rng.randint(1, 10), rng.randint(1, 10), rng.randint(0, 100)))
    return Drawn(_figure(rng, n), n)


def small(rng: random.Random) -> Drawn:
    """A whole number from 2 to 12 without a unit."""
    n = rng.randint(2, 12)
    return Drawn(_figure(rng, n), n)


def clock(rng: random.Random) -> Drawn:
    """A time of day; no tool takes one."""
    hour, minute = rng.randint(1, 12), rng.choice((0, 0, 15, 30, rng.randint(1, 59)))
    if minute == 0:
        said = rng.choice(
            (
                f"{_figure(rng, hour)} o'clock",
                f"{hour} {rng.choice(('am', 'pm'))}",
                f"{_cardinal(rng, hour)}",
                f"{hour}:00",
            )
        )
    else:
        said = rng.choice(
            (
                f"{hour}:{minute:02d}",
                f"{hour}:{minute:02d} {rng.choice(('am', 'pm'))}",
                f"{cardinal(hour)} {cardinal(minute)}",
                f"half past {cardinal(hour)}",
            )
        )
    return Drawn(said, said)


_ONSETS: Final = "b br c ch d f fl g gr h k l m n p pl r s st t tr v w z".split()
_CODAS: Final = ("", "", "n", "r", "l", "m", "ck", "st", "rd", "x", "t", "p", "nk", "ng")


def pseudo_word(rng: random.Random) -> str:
    """A word that does not exist, so that the model learns not to guess at the unknown."""
    return "".join(rng.choice(_ONSETS) + rng.choice("aeiou") + rng.choice(_CODAS) for _ in range(rng.randint(1, 3)))


def unknown_object(rng: random.Random) -> Drawn:
    """Something that is not in the flat, with its article."""
    word = pseudo_word(rng) if rng.random() < 0.12 else rng.choice(lexicon.UNKNOWN_OBJECTS)
    if rng.random() < 0.2:
        word = f"{rng.choice(lexicon.ADJECTIVES)} {word}"
    return Drawn(f"{rng.choice(('the', 'the', 'the', 'my', 'a', 'that', 'some', 'our', 'the other'))} {word}", word)


def unknown_place(rng: random.Random) -> Drawn:
    """A place that is not in the flat, with its article."""
    word = pseudo_word(rng) if rng.random() < 0.12 else rng.choice(lexicon.UNKNOWN_PLACES)
    return Drawn(f"{rng.choice(('the', 'the', 'the', 'the', 'my', 'our'))} {word}", word)


_THE: Final = ("the", "the", "the", "the", "the", "my", "")
_OBJECT: Final = ("the", "the", "the", "the", "my", "that", "")
_PLACES: Final = lexicon.ROOMS | lexicon.LANDMARKS

_COUNTED: Final[dict[str, Draw]] = {"dist": dist, "angle": angle, "duration": duration, "count": count}

KINDS: Final[dict[str, Draw]] = _COUNTED | {
    "negdist": _negative(dist),
    "negangle": _negative(angle),
    "parts": parts,
    "int": whole,
    "number": whole,
    "num": whole,
    "n": small,
    "clock": clock,
    "clock_time": clock,
    "time": clock,
    "room": _named(lexicon.ROOMS, _THE),
    "light": _named(lexicon.ROOMS, _THE),
    "landmark": _named(lexicon.LANDMARKS, _THE),
    "place": _named(_PLACES, _THE),
    "dropplace": _named(_PLACES, _THE),
    "object": _named(lexicon.OBJECTS, _OBJECT),
    "room_bare": _bare(lexicon.ROOMS),
    "light_bare": _bare(lexicon.ROOMS),
    "place_bare": _bare(_PLACES),
    "object_bare": _bare(lexicon.OBJECTS),
    "direction": _bare(lexicon.DIRECTIONS),
    "unknown_object": unknown_object,
    "unknown_place": unknown_place,
    "unknown_room": unknown_place,
    "person": _one_of(lexicon.PEOPLE),
    "name": _one_of(lexicon.NAMES),
    "color": _one_of(lexicon.COLORS),
    "thing": _one_of(lexicon.UNKNOWN_OBJECTS + tuple(lexicon.OBJECTS), ("the", "my")),
    "topic": _one_of(lexicon.TOPICS),
    "song": _one_of(lexicon.SONGS),
    "emoji": _said(wordless.emoji),
    "script": _said(wordless.script),
    "figures": _said(wordless.figures),
    "signs": _said(wordless.signs),
    "keys": _said(wordless.keys),
    "nonword": lambda rng: Drawn(word := pseudo_word(rng), word),
}
"""Every slot kind a phrase file may name."""
