"""Sounds that were heard in a room, each part by itself. Written by the room's thread, read by any."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples

_FIRST: Final = 1 << 16


class Track:
    """Samples that grow."""

    def __init__(self) -> None:
        self._samples = np.zeros(_FIRST, np.float32)
        self._count = 0

    def append(self, samples: NDArray[Any]) -> None:
        """Adds samples at the end."""
        end = self._count + len(samples)
        if end > len(self._samples):
            grown = np.zeros(max(2 * len(self._samples), end), np.float32)
            grown[: self._count] = self._samples[: self._count]
            self._samples = grown
        self._samples[self._count : end] = samples
        self._count = end

    @property
    def samples(self) -> Samples:
        """A copy of all until now."""
        return self._samples[: self._count].copy()


class Recorded:
    """The whole run, from the room's time 0.

    Sample n of the microphone and of its parts was heard n / rate seconds after the start. The microphone is the sum of
    echo, person and noise, clipped to [-1, 1]. The loudspeaker's samples follow its own clock: the n-th leaves it at
    ``Room.leaves_s(n)``, and the last ones have not left yet.
    """

    def __init__(self) -> None:
        self.tracks = {name: Track() for name in ("loudspeaker", "microphone", "echo", "person", "noise")}

    @property
    def loudspeaker(self) -> Samples:
        """Sound that ``fill`` wrote, clipped to [-1, 1]."""
        return self.tracks["loudspeaker"].samples

    @property
    def microphone(self) -> Samples:
        """Sound that ``take`` was given."""
        return self.tracks["microphone"].samples

    @property
    def echo(self) -> Samples:
        """The loudspeaker at the microphone."""
        return self.tracks["echo"].samples

    @property
    def person(self) -> Samples:
        """All that was said by ``Room.say``."""
        return self.tracks["person"].samples

    @property
    def noise(self) -> Samples:
        """Steady noise, babble and motors."""
        return self.tracks["noise"].samples
