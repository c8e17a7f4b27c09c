"""A Whisper model in CTranslate2's format, one stage at a time: encoder, decoder, and how well a text fits a sound.

Loaded through faster-whisper without a network, which is imported here, and only when a model is loaded. CTranslate2
can't be stopped inside a stage. Knows no utterance. One thread at a time.
"""

from __future__ import annotations

import ctypes
import logging
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeagent.errors import RecognitionError
from edgeagent.extras import install
from edgeagent.stt.hearing import RATE_HZ, HeardWord
from edgeagent.stt.whisper_weights import hardened

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeagent.audio.device import Samples

log: Final = logging.getLogger("edgeagent.stt")

USUAL_WINDOW_S: Final = 12.0
"""Seconds that the encoder sees where the speech is shorter. Of 2,102 words in a room, half of them over a motor,
tiny.en has as many wrong with it as with 15 s (300 and 304), with 11 s 311 and with 10 s 326; the encoder takes 0.11 s,
and 0.15 s for 15 s, on a core of a busy machine."""
LEAST_WINDOW_S: Final = 10.0
USUAL_BEAM: Final = 5
"""Paths of Whisper's decoder. With one, 12.5 % of the words of commands over a motor at 10 dB are wrong, with five
11.2 %; of recordings of people in a room 9.0 and 6.0 %."""


@dataclass(frozen=True, slots=True)
class WhisperOptions:
    """Options of ``WhisperTranscriber``.

    Attributes:
        language: A code such as "en"; None finds it out for every utterance.
        beam_size: 1 is greedy.
        hot_words: Words of the app that are likelier than Whisper thinks. Every one makes the decoder slower.
        threads: Cores for a decode; None takes up to four. ``whisper_speed`` knows which number is fastest here.
        window_s: The encoder sees so much at least, from 10 to 30 s, and always a second more than the speech; what it
            costs is in proportion.
        compute_type: CTranslate2's: int8, float32 …
    """

    language: str | None = "en"
    beam_size: int = USUAL_BEAM
    hot_words: Sequence[str] = ()
    threads: int | None = None
    window_s: float = USUAL_WINDOW_S
    compute_type: str = "int8"

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise RecognitionError(f"beam_size={self.beam_size} is out of range: at least 1")
        if self.threads is not None and self.threads < 1:
            raise RecognitionError(f"threads={self.threads} is out of range: at least 1")
        if not LEAST_WINDOW_S <= self.window_s <= WINDOW_S:
            raise RecognitionError(f"window_s={self.window_s} is out of range: {LEAST_WINDOW_S:g} to 30")

    @property
    def prompt(self) -> str | None:
        """The hot words as Whisper is told them."""
        return ", ".join(word.strip() for word in self.hot_words if word.strip()) or None


WINDOW_S: Final = 30.0
"""Seconds of sound that Whisper was trained on."""
_FILES: Final = ("config.json", "model.bin", "tokenizer.json")
_VOCABULARIES: Final = ("vocabulary.json", "vocabulary.txt")
_FRAMES_PER_S: Final = 100
_TOKENS_PER_S: Final = 8
"""Fast speech has five words in a second, which are seven tokens."""
_TOKENS: Final = 12
"""More than that, whatever the length: a number that is spelled, an unknown name."""
_LONGEST_REPEAT: Final = 6
"""No run of so many tokens comes twice: Whisper may repeat itself without end."""
_MOST_TOKENS: Final = 448
"""That Whisper has room for, the prompt among them."""
NO_SPEECH: Final = 0.6
LEAST_LOG_PROB: Final = -1.0
"""OpenAI's gate against text that is made up: it is dropped if the probability that nobody speaks is above the first
and the mean log probability of a token below the second. Under the second alone it is a guess."""
_BEFORE_WORDS: Final = "\"'“¿([{-"
_AFTER_WORDS: Final = "\"'.。,，!！?？:：”)]}、"  # noqa: RUF001 - of all scripts
"""Marks that belong to the word after or before them; faster-whisper's."""
_LEAST: Final = 1e-12
_ARENA_MAX: Final = -8
"""M_ARENA_MAX of malloc.h."""
_ARENAS: Final = 2
"""With one, a conversation takes less still, but all threads wait while ``release_memory`` has its lock."""
_C: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
_MALLOPT: Final = getattr(_C, "mallopt", None)
_TRIM: Final = getattr(_C, "malloc_trim", None)
"""Of glibc; musl has neither, and keeps nothing."""


@dataclass(frozen=True, slots=True)
class WhisperText:
    """A text that Whisper wrote for a sound.

    Attributes:
        log_prob: Natural logarithm of the text's probability, its end included.
        tokens: Number of tokens, the end not counted.
        no_speech: Probability that nobody speaks, as Whisper has it.
    """

    text: str
    log_prob: float
    tokens: int
    no_speech: float

    @property
    def is_made_up(self) -> bool:
        """True if it is empty, or probably nobody spoke."""
        return not self.text or (self.no_speech > NO_SPEECH and self.log_prob / (self.tokens + 1) < LEAST_LOG_PROB)


@dataclass(frozen=True, slots=True)
class Fit:
    """Measure of a text against a sound: the natural logarithm of its probability, and the number of its tokens."""

    log_prob: float
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """Output of the encoder for a sound. ``frames``: of 10 ms that it saw."""

    output: Any
    frames: int
    seconds: float


class WhisperModel:
    """Stages of a Whisper model.

    Args:
        folder: With config.json, model.bin, tokenizer.json and the vocabulary.
        threads: Cores for a stage.
        workers: Stages that run at once, each with its threads; they share the weights.
        compute_type: CTranslate2's: int8, float32 …

    Attributes:
        name: Such as "whisper tiny.en".
        languages: Codes such as "en", sorted.

    Raises:
        RecognitionError: A file is missing, or is none of such a model; or faster-whisper is not installed.
    """

    def __init__(self, folder: Path, *, threads: int, workers: int = 1, compute_type: str = "int8") -> None:
        self._library = _loaded(folder, threads, workers, compute_type)
        self._workers = workers
        self.name = f"whisper {folder.name}"
        self.languages: list[str] = sorted(self._library.supported_languages)
        self._tokenizers: dict[str, Any] = {}
        self._pools = _thread_pools()

    def encode(self, sound: Samples, window_s: float) -> Encoded:
        """Encodes up to 30 s of sound, filled up with silence to the window at least.

        The silence is added to the sound, as OpenAI does it, not to its features: with zeros there, a window under 30 s
        makes Whisper repeat itself.
        """
        window = round(min(window_s, WINDOW_S) * RATE_HZ)
        padded = np.zeros(window, np.float32)
        padded[: len(sound)] = sound[:window]
        frames = round(window_s * _FRAMES_PER_S)
        with self._pools.limit(limits=1, user_api="blas"):
            features: NDArray[np.float32] = self._library.feature_extractor(padded, padding=0)[:, :frames]
        return Encoded(self._library.encode(features), frames, len(sound) / RATE_HZ)

    def language(self, encoded: Encoded) -> str:
        """Returns the code of the language that is spoken."""
        if len(self.languages) == 1:
            return self.languages[0]
        [found] = self._library.model.detect_language(encoded.output)
        return str(found[0][0]).strip("<|>")

    def decode(
        self, encoded: Encoded, language: str, *, beam_size: int = 1, hot_words: str | None = None
    ) -> list[WhisperText]:
        """Returns the likeliest texts, best first; as many as ``beam_size``, of which several may be the same but for
        their punctuation.

        The number of tokens is limited by the length of the sound.
        """
        tokenizer = self._tokenizer(language)
        hot = f" {hot_words}" if hot_words else None
        prompt = self._library.get_prompt(tokenizer, [], without_timestamps=True, hotwords=hot)
        [made] = self._library.model.generate(
            encoded.output,
            [prompt],
            beam_size=beam_size,
            num_hypotheses=beam_size,
            max_length=min(_MOST_TOKENS, len(prompt) + _TOKENS + round(_TOKENS_PER_S * encoded.seconds)),
            no_repeat_ngram_size=_LONGEST_REPEAT,
            suppress_tokens=self._suppressed(tokenizer),
            return_scores=True,
            return_no_speech_prob=True,
        )
        return [
            WhisperText(tokenizer.decode(ids).strip(), score * len(ids), len(ids), made.no_speech_prob)
            for ids, score in zip(made.sequences_ids, made.scores, strict=True)
        ]

    def fit(self, encoded: Encoded, language: str, text: str) -> Fit:
        """Tells how well a text fits the sound: a pass of the decoder.

        The end of a text does not count, so it should have a full stop, or its beginning alone would fit better.
        """
        tokenizer = self._tokenizer(language)
        ids = tokenizer.encode(f" {text}")
        [found] = self._library.model.align(encoded.output, tokenizer.sot_sequence, [ids], encoded.frames)
        return Fit(sum(math.log(max(probability, _LEAST)) for probability in found.text_token_probs), len(ids))

    def fits(
        self, encoded: Encoded, language: str, texts: Sequence[str], check: Callable[[], object] = lambda: None
    ) -> list[Fit]:
        """Tells how well each of several texts fits the sound, in their order; as many at once as there are workers.

        Args:
            check: Called before each; what it raises ends the work.
        """

        found: dict[int, Fit] = {}
        errors: list[Exception] = []

        def share(first: int) -> None:
            try:
                for at in range(first, len(texts), self._workers):
                    check()
                    found[at] = self.fit(encoded, language, texts[at])
            except Exception as error:  # noqa: BLE001 - raised where the threads are joined
                errors.append(error)

        others = range(1, min(self._workers, len(texts)))
        # no daemons: one that is inside CTranslate2 when the interpreter ends would come back into nothing
        threads = [Thread(target=share, args=(first,), name="whisper-fit", daemon=False) for first in others]
        for thread in threads:
            thread.start()
        share(0)
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        return [found[at] for at in range(len(texts))]

    def words(self, encoded: Encoded, language: str, text: str) -> tuple[HeardWord, ...]:
        """Times and probabilities of the words of a text, by the attention of the decoder."""
        tokenizer = self._tokenizer(language)
        if not text:
            return ()
        from faster_whisper.transcribe import merge_punctuations

        ids = tokenizer.encode(f" {text}")
        [found] = self._library.find_alignment(tokenizer, [ids], encoded.output, encoded.frames)
        merge_punctuations(found, _BEFORE_WORDS, _AFTER_WORDS)
        return tuple(
            HeardWord(word["word"].strip(), float(word["start"]), float(word["end"]), float(word["probability"]))
            for word in found
            if word["word"].strip()
        )

    def _tokenizer(self, language: str) -> Any:
        if language not in self._tokenizers:
            from faster_whisper.tokenizer import Tokenizer

            many = self._library.model.is_multilingual
            made = Tokenizer(self._library.hf_tokenizer, many, task="transcribe", language=language)
            self._tokenizers[language] = made
        return self._tokenizers[language]

    @staticmethod
    def _suppressed(tokenizer: Any) -> Any:
        from faster_whisper.transcribe import get_suppressed_tokens

        return get_suppressed_tokens(tokenizer, [-1])


def share_arenas() -> None:
    """Has the process make no arena beyond the second, so that new threads share those that are there. Not where the
    environment says how many there are.

    glibc has up to eight arenas for each core, one for each new thread until then, and keeps in each what was freed: a
    conversation with both recognisers takes 448 MB so, and 690 without. Other C libraries have no such limit.
    """
    said = "arena_max" in os.environ.get("GLIBC_TUNABLES", "") or "MALLOC_ARENA_MAX" in os.environ
    if _MALLOPT is not None and not said:
        _MALLOPT(_ARENA_MAX, _ARENAS)


def release_memory() -> None:
    """Gives memory that was freed back to the system: glibc keeps 40 MB that an encoder needs once in an utterance."""
    if _TRIM is not None:
        _TRIM(0)


def _thread_pools() -> Any:
    """A ``threadpoolctl.ThreadpoolController``, to make the features on one core.

    numpy's threads keep their cores busy for a while after they have worked: the encoder beside them takes 110 ms in
    place of 65 on two cores.

    Raises:
        RecognitionError: It is not installed.
    """
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError as error:
        raise RecognitionError(f"threadpoolctl is not installed ({error}): {install('whisper')}") from error
    return ThreadpoolController()


def _loaded(folder: Path, threads: int, workers: int, compute_type: str) -> Any:
    """A ``faster_whisper.WhisperModel``."""
    if not folder.exists():
        raise RecognitionError(f"there is no Whisper model {folder}: give the folder with its model.bin")
    if not folder.is_dir():
        raise RecognitionError(f"{folder} is no folder; a Whisper model is a folder with {', '.join(_FILES)}")
    lacking = [name for name in _FILES if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in _VOCABULARIES):
        lacking.append(_VOCABULARIES[0])
    if lacking:
        # without its tokenizer.json faster-whisper would fetch one
        raise RecognitionError(f"{folder} is no Whisper model for faster-whisper: it has no {', '.join(lacking)}")
    try:
        from faster_whisper import WhisperModel as Library
    except ImportError as error:
        raise RecognitionError(f"faster-whisper is not installed ({error}): {install('whisper')}") from error
    try:
        with hardened(folder) as files:
            return Library(
                str(files),
                device="cpu",
                compute_type=compute_type,
                cpu_threads=threads,
                num_workers=workers,
                local_files_only=True,
            )
    except Exception as error:
        raise RecognitionError(f"the Whisper model {folder} can't be loaded: {error}") from error
