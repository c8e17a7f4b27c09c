"""A Piper voice: a neural voice from a file, on as few threads as it is given.

Knows no device, no catalogue and no downloads. Everything runs on the thread that listens, clause by clause, while a
watcher ends a clause that is being synthesised when the stop event is set.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError
from edgeagent.onnx import run_until
from edgeagent.tts.piper_text import Clause, read
from edgeagent.tts.piper_voice import VoiceFile
from edgeagent.tts.speaker import SpeechChunk, WordTime
from edgeagent.tts.word_times import WordClock, chunks, pieces, plain

_PIECE_CHARS: Final = 300  # read at once; what is synthesised at once is a clause
_SILENT: Final = 1e-6  # a peak below is silence, not to be made loud


class PiperSpeaker:
    """A Piper voice: ``voice.onnx`` with ``voice.onnx.json`` beside it.

    Args:
        path: The .onnx file. The .json is read now, the voice itself at `load` or at the first utterance.
        threads: Cores that a clause may use; the language model wants the others.
        length_scale: Slower above 1, faster below; None: as the voice says.
        speaker: Of a voice with several, by number or by name.
        volume: 0 to 200; 100 is as loud as it can be without clipping.

    Raises:
        SpeechError: A number is out of range, a file is missing or wrong, or there is no such speaker.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        threads: int = 1,
        length_scale: float | None = None,
        speaker: int | str | None = None,
        volume: int = 100,
    ) -> None:
        if threads < 1:
            raise SpeechError(f"threads={threads}: a voice needs at least one")
        if length_scale is not None and not 0.1 <= length_scale <= 10:
            raise SpeechError(f"length_scale={length_scale} is out of range: 0.1 to 10")
        if not 0 <= volume <= 200:
            raise SpeechError(f"volume={volume} is out of range: 0 to 200")
        self._volume = np.float32(volume / 100)
        self._file = VoiceFile(Path(path), threads)
        said = self._file.inference
        self._scales = np.array(
            [
                said.noise_scale,
                said.length_scale if length_scale is None else length_scale,
                said.noise_w_scale,
            ],
            np.float32,
        )
        self._speaker = self._file.speaker(speaker)
        self._load = threading.Lock()  # two first utterances load one voice, not two
        self._voice: Any = None

    @property
    def name(self) -> str:
        return self._file.path.stem

    @property
    def rate_hz(self) -> int:
        return self._file.rate_hz

    @property
    def language(self) -> str:
        return self._file.language

    @property
    def exact_times(self) -> bool:
        """True if the voice tells how long each phoneme takes; loads it."""
        return len(self.load().session.get_outputs()) > 1

    def load(self) -> Any:
        """Load the voice now, some tenths of a second; gives piper's ``PiperVoice``.

        Raises:
            SpeechError: piper is not installed, the file is no Piper voice, or its language is missing.
        """
        with self._load:
            if self._voice is None:
                self._voice = self._file.load()
            return self._voice

    def close(self) -> None:
        """Give the memory back; a later utterance loads the voice again."""
        with self._load:
            self._voice = None

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """See ``Speaker.speak``. The first chunk comes when the first clause has been synthesised as a whole."""
        voice = self.load()
        spoken = plain(text)
        clock = WordClock(spoken)
        gain = np.inf
        begun = 0  # samples before this clause
        for offset, piece in pieces(spoken, _PIECE_CHARS):
            if stop_event.is_set():
                return
            for clause in read(voice, piece):
                sound = self._synthesise(voice, clause, stop_event)
                if sound is None:
                    return
                samples, ends = sound
                # Piper makes each sentence as loud as it can be; an utterance keeps one loudness, and never clips
                gain = min(gain, 1 / max(float(np.abs(samples).max(initial=0)), _SILENT))
                words: list[WordTime] = []
                for place, phoneme in clause.words:
                    at = ends[clause.ids_before[phoneme] - 1]
                    words += clock.reached(offset + place, (begun + at) / self.rate_hz)
                words += clock.passed(offset + clause.end, (begun + len(samples)) / self.rate_hz)
                for chunk in chunks(
                    np.clip(samples * np.float32(gain) * self._volume, -1, 1), begun, self.rate_hz, words
                ):
                    if stop_event.is_set():
                        return
                    yield chunk
                begun += len(samples)

    def _synthesise(self, voice: Any, clause: Clause, stop_event: Event) -> tuple[Samples, list[int]] | None:
        """Make the sound of a clause: samples, and where each phoneme id ends in them. None, if stopped."""
        inputs = {
            "input": np.array([clause.ids], np.int64),
            "input_lengths": np.array([len(clause.ids)], np.int64),
            "scales": self._scales,
        }
        if self._speaker is not None:
            inputs["sid"] = np.array([self._speaker], np.int64)
        try:
            results = run_until(voice.session, inputs, stop_event)
        except Exception as error:
            raise SpeechError(f"the voice {self.name} failed: {error}") from error
        if results is None:
            return None
        samples = np.asarray(results[0], np.float32).reshape(-1)
        if not np.isfinite(samples).all():
            raise SpeechError(f"the voice {self.name} gives numbers that are no sound")
        frames = results[1].reshape(-1) if len(results) > 1 else np.ones(len(clause.ids))
        if len(frames) != len(clause.ids) or frames.sum() <= 0:
            frames = np.ones(len(clause.ids))
        shares = np.cumsum(frames) / frames.sum()
        return samples, [round(share * len(samples)) for share in shares.tolist()]
