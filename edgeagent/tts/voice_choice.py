"""The voice that somebody named: of Hibari, of espeak-ng, or a Piper voice by its file or its name in the catalogue.

What a voice can't say, espeak-ng says.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

from edgeagent.audio.stream_clock import Resampler
from edgeagent.errors import SpeechError
from edgeagent.models.catalog import Voice, voices
from edgeagent.models.store import absent, is_here, paths
from edgeagent.resources import expanded
from edgeagent.tts.hibari import WPM
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
        self.name, self.rate_hz, self.language = voice.name, voice.rate_hz, voice.language
        self._make = last_resort
        self._other: Speaker | None = None
        self._told: set[str] = set()

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
        resampler = Resampler(self._other.rate_hz, self.rate_hz)
        begun_s = samples / self.rate_hz
        for chunk in self._other.speak(text[said:], stop_event):
            words = tuple(
                replace(word, start=word.start + said, end=word.end + said, at_s=word.at_s + begun_s)
                for word in chunk.words
            )
            yield SpeechChunk(resampler.process(chunk.samples), self.rate_hz, words)
        if not stop_event.is_set():
            yield SpeechChunk(resampler.process(np.zeros(0, np.float32), last=True), self.rate_hz)


NATURAL: Final = "heart"
"""The voice if nobody names one, where its packages are installed."""
PLAIN: Final = "en"
"""The voice of espeak-ng that speaks everywhere."""
_SETTINGS: Final = frozenset({"rate_wpm", "volume"})
"""Settings that neural voices have too."""
_PIPER_WPM: Final = 175


@cache
def has_natural() -> bool:
    """True if the packages of the natural voice are installed."""
    return all(map(find_spec, ("hibari", "onnx", "onnxruntime")))


def default_voice(**settings: Any) -> str:
    """Name of the voice if nobody names one: the natural one, unless a setting is beyond it.

    Args:
        settings: As of ``make_speaker``.
    """
    slowest, fastest = WPM
    fits = settings.keys() <= _SETTINGS and slowest <= settings.get("rate_wpm", slowest) <= fastest
    return NATURAL if fits and has_natural() else PLAIN


def make_speaker(voice: str | None = None, **settings: Any) -> Speaker:
    """The voice of a name. What a neural voice can't say, espeak-ng says.

    Args:
        voice: A name of the catalogue, such as heart or joe; a name of espeak-ng's, such as en-us; or the path of a
            Piper voice, which ends in .onnx. None: as ``default_voice`` has it.
        settings: ``rate_wpm`` and ``volume``; ``pitch`` of espeak-ng's voices alone.

    Raises:
        SpeechError: There is no such voice, or it has no such setting.
    """
    voice = voice or default_voice(**settings)
    entry = voices().get(voice)
    if entry is not None and not is_here(entry):
        raise SpeechError(absent(entry))
    neural = (entry is not None and entry.engine != "espeak") or voice.lower().endswith(".onnx")
    if not neural:
        if expanded(voice).is_file():
            raise SpeechError(f"{voice} is no voice: the file of a Piper voice ends in .onnx")
        return _espeak(PLAIN if entry is not None else voice, **settings)
    if lacking := sorted(settings.keys() - _SETTINGS):
        raise SpeechError(
            f"the voice {voice} has no {' and no '.join(lacking)}; espeak-ng's voices have, such as --voice {PLAIN}"
        )
    if entry is not None and entry.engine == "hibari":
        made = _hibari(entry, settings)
    else:
        made = _piper(voice, entry, dict(settings))
    return WithLastResort(made, lambda: _espeak(made.language, **settings))


def _espeak(voice: str, **settings: Any) -> Speaker:
    from edgeagent.tts.espeak import EspeakSpeaker

    return EspeakSpeaker(voice, **settings)


def _hibari(entry: Voice, settings: dict[str, Any]) -> Speaker:
    from edgeagent.tts.hibari import HibariSpeaker

    files = paths(entry)
    return HibariSpeaker(
        files[0] if files else None, name=entry.name, british=entry.languages == ("en-gb",), **settings
    )


def _piper(voice: str, entry: Voice | None, settings: dict[str, Any]) -> Speaker:
    from edgeagent.tts.piper import PiperSpeaker

    path: Path = expanded(voice) if entry is None else paths(entry)[0]
    rate_wpm = settings.pop("rate_wpm", None)
    return PiperSpeaker(path, length_scale=None if rate_wpm is None else _PIPER_WPM / rate_wpm, **settings)
