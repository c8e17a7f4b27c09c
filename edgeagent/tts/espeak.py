"""espeak-ng as a voice: no download, first sound within milliseconds, the time of every word.

Knows no device and no conversation. A short thread of its own speaks each piece of a text, so that the sound streams
while espeak-ng is still inside its one call; the caller's thread cuts nothing, it takes what is there.
"""

from __future__ import annotations

import difflib
import re
from collections import deque
from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event, Thread
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError
from edgeagent.tts import espeak_library
from edgeagent.tts.espeak_library import EspeakSettings, SoundBlock, VoiceInfo
from edgeagent.tts.speaker import VOLUMES, SpeechChunk, WordClock, WordTime, check_range, pieces, plain

__all__ = ["EspeakSpeaker", "VoiceInfo", "voices"]

_FULL_SCALE: Final = 32768
_NEAR: Final = 0.75  # of difflib: a letter or two of a word
_SHOWN: Final = 5


def voices(language: str | None = None) -> list[VoiceInfo]:
    """List espeak-ng's voices: all, or those of a language ("en" finds en-gb and en-us too).

    Raises:
        SpeechError: The library or its data is missing.
    """
    with espeak_library.held() as espeak:
        assert espeak is not None  # noqa: S101 - nobody stopped
        found = espeak.voices()
    if language is None:
        return found
    wanted = language.lower().replace("_", "-")
    return [voice for voice in found if any(tag == wanted or tag.startswith(f"{wanted}-") for tag in voice.languages)]


class EspeakSpeaker:
    """A voice of espeak-ng.

    Several may exist and speak on several threads: the process has one espeak-ng, and they take turns of about 20 s of
    speech. Text is plain: SSML, phonemes in brackets and espeak's own commands are not interpreted; pictures and
    control characters are not spoken.

    Args:
        voice: A language tag ("en", "en-us", "de") or the name of a voice, with a variant if you like ("en+f3").
        rate_wpm: Words in a minute, 80 to 450.
        pitch: 0 to 100.
        volume: 0 to 200; over 100 it may clip.

    Raises:
        SpeechError: There is no such voice, a number is out of range, or espeak-ng or its data is missing.
    """

    def __init__(self, voice: str = "en", *, rate_wpm: int = 175, pitch: int = 50, volume: int = 100) -> None:
        check_range("rate_wpm", rate_wpm, 80, 450)
        check_range("pitch", pitch, 0, 100)
        check_range("volume", volume, *VOLUMES)
        with espeak_library.held() as espeak:
            assert espeak is not None  # noqa: S101 - nobody stopped
            found = espeak.find_voice(voice)
            if found is None:
                raise SpeechError(_unknown(voice, espeak.voices()))
            self.rate_hz = espeak.rate_hz
            self.language = espeak.language(found)
        self.name = f"espeak-ng {voice}"
        self._settings = EspeakSettings(found, int(rate_wpm), int(pitch), int(volume))

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """See ``Speaker.speak``. Chunks of 60 ms; a chunk waits until the word after it has begun, so that its words
        are complete.
        """
        spoken = plain(text)
        line = _Line(spoken, self.rate_hz)
        for chunk in self._chunks(spoken, line, stop_event):
            if stop_event.is_set():
                return
            yield chunk

    def close(self) -> None:
        """Nothing is held between utterances; espeak-ng stays loaded."""

    def _chunks(self, spoken: str, line: _Line, stop_event: Event) -> Iterator[SpeechChunk]:
        """Speak piece by piece into the line, and give what it lets go."""
        for offset, piece in pieces(spoken):
            if piece.isspace():
                continue
            begun = line.length
            last = offset + len(piece) == len(spoken)
            for block in self._blocks(piece, stop_event, end_pause=not last):
                yield from line.add(block.pcm, [(offset + place, begun + sample) for place, sample in block.words])
            yield from line.finish(offset + len(piece))

    def _blocks(self, piece: str, stop_event: Event, *, end_pause: bool) -> Iterator[SoundBlock]:
        """Synthesise one piece on a thread, and give the blocks as they come.

        A piece takes some 60 ms of a core, without waiting for whoever listens: so the one espeak-ng of the process is
        never held by an utterance that nobody goes on listening to.
        """
        abandoned = Event()
        queue: SimpleQueue[SoundBlock | Exception | None] = SimpleQueue()

        def stopped() -> bool:
            return abandoned.is_set() or stop_event.is_set()

        def take(block: SoundBlock) -> bool:
            if stopped():
                return False
            queue.put(block)
            return True

        def synthesise() -> None:
            try:
                with espeak_library.held(stopped) as espeak:
                    if espeak is not None:
                        espeak.synthesise(piece, self._settings, take, end_pause=end_pause)
            except Exception as error:  # noqa: BLE001 - it is raised by whoever listens
                queue.put(error)
            finally:
                queue.put(None)

        # Not a daemon: one that is inside C when the interpreter ends would call back into nothing. It ends by itself,
        # at the end of the piece or one block after nobody wants it; nothing it waits for is the listener.
        Thread(target=synthesise, name="espeak", daemon=False).start()
        try:
            while (block := queue.get()) is not None:
                if isinstance(block, Exception):
                    raise block
                yield block
        finally:
            abandoned.set()


class _Line:
    """The sound of an utterance on its way out: a chunk leaves when every word that begins in it is known."""

    def __init__(self, text: str, rate_hz: int) -> None:
        self.length = 0
        """Samples that came in."""
        self._rate_hz = rate_hz
        self._clock = WordClock(text)
        self._held: deque[Samples] = deque()
        self._left = 0
        self._words: deque[WordTime] = deque()

    def add(self, pcm: bytes, places: list[tuple[int, int]]) -> Iterator[SpeechChunk]:
        """Take sound, and the places of the text that are reached at a sample; give the chunks that are complete."""
        if pcm:
            self._held.append(np.frombuffer(pcm, np.int16).astype(np.float32) / np.float32(_FULL_SCALE))
            self.length += len(self._held[-1])
        known = 0
        for place, sample in places:
            if words := self._clock.reached(place, sample / self._rate_hz):
                self._words += words
                known = sample
        yield from self._out(known)

    def finish(self, place: int) -> Iterator[SpeechChunk]:
        """The text has been said up to this place: give all."""
        self._words += self._clock.passed(place, self.length / self._rate_hz)
        yield from self._out(self.length)

    def _out(self, known: int) -> Iterator[SpeechChunk]:
        while self._held and self._left + len(self._held[0]) <= known:
            samples = self._held.popleft()
            self._left += len(samples)
            words = []
            while self._words and (round(self._words[0].at_s * self._rate_hz) < self._left or not self._held):
                words.append(self._words.popleft())
            yield SpeechChunk(samples, self._rate_hz, tuple(words))


def _unknown(voice: str, known: list[VoiceInfo]) -> str:
    """Say that a voice is unknown, and which ones are near."""
    wanted, _, variant = voice.lower().partition("+")
    if variant and any(wanted in entry.languages for entry in known):
        return f"espeak-ng has no variant {variant!r} of a voice; it has f1 to f5, m1 to m8, croak, whisper and others"
    said = {word for entry in known for word in re.findall(r"\w+", entry.name.lower())}
    words = set(difflib.get_close_matches(wanted, said, 3, _NEAR))
    tags = {tag for entry in known for tag in entry.languages}
    tags_near = set(difflib.get_close_matches(wanted, tags, 3, _NEAR))
    near = [
        f"{entry.language} ({entry.name})"
        for entry in known
        if words.intersection(re.findall(r"\w+", entry.name.lower()))
        or tags_near.intersection(entry.languages)
        or (wanted and entry.language.partition("-")[0] == wanted.partition("-")[0])
    ]
    hint = f"; near it: {', '.join(near[:_SHOWN])}" if near else ""
    return f"espeak-ng has no voice {voice!r}{hint}; it has {len(known)}, such as en, en-us, de, fr, es"
