"""Other names for things of a home: a couch is a sofa. Rows of data, and the words by which a name is known again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from edgeagent.english.tokens import words_of
from edgeagent.english.word_lists import lists

OTHER_NAMES: Final[dict[str, frozenset[str]]] = {
    name: frozenset(others.split()) for name, others in lists("names").table("other_names").items()
}
"""Words that people say for a place, a thing or a direction."""
_EMPTY: Final = lists("names").empty
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
    return any(_alike(word, one) for word in words for one in (*wanted, joined))


def _alike(word: str, wanted: str) -> bool:
    """True if two words are the same but for an ending or one letter that is wrong, missing, too many or misplaced."""
    short, long = sorted((word, wanted), key=len)
    if len(short) < _LONG or len(long) - len(short) > 1:
        return len(short) >= _LONG - 1 and long.startswith(short) and long[len(short) :] in ("s", "es", "ed", "ing")
    if len(short) == len(long):
        different = [at for at in range(len(short)) if short[at] != long[at]]
        swapped = len(different) == 2 and sorted(short) == sorted(long)
        return len(different) <= 1 or swapped
    return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def words_in(texts: Iterable[str]) -> frozenset[str]:
    """All words of texts."""
    return frozenset(word for text in texts for word in words_of(text))
