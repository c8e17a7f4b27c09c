"""Whether a person speaks over the robot's own voice, for every 10 ms of sound.

AEC3 suppresses a person together with a loud echo, and Silero hears nothing then. So this hears the microphone with its
echo subtracted only (``linear_echo``). The robot's voice is left in it too, and a person is there when most of the last
frames have more in them than the echo explains, are not much quieter than the microphone mostly is, and are like
speech. Knows nothing of utterances. Runs on one thread, the ears'.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final

import numpy as np

from edgeagent.audio.silero import CHUNK, Silero
from edgeagent.audio.types import Samples
from edgeagent.audio.vad import FRAME

_WITHIN: Final = 15
"""Frames that are looked at together:"""
_LEAST: Final = 11
"""so many of them have more than the echo in them. Of the robot alone up to 11 in ten minutes, but then they are"""
_BELOW_DB: Final = 18.0
"""quieter than the microphone by more, 24.7 dB at least at an echo of +6 dB. A person was 16 dB quieter at most."""
_SPEECH: Final = 0.1
"""Probability of Silero's: what is left of the robot's voice makes it doubt a person's, who had 0.1 at least."""
_SPOKEN: Final = 6
"""Frames over which it is the mean."""
_PROOF: Final = 600
"""Frames with the robot's voice before any of this is believed: while the canceller learns, more is left of it."""
_ASKED: Final = 7
"""So many of the frames have more than the echo in them, and Silero is asked."""
_PAST: Final = 26
"""Frames that Silero is given when it is woken: without them it doubts the first syllable."""
_MEAN_SHARE: Final = 0.005
"""By which a frame changes the mean level of the microphone: a time constant of 2 s."""
_LEAST_POWER: Final = 1e-10


class DoubleTalk:
    """A stream of frames in which the robot speaks at times.

    Attributes:
        asked: Chunks that Silero was given: its cost.
    """

    def __init__(self) -> None:
        self.asked = 0
        self._silero = Silero()
        self.reset()

    def reset(self) -> None:
        """Forgets everything: another stream."""
        self._mean = 0.0
        self._count = 0
        self._fall_silent()

    def take(self, sound: Samples, persons: Sequence[bool | None], microphone_db: float) -> list[bool]:
        """The next frames; returns for each whether a person speaks over the robot's voice.

        Args:
            sound: Without the echo, but with all of a person, at 16 kHz: 10 ms for each frame.
            persons: Whether there is more in each frame than the echo; None: the loudspeaker is silent.
            microphone_db: How loud they were before the canceller, in dB of full scale.
        """
        power = 10 ** (microphone_db / 10)
        return [
            self._look(sound[number * FRAME : (number + 1) * FRAME], person, power)
            for number, person in enumerate(persons)
        ]

    def _fall_silent(self) -> None:
        self._persons: deque[bool] = deque(maxlen=_WITHIN)
        self._left: deque[float] = deque(maxlen=_WITHIN)
        self._microphone: deque[float] = deque(maxlen=_WITHIN)
        self._past: deque[Samples] = deque(maxlen=_PAST)
        self._awake = False
        self._chunk: Samples = np.zeros(0, np.float32)
        self._heard = 0.0
        self._speech: deque[float] = deque(maxlen=_SPOKEN)

    def _look(self, frame: Samples, person: bool | None, microphone: float) -> bool:
        if person is None:
            if self._left:
                self._fall_silent()
            return False
        self._count += 1
        self._mean += max(_MEAN_SHARE, 1 / self._count) * (microphone - self._mean)
        self._persons.append(person)
        self._microphone.append(microphone)
        self._left.append(float(np.dot(frame, frame)) / FRAME)
        found = sum(self._persons)
        self._ask(frame, found >= _ASKED)
        self._speech.append(self._heard)
        if self._count < _PROOF or found < _LEAST or self._below_db() > _BELOW_DB:
            return False
        return sum(self._speech) >= _SPEECH * _SPOKEN

    def _below_db(self) -> float:
        """How much quieter the last frames are than before the canceller, there or in the mean of the last seconds."""
        before = max(sum(self._microphone) / len(self._microphone), self._mean)
        left = sum(self._left) / len(self._left)
        return 10 * math.log10((before + _LEAST_POWER) / (left + _LEAST_POWER))

    def _ask(self, frame: Samples, wanted: bool) -> None:
        """Silero, while there may be a person."""
        if wanted and not self._awake:
            self._silero.reset()
            self._chunk = np.concatenate([self._chunk[:0], *self._past])
            self._past.clear()
        if not wanted:
            if self._awake:
                self._chunk = self._chunk[:0]
                self._heard = 0.0
            self._awake = False
            self._past.append(frame.copy())
            return
        self._awake = True
        self._chunk = np.concatenate((self._chunk, frame))
        while len(self._chunk) >= CHUNK:
            self._heard = self._silero.process(self._chunk[:CHUNK])
            self.asked += 1
            self._chunk = self._chunk[CHUNK:]
