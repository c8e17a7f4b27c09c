"""A folder of utterances: 0001.wav and so on, and transcripts.jsonl with the text of each. Its owner alone can read it.

``scripts/bench ears --dir`` measures with it, once a person has corrected the texts.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from edgeagent.audio.device import Samples
from edgeagent.audio.wav import WavWriter
from edgeagent.characters import plain_apostrophes
from edgeagent.english import numbers as spoken
from edgeagent.english.inverse import inverse_normalised
from edgeagent.english.tokens import edit_distance
from edgeagent.errors import AudioError, ConfigError
from edgeagent.resources import expanded
from edgeagent.stt.hearing import RATE_HZ, RecognisedText

_LONG_DIGITS: Final = 10
_FIGURES: Final = re.compile(r"(?<![^\W_])([0-9]+):([0-9]{2})(?![0-9])|([0-9]+)(st|nd|rd|th)\b|[0-9]+(?:\.[0-9]+)?")
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_TITLES: Final = {"mr": "mister", "mrs": "missus", "dr": "doctor"}


def for_error_rate(text: str) -> str:
    """Lower case, no punctuation, numbers and titles in words: what two texts are compared by."""
    words = _FIGURES.sub(_said, inverse_normalised(text))
    return " ".join(_TITLES.get(word, word) for word in _WORD.findall(plain_apostrophes(words).lower()))


def _said(found: re.Match[str]) -> str:
    hours, minutes, ordinal = found[1], found[2], found[3]
    if ordinal:
        return f" {spoken.ordinal(int(ordinal)) if len(ordinal) < _LONG_DIGITS else spoken.spelled(ordinal)} "
    if hours:
        small = (
            ""
            if minutes == "00"
            else f"oh {spoken.cardinal(minutes[1])}"
            if minutes[0] == "0"
            else spoken.cardinal(minutes)
        )
        return f" {spoken.cardinal(hours)} {small} "
    return f" {spoken.number(found[0])} "


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Words that were put in, left out or changed, as a share of the words that were said.

    Both go through ``for_error_rate``. More than 1 is possible; against no words it is the number of those put in.
    """
    said, heard = for_error_rate(reference).split(), for_error_rate(hypothesis).split()
    count = len(said)
    while said and heard and said[-1] == heard[-1]:  # most of a transcript is right
        said.pop()
        heard.pop()
    return edit_distance(said, heard) / max(1, count)


TRANSCRIPTS: Final = "transcripts.jsonl"

_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600


class Recordings:
    """Goes on with the numbers where the folder ends. A disk that is full ends the recording, not the listening.

    Args:
        folder: Made with the mode 0700 if it is not there; a folder that is there keeps its mode. Files have 0600.
        on_failure: Told once, when nothing more can be kept.

    Raises:
        ConfigError: The folder can't be made, or written to.
    """

    def __init__(self, folder: Path, on_failure: Callable[[str], object] = lambda told: None) -> None:
        self.folder = expanded(folder)
        self._on_failure = on_failure
        try:
            self.folder.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
            own_file(self.folder / TRANSCRIPTS)
            numbers = [int(path.stem) for path in self.folder.glob("*.wav") if path.stem.isdecimal()]
        except OSError as error:
            raise ConfigError(f"nothing can be kept in {self.folder}: {error.strerror}") from error
        self._number = max(numbers, default=0)
        self._failed = False

    def keep(self, sound: Samples, transcript: RecognisedText, *, text: str | None = None, **more: Any) -> str:
        """Keeps one utterance, at 16 kHz.

        Args:
            text: Words that were said, where they are known; None: those of the transcript.
            more: Further JSON values of the utterance's line.

        Returns:
            Name of its file; empty where nothing could be kept.
        """
        if self._failed:
            return ""
        path: Path | None = None
        try:
            path = self._new_file()
            line = {
                "file": path.name,
                "text": transcript.text if text is None else text,
                "understood": transcript.understood,
                "confidence": transcript.confidence,
                "engine": transcript.engine,
                "heard": transcript.raw,
                **more,
            }
            with WavWriter(path, RATE_HZ) as writer:
                writer.write(sound)
            with (self.folder / TRANSCRIPTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except BaseException as error:
            if path is not None:  # a recording without its line has no person, so that nobody would find it
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            if not isinstance(error, OSError | AudioError):
                raise
            self._failed = True
            reason = getattr(error, "strerror", None) or error
            self._on_failure(f"{path or self.folder} can't be written: {reason}; nothing more is kept")
            return ""
        return path.name

    def _new_file(self) -> Path:
        """Makes the next recording's file, beside those of another program that writes to the folder too."""
        while True:
            self._number += 1
            path = self.folder / f"{self._number:04}.wav"
            try:
                own_file(path, new=True)
            except FileExistsError:
                continue
            return path


def own_file(path: Path, *, new: bool = False) -> None:
    """Makes a file that its owner alone may read; one that is there gets the mode 0600.

    Args:
        new: Refuses a file that is there.

    Raises:
        OSError: It can't be made.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | (os.O_EXCL if new else 0), _FILE_MODE)
    try:
        with suppress(PermissionError):  # of a file system without modes, such as a USB stick's
            os.fchmod(descriptor, _FILE_MODE)
    finally:
        os.close(descriptor)
