"""Silences what an echo canceller leaves, and nothing else.

In a few bands it learns how loud the room is while the robot is silent, how loud the echo is beside the far end, and
how loud what is left of it gets while only the robot speaks. What stays under that is closed away; a person is what
rises above it in some band, and opens the gate in that very frame. In silence of the far end nothing is closed. One
thread at a time.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from edgeagent.audio.device import Samples

EDGES_HZ: Final = (200, 500, 1_000, 2_000, 3_500, 7_000)
"""Edges of the bands in which an echo is judged, here and by the linear filter."""
_DECAY_DB_S: Final = 75.0
"""Of the far end's power after its end: a room of RT60 0.8 s."""
_WAITING_DB_S: Final = 10.0
"""The same while nobody knows how late the echo is."""
_QUIET: Final = 1e-7
"""Power of a band of the far end, -70 dBFS, under which nothing is learned."""
_MUTED: Final = 10**-9.5
"""Power of every band of a microphone that hears nothing at all, of which nothing is learned."""
_SILENT: Final = 10**-7.5
"""Power of a band that no voice activity detector takes for speech."""

_QUANTILE_UP, _QUANTILE_DOWN = 0.3, 0.1
"""Steps in dB of the echo's level: where they balance, three frames of four are under it."""
_AT_FIRST_DB: Final = -10.0
"""The echo's level at most, until it is heard."""
_FIRST: Final = 60
"""Frames in which it takes the loudest for the echo."""
_ECHO_MARGIN_DB: Final = 4.0
"""From there to the loudest frames of the echo."""
_PERSON_DB: Final = 3.0
"""Over the loudest echo, a frame has a person in it."""

_LOUDER: Final = 10.0
"""Power over the echo's and over the noise, from which on the microphone has a person in it even if nothing is left."""

_DOUBT: Final = 30
"""Frames before and after a person from which nothing is learned: soft sounds are not noticed."""
_WINDOW: Final = 300
"""Frames with the far end that the loudest residual is remembered: for one to two such windows."""
_PROOF: Final = 100
"""Frames with only the far end before the canceller is believed."""
_RESIDUAL_MARGIN_DB: Final = 3.0
_LEAST_DB, _MOST_DB = -30.0, 0.0
"""Beside the echo: what is under it by more is not worth to be let through, and what is above it is no echo."""

_OVER_NOISE: Final = 4.0
"""Power of a band over the microphone's noise, from which on there is more in it: an echo, or a person."""

_HOLD: Final = 25
"""Frames for which the gate stays open at most, as in the middle of a word."""
_HOLD_STEP: Final = 4
"""Frames by which each frame with a person extends that: a burst of the canceller is short."""
_OPEN_S: Final = 0.004
_CLOSE: Final = 0.5
"""Of the gain's way to closed, in a frame."""
_CLOSED: Final = 0.01
_NOISE_FRAMES: Final = 500
_NOISE_BIAS: Final = 2.0
"""Of the mean power of noise over the softest of its smoothed frames."""
_STARTING: Final = 50
"""Frames before the canceller lets any noise through."""

Powers = NDArray[np.float64]


class ResidualGate:
    """Frame by frame, all of one length of about 10 ms.

    Attributes:
        open: The last frame had something in it that the far end does not explain.
        loud: The microphone was louder in it than the room's noise, as far as that is known.
        louder: The microphone was louder in it than the echo and the room's noise explain, whatever is left of that.
        waiting: The delay is not known, so that the echo may come a second after the far end.

    Args:
        rate_hz: Of all signals.
    """

    def __init__(self, rate_hz: int) -> None:
        self.open = True
        self.loud = self.louder = False
        self.waiting = False
        self._frame = rate_hz // 100
        self._bands = Bands(rate_hz, self._frame, signals=3)
        bands = len(EDGES_HZ) - 1
        frame_s = self._frame / rate_hz
        self._decay, self._slow = (10 ** (-speed * frame_s / 10) for speed in (_DECAY_DB_S, _WAITING_DB_S))
        self._far = np.zeros(bands)
        self._echo_db: Powers | None = None
        self._seen = 0
        self._doubt = 0
        self._pending: deque[Powers] = deque()
        self._residual = _LoudestOf(_WINDOW)
        self._noise = _SoftestOf(_NOISE_FRAMES)
        self._room, self._floor = _SoftestOf(_NOISE_FRAMES, bands), _SoftestOf(_NOISE_FRAMES, bands)
        """The microphone's softest while the robot is silent, and while it speaks, which has its reverberation."""
        self._silence = 0
        """Frames in which the robot was silent."""
        self._before = 0.0
        self._held = 0
        self._gain = 1.0
        self._ramp = np.minimum(np.arange(1, self._frame + 1) / max(round(_OPEN_S * rate_hz), 1), 1.0)
        self._slope = np.arange(1, self._frame + 1) / self._frame

    def forget(self, *, echo: bool = False) -> None:
        """The canceller is not converged any more: what it leaves may be loud.

        Args:
            echo: Nor is it true what was known of the echo, because it was sought at a wrong time.
        """
        self._residual = _LoudestOf(_WINDOW)
        self._pending.clear()
        if echo:
            self._echo_db = None
            self._seen = 0

    @property
    def only_far(self) -> bool:
        """True if the microphone has heard nothing but the far end for a while."""
        return self._doubt == 0 and self._seen >= _FIRST

    def process(self, clean: Samples, near: Samples, far: Samples) -> Samples:
        """The canceller's output with its residual closed away.

        Args:
            clean: What the canceller has made of this frame of the microphone.
            near: The frame.
            far: What the canceller was given as the far end.
        """
        if not far.any() and not np.any(self._far > _QUIET):
            return self._unheard(clean, *self._bands.of(clean, near, far, wanted=2))
        left, heard, played = self._bands.of(clean, near, far)
        self._far = np.maximum(self._far * (self._slow if self.waiting else self._decay), played)
        active = self._far > _QUIET
        if not np.any(active):
            return self._unheard(clean, left, heard)
        self.open = self.loud = self.louder = False
        if np.any(heard > _MUTED):
            self._judge(left, heard, active)
        power = float(left.sum())
        if self._proven:
            self._noise.add(np.array([power]))
        return self._gated(clean, power, sounding=True)

    def _unheard(self, clean: Samples, left: Powers, heard: Powers) -> Samples:
        """The same where there is no echo, as most of the time: two thirds of the work are spared."""
        self._silence += 1
        if np.any(heard > _MUTED):
            self._room.add(heard)
        self.open, self.loud, self.louder = True, False, False
        self._doubt = max(self._doubt - 1, 0)
        power = float(left.sum())
        self._noise.add(np.array([power]))
        return self._gated(clean, power, sounding=False)

    def _judge(self, left: Powers, heard: Powers, active: NDArray[np.bool_]) -> None:
        """Finds out who is in a frame while the far end sounds, and learns from it."""
        if self._silence <= _STARTING:
            self._floor.add(heard)
        known = self._floor if self._silence <= _STARTING else self._room
        room = known.value if known.known else np.zeros(len(heard))
        self.loud = known.known and bool(heard.sum() > _OVER_NOISE * room.sum())
        loud = _db(heard) - _db(self._far)
        over_room = active & (heard > _OVER_NOISE * room)
        echo_db = self._learn_echo(loud, active, over_room)
        self.louder = bool(np.any(active & (heard > _LOUDER * room) & (loud > echo_db + _db(_LOUDER))))
        explained = self._far * 10 ** (self._threshold(echo_db) / 10) + _OVER_NOISE * room
        self.open = bool(np.any((left > explained) & (left > _SILENT)))
        self._learn_residual(_db(np.maximum(left - room, 0.0)) - _db(self._far), loud - echo_db, over_room)

    # --- learning ---------------------------------------------------------------------------------------------------

    def _learn_echo(self, loud: Powers, active: NDArray[np.bool_], over_room: NDArray[np.bool_]) -> Powers:
        """Returns the echo's level: three quarters of the frames are under it, so a person in some does little.

        A frame of nothing but the room's noise says that the echo is softer, and never that it is louder.
        """
        known = np.minimum(loud - _ECHO_MARGIN_DB, _AT_FIRST_DB) if self._echo_db is None else self._echo_db
        if self.waiting or self._seen < _FIRST:  # the echo may still be on its way
            echo_db = np.where(over_room, np.maximum(known, loud - _ECHO_MARGIN_DB), known)
        else:
            louder = loud > known
            step = np.where(louder & over_room, _QUANTILE_UP, 0.0) - np.where(active & ~louder, _QUANTILE_DOWN, 0.0)
            echo_db = known + step
        self._echo_db = echo_db
        self._seen += 1
        return echo_db

    def _learn_residual(self, residual: Powers, over_echo_db: Powers, active: NDArray[np.bool_]) -> None:
        """Learns from a frame when enough of those after it are known to be without a person too."""
        if np.any(active & (over_echo_db > _ECHO_MARGIN_DB + _PERSON_DB)):
            self._doubt = _DOUBT
            self._pending.clear()
            return
        if self._doubt:
            self._doubt -= 1
            return
        if np.any(active):
            self._pending.append(np.where(active, residual, -np.inf))
        if len(self._pending) > _DOUBT:
            self._residual.add(self._pending.popleft())

    @property
    def _proven(self) -> bool:
        return self._residual.count >= _PROOF

    def _threshold(self, echo_db: Powers) -> Powers:
        """Level that the far end explains of a residual, in dB over it."""
        most_db = echo_db + _ECHO_MARGIN_DB + _MOST_DB
        loudest = self._residual.value
        if loudest is None or not self._proven:
            return most_db
        return np.clip(loudest + _RESIDUAL_MARGIN_DB, echo_db + _ECHO_MARGIN_DB + _LEAST_DB, most_db)

    # --- gain -------------------------------------------------------------------------------------------------------

    def _gated(self, clean: Samples, power: float, sounding: bool) -> Samples:
        """The frame, let through or closed away; where the far end is silent all passes, and nothing is held open."""
        self._held = min(self._held + _HOLD_STEP, _HOLD) if sounding and self.open else max(self._held - 1, 0)
        before = self._gain
        if self._held or not sounding:
            self._gain = 1.0
            weight = self._ramp
        else:
            loudest = max(power, self._before)
            noise = float(self._noise.value[0]) if self._noise.known else 0.0
            closed = min(max((noise / loudest) ** 0.5, _CLOSED), 1.0) if loudest > 0 else 1.0
            self._gain += (closed - self._gain) * _CLOSE
            weight = self._slope
        self._before = power
        if before == self._gain == 1.0:
            return clean
        made: Samples = (clean * (before + (self._gain - before) * weight)).astype(np.float32)
        return made


class Bands:
    """Power by band of the last two frames of some signals."""

    def __init__(self, rate_hz: int, frame: int, *, signals: int) -> None:
        self._frame = frame
        self._two = np.zeros((signals, 2 * frame))
        self._window = np.hanning(2 * frame + 1)[:-1]
        self._window /= np.sqrt(np.sum(np.square(self._window)) * frame)
        bins = np.round(np.array(EDGES_HZ) * 2 * frame / rate_hz).astype(np.intp)
        self._starts = bins[:-1]
        self._end = int(bins[-1])

    def of(self, *signals: Samples, wanted: int | None = None) -> Powers:
        """Of the first signals as many as are wanted, or of all; shape (signals, bands)."""
        self._two[:, : self._frame] = self._two[:, self._frame :]
        self._two[:, self._frame :] = signals
        spectrum = np.fft.rfft(self._two[:wanted] * self._window)[:, : self._end]
        powers = np.square(spectrum.real) + np.square(spectrum.imag)
        made: Powers = np.add.reduceat(powers, self._starts, axis=1)
        return made


class _LoudestOf:
    """The maximum, by band, of the last one to two windows."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._now: Powers | None = None
        self._old: Powers | None = None
        self.count = 0

    def add(self, powers: Powers) -> None:
        if self.count % self._window == 0:
            self._old, self._now = self._now, None
        self._now = powers if self._now is None else np.maximum(self._now, powers)
        self.count += 1

    @property
    def value(self) -> Powers | None:
        if self._now is None or self._old is None:
            return self._now
        made: Powers = np.maximum(self._now, self._old)
        return made


class _SoftestOf:
    """The minimum, by band, of the last one to two windows of a smoothed power: the noise."""

    def __init__(self, window: int, bands: int = 1) -> None:
        self._window = window
        self._smooth = np.zeros(bands)
        self._now = self._old = np.full(bands, np.inf)
        self._count = 0

    def add(self, powers: Powers) -> None:
        self._count += 1
        self._smooth = self._smooth + 0.2 * (powers - self._smooth)
        if self._count % self._window == 0:
            self._old, self._now = self._now, self._smooth
        if self._count > _STARTING:
            self._now = np.minimum(self._now, self._smooth)

    @property
    def known(self) -> bool:
        return self._count > _STARTING

    @property
    def value(self) -> Powers:
        made: Powers = _NOISE_BIAS * np.minimum(self._now, self._old)
        return made


def _db(power: Any) -> Any:
    return 10 * np.log10(power + 1e-14)
