"""A text as a Piper voice reads it: phoneme ids by clause, and the phoneme at which each word begins.

Knows nothing of sound. The phonemes are piper's; it gives them by sentence and does not say from which word they come.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from typing import Any, Final

from edgeagent.tts.speaker import UnreadableError
from edgeagent.tts.word_times import words_in

# A clause is synthesised in one go before its first sound is there, so a long sentence is cut at its commas. A cut
# costs melody: about 2 s of speech stand on each side of it, except where a clause is longer than about 12 s.
_CLAUSE_MIN: Final = 30
_CLAUSE_MAX: Final = 160
_PAUSES: Final = frozenset(",;:")
_STRESS: Final = frozenset("\u02c8\u02cc")  # a word alone is stressed in another way
_LOST: Final = 2  # phonemes at the begin of a word that may differ from those of the word alone


@dataclass(frozen=True, slots=True)
class Clause:
    """Phonemes that are synthesised at once."""

    ids: list[int]
    """Phoneme ids, with padding, begin and end."""
    ids_before: list[int]
    """Number of ids before each phoneme."""
    words: list[tuple[int, int]]
    """Words whose begin is known: (place in the text, phoneme of the clause)."""
    end: int
    """Place in the text where the clause ends."""


def read(voice: Any, text: str) -> list[Clause]:
    """Read a plain text.

    Raises:
        UnreadableError: The voice can't read it.
    """
    try:
        sentences = [sentence for sentence in voice.phonemize(text) if sentence]
        begins = _begins(voice, text, [phoneme for sentence in sentences for phoneme in sentence])
    except Exception as error:
        raise UnreadableError(f"the voice can't read {text[:40]!r}: {error}") from error
    clauses = []
    begin = 0  # phonemes before this clause
    for sentence in sentences:
        rest = sentence
        while rest:
            part, rest = rest[: (cut := _cut(rest))], rest[cut:]
            end = begin + len(part)
            words = [(place, at - begin) for place, at in begins if begin <= at < end]
            later = (place for place, at in begins if at >= end)
            clauses.append(_clause(voice, part, words, next(later, len(text))))
            begin = end
    return clauses


def _clause(voice: Any, phonemes: list[str], words: list[tuple[int, int]], end: int) -> Clause:
    ids = voice.phonemes_to_ids(phonemes)
    known = voice.config.phoneme_id_map
    pad = len(known["_"])
    # as piper.phoneme_ids does it: begin, pad, then each phoneme that the voice knows with a pad after it
    counts = [len(known[phoneme]) + pad if phoneme in known else 0 for phoneme in phonemes]
    before = list(accumulate(counts, initial=len(known["^"]) + pad))[:-1]
    return Clause(ids, before, words, end)


def _cut(phonemes: list[str]) -> int:
    """Counts the phonemes of a sentence's first clause."""
    space = 0
    for index, phoneme in enumerate(phonemes[:_CLAUSE_MAX], 1):
        if phoneme == " ":
            space = index
            if _CLAUSE_MIN <= index < len(phonemes) - _CLAUSE_MIN and phonemes[index - 2] in _PAUSES:
                return index
    if len(phonemes) <= _CLAUSE_MAX:
        return len(phonemes)
    return space or _CLAUSE_MAX


def _begins(voice: Any, text: str, phonemes: list[str]) -> list[tuple[int, int]]:
    """Find where words begin: (place in the text, phoneme).

    espeak-ng joins words ("of the") and says others as several (numbers), so counting does not do. Each word is read
    alone, and the row of these readings is compared with the reading of the text. A word that is not found there is
    left out; ``WordClock`` gives it a time.
    """
    alone: list[str] = []
    starts = []
    for start, end in words_in(text):
        starts.append((start, len(alone)))
        alone += [sign for sentence in voice.phonemize(text[start:end]) for sign in sentence if _sounds(sign)]
    places = [index for index, phoneme in enumerate(phonemes) if _sounds(phoneme)]
    matcher = SequenceMatcher(None, alone, [phonemes[index] for index in places], autojunk=False)
    found: dict[int, int] = {}
    for block in matcher.get_matching_blocks():
        found.update((block.a + step, block.b + step) for step in range(block.size))
    begins = []
    last = -1
    for number, (start, first) in enumerate(starts):
        end = starts[number + 1][1] if number + 1 < len(starts) else len(alone)
        for lost in range(min(_LOST, end - first - 1) + 1):
            if (match := found.get(first + lost)) is not None:
                if (at := max(match - lost, 0)) > last:
                    begins.append((start, _with_stress(phonemes, places[at])))
                    last = at
                break
    return begins


def _with_stress(phonemes: list[str], at: int) -> int:
    """The mark of stress before a phoneme is a part of its word, and of its time."""
    while at and phonemes[at - 1] in _STRESS:
        at -= 1
    return at


def _sounds(phoneme: str) -> bool:
    return phoneme not in _STRESS and phoneme not in " .,;:!?"
