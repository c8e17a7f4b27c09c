"""The files of a Whisper model in CTranslate2's format: checked, and loaded through faster-whisper without a network.

Knows no utterance. faster-whisper is imported here, and only when a model is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any, Final

from edgeagent.errors import RecognitionError
from edgeagent.extras import install

WINDOW_S: Final = 30.0
"""Seconds of sound that Whisper was trained on; shorter speech is filled up to it."""
_FILES: Final = ("config.json", "model.bin", "tokenizer.json")
_VOCABULARIES: Final = ("vocabulary.json", "vocabulary.txt")
_FRAMES_PER_S: Final = 100
_LEAST_S: Final = 0.02
_STRIDE: Final = 2
"""Frames to a position of the encoder."""


class Abandoned(Exception):
    """Nobody wants the result any more; raised between the stages of a decode."""


def load(folder: Path, *, threads: int, compute_type: str) -> Any:
    """Load a model; gives a ``faster_whisper.WhisperModel`` with two more attributes.

    ``frames`` is how much of the window the encoder sees, ``check`` is called before every stage and may raise.

    Raises:
        RecognitionError: A file is missing, or is none of such a model; or faster-whisper is not installed.
    """
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
        whisper = _class()
    except ImportError as error:
        raise RecognitionError(f"faster-whisper is not installed ({error}): {install('whisper')}") from error
    try:
        return whisper(str(folder), device="cpu", compute_type=compute_type, cpu_threads=threads, local_files_only=True)
    except Exception as error:
        raise RecognitionError(f"the Whisper model {folder} can't be loaded: {error}") from error


def window_frames(window_s: float | None, speech_s: float, spare_s: float) -> int:
    """Counts the frames of 10 ms that the encoder sees: all of them, or the window, or what the speech and some more
    need."""
    if window_s is None:
        return round(WINDOW_S * _FRAMES_PER_S)
    frames = round(min(WINDOW_S, max(window_s, speech_s + spare_s)) * _FRAMES_PER_S)
    return frames + frames % _STRIDE


def _class() -> Any:
    """faster-whisper's class with a window that can be shorter, and with an end between its stages."""
    from faster_whisper import WhisperModel

    class Model(WhisperModel):  # type: ignore[misc]
        frames = round(WINDOW_S * _FRAMES_PER_S)
        check: Callable[[], None] = staticmethod(lambda: None)

        def encode(self, features: Any) -> Any:
            self.check()
            return super().encode(features[..., : self.frames])

        def generate_with_fallback(self, *arguments: Any, **named: Any) -> Any:
            self.check()
            return super().generate_with_fallback(*arguments, **named)

        def add_word_timestamps(self, segments: Any, *arguments: Any, **named: Any) -> Any:
            # moves the ends of a segment to those of its words; one that then has no length is left out, text and all
            told = super().add_word_timestamps(segments, *arguments, **named)
            for part in chain.from_iterable(segments):
                if part["end"] <= part["start"]:
                    part["end"] = part["start"] + _LEAST_S
            return told

        def find_alignment(self, *arguments: Any, **named: Any) -> Any:
            self.check()
            return super().find_alignment(*arguments, **named)

    return Model
