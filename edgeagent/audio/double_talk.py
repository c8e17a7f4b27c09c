"""Hears a person over the robot's voice, in what a linear canceller leaves of the microphone.

A canceller that suppresses what it can't subtract takes a person's voice along, where the echo is as loud. What is only
subtracted keeps all of that voice, and enough of the robot's own to be speech; but the canceller knows in which frames
there is more than its own. Each of the two is deceived, and seldom both. Runs on one thread, the ears'.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.vad import CHUNK, FRAME, Silero

_WARM_UP: Final = 8
"""Chunks of the past that Silero is given when there is a person: without them it doubts the first syllable."""
_AWAKE: Final = 64
"""Frames for which Silero runs on after the last one with a person."""


class DoubleTalk:
    """A probability of speech for every frame in which there is a person.

    Raises:
        AudioError: onnxruntime or the network is missing.
    """

    def __init__(self) -> None:
        self._silero = Silero()
        self.reset()

    def reset(self) -> None:
        """Forgets what it has heard: the robot is silent."""
        self._past: deque[Samples] = deque(maxlen=math.ceil(_WARM_UP * CHUNK / FRAME))
        self._chunk: Samples = np.zeros(0, np.float32)
        self._awake = 0
        self._heard = 0.0

    def process(self, sound: Samples, *, person: bool) -> float | None:
        """Takes the next frame, 10 ms at 16 kHz; returns the probability that somebody speaks over the robot's voice.

        Args:
            sound: The echo is subtracted, and nothing suppressed.
            person: There is more in it than the robot's own voice; else the answer is None.
        """
        if person:
            if not self._awake:
                self._silero.reset()
                self._chunk = np.concatenate(self._past) if self._past else self._chunk[:0]
                self._past.clear()
            self._awake = _AWAKE
        if not self._awake:
            self._past.append(sound)
            return None
        self._chunk = np.concatenate((self._chunk, sound))
        while len(self._chunk) >= CHUNK:
            self._heard = self._silero.process(self._chunk[:CHUNK])
            self._chunk = self._chunk[CHUNK:]
        self._awake -= 1
        return self._heard if person else None
