"""A Piper voice: a neural voice from a file, on as few threads as it is given.

The files of a voice are checked, and loaded with bounded threads and the times of its phonemes. A text becomes phoneme
ids by clause, with the phoneme at which each word begins: piper gives phonemes by sentence and does not say from which
word they come.

Knows no device, no catalogue and no downloads. Everything runs on the thread that listens, clause by clause, while a
watcher ends a clause that is being synthesised when the stop event is set. piper, onnxruntime and onnx are imported
only when a voice is loaded.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import SpeechError
from edgeagent.extras import install
from edgeagent.onnx import open_session, run_until
from edgeagent.tts.espeak_library import DATA_FILES
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

logger = logging.getLogger(__name__)
_INPUTS: Final = frozenset({"input", "input_lengths", "scales"})
_ALPHABETS: Final = frozenset({"espeak", "text"})  # the others need packages of their own; one downloads a model
_MARKS: Final = ("_", "^", "$")  # pad, begin, end
_PROBE: Final = "one"


_INFERENCE: Final = {"noise_scale": 0.667, "length_scale": 1.0, "noise_w": 0.8}
"""Settings of a voice if nobody says otherwise, by their keys in its .json and in the model's order; the defaults are
piper's."""


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpeechError(f"{path} is missing: it belongs to the voice, fetch it from the same place") from error
    except (OSError, ValueError) as error:
        raise SpeechError(f"{path} can't be read: {error}") from error
    if not isinstance(config, dict):
        raise SpeechError(f"{path} is not the configuration of a Piper voice")
    return config


def _frames(graph: Any) -> str | None:
    """The tensor of a voice's graph that tells how many frames each phoneme takes: the only one that is rounded up.

    None if there are several, or none.
    """
    rounded = [node.output[0] for node in graph.node if node.op_type == "Ceil"]
    return rounded[0] if len(rounded) == 1 else None


# A clause is synthesised in one go before its first sound is there, so a long sentence is cut at its commas. A cut
# costs melody: about 2 s of speech stand on each side of it, except where a clause is longer than about 12 s.
_CLAUSE_MIN: Final = 30
_CLAUSE_MAX: Final = 160
_PAUSES: Final = frozenset(",;:")
_STRESS: Final = frozenset("\u02c8\u02cc")  # a word alone is stressed in another way
_LOST: Final = 2  # phonemes at the begin of a word that may differ from those of the word alone


@dataclass(frozen=True, slots=True)
class Clause:
    """Phonemes that are synthesised at once."""

    ids: list[int]
    """Phoneme ids, with padding, begin and end."""
    ids_before: list[int]
    """Number of ids before each phoneme."""
    words: list[tuple[int, int]]
    """Words whose begin is known: (place in the text, phoneme of the clause)."""
    end: int
    """Place in the text where the clause ends."""


def read(voice: Any, text: str) -> list[Clause]:
    """Read a plain text.

    Raises:
        UnreadableError: The voice can't read it.
    """
    try:
        sentences = [sentence for sentence in voice.phonemize(text) if sentence]
        begins = _begins(voice, text, [phoneme for sentence in sentences for phoneme in sentence])
    except Exception as error:
        raise UnreadableError(f"the voice can't read {text[:40]!r}: {error}") from error
    clauses = []
    begin = 0  # phonemes before this clause
    for sentence in sentences:
        rest = sentence
        while rest:
            part, rest = rest[: (cut := _cut(rest))], rest[cut:]
            end = begin + len(part)
            words = [(place, at - begin) for place, at in begins if begin <= at < end]
            later = (place for place, at in begins if at >= end)
            clauses.append(_clause(voice, part, words, next(later, len(text))))
            begin = end
    return clauses


def _clause(voice: Any, phonemes: list[str], words: list[tuple[int, int]], end: int) -> Clause:
    ids = voice.phonemes_to_ids(phonemes)
    known = voice.config.phoneme_id_map
    pad = len(known["_"])
    # as piper.phoneme_ids does it: begin, pad, then each phoneme that the voice knows with a pad after it
    counts = [len(known[phoneme]) + pad if phoneme in known else 0 for phoneme in phonemes]
    before = list(accumulate(counts, initial=len(known["^"]) + pad))[:-1]
    return Clause(ids, before, words, end)


def _cut(phonemes: list[str]) -> int:
    """Counts the phonemes of a sentence's first clause."""
    space = 0
    for index, phoneme in enumerate(phonemes[:_CLAUSE_MAX], 1):
        if phoneme == " ":
            space = index
            if _CLAUSE_MIN <= index < len(phonemes) - _CLAUSE_MIN and phonemes[index - 2] in _PAUSES:
                return index
    if len(phonemes) <= _CLAUSE_MAX:
        return len(phonemes)
    return space or _CLAUSE_MAX


def _begins(voice: Any, text: str, phonemes: list[str]) -> list[tuple[int, int]]:
    """Find where words begin: (place in the text, phoneme).

    espeak-ng joins words ("of the") and says others as several (numbers), so counting does not do. Each word is read
    alone, and the row of these readings is compared with the reading of the text. A word that is not found there is
    left out; ``WordClock`` gives it a time.
    """
    alone: list[str] = []
    starts = []
    for start, end in words_in(text):
        starts.append((start, len(alone)))
        alone += [sign for sentence in voice.phonemize(text[start:end]) for sign in sentence if _sounds(sign)]
    places = [index for index, phoneme in enumerate(phonemes) if _sounds(phoneme)]
    matcher = SequenceMatcher(None, alone, [phonemes[index] for index in places], autojunk=False)
    found: dict[int, int] = {}
    for block in matcher.get_matching_blocks():
        found.update((block.a + step, block.b + step) for step in range(block.size))
    begins = []
    last = -1
    for number, (start, first) in enumerate(starts):
        end = starts[number + 1][1] if number + 1 < len(starts) else len(alone)
        for lost in range(min(_LOST, end - first - 1) + 1):
            if (match := found.get(first + lost)) is not None:
                if (at := max(match - lost, 0)) > last:
                    begins.append((start, _with_stress(phonemes, places[at])))
                    last = at
                break
    return begins


def _with_stress(phonemes: list[str], at: int) -> int:
    """The mark of stress before a phoneme is a part of its word, and of its time."""
    while at and phonemes[at - 1] in _STRESS:
        at -= 1
    return at


def _sounds(phoneme: str) -> bool:
    return phoneme not in _STRESS and phoneme not in " .,;:!?"


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
        if length_scale is not None:
            check_range("length_scale", length_scale, 0.1, 10)
        check_range("volume", volume, *VOLUMES)
        self._volume = np.float32(volume / 100)
        self._path, self._threads = Path(path), threads
        self.name = self._path.stem
        if not self._path.is_file():
            raise SpeechError(
                f"there is no voice {self._path}; a Piper voice is a .onnx file with a .onnx.json beside it"
            )
        self._configure(self._path.with_name(f"{self._path.name}.json"), length_scale, speaker)
        self._load = threading.Lock()  # two first utterances load one voice, not two
        self._voice: Any = None

    def _configure(self, path: Path, length_scale: float | None, speaker: int | str | None) -> None:
        """Read and check the voice's .json."""
        self._config = config = _read_config(path)
        try:
            self.rate_hz = int(config["audio"]["sample_rate"])
            self.language = str(config["espeak"]["voice"])
            speakers = int(config["num_speakers"])
            names = {str(name): int(id_) for name, id_ in (config.get("speaker_id_map") or {}).items()}
            default = int(config.get("default_speaker_id") or 0)
            said = config.get("inference") or {}
            scales = _INFERENCE | {key: float(value) for key, value in said.items() if key in _INFERENCE}
            lacking = [mark for mark in _MARKS if not config["phoneme_id_map"].get(mark)]
            alphabet = config.get("phoneme_type", "espeak")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise SpeechError(f"{path} is not the configuration of a Piper voice: {what}") from error
        if lacking or not 4000 <= self.rate_hz <= 192_000:
            raise SpeechError(
                f"{path} is not the configuration of a Piper voice: "
                + (f"its phoneme_id_map has no {' '.join(lacking)}" if lacking else f"sample_rate is {self.rate_hz}")
            )
        if alphabet not in _ALPHABETS:
            raise SpeechError(
                f"the voice {self.name} has phonemes of type {alphabet!r}; only espeak and text can be read"
            )
        if length_scale is not None:
            scales["length_scale"] = length_scale
        self._scales = np.array(list(scales.values()), np.float32)
        self._speaker: int | None = None
        if speakers > 1:
            number = default if speaker is None else names.get(speaker) if isinstance(speaker, str) else speaker
            if number is None or not 0 <= number < speakers:
                known = f", or by name: {', '.join(list(names)[:8])}" if names else ""
                raise SpeechError(f"the voice {self.name} has no speaker {speaker!r}; 0 to {speakers - 1}{known}")
            self._speaker = number
        elif speaker not in (None, 0):
            raise SpeechError(f"the voice {self.name} has one speaker, not {speaker!r}")

    def load(self) -> Any:
        """Load the voice now, some tenths of a second; gives piper's ``PiperVoice``.

        Raises:
            SpeechError: piper or onnx is not installed, the file is no Piper voice, or its language is missing.
        """
        with self._load:
            if self._voice is None:
                self._voice = self._open()
            return self._voice

    def _open(self) -> Any:
        try:
            from piper import PiperConfig, PiperVoice
            from piper.phonemize_espeak import ESPEAK_DATA_DIR
        except ImportError as error:
            raise SpeechError(f"Piper is not installed ({error}): {install('piper')}") from error
        # espeak-ng inside piper ends the process, with exit(1), when its data is missing
        if lost := [name for name in DATA_FILES if not (Path(ESPEAK_DATA_DIR) / name).is_file()]:
            raise SpeechError(
                f"Piper's espeak-ng data is missing, {ESPEAK_DATA_DIR} has no {', '.join(lost)}: "
                "install it again with pip install --force-reinstall piper-tts"
            )
        try:
            session = open_session(self._path, threads=self._threads, inner=_frames)
        except ImportError as error:
            raise SpeechError(f"Piper is not installed ({error}): {install('piper')}") from error
        except Exception as error:
            raise SpeechError(f"{self._path} is not an ONNX model that can be loaded: {error}") from error
        inputs = {entry.name for entry in session.get_inputs()}
        if not inputs >= _INPUTS or ("sid" in inputs) != (self._speaker is not None):
            raise SpeechError(
                f"{self._path} is not the model of this Piper voice: its inputs are {', '.join(sorted(inputs))}"
            )
        if len(session.get_outputs()) < 2:
            logger.warning("the voice %s does not tell how long its words take: their times are guessed", self.name)
        voice = PiperVoice(session=session, config=PiperConfig.from_dict(self._config))
        try:
            heard = voice.phonemize(_PROBE)
        except Exception as error:
            raise SpeechError(f"the voice {self.name} can't read its language {self.language!r}: {error}") from error
        if not any(heard):  # no dictionary: espeak-ng says so on stderr only
            raise SpeechError(f"the voice {self.name} can't read: Piper's espeak-ng data lacks {self.language!r}")
        return voice

    def close(self) -> None:
        """Give the memory back; a later utterance loads the voice again."""
        with self._load:
            self._voice = None

    def speak(self, text: str, stop_event: Event) -> Iterator[SpeechChunk]:
        """See ``Speaker.speak``. The first chunk comes when the first clause has been synthesised as a whole."""
        voice = self.load()
        spoken = plain(text)
        yield from in_chunks(spoken, self._parts(voice, spoken, stop_event), self.rate_hz, stop_event)

    def _parts(self, voice: Any, spoken: str, stop_event: Event) -> Iterator[SpokenPart]:
        """Clause by clause, as far as it is not stopped."""
        gain = np.inf
        for offset, piece in pieces(spoken):
            if stop_event.is_set():
                return
            for clause in read(voice, piece):
                sound = self._synthesise(voice, clause, stop_event)
                if sound is None:
                    return
                samples, ends = sound
                # Piper makes each sentence as loud as it can be; an utterance keeps one loudness, and never clips
                gain = min(gain, 1 / max(float(np.abs(samples).max(initial=0)), _SILENT))
                places = [(offset + place, ends[clause.ids_before[sign] - 1]) for place, sign in clause.words]
                louder = np.clip(samples * np.float32(gain) * self._volume, -1, 1)
                yield SpokenPart(louder, places, offset + clause.end)

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
