"""Distance of a transcript from what was said: word error rate, on text without punctuation and with numbers in words.

Pure functions, any thread.
"""

from __future__ import annotations

import re
from typing import Final

from edgeagent.english.inverse import inverse_normalised
from edgeagent.tts.text import numbers as spoken

_LONG_DIGITS: Final = 10
_FIGURES: Final = re.compile(r"(?<![^\W_])([0-9]+):([0-9]{2})(?![0-9])|([0-9]+)(st|nd|rd|th)\b|[0-9]+(?:\.[0-9]+)?")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - an apostrophe of Whisper


def for_error_rate(text: str) -> str:
    """Lower case, no punctuation, numbers in words: what two texts are compared by."""
    words = _FIGURES.sub(_said, inverse_normalised(text))
    return " ".join(_WORD.findall(words.replace("’", "'").lower()))  # noqa: RUF001


def _said(found: re.Match[str]) -> str:
    hours, minutes, ordinal = found[1], found[2], found[3]
    if ordinal:
        return f" {spoken.ordinal(int(ordinal)) if len(ordinal) < _LONG_DIGITS else spoken.spelled(ordinal)} "
    if hours:
        small = (
            ""
            if minutes == "00"
            else f"oh {spoken.cardinal(minutes[1])}"
            if minutes[0] == "0"
            else spoken.cardinal(minutes)
        )
        return f" {spoken.cardinal(hours)} {small} "
    return f" {spoken.number(found[0])} "


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Words that were put in, left out or changed, as a share of the words that were said.

    Both go through ``for_error_rate``. More than 1 is possible; against no words it is the number of those put in.
    """
    said, heard = for_error_rate(reference).split(), for_error_rate(hypothesis).split()
    count = len(said)
    while said and heard and said[-1] == heard[-1]:  # most of a transcript is right
        said.pop()
        heard.pop()
    row = list(range(len(heard) + 1))
    for place, word in enumerate(said, 1):
        above, row[0] = row[0], place
        for column, other in enumerate(heard, 1):
            above, row[column] = row[column], min(row[column] + 1, row[column - 1] + 1, above + (word != other))
    return row[-1] / max(1, count)
