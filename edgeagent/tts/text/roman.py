"""Roman numerals: of chapters and wars, which count, and of kings and popes, which rank."""

from __future__ import annotations

import re
from typing import Final

from edgeagent.tts.text.numbers import cardinal, ordinal
from edgeagent.tts.text.rule import Rule

_VALUES: Final = {"I": 1, "V": 5, "X": 10}
_VALID: Final = re.compile(r"X{0,3}(?:IX|IV|V?I{0,3})")
_COUNTED: Final = frozenset(
    "Act Appendix Article Book Chapter Class Figure Grade Lesson Level Mark Part Phase Scene Section Stage Step Table "
    "Tier Title Type Unit Volume War".split()
)
"""After these a single letter is a number too."""
_RANKED: Final = frozenset(
    "Albert Alexander Alfonso Benedict Catherine Charles Christian Clement Constantine Edward Elizabeth Ferdinand "
    "Francis Frederick George Gregory Gustav Harald Henry Innocent Ivan James John Joseph Juan Leo Leopold Louis "
    "Ludwig Margaret Maximilian Napoleon Nicholas Olaf Otto Paul Peter Philip Pius Ramses Ramesses Richard Robert "
    "Rudolf Umberto Urban Victor Wilhelm William".split()
)
_BEFORE: Final = re.compile(r"([A-Z][a-z]++) $")
_LOOK_BACK: Final = 16


def _numeral(found: re.Match[str]) -> str | None:
    text, start = found[0], found.start()
    ahead = _BEFORE.search(found.string, max(0, start - _LOOK_BACK), start)
    if ahead is None or not _VALID.fullmatch(text):
        return None
    if len(text) == 1 and ahead[1] not in _COUNTED and (text == "I" or ahead[1] not in _RANKED):
        return None
    value = 0
    for char, following in zip(text, (*text[1:], ""), strict=True):
        step = _VALUES[char]
        value += -step if _VALUES.get(following, 0) > step else step
    return f"the {ordinal(value)}" if ahead[1] in _RANKED else cardinal(str(value))


_NO_PERSON: Final = r"(?!I(?![IVX]| (?:of|and|or|is|was|in)\b|[.,;:!?)]|$))"
"""Chapter I of the book, but: in the Book I read."""
WORD_RULES: Final = (Rule(re.compile(rf"{_NO_PERSON}[IVX]{{1,6}}(?![^\W_])"), _numeral),)
