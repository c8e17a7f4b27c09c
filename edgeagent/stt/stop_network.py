"""The stop words that come with edgeagent, heard by a small network: "stop", "halt" and "freeze".

The network also hears three phrases that make motion wait.

Trained by ``scripts/lab/train_keywords`` on synthetic voices in rooms, in noise and over leftovers of the robot's
voice. Any other phrase is PocketSphinx's (``edgeagent.stt.key_phrases``). Knows nothing of what was meant. Any one
thread.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples
from edgeagent.errors import RecognitionError
from edgeagent.onnx import open_known
from edgeagent.resources import models_dir
from edgeagent.stt.hearing import AGAIN_S, RATE_HZ, SpottedPhrase

__all__ = ["WAITS", "WORDS", "StopNetwork", "learnt"]

WORDS: Final = ("stop", "halt", "freeze")
WAITS: Final = ("wait", "hold on", "cancel that")
"""Phrases that make motion wait for a moment, until their transcript tells what was meant."""
_COLUMNS: Final = {word: 1 + column for column, word in enumerate((*WORDS, "", *WAITS))}
"""Of the network's outputs: the first column stands for anything but a word, and the one between them for anything but
one of the phrases."""

LEAST: Final = {"stop": 0.82, "halt": 0.77, "freeze": 0.72, "wait": 0.9, "hold on": 0.9, "cancel that": 0.9}
"""Mean probability of a word over ``_SMOOTHED`` steps from which on it was said; ``docs/figures.md`` has the counts."""
SURE: Final = 0.85
"""The same for a word that is beyond doubt."""
_FILE: Final = "stop_words.onnx"
_BLOCK: Final = RATE_HZ // 25
"""Samples of a run: four frames, two steps of the network."""
_HOP: Final = RATE_HZ // 100
_WINDOW: Final = 400
_SIZE: Final = 512
"""These three as in ``scripts/lab/train_keywords/mixing.py``."""
_PAST: Final = 9_448
"""Length of what the network remembers from block to block."""
_OUTPUTS: Final = ("probabilities", "next")
_SMOOTHED: Final = 3
_STEP_S: Final = 0.02
_AFTER_S: Final = 0.06
"""From the end of a word until the network is sure of it: the middle of what it was trained for."""
_WORD_S: Final = 0.4
"""Length of a word; where it began the network can't tell."""
_KEPT: Final = 150
"""Steps whose probabilities are remembered, three seconds."""
_SILENCE_S: Final = 1.4
_SILENCE: Final = 1e-4
"""Amplitude of the noise that comes before a stream: the network has never heard a word that nothing comes before."""


def learnt(phrases: Mapping[str, float | None]) -> list[str]:
    """Returns those phrases that the network listens for: a threshold is one of PocketSphinx's."""
    return [phrase for phrase, threshold in phrases.items() if phrase in WORDS and threshold is None]


class StopNetwork:
    """Listens for stop words in one stream. ``likely`` may be asked on any thread.

    Args:
        words: Some of ``WORDS`` and ``WAITS``.
        path: Another file of the same network; None: the one that comes with edgeagent.

    Raises:
        RecognitionError: onnxruntime or the file is missing, or the file is not this network.
    """

    def __init__(self, words: Collection[str] = WORDS, path: Path | None = None) -> None:
        self._lock = threading.Lock()
        self._words = {word: column for word, column in _COLUMNS.items() if word in words}
        path = path or models_dir() / _FILE
        inputs = (("powers", _SIZE // 2 + 1), ("past", _PAST))
        self._session = open_known(path, "stop words", inputs=inputs, outputs=_OUTPUTS, raises=RecognitionError)
        self._taper = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
        noise = np.random.default_rng(0).normal(0.0, _SILENCE, _WINDOW - _HOP + round(_SILENCE_S * RATE_HZ))
        self._past: NDArray[np.float32] = np.zeros((1, _PAST), np.float32)
        self._sound: Samples = noise.astype(np.float32)
        while len(self._sound) - (_WINDOW - _HOP) >= _BLOCK:
            self._probabilities()
            self._sound = self._sound[_BLOCK:]
        self._before = (self._sound, self._past)
        self.reset()

    def twin(self) -> StopNetwork:
        """Makes a network for another stream, by the same weights."""
        made = copy(self)
        made._lock = threading.Lock()
        made.reset()
        return made

    def reset(self) -> None:
        """Forgets what it has heard: another stream, or what follows has nothing to do with what came before."""
        self._sound, self._past = self._before
        self._recent: NDArray[np.float32] = np.zeros((_SMOOTHED, 1 + len(_COLUMNS)), np.float32)
        self._told = dict.fromkeys(self._words, -math.inf)
        with self._lock:
            self._scores: deque[tuple[float, NDArray[np.float32]]] = deque(maxlen=_KEPT)

    def likely(self, word: str, begin_s: float, end_s: float) -> float:
        """Returns how likely a word was at most, from 0 to 1, between two times; 1 if the network has not heard all of
        that, because the stream began later or three seconds have passed."""
        with self._lock:
            if not self._scores or self._scores[0][0] > begin_s:
                return 1.0
            return self._most(_COLUMNS[word], begin_s, end_s)

    def most(self, word: str, begin_s: float, end_s: float) -> float:
        """Returns how likely a word was at most, from 0 to 1, in what was heard between two times; 0 if nothing was."""
        with self._lock:
            return self._most(_COLUMNS[word], begin_s, end_s)

    def _most(self, column: int, begin_s: float, end_s: float) -> float:
        """The same for an output of the network. Under the lock."""
        return max((float(each[column]) for at_s, each in self._scores if begin_s <= at_s <= end_s), default=0.0)

    def likeliest(self, begin_s: float, end_s: float, *, but: Collection[str] = ()) -> SpottedPhrase | None:
        """Returns the stop word that was most likely to end between two times, told or not, ``but`` for some; None if
        nothing was heard then, or three seconds have passed."""
        with self._lock:
            heard = [(at_s, scores) for at_s, scores in self._scores if begin_s <= at_s - _AFTER_S <= end_s]
        words = [word for word in WORDS if word in self._words and word not in but]
        found = [(float(scores[_COLUMNS[word]]), word, at_s - _AFTER_S) for at_s, scores in heard for word in words]
        if not found:
            return None
        score, word, word_s = max(found)
        return SpottedPhrase(word, word_s - _WORD_S, word_s, heard[-1][0], score)

    def refuse(self, word: str) -> None:
        """Lets a word be found again at once: the one that was found did not count."""
        self._told[word] = -math.inf

    def process(self, samples: Samples, at_s: float) -> list[SpottedPhrase]:
        """Hears the next block of the stream.

        Args:
            samples: At 16 kHz in [-1, 1], any number.
            at_s: Time of the first one, in seconds; the times of what is found are on the same clock.

        Returns:
            The words that have just ended, usually none.
        """
        waiting = len(self._sound) - (_WINDOW - _HOP)
        self._sound = np.concatenate((self._sound, samples))
        found: list[SpottedPhrase] = []
        taken = 0
        while len(self._sound) - (_WINDOW - _HOP) >= _BLOCK:
            taken += _BLOCK
            heard_s = at_s + (taken - waiting) / RATE_HZ
            for number, step in enumerate(self._probabilities(), start=1 - _BLOCK // (2 * _HOP)):
                self._recent = np.concatenate((self._recent[1:], step[None]))
                found += self._words_at(heard_s + number * _STEP_S, heard_s)
            self._sound = self._sound[_BLOCK:]
        return found

    def _probabilities(self) -> NDArray[np.float32]:
        """Of the first block that waits. Shape (2, columns)."""
        frames = np.lib.stride_tricks.sliding_window_view(self._sound[: _WINDOW - _HOP + _BLOCK], _WINDOW)[::_HOP]
        powers = np.square(np.abs(np.fft.rfft(frames * self._taper, _SIZE)), dtype=np.float32)
        made, self._past = self._session.run(_OUTPUTS, {"powers": powers[None], "past": self._past})
        probabilities: NDArray[np.float32] = made[0]
        return probabilities

    def _words_at(self, at_s: float, heard_s: float) -> list[SpottedPhrase]:
        found = []
        smoothed = self._recent.mean(axis=0)
        with self._lock:
            self._scores.append((at_s, smoothed))
        for word, column in self._words.items():
            score = float(smoothed[column])
            if score >= LEAST[word]:
                if at_s > self._told[word] + AGAIN_S:
                    end_s = at_s - _AFTER_S
                    spotted = SpottedPhrase(word, end_s - _WORD_S, end_s, heard_s, score, score >= SURE)
                    found.append(replace(spotted, waits=word in WAITS))
                self._told[word] = at_s
        return found
