"""Where an utterance begins and ends: cuts a stream of sound into what people say.

A soft end comes early, so that work can begin; a hard end when what was said decides, which somebody else knows and
sets. Knows nothing of words or turns. Runs on one thread, the ears'; ``hard_end_ms`` may be set by any.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from edgeagent.audio.types import Samples
from edgeagent.audio.vad import CHUNK, FRAME, RATE_HZ, VoiceActivity, VoiceFrame
from edgeagent.errors import ConfigError

_FRAME_MS: Final = 1000 * FRAME / RATE_HZ
_LAG_MS: Final = 80
"""From the end of speech to the end of the last 32 ms that Silero calls speech: the median over three voices, clean and
with noise down to 5 dB SNR, in a room with an RT60 of 0.3 s; 90 % are within 90 ms of it."""
_RISE_FRAMES: Final = 25
"""Sound that leads up to speech belongs to it, for so many frames, if it is louder than as many before"""
_RISE_DB: Final = 6.0
"""by so much,"""
_RISE_WITHIN_DB: Final = 40.0
"""so near to the speech itself,"""
_RISE_GAP: Final = 3
"""and without a pause of so many frames."""
_GAP_MS: Final = 150
"""Longer pauses part sounds that are too short to be speech, such as clicks, from each other."""
_CUT_MS: Final = 3_000
"""Speech without an end is cut in the last so many milliseconds."""
_CUT_SMOOTHED: Final = 5
"""Frames, 50 ms, that must be quiet together for a cut: a stop consonant is as long."""
_PIECE: Final = RATE_HZ
"""Longer blocks are taken in pieces of so many samples."""


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """When speech begins and ends.

    Raises:
        ConfigError: A field is wrong; the text names it.
    """

    threshold: float = 0.5
    """Probability of a frame from which on it is speech."""
    sure: float = 0.8
    """Mean probability that the last ``min_speech_ms`` must have for a start. In 20 minutes of music and quiet babble
    what was over the threshold had 0.74 at most, but for two spots; speech has 0.92 and more even at 5 dB SNR."""
    pre_roll_ms: float = 500
    """Sound kept before the start, in milliseconds. At 10 dB SNR the start is found up to 240 ms late; at 5 dB one in
    thirty is found later than 500."""
    min_speech_ms: float = 90
    """Speech that must be heard for a start, in milliseconds: three times what Silero takes; less is a click."""
    soft_end_ms: float = 200
    """Silence until the soft end, in milliseconds."""
    hard_end_ms: float = 700
    """Silence until the hard end, in milliseconds, until somebody sets another."""
    resume_ms: float = 50
    """Speech that must be heard after a soft end for it to go on, in milliseconds."""
    max_s: float = 20
    """Longest utterance, in seconds, with its pre-roll; a longer one is cut at the quietest place of its last 3 s.
    Whisper's window is 30 s."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= self.sure <= 1:
            raise ConfigError(
                f"threshold of the endpointer is {self.threshold}: it must be over 0, and sure ({self.sure}) at most"
            )
        for name in ("pre_roll_ms", "min_speech_ms", "soft_end_ms", "hard_end_ms", "resume_ms"):
            if not 0 <= getattr(self, name) <= 10_000:
                raise ConfigError(f"{name} of the endpointer is {getattr(self, name)}: it must be from 0 to 10000")
        if not 2 <= self.max_s <= 600:
            raise ConfigError(f"max_s of the endpointer is {self.max_s}: it must be from 2 to 600")
        if self.pre_roll_ms + self.min_speech_ms > 500 * self.max_s:
            raise ConfigError(f"pre_roll_ms of the endpointer is {self.pre_roll_ms}: max_s leaves no room for speech")


@dataclass(frozen=True, slots=True)
class SpeechStart:
    """Somebody has begun to speak, at ``at_s`` by the stream's clock.

    ``pre_roll`` is the utterance until now, from ``begin_s`` on: the sound before the start, and what made it sure.
    """

    at_s: float
    pre_roll: Samples
    begin_s: float


@dataclass(frozen=True, slots=True)
class SoftEnd:
    """Speech has probably ended, at ``at_s``; ``Resumed`` or ``HardEnd`` follows."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """It had not: speech goes on, from ``at_s``."""

    at_s: float


@dataclass(frozen=True, slots=True)
class HardEnd:
    """The utterance is over; speech ended at ``at_s``.

    ``samples`` are all of it, exactly those of the stream from ``begin_s`` on: pre-roll, speech, and the silence until
    the end was sure. ``cut`` if it was too long and speech goes on: a ``SpeechStart`` follows, without a gap.
    """

    at_s: float
    samples: Samples
    begin_s: float
    cut: bool = False


VoiceEvent = SpeechStart | SoftEnd | Resumed | HardEnd


class Endpointer:
    """Cuts a stream into utterances.

    Between a ``SpeechStart`` and its ``HardEnd`` come pairs of ``SoftEnd`` and ``Resumed``, then one ``SoftEnd``, which
    an utterance that was cut lacks. Utterances never overlap.

    Attributes:
        hard_end_ms: Silence until the hard end; may be set at any time, also while somebody speaks, and counts from
            then on. It is the settings' again when an utterance starts.
        soft_end_ms: Silence until the soft end; may be set at any time, and stays.

    Args:
        settings: When speech begins and ends.
        activity: What hears speech; None: one with its own settings.

    Raises:
        AudioError: Voice activity can't be had.
    """

    def __init__(self, settings: EndpointSettings | None = None, *, activity: VoiceActivity | None = None) -> None:
        self.settings = settings or EndpointSettings()
        self.activity = activity or VoiceActivity()
        self.soft_end_ms = self.settings.soft_end_ms
        self.hard_end_ms = self.settings.hard_end_ms
        self.reset()

    def reset(self) -> None:
        """Forgets everything, without an event: another stream, which begins at 0 s."""
        self.activity.reset()
        self._history = _History(round(self.settings.pre_roll_ms / 1000 * RATE_HZ) + RATE_HZ)
        self._begin: int | None = None
        self._free = 0
        self._soft = False
        self._onset: int | None = None
        self._voiced = 0
        self._recent: deque[float] = deque(maxlen=max(1, round(self.settings.min_speech_ms / _FRAME_MS)))
        self._last = 0
        self._end = 0
        self._levels: deque[float] = deque(maxlen=round(_CUT_MS / _FRAME_MS))

    @property
    def speaking(self) -> bool:
        """Whether an utterance is open."""
        return self._begin is not None

    @property
    def now_s(self) -> float:
        """Until when the stream has been heard."""
        return self._history.end / RATE_HZ

    def utterance(self, skip: int = 0) -> Samples:
        """The open utterance until now without its first ``skip`` samples, for one who listens along; else nothing."""
        return self._history.read(self._history.end if self._begin is None else self._begin + skip)

    def feed(self, block: Samples) -> list[VoiceEvent]:
        """The next samples of the stream, at 16 kHz and of any number; returns what they bring, in order."""
        found: list[VoiceEvent] = []
        for begin in range(0, len(block), _PIECE):
            piece = block[begin : begin + _PIECE]
            self._history.append(piece)
            for frame in self.activity.process(piece):
                self._take(frame, found)
            if self._begin is None:
                self._history.forget()
        return found

    def finish(self) -> list[VoiceEvent]:
        """The stream is over: an open utterance ends here."""
        found: list[VoiceEvent] = []
        if self._begin is not None:
            if not self._soft:
                found.append(SoftEnd(self._end / RATE_HZ))
            self._close(found, self._history.end)
        return found

    # --- a frame ----------------------------------------------------------------------------------------------------

    def _take(self, frame: VoiceFrame, found: list[VoiceEvent]) -> None:
        self._levels.append(frame.level_db)
        self._recent.append(frame.probability)
        if frame.probability >= self.settings.threshold:
            self._hear(frame)
        elif self._onset is not None and frame.end - self._last > _samples(_GAP_MS):
            self._onset = None
        if self._begin is None:
            if self._spoken(self.settings.min_speech_ms) and np.mean(self._recent) >= self.settings.sure:
                self._open(frame, found)
            return
        if self._soft:
            if self._spoken(self.settings.resume_ms):
                self._soft = False
                self._end = self._spoken_until()
                found.append(Resumed((self._onset or 0) / RATE_HZ))
        elif self._onset is not None:
            self._end = self._spoken_until()
        silence = frame.end - self._end
        if not self._soft and silence >= _samples(min(self.soft_end_ms, self.hard_end_ms)):
            self._soft = True
            self._onset = None
            found.append(SoftEnd(self._end / RATE_HZ))
        if self._soft and silence >= _samples(self.hard_end_ms):
            self._close(found, frame.end)
        elif frame.end - self._begin >= self.settings.max_s * RATE_HZ:
            self._cut(frame, found)

    def _hear(self, frame: VoiceFrame) -> None:
        """A frame of speech."""
        if self._onset is None:
            self._onset = max(frame.end - FRAME - CHUNK, 0)
            self._voiced = 0
        self._voiced += FRAME
        self._last = frame.end

    def _spoken(self, least_ms: float) -> bool:
        """Whether there has been so much speech since the onset."""
        return self._onset is not None and self._voiced >= _samples(least_ms)

    def _spoken_until(self) -> int:
        """The end of speech if nothing more comes; until Silero's lag is over that is still to come."""
        return max(self._last - _samples(_LAG_MS), self._onset or 0)

    # --- an utterance -----------------------------------------------------------------------------------------------

    def _open(self, frame: VoiceFrame, found: list[VoiceEvent]) -> None:
        onset = self._rise(frame)
        self._begin = max(onset - _samples(self.settings.pre_roll_ms), self._free, self._history.begin)
        self._end = self._spoken_until()
        self._soft = False
        self.hard_end_ms = self.settings.hard_end_ms
        pre_roll = self._history.read(self._begin, frame.end)
        found.append(SpeechStart(max(onset, self._begin) / RATE_HZ, pre_roll, self._begin / RATE_HZ))

    def _rise(self, frame: VoiceFrame) -> int:
        """Where the sound really begins: Silero hears fricatives late."""
        onset = self._onset or 0
        levels = np.array(self._levels)
        at = len(levels) - (frame.end - onset) // FRAME
        first = max(at - _RISE_FRAMES, 0)
        before = levels[max(first - _RISE_FRAMES, 0) : first]
        if at <= first or not len(before):
            return onset
        rest_db = max(frame.floor_db, float(np.median(before)))
        loud = levels >= max(rest_db + _RISE_DB, float(levels[at:].max()) - _RISE_WITHIN_DB)
        while at > first and loud[max(at - _RISE_GAP, first) : at].any():
            at -= 1
        return min(frame.end - (len(levels) - at) * FRAME, onset)

    def _close(self, found: list[VoiceEvent], end: int, *, cut: bool = False) -> None:
        begin = self._begin or 0
        at_s = (end if cut else self._end) / RATE_HZ
        found.append(HardEnd(at_s, self._history.read(begin, end), begin / RATE_HZ, cut))
        self._begin, self._free, self._onset = None, end, None

    def _cut(self, frame: VoiceFrame, found: list[VoiceEvent]) -> None:
        """Speech without an end: the utterance ends at the quietest place, where the next one begins."""
        if self._soft:
            self._close(found, frame.end)
            return
        power = 10 ** (np.array(self._levels) / 10)
        quiet = np.convolve(power, np.ones(_CUT_SMOOTHED), "valid")
        middle = int(quiet.argmin()) + (_CUT_SMOOTHED + 1) // 2
        at = frame.end - (len(power) - middle) * FRAME
        at = max(at, (self._begin or 0) + FRAME)
        end, onset = self._end, self._onset
        self._close(found, at, cut=True)
        self._begin, self._end, self._onset = at, max(end, at), onset
        found.append(SpeechStart(at / RATE_HZ, self._history.read(at, frame.end), at / RATE_HZ))


class _History:
    """The stream's last samples, by their number in it."""

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._samples: Samples = np.zeros(4 * kept, np.float32)
        self._used = 0
        self.begin = 0

    @property
    def end(self) -> int:
        return self.begin + self._used

    def append(self, samples: Samples) -> None:
        needed = self._used + len(samples)
        if needed > len(self._samples):
            self._samples = np.concatenate((self._samples[: self._used], np.zeros(needed, np.float32)))
        self._samples[self._used : needed] = samples
        self._used = needed

    def forget(self) -> None:
        """All but the last samples, once there are many."""
        if self._used > 3 * self._kept:
            drop = self._used - self._kept
            self._samples = np.concatenate((self._samples[drop : self._used], np.zeros(3 * self._kept, np.float32)))
            self._used -= drop
            self.begin += drop

    def read(self, begin: int, end: int | None = None) -> Samples:
        """A copy, from one sample until before another."""
        last = self._used if end is None else end - self.begin
        return self._samples[max(begin - self.begin, 0) : max(last, 0)].copy()


def _samples(milliseconds: float) -> int:
    return round(milliseconds * RATE_HZ / 1000)
