"""faster-whisper as a recogniser: better than the embedded one at free speech, and slower.

It hears an utterance as a whole, so there are no partial results. The decode runs on a thread of its own; whoever asks
for the result waits on an event, and can go at any time: CTranslate2 can't be stopped in the middle of a stage, so a
decode that nobody wants any more ends at the next one, and its result is dropped.

Knows no microphone and no end of speech. Models are folders on the disk; nothing is ever fetched.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final

import numpy as np

from edgeagent.audio.types import Samples
from edgeagent.english.inverse import inverse_normalised
from edgeagent.errors import RecognitionError
from edgeagent.resources import expanded
from edgeagent.stt import whisper_model
from edgeagent.stt.types import RATE_HZ, HeardWord, Transcript

_MOST_THREADS: Final = 4
_LEAST_WINDOW_S: Final = 10.0
_SPARE_S: Final = 2.0
_POLL_S: Final = 0.01
_SILENT: Final = 1e-4
"""A peak under this, -80 dBFS, is no sound; Whisper would make up words for it."""
_NEWEST: Final = 0.5
"""Weight of the newest measurement of the cost."""


@dataclass(frozen=True, slots=True)
class WhisperDecoding:
    """Options of Whisper's decoding. The thresholds are OpenAI's.

    Attributes:
        no_speech: With ``log_prob`` the gate against made-up text: a segment is dropped only if the probability that
            there is no speech is above this and its mean log probability is below that.
        log_prob: Under this a text is a guess as well: it is kept, but not ``understood``.
        temperatures: Tried one after the other while the result is improbable or repeats itself. Each costs a decode;
            above 0 the result is drawn by chance.
        previous_text: Whether a window of 30 s is conditioned on the text of the one before. One hallucination then
            makes the next.
        word_times: Costs a pass of the decoder.
        speculate_under_s: What a decode may cost at most to be begun before the end of speech is certain.
    """

    no_speech: float = 0.6
    log_prob: float = -1.0
    temperatures: tuple[float, ...] = (0.0,)
    previous_text: bool = False
    word_times: bool = True
    speculate_under_s: float = 1.0


@dataclass(slots=True, eq=False)
class _Job:
    """The decode of one utterance: made by the caller, filled by its thread."""

    sound: Samples
    cancelled: Event = field(default_factory=Event)
    done: Event = field(default_factory=Event)
    segments: list[Any] = field(default_factory=list)
    language: str = ""
    error: Exception | None = None


class WhisperTranscriber:
    """A ``Transcriber`` on faster-whisper.

    Args:
        model: Folder with config.json, model.bin, tokenizer.json and vocabulary.
        language: A code such as "en"; None finds it out for every utterance, which costs a pass of the encoder.
        beam_size: 1 is greedy.
        hot_words: Words of the app that are likelier than Whisper thinks. Every one makes the decoder slower.
        threads: Cores for a decode; None takes up to four.
        window_s: Let the encoder see so much instead of 30 s, at least 10, and always two more than the speech. Costs
            less in proportion. Whisper was not trained so: what it costs in accuracy was not measured, so it is off.
        compute_type: CTranslate2's: int8, float32 …
        decoding: Gate, temperatures and the like.

    Raises:
        RecognitionError: faster-whisper is not installed, the folder is no model, it does not know the language, or
            a number is out of range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        language: str | None = "en",
        beam_size: int = 1,
        hot_words: Sequence[str] = (),
        threads: int | None = None,
        window_s: float | None = None,
        compute_type: str = "int8",
        decoding: WhisperDecoding | None = None,
    ) -> None:
        if beam_size < 1:
            raise RecognitionError(f"beam_size={beam_size} is out of range: at least 1")
        if threads is not None and threads < 1:
            raise RecognitionError(f"threads={threads} is out of range: at least 1")
        if window_s is not None and not _LEAST_WINDOW_S <= window_s <= whisper_model.WINDOW_S:
            raise RecognitionError(f"window_s={window_s} is out of range: {_LEAST_WINDOW_S:g} to 30")
        folder = expanded(model)
        cores = len(os.sched_getaffinity(0))
        self._name = f"whisper {folder.name}"
        self._model = whisper_model.load(
            folder, threads=threads or min(_MOST_THREADS, cores), compute_type=compute_type
        )
        known = self._model.supported_languages
        if language is not None and language not in known:
            what = "knows English only" if known == ["en"] else "does not know it"
            raise RecognitionError(f"language={language!r}: the model {folder.name} {what}")
        self._language = language
        self._beam_size = beam_size
        self._hot_words = ", ".join(word.strip() for word in hot_words if word.strip()) or None
        self._window_s = window_s
        self._decoding = decoding or WhisperDecoding()
        self._pieces: list[Samples] = []
        self._job: _Job | None = None
        self._closed = False
        self._cost_s: float | None = None
        self._turn = Lock()  # one decode at a time: two would share the same cores

    @property
    def name(self) -> str:
        return self._name

    @property
    def cost_s(self) -> float | None:
        """Seconds that a decode costs on this machine, from those that ran to their end; None before the first."""
        return self._cost_s

    def begin(self) -> None:
        """See ``Transcriber.begin``."""
        self._discard()
        self._pieces = []

    def feed(self, samples: Samples) -> None:
        """See ``Transcriber.feed``. A decode that was begun early is dropped: the speech goes on."""
        if len(samples):
            self._discard()
            self._pieces.append(np.array(samples, np.float32))

    def speculate(self) -> bool:
        """At the soft end of speech: begin to decode what there is, so that ``finish`` has less to wait for.

        Returns:
            Whether it was begun. Not where a decode costs seconds, nor before one was measured.
        """
        if self._closed or self._cost_s is None or self._cost_s > self._decoding.speculate_under_s:
            return False
        if self._job is None:
            self._job = self._start()
        return self._job is not None

    def finish(self, stop_event: Event) -> Transcript:
        """See ``Transcriber.finish``."""
        if self._closed:
            raise RecognitionError(f"{self._name} is closed")
        job, self._job = self._job or self._start(), None
        self._pieces = []
        if job is None:
            return self._transcript(None, final=True)
        while not job.done.wait(_POLL_S):
            if stop_event.is_set() or self._closed:
                job.cancelled.set()
                return self._transcript(job, final=False)
        if job.error is not None:
            raise RecognitionError(f"{self._name} failed: {job.error}") from job.error
        return self._transcript(job, final=not job.cancelled.is_set())

    def close(self) -> None:
        """See ``Transcriber.close``. What is being decoded ends by itself."""
        self._closed = True
        self._discard()

    def _discard(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            job.cancelled.set()

    def _start(self) -> _Job | None:
        """Decode what was fed, on a thread; None if that is no sound."""
        sound = np.nan_to_num(np.concatenate(self._pieces)) if self._pieces else np.zeros(0, np.float32)
        if not len(sound) or np.abs(sound).max() < _SILENT:
            return None
        job = _Job(sound)
        # Not a daemon: one that is inside CTranslate2 when the interpreter ends would come back into nothing.
        Thread(target=self._run, args=(job,), name="whisper", daemon=False).start()
        return job

    def _run(self, job: _Job) -> None:
        """The thread of a decode."""
        try:
            with self._turn:
                begun = time.monotonic()
                self._decode(job)
                if not job.cancelled.is_set():
                    cost_s, known_s = time.monotonic() - begun, self._cost_s
                    self._cost_s = cost_s if known_s is None else known_s + _NEWEST * (cost_s - known_s)
        except whisper_model.Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - it is raised by whoever waits
            job.error = error
        finally:
            job.done.set()

    def _decode(self, job: _Job) -> None:
        def check() -> None:
            if job.cancelled.is_set():
                raise whisper_model.Abandoned

        check()
        decoding, model = self._decoding, self._model
        model.check = check
        model.frames = whisper_model.window_frames(self._window_s, len(job.sound) / RATE_HZ, _SPARE_S)
        segments, told = model.transcribe(
            job.sound,
            language=self._language,
            beam_size=self._beam_size,
            temperature=list(decoding.temperatures),
            no_speech_threshold=decoding.no_speech,
            log_prob_threshold=decoding.log_prob,
            condition_on_previous_text=decoding.previous_text,
            word_timestamps=decoding.word_times,
            hotwords=self._hot_words,
        )
        job.language = told.language
        for segment in segments:
            job.segments.append(segment)
            check()

    def _transcript(self, job: _Job | None, *, final: bool) -> Transcript:
        segments = list(job.segments) if job is not None else []
        raw = "".join(segment.text for segment in segments).strip()
        words = tuple(
            HeardWord(word.word.strip(), float(word.start), float(word.end), float(word.probability))
            for segment in segments
            for word in segment.words or ()
            if word.word.strip()
        )
        weight = sum(len(segment.tokens) for segment in segments)
        log_prob = sum(segment.avg_logprob * len(segment.tokens) for segment in segments) / weight if weight else None
        return Transcript(
            text=inverse_normalised(raw) if job is not None and job.language == "en" else raw,
            words=words,
            confidence=min(1.0, math.exp(log_prob)) if log_prob is not None else None,
            understood=bool(raw) and log_prob is not None and log_prob >= self._decoding.log_prob,
            final=final,
            engine=self._name,
            raw=raw,
        )
