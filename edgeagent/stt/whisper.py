"""Whisper as a recogniser: it hears people, rooms and noise well, and an utterance only as a whole.

So there are no partial results. The decode runs on a thread of its own; whoever asks for the result waits on an event,
and can go at any time: CTranslate2 can't be stopped in the middle of a stage, so a decode that nobody wants any more
ends at the next one, and its result is dropped.

Knows no microphone and no end of speech. Models are folders on the disk; nothing is ever fetched.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import numpy as np

from edgeagent.english.inverse import inverse_normalised
from edgeagent.errors import RecognitionError
from edgeagent.resources import expanded
from edgeagent.stop import STOP_POLL_S
from edgeagent.stt.hearing import RATE_HZ, HeardWord, RecognisedText
from edgeagent.stt.whisper_model import LEAST_LOG_PROB, WINDOW_S, WhisperModel, WhisperOptions, release_memory

if TYPE_CHECKING:
    from pathlib import Path

    from edgeagent.audio.device import Samples

Made = TypeVar("Made")
Check = Callable[[], None]
"""Called between the stages of a decode; raises where nobody wants it any more."""

_SPARE_S: Final = 1.0
_CUT_S: Final = 28.0
"""Longer speech is heard in pieces, cut where it is most silent in the last ``_SEEK_S`` of each."""
_SEEK_S: Final = 6.0
_MOST_THREADS: Final = 4
_MOST_WORKERS: Final = 2
"""Two score six candidates in 63 ms, one in 122; each takes some memory."""
_TURN_S: Final = 0.1
_SILENT: Final = 1e-4
"""A peak under this, -80 dBFS, is no sound; Whisper would make up words for it."""
_NEWEST: Final = 0.5
"""Weight of the newest measurement of the cost."""


class Abandoned(Exception):
    """Nobody wants the result any more; raised between the stages of a decode."""


class Decode(Generic[Made]):
    """Work of several stages on a thread of its own, which can be left at any time.

    Args:
        work: Calls what it is given between its stages.
        turn: One decode at a time: two would share the same cores.
        after: Called on the thread when nobody waits any more.
    """

    def __init__(self, work: Callable[[Check], Made], turn: Lock, *, after: Callable[[], object] | None = None) -> None:
        self._work, self._turn, self._after = work, turn, after
        self._left, self._done = Event(), Event()
        self._made: Made | None = None
        self._error: Exception | None = None
        self.seconds: float | None = None
        """That it took, where it came to its end."""
        # Not a daemon: one that is inside CTranslate2 when the interpreter ends would come back into nothing.
        Thread(target=self._run, name="whisper", daemon=False).start()

    def leave(self) -> None:
        """Drops the result; the work ends at its next stage."""
        self._left.set()

    @property
    def over(self) -> bool:
        """True if its work has come to an end, whatever came of it."""
        return self._done.is_set()

    def join(self, timeout_s: float) -> bool:
        """Waits until its work has come to an end; False if it has not."""
        return self._done.wait(timeout_s)

    def wait(self, stopped: Callable[[], bool], limit_s: float = math.inf) -> Made | None:
        """Returns what was made; None if it was left, or stopped, which leaves it even where it is done already.

        Raises:
            RecognitionError: It failed, or has taken longer than the limit, which leaves it too.
        """
        end_s = time.monotonic() + limit_s
        while True:
            done = self._done.wait(STOP_POLL_S)
            if stopped():
                self.leave()
                return None
            if done:
                break
            if time.monotonic() > end_s:
                self.leave()
                raise RecognitionError(f"nothing came within {limit_s:g} s")
        if self._error is not None:
            raise RecognitionError(str(self._error)) from self._error
        return self._made

    def _check(self) -> None:
        if self._left.is_set():
            raise Abandoned

    def _run(self) -> None:
        try:
            while not self._turn.acquire(timeout=_TURN_S):
                self._check()
            try:
                self._check()
                begun_s = time.monotonic()
                self._made = self._work(self._check)
                self.seconds = time.monotonic() - begun_s
            finally:
                self._turn.release()
        except Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - it is raised by whoever waits
            self._error = error
        finally:
            self._done.set()
            if self._after is not None:
                self._after()


def most_threads() -> int:
    """Returns how many threads a decode takes at most: four, or as many as this process has cores."""
    return min(_MOST_THREADS, len(os.sched_getaffinity(0)))


def open_model(model: str | Path, options: WhisperOptions) -> WhisperModel:
    """Loads a model, and checks that it knows the language.

    Raises:
        RecognitionError: faster-whisper is not installed, the folder is no model, or it does not know the language.
    """
    folder = expanded(model)
    threads = options.threads or most_threads()
    workers = max(1, min(_MOST_WORKERS, len(os.sched_getaffinity(0)) // threads))
    made = WhisperModel(folder, threads=threads, workers=workers, compute_type=options.compute_type)
    if options.language is not None and options.language not in made.languages:
        what = "knows English only" if made.languages == ["en"] else "does not know it"
        raise RecognitionError(f"language={options.language!r}: the model {folder.name} {what}")
    return made


class WhisperTranscriber:
    """A ``Transcriber`` on a Whisper model.

    Args:
        model: Folder with config.json, model.bin, tokenizer.json and vocabulary.
        options: Everything else.

    Raises:
        RecognitionError: faster-whisper is not installed, the folder is no model, or it does not know the language.
    """

    def __init__(self, model: str | Path, options: WhisperOptions | None = None) -> None:
        self._options = options or WhisperOptions()
        self._name = f"whisper {expanded(model).name}"
        self._model = open_model(model, self._options)
        self._pieces: list[Samples] = []
        self._decode: Decode[RecognisedText] | None = None
        self._closed = False
        self._cost_s: float | None = None
        self._turn = Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def cost_s(self) -> float | None:
        """Seconds that a decode costs on this machine, from those that ran to their end; None before the first."""
        return self._cost_s

    def begin(self) -> None:
        """See ``Transcriber.begin``. A decode that nobody waits for any more is left."""
        self._leave()
        self._pieces = []

    def feed(self, samples: Samples) -> RecognisedText | None:
        """See ``Transcriber.feed``."""
        if len(samples):
            self._pieces.append(np.array(samples, np.float32))
        return None

    def finish(self, stop_event: Event) -> RecognisedText:
        """See ``Transcriber.finish``."""
        if self._closed:
            raise RecognitionError(f"{self._name} is closed")
        sound, self._pieces = whole(self._pieces), []
        if sound is None:
            return RecognisedText("", understood=False, engine=self._name)
        decode = self._decode = Decode(lambda check: self._heard(sound, check), self._turn, after=release_memory)
        try:
            made = decode.wait(lambda: stop_event.is_set() or self._closed)
        except RecognitionError as error:
            raise RecognitionError(f"{self._name} failed: {error}") from error
        self._cost_s = mean_cost(self._cost_s, decode.seconds)
        return made if made is not None else RecognisedText("", understood=False, final=False, engine=self._name)

    def close(self) -> None:
        """See ``Transcriber.close``. What is being decoded ends by itself."""
        self._closed = True
        self._leave()

    def _leave(self) -> None:
        decode, self._decode = self._decode, None
        if decode is not None:
            decode.leave()

    def _heard(self, sound: Samples, check: Check) -> RecognisedText:
        """The decode, on its thread."""
        options, language = self._options, self._options.language
        texts: list[str] = []
        words: list[HeardWord] = []
        log_prob, tokens = 0.0, 0
        for start, piece in pieces(sound):
            check()
            encoded = self._model.encode(piece, window(len(piece), options.window_s))
            check()
            language = language or self._model.language(encoded)
            told = self._model.decode(encoded, language, beam_size=options.beam_size, hot_words=options.prompt)[0]
            if told.is_made_up:
                continue
            check()
            texts.append(told.text)
            log_prob, tokens = log_prob + told.log_prob, tokens + told.tokens + 1
            words += shifted(self._model.words(encoded, language, told.text), start / RATE_HZ)
        raw = " ".join(texts)
        mean = log_prob / tokens if tokens else -math.inf
        return RecognisedText(
            text=inverse_normalised(raw) if language == "en" else raw,
            words=tuple(words),
            confidence=min(1.0, math.exp(mean)) if tokens else None,
            understood=bool(raw) and mean >= LEAST_LOG_PROB,
            engine=self._name,
            raw=raw,
        )


def whole(pieces: Sequence[Samples]) -> Samples | None:
    """The sound of an utterance; None if it is no sound."""
    sound = np.concatenate(pieces) if pieces else np.zeros(0, np.float32)
    sound = np.nan_to_num(sound, nan=0.0, posinf=1.0, neginf=-1.0)
    return sound if len(sound) and np.abs(sound).max() >= _SILENT else None


def window(samples: int, least_s: float) -> float:
    """Seconds that the encoder is to see of so many samples."""
    return min(WINDOW_S, max(least_s, samples / RATE_HZ + _SPARE_S))


def pieces(sound: Samples) -> list[tuple[int, Samples]]:
    """The sound in pieces that fit into the window, each with the sample at which it begins."""
    made, start = [], 0
    longest, seek, step = (round(seconds * RATE_HZ) for seconds in (_CUT_S, _SEEK_S, 0.05))
    while len(sound) - start > longest:
        last = sound[start + longest - seek : start + longest]
        energies = np.square(last[: len(last) // step * step]).reshape(-1, step).sum(axis=1)
        end = start + longest - seek + round((int(energies.argmin()) + 0.5) * step)
        made.append((start, sound[start:end]))
        start = end
    return [*made, (start, sound[start:])]


def shifted(words: Sequence[HeardWord], by_s: float) -> list[HeardWord]:
    """The words, later by so much."""
    return [replace(word, start_s=word.start_s + by_s, end_s=word.end_s + by_s) for word in words]


def mean_cost(known_s: float | None, newest_s: float | None) -> float | None:
    """Updates the mean cost of a decode by one more; None where none has come to its end."""
    if newest_s is None or known_s is None:
        return known_s if newest_s is None else newest_s
    return known_s + _NEWEST * (newest_s - known_s)
