"""Ratio of voice to noise in an utterance. Pure functions, any thread."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.stt.transcriber import RATE_HZ

_FRAME: Final = RATE_HZ // 50
_PRE_EMPHASIS: Final = 0.97
"""Rumble under the voice disturbs nobody."""
_SHARE: Final = 0.2
"""Share of the frames that are certainly speech, the loudest; and of those that certainly are not: there is sound from
before and after it."""
_LEAST: Final = 1e-12


def snr_db(samples: Samples) -> float:
    """The loudest fifth of an utterance over its quietest, in dB; infinite where there is too little to tell.

    After the noise suppression a person in a quiet room has about 50.
    """
    sound = np.nan_to_num(samples, nan=0.0, posinf=1.0, neginf=-1.0).astype(np.float64)
    sound[1:] -= _PRE_EMPHASIS * sound[:-1]
    count = len(sound) // _FRAME
    share = round(count * _SHARE)
    if not share:
        return math.inf
    powers = np.sort(np.square(sound[: count * _FRAME]).reshape(count, _FRAME).mean(axis=1))
    return 10 * math.log10((powers[-share:].mean() + _LEAST) / (powers[:share].mean() + _LEAST))
