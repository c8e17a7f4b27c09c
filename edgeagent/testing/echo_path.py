"""The way of sound from the robot's loudspeaker to its microphone: delay, convolution, echo.

Loudspeaker samples, band-pass, soft clipping, delay and the other clock, the room: in this order. One thread at a time,
except where it says otherwise.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from edgeagent.testing.acoustics import Reverberation, Signal, band_pass, convolved, from_db, speech_level
from edgeagent.testing.people import speechlike
from edgeagent.testing.room_settings import RoomSettings


class Convolver:
    """A stream through a response.

    Args:
        response: Shape (taps,). A later one may be shorter, not longer.
        block: Samples that are processed at a time.
    """

    def __init__(self, response: Signal, block: int) -> None:
        self._block = block
        self._parts = -(-len(response) // block)
        self._response = self._spectra(response)
        self._next: NDArray[Any] | None = None
        self._faded = self._fade = 0
        # Written twice, so that the spectra of the last blocks, newest first, are always one slice.
        self._past = np.zeros((2 * self._parts, block + 1), np.complex128)
        self._newest = 0
        self._window = np.zeros(2 * block)

    @property
    def changing(self) -> bool:
        """True if a cross-fade is under way."""
        return self._next is not None

    def change(self, response: Signal, over: int) -> None:
        """Cross-fades to another response within that many blocks; one that is under way is ended at once."""
        if self._next is not None:
            self._response = self._next
        self._next = self._spectra(response)
        self._faded, self._fade = 0, max(over, 1)

    def process(self, samples: Signal) -> Signal:
        """The next block of the stream, convolved. Shape (block,) to (block,)."""
        block = self._block
        self._window[:block] = self._window[block:]
        self._window[block:] = samples
        self._newest = (self._newest - 1) % self._parts
        self._past[self._newest] = self._past[self._newest + self._parts] = np.fft.rfft(self._window)
        made = self._through(self._response)
        if self._next is None:
            return made
        rising = (self._faded * block + np.arange(1, block + 1)) / (self._fade * block)
        made += (self._through(self._next) - made) * rising
        self._faded += 1
        if self._faded == self._fade:
            self._response, self._next = self._next, None
        return made

    def _through(self, response: NDArray[Any]) -> Signal:
        past = self._past[self._newest : self._newest + self._parts]
        return np.fft.irfft(np.einsum("pf,pf->f", past, response))[self._block :]

    def _spectra(self, response: Signal) -> NDArray[Any]:
        """The parts' spectra. Shape (parts, block + 1)."""
        padded = np.zeros(self._parts * self._block)
        padded[: len(response)] = response
        return np.fft.rfft(padded.reshape(self._parts, self._block), 2 * self._block, axis=1)


REACH: Final = 16
"""Samples on each side of a position that it is interpolated from."""
_PHASES: Final = 512
_BETA: Final = 9.0
"""Of the Kaiser window: images 90 dB down."""


def _table() -> Signal:
    """Weights of the samples around a position, for each fraction of a sample. Shape (phases + 1, 2 * reach)."""
    fractions = np.arange(_PHASES + 1)[:, None] / _PHASES
    away = np.arange(1 - REACH, REACH + 1)[None, :] - fractions
    window = np.i0(_BETA * np.sqrt(np.clip(1 - (away / REACH) ** 2, 0, None))) / np.i0(_BETA)
    weights = np.sinc(away) * window
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class DelayLine:
    """Samples by their position, from 0; before that there was silence."""

    def __init__(self) -> None:
        self._samples: Signal = np.zeros(0)
        self._begin = 0
        self._needed = -math.inf
        self._weights = _table()

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self._begin + len(self._samples)

    def append(self, samples: Signal) -> None:
        """Adds the next samples; drops those that were passed by all reading."""
        passed = 0
        if self._needed > self._begin:
            passed = min(math.floor(self._needed) - self._begin, len(self._samples))
        self._begin += passed
        self._samples = np.concatenate((self._samples[passed:], samples))

    def read(self, position: float, step: float, count: int) -> Signal:
        """``count`` samples, the first at ``position``, each ``step`` further. A later call begins no earlier.

        Up to 16 samples beyond the last one must have been appended.
        """
        first = math.floor(position) - REACH + 1
        last = math.floor(position + step * (count - 1)) + REACH
        self._needed = first
        near = self._span(first, last + 1)
        if step == 1.0 and position.is_integer():
            return near[REACH - 1 : REACH - 1 + count].copy()
        positions = position - first + step * np.arange(count)
        whole = np.floor(positions).astype(np.intp)
        phases = (positions - whole) * _PHASES
        row = phases.astype(np.intp)
        weights = self._weights[row]
        weights += (self._weights[row + 1] - weights) * (phases - row)[:, None]
        return np.asarray(np.einsum("ij,ij->i", sliding_window_view(near, 2 * REACH)[whole - REACH + 1], weights))

    def _span(self, first: int, end: int) -> Signal:
        """The samples at these positions."""
        if end > self.end:
            raise IndexError(f"position {end - 1} is read before it was appended")
        before = min(max(self._begin - first, 0), end - first)
        found = self._samples[max(first - self._begin, 0) : max(end - self._begin, 0)]
        return np.concatenate((np.zeros(before), found)) if before else found


_TURN_S: Final = 0.050
"""Within this time one path becomes another."""
_DIRECT_DB: Final = 6.0
"""Direct sound over reverberation: loudspeaker and microphone stand close together."""
_REFERENCE_S: Final = 4.0


class EchoPath:
    """Loudspeaker blocks in, echo blocks out.

    Attributes:
        heading_deg: Where the robot looks.

    Args:
        seed: Of the responses.
    """

    def __init__(self, settings: RoomSettings, seed: list[int]) -> None:
        self._settings = settings
        self._fade = math.ceil(_TURN_S * settings.rate_hz / settings.block)
        self._delay = settings.samples(settings.delay_ms)
        self._step = 1 + settings.drift_ppm * 1e-6
        self._band = band_pass(settings.rate_hz, settings.band_hz)
        self._loudspeaker = Convolver(self._band, settings.block)
        self._line = DelayLine()
        self._reverberation = Reverberation(
            seed, rate_hz=settings.rate_hz, rt60_s=settings.rt60_s, direct_db=_DIRECT_DB
        )
        self.heading_deg = 0.0
        self._wanted: deque[Signal] = deque(maxlen=1)
        reference = speechlike(settings.seed, _REFERENCE_S, settings.rate_hz).astype(np.float64)
        reference *= from_db(settings.loudspeaker_level_db) / speech_level(reference, settings.rate_hz)
        self._reference = self._played(reference)
        self._air = Convolver(self._response(), settings.block)

    def play(self, samples: Signal) -> None:
        """The next block of the loudspeaker, by its own clock."""
        self._line.append(self._clipped(self._loudspeaker.process(samples)))

    def lose(self, count: int) -> None:
        """The loudspeaker falls behind by so many samples, in silence."""
        self._line.append(np.zeros(count))

    def heard(self, at: int) -> Signal:
        """The echo's block whose first sample is the microphone's sample ``at``. Blocks are asked for in order."""
        if self._wanted and not self._air.changing:
            self._air.change(self._wanted.popleft(), self._fade)
        dry = self._line.read((at - self._delay) * self._step, self._step, self._settings.block)
        return self._air.process(dry)

    def turn(self, angle_deg: float) -> None:
        """The robot looks elsewhere; a turn that is under way is faded in first. Any thread."""
        self.heading_deg = (self.heading_deg + angle_deg) % 360.0
        self._wanted.append(self._response())

    def calibrate(self, samples: Signal) -> None:
        """Scales the path so that the echo gain holds for this speech, played as it is. Any thread."""
        self._reference = self._played(samples)
        self._wanted.append(self._response())

    def _response(self) -> Signal:
        """The room's response where the robot looks now, scaled to the echo gain."""
        made = self._reverberation.towards(self.heading_deg)
        settings = self._settings
        wanted = from_db(settings.person_level_db + settings.echo_gain_db)
        return made * (wanted / speech_level(convolved(self._reference, made), settings.rate_hz))

    def _played(self, samples: Signal) -> Signal:
        """Returns a whole signal as the loudspeaker plays it."""
        return self._clipped(convolved(np.clip(samples, -1.0, 1.0), self._band))

    def _clipped(self, samples: Signal) -> Signal:
        clip = self._settings.clip
        return samples if math.isinf(clip) else clip * np.tanh(samples / clip)
