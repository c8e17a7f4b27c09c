"""A voice that never fails: what another voice can't say, espeak-ng says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event

import numpy as np

from edgeagent.audio.stream_clock import Resampler
from edgeagent.errors import SpeechError
from edgeagent.tts.speaker import Speaker, SpeechChunk, UnreadableError

logger = logging.getLogger(__name__)


class WithLastResort:
    """A voice, with another one that goes on where the first one fails: a script that it can't read, a file that broke.

    A text that the first voice could not end is gone on with at the word after the last one that was heard of it. Every
    text is tried by the first voice anew.

    Args:
        voice: The voice that speaks.
        last_resort: Makes the other voice, when it is first needed; its chunks get the rate of the first one.
    """

    def __init__(self, voice: Speaker, last_resort: Callable[[], Speaker]) -> None:
        self.voice = voice
        self._make = last_resort
        self._other: Speaker | None = None
        self._told: set[str] = set()

    @property
    def name(self) -> str:
        return self.voice.name

    @property
    def rate_hz(self) -> int:
        return self.voice.rate_hz

    @property
    def language(self) -> str:
        return self.voice.language

    def load(self) -> None:
        """Get the first voice ready, so that it begins at once.

        Raises:
            SpeechError: It can't be loaded; the other voice will speak.
        """
        load = getattr(self.voice, "load", None)
        if load is not None:
            load()

    def close(self) -> None:
        """Close both voices."""
        self.voice.close()
        if self._other is not None:
            self._other.close()

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """See ``Speaker.speak``.

        Raises:
            SpeechError: Neither voice can speak.
        """
        said = samples = 0
        try:
            for chunk in self.voice.speak(text, stop_event):
                yield chunk
                samples += len(chunk.samples)
                said = max([said, *(word.end for word in chunk.words)])
        except SpeechError as error:
            if not isinstance(error, UnreadableError):
                self._tell(str(error))
            yield from self._go_on(text, said, samples, stop_event)

    def _tell(self, reason: str) -> None:
        """Each reason once: a voice whose file is gone fails at every sentence."""
        if reason not in self._told:
            self._told.add(reason)
            logger.warning("%s: espeak-ng speaks instead", reason)

    def _go_on(self, text: str, said: int, samples: int, stop_event: Event) -> Iterator[SpeechChunk]:
        """The text from a place on, by the other voice."""
        if self._other is None:
            self._other = self._make()
        rate_hz = self.voice.rate_hz
        resampler = Resampler(self._other.rate_hz, rate_hz)
        begun_s = samples / rate_hz
        for chunk in self._other.speak(text[said:], stop_event):
            words = tuple(
                replace(word, start=word.start + said, end=word.end + said, at_s=word.at_s + begun_s)
                for word in chunk.words
            )
            yield SpeechChunk(resampler.process(chunk.samples), rate_hz, words)
        if not stop_event.is_set():
            yield SpeechChunk(resampler.process(np.zeros(0, np.float32), last=True), rate_hz)
