"""A Hibari voice: a small neural voice of English, whose default weights come with its package.

Knows no device, no catalogue and no downloads: Hibari's own constructor would fetch a voice that is missing, so it is
not used. Everything runs on the thread that listens, sentence by sentence.
"""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError
from edgeagent.extras import install
from edgeagent.onnx import open_session, run_until
from edgeagent.tts.speaker import (
    VOLUMES,
    SpeechChunk,
    SpokenPart,
    UnreadableError,
    check_range,
    in_chunks,
    pieces,
    plain,
    words_in,
)

RATE_HZ: Final = 24_000
_FRAME: Final = 600
"""Samples in one unit of a phoneme's duration."""
_MAX_IDS: Final = 400
"""Phonemes that are synthesised at once; Hibari's own limit, ``MAX_PHONEMES``."""
_NATURAL_WPM: Final = 175
"""Words in a minute at speed 1, by which the rate of espeak-ng's voices becomes a speed."""
WPM: Final = (88, 350)
"""Slowest and fastest rate: half and twice the natural speed, for which Hibari was made."""
_LOUDNESS: Final = 1.8
"""Factor that makes the voice as loud as espeak-ng's: ten sentences of the robot's have -19.7 dB of full scale, and
-19.3 dB by espeak-ng."""
_PAD: Final = 0
"""Id before and after the phonemes: up to half a second of silence."""
_LEAD: Final = RATE_HZ // 50
"""Samples of that silence which stay before a sentence."""
_TAIL: Final = RATE_HZ * 3 // 20
"""Samples of silence which stay after a sentence, as a pause before the next one."""
_SILENT: Final = 0.003
"""Peak, of full scale, under which a sentence has ended."""
_ENDS: Final = frozenset(".!?…")
_WARM_UP: Final = "Ready."


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence as its phonemes."""

    ids: list[int]
    words: list[tuple[int, int]]
    """Words, each as its place in the text and the number of phonemes before it."""
    end: int
    """Place in the text where the sentence ends."""


@dataclass(frozen=True, slots=True)
class _LoadedVoice:
    session: Any
    g2p: Any
    ids: dict[str, int]


class HibariSpeaker:
    """A voice of Hibari (https://github.com/MMWilliams/hibari), 24 kHz.

    Args:
        model: An .onnx file of a voice; None: the voice "heart", which comes with the package.
        name: What the voice is called.
        british: The voice is one of British English.
        rate_wpm: Words in a minute, 88 to 350; 175 is as the voice was made.
        volume: 0 to 200; 100 is as loud as espeak-ng, over that it may clip.

    Raises:
        SpeechError: A number is out of range, or there is no such file.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        name: str = "heart",
        british: bool = False,
        rate_wpm: int = _NATURAL_WPM,
        volume: int = 100,
    ) -> None:
        if not WPM[0] <= rate_wpm <= WPM[1]:
            raise SpeechError(f"rate_wpm={rate_wpm} is out of range: a Hibari voice has {WPM[0]} to {WPM[1]}")
        check_range("volume", volume, *VOLUMES)
        if model is not None and not Path(model).is_file():
            raise SpeechError(f"there is no voice {model}")
        self._model = None if model is None else Path(model)
        self._british = british
        self.name = f"Hibari {name}"
        self.rate_hz = RATE_HZ
        self.language = "en-gb" if british else "en-us"
        self._speed = np.array([rate_wpm / _NATURAL_WPM], np.float32)
        self._gain = np.float32(_LOUDNESS * volume / 100)
        self._load = threading.Lock()
        """Two first utterances load one voice, not two."""
        self._loaded: _LoadedVoice | None = None

    def load(self) -> None:
        """Load the voice now and say a word to nobody, together about a second; later sentences begin at once.

        Raises:
            SpeechError: Hibari is not installed, or the file is none of its voices.
        """
        if self._loaded is None:
            for _ in self.speak(_WARM_UP, Event()):
                pass

    def close(self) -> None:
        """Give the memory back; a later utterance loads the voice again."""
        with self._load:
            self._loaded = None

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """See ``Speaker.speak``. The first chunk comes when the first sentence has been synthesised as a whole.

        Raises:
            UnreadableError: A word of the next 300 characters can't be read; nothing of them was said.
            SpeechError: The voice failed.
        """
        loaded = self._ready()
        spoken = plain(text).replace("[", " ")  # "[word](/phonemes/)" is Hibari's own mark
        yield from in_chunks(spoken, self._parts(loaded, spoken, stop_event), RATE_HZ, stop_event)

    def _parts(self, loaded: _LoadedVoice, spoken: str, stop_event: Event) -> Iterator[SpokenPart]:
        """Sentence by sentence, as far as it is not stopped."""
        noise = np.random.default_rng(0)  # of breath and hiss; a text always sounds the same
        for offset, piece in pieces(spoken):
            for sentence in self._read(loaded, piece):
                sound = None if stop_event.is_set() else self._synthesise(loaded, sentence, noise, stop_event)
                if sound is None:
                    return
                samples, starts = sound
                places = [(offset + place, starts[before]) for place, before in sentence.words]
                yield SpokenPart(samples, places, offset + sentence.end)

    def _ready(self) -> _LoadedVoice:
        with self._load:
            if self._loaded is None:
                self._loaded = self._open()
            return self._loaded

    def _open(self) -> _LoadedVoice:
        path = self._model
        try:
            from hibari.g2p import G2P
            from hibari.tts import ASSETS

            path = path or Path(ASSETS, "hibari.onnx")
            # the language model wants the other cores
            session = open_session(path, threads=1, inner=_durations)
            ids = json.loads(Path(ASSETS, "vocab.json").read_text(encoding="utf-8"))
            g2p = G2P(british=self._british)
        except ImportError as error:
            raise SpeechError(f"Hibari is not installed ({error}): {install('voice')}") from error
        except Exception as error:
            raise SpeechError(f"{path} is not a voice of Hibari that can be loaded: {error}") from error
        if {entry.name for entry in session.get_inputs()} != {"ids", "speed"} or len(session.get_outputs()) != 7:
            raise SpeechError(f"{path} is not a voice of Hibari: it has other inputs and outputs")
        return _LoadedVoice(session, g2p, ids)

    def _read(self, loaded: _LoadedVoice, text: str) -> list[_Sentence]:
        """Read a plain text.

        Raises:
            UnreadableError: A word of it has no phonemes, or is not written in Latin letters.
        """
        try:
            tokens = loaded.g2p.phonemize_tokens(loaded.g2p.tokenize(text))
        except Exception as error:
            raise UnreadableError(f"{self.name} can't read {text[:40]!r}: {error}") from error
        sentences: list[_Sentence] = []
        open_ = _Sentence([], [], 0)
        place = 0
        for token in tokens:
            made = [loaded.ids[sign] for sign in token.phonemes or "" if sign in loaded.ids]
            if _has_words(token.text) and (not made or not _is_latin(token.text)):
                raise UnreadableError(f"{self.name} can't read {token.text!r}")
            place = max(text.find(token.text, place), place)
            if len(open_.ids) + len(made) > _MAX_IDS:
                sentences.append(replace(open_, end=place))
                open_ = _Sentence([], [], 0)
            if made and (inner := words_in(token.text)):
                open_.words.append((place + inner[0][0], len(open_.ids)))
            place += len(token.text)
            open_.ids.extend([*made, loaded.ids[" "]] if token.whitespace else made)
            if token.text[-1:] in _ENDS and token.whitespace:
                sentences.append(replace(open_, end=place))
                open_ = _Sentence([], [], 0)
        sentences.append(replace(open_, end=len(text)))
        return [sentence for sentence in sentences if sentence.words]

    def _synthesise(
        self, loaded: _LoadedVoice, sentence: _Sentence, noise: np.random.Generator, stop_event: Event
    ) -> tuple[Samples, list[int]] | None:
        """Make the sound of a sentence: samples, and how many of them come before each phoneme. None, if stopped."""
        from hibari import dsp

        parts = [sentence.ids[start : start + _MAX_IDS] for start in range(0, len(sentence.ids), _MAX_IDS)]
        sounds: list[Samples] = []
        before: list[int] = []
        for ids in parts:
            inputs = {"ids": np.array([[_PAD, *ids, _PAD]], np.int64), "speed": self._speed}
            try:
                outputs = run_until(loaded.session, inputs, stop_event)
                if outputs is None:
                    return None
                *spectrum, frames = outputs
                whole = dsp.synth(*(part[0] for part in spectrum), noise)
            except Exception as error:
                raise SpeechError(f"{self.name} failed: {error}") from error
            if not np.isfinite(whole).all() or len(frames) != len(ids) + 2:
                raise SpeechError(f"{self.name} gives numbers that are no sound")
            starts = np.cumsum(frames) * _FRAME
            begin = max(int(starts[0]) - _LEAD, 0)
            end = max(int(np.flatnonzero(np.abs(whole) > _SILENT)[-1:].sum()), begin) + _TAIL
            before += (starts[:-2] - begin + sum(map(len, sounds))).astype(int).tolist()
            sounds.append(np.clip(whole[begin:end] * self._gain, -1, 1))
        return np.concatenate(sounds), before


def _durations(graph: Any) -> str | None:
    """The tensor of the graph that tells the duration of each id: the only one whose running sum is made."""
    summed = [node.input[0] for node in graph.node if node.op_type == "CumSum"]
    return summed[0] if len(summed) == 1 else None


def _has_words(text: str) -> bool:
    return any(sign.isalnum() for sign in text)


def _is_latin(text: str) -> bool:
    """True if every letter is a Latin one. Hibari makes sounds of some others, which are none of their language."""
    return all("LATIN" in unicodedata.name(sign, "") for sign in text if sign.isalpha() and not sign.isascii())
