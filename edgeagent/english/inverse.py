"""One form for what recognisers write: spoken numbers and units as a person would type them.

The form is the one that the nano model's corpus knows (scripts/lab/train_nano/slots.py) and that Whisper tends to:

    drive two point five metres      drive 2.5 meters         numbers in digits, units in words, American
    one and a half meters            1.5 meters               half a meter, a quarter of an hour stay
    a half a meter                   half a meter
    turn one eighty                  turn 180
    Wait 30s, it is at 50%.          Wait 30 seconds, it is at 50 percent
    at seven thirty p.m.             at 7:30 pm
    seven o'clock                    7 o'clock                half past seven stays
    minus five, twenty-first         minus 5, 21st            first to twelfth stay

English only. A word that may be no number stays as it was heard: "one of them", "this one", "to", "for". Case and the
punctuation inside are kept; at the end only a question mark is. Pure functions, any thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from edgeagent.english import number_words
from edgeagent.english.number_words import (
    CLOCK,
    FRACTION_SIGNS,
    HALVES,
    NUMBER_WORDS,
    SHORT,
    SPELLINGS,
    UNITS,
    Read,
    clock,
    half_of_day,
    is_number_word,
    ratio,
    single_digit,
)
from edgeagent.english.word_data import lists

_LISTS: Final = lists("numbers")
_SIGNS: Final = re.compile("(?P<minus>[-\N{MINUS SIGN}])?(?P<point>[.])?(?<=.)")
"""Signs before figures; the longer minus is one that people paste."""
_FRACTIONS: Final = {"5": "half", "25": "a quarter of", "75": "three quarters of"}
_TOKEN: Final = re.compile(r"(?P<lead>[^\w½¼¾°%]*+)(?P<core>.*?)(?P<trail>[^\w½¼¾°%]*)", re.DOTALL)
_FIGURE_AND_UNIT: Final = re.compile(r"([0-9]+(?:[.,:/][0-9]+)*)(°C|°F|°|%|[A-Za-z]{1,11}|½|¼|¾)")
_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_UNIT: Final = "|".join(map(re.escape, sorted({*SHORT, *UNITS} - {"second", "o'clock"})))
_DECIMAL_COMMA: Final = re.compile(
    r"(?<![0-9.,])([0-9]+),([0-9]?[1-9])(?=\s*(?:(?:and|to|or)\s+[0-9]+,[0-9]?[1-9]\s*)?(?:"
    + _UNIT
    + r")(?![^\W\d_]))",
    re.IGNORECASE,
)
"""Before a unit: "1,5 m" is no list. "1,2 second from the left" and "9,30 o'clock" are no such number, and "5,10
minutes" may be five or ten."""
_PASSES: Final = 6
_LAST: Final = re.compile(r"[\s.,:;!…—–-]+$")  # noqa: RUF001 - dashes look alike


@dataclass(frozen=True, slots=True)
class _Token:
    """A word between what is written before and behind it; ``glued`` to the next one by a hyphen."""

    core: str
    lead: str = ""
    trail: str = ""
    glued: bool = False

    @property
    def word(self) -> str:
        return self.core.lower()


def inverse_normalised(words: str) -> str:
    """Write the numbers and units of a recognised sentence in the one form. Doing it twice changes nothing."""
    text = _DECIMAL_COMMA.sub(r"\1.\2", " ".join(words.split()))
    for _ in range(_PASSES):  # what was converted may complete another number; a third pass is for made-up text
        before, text = text, _pass(text)
        if text == before:
            break
    return text


def _pass(text: str) -> str:
    tokens = [token for chunk in text.split() for token in _tokens(chunk)]
    made: list[_Token] = []
    at = 0
    while at < len(tokens):
        count, new = _converted(tokens, at, made)
        made += new
        at += count
    joined = "".join(f"{token.lead}{token.core}{token.trail}{'-' if token.glued else ' '}" for token in made)
    return _ended(" ".join(joined.split()))


def _ended(text: str) -> str:
    """Without the punctuation at the end, but for a question mark."""
    asked = text.rstrip(" .,:;!…")
    return text[: len(asked)] if asked.endswith("?") else _LAST.sub("", text)


def _tokens(chunk: str) -> list[_Token]:
    """Splits what stands between two spaces: one word mostly, several in "five-minute", "90°", "-2"."""
    found = _TOKEN.fullmatch(chunk)
    if found is None:
        return [_Token(chunk)]
    lead, core, trail = found["lead"], found["core"], found["trail"]
    if re.match("[0-9]", core) and (signs := _SIGNS.fullmatch(lead)):
        minus = [_Token("minus")] if signs["minus"] else []
        return [*minus, *_tokens(f"{'0.' if signs['point'] else ''}{core}{trail}")]
    if _GROUPED.fullmatch(core):
        core = core.replace(",", "")
    parts = _split(core)
    last = len(parts) - 1
    return [
        _Token(part, lead if place == 0 else "", trail if place == last else "", glued and place < last)
        for place, (part, glued) in enumerate(parts)
    ]


def _split(core: str) -> list[tuple[str, bool]]:
    """The words of one chunk, and whether a hyphen follows."""
    parts = core.split("-")
    if (
        len(parts) > 1
        and all(_counts(part) for part in parts)
        and any(is_number_word(part.lower()) or part.lower() == "hundred" or ratio(part) for part in parts)
    ):
        return [
            (word, glued or place < len(parts) - 1) for place, part in enumerate(parts) for word, glued in _split(part)
        ]
    if (found := _FIGURE_AND_UNIT.fullmatch(core)) and (
        found[2] in SHORT or found[2].lower() in (*HALVES, *UNITS) or found[2] in "½¼¾"
    ):
        return [(found[1], False), (found[2], False)]
    return [(core, False)]


def _counts(part: str) -> bool:
    """True if a part of a hyphenated word belongs to a number."""
    word = part.lower()
    return (
        is_number_word(word)
        or ratio(word) is not None
        or word in NUMBER_WORDS
        or word in UNITS
        or number_words.ordinal([word]) is not None
        or (word in ("and", "a", "half", "first", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"))
    )


def _converted(tokens: Sequence[_Token], at: int, made: Sequence[_Token]) -> tuple[int, list[_Token]]:
    """Converts the tokens from a position on: how many are taken, and what stands for them."""
    run = _run(tokens, at)
    words = [token.word for token in run]
    before = made[-1].word if made and not made[-1].trail else ""
    if words[0] in SPELLINGS:
        spelled = SPELLINGS[words[0]]
        return 1, [replace(run[0], core=spelled.capitalize() if run[0].core[0].isupper() else spelled)]
    if words[0] in ("half", "quarter") and words[1:2] in (["past"], ["to"]) and len(words) > 2:
        return _past(run, words)
    if words[:2] == ["a", "half"] and words[2:3] in (["a"], ["an"]) and words[3:] and words[3] in UNITS:
        return 2, _replaced(run, 2, "half")
    if words[0] in FRACTION_SIGNS and len(words) > 1:
        if run[1].core in SHORT or words[1] in UNITS:
            return _part(run, words)
        if words[1] == "of":
            return 1, _replaced(run, 1, *_FRACTIONS[FRACTION_SIGNS[words[0]]].removesuffix(" of").split())
    if said := number_words.ordinal(words):
        return said.taken, _replaced(run, said.taken, said.digits)
    if said := _together(words, before, made) or _number(words, tokens, at, before):
        return _measured(run, words, said)
    return 1, [run[0]]


def _run(tokens: Sequence[_Token], at: int) -> list[_Token]:
    """The tokens from there to the next punctuation."""
    run = [tokens[at]]
    while not run[-1].trail and at + len(run) < len(tokens) and not tokens[at + len(run)].lead and len(run) < 24:
        run.append(tokens[at + len(run)])
    return run


def _replaced(run: Sequence[_Token], count: int, *cores: str) -> list[_Token]:
    """Other words in the place of the first tokens of a run, between the same punctuation."""
    made = [_Token(core) for core in cores]
    made[0] = replace(made[0], lead=run[0].lead)
    made[-1] = replace(made[-1], trail=run[count - 1].trail, glued=run[count - 1].glued)
    return made


def _past(run: Sequence[_Token], words: Sequence[str]) -> tuple[int, list[_Token]]:
    """half past seven: in words."""
    hour = words[2]
    if hour.isascii() and hour.isdigit() and len(hour) <= 2 and 0 < int(hour) <= 12:
        hour = number_words.ONES[int(hour)]
    elif not is_number_word(hour):
        return 1, [run[0]]
    return 3, [run[0], run[1], *_replaced(run[2:], 1, hour)]


def _part(run: Sequence[_Token], words: Sequence[str]) -> tuple[int, list[_Token]]:
    """½ m: half a meter."""
    unit = SHORT[run[1].core][0] if run[1].core in SHORT else SPELLINGS.get(words[1], words[1])
    article = "an" if unit.startswith("hour") else "a"
    said = _FRACTIONS[FRACTION_SIGNS[words[0]]]
    return 2, _replaced(run, 2, *said.split(), article, unit.removesuffix("s"))


def _together(words: Sequence[str], before: str, made: Sequence[_Token]) -> Read | None:
    """Two numbers that are said as one: a time, an angle, a year."""
    if ":" in words[0] and CLOCK.fullmatch(words[0]):
        return Read(1, words[0])
    found = number_words.pair(words)
    if not found:
        return None
    count, first, second = found
    after = words[count] if count < len(words) else ""
    angle = after in ("degree", "degrees") or (
        not after and before not in _LISTS.before_time and bool(_LISTS.turning & {token.word for token in made[-4:]})
    )
    if (after in UNITS and not angle) or before in _LISTS.around or after in _LISTS.parts:
        return None
    if first <= 12 and second < 60 and not (angle and first < 10):
        return Read(count, f"{first}:{second:02d}")
    if first < 10 and (second >= 60 or angle):
        return Read(count, str(first * 100 + second))
    return Read(count, f"{first}{second:02d}") if first in number_words.CENTURIES else None


def _number(words: Sequence[str], tokens: Sequence[_Token], at: int, before: str) -> Read | None:
    """A number at the beginning, if it certainly is one."""
    if words[0] == "point":
        after = number_words.after_point(words)
        return after if after and (before in _LISTS.before_point or (not before and words[after.taken :])) else None
    if before in ("half", "couple") and words[0] == "a":
        return None
    if words[0] == "hundred" and len(words) > 1 and words[1] in UNITS:
        return Read(1, "100")
    read = number_words.number(words)
    whole = number_words.without_fraction(words, read) if read else None
    if whole and number_words.is_named([before]):  # "dock 3 and a half meter on"
        return whole
    if read and words[read.taken : read.taken + 1] == ["and"] and read.digits.isdigit():
        sign, unit, *_ = *words[read.taken + 1 : read.taken + 3], "", ""
        said = [token.word for token in tokens[:at]]
        if sign in FRACTION_SIGNS and number_words.is_plural(unit) and number_words.adds(said, unit):
            return Read(read.taken + 2, f"{read.digits}.{FRACTION_SIGNS[sign]}")
    if read and read.taken == 1 and words[0] == "one" and not _is_one(words, tokens, at, before):
        return None
    return read


def _is_one(words: Sequence[str], tokens: Sequence[_Token], at: int, before: str) -> bool:
    """True if "one" counts, and is no pronoun."""
    rest = words[1:]
    if rest[:1] and (rest[0] in UNITS or rest[0] in HALVES or rest[:2] in (["per", "cent"], ["a", "m"], ["p", "m"])):
        return before not in ("this", "that", "no", "which")
    if before in _LISTS.this:
        return False
    if len(rest) > 1 and rest[0] in ("or", "to", *_LISTS.around) and is_number_word(rest[1]):
        return True
    if before in _LISTS.around and at > 1 and is_number_word(tokens[at - 2].word):
        return True
    return _counted_off(tokens, at)


def _counted_off(tokens: Sequence[_Token], at: int) -> bool:
    """True if a token is among three digits and more that are said one by one: one two three."""
    first = at
    while first > 0 and single_digit(tokens[first - 1].word) and tokens[first - 1].trail in ("", ","):
        first -= 1
    last = at
    while last + 1 < len(tokens) and single_digit(tokens[last + 1].word) and tokens[last].trail in ("", ","):
        last += 1
    return last - first >= 2


def _measured(run: Sequence[_Token], words: Sequence[str], read: Read) -> tuple[int, list[_Token]]:
    """A number and the unit after it."""
    count, digits = read
    rest = words[count:]
    part = rest[0] if rest and rest[0] in _LISTS.parts and words[0] != "a" else ""
    if part and len(digits) == 1 and (digits == "1") != part.endswith("s"):  # one third, three quarters
        return count, _replaced(run, count, number_words.ONES[int(digits)])
    if not rest:
        return count, _replaced(run, count, digits)
    half, taken = half_of_day(rest)
    if half and (hours := clock(digits)):
        kept = run[count + taken - 1]
        if "." in kept.core and kept.trail.startswith("."):
            run = [*run[: count + taken - 1], replace(kept, trail=kept.trail[1:])]
        return count + taken, _replaced(run, count + taken, hours, half)
    if rest[:2] == ["per", "cent"]:
        return count + 2, _replaced(run, count + 2, digits, "percent")
    symbol = run[count].core
    if symbol in SHORT:
        digits = _plain(digits)
        unit = SHORT[symbol][0 if digits == "1" else 1]
        return count + 1, _replaced(run, count + 1, digits, *unit.split())
    if rest[0] in UNITS:
        return count, [replace(token, glued=False) for token in _replaced(run, count, _plain(digits))]
    return count, _replaced(run, count, digits)


def _plain(digits: str) -> str:
    """Without zeros that say nothing: 2.50 is 2.5."""
    return digits.rstrip("0").rstrip(".") if "." in digits else digits
