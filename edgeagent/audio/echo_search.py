"""Looks for the echo of the loudspeaker in the microphone, and for somebody else while it is not found.

Runs on the ears' thread. Knows nothing of cancellers or words.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Literal

import numpy as np

from edgeagent.audio.alignment import Alignment
from edgeagent.audio.delay import SEGMENT_S, DelayEstimator
from edgeagent.audio.device import Samples
from edgeagent.audio.early_echo import FRAME_S

_LOOK_S: Final = 0.25
"""Between two looks at the delay, each of a millisecond of one core."""
_DOUBT_S: Final = 0.1
"""Between two looks at what is loud while the delay is not known."""
_LOUD: Final = 10
"""Frames of one look that must be louder than the room for that."""
_STRANGE, _KNOWN = 15.0, 20.0
"""Standard deviations of the correlation: somebody else speaks from two looks in a row on that fit the loudspeaker by
less than the one, until one fits it by more than the other. In a look with so many loud frames an echo at -12 to +6 dB
fits by 19 at least, in quiet and in noise at 10 and 20 dB, and a person over one at -20 dB mostly by less than 15. With
a sound system that keeps a second, an echo was taken for somebody else in eight of 36 runs, for a third of a second."""


class EchoSearch:
    """Measures the delay of the echo four times a second, for the alignment.

    Args:
        ends: Told of every delay that is sure.
        rate_hz: Of both ends.

    Attributes:
        stranger: True if what is loud is not the robot's own voice, though its delay is not known.
    """

    def __init__(self, ends: Alignment, rate_hz: int) -> None:
        self.stranger = False
        self._ends, self._rate_hz = ends, rate_hz
        self._estimator = DelayEstimator(rate_hz)
        self._heard: Samples = np.zeros(0, np.float32)
        self._next_look = 0
        self._loud: deque[bool] = deque(maxlen=round(SEGMENT_S / FRAME_S))
        self._strange = 0
        """Looks in a row that tell of somebody else."""
        self._doubts = True

    def forget_looks(self) -> None:
        """Drops what was seen: it tells nothing of the delay that there is now."""
        self._estimator.forget()
        self._heard = self._heard[:0]

    def forget(self, *, late: bool = False) -> None:
        """The delay may be another from now on.

        Args:
            late: The device was: until the delay is known again nobody else is told of, because the echo fits badly
                for some looks.
        """
        self.forget_looks()
        self._loud.clear()
        self.stranger, self._strange = False, 0
        self._doubts = self._doubts and not late

    def found(self) -> None:
        """The delay is known."""
        self.stranger, self._doubts = False, True

    def take(self, near: Samples, *, loud: bool, far_active: bool) -> Literal["found", "moved"] | None:
        """The next frame of the microphone.

        Args:
            loud: It is louder than the room.
            far_active: The robot's own voice may be in it.

        Returns:
            "found" if a delay is sure, "moved" if it is another than it was; None where there was no look, or none
            that is sure.
        """
        self._loud.append(loud)
        seen = self._estimator.near_samples
        if len(self._heard) >= 2 * seen:
            self._heard = self._heard[-seen:]
        self._heard = np.concatenate((self._heard, near))
        self._next_look += len(near)
        if len(self._heard) < seen:
            return None
        if self._doubts and not self._ends.known and self._ends.count % round(_DOUBT_S * self._rate_hz) < len(near):
            self._doubt(far_active)
        if self._next_look < _LOOK_S * self._rate_hz:
            return None
        self._next_look = 0
        found = self._estimator.look(self._heard[-seen:], self._window())
        if found is None or not found.sure:
            return None
        moved = self._ends.set_echo(found.delay_s, seen)
        self.found()
        return "moved" if moved else "found"

    def _doubt(self, far_active: bool) -> None:
        """Finds out if it is somebody else who is louder than the room."""
        if not far_active or sum(self._loud) < _LOUD:
            self._strange, self.stranger = 0, False
            return
        fit = self._estimator.fit(self._heard[-self._estimator.near_samples :], self._window())
        self._strange = self._strange + 1 if fit < _STRANGE else 0
        self.stranger = self._strange > 1 or (self.stranger and fit < _KNOWN)

    def _window(self) -> Samples:
        """The far end for a look at the newest samples of the microphone."""
        looks = self._estimator
        return self._ends.window(looks.near_samples, looks.before, looks.after)
