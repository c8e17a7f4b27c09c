"""Takes noise out of an utterance before it is recognised: RNNoise, and a small recurrent network on mel energies.

RNNoise knows what voices sound like; the network knows what PocketSphinx makes of what RNNoise leaves. For each frame
it tells by how much each mel band is to be changed, from the spectrum and from what RNNoise made of it. It was trained
by ``scripts/train_enhancer`` so that the phones of the acoustic model score its cepstra as those of the voice alone. It
costs 7 % of a core while somebody speaks in noise. Knows no words. One thread for each utterance.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.types import Samples
from edgeagent.errors import RecognitionError
from edgeagent.onnx import open_session
from edgeagent.resources import models_dir
from edgeagent.stt.denoise import Denoiser
from edgeagent.stt.mel import BINS, FILTERS, Energies, Powers, Spectra, in_mel_bands

FILE: Final = "enhancer.onnx"
LATE: Final = 6
"""Frames that it has to have heard after the one that it tells of: 60 ms."""
UNITS: Final = 224
"""In each of its two recurrent layers."""
EDGES: Final = np.concatenate((np.arange(4, 96), np.arange(96, 218, 3), (219,)))
"""Bins at which the bands begin that it hears, besides the mel bands: fine enough for the harmonics of a voice."""

_SILENT: Final = 1.0
"""Energy that is added before the logarithm: less than half a step of 16 bits."""


class SpeechEnhancer:
    """One utterance without its noise.

    Raises:
        RecognitionError: The network is missing or is not one.
    """

    def __init__(self) -> None:
        self._session = load()
        self._state = np.zeros((2, 1, UNITS), np.float32)
        self._denoiser = Denoiser()
        self._spectra = Spectra(), Spectra()
        self._heard: Powers = np.zeros((0, BINS))
        """Frames that are not denoised."""
        self._waiting: Energies = np.zeros((0, FILTERS))
        """Denoised frames that the network has not told of."""
        self._early = LATE

    def process(self, samples: Samples) -> Energies:
        """The frames that are known by now, about 100 ms later. Shape (frames, 25)."""
        return self._take(samples, self._denoiser.process(samples))

    def finish(self) -> Energies:
        """The rest; silence comes after it."""
        made = self._take(np.zeros(0, np.float32), self._denoiser.finish())
        missing, silence = len(self._waiting), np.zeros((LATE, BINS))
        return np.concatenate((made, self._enhance(silence, silence)[:missing]))

    def _take(self, heard: Samples, denoised: Samples) -> Energies:
        self._heard = np.concatenate((self._heard, self._spectra[0].process(heard)))
        clean = self._spectra[1].process(denoised)
        both, self._heard = self._heard[: len(clean)], self._heard[len(clean) :]
        return self._enhance(both, clean)

    def _enhance(self, heard: Powers, denoised: Powers) -> Energies:
        """``LATE`` frames fewer than came in."""
        if not len(heard):
            return np.zeros((0, FILTERS))
        energies = in_mel_bands(denoised)
        self._waiting = np.concatenate((self._waiting, energies))
        given = {"features": features(heard, energies)[None], "state": self._state}
        change, self._state = self._session.run(("change", "new_state"), given)
        told = change[0, min(self._early, len(heard)) :]
        self._early -= len(heard) - len(told)
        made, self._waiting = self._waiting[: len(told)], self._waiting[len(told) :]
        return np.asarray(made * np.exp(told.astype(np.float64)))


def features(heard: Powers, denoised: Energies) -> NDArray[np.float32]:
    """Returns the input of the network. Shape (frames, 183)."""
    fine = np.add.reduceat(heard, EDGES, axis=1)[:, :-1] / np.diff(EDGES)
    each = (fine, in_mel_bands(heard), denoised)
    return np.log(np.concatenate(each, axis=1) + _SILENT).astype(np.float32)


def load() -> Any:
    """The network, which is read once.

    Raises:
        RecognitionError: It is missing or broken.
    """
    return _session(models_dir() / FILE)


@lru_cache(maxsize=1)
def _session(path: Path) -> Any:
    try:
        return open_session(path, arena=False)
    except Exception as error:
        raise RecognitionError(f"{path} can't be loaded ({error}): install edgeagent again") from error
