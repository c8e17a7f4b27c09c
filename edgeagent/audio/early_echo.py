"""Hears people over the robot's first words, while no adaptive filter knows the echo yet.

The microphone is held back for a second at most. Then the room's response is fitted to all that was held, the echo is
subtracted, and everything is passed on at once. Knows nothing of delays, words or turns. Runs on the ears' thread.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples

FRAME_S: Final = 0.010
"""Seconds of a frame of AEC3, and of the filters that work beside it."""
EARLY_S: Final = 0.010
"""Seconds by which the far end that ``look`` is given comes before its echo."""
_LEARNT_S: Final = 2.5
"""Seconds of the robot's speech until the adaptive filters are trusted: their own proof takes 2 s."""
_FIRST: Final = 75
"""Frames held before the first look. With fewer, the fit takes a part of the person for echo."""
_NEXT: Final = 25
"""Frames between two looks: the lateness of what is heard from then on."""
_MOST: Final = 150
"""Frames held at most while the echo's delay is not known."""
_BEFORE: Final = 20
"""Frames before those that are held: as long as the room's response and a window."""
_EDGE: Final = 4
"""Newest frames that the transform does not cover wholly; the next look has them."""

_SIZE_S, _HOP_S = 0.032, 0.008
"""Window and step of the transform, in seconds."""
_LAGS: Final = 20
"""Steps of the room's response, 160 ms. With 12, an echo at an RT60 of 0.6 s is 4 dB louder after it."""
_BINS: Final = 32
"""Frequencies that are fitted at once: each has its own equations, and few of them take little memory."""
_FITS: Final = 2
"""Each fit is weighted by what the one before has left; a third changes nothing."""
_REGULAR: Final = 1e-5
"""Share of the far end's mean power that is added to the diagonal of the normal equations."""
_LEAST_DIAGONAL: Final = 1e-12
_LEAST_POWER: Final = 1e-7
"""Power of a bin under which what is left weighs no more: about -70 dBFS;"""
_LEAST_SHARE: Final = 1e-3
"""and its share of the bin's mean. In a room without noise the moments before the echo comes would else be all that
counts."""
_SUPPRESSED: Final = 0.3
"""Power of the echo, of which so much is taken off what is left."""
_LEAST_GAIN: Final = 0.05

_BAND_HZ: Final = (250, 4_000)
_WINDOW: Final = 25
"""Frames over which what is left is compared with the echo."""
_PERSON: Final = 10**-1.0
"""Power of a person beside the echo's, -10 dB: a short "stop" over an echo as loud reaches -9 dB. The robot
alone leaves -16 dB in half of its sentences, and more than -10 dB in one of eight."""
_SILENT_SHARE: Final = 1e-3
"""Power beside the loudest, -30 dB, under which a moment of the echo is a pause."""
_NOISE_PERCENTILE: Final = 10
_NOISE_BIAS: Final = 2.0
_CLOSED: Final = 0.02
"""Gain of frames without a person, for voice activity."""

Spectra = NDArray[np.complexfloating[Any, Any]]
Powers = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Frame:
    """Ten milliseconds of the microphone and what was made of them."""

    near: Samples
    """As they came in."""
    far: Samples
    """As the loudspeaker played them: 35 ms before their echo where its delay is known, else up to a second."""
    clean: Samples
    """For voice activity: the robot's own voice is silenced."""
    sound: Samples
    """For recognisers: the echo is subtracted, and all of a person kept."""
    person: bool | None
    """The loudspeaker does not explain the frame; None: it is silent, or nobody can tell."""
    far_active: bool
    """The robot's own voice may be in it."""
    own: bool = False
    """The robot's own voice is in it as loud as it is, or nobody else has been in it for a while."""
    inaudible: bool = False
    """The robot's own voice in it is too soft to be found."""
    early: bool = False
    """The echo was fitted, so that words are blurred."""


class EarlyEcho:
    """Frames that wait until the echo in them is known.

    Args:
        rate_hz: Of all signals.
    """

    def __init__(self, rate_hz: int) -> None:
        self._fit = _Fit(rate_hz)
        self._frame = round(rate_hz * FRAME_S)
        self._before: deque[Samples] = deque(maxlen=_BEFORE)
        """The microphone before the frames that are held."""
        self._held: list[Frame] = []
        self._least = _FIRST
        """Frames to be held for the next look."""
        self._gain = 1.0
        self._known = 0
        """Frames of the robot's speech that the adaptive filters have learnt from."""
        self._given_up = False

    @property
    def learnt(self) -> bool:
        """The adaptive filters know the echo."""
        return self._known * FRAME_S >= _LEARNT_S

    @property
    def knows_nothing(self) -> bool:
        """They have not yet begun to."""
        return not self._known

    @property
    def holds(self) -> bool:
        """There are frames that wait."""
        return bool(self._held)

    @property
    def full(self) -> bool:
        """Nothing more is to be held while the delay is unknown."""
        return len(self._held) >= _MOST

    @property
    def due(self) -> bool:
        """True if it is time for a look."""
        return self._ends or len(self._held) >= self._least

    @property
    def samples(self) -> int:
        """Length of what ``look`` wants of the far end, up to the newest frame."""
        return (len(self._before) + len(self._held)) * self._frame

    def forget(self) -> None:
        """The echo comes another way from now on, or at another time."""
        self._known, self._given_up, self._least = 0, False, _FIRST
        self._fit.forget()

    def take(self, frame: Frame, *, active: bool, aligned: bool, waits: bool) -> list[Frame]:
        """The next frame.

        Args:
            active: The robot speaks.
            aligned: The echo's delay is known.
            waits: It may be, before long.

        Returns:
            The frame if it need not wait; else nothing.
        """
        self._known += aligned and active
        self._given_up = self._given_up and active and not aligned
        unlearnt = active and not self.learnt and not self._given_up and (aligned or waits)
        if unlearnt or self._held:
            self._held.append(frame)
            return []
        self._before.append(frame.near)
        return [replace(frame, sound=frame.near) if self._given_up else frame]

    def look(self, far: Samples, *, last: bool = False) -> list[Frame]:
        """Fits the echo to the robot's speech, and passes on what is known.

        Args:
            far: ``samples`` of the loudspeaker, ``EARLY_S`` before their echo.
            last: What comes now has another echo.
        """
        if len(far) < self._fit.least:
            return self.give_up()
        last = last or self._ends
        known = max(len(self._held) - _EDGE, 0)
        made = self._without_echo(far, known) if known else []
        if last:
            made += self._held[known:]
        self._pass(len(made))
        if self._least == _FIRST and known < _FIRST - _EDGE:  # so few tell more of themselves than of the room
            self._fit.forget()
        else:
            self._least = _EDGE + _NEXT
        return made

    def _without_echo(self, far: Samples, known: int) -> list[Frame]:
        """The first of the frames that are held, without the echo and with knowledge of persons."""
        first = len(self._before)
        near = np.concatenate([*self._before, *(frame.near for frame in self._held)])
        left, persons = self._fit.subtracted(near, far, first * self._frame, (first + known) * self._frame)
        made = []
        sounds = left.reshape(-1, self._frame)
        for frame, sound, person in zip(self._held[:known], sounds, persons, strict=True):
            ramp = np.linspace(self._gain, 1.0 if person else _CLOSED, self._frame, dtype=np.float32)
            self._gain = float(ramp[-1])
            early = replace(frame, clean=sound * ramp, sound=sound, person=bool(person), own=False, early=True)
            made.append(early)
        return made

    def give_up(self) -> list[Frame]:
        """Passes everything on as it came in, for recognisers, and what follows: nobody knows when the echo comes."""
        self._given_up = True
        return self.let_go(0)

    def let_go(self, count: int) -> list[Frame]:
        """Passes all but so many of the newest on as they came in, for recognisers: their echo came another way."""
        first = max(len(self._held) - count, 0)
        made = [replace(frame, sound=frame.near, person=None) for frame in self._held[:first]]
        self._pass(first)
        return made

    def set_free(self) -> list[Frame]:
        """Passes everything on as it came in, for voice activity too: somebody else speaks."""
        return [replace(frame, clean=frame.near, far_active=False, own=False) for frame in self.give_up()]

    @property
    def _ends(self) -> bool:
        """Of what is held nothing more will be held back."""
        return bool(self._held) and (self.learnt or not self._held[-1].far_active)

    def _pass(self, count: int) -> None:
        self._before.extend(frame.near for frame in self._held[:count])
        self._held = self._held[count:]


class _Fit:
    """The room's response, by frequency, as a sum of delayed spectra of the far end (Avargel and Cohen, 2007).

    By least squares in which each moment counts the less the more is left of it, as in dereverberation by weighted
    prediction (Nakatani et al., 2010): so a person who speaks at the same time takes no part in the fit.

    Attributes:
        least: Samples that a fit takes.
    """

    def __init__(self, rate_hz: int) -> None:
        self._size, self._hop = round(_SIZE_S * rate_hz), round(_HOP_S * rate_hz)
        self._frame = round(FRAME_S * rate_hz)
        self.least = _BEFORE * self._frame
        self._window = np.sqrt(np.hanning(self._size + 1)[:-1]).astype(np.float32)
        self._band = slice(*(round(edge * _SIZE_S) for edge in _BAND_HZ))
        self.forget()

    def forget(self) -> None:
        """Nothing is known of the response."""
        bins = self._size // 2 + 1
        self._square: Spectra = np.zeros((bins, _LAGS, _LAGS), np.complex64)
        self._product: Spectra = np.zeros((bins, _LAGS, 1), np.complex64)
        self._powers: Powers = np.zeros((2, 0), np.float32)
        """In the band of speech, of what is left and of the echo, step by step."""

    def subtracted(self, near: Samples, far: Samples, begin: int, end: int) -> tuple[Samples, NDArray[np.bool_]]:
        """The microphone without the echo between two samples, and for each frame of it whether there is a person.

        Args:
            begin: Where what was not fitted before begins; the sound before it is only its past.
            end: What follows is in the next fit too.
        """
        past = max(begin // self._hop - self._size // self._hop, 0)  # steps that only the sound at the beginning needs
        heard, played = self._spectra(near)[:, past:], self._spectra(far)
        first = begin // self._hop - past
        last = first + (end - begin) // self._hop
        left = np.empty_like(heard)
        for low in range(0, len(heard), _BINS):
            bins = slice(low, low + _BINS)
            left[bins] = self._left(bins, heard[bins], self._delayed(played[bins])[:, :, past:], first, last)
        remaining, echo = np.square(np.abs(left)), np.square(np.abs(heard - left))
        gain = np.clip(1 - _SUPPRESSED * echo / np.maximum(remaining, 1e-20), _LEAST_GAIN, 1.0)
        powers = np.stack([remaining[self._band].sum(axis=0), echo[self._band].sum(axis=0)])
        persons = self._persons(np.concatenate((self._powers, powers[:, first:]), axis=1))[self._powers.shape[1] :]
        self._powers = np.concatenate((self._powers, powers[:, first:last]), axis=1)
        at = np.arange(0, end - begin, self._frame) // self._hop
        sound = self._sound(left * gain, len(near) - past * self._hop)[begin - past * self._hop :]
        return sound[: end - begin], persons[np.minimum(at, len(persons) - 1)]

    def _left(self, bins: slice, heard: Spectra, delayed: Spectra, first: int, last: int) -> Spectra:
        """Rest of these bins after a fit to the steps from the first on; those before the last one are learned."""
        left, weight = heard, np.ones(heard.shape, np.float32)
        mean_power = np.square(np.abs(heard)).mean(axis=1, keepdims=True)
        least = np.maximum(_LEAST_SHARE * mean_power, _LEAST_POWER)
        for _ in range(_FITS):
            weight = 1 / np.maximum(_smoothed(np.square(np.abs(left))), least)
            square, product = self._sums(bins, delayed[:, :, first:], heard[:, first:], weight[:, first:])
            mean = np.einsum("kpp->k", square).real / _LAGS
            square += (_REGULAR * mean + _LEAST_DIAGONAL)[:, None, None] * np.eye(_LAGS, dtype=np.float32)
            left = heard - (np.linalg.solve(square, product).transpose(0, 2, 1) @ delayed)[:, 0]
        self._square[bins], self._product[bins] = self._sums(
            bins, delayed[:, :, first:last], heard[:, first:last], weight[:, first:last]
        )
        return left

    @staticmethod
    def _delayed(played: Spectra) -> Spectra:
        """The far end, once for each lag. Shape (bins, lags, steps)."""
        bins, steps = played.shape
        made: Spectra = np.zeros((bins, _LAGS, steps), np.complex64)
        for lag in range(min(_LAGS, steps)):
            made[:, lag, lag:] = played[:, : steps - lag]
        return made

    def _sums(self, bins: slice, delayed: Spectra, heard: Spectra, weight: Powers) -> tuple[Spectra, Spectra]:
        """The normal equations, with those of what was fitted before."""
        weighted = delayed.conj() * weight[:, None, :]
        square: Spectra = self._square[bins] + weighted @ delayed.transpose(0, 2, 1)
        product: Spectra = self._product[bins] + weighted @ heard[:, :, None]
        return square, product

    @staticmethod
    def _persons(powers: Powers) -> NDArray[np.bool_]:
        """For each step whether what is left around it is more than the echo explains, and louder than the noise."""
        left, echo = powers
        noise = _NOISE_BIAS * float(np.percentile(left, _NOISE_PERCENTILE))
        window = np.ones(round(_WINDOW * FRAME_S / _HOP_S))
        rest = np.convolve(np.maximum(left - noise, 0.0), window, "same")[: len(left)]
        echoes = np.convolve(echo, window, "same")[: len(left)]
        heard = echo[echo > _SILENT_SHARE * echo.max(initial=0.0)]
        usual = float(heard.mean()) * len(window) if len(heard) else 0.0
        least = np.maximum(_PERSON * np.maximum(echoes, usual), noise * len(window))
        found: NDArray[np.bool_] = rest > least
        return found

    def _spectra(self, samples: Samples) -> Spectra:
        steps = (len(samples) - self._size) // self._hop + 1
        places = np.arange(self._size)[None, :] + self._hop * np.arange(steps)[:, None]
        made: Spectra = np.fft.rfft(samples[places] * self._window, axis=1).T.astype(np.complex64)
        return made

    def _sound(self, spectra: Spectra, count: int) -> Samples:
        made, weight = np.zeros(count), np.full(count, 1e-3)
        pieces = np.fft.irfft(spectra.T, self._size, axis=1) * self._window
        square = np.square(self._window)
        for number, piece in enumerate(pieces):
            part = slice(number * self._hop, number * self._hop + self._size)
            made[part] += piece
            weight[part] += square
        sound: Samples = (made / weight).astype(np.float32)
        return sound


def _smoothed(powers: Powers) -> Any:
    """Mean of each moment and those beside it."""
    made = powers.copy()
    made[:, 1:-1] = (powers[:, :-2] + powers[:, 1:-1] + powers[:, 2:]) / 3
    return made
