"""Hears a person over the robot's voice, in what a linear canceller leaves of the microphone.

Where the echo is as loud as a person, a canceller that suppresses what it can't subtract takes the person's voice
along. Subtraction alone keeps all of that voice, and leaves enough of the robot's own to sound like speech. So a frame
counts only if the canceller finds a person in it, and if subtraction has left most of the microphone. Runs on one
thread, the ears'.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.vad import SileroOnDemand

_BELOW_DB: Final = 8.0
"""Most that the sound is quieter than the microphone where it has a person, in dB. Over an echo as loud, 95 % of a
person's frames are within that, over one of +6 dB three of four. What subtraction leaves of a loudspeaker that
distorts, at 0 and +6 dB, is 9 dB under the microphone or more in 19 frames of 20."""
_LEVEL_FRAMES: Final = 9
"""Frames over which the two are compared."""


class DoubleTalk:
    """A probability of speech for every frame in which there is a person.

    Raises:
        AudioError: onnxruntime or the network is missing.
    """

    def __init__(self) -> None:
        self._silero = SileroOnDemand()
        self.reset()

    def reset(self) -> None:
        """Forgets what it has heard: another stream."""
        self._silero.reset()
        self._powers: deque[tuple[float, float]] = deque(maxlen=_LEVEL_FRAMES)

    def process(self, sound: Samples, near: Samples, *, person: bool | None) -> float | None:
        """Takes the next frame, 10 ms at 16 kHz; returns the probability that somebody speaks over the robot's voice.

        Args:
            sound: The echo is subtracted, and nothing suppressed.
            near: The microphone.
            person: There is more in it than the robot's own voice; None: the robot is silent. Without a person the
                answer is None.
        """
        if person is None:
            self._silero.awake = 0
            self._powers.clear()
        else:
            self._powers.append((float(np.dot(sound, sound)), float(np.dot(near, near))))
        heard = self._silero.process(sound, asked=bool(person))
        return heard if person and self._is_near() else None

    def _is_near(self) -> bool:
        """Subtraction has left most of the microphone."""
        left, heard = map(sum, zip(*self._powers, strict=True))
        return left * 10 ** (_BELOW_DB / 10) >= heard
