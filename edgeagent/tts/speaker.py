"""Voices: text in, sound out, with the time of each word. Values and protocols only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Event
from typing import Protocol

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError


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
