"""Takes noise out of an utterance's sound before it is recognised, by RNNoise, a small recurrent network.

It knows what voices sound like and lets through what is one, other people's in the background much softer. Its 5 % of a
core are spent only while somebody speaks. Knows no words. One thread for each utterance.

RNNoise (Valin, 2018) is loaded from the shared library in the wheel of pyrnnoise; that package itself, which draws and
reads files, is not imported. Where it is not installed, the noise stays and the log says so.
"""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import weakref
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from edgeagent.audio.resample import Resampler
from edgeagent.audio.types import Samples
from edgeagent.stt.types import RATE_HZ

log: Final = logging.getLogger("edgeagent.stt")

LEFT: Final = 0.1
"""Share of the amplitude that stays as it was. PocketSphinx has learnt from sound with a little noise: what is cut out
altogether, it mishears."""

_RATE_HZ: Final = 48_000
_FRAME: Final = 480
_LATE: Final = 2
"""Frames that RNNoise is late, as measured."""
_FULL_SCALE: Final = 32_767
_INSTALL: Final = "pip install --no-deps pyrnnoise"


class Denoiser:
    """One utterance without its noise; what goes in comes out, about 35 ms later."""

    def __init__(self) -> None:
        self._library = _library()
        if self._library is None:
            return
        self._state = ctypes.c_void_p(self._library.rnnoise_create(None))
        weakref.finalize(self, self._library.rnnoise_destroy, self._state)
        self._up, self._down = Resampler(RATE_HZ, _RATE_HZ), Resampler(_RATE_HZ, RATE_HZ)
        self._rest: Samples = np.zeros(0, np.float32)
        self._before: deque[Samples] = deque()
        """The frames whose cleaned sound is still to come."""

    def process(self, samples: Samples) -> Samples:
        """Returns the sound that is clean by now."""
        if self._library is None:
            return samples
        sound = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0)
        return self._down.process(self._clean(self._library, self._up.process(np.clip(sound, -1.0, 1.0))))

    def finish(self) -> Samples:
        """The rest."""
        if self._library is None:
            return np.zeros(0, np.float32)
        rest = self._up.process(np.zeros(0, np.float32), last=True)
        missing = -(len(self._rest) + len(rest)) % _FRAME
        after = np.zeros(missing + _LATE * _FRAME, np.float32)
        ended = self._clean(self._library, np.concatenate((rest, after)))
        return self._down.process(ended[: len(ended) - missing], last=True)

    def _clean(self, library: ctypes.CDLL, sound: Samples) -> Samples:
        """At 48 kHz, whole frames."""
        sound = np.concatenate((self._rest, sound))
        whole = len(sound) // _FRAME * _FRAME
        self._rest = sound[whole:]
        made = [sound[:0]]
        for at in range(0, whole, _FRAME):
            given = (sound[at : at + _FRAME] * _FULL_SCALE).astype(np.float32)
            clean = np.empty_like(given)
            library.rnnoise_process_frame(self._state, clean.ctypes.data, given.ctypes.data)
            self._before.append(sound[at : at + _FRAME])
            if len(self._before) > _LATE:  # what comes out before is from before the utterance
                made.append((1 - LEFT) / _FULL_SCALE * clean + LEFT * self._before.popleft())
        return np.concatenate(made).astype(np.float32)


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    found = importlib.util.find_spec("pyrnnoise")
    if found is None or found.origin is None:
        log.warning("RNNoise is not installed, so that noise is heard with the words: %s", _INSTALL)
        return None
    try:
        library = ctypes.CDLL(str(Path(found.origin).with_name("librnnoise.so")))
    except OSError as error:
        log.warning("RNNoise can't be loaded (%s), so that noise is heard with the words: %s", error, _INSTALL)
        return None
    library.rnnoise_create.restype = ctypes.c_void_p
    library.rnnoise_create.argtypes = [ctypes.c_void_p]
    library.rnnoise_destroy.argtypes = [ctypes.c_void_p]
    library.rnnoise_process_frame.argtypes = [ctypes.c_void_p] * 3
    library.rnnoise_process_frame.restype = ctypes.c_float
    return library
