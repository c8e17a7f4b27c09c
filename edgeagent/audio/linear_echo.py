"""Takes an echo away and nothing else: what is left has all of a person's speech in it, and a little of the echo.

A partitioned frequency-domain Kalman filter (Enzner and Vary, 2006; Kuech, Mabande and Enzner, 2014): it knows how
uncertain each of its coefficients is, so that a person who speaks at the same time does not lead it astray. Unlike
AEC3 it suppresses nothing, and so leaves the consonants to a recogniser. One thread at a time.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples
from edgeagent.audio.early_echo import FRAME_S
from edgeagent.audio.residual_gate import EDGES_HZ, Bands

LENGTH_S: Final = 0.240
"""Of the room's response. With half of it, an echo in a room of RT60 0.6 s is 5 dB louder after it."""
EARLY_S: Final = 0.010
"""Seconds of the response that are kept before the first sound of the echo."""
_LATE_S: Final = 0.045
"""If the far end comes earlier before its echo, it is held back; its filter begins anew then."""
_FORGETTING: Final = 0.9995**2
"""Share of the response that is the same after a frame."""
_UNCERTAIN: Final = 1.0
"""Variance of the response at first: about that of an echo as loud as its source."""
_SMOOTHING: Final = 0.1
"""By which a frame changes what is known of the power of the rest."""
_LEAST_POWER: Final = 1e-7
_SILENT: Final = 1e-6
"""Power of a frame of the far end, -60 dBFS, that no microphone hears."""
_WATCHED: Final = 0.03
"""By which a frame changes what the filter is judged by: a time constant of 0.3 s."""
_WORSE: Final = 2.0
"""Power of what is left beside the microphone's, from which on the filter is wrong and begins anew."""


_DECAY_DB_S: Final = 60.0
"""Of the echo after its end: a room of RT60 1 s."""
_QUIET: Final = 1e-8
"""Power of a band of the echo under which there is nothing to compare with: -80 dBFS."""
_SMOOTH: Final = 0.6
_UP_DB, _DOWN_DB = 0.3, 0.1
"""Steps of what is expected to be left: where they balance, three frames of four have less."""
_AT_FIRST_DB: Final = -10.0
_LEAST_DB: Final = -40.0
_NOISE_RISE: Final = 1.005
"""By which the softest that is left may rise in a frame: 2 dB a second."""
_OVER_NOISE: Final = 10**1.5
"""Power of a person over the softest: noise alone reaches a third of it."""
_OVER_NOISE_TOLD: Final = 4.0
"""The same from which on more is expected to be left."""
_PROOF: Final = 200
"""Frames with an echo before that is believed."""
_PERSON_DB: Final = 10.0
"""Over what is expected. Of the frames of the robot alone one in a hundred is."""

Spectra = NDArray[np.complex64]
Powers = NDArray[np.float64]


class LinearCanceller:
    """Frame by frame, of 10 ms.

    Args:
        rate_hz: Of both signals.
    """

    def __init__(self, rate_hz: int) -> None:
        self._frame = round(rate_hz * FRAME_S)
        self._parts = round(LENGTH_S / FRAME_S)
        self._past: deque[Samples] = deque(maxlen=round(1 / FRAME_S))
        self._held = 0
        self.reset()

    def reset(self) -> None:
        """The echo comes another way from now on, or at another time."""
        shape = (self._parts, self._frame + 1)
        self._two: Samples = np.zeros(2 * self._frame, np.float32)
        self._far: Spectra = np.zeros(shape, np.complex64)
        self._sounding = 0
        self._begin_again()

    @property
    def sounding(self) -> bool:
        """True if there may be an echo."""
        return self._sounding > 0

    def process(self, near: Samples, far: Samples, lead_s: float) -> Samples:
        """The next frame of the microphone without its echo, and without delay.

        Args:
            near: The microphone.
            far: What the loudspeaker played ``lead_s`` before.
            lead_s: How long before its echo the far end comes.
        """
        self._hold_back(lead_s)
        self._past.appendleft(far)
        far = self._past[self._held] if self._held < len(self._past) else np.zeros_like(far)
        self._sounding = self._parts if float(np.dot(far, far)) > _SILENT * len(far) else max(self._sounding - 1, 0)
        self._two[: self._frame] = self._two[self._frame :]
        self._two[self._frame :] = far
        if not self._sounding:
            return near
        self._far[1:] = self._far[:-1]
        self._far[0] = np.fft.rfft(self._two)
        echo = np.fft.irfft(np.einsum("pk,pk->k", self._response, self._far))[self._frame :]
        left: Samples = (near - echo).astype(np.float32)
        self._learn(left)
        return near if self._is_wrong(near, left) else left

    def _hold_back(self, lead_s: float) -> None:
        held_s = self._held * FRAME_S
        if not held_s <= lead_s <= held_s + _LATE_S:
            held = max(int((lead_s - EARLY_S) / FRAME_S), 0)
            if held != self._held:
                self._held = held
                self.reset()

    def _begin_again(self) -> None:
        shape = self._far.shape
        self._response: Spectra = np.zeros(shape, np.complex64)
        self._variance: Samples = np.full(shape, _UNCERTAIN, np.float32)
        self._rest: Samples = np.full(shape[1], 1e-6, np.float32)
        self._before = self._after = 0.0

    def _learn(self, left: Samples) -> None:
        padded = np.zeros(2 * self._frame, np.float32)
        padded[self._frame :] = left
        rest = np.fft.rfft(padded)
        self._rest += np.float32(_SMOOTHING) * (np.square(rest.real) + np.square(rest.imag) - self._rest)
        power = np.square(self._far.real) + np.square(self._far.imag)
        uncertain = self._variance * power
        step = self._variance / (0.5 * uncertain.sum(axis=0) + np.maximum(self._rest, np.float32(_LEAST_POWER)))
        change = np.fft.irfft(step * np.conj(self._far) * rest, axis=1)[:, : self._frame]
        self._response += np.fft.rfft(change, 2 * self._frame, axis=1)
        size = np.square(self._response.real) + np.square(self._response.imag)
        kept = np.float32(_FORGETTING)
        self._variance = kept * (1 - np.float32(0.5) * step * power) * self._variance + (1 - kept) * size

    def _is_wrong(self, near: Samples, left: Samples) -> bool:
        """True if the microphone alone is better, as after a jump of the delay."""
        self._before += _WATCHED * (float(np.dot(near, near)) - self._before)
        self._after += _WATCHED * (float(np.dot(left, left)) - self._after)
        if self._after > _WORSE * self._before + _SILENT:
            self._begin_again()
            return True
        return False


class Remainder:
    """Rest that the linear canceller leaves while only the robot speaks, beside the echo, and whether there is more."""

    def __init__(self, rate_hz: int) -> None:
        self._bands = Bands(rate_hz, round(rate_hz * FRAME_S), signals=2)
        self._decay = 10 ** (-_DECAY_DB_S * FRAME_S / 10)
        self._left = self._echo = np.zeros(len(EDGES_HZ) - 1)
        self._noise: Powers | None = None
        self.forget()

    def forget(self) -> None:
        """The canceller begins anew."""
        self._expected_db = np.full(len(EDGES_HZ) - 1, _AT_FIRST_DB)
        self._seen = 0

    def has_more(self, left: Samples, echo: Samples) -> bool:
        """True if a frame of what is left has more in it than the echo explains; learns from it."""
        powers = self._bands.of(left, echo)
        self._left = self._left + _SMOOTH * (powers[0] - self._left)
        self._echo = np.maximum(self._echo * self._decay, powers[1])
        known = self._echo > _QUIET
        self._noise = self._left if self._noise is None else np.minimum(self._noise * _NOISE_RISE, self._left)
        over_db = 10 * np.log10((self._left + _QUIET) / (self._echo + _QUIET)) - self._expected_db
        more = self._left > _OVER_NOISE_TOLD * self._noise  # noise does not tell how much is left
        step_db = np.where(known, np.where(over_db > 0, np.where(more, _UP_DB, 0.0), -_DOWN_DB), 0.0)
        self._expected_db = np.clip(self._expected_db + step_db, _LEAST_DB, 0.0)
        self._seen += bool(np.any(known))
        more = known & (over_db > _PERSON_DB) & (self._left > _OVER_NOISE * self._noise)
        return self._seen > _PROOF and bool(np.any(more))


class Unsuppressed:
    """Sound for a recogniser: the linear canceller's output while the robot speaks, and AEC3's when it is silent.

    Attributes:
        person: Whether the last frame had more in it than the robot's own voice explains.

    Args:
        rate_hz: Of all signals.
        delay_s: Of AEC3's output, so that both have everything at the same time.
    """

    def __init__(self, rate_hz: int, delay_s: float) -> None:
        self.person = False
        self._linear = LinearCanceller(rate_hz)
        self._remainder = Remainder(rate_hz)
        self._delay = round(delay_s * rate_hz)
        self._waiting: Samples = np.zeros(self._delay, np.float32)
        frame = round(rate_hz * FRAME_S)
        self._rise: Samples = (np.arange(1, frame + 1) / frame).astype(np.float32)
        self._share = 0.0

    def reset(self) -> None:
        """The echo comes another way from now on, or at another time."""
        self._linear.reset()
        self._remainder.forget()

    def process(self, near: Samples, far: Samples, clean: Samples, *, lead_s: float, wanted: bool) -> Samples:
        """The next frame.

        Args:
            near: The microphone.
            far: What the loudspeaker played ``lead_s`` before.
            clean: What AEC3 and its gate have made of the microphone.
            lead_s: How long before its echo the far end comes.
            wanted: Whether the robot speaks, and nobody seeks its echo any more.
        """
        left = self._linear.process(near, far, lead_s)
        self.person = self._linear.sounding and self._remainder.has_more(left, near - left)
        sound = np.concatenate((self._waiting, left))
        self._waiting = sound[len(near) :]
        before, self._share = self._share, float(wanted)
        if before == self._share:
            return sound[: len(near)] if wanted else clean
        share = before + (self._share - before) * self._rise
        mixed: Samples = clean + share * (sound[: len(near)] - clean)
        return mixed
