"""Key phrases that are the robot's own: leftovers of its voice may sound like one, and the robot may say one.

By the echo canceller's word on each frame: whether there is something in it that the loudspeaker does not explain. The
ears' thread tells, any thread asks. Knows nothing of words.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

_KEPT: Final = 300
"""Frames of 10 ms."""
_WORD_S: Final = 0.7
"""Before the end of the phrase: that of a spotter begins too early, with the pause before it."""
_BEFORE_S: Final = 0.25
"""Seconds before the robot began to speak; what was said earlier is no part of a word that ends in its speech."""
_PAUSE: Final = 12
"""Frames without a person that end what was said before the robot began; the silence before the last sound of "stop" is
shorter."""
_LEAST: Final = 11
"""Frames with a person in them. In the simulated room the words of a person had at least 20, up to an echo 6 dB louder
than his voice, and what was taken for a word in the robot's own voice at most 9; of 72 stop words at -6 dB 64 pass."""
_LEAST_SURE: Final = 6
"""The same where the spotter is sure of the word. In 20 minutes of the robot's own speech in the simulated room, at -20
to +6 dB, what it was sure of had at most one. Just after a long silence the echo is learnt anew, and a person's "stop"
at 0 dB has 8."""


class OwnVoice:
    """The last seconds, frame by frame."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._frames: deque[tuple[float, bool, bool]] = deque(maxlen=_KEPT)

    def take(self, end_s: float, persons: Iterable[bool | None], loud: Iterable[bool], frame_s: float) -> None:
        """The next frames, of which the last ends at ``end_s``.

        Args:
            persons: Whether there is a person in each; None: the loudspeaker is silent.
            loud: Whether each is louder than the room: a person, where the loudspeaker is silent.
        """
        listed = list(zip(persons, loud, strict=True))
        with self._lock:
            for number, (person, is_loud) in enumerate(listed, start=1 - len(listed)):
                found = is_loud if person is None else person
                self._frames.append((end_s + number * frame_s, found, person is not None))

    def explains(self, end_s: float, *, sure: bool = False) -> bool:
        """True if a phrase that ends then is nothing but the robot's own voice.

        Args:
            sure: The spotter has no doubt that the phrase was said, by whomever.
        """
        with self._lock:
            heard = [frame for frame in self._frames if end_s - _WORD_S < frame[0] <= end_s]
        began_s = next((at_s for at_s, _, spoken in heard if spoken), None)
        if len(heard) <= _LEAST or began_s is None:
            return False
        before = [person for at_s, person, _ in heard if began_s - _BEFORE_S <= at_s < began_s]
        after = [person for at_s, person, _ in heard if at_s >= began_s]
        return sum(_unbroken(before)) + sum(after) < (_LEAST_SURE if sure else _LEAST)


def _unbroken(persons: Sequence[bool]) -> Sequence[bool]:
    """The last frames, from the last pause on."""
    for end in range(len(persons), _PAUSE - 1, -1):
        if not any(persons[end - _PAUSE : end]):
            return persons[end:]
    return persons
