"""A folder of utterances: 0001.wav and so on, and transcripts.jsonl with the text of each.

``scripts/bench ears --dir`` measures with it, once a person has corrected the texts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from edgeagent.audio.types import Samples
from edgeagent.audio.wav import WavWriter
from edgeagent.cli import streams
from edgeagent.errors import AudioError, ConfigError
from edgeagent.resources import expanded
from edgeagent.stt.types import RATE_HZ, Transcript

TRANSCRIPTS: Final = "transcripts.jsonl"


class Recordings:
    """Goes on with the numbers where the folder ends. A disk that is full ends the recording, not the listening.

    Raises:
        ConfigError: The folder can't be made, or written to.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = expanded(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with (self.folder / TRANSCRIPTS).open("a", encoding="utf-8"):
                pass
            numbers = [int(path.stem) for path in self.folder.glob("*.wav") if path.stem.isdecimal()]
        except OSError as error:
            raise ConfigError(f"nothing can be kept in {self.folder}: {error.strerror}") from error
        self._number = max(numbers, default=0)
        self._failed = False

    def keep(self, sound: Samples, transcript: Transcript) -> None:
        """One utterance, at 16 kHz."""
        if self._failed:
            return
        self._number += 1
        name = f"{self._number:04}.wav"
        line = {
            "file": name,
            "text": transcript.text,
            "understood": transcript.understood,
            "confidence": transcript.confidence,
            "engine": transcript.engine,
            "heard": transcript.raw,
        }
        try:
            with WavWriter(self.folder / name, RATE_HZ) as writer:
                writer.write(sound)
            with (self.folder / TRANSCRIPTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        except (OSError, AudioError) as error:
            self._failed = True
            reason = getattr(error, "strerror", None) or error
            streams.warn(f"{self.folder / name} can't be written: {reason}; nothing more is kept")
