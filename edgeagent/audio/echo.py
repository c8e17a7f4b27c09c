"""Takes the robot's own voice out of what its microphone hears.

WebRTC's AEC3 does the work. Here its two inputs are brought together: the loudspeaker's samples as they went out, by
the device's times at first, and then by the delay that is measured, because a sound system may keep a second of sound
that its times don't tell of. What AEC3 leaves is for the gate. Knows nothing of speech or turns.

``far`` runs in the device's output callback and waits for nothing; all else runs on one other thread.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Final, Literal, get_args

import numpy as np

from edgeagent.audio.delay import DelayEstimator
from edgeagent.audio.gate import ResidualGate
from edgeagent.audio.resample import Resampler
from edgeagent.audio.types import Samples, Xruns
from edgeagent.errors import ConfigError

Mode = Literal["webrtc", "hardware", "off"]
"""Who removes the echo: this program; the microphone itself, as some arrays do; nobody."""

FRAME_S: Final = 0.010
"""Of AEC3."""
LEAD_S: Final = 0.040
"""The far end is given to AEC3 so long before its echo: it finds the rest by itself, but no echo that is early."""
_LEAST_LEAD_S: Final = 0.010
_MOST_LEAD_S: Final = 0.150
"""Beyond it AEC3 still removes the echo, but more of a person's speech with it."""
_SLACK_S: Final = 0.010
"""How much later still, when the far end comes too late for its lead."""
_LOOK_S: Final = 0.25
"""Between two looks at the delay, each of a millisecond of one core."""
_OFF_S: Final = 0.005
"""By less, the far end needs not jump to where it should be."""
_GLIDE: Final = 10e-6
"""By which its speed may differ to get there."""
_SOUGHT_S: Final = 3.0
"""An echo that is not found in so much of the far end is too soft to be heard."""
_KEPT_S: Final = 4.0
_ACTIVE: Final = 1e-3
"""RMS of a frame of the far end, -60 dBFS, from which on it is heard."""
_TAIL_S: Final = 0.300
"""How long the room may still sound after the far end."""
_MEMORY_S: Final = 3.0
"""Of the echo's removal."""
_MOST_DB: Final = 100.0
_NS_LEVEL: Final = 1
"""Of WebRTC's noise suppression: 12 dB, the mildest that is heard; recognisers suffer from more."""


class EchoCanceller:
    """The microphone without the loudspeaker.

    Args:
        input_rate_hz, output_rate_hz: Of the device; the output's is None where it has no loudspeaker.
        mode: With "hardware" and "off" there is only resampling and, if asked for, noise suppression.
        rate_hz: Of what comes out.
        xruns: The device's; when it was late, the delay is measured again.

    Attributes:
        mode: As given.

    Raises:
        ConfigError: There is no such mode, or a rate that AEC3 doesn't take.
    """

    def __init__(
        self,
        input_rate_hz: int,
        output_rate_hz: int | None,
        *,
        mode: Mode = "webrtc",
        noise_suppression: bool = True,
        rate_hz: int = 16_000,
        xruns: Xruns | None = None,
    ) -> None:
        if mode not in get_args(Mode):
            raise ConfigError(f"echo is {mode!r}: it must be one of {', '.join(get_args(Mode))}")
        if rate_hz not in (16_000, 32_000, 48_000):
            raise ConfigError(f"rate of the echo canceller is {rate_hz}: it must be 16000, 32000 or 48000")
        self.mode: Mode = mode
        self._rate_hz = rate_hz
        self._frame = round(rate_hz * FRAME_S)
        self._in = Resampler(input_rate_hz, rate_hz)
        self._in_hz = input_rate_hz
        self._in_count = 0
        self._clock = _Clock()
        self._waiting: Samples = np.zeros(0, np.float32)
        self._count = 0
        self._far = _FarEnd(output_rate_hz or rate_hz, rate_hz)
        self._processor = _processor(mode == "webrtc", noise_suppression, rate_hz)
        self._gate = ResidualGate(rate_hz)
        self._xruns, self._late = xruns, _late(xruns)
        self._estimator = DelayEstimator(rate_hz)
        self._heard: Samples = np.zeros(0, np.float32)
        self._next_look = 0
        self._shift_s = -LEAD_S
        self._position: float | None = None
        self._silent_s = math.inf
        self._delay_s = 0.0
        self._aligned = False
        self._sought_s = 0.0
        self._energies = np.zeros(2)

    # --- the device's output callback -------------------------------------------------------------------------------

    def far(self, block: Samples, dac_s: float) -> None:
        """What really goes out, and when its first sample leaves the loudspeaker."""
        self._far.put(block, dac_s)

    # --- the ears' thread -------------------------------------------------------------------------------------------

    def near(self, block: Samples, adc_s: float) -> Samples:
        """The next block of the microphone, of any length.

        Args:
            adc_s: When its first sample entered the microphone.

        Returns:
            Clean samples, whole frames of 10 ms: as many as came in, within a frame and the resampler's delay.
        """
        self._clock.observe(self._in_count / self._in_hz, adc_s)
        self._in_count += len(block)
        self._far.drain()
        if self._xruns is not None and _late(self._xruns) != self._late:
            self._late = _late(self._xruns)
            self._measure_again()
        waiting = np.concatenate((self._waiting, self._in.process(block)))
        whole = len(waiting) - len(waiting) % self._frame
        self._waiting = waiting[whole:]
        if not whole:
            return waiting[:0]
        return np.concatenate([self._clean(waiting[at : at + self._frame]) for at in range(0, whole, self._frame)])

    def align(self, delay_s: float) -> None:
        """Says how long after its DAC time a sample is heard, by the ADC's, as a sweep has measured it."""
        self._delay_s = delay_s
        self._aligned = True
        if not _LEAST_LEAD_S / 2 <= delay_s - self._shift_s <= _MOST_LEAD_S:
            self._shift_s = delay_s - LEAD_S
            self._position = None
            self._gate.forget(echo=True)
            if self._processor is not None:  # from the start it needs a second for what takes it many otherwise
                self._processor.reset()

    @property
    def delay_s(self) -> float:
        """From the DAC time of a sample to the ADC time of its echo; 0 until it has been measured."""
        return self._delay_s

    @property
    def aligned(self) -> bool:
        """Whether the delay has been measured, since the start and since the device was late for the last time."""
        return self._aligned

    @property
    def far_active(self) -> bool:
        """Whether the robot's own voice may be in what ``near`` returned last."""
        return self._silent_s < _TAIL_S

    @property
    def person(self) -> bool:
        """Whether there is something in what ``near`` returned last that the far end does not explain."""
        return self._gate.open

    @property
    def removed_db(self) -> float | None:
        """Echo return loss enhancement of the last seconds in which only the robot spoke; None before."""
        before, after = self._energies
        if before <= 0:
            return None
        return min(10 * math.log10(before / after), _MOST_DB) if after > 0 else _MOST_DB

    # --- a frame ----------------------------------------------------------------------------------------------------

    def _clean(self, near: Samples) -> Samples:
        now_s = self._clock.time(self._count / self._rate_hz)
        self._count += len(near)
        far = self._aligned_far(now_s, len(near))
        active = float(np.dot(far, far)) > _ACTIVE**2 * len(far)
        self._silent_s = 0.0 if active else self._silent_s + FRAME_S
        if self.mode != "webrtc":
            made: Samples = near if self._processor is None else self._processor.process(near)
            return made
        if not self._aligned and active:
            self._sought_s += FRAME_S
        self._gate.waiting = not self._aligned and self._sought_s < _SOUGHT_S
        clean = self._gate.process(self._processor.process(near, far), near, far)
        if self.far_active and self._gate.only_far:
            self._energies *= 1 - FRAME_S / _MEMORY_S
            self._energies += np.dot(near, near), np.dot(clean, clean)
        self._look(near)
        return clean

    def _aligned_far(self, now_s: float, count: int) -> Samples:
        """The far end whose echo comes a little after the microphone's frame."""
        wanted = self._far.index(now_s - self._shift_s)
        missing = wanted + count + _REACH - self._far.end
        if missing > 0 and self._far.end:
            wanted -= self._fall_back(missing / self._rate_hz) * self._rate_hz
        begin = wanted if self._position is None else self._position
        off = wanted - begin
        if abs(off) <= _OFF_S * self._rate_hz:  # the far end glides: AEC3 follows a clock, but not its jitter
            most = _GLIDE * count
            wanted = begin + (self._clock.skew - self._far.skew) * count + min(max(off, -most), most)
        self._position = wanted + count
        return self._far.fade(begin, wanted, count)

    def _fall_back(self, missing_s: float) -> float:
        """Gives up some of the lead, for as long as an echo can't be so early; returns how much, in seconds."""
        latest = self._delay_s - _LEAST_LEAD_S if self._aligned else _LEAST_LEAD_S
        back_s = min(missing_s + _SLACK_S, latest - self._shift_s)
        if back_s <= 0:
            return 0.0  # the loudspeaker has stopped
        self._shift_s += back_s
        return back_s

    # --- the delay --------------------------------------------------------------------------------------------------

    def _measure_again(self) -> None:
        self._estimator.forget()
        self._heard = self._heard[:0]
        self._gate.forget()
        self._aligned = False
        self._sought_s = 0.0

    def _look(self, near: Samples) -> None:
        """Every quarter of a second, measures how late the echo is."""
        seen = self._estimator.near_samples
        if len(self._heard) >= 2 * seen:
            self._heard = self._heard[-seen:]
        self._heard = np.concatenate((self._heard, near))
        self._next_look += len(near)
        if self._next_look < _LOOK_S * self._rate_hz or len(self._heard) < seen:
            return
        self._next_look = 0
        first = self._far.index(self._clock.time((self._count - seen) / self._rate_hz))
        far = self._far.read(
            round(first) - self._estimator.before, self._estimator.before + seen + self._estimator.after
        )
        found = self._estimator.look(self._heard[-seen:], far)
        if found is not None and found.sure:
            self.align(found.delay_s)


_REACH: Final = 8
"""Samples on each side that a fraction of a sample is interpolated from."""
_BETA: Final = 6.0
"""Of the Kaiser window."""
_PHASES: Final = 2_048
_QUEUED: Final = 1_000
"""Blocks that wait for a microphone; where none comes, the oldest are lost."""


def _interpolation() -> Samples:
    """Weights of the samples around a position, for each fraction of a sample. Shape (phases + 1, 2 * reach)."""
    away = np.arange(1 - _REACH, _REACH + 1)[None, :] - np.arange(_PHASES + 1)[:, None] / _PHASES
    window = np.i0(_BETA * np.sqrt(np.maximum(1 - np.square(away / _REACH), 0)))
    taps = np.sinc(away) * window
    made: Samples = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    return made


class _FarEnd:
    """What the loudspeaker played in the last seconds, at the canceller's rate, and when."""

    def __init__(self, in_hz: int, rate_hz: int) -> None:
        self._queue: deque[tuple[Samples, float]] = deque(maxlen=_QUEUED)
        self._resampler = Resampler(in_hz, rate_hz)
        self._in_hz, self._rate_hz = in_hz, rate_hz
        self._kept = round(_KEPT_S * rate_hz)
        self._samples: Samples = np.zeros(2 * self._kept, np.float32)
        self._used = 0
        self._begin = 0
        self._in_count = 0
        self._clock = _Clock()
        self._taps = _interpolation()

    def put(self, block: Samples, dac_s: float) -> None:
        """Any thread; waits for nothing."""
        self._queue.append((block.copy(), dac_s))

    def drain(self) -> None:
        """Takes over what was put."""
        while True:
            try:
                block, dac_s = self._queue.popleft()
            except IndexError:
                return
            later_s = self._clock.observe(self._in_count / self._in_hz, dac_s)
            silence = round(min(max(later_s, 0.0), _KEPT_S) * self._in_hz)
            if silence:  # nothing was played for so long, and the times say so
                self._clock.skip(silence / self._in_hz)
                block = np.concatenate((np.zeros(silence, np.float32), block))
            self._in_count += len(block)
            self._append(self._resampler.process(block))

    @property
    def end(self) -> int:
        """Position after the last sample."""
        return self._begin + self._used

    def index(self, time_s: float) -> float:
        """Position of the sample that left the loudspeaker at that time."""
        return self._clock.position(time_s) * self._rate_hz

    @property
    def skew(self) -> float:
        return self._clock.skew

    def read(self, position: int, count: int) -> Samples:
        """Samples from a position on; zeros where there are none."""
        made: Samples = np.zeros(count, np.float32)
        first, last = max(position, self._begin), min(position + count, self.end)
        if first < last:
            made[first - position : last - position] = self._samples[first - self._begin : last - self._begin]
        return made

    def fade(self, begin: float, end: float, count: int) -> Samples:
        """``count`` samples, faded from those at one position to those at another."""
        made = self._interpolated(end, count)
        if begin != end:
            was = self._interpolated(begin, count)
            made = was + (made - was) * (np.arange(count, dtype=np.float32) / np.float32(count))
        return made

    def _interpolated(self, position: float, count: int) -> Samples:
        whole = math.floor(position)
        around = self.read(whole - _REACH + 1, count + 2 * _REACH - 1)
        made: Samples = np.correlate(around, self._taps[round((position - whole) * _PHASES)], "valid")
        return made

    def _append(self, samples: Samples) -> None:
        if self._used + len(samples) > len(self._samples):
            drop = max(self._used - self._kept, 0)
            self._samples[: self._used - drop] = self._samples[drop : self._used].copy()
            self._used -= drop
            self._begin += drop
            if self._used + len(samples) > len(self._samples):
                self._samples = np.concatenate((self._samples, np.zeros(len(samples), np.float32)))
        self._samples[self._used : self._used + len(samples)] = samples
        self._used += len(samples)


_JITTER_S: Final = 0.002
"""Of the times of a block, as a standard deviation, until it is known."""
_LEAST_JITTER_S: Final = 50e-6
_JITTER_GAIN: Final = 0.02
_KNOWN: Final = 10e-6
"""A skew is used when its standard deviation is less."""
_SKEW: Final = 100e-6
"""Of two clocks: quartz is within 100 ppm."""
_WANDER: Final = 1e-6
"""Of the skew in a second, with the temperature."""
_JUMP_S: Final = 0.050
"""A time that is off by more is a mistake, or the stream has really stopped in between."""
_JUMPS: Final = 3
"""So many in a row are none."""


class _Clock:
    """Positions of a stream by the times of its blocks, which jitter, on a clock that is not the stream's own.

    A Kalman filter of two states, the time of the stream's beginning and the skew of its clock.
    """

    def __init__(self) -> None:
        self._at_s: float | None = None
        self._offset_s = 0.0
        self._skew = 0.0
        self._noise = _JITTER_S**2
        self._p00, self._p01, self._p11 = _JITTER_S**2, 0.0, _SKEW**2
        self._jumps = 0

    def observe(self, at_s: float, time_s: float) -> float:
        """The block at a position, in seconds of samples, has that time.

        Returns:
            By how much the stream has jumped; 0 as a rule.
        """
        if self._at_s is None:
            self._at_s, self._offset_s = at_s, time_s - at_s
            return 0.0
        passed = at_s - self._at_s
        self._at_s = at_s
        self._offset_s += self._skew * passed
        self._p00 += passed * (2 * self._p01 + passed * self._p11)
        self._p01 += passed * self._p11
        self._p11 += passed * _WANDER**2
        error = time_s - at_s - self._offset_s
        if abs(error) > _JUMP_S:
            self._jumps += 1
            if self._jumps < _JUMPS:
                return 0.0
            self._jumps = 0
            self._offset_s += error
            self._p00, self._p01 = self._noise, 0.0
            return error
        self._jumps = 0
        self._noise += _JITTER_GAIN * (max(error**2, _LEAST_JITTER_S**2) - self._noise)
        total = self._p00 + self._noise
        gain, skew_gain = self._p00 / total, self._p01 / total
        self._offset_s += gain * error
        self._skew += skew_gain * error
        self._p11 -= skew_gain * self._p01
        self._p01 -= gain * self._p01
        self._p00 -= gain * self._p00
        return 0.0

    @property
    def skew(self) -> float:
        """How much longer a second of samples takes than a second, as far as it is known."""
        return self._skew if self._p11 < _KNOWN**2 else 0.0

    def skip(self, seconds: float) -> None:
        """So much silence stands in the stream now where its times jumped."""
        if self._at_s is not None:
            self._at_s += seconds
            self._offset_s -= seconds

    def time(self, at_s: float) -> float:
        """The time of a position."""
        return at_s + self._offset_s + self._skew * (at_s - (self._at_s or 0.0))

    def position(self, time_s: float) -> float:
        """The position at a time, in seconds of samples."""
        at_s = self._at_s or 0.0
        return (time_s - self._offset_s + self._skew * at_s) / (1 + self._skew)


def _late(xruns: Xruns | None) -> int:
    return xruns.under + xruns.over if xruns is not None else 0


def _processor(echo: bool, noise_suppression: bool, rate_hz: int) -> Any:
    """WebRTC's processing; None where there is nothing to do."""
    if not echo and not noise_suppression:
        return None
    from pywebrtc_audio import AudioProcessor

    return AudioProcessor(
        sample_rate=rate_hz, echo_cancellation=echo, noise_suppression=noise_suppression, ns_level=_NS_LEVEL
    )
