"""Voices: text in, sound out, with the time of each word.

Values and protocols; the words of a text and when each begins, the text as an engine may safely have it, and pieces of
text and of sound. Knows no engine. Functions are pure; the clock of an utterance belongs to the thread that speaks it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Final, Protocol

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError

VOLUMES: Final = (0, 200)
"""Lowest and highest volume of a voice, in percent; over 100 it may clip."""


class UnreadableError(SpeechError):
    """A voice can't read a piece of a text, such as another script, and has said nothing of the piece."""


@dataclass(frozen=True, slots=True)
class WordTime:
    """A word of the text that is spoken: ``text[start:end]``, begun ``at_s`` seconds after the speech began."""

    start: int
    end: int
    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """The next piece of speech, and the words that begin in it."""

    samples: Samples
    rate_hz: int
    words: tuple[WordTime, ...] = ()


def check_range(setting: str, value: float, low: float, high: float) -> None:
    """Checks a setting of a voice.

    Raises:
        SpeechError: The value is out of range.
    """
    if not low <= value <= high:
        raise SpeechError(f"{setting}={value} is out of range: {low} to {high}")


class Speaker(Protocol):
    """A voice. One utterance at a time; may be called on any thread."""

    @property
    def name(self) -> str: ...
    @property
    def rate_hz(self) -> int: ...
    @property
    def language(self) -> str:
        """The tag of the language it speaks, such as en-us; numbers are put in words of this one."""
        ...

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """Speaks a sentence, or a clause, in which everything is written in words.

        Yields chunks of at most about a tenth of a second as they are made, and ends soon after ``stop_event`` is set,
        in the middle of a word if need be. An empty text yields nothing.

        Raises:
            SpeechError: The voice can't speak.
        """
        ...

    def close(self) -> None: ...


# --- words, and when each begins --------------------------------------------------------------------------------------


# One word between spaces; where a language writes none, each sign of its own (kana, Han).
_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_ENDS: Final = (
    re.compile(r"[.!?\u2026]+[\"'\u201d\u2019)\]]*\s|[\u3002\uff01\uff1f]|\n"),  # of a sentence
    re.compile(r"[,;:]\s|[\uff0c\u3001\uff1b\uff1a]"),  # of a clause
    re.compile(r"\s"),
)
_PIECE_CHARS: Final = 300
"""Most characters of a text that an engine reads at once: about 20 s of speech."""
_CHUNK_S: Final = 0.1
# Controls (\x01 begins a command of espeak's, \0 ends the text), halves of surrogate pairs, private and unassigned
# characters, pictures and their marks, signs of mathematics: espeak-ng 1.52 crashes on some of them ("\u2225-Y" in da).
_NOT_SPOKEN: Final = frozenset({"Cc", "Cs", "Co", "Cn", "So", "Me", "Sm", "Sk", "No"})

# A hyphen between a punctuation mark and a letter is a segmentation fault of espeak-ng 1.52 in Danish (",-do"), and in
# most languages if the letter is one of Hindi's; before such a letter it is one after letters too (nl).
_CRASHES: Final = re.compile(r"(?<=[_\W])(?<!\s)-(?=[^\s\d])|-(?=[\u0590-\U0010ffff])")


def plain(text: str) -> str:
    """Put a space for every character that is not to be spoken; offsets stay as they are.

    ``[[`` goes too: Piper reads what stands between double brackets as phonemes.
    """
    return _CRASHES.sub(" ", "".join(sign if _spoken(sign) else " " for sign in text).replace("[[", "  "))


def _spoken(sign: str) -> bool:
    if sign.isascii():
        return sign.isprintable() or sign == "\n"  # the end of a line is a pause
    return unicodedata.category(sign) not in _NOT_SPOKEN and not "\ufe00" <= sign <= "\ufe0f"  # variation marks


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut a text into pieces that an engine reads at once, each with its offset.

    A piece ends with a sentence if there is an end in reach, else with a clause, else with a word.
    """
    begin = 0
    while len(text) - begin > _PIECE_CHARS:
        cut = begin + _PIECE_CHARS
        for ends in _ENDS:
            found = [match.end() for match in ends.finditer(text, begin, cut)]
            if found:
                cut = found[-1]
                break
        yield begin, text[begin:cut]
        begin = cut
    if begin < len(text):
        yield begin, text[begin:]


def words_in(text: str) -> list[tuple[int, int]]:
    """Find the words of a text as (start, end), without the punctuation around them."""
    found = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while start < end and not _of_a_word(text[start]):
            start += 1
        while end > start and not _of_a_word(text[end - 1]):
            end -= 1
        if start < end:
            found.append((start, end))
    return found


def _of_a_word(sign: str) -> bool:
    return sign.isalnum() or unicodedata.category(sign)[0] == "M"


class WordClock:
    """Gives every word of a text its time, from the places in it whose times an engine tells.

    Engines tell of most words only: espeak-ng speaks "of the" as one. A word that is passed over is timed by its share
    of the characters between the places around it.
    """

    def __init__(self, text: str) -> None:
        self._words = words_in(text)
        self._next = 0
        self._place = 0
        self._at_s = 0.0

    def reached(self, place: int, at_s: float) -> list[WordTime]:
        """The word at this place begins now: it, and those before it that nobody told of; nothing, if it is known."""
        for index in range(self._next, len(self._words)):
            start, end = self._words[index]
            if start > place:
                break
            if place < end:
                timed = [*self.passed(start, at_s), WordTime(start, end, at_s)]
                self._next = index + 1
                return timed
        return []

    def passed(self, place: int, at_s: float) -> list[WordTime]:
        """Everything before this place has been said: the words there that nobody told of."""
        timed = []
        while self._next < len(self._words) and self._words[self._next][0] < place:
            start, end = self._words[self._next]
            share = (start - self._place) / (place - self._place)
            timed.append(WordTime(start, end, self._at_s + share * (at_s - self._at_s)))
            self._next += 1
        self._place, self._at_s = place, at_s
        return timed


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """Sound of a part of a text, which an engine makes at once.

    Attributes:
        places: Places in the text, each with the sample of the part at which it is said.
        end: Place in the text where the part ends.
    """

    samples: Samples
    places: Sequence[tuple[int, int]]
    end: int


def in_chunks(text: str, parts: Iterable[SpokenPart], rate_hz: int, stop_event: Event) -> Iterator[SpeechChunk]:
    """The sound of a text in chunks of a tenth of a second, each with the words that begin in it. Ends when stopped."""
    clock, size = WordClock(text), int(_CHUNK_S * rate_hz)
    begun = 0  # samples before the part
    for part in parts:
        words = [word for place, at in part.places for word in clock.reached(place, (begun + at) / rate_hz)]
        words += clock.passed(part.end, (begun + len(part.samples)) / rate_hz)
        for start in range(0, len(part.samples), size):
            if stop_event.is_set():
                return
            end = start + size
            last = end >= len(part.samples)
            begin = [(word, round(word.at_s * rate_hz) - begun) for word in words]
            ours = tuple(word for word, at in begin if start <= at and (last or at < end))
            yield SpeechChunk(part.samples[start:end], rate_hz, ours)
        begun += len(part.samples)
