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

from edgeagent.audio.alignment import LEAD_S, Alignment
from edgeagent.audio.device import Samples, Xruns
from edgeagent.audio.early_echo import EARLY_S, FRAME_S, EarlyEcho, Frame
from edgeagent.audio.echo_search import EchoSearch
from edgeagent.audio.linear_echo import Unsuppressed
from edgeagent.audio.residual_gate import ResidualGate
from edgeagent.audio.stream_clock import Resampler
from edgeagent.errors import ConfigError

Mode = Literal["webrtc", "hardware", "off"]
"""Remover of the echo: this program; the microphone itself, as some arrays do; nobody."""

_LEAST_LEAD_S: Final = 0.010
_MOST_LEAD_S: Final = 0.150
"""Beyond it AEC3 still removes the echo, but more of a person's speech with it. Less with 100 ms than with 35: of 24
lines over an echo as loud, 5 were not heard and 14 late in place of none."""
_FIRST_OFF_S: Final = 0.010
"""By more, the far end jumps to its lead when the delay is found and nothing has been learnt."""
_TRANSITION_S: Final = 0.100
"""After a delay may have become another, for which what is heard may still be of blocks that were given before."""
_SLACK_S: Final = 0.010
"""Seconds of further delay, when the far end comes too late for its lead."""
_PATIENCE_S: Final = 0.080
"""For so long the microphone waits for a far end that comes late once: to jump costs AEC3 seconds."""
_SETTLED_S: Final = 0.5
"""After a jump, in which another one costs nothing."""
_SOUGHT_S: Final = 2.0
"""Seconds of the far end after which an echo that was not found is too soft to be heard. At -12 to +6 dB, in quiet and
in noise at 10 dB, it was found 0.6 to 0.9 s after it came: with a sound system that keeps a second, after 1.6 s."""
_ACTIVE: Final = 1e-3
"""RMS of a frame of the far end, -60 dBFS, from which on it is heard."""
_TAIL_S: Final = 0.300
"""Seconds that the room may still sound after the far end."""
_IDLE_S: Final = 1.5
"""Seconds after the last sound that was given to the loudspeaker; a sound system may keep one of them."""
_LATELY: Final = 30
"""The last frames,"""
_FEW: Final = 3
"""and in how many of them somebody must have been found over the robot's voice, or what is heard is that."""
_FORGOTTEN_S: Final = 300.0
"""Seconds of the loudspeaker's silence after which the echo is learnt as at the start. AEC3 does not keep it for ever:
after 15 minutes and an hour, a "stop" over an echo as loud as the person was lost in 2 of 3 trials; after 5 minutes in
none of 2, and at the start in none of 27."""
_MEMORY_S: Final = 3.0
"""Of the echo's removal."""
_MOST_DB: Final = 100.0
_HISS: Final = 1e-12
"""RMS of noise that both inputs get: in exact silence AEC3's filters fade into denormal numbers, with which a frame
takes a millisecond in place of 0.07. More of it (1e-8) is heard by the gate where the echo is loud."""
_NS_LEVEL: Final = 1
"""Of WebRTC's noise suppression: 12 dB, the mildest that is heard; recognisers suffer from more."""
_AEC_DELAY_S: Final = 0.008
_NS_DELAY_S: Final = 0.006
"""Of what WebRTC makes, as measured at 16 kHz; at 48 kHz half a millisecond more each."""


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
        self._waiting: Samples = np.zeros(0, np.float32)
        self._ends = Alignment(input_rate_hz, output_rate_hz or rate_hz, rate_hz)
        self._processor = _processor(mode == "webrtc", noise_suppression, rate_hz)
        self._hiss: Samples = np.random.default_rng(0).normal(0.0, _HISS, (2, self._frame)).astype(np.float32)
        self._gate = ResidualGate(rate_hz)
        self._xruns = xruns or Xruns()
        self._late = self._xruns.total
        self._search = EchoSearch(self._ends, rate_hz)
        self._since_jump_s = 0.0
        self._awaited: int | None = None
        self._stopped_at: int | None = None
        self._silent_s = math.inf
        self._persons: deque[bool] = deque(maxlen=_LATELY)
        self._sought_s = 0.0
        self._energies = np.zeros(2)
        self._plain = Unsuppressed(rate_hz, _AEC_DELAY_S + (_NS_DELAY_S if noise_suppression else 0.0))
        self._sounds: list[Samples] = []
        self._early = EarlyEcho(rate_hz)
        self._early_delay_s: float | None = None
        """Delay by which the first words were fitted first: all fits are to be of one response."""
        self._released: list[Frame] = []
        self._another_since = 0
        """Sample of the microphone from which on the delay may be another."""

    # --- the device's output callback -------------------------------------------------------------------------------

    def far(self, block: Samples, dac_s: float) -> None:
        """Takes a block that really goes out, and the time at which its first sample leaves the loudspeaker."""
        self._ends.far.put(block, dac_s)

    # --- the ears' thread -------------------------------------------------------------------------------------------

    def near(self, block: Samples, adc_s: float) -> Samples:
        """The next block of the microphone, of any length.

        Args:
            adc_s: When its first sample entered the microphone.

        Returns:
            Clean samples, whole frames of 10 ms: as many as came in, within a frame and the resampler's delay. When
            the loudspeaker's callback is late they come up to 80 ms later, none is lost.
        """
        self._sounds, self._released = [], []
        self._ends.hear(len(block), adc_s)
        if self._xruns.total != self._late:
            self._late = self._xruns.total
            self._measure_again(late=True)
        waiting = np.concatenate((self._waiting, self._in.process(block)))
        clean = [waiting[:0]]
        at = 0
        while len(waiting) - at >= self._frame and self._far_is_there(len(waiting) - at - self._frame):
            clean.append(self._clean(waiting[at : at + self._frame]))
            at += self._frame
        self._waiting = waiting[at:]
        return np.concatenate(clean)

    def skip(self, count: int, adc_s: float) -> None:
        """Leaves out samples of the microphone in which nobody spoke, a whole number of them at ``rate_hz``; only where
        ``idle``."""
        self._ends.hear(count, adc_s)
        self._ends.skip(count)
        self._follow_step()
        self._pass(count / self._in_hz)

    @property
    def idle(self) -> bool:
        """True if the loudspeaker has been silent for longer than any echo of its sound lasts."""
        self._ends.far.drain()
        return self._silent_s > _TAIL_S and self._ends.far.silent_s > _IDLE_S

    def align(self, delay_s: float) -> None:
        """Says how long after its DAC time a sample is heard, by the ADC's, as a sweep has measured it."""
        self._ends.set_delay(delay_s)
        self._search.found()
        self._put_before_echo()

    @property
    def delay_s(self) -> float:
        """From the DAC time of a sample to the ADC time of its echo; 0 until it has been measured."""
        return self._ends.delay_s

    @property
    def aligned(self) -> bool:
        """True if the delay has been measured, since the start and since the device was late for the last time."""
        return self._ends.known

    @property
    def far_active(self) -> bool:
        """True if the robot's own voice may be in what ``near`` returned last."""
        return self._silent_s < _TAIL_S

    @property
    def seeking(self) -> bool:
        """True if the robot speaks and its echo, of which nobody knows yet how late it is, is in all that is heard.

        Over when it has been found, or is too soft to be.
        """
        return self.far_active and self._gate.waiting

    @property
    def unsuppressed(self) -> Samples:
        """Frame that ``near`` returned last, for recognisers: while the robot speaks, with its echo subtracted only.

        A little of the robot's own voice is left, but all of a person's.
        """
        return np.concatenate([self._waiting[:0], *self._sounds])

    @property
    def released(self) -> list[Frame]:
        """Frames that ``near`` has found out last, for the ears: all frames in order, each once.

        Over the robot's first words since the start, or since the device was late, they come up to 1.5 s late, because
        the echo in them is not known sooner.
        """
        return self._released

    def flush(self) -> list[Frame]:
        """Returns the frames that still waited to be ``released``."""
        if not self._early.holds:
            return []
        if not self.aligned:
            return self._early.give_up()
        return self._early.look(self._before_echo(self._early.samples), last=True)

    @property
    def removed_db(self) -> float | None:
        """Echo return loss enhancement of the last seconds in which only the robot spoke; None before."""
        before, after = self._energies
        if before <= 0:
            return None
        return min(10 * math.log10(before / after), _MOST_DB) if after > 0 else _MOST_DB

    # --- a frame ----------------------------------------------------------------------------------------------------

    def _clean(self, near: Samples) -> Samples:
        self._follow_step()
        far = self._ends.next(len(near))
        self._since_jump_s += FRAME_S
        active = float(np.dot(far, far)) > _ACTIVE**2 * len(far)
        if active:
            self._silent_s = 0.0
        else:
            self._pass(FRAME_S)
        if self.mode != "webrtc":
            made: Samples = near if self._processor is None else self._processor.process(near + self._hiss[0])
            self._sounds.append(made)
            self._released.append(Frame(near, far, made, made, None, self.far_active))
            return made
        if not self.aligned and active:
            self._sought_s += FRAME_S
        self._gate.waiting = not self.aligned and self._sought_s < _SOUGHT_S
        cancelled = self._processor.process(near + self._hiss[0], far + self._hiss[1])
        clean = self._gate.process(cancelled, near, far)
        if self.aligned or not self.far_active:
            self._search.stranger = False
        stranger = self._search.stranger
        wanted = self.far_active and (stranger or not self._gate.waiting)  # an echo that was not found is soft
        plain = self._plain.process(near, far, clean, lead_s=self._ends.lead_s, wanted=wanted)
        # the gate is blind where AEC3 has suppressed the person; the others take 1 % of the robot's own frames for one
        person = self._gate.open or (wanted and (self._plain.person or self._gate.louder))
        self._persons.append(person and self.far_active)
        own = self.seeking or (self.far_active and sum(self._persons) < _FEW)
        found = person if self.far_active else None
        if stranger:
            frame = Frame(near, far, plain, plain, None, far_active=False)
        else:
            inaudible = wanted and not self.aligned
            frame = Frame(near, far, clean, plain, found, self.far_active, own=own, inaudible=inaudible)
        self._sounds.append(frame.sound)
        if self.far_active and self._gate.only_far:
            self._energies *= 1 - FRAME_S / _MEMORY_S
            self._energies += np.dot(near, near), np.dot(clean, clean)
        self._look(near)
        self._release(frame)
        return clean

    def _pass(self, seconds: float) -> None:
        """The loudspeaker has been silent for so much longer."""
        before_s, self._silent_s = self._silent_s, self._silent_s + seconds
        if before_s < _FORGOTTEN_S <= self._silent_s and self.mode == "webrtc":
            self._measure_again()
            self._jump(self._ends.early_s - LEAD_S)

    def _release(self, frame: Frame) -> None:
        """Passes the frame on, or holds it until the echo in it is known."""
        early = self._early
        waits = self._gate.waiting and not self._search.stranger
        self._released += early.take(frame, active=self.far_active, aligned=self.aligned, waits=waits)
        if self._search.stranger and early.holds:
            self._released += early.set_free()
        if early.holds and not self.aligned and (early.full or not self.seeking):
            self._released += early.give_up()
        elif early.holds and self.aligned and early.due:
            self._released += early.look(self._before_echo(early.samples))

    def _before_echo(self, count: int) -> Samples:
        """The far end of the newest samples of the microphone, a little before their echo."""
        if self._early_delay_s is None:
            assert self._ends.beside_s is not None  # noqa: S101 - a fit is made only where the delay is known
            self._early_delay_s = self._ends.beside_s - EARLY_S
        return self._ends.before(count, self._early_delay_s)

    def _far_is_there(self, waiting: int) -> bool:
        """True if the far end of the next frame is known, or is not to be waited for.

        Args:
            waiting: Samples of the microphone after the next frame.
        """
        end = self._ends.far.end
        if not end:
            return True
        missing_s = self._ends.missing_s(self._frame)
        if missing_s <= 0:
            self._awaited = None
            return True
        if self.mode != "webrtc" or not self.aligned or self._since_jump_s < _SETTLED_S:
            if (later_s := self._to_give_up(missing_s)) > 0:
                self._ends.come_later(later_s)
                self._plain.reset()
            return True
        if end == self._stopped_at:
            return True
        if self._awaited is None:
            self._awaited = end
        if waiting < _PATIENCE_S * self._rate_hz:
            return False
        if self._awaited == end:
            self._stopped_at = end
        elif (later_s := self._to_give_up(missing_s)) > 0:
            self._jump(later_s)
        self._awaited = None
        return True

    def _to_give_up(self, missing_s: float) -> float:
        """Seconds of the lead that are given up: no more than leaves the earliest echo later than its far end."""
        most_s = self._ends.lead_s - _LEAST_LEAD_S if self.aligned else self._ends.early_s + _LEAST_LEAD_S
        return max(min(missing_s + _SLACK_S, most_s), 0.0)

    def _jump(self, later_s: float) -> None:
        """To where AEC3 has to learn the echo anew."""
        self._ends.come_later(later_s)
        self._since_jump_s = 0.0
        self._gate.forget(echo=True)
        self._plain.reset()
        self._forget_first_words()
        if self._processor is not None:  # from the start it needs a second for what takes it many otherwise
            self._processor.reset()

    def _forget_first_words(self) -> None:
        self._early.forget()
        self._early_delay_s = None

    # --- the delay --------------------------------------------------------------------------------------------------

    def _follow_step(self) -> None:
        """The times say that the ends have moved against each other."""
        if self._ends.stepped:
            if self.aligned:
                self._measure_again()
            else:  # it is sought already, or was in vain
                self._search.forget_looks()
                self._another_since = self._ends.count
            self._ends.follow()

    def _measure_again(self, *, late: bool = False) -> None:
        """The echo may come at another time from now on."""
        self._released += self.flush()
        self._forget_first_words()
        self._ends.forget()
        self._another_since = self._ends.count
        self._search.forget(late=late)
        self._gate.forget()
        self._plain.reset()
        self._sought_s = 0.0

    def _look(self, near: Samples) -> None:
        """Looks for the echo, and has it come where AEC3 learns it best."""
        was_known = self.aligned
        found = self._search.take(near, loud=self._gate.loud, far_active=self.far_active)
        if found is not None and not was_known:
            self._let_older_go()
        if found == "moved":
            self._plain.reset()
            self._forget_first_words()
        if found is not None:
            self._put_before_echo()

    def _let_older_go(self) -> None:
        """Passes on the frames that are held with another echo than the one that was found: a fit to both fits none."""
        since_s = (self._ends.count - self._another_since) / self._rate_hz
        age_s = since_s - self._ends.delay_s - _TRANSITION_S
        self._released += self._early.let_go(max(round(age_s / FRAME_S), 0))

    def _put_before_echo(self) -> None:
        """Has the far end come ``LEAD_S`` before its echo, where nothing was learnt yet or it is far from that."""
        lead_s = self._ends.lead_s
        later_s = lead_s - LEAD_S
        there = later_s > 0 or self._ends.missing_s(self._frame) <= later_s
        anew = self._early.knows_nothing and abs(later_s) > _FIRST_OFF_S and there
        if anew or not _LEAST_LEAD_S / 2 <= lead_s <= _MOST_LEAD_S:
            self._jump(later_s)


def _processor(echo: bool, noise_suppression: bool, rate_hz: int) -> Any:
    """WebRTC's processing; None where there is nothing to do."""
    if not echo and not noise_suppression:
        return None
    from pywebrtc_audio import AudioProcessor

    return AudioProcessor(
        sample_rate=rate_hz, echo_cancellation=echo, noise_suppression=noise_suppression, ns_level=_NS_LEVEL
    )
