"""End of a speaker's turn, by the sound alone: a protocol, and the models of the Smart Turn family.

Intonation tells "drive to the kitchen" from "drive to the kitchen and …". Knows nothing of words. A model is loaded and
asked on one thread; it takes some milliseconds, at the soft end of an utterance.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples
from edgeagent.errors import RecognitionError
from edgeagent.extras import install
from edgeagent.onnx import open_session

RATE_HZ: Final = 16_000
DONE: Final = 0.5
"""Probability from which on the speaker is taken to be done, as the authors of Smart Turn use it."""

# Whisper's features (Radford et al., 2022, section 2.2): windows of 25 ms every 10 ms, 80 mel bands to 8 kHz.
_WINDOW: Final = 400
_HOP: Final = 160
_BANDS: Final = 80
_FRAMES: Final = 800
"""Of 10 ms: eight seconds of sound, which a model hears. The sound before is cut off."""
_SHAPE: Final = (1, _BANDS, _FRAMES)
_HIGHEST_HZ: Final = 8_000.0
_LEAST_POWER: Final = 1e-10
_RANGE: Final = 8.0
"""Powers of ten under the loudest that are kept: 80 dB."""
_LEAST_VARIANCE: Final = 1e-7

# Slaney's mel scale: linear up to 1 kHz, logarithmic above.
_LINEAR_HZ: Final = 1_000.0
_HZ_PER_MEL: Final = 200.0 / 3
_LOG_STEP: Final = np.log(6.4) / 27.0

_INPUT: Final = "input_features"


class TurnEndModel(Protocol):
    """Tells from the sound of an utterance whether its speaker is done."""

    @property
    def name(self) -> str: ...
    def probability(self, samples: Samples) -> float:
        """Probability that the speaker is done, from 0 to 1.

        Args:
            samples: The utterance until now, mono float32 at 16 kHz, of which the last eight seconds count.

        Raises:
            RecognitionError: The model failed.
        """
        ...


class SmartTurn:
    """A Smart Turn model, version 3: log-mel of eight seconds in, the probability that the speaker is done out.

    Args:
        path: The .onnx file, such as smart-turn-v3.2-cpu.onnx of pipecat-ai.
        threads: How many cores it may use.

    Raises:
        RecognitionError: There is no such file, it is no ONNX model, or one of another shape; the text says which.
    """

    def __init__(self, path: Path | str, *, threads: int = 1) -> None:
        self._path = Path(path)
        if not self._path.is_file():
            raise RecognitionError(f"there is no turn-end model {self._path}")
        self._session = _session(self._path, threads)
        self._check()

    @property
    def name(self) -> str:
        return self._path.stem

    def probability(self, samples: Samples) -> float:
        try:
            (made, *_) = self._session.run(None, {_INPUT: features(samples)[None]})
        except Exception as error:
            raise RecognitionError(f"the turn-end model {self.name} failed: {error}") from error
        probability = float(np.asarray(made).reshape(-1)[0])
        if not 0 <= probability <= 1:
            raise RecognitionError(
                f"the turn-end model {self.name} gave {probability:g}, which is no probability: it needs its sigmoid"
            )
        return probability

    def _check(self) -> None:
        inputs, outputs = self._session.get_inputs(), self._session.get_outputs()
        told = ", ".join(f"{entry.name} {entry.type} {entry.shape}" for entry in inputs)
        shaped = len(inputs) == 1 and inputs[0].name == _INPUT and inputs[0].type == "tensor(float)"
        if not (shaped and _fits(inputs[0].shape)):
            raise RecognitionError(
                f"{self._path} is no turn-end model of Smart Turn's shape: it takes {told or 'nothing'}, "
                f"not {_INPUT} tensor(float) {list(_SHAPE)}"
            )
        made = np.asarray(self._session.run(None, {_INPUT: np.zeros(_SHAPE, np.float32)})[0])
        if not outputs or made.size != 1:
            raise RecognitionError(
                f"{self._path} is no turn-end model of Smart Turn's shape: it gives {made.shape}, not one probability"
            )


def features(samples: Samples) -> NDArray[np.float32]:
    """Whisper's log-mel spectrogram of the last eight seconds, shape (80, 800).

    What is missing at the front is silence. The sound is first brought to mean 0 and variance 1, over all eight
    seconds, as Smart Turn was trained.
    """
    wanted = _FRAMES * _HOP
    sound = np.zeros(wanted, np.float64)
    heard = np.asarray(samples, np.float64).reshape(-1)[-wanted:]
    sound[wanted - heard.size :] = np.nan_to_num(heard, posinf=0.0, neginf=0.0)
    sound = (sound - sound.mean()) / np.sqrt(sound.var() + _LEAST_VARIANCE)
    padded = np.pad(sound, _WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][:_FRAMES]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)
    spectrum = np.fft.rfft((windows * hann).astype(np.float32), axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    mel = np.log10(np.maximum(_mel_filters() @ power.T, np.float32(_LEAST_POWER)))
    return np.asarray((np.maximum(mel, mel.max() - _RANGE) + 4.0) / 4.0, np.float32)


@lru_cache(maxsize=1)
def _mel_filters() -> NDArray[np.float32]:
    """Slaney's triangular filters of equal area, shape (80, 201)."""
    bins_hz = np.linspace(0, RATE_HZ / 2, _WINDOW // 2 + 1)
    highest = _LINEAR_HZ / _HZ_PER_MEL + np.log(_HIGHEST_HZ / _LINEAR_HZ) / _LOG_STEP
    mels = np.linspace(0, highest, _BANDS + 2)
    knee = _LINEAR_HZ / _HZ_PER_MEL
    edges_hz = np.where(mels < knee, mels * _HZ_PER_MEL, _LINEAR_HZ * np.exp(_LOG_STEP * (mels - knee)))
    widths = np.diff(edges_hz)[:, None]
    ramps = edges_hz[:, None] - bins_hz
    triangles = np.maximum(0, np.minimum(-ramps[:-2] / widths[:-1], ramps[2:] / widths[1:]))
    return np.asarray(triangles * (2 / (edges_hz[2:] - edges_hz[:-2]))[:, None], np.float32)


def _fits(shape: list[Any]) -> bool:
    """True if a shape is (1, 80, 800), where an axis of any size has a name or None."""
    return len(shape) == len(_SHAPE) and all(
        not isinstance(have, int) or have == want for have, want in zip(shape, _SHAPE, strict=True)
    )


def _session(path: Path, threads: int) -> Any:
    try:
        return open_session(path, threads=threads)
    except ImportError as error:
        raise RecognitionError(f"onnxruntime is not installed ({error}): {install('voice')}") from error
    except Exception as error:
        raise RecognitionError(f"{path} is not an ONNX model that can be loaded: {error}") from error
