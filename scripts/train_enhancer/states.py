"""PocketSphinx's acoustic model as a function that can be differentiated: what its phones make of some cepstra.

A phonetically tied model, as the one that comes with PocketSphinx: a codebook of 128 densities for each of 42 phones
and each of three streams (cepstra, their differences, the differences of those). Only the three states of each phone
without its neighbours are read. The files are those of Sphinx 3 (means, variances) and PocketSphinx (sendump).
"""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor, nn

PHONES: Final = 42
STATES: Final = 3 * PHONES
STREAMS: Final = 3
DENSITIES: Final = 128
COUNT: Final = 13
CONTEXT: Final = 3
"""Frames before and after one that its differences are taken of."""

_MAGIC: Final = 0x11223344
_LOG_BASE: Final = 1.0001
_SHIFT: Final = 10
_LEAST: Final = 1e-4


class States(nn.Module):
    """Log likelihoods of the 126 states.

    Args:
        acoustic: Folder of the acoustic model.
    """

    def __init__(self, acoustic: Path) -> None:
        super().__init__()
        shape = (PHONES, STREAMS, DENSITIES, COUNT)
        means = torch.tensor(_densities(acoustic / "means").reshape(shape))
        variances = torch.tensor(_densities(acoustic / "variances").reshape(shape)).clamp(min=_LEAST)
        self._square = 0.5 / variances
        self._linear = means / variances
        self._constant = -(means**2 / variances).sum(-1) / 2 - torch.log(2 * math.pi * variances).sum(-1) / 2
        self._weights = torch.exp(torch.tensor(_log_weights(acoustic / "sendump")))

    def forward(self, features: Tensor) -> Tensor:
        """Of (frames, 39). Shape (frames, 126)."""
        total = torch.zeros(len(features), STATES)
        for stream in range(STREAMS):
            given = features[:, COUNT * stream : COUNT * (stream + 1)]
            linear = given @ self._linear[:, stream].reshape(-1, COUNT).T
            square = given**2 @ self._square[:, stream].reshape(-1, COUNT).T
            each = (linear - square).view(-1, PHONES, DENSITIES) + self._constant[:, stream]
            best = each.max(-1, keepdim=True)[0].detach()
            mixed = torch.einsum("fpd,psd->fps", torch.exp(each - best), self._weights[stream])
            total = total + (torch.log(mixed + 1e-20) + best).reshape(-1, STATES)
        return total


def with_differences(cepstra: Tensor) -> Tensor:
    """Shape (batch, frames - 6, 39), of (batch, frames, 13): feature type 1s_c_d_dd."""
    end = cepstra.shape[1] - CONTEXT

    def at(frames: int) -> Tensor:
        return cepstra[:, CONTEXT + frames : end + frames]

    return torch.cat((at(0), at(2) - at(-2), (at(3) - at(-1)) - (at(1) - at(-3))), -1)


def _densities(path: Path) -> Any:
    """Shape (42 * 3 * 128 * 13,)."""
    data = path.read_bytes()
    at = data.index(b"endhdr\n") + len(b"endhdr\n")
    magic, phones, streams, densities, *lengths, count = struct.unpack_from("<I3i3ii", data, at)
    if (magic, phones, streams, densities, *lengths) != (_MAGIC, PHONES, STREAMS, DENSITIES, *[COUNT] * STREAMS):
        raise SystemExit(f"{path} is not of a phonetically tied model of {PHONES} phones")
    return np.frombuffer(data, "<f4", count, at + struct.calcsize("<I3i3ii")).copy()


def _log_weights(path: Path) -> Any:
    """Shape (streams, phones, states of a phone, densities)."""
    data, at = path.read_bytes(), 0
    while (length := struct.unpack_from("<i", data, at)[0]) != 0:  # strings that describe it
        at += 4 + length
    densities, states = struct.unpack_from("<2i", data, at + 4)
    if densities != DENSITIES or len(data) - at - 12 != STREAMS * densities * states:
        raise SystemExit(f"{path} is not of a phonetically tied model, or its weights are clustered")
    bytes_ = np.frombuffer(data, np.uint8, STREAMS * densities * states, at + 12).reshape(STREAMS, densities, states)
    logs = -bytes_[:, :, :STATES].astype(np.float32) * (1 << _SHIFT) * math.log(_LOG_BASE)
    return logs.transpose(0, 2, 1).reshape(STREAMS, PHONES, 3, densities).copy()
