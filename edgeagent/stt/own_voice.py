"""Whether a key phrase was the robot's own: what is left of its voice may sound like one, and it may say one.

By the echo canceller's word on each frame: whether there is something in it that the loudspeaker does not explain. The
ears' thread tells, any thread asks. Knows nothing of words.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Final

_KEPT: Final = 300
"""Frames of 10 ms."""
_WORD_S: Final = 0.7
"""Before the end of the phrase: that of a spotter begins too early, with the pause before it."""
_LEAST: Final = 14
"""Frames with a person in them. In the simulated room the words of a person had at least 20, up to an echo 6 dB louder
than his voice, and what was taken for a word in the robot's own voice at most 9."""


class OwnVoice:
    """The last seconds, frame by frame."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: deque[tuple[float, bool]] = deque(maxlen=_KEPT)

    def take(self, end_s: float, persons: Iterable[bool], frame_s: float) -> None:
        """The next frames, of which the last ends at ``end_s``; True: with a person, or the loudspeaker is silent."""
        listed = list(persons)
        with self._lock:
            for number, person in enumerate(listed, start=1 - len(listed)):
                self._frames.append((end_s + number * frame_s, person))

    def explains(self, end_s: float) -> bool:
        """Whether a phrase that ends then is nothing but the robot's own voice."""
        with self._lock:
            heard = [person for at_s, person in self._frames if end_s - _WORD_S < at_s <= end_s]
        return len(heard) > _LEAST and sum(heard) < _LEAST
