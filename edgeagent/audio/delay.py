"""Delay of the loudspeaker's sound in the microphone: from the robot's own speech, or from a sweep.

Generalised cross-correlation with phase transform (Knapp and Carter, 1976): only the phases count, so that the sharp
peak of a delay stands out of speech, whose ordinary correlation is broad. Knows nothing of devices or of the canceller;
one thread at a time.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples

EARLIEST_S: Final = -0.25
"""A sound system may think that its latency is longer than it is."""
LATEST_S: Final = 1.5
SEGMENT_S: Final = 0.5
"""Of the microphone, for one look."""
FOUND: Final = 9.0
"""Standard deviations of the correlation by which the peak of a sweep must stand out; noise reaches 5."""
_CLEAR: Final = 20.0
"""The same for a voice, which fits another voice by chance up to 14 in two looks."""
_FAIR: Final = 6.0
_CHANGED: Final = 9.0

_BAND_HZ: Final = (250, 3_800)
"""Band that small loudspeakers play and voices have."""
_KEEP_HZ: Final = 4_000
_FLOOR: Final = 1e-6
"""Of the strongest bin's power: what is weaker than -60 dB is noise of the computation and doesn't count as a phase."""
_WEAK: Final = 1e-3
"""Of the sweep's strongest bin: the room's response is not told from noise where the sweep is 30 dB weaker."""
_SIDE_S: Final = 0.020
"""Around a peak, reverberation belongs to it."""
_SAME_S: Final = 0.003
"""Two looks that differ by less saw the same delay."""
_LOOKS: Final = 3
"""The first and the last of so many share no sound."""
_FADE: Final = 0.85
"""Weight of the sum of the looks so far beside a new one."""
_AUDIBLE: Final = 1e-4
"""RMS, -80 dBFS, under which there is nothing to look for."""
_SHARED_S: Final = 0.25
"""Sound of both ends that a look needs for another delay than the one that is known. Two short sounds, such as the end
of a person's sentence and of the robot's, fit each other by chance up to 35 standard deviations, in look after look;
where they share so much, up to 12."""
_STEP_S: Final = 0.01
_EDGE_S: Final = 0.05
"""Before the longest delay, where the far end begins in the midst of a sound, short ones fit by chance most often."""
_LONG_AGO: Final = 40
"""Looks, 10 s, after which a short sound has no say any more."""

SWEEP_S: Final = 0.6
_SWEEP_HZ: Final = (350.0, 5_000.0)
_SWEEP_AMPLITUDE: Final = 0.1
_SWEEP_FADE_S: Final = 0.06
_RESPONSE_S: Final = 0.35
"""Of the room, as far as it is told from noise."""
_BEFORE_S: Final = 0.005

Signal = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Delay:
    """A delay that was looked for."""

    delay_s: float
    confidence: float
    """Standard deviations by which the peak stands out. Pieces of two voices may fit so well by chance, for a look."""
    sure: bool
    """Looks that share no sound have found the same, or two that share half, or two short sounds, have found it
    clearly."""


@dataclass(frozen=True, slots=True)
class Echo:
    """Finding of a sweep."""

    delay_s: float
    """From the first sample that was played to its arrival in the recording."""
    gain_db: float
    """Echo over what was played, as samples; minus infinity if there is none."""
    confidence: float
    """Standard deviations by which the peak of the correlation stands out."""

    @property
    def found(self) -> bool:
        return self.confidence >= FOUND


class DelayEstimator:
    """Looks at a second of the microphone at a time, and believes what several looks say.

    Args:
        rate_hz: Of both ends.

    Attributes:
        near_samples: Length of the microphone's part of a look.
        before, after: How much more of the far end it takes, in samples.
    """

    def __init__(self, rate_hz: int) -> None:
        self.near_samples = round(SEGMENT_S * rate_hz)
        self.before = round(LATEST_S * rate_hz)
        self.after = round(-EARLIEST_S * rate_hz)
        self._correlation = _Correlation(self.near_samples + self.before + self.after, rate_hz)
        self._rate_hz = rate_hz
        self._step = round(_STEP_S * rate_hz)
        self._sum: Signal | None = None
        self._looks: deque[tuple[float, float, Signal]] = deque(maxlen=_LOOKS)
        self._known_s: float | None = None
        self._confidence = 0.0
        """Of what the looks have found together."""
        self._count = 0
        self._brief: tuple[int, float] | None = None
        """Number and delay of a look at short sounds that found another delay than the one that is known."""

    def forget(self) -> None:
        """The delay may be another from now on."""
        self._sum = self._known_s = self._brief = None
        self._confidence = 0.0
        self._looks.clear()

    def look(self, near: Samples, far: Samples) -> Delay | None:
        """One more look, a quarter of a second after the one before.

        Args:
            near: ``near_samples`` of the microphone.
            far: Of the loudspeaker, from ``before`` samples before the first of ``near`` to ``after`` samples after
                its last.

        Returns:
            What all looks say together; None if there was nothing to hear, or too little for another delay.
        """
        self._count += 1
        if min(_mean_square(far), _mean_square(near)) < _AUDIBLE**2:
            return None  # what was seen before the pause holds on
        made = self._correlation.of(near, far, self.before + self.after)
        now_s, clear = self._found(made)
        if self._known_s is not None and not _same(now_s, self._known_s):
            begin = max(self.before - round(now_s * self._rate_hz), 0)
            if self._shared_s(near, far[begin:]) < _SHARED_S:
                if not self._again(now_s, clear):
                    return None
                self._known_s, self._sum = now_s, made
                self._looks.clear()
                return Delay(now_s, clear, sure=True)
        self._looks.append((now_s, clear, made))
        self._sum = made if self._sum is None else _FADE * self._sum + made
        best_s, confidence = self._found(self._sum)
        if not _same(now_s, best_s) and self._agree(2, now_s, _CHANGED):
            self._sum = _FADE * self._looks[-2][2] + made  # without what it remembers of the delay before
            best_s, confidence = self._found(self._sum)
        self._confidence = confidence
        sure = self._agree(2, best_s, _CLEAR) or self._agree(_LOOKS, best_s, _FAIR)
        if sure:
            self._known_s = best_s
        return Delay(best_s, confidence, sure)

    def fit(self, near: Samples, far: Samples) -> float:
        """Standard deviations by which the microphone fits the loudspeaker, at whatever delay: by one look that is not
        remembered, or by those that are.

        Args:
            near, far: As for ``look``.
        """
        return max(self._found(self._correlation.of(near, far, self.before + self.after))[1], self._confidence)

    def _again(self, delay_s: float, clear: float) -> bool:
        """True if another short sound, not long before, has clearly told of the same delay."""
        if clear < _CLEAR or delay_s > LATEST_S - _EDGE_S:
            return False
        number, before_s = self._brief or (-_LONG_AGO, 0.0)
        since = self._count - number
        if since >= _LONG_AGO or not _same(delay_s, before_s):
            self._brief = (self._count, delay_s)
            return False
        return since >= _LOOKS

    def _shared_s(self, near: Samples, far: Samples) -> float:
        """Seconds in which both are heard, from the first sample of both on."""
        count = min(len(near), len(far)) // self._step
        levels = np.square([near[: count * self._step], far[: count * self._step]]).reshape(2, count, -1).mean(axis=2)
        return float(np.count_nonzero((levels > _AUDIBLE**2).all(axis=0))) * _STEP_S

    def _found(self, correlation: Signal) -> tuple[float, float]:
        at, confidence = self._correlation.peak(correlation)
        return (self.before - at) / self._rate_hz, confidence

    def _agree(self, count: int, delay_s: float, least: float) -> bool:
        """True if each of the last looks has found that delay, with that confidence."""
        looks = list(self._looks)[-count:]
        return len(looks) == count and all(_same(found, delay_s) and clear >= least for found, clear, _ in looks)


def _same(one_s: float, other_s: float) -> bool:
    return abs(one_s - other_s) <= _SAME_S


class _Correlation:
    """Of two signals that are together at most so long, in the band where there is speech."""

    def __init__(self, samples: int, rate_hz: int) -> None:
        self._size, self._keep = _sizes(samples, rate_hz)
        self._step = self._size / (2 * self._keep)
        self._side = math.ceil(_SIDE_S * rate_hz / self._step)
        bins = np.arange(self._keep + 1) * rate_hz / self._size
        self._band = (bins >= _BAND_HZ[0]) & (bins <= _BAND_HZ[1])

    def of(self, later: Samples, earlier: Samples, lags: int) -> Signal:
        """Computes how well ``later[i]`` fits ``earlier[i + lag]``, for lags from 0 on, in steps of a few samples."""
        cross = np.conj(self._spectrum(later)) * self._spectrum(earlier)
        size = np.abs(cross)
        cross /= np.maximum(size, size.max(initial=0.0) * _FLOOR + np.finfo(np.float64).tiny)
        made = np.fft.irfft(cross, 2 * self._keep)
        return np.asarray(made[: math.floor(lags / self._step) + 1])

    def peak(self, correlation: Signal) -> tuple[float, float]:
        """Lag of the highest point, in samples, and by how many standard deviations of the rest it stands out.

        Negative ones count, as from a loudspeaker whose wires are exchanged.
        """
        heights = np.abs(correlation)
        at = int(np.argmax(heights))
        rest = np.concatenate((correlation[: max(at - self._side, 0)], correlation[at + self._side + 1 :]))
        noise = math.sqrt(_mean_square(rest)) if len(rest) else 0.0
        confidence = float(heights[at]) / noise if noise > 0 else 0.0
        return (at + _vertex(heights, at)) * self._step, confidence

    def _spectrum(self, samples: Samples) -> Any:
        spectrum = np.fft.rfft(samples.astype(np.float64), self._size)[: self._keep + 1]
        return spectrum * self._band


def sweep(rate_hz: int) -> Samples:
    """A short rising tone, by which a person hears that it is measured.

    Its frequency grows exponentially (Farina, 2000), so that each octave has the same time.

    Returns:
        0.6 s at -23 dBFS with soft ends.
    """
    low, high = _SWEEP_HZ[0], min(_SWEEP_HZ[1], 0.4 * rate_hz)
    at_s = np.arange(round(SWEEP_S * rate_hz)) / rate_hz
    growth = math.log(high / low) / SWEEP_S
    made = _SWEEP_AMPLITUDE * np.sin(2 * math.pi * low / growth * np.expm1(growth * at_s))
    ramp = np.sin(np.linspace(0, math.pi / 2, round(_SWEEP_FADE_S * rate_hz))) ** 2
    made[: len(ramp)] *= ramp
    made[-len(ramp) :] *= ramp[::-1]
    return made.astype(np.float32)


def measure(recording: Samples, played: Samples, rate_hz: int) -> Echo:
    """Finds in a recording what was played.

    Args:
        recording: Of the microphone, from the time on at which the first sample was to leave the loudspeaker; as long
            as what was played and the longest delay.
        played: Such as ``sweep``.
        rate_hz: Of both.
    """
    nothing = Echo(0.0, -math.inf, 0.0)
    lags = len(recording) - len(played)
    if lags <= 0 or not np.any(recording) or not np.any(played):
        return nothing
    correlation = _Correlation(len(recording) + len(played), rate_hz)
    lag, confidence = correlation.peak(correlation.of(played, recording, lags))
    return Echo(lag / rate_hz, _gain_db(recording, played, lag, rate_hz), confidence)


def _gain_db(recording: Samples, played: Samples, lag: float, rate_hz: int) -> float:
    """Level of the echo over what was played: of that part of the recording which a room's response explains."""
    size = len(recording) + len(played)
    spectrum = np.fft.rfft(played.astype(np.float64), size)
    power = np.square(np.abs(spectrum))
    divided = np.fft.rfft(recording.astype(np.float64), size) * np.conj(spectrum) / (power + power.max() * _WEAK)
    response = np.fft.irfft(divided, size)
    first = max(round(lag - _BEFORE_S * rate_hz), 0)
    count = round(_RESPONSE_S * rate_hz)
    energy = _energy(response, first, count, spectrum) - _energy(response, first + count, count, spectrum)  # of noise
    whole = float(np.sum(np.square(played, dtype=np.float64)))
    return 10 * math.log10(energy / whole) if energy > 0 else -math.inf


def _energy(response: Signal, first: int, count: int, spectrum: Any) -> float:
    """Of what so much of a response makes of a signal."""
    part = np.zeros(len(response))
    part[:count] = np.take(response, np.arange(first, first + count), mode="wrap")
    return float(np.sum(np.square(np.fft.irfft(np.fft.rfft(part) * spectrum, len(response)))))


def _vertex(heights: Signal, at: int) -> float:
    """Returns the top of the parabola through the highest point and its neighbours."""
    if not 0 < at < len(heights) - 1:
        return 0.0
    left, top, right = heights[at - 1 : at + 2]
    curve = left - 2 * top + right
    return float(0.5 * (left - right) / curve) if curve < 0 else 0.0


def _sizes(samples: int, rate_hz: int) -> tuple[int, int]:
    """A length for the transform without large factors, and how many of its bins hold up to 4 kHz."""
    keep_hz = min(_KEEP_HZ, rate_hz // 2)
    unit = rate_hz // math.gcd(rate_hz, 2 * keep_hz) * 2  # so that the band is a whole number of bins
    best = size = 1 << math.ceil(math.log2(samples / unit)) if samples > unit else 1
    for threes in (1, 3, 9, 5, 15, 45, 25, 75):
        size = threes
        while size * unit < samples:
            size *= 2
        best = min(best, size)
    return best * unit, best * unit * keep_hz // rate_hz


def _mean_square(samples: NDArray[Any]) -> float:
    return float(np.mean(np.square(samples, dtype=np.float64)))
