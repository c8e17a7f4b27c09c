"""Puts the loudspeaker's samples beside those of the microphone in which their echo comes a little later.

The two ends stay beside each other sample by sample, as those of one card do, whatever their times say: a sound
server's times wander by a millisecond, and after a shift of three samples of 16 kHz the linear canceller leaves 20 dB
more. With two clocks the one end glides along the other; how fast, the times tell, or the echo itself.

``far.put`` runs in the device's output callback and waits for nothing; all else runs on one other thread. Knows nothing
of cancellers.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.far_end import REACH, FarEnd
from edgeagent.audio.stream_clock import StreamClock

LEAD_S: Final = 0.035
"""The far end comes so long before its echo: AEC3 finds the rest by itself, but no echo that is early."""
_STEP_S: Final = 0.010
"""By more, the ends have really moved against each other, as after an under-run that nobody tells of: in the first
seconds the times of a sound server wander by 8 ms."""
_ECHO_JITTER_S: Final = 55e-6
"""Of the echo's place as a look finds it. Alone in the simulated room it is 3 us, in a drift of 200 ppm and with
reverberation up to 400 us for four looks."""
_MOVED_S: Final = 0.4e-3
"""By more between two looks, it is not the clocks that have moved the echo."""
_TWO_CLOCKS: Final = 3.0
"""Standard deviations of a skew from which on there are two clocks,"""
_BY_TIMES, _BY_ECHO = 30e-6, 50e-6
"""once it is known so well, by the one or the other."""
_PIECE_S: Final = 0.010
"""Of the far end, through which it glides at once: a longer one is a mixture of two places, and no glide."""


class Alignment:
    """The loudspeaker's samples beside the microphone's.

    Args:
        input_rate_hz, output_rate_hz: Of the device.
        rate_hz: Of both here.

    Attributes:
        count: Samples of the microphone that were taken up.
        far: What was played.
        known: True if the delay has been measured, and ``forget`` was not called since.
        beside_s: Delay of the echo by the places of both ends, in place of their times; None until it was measured.
    """

    def __init__(self, input_rate_hz: int, output_rate_hz: int, rate_hz: int) -> None:
        self._in_hz, self._rate_hz = input_rate_hz, rate_hz
        self._in_count = 0
        self._clock = StreamClock()
        self.count = 0
        self.far = FarEnd(output_rate_hz, rate_hz)
        self.known = False
        self._shift_s = -LEAD_S
        self._position: float | None = None
        self._off_s = 0.0
        """By which the far end is given before its times say,"""
        self._usual_s = 0.0
        """and by which it was when its echo was found."""
        self.beside_s: float | None = None
        self._echo_clock = StreamClock(_ECHO_JITTER_S)
        """The place of the far end whose echo is heard, by that of the microphone."""
        self._moved_s: float | None = None
        """By how much later the last look found it than it should be, if it was too much."""

    def hear(self, count: int, adc_s: float) -> None:
        """The next samples of the device's microphone come, so many, and the first had that time."""
        self._clock.observe(self._in_count / self._in_hz, adc_s)
        self._in_count += count
        self.far.drain()

    def next(self, count: int) -> Samples:
        """The far end of the next samples of the microphone."""
        begin, end = self._move(count)
        return self.far.fade(begin, end, count)

    def skip(self, count: int) -> None:
        """Leaves out the next samples of the microphone, so many of the device's."""
        self._move(round(count * self._rate_hz / self._in_hz))

    @property
    def stepped(self) -> bool:
        """True if the times say that the ends have moved against each other; for ``follow`` then."""
        return abs(self._off_s - self._usual_s) > _STEP_S

    def follow(self) -> None:
        """Moves the far end as its times have moved; what they had wandered before is no move of it."""
        self._position, self._off_s = self._wanted() - self._usual_s * self._rate_hz, self._usual_s

    def missing_s(self, count: int) -> float:
        """Seconds of the far end that the next samples lack; 0 or less if it is there."""
        return (self._here() + count + REACH - self.far.end) / self._rate_hz

    # --- the delay --------------------------------------------------------------------------------------------------

    @property
    def delay_s(self) -> float:
        """From the time of a sample of the loudspeaker to that of its echo; 0 until it has been measured."""
        return 0.0 if self.beside_s is None else self.beside_s + self._off_s

    @property
    def lead_s(self) -> float:
        """By which the far end comes before its echo, as far as is known."""
        return LEAD_S if self.beside_s is None else self.beside_s - self._shift_s

    @property
    def early_s(self) -> float:
        """By which the far end is given before its time."""
        return -self._shift_s

    def set_delay(self, delay_s: float) -> None:
        """Takes a delay that was measured by the times of both ends."""
        self.beside_s = delay_s - self._off_s
        self._usual_s = self._off_s
        self.known = True

    def window(self, seen: int, before: int, after: int) -> Samples:
        """The far end for a look at the newest samples of the microphone, with more at both ends."""
        first = round(self._beside(seen))
        return self.far.read(first - before, before + seen + after)

    def set_echo(self, delay_s: float, seen: int) -> bool:
        """Takes a delay that was found in a ``window``.

        Returns:
            True if two looks in a row tell of another place than the clocks could have moved the echo to.
        """
        first = self._beside(seen)
        self.beside_s = delay_s - (round(first) - first) / self._rate_hz
        self._usual_s = self._off_s
        self.known = True
        at_s, echo_s = (self.count - seen) / self._rate_hz, first / self._rate_hz - self.beside_s
        later_s = self._echo_clock.later(at_s, echo_s)
        if moved := abs(later_s) > _MOVED_S:
            before_s, self._moved_s = self._moved_s, later_s
            if before_s is None or abs(later_s - before_s) > _MOVED_S:
                return False
            self._echo_clock.begin_again()
        self._moved_s = None
        self._echo_clock.observe(at_s, echo_s)
        return moved

    def forget(self) -> None:
        """The delay may be another from now on."""
        self.known = False
        self._moved_s = None
        self._echo_clock.begin_again()

    def come_later(self, seconds: float) -> None:
        """Has the far end come so much later beside the microphone."""
        if self._position is not None:
            self._position -= seconds * self._rate_hz
        self._shift_s += seconds

    def before(self, count: int, delay_s: float) -> Samples:
        """The far end of the newest samples of the microphone, if it were heard after that delay beside it."""
        begin, skew = self._beside(count) - delay_s * self._rate_hz, self._skew
        whole, made = round(_PIECE_S * self._rate_hz), []
        for at in range(0, count, whole):
            piece = min(whole, count - at)
            first = begin + at * (1 + skew)
            made.append(self.far.fade(first, first + piece * skew, piece))
        return np.concatenate(made)

    # --- places -----------------------------------------------------------------------------------------------------

    def _wanted(self) -> float:
        """Position of the far end beside the next sample of the microphone, by their times."""
        return self.far.index(self._clock.time(self.count / self._rate_hz) - self._shift_s)

    def _here(self) -> float:
        return self._wanted() if self._position is None else self._position

    def _beside(self, seen: int) -> float:
        """Position of the far end that is beside the newest samples of the microphone if nothing is shifted."""
        return self._here() - seen * (1 + self._skew) + self._shift_s * self._rate_hz

    def _move(self, count: int) -> tuple[float, float]:
        """Goes on by so many samples of the microphone.

        Returns:
            Positions from which, and to which, the far end of them is faded.
        """
        wanted, begin = self._wanted(), self._here()
        end = begin + self._skew * count
        self._position, self._off_s = end + count, (wanted - begin) / self._rate_hz
        self.count += count
        return begin, end

    @property
    def _skew(self) -> float:
        """Of the microphone's clock against the loudspeaker's; none if they may be one.

        By their times or by the echo: whichever knows it better, and the echo where the times say another thing, since
        smooth times may wander too.
        """
        near, far, echo = self._clock, self.far.clock, self._echo_clock
        skew, error, known = near.skew - far.skew, math.hypot(near.skew_error, far.skew_error), _BY_TIMES
        contrary = abs(skew - echo.skew) > _TWO_CLOCKS * math.hypot(error, echo.skew_error)
        if echo.skew_error < error or (contrary and echo.skew_error < _BY_ECHO):
            skew, error, known = echo.skew, echo.skew_error, _BY_ECHO
        return skew if error < known and abs(skew) > _TWO_CLOCKS * error else 0.0
