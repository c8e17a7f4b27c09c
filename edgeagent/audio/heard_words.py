"""Which words of a text were heard, from the times of the words and the position of the playback."""

from __future__ import annotations

import bisect
import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """``source[:end]`` has been said when this word has; it sounds from ``at_s`` to ``until_s`` of its utterance."""

    end: int
    at_s: float
    until_s: float


class HeardText:
    """The words of one utterance, in the order in which they are spoken. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: list[SpokenWord] = []

    def add(self, *words: SpokenWord) -> None:
        """Words that will be spoken after those that are there."""
        with self._lock:
            self._words.extend(words)

    def end(self, heard_s: float) -> int:
        """The offset in the source up to which it was heard: a word counts when more than half of it has sounded.

        Args:
            heard_s: Seconds of the utterance that have left the loudspeaker.
        """
        with self._lock:
            count = bisect.bisect_left(self._words, heard_s, key=lambda word: (word.at_s + word.until_s) / 2)
            return self._words[count - 1].end if count else 0
