"""Whisper's encoder, with what is learnt added to its weights, and its decoder as it is, which judges that.

Names of arrays are those of CTranslate2, as ``edgeagent.stt.read_weights`` returns them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

Weights = Mapping[str, np.ndarray[Any, Any]]
RANK: Final = 32
"""Of what is added to a matrix: a product of two narrow ones (LoRA, Hu et al. 2021)."""
_HEADS: Final = 6
"""Of tiny and tiny.en."""
_FFT, _HOP, _MELS = 400, 160, 80
_RATE_HZ: Final = 16_000
_LINEAR_HZ, _LINEAR_MELS, _OCTAVE = 200 / 3, 15.0, np.log(6.4) / 27
"""Slaney's mel scale: linear up to 1 kHz, which is mel 15, logarithmic above."""


def _filters() -> Tensor:
    """Mel filters of Whisper's features, Slaney's. Shape (mels, bins)."""
    most = _LINEAR_MELS + np.log(_RATE_HZ / 2 / 1_000) / _OCTAVE
    mels = np.linspace(0, most, _MELS + 2)
    edges_hz = np.where(mels < _LINEAR_MELS, _LINEAR_HZ * mels, 1_000 * np.exp(_OCTAVE * (mels - _LINEAR_MELS)))
    slopes = edges_hz[:, None] - np.fft.rfftfreq(_FFT, 1 / _RATE_HZ)
    width = np.diff(edges_hz)[:, None]
    made = np.maximum(0, np.minimum(-slopes[:-2] / width[:-1], slopes[2:] / width[1:]))
    return torch.from_numpy((made * 2 / (edges_hz[2:] - edges_hz[:-2])[:, None]).astype(np.float32))


FILTERS: Final = _filters()
_WINDOW: Final = torch.hann_window(_FFT)


def features(sounds: Tensor) -> Tensor:
    """Log-mel frames of sounds at 16 kHz, as faster-whisper makes them. Shape (batch, mels, frames of 10 ms)."""
    spectrum = torch.stft(sounds, _FFT, _HOP, window=_WINDOW, return_complex=True)[..., :-1].abs() ** 2
    log = torch.clamp(FILTERS @ spectrum, min=1e-10).log10()
    return (torch.maximum(log, log.amax((1, 2), keepdim=True) - 8.0) + 4.0) / 4.0


class _Half(nn.Module):
    """What encoder and decoder share: the model's arrays, and the layers of a transformer."""

    def __init__(self, weights: Weights, half: str) -> None:
        super().__init__()
        self._half = half
        self._keys = {
            name: name.replace("/", "_")
            for name, array in weights.items()
            if name.startswith(f"{half}/") and array.dtype.kind == "f" and array.ndim
        }
        for name, key in self._keys.items():
            self.register_buffer(key, torch.from_numpy(weights[name].astype(np.float32)))
        layers = {name.split("/")[1] for name in self._keys if "/layer_" in name}
        self._layers = sorted(layer for layer in layers if layer.removeprefix("layer_").isdecimal())

    def _array(self, name: str) -> Tensor:
        found: Tensor = getattr(self, self._keys[f"{self._half}/{name}"])
        return found

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return functional.linear(x, self._array(f"{name}/weight"), self._array(f"{name}/bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        return functional.layer_norm(x, x.shape[-1:], self._array(f"{name}/gamma"), self._array(f"{name}/beta"))

    def _attention(self, layer: str, x: Tensor, *, causal: bool) -> Tensor:
        parts = self._linear(f"{layer}/self_attention/linear_0", self._norm(f"{layer}/self_attention/layer_norm", x))
        return x + self._linear(f"{layer}/self_attention/linear_1", _attended(*parts.chunk(3, dim=2), causal=causal))

    def _inner(self, layer: str, x: Tensor) -> Tensor:
        wide = self._linear(f"{layer}/ffn/linear_0", self._norm(f"{layer}/ffn/layer_norm", x))
        return x + self._linear(f"{layer}/ffn/linear_1", functional.gelu(wide))


class Encoder(_Half):
    """Encoder whose own weights stay as they are.

    Attributes:
        adapted: False: it hears as it did before anything was learnt.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, "encoder")
        self.adapted = True
        self.learnt = nn.ParameterDict()
        """By the array's key and ":a" and ":b" of a product that is added to a matrix, or ":d" of what is added."""
        for name, key in self._keys.items():
            array: Tensor = getattr(self, key)
            if array.dim() == 2 and not name.endswith("encodings"):
                rows, columns = array.shape
                self.learnt[f"{key}:a"] = nn.Parameter(torch.randn(RANK, columns) / columns**0.5)
                self.learnt[f"{key}:b"] = nn.Parameter(torch.zeros(rows, RANK))
            elif array.dim() != 2:
                self.learnt[f"{key}:d"] = nn.Parameter(torch.zeros_like(array))

    def forward(self, mels: Tensor) -> Tensor:
        """Shape (batch, frames / 2, width) for features of shape (batch, mels, frames)."""
        x = functional.gelu(functional.conv1d(mels, self._array("conv1/weight"), self._array("conv1/bias"), padding=1))
        made = functional.conv1d(x, self._array("conv2/weight"), self._array("conv2/bias"), stride=2, padding=1)
        x = functional.gelu(made).transpose(1, 2)
        x = x + self._array("position_encodings/encodings")[: x.shape[1]]
        for layer in self._layers:
            x = self._inner(layer, self._attention(layer, x, causal=False))
        return self._norm("layer_norm", x)

    def groups(self) -> list[dict[str, Any]]:
        """Groups of parameters for an optimiser, with their "share" of the learning rate: a whole array is moved by
        less than the factors of a product, and a convolution, on which all else stands, by least."""

        def share(key: str) -> float:
            return 1.0 if key[-1] in "ab" else 0.03 if "conv" in key else 0.1

        shares = sorted({share(key) for key in self.learnt})
        return [{"params": [p for k, p in self.learnt.items() if share(k) == each], "share": each} for each in shares]

    def arrays(self, share: float) -> dict[str, np.ndarray[Any, Any]]:
        """Returns a share of what was learnt, for ``edgeagent.stt.add_learnt``."""
        names = {key: name for name, key in self._keys.items()}
        return {
            f"{names[key[:-2]]}{key[-2:]}": ((1.0 if key.endswith(":a") else share) * value.detach())
            .numpy()
            .astype(np.float16)
            for key, value in self.learnt.items()
        }

    def load(self, arrays: Weights) -> None:
        """Goes on from what was learnt before."""
        with torch.no_grad():
            for name, array in arrays.items():
                if name[-2:-1] == ":":
                    self.learnt[f"{self._keys[name[:-2]]}{name[-2:]}"].copy_(torch.from_numpy(array.astype(np.float32)))

    def _array(self, name: str) -> Tensor:
        found, key = super()._array(name), f"{self._keys[f'encoder/{name}']}:d"
        return found + self.learnt[key] if self.adapted and key in self.learnt else found

    def _linear(self, name: str, x: Tensor) -> Tensor:
        made, key = super()._linear(name, x), self._keys[f"encoder/{name}/weight"]
        if not self.adapted:
            return made
        return made + functional.linear(functional.linear(x, self.learnt[f"{key}:a"]), self.learnt[f"{key}:b"])


class Decoder(_Half):
    """Decoder, of which nothing is trained."""

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights, "decoder")

    def read(self, encoded: Tensor) -> Tensor:
        """Keys and values that its layers make of the encoder's output, all that it knows of the sound. Shape (batch,
        frames / 2, 2 * width * layers)."""
        return torch.cat([self._linear(f"{layer}/attention/linear_1", encoded) for layer in self._layers], dim=2)

    def forward(self, tokens: Tensor, read: Tensor) -> Tensor:
        """Logarithms of the probabilities of what follows each token. Shape (batch, tokens, vocabulary)."""
        embeddings = self._array("embeddings/weight")
        x = functional.embedding(tokens, embeddings)
        x = x + self._array("position_encodings/encodings")[: tokens.shape[1]]
        for layer, known in zip(self._layers, read.chunk(len(self._layers), dim=2), strict=True):
            x = self._attention(layer, x, causal=True)
            asked = self._linear(f"{layer}/attention/linear_0", self._norm(f"{layer}/attention/layer_norm", x))
            seen = _attended(asked, *known.chunk(2, dim=2), causal=False)
            x = self._inner(layer, x + self._linear(f"{layer}/attention/linear_2", seen))
        logits = functional.linear(self._norm("layer_norm", x), embeddings)
        return logits.float().log_softmax(2)


def _attended(queries: Tensor, keys: Tensor, values: Tensor, *, causal: bool) -> Tensor:
    q, k, v = (part.unflatten(2, (_HEADS, -1)).transpose(1, 2) for part in (queries, keys, values))
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)
