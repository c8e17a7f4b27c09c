"""The words of a transcript as the rules on sentences read them, the language they are of, and other names for things.

Pure functions, on any thread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final
from unicodedata import normalize

from edgeagent.characters import APOSTROPHES, plain_apostrophes
from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.number_words import NUMBER_WORDS, UNITS
from edgeagent.english.word_data import begins_with, decide, is_number, lists

LONGEST: Final = 2_000
"""Characters that are read; nobody says more in a turn."""
_KEPT: Final = 2_000
"""Texts whose words are kept, because hooks read the whole history at each reply: a millisecond a message otherwise."""
_BRACKETS: Final = str.maketrans(dict.fromkeys("[](){}<>", " "))
_PIECE: Final = re.compile(rf".{{1,{LONGEST - 1}}}(?:\s|\Z)|.{{1,{LONGEST}}}", re.DOTALL)
_NOISE: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>|♪")
"""Marks that recognisers write for what is no speech: [music], (coughs), <sil>."""
_PERCENT: Final = re.compile(r"(?<=[0-9])\s*%")
_SIGNS: Final = str.maketrans({sign: f" {normalize('NFKC', sign)}" for sign in "⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞⅑⅒"})
"""Fractions of one letter as two numbers; the halves and quarters are left to ``inverse``."""
_SLASH: Final = re.compile(r"(?<=[0-9])([.,]?)\s*[/⁄∕]\s*(?=[.,]?[0-9])")  # noqa: RUF001 - slashes look alike
_UNDER: Final = re.compile(r"(?<=[0-9])(/[0-9]+)(?:rd|th|nd)s?\b")
_WORD: Final = re.compile(
    r"[0-9]++(?:[.,][0-9]++)*+(?:[.,]?/[.,]?[0-9]++(?:[.,][0-9]++)*+)+|[0-9]++(?:\.[0-9]++){2,}"
    r"|[0-9]+(?:[.:][0-9]+)?(?:st|nd|rd|th)?|[^\W\d_]+(?:'[^\W\d_]+)*"
)
"""A fraction, a date and a version are one word each, of which only the first is a number: 1/2, 12/25/2026, 1.2.3."""
_TOKENS: Final = lists("tokens")
_ENDINGS: Final = _TOKENS.table("endings")
_ONE_WORD: Final = _TOKENS.table("one_word")
NEGATION: Final = lists("negations")
_TAKES_BACK: Final = "|".join((*sorted(NEGATION.takes_back), *NEGATION.texts("takes_back_together")))
NEGATIONS: Final = re.compile(rf"\b(?:{_TAKES_BACK}|\w+n[{APOSTROPHES}]t)\b", re.IGNORECASE)
"""Words that take back or forbid what a sentence would ask for."""
_LEFT_OUT: Final = NEGATION.phrases("left_out")
_CLASSES: Final = lists("classes")
_JOINS: Final = ("and", "or")
_DENIES: Final = NEGATION.before_phrase | {"nowhere"}
_TRAILS_OFF: Final = re.compile(r"(?:\.\.|…|[,–—-])\s*\Z")  # noqa: RUF001 - dashes look alike


def words_of(text: str) -> list[str]:
    """Lower-case words without punctuation; numbers in digits, contractions of pronouns apart.

    "OK, what's two metres?" is okay what is 2 meters. A written fraction is one word: 2/3.
    """
    return list(_words(text[:LONGEST]))


@lru_cache(maxsize=_KEPT)
def _words(text: str) -> tuple[str, ...]:
    plain = _NOISE.sub(" ", _PERCENT.sub(" percent ", plain_apostrophes(text)))
    plain = _UNDER.sub(r"\1", _SLASH.sub(r"\1/", plain.translate(_SIGNS)))
    made: list[str] = []
    for word in _WORD.findall(inverse_normalised(plain).lower()):
        made += _apart(_ONE_WORD.get(word, word)).split()
    return tuple(made)


def parts_of(text: str) -> list[str]:
    """A written text of any length in pieces that ``words_of`` reads to their ends, without the signs of brackets: in
    what is written they hold no noise."""
    return _PIECE.findall(text.translate(_BRACKETS))


def after(text: str, beginning: str) -> str | None:
    """Returns the text after a beginning, whatever the punctuation and case; None where the text begins otherwise."""
    parts, length = text.split(), len(beginning.split())
    if words_of(" ".join(parts[:length])) != words_of(beginning):
        return None
    return " ".join(parts[length:])


def is_asked(text: str) -> bool:
    """True if a text ends in a question mark."""
    return text.rstrip(" \t\"'”).").endswith("?")


def trails_off(text: str) -> bool:
    """True if a recogniser that writes punctuation has left the sentence open: "drive to the..."."""
    return _TRAILS_OFF.search(text) is not None


def _apart(word: str) -> str:
    start, mark, end = word.partition("'")
    if mark and start in _TOKENS.shortened and f"'{end}" in _ENDINGS:
        return f"{start} {'us' if start == 'let' else _ENDINGS[f'{chr(39)}{end}']}"
    return word


OTHER_NAMES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(others.split()) for name, others in lists("names").table("other_names").items()
}
"""Words that people say for a place, a thing or a direction."""
_EMPTY: Final = lists("names").empty
_COMPOUNDS: Final = re.compile(
    rf"\b(?:{'|'.join(map(' '.join, lists('names').phrases('compounds')))})\b", re.IGNORECASE
)
_LONG: Final = 4
"""Letters of a word of which one may be wrong: "kichen"."""


def is_named(name: str, words: Collection[str], others: Collection[str] = ()) -> bool:
    """True if any word of a name, or any other word for the same, is among words; one letter may be wrong.

    Args:
        words: Of what was said.
        others: Further words for the same.
    """
    wanted = {word for word in words_of(name.replace("_", " ")) if word not in _EMPTY}
    if not wanted:
        return True
    known = wanted | OTHER_NAMES.get(" ".join(name.split()).casefold(), frozenset()) | frozenset(others)
    if known & set(words) or "".join(words_of(name)) in words:
        return True
    joined = "".join(words_of(name.replace("_", " ")))
    return any(alike(word, one) for word in words for one in (*wanted, joined))


def alike(word: str, wanted: str) -> bool:
    """True if two words are the same but for an ending or one letter that is wrong, missing, too many or misplaced."""
    short, long = sorted((word, wanted), key=len)
    if len(short) < _LONG or len(long) - len(short) > 1:
        return len(short) >= _LONG - 1 and long.startswith(short) and long[len(short) :] in ("s", "es", "ed", "ing")
    if len(short) == len(long):
        different = [at for at in range(len(short)) if short[at] != long[at]]
        swapped = len(different) == 2 and sorted(short) == sorted(long)
        return len(different) <= 1 or swapped
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def edit_distance(one: Sequence[str], other: Sequence[str]) -> int:
    """Counts the letters, or the words, to add, take away or exchange."""
    row = list(range(len(other) + 1))
    for count, item in enumerate(one, 1):
        above, row[0] = row[0], count
        for place, another in enumerate(other, 1):
            above, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, above + (item != another))
    return row[-1]


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """All words of texts."""
    return frozenset(word for text in texts for word in words_of(text))


def naming_words(texts: Iterable[str]) -> frozenset[str]:
    """The words of texts that may name a thing: "pick up the phone call" names no phone."""
    return words_in(_COMPOUNDS.sub(" ", text) for text in texts)


def left_out(words: Sequence[str]) -> frozenset[str]:
    """Words that are left out of what is asked for, and said nowhere else in it: bedroom in "all lights off except the
    bedroom".

    They end with the next verb or clause, and with a further thing that no "and" joins. Behind a negation nothing is
    left out: "go nowhere except to the kitchen".
    """
    rest, out = list(words), set[str]()
    for at in reversed(range(len(words))):
        taken = begins_with(words[at:], _LEFT_OUT) or int(decide("left_out", words[:at], words[at:]) or 0)
        if taken and _DENIES.isdisjoint(words[:at]):
            named = _things(rest[at + taken :], alone=at == 0)
            out.update(named)
            rest[at : at + taken + len(named)] = []
    named_by = out - set(rest) - _CLASSES.function_words - set(_JOINS)
    return frozenset(named_by - NEGATION.kinds_of_things or named_by)


def _things(words: Sequence[str], *, alone: bool) -> list[str]:
    """The first words, which name one thing, or several that "and" or "or" joins unless there is but one."""
    found: list[str] = []
    for word in words:
        named = not _CLASSES.function_words.issuperset(found)
        further = named and (alone or (word in _CLASSES.determiners and found[-1] not in _JOINS))
        if further or word in _CLASSES.verbs | NEGATION.ends_left_out:
            break
        if not found and word in NEGATION.leaves_nothing_out:
            break
        found.append(word)
    return found


_LANGUAGES: Final = lists("languages")
_ENGLISH: Final = lists("classes").all_words() | _LANGUAGES.small_talk
_SEVERAL: Final = 2
"""One unknown word is a typing error, several are another language."""


def is_english(text: str, known: Collection[str] = ()) -> bool:
    """True if a text may be English. Several words of which none is known are not, nor are those of which most are
    words, or have letters, of other languages.

    A text without words, such as an emoji or a number, is in no other language: True.

    Args:
        known: Further words that count as English: those of an app's tools and phrases.
    """
    words = [word for word in words_of(text) if not is_number(word)]
    foreign = sum(_is_foreign(word, known) for word in words)
    english = sum(word in known or (_is_known(word) and word not in _LANGUAGES.of_others) for word in words)
    return foreign <= english and (len(words) < _SEVERAL or has_english(text, known))


def has_foreign(text: str, known: Collection[str]) -> bool:
    """True if any word of a text is of another language, or has letters that English does not use."""
    return any(_is_foreign(word, known) for word in words_of(text))


def asks_about_languages(text: str) -> bool:
    """True if a text may ask which languages are understood."""
    return any(word in _LANGUAGES.asked_about for word in words_of(text))


def has_english(text: str, known: Collection[str] = ()) -> bool:
    """True if any word of a text is a known English one, or one of ``known`` with a typing error in it."""
    words = words_of(text)
    return any(word in known or _is_known(word) for word in words) or any(
        alike(word, one) for word in words if not _is_foreign(word, known) for one in known
    )


def _is_known(word: str) -> bool:
    return word in _ENGLISH or word in UNITS or word in NUMBER_WORDS


def _is_foreign(word: str, known: Collection[str]) -> bool:
    """True if a word is of another language, or has letters that English does not use."""
    if word in known or _is_known(word):
        return False
    return word in _LANGUAGES.foreign or any(character.isalpha() and not character.isascii() for character in word)
