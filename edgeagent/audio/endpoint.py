"""Cuts a stream of sound into utterances: finds their beginnings and ends.

A soft end comes early, so that work can begin; a hard end when what was said decides, which somebody else knows and
sets. Knows nothing of words or turns. Runs on one thread, the ears'; ``hard_end_ms`` may be set by any.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.far_end import SampleHistory
from edgeagent.audio.vad import CHUNK, FRAME, QUIETEST_DB, RATE_HZ, VOICE, VoiceActivity, VoiceFrame
from edgeagent.errors import ConfigError

_FRAME_MS: Final = 1000 * FRAME / RATE_HZ
LAG_MS: Final = 120
"""From the end of speech to the end of the last 32 ms that Silero calls speech: the median over three voices, clean and
with steady and motor noise down to 5 dB SNR, in a room with an RT60 of 0.3 s; 90 % are within 110 ms of it."""
_LEAST_END_MS: Final = LAG_MS + 40
"""No end comes sooner, whatever is set: one look of Silero's without speech."""
_FADE_DB: Final = 21.0
"""Level under the loudest of the last ``_FADE_FRAMES`` at which an utterance fades. Of 49 lines by four voices in a
quiet room 46 have faded for good at their soft end, 111 ms before it in the mean; half of them fade in the middle too.
"""
_CLEAR_DB: Final = 30.0
"""Level of the loudest over the room's floor, under which nothing fades: in noise a recogniser needs the sound after
the last word too. Over a fan and pink noise at 10 dB SNR both were sure of 45 of 108 stop phrases with it, and of 36
without."""
_BACK_DB: Final = 5.0
"""Level over the softest since then at which it is back: the burst of a last "t" is 20 dB under a vowel."""
_FADE_LEAST: Final = 6
"""Frames that are so soft, each the mean of ``_FADE_MEAN``: the closure of a "t" is shorter as a rule."""
_FADE_MEAN: Final = 3
_FADE_FRAMES: Final = 60
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
"""Speech without an end is cut in the last so many milliseconds"""
_CUT_SHARE: Final = 0.5
"""and in this last part of what is allowed: the quietest place of all may be before the first word."""
_CUT_SMOOTHED: Final = 5
"""Frames, 50 ms, that must be quiet together for a cut: a stop consonant is as long."""
_OWN_FRAMES: Final = 9
"""Frames over which the rest of the robot's own voice is compared with that voice."""
_OWN_SHARE: Final = 0.005
"""Share by which a frame changes the mean of the robot's own voice: a time constant of 2 s."""
_PRE_ROLLS: Final = ("pre_roll_ms", "far_pre_roll_ms")
_PIECE: Final = RATE_HZ
"""Longer blocks are taken in pieces of so many samples."""
_NO_SOUND: Final[Samples] = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Settings for the beginning and the end of speech.

    Raises:
        ConfigError: A field is wrong; the text names it.
    """

    threshold: float = VOICE
    """Probability of a frame from which on it is speech."""
    sure: float = 0.42
    """Mean probability that the last ``min_speech_ms`` must have for a start. In 210 minutes of noise, babble and music
    three moments of music reached it, and one 0.5; of 546 lines down to 5 dB SNR one did not reach 0.5, and a "no" by
    itself may stay under that."""
    far_threshold: float = 0.2
    """While the robot speaks: ``threshold`` and ``sure``, in place of both, because what is left of a person over the
    robot's voice is less like speech,"""
    far_speech_ms: float = 60
    """``min_speech_ms`` then, in milliseconds,"""
    far_below_db: float = 22
    """and how much quieter than the microphone it may be, in dB. What is left of the robot's own voice where Silero
    says 0.2 is 26 dB quieter than its mean at least, at an RT60 of 0.6 s. At +6 dB echo it costs 3 lines of 48."""
    far_sure: float = 0.8
    """While the robot speaks and the microphone's level is not told: ``sure``, in place of it. What is left of the
    robot's own voice at +6 dB echo reached 0.64."""
    far_person: float = 0.7
    """While the robot speaks: probability by ``DoubleTalk`` from which on a frame is speech, whatever else is known of
    it. At 0 dB echo 73 % of a person's frames have that, and none of 4442 of the robot's alone, from a loudspeaker that
    does not distort."""
    far_robot: float = 0.5
    """While the robot speaks: probability by ``DoubleTalk`` under which a frame is no speech. 97 % of a person's frames
    have more."""
    far_whole_db: float = 6
    """While the robot speaks: decibels under the microphone within which ``far_robot`` does not count, because the
    canceller has taken hardly anything. Short words of loud voices ("no", over an echo of -20 dB) stay under it."""
    pre_roll_ms: float = 500
    """Sound kept before the start, in milliseconds. At 10 dB SNR the start is found up to 120 ms late, at 5 dB 270."""
    far_pre_roll_ms: float = 200
    """The same while the robot speaks, whose voice it would hold: recognisers hear words in that."""
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
        for name in ("far_threshold", "far_sure", "far_person", "far_robot"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigError(
                    f"{name} of the endpointer is {getattr(self, name)}: it must be over 0, and 1 at most"
                )
        if self.far_robot > self.far_person:
            raise ConfigError(
                f"far_robot of the endpointer is {self.far_robot}: it must be far_person ({self.far_person}) at most"
            )
        for name in ("far_below_db", "far_whole_db"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"{name} of the endpointer is {getattr(self, name)}: it must be 0 or more")
        for name in (*_PRE_ROLLS, "min_speech_ms", "far_speech_ms", "soft_end_ms", "hard_end_ms", "resume_ms"):
            if not 0 <= getattr(self, name) <= 10_000:
                raise ConfigError(f"{name} of the endpointer is {getattr(self, name)}: it must be from 0 to 10000")
        if not 2 <= self.max_s <= 60:
            raise ConfigError(f"max_s of the endpointer is {self.max_s}: it must be from 2 to 60")
        if self.pre_roll_ms + self.min_speech_ms > 500 * self.max_s:
            raise ConfigError(f"pre_roll_ms of the endpointer is {self.pre_roll_ms}: max_s leaves no room for speech")


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody has begun to speak: an utterance is open. ``at_s`` is its onset, which lies in the past."""

    utterance: int
    at_s: float
    begin_s: float | None = None
    """When its sound begins, from which the times of its words count; None where that is not known."""
    pre_roll: Samples = field(default_factory=lambda: _NO_SOUND, repr=False, compare=False)
    """The utterance until now, from ``begin_s`` on: the sound before the start, and what made it sure."""


@dataclass(frozen=True, slots=True)
class SoftEnd:
    """Speech has probably ended, at ``at_s``; ``SpeechResumed`` or ``HardEnd`` follows."""

    utterance: int
    at_s: float


@dataclass(frozen=True, slots=True)
class SpeechResumed:
    """Speech had not ended at the last ``SoftEnd``, and goes on from ``at_s``. A transcript made meanwhile is void."""

    utterance: int
    at_s: float


@dataclass(frozen=True, slots=True)
class HardEnd:
    """The utterance is over; speech ended at ``at_s``."""

    utterance: int
    at_s: float
    cut: bool = False
    """True if the utterance was too long and speech goes on: a ``SpeechStarted`` follows, without a gap."""
    begin_s: float | None = None
    samples: Samples = field(default_factory=lambda: _NO_SOUND, repr=False, compare=False)
    """All of the utterance, exactly the samples of the stream from ``begin_s`` on: pre-roll, speech, and the silence
    until the end was sure."""


VoiceEvent = SpeechStarted | SoftEnd | SpeechResumed | HardEnd


class Endpointer:
    """Cuts a stream into utterances.

    Between a ``SpeechStarted`` and its ``HardEnd`` come pairs of ``SoftEnd`` and ``SpeechResumed``, then one
    ``SoftEnd``, which an utterance that was cut lacks. Utterances never overlap. Times are seconds of the stream.

    Attributes:
        number: Number of the open utterance or, if none is, of the last one: from 1, also across streams; 0 before the
            first.
        hard_end_ms: Silence until the hard end; may be set at any time, also while somebody speaks, and counts from
            then on. It is the settings' again when an utterance starts.
        soft_end_ms: Silence until the soft end; may be set at any time, and stays.
        pausing: True if the newest frame is no speech.

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
        self.number = 0
        self.reset()

    def reset(self) -> None:
        """Forgets everything, without an event: another stream, which begins at 0 s."""
        self.activity.reset()
        self._history = SampleHistory(round(self.settings.pre_roll_ms / 1000 * RATE_HZ) + RATE_HZ)
        self._pre_roll_ms = self.settings.pre_roll_ms
        self._begin: int | None = None
        self._free = 0
        self._soft = False
        self._onset: int | None = None
        self._voiced = 0
        longest_ms = max(self.settings.min_speech_ms, self.settings.far_speech_ms)
        self._recent: deque[float] = deque(maxlen=max(1, round(longest_ms / _FRAME_MS)))
        self._own = _OwnVoice()
        self._last = 0
        self._end = 0
        self.pausing = True
        self._fading = _Fading()
        self._levels: deque[float] = deque(maxlen=round(_CUT_MS / _FRAME_MS))

    @property
    def speaking(self) -> bool:
        """True if an utterance is open."""
        return self._begin is not None

    @property
    def now_s(self) -> float:
        """Until when the stream has been heard."""
        return self._history.end / RATE_HZ

    @property
    def faded_at(self) -> int | None:
        """Sample of the stream at which the open utterance had become so soft that it probably ended; None if it has
        not, or if speech has gone on since, as far as voice activity knows by now."""
        at = self._fading.since if self.speaking else None
        return at if at is not None and self._end <= at else None

    def utterance(self, skip: int = 0) -> Samples:
        """The open utterance until now without its first ``skip`` samples, for one who listens along; else nothing."""
        return self._history.read(self._history.end if self._begin is None else self._begin + skip)

    def feed(
        self,
        block: Samples,
        *,
        far_active: bool = False,
        microphone_db: float | None = None,
        sound: Samples | None = None,
        own: bool = False,
        double_talk: float | None = None,
    ) -> list[VoiceEvent]:
        """The next samples of the stream, at 16 kHz and of any number; returns what they bring, in order.

        Args:
            far_active: What an echo canceller leaves of the robot's own voice may be in them.
            microphone_db: How loud they were before it, in dB of full scale; None: nobody knows, because something
                else cancels the echo.
            sound: The same samples as a recogniser is to have them; None: these.
            own: The robot's own voice is in them as loud as it is, or nobody else has been for a while: nothing starts.
            double_talk: Probability that a person speaks over the robot's voice, by ``DoubleTalk``; None where that
                has not looked.
        """
        found: list[VoiceEvent] = []
        self._pre_roll_ms = self.settings.pre_roll_ms
        if far_active:
            self._pre_roll_ms = min(self._pre_roll_ms, self.settings.far_pre_roll_ms)
            self._fading.reset()  # what is quiet then may be so because the canceller has silenced it
        sound = block if sound is None else sound
        for begin in range(0, len(block), _PIECE):
            piece = block[begin : begin + _PIECE]
            self._history.append(sound[begin : begin + _PIECE])
            for frame in self.activity.process(piece):
                least = self._least(frame, far_active, microphone_db)  # which learns how loud its own voice is
                probability = frame.probability
                if far_active and double_talk is not None:
                    if double_talk >= self.settings.far_person:
                        probability, least = max(probability, double_talk), self._far_least
                    elif double_talk < self.settings.far_robot and not self._is_whole(frame, microphone_db):
                        probability = 0.0
                self._take(frame, probability, _DEAF if own and self._begin is None else least, found)
            self._history.forget(self._begin)
        return found

    def due(self) -> list[VoiceEvent]:
        """Ends the open utterance where it has been silent for as long as was asked for meanwhile."""
        found: list[VoiceEvent] = []
        if self._is_over(self._history.end):
            self._close(found, self._history.end)
        return found

    def finish(self) -> list[VoiceEvent]:
        """The stream is over: an open utterance ends here."""
        found: list[VoiceEvent] = []
        if self._begin is not None:
            if not self._soft:
                found.append(SoftEnd(self.number, self._end / RATE_HZ))
            self._close(found, self._history.end)
        return found

    # --- a frame ----------------------------------------------------------------------------------------------------

    def _least(self, frame: VoiceFrame, far_active: bool, microphone_db: float | None) -> _Least:
        settings = self.settings
        if not far_active:
            return _Least(settings.threshold, settings.sure, settings.min_speech_ms)
        if microphone_db is None:
            return _Least(settings.threshold, max(settings.sure, settings.far_sure), settings.min_speech_ms)
        if self._own.below_db(frame.level_db, microphone_db) > settings.far_below_db:
            # the beginning of a word is soft: it counts, but decides nothing until the rest is louder
            threshold = math.inf if self.speaking and not self._soft else settings.far_threshold
            return _Least(threshold, math.inf, settings.far_speech_ms)
        return self._far_least

    def _is_whole(self, frame: VoiceFrame, microphone_db: float | None) -> bool:
        """True if the canceller has taken hardly anything out of a frame."""
        return microphone_db is not None and microphone_db - frame.level_db <= self.settings.far_whole_db

    @property
    def _far_least(self) -> _Least:
        settings = self.settings
        return _Least(settings.far_threshold, settings.far_threshold, settings.far_speech_ms)

    def _take(self, frame: VoiceFrame, probability: float, least: _Least, found: list[VoiceEvent]) -> None:
        self._levels.append(frame.level_db)
        self._recent.append(probability)
        self.pausing = probability < least.threshold
        if not self.pausing:
            self._hear(frame)
        elif self._onset is not None and frame.end - self._last > _samples(_GAP_MS):
            self._onset = None
        if self._begin is None:
            recent = list(self._recent)[-round(least.speech_ms / _FRAME_MS) :]
            if self._spoken(least.speech_ms) and np.mean(recent) >= least.sure:
                self._open(frame, found)
            return
        self._fading.take(frame)
        if self._soft:
            if self._spoken(self.settings.resume_ms) and least.sure <= 1:
                self._soft = False
                self._end = self._spoken_until()
                found.append(SpeechResumed(self.number, (self._onset or 0) / RATE_HZ))
        elif self._onset is not None:
            self._end = self._spoken_until()
        silence = frame.end - self._end
        if not self._soft and silence >= _samples(max(min(self.soft_end_ms, self.hard_end_ms), _LEAST_END_MS)):
            self._soft = True
            self._onset = None
            found.append(SoftEnd(self.number, self._end / RATE_HZ))
        if self._is_over(frame.end):
            self._close(found, frame.end)
        elif frame.end + FRAME - self._begin > self.settings.max_s * RATE_HZ:
            self._cut(frame, found)

    def _is_over(self, now: int) -> bool:
        return self.speaking and self._soft and now - self._end >= _samples(self.hard_end_ms)

    def _hear(self, frame: VoiceFrame) -> None:
        """A frame of speech."""
        if self._onset is None:
            self._onset = max(frame.end - FRAME - CHUNK, 0)
            self._voiced = 0
        self._voiced += FRAME
        self._last = frame.end

    def _spoken(self, least_ms: float) -> bool:
        """True if there has been so much speech since the onset."""
        return self._onset is not None and self._voiced >= _samples(least_ms)

    def _spoken_until(self) -> int:
        """The end of speech if nothing more comes; until Silero's lag is over that is still to come."""
        return max(self._last - _samples(LAG_MS), self._onset or 0)

    # --- an utterance -----------------------------------------------------------------------------------------------

    def _open(self, frame: VoiceFrame, found: list[VoiceEvent]) -> None:
        onset = self._rise(frame)
        self._begin = max(onset - _samples(self._pre_roll_ms), self._free, self._history.begin)
        self._end = self._spoken_until()
        self._soft = False
        self._fading.reset()
        self.hard_end_ms = self.settings.hard_end_ms
        found.append(self._started(max(onset, self._begin), self._begin, frame.end))

    def _started(self, onset: int, begin: int, end: int) -> SpeechStarted:
        self.number += 1
        return SpeechStarted(self.number, onset / RATE_HZ, begin / RATE_HZ, self._history.read(begin, end))

    def _rise(self, frame: VoiceFrame) -> int:
        """Finds the real beginning of the sound: Silero hears fricatives late."""
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
        found.append(HardEnd(self.number, at_s, cut, begin / RATE_HZ, self._history.read(begin, end)))
        self._begin, self._free, self._onset = None, end, None

    def _cut(self, frame: VoiceFrame, found: list[VoiceEvent]) -> None:
        """Speech without an end: the utterance ends at the quietest place, where the next one begins."""
        if self._soft:
            self._close(found, frame.end)
            return
        longest = round(_CUT_SHARE * self.settings.max_s * 1000 / _FRAME_MS)
        power = 10 ** (np.array(self._levels)[-longest:] / 10)
        quiet = np.convolve(power, np.ones(_CUT_SMOOTHED), "valid")
        middle = int(quiet.argmin()) + (_CUT_SMOOTHED + 1) // 2
        at = frame.end - (len(power) - middle) * FRAME
        at = max(at, (self._begin or 0) + FRAME)
        end, onset = self._end, self._onset
        self._close(found, at, cut=True)
        self._begin, self._end, self._onset = at, max(end, at), onset
        found.append(self._started(at, at, frame.end))


class _Least(NamedTuple):
    """Thresholds that make a frame speech, and the last ones a start; infinite where they are the robot's own."""

    threshold: float
    sure: float
    speech_ms: float


_DEAF: Final = _Least(math.inf, math.inf, 0.0)


class _Fading:
    """Sound that has become far softer than it was just before.

    Attributes:
        since: Sample of the stream at which it had; None before, and once it is louder again.
    """

    def __init__(self) -> None:
        self._powers: deque[float] = deque(maxlen=_FADE_MEAN)
        self._recent: deque[float] = deque(maxlen=_FADE_FRAMES)
        self.reset()

    def reset(self) -> None:
        """Forgets how loud it was."""
        self.since: int | None = None
        self._powers.clear()
        self._recent.clear()
        self._softest_db = QUIETEST_DB
        self._soft = 0

    def take(self, frame: VoiceFrame) -> None:
        """The next frame."""
        self._powers.append(10 ** (frame.level_db / 10))
        mean_db = 10 * math.log10(sum(self._powers) / len(self._powers))
        self._recent.append(mean_db)
        if self.since is not None:
            self._softest_db = min(self._softest_db, mean_db)
            if mean_db > self._softest_db + _BACK_DB:
                self.since, self._soft = None, 0
            return
        loudest_db = max(self._recent)
        fades = loudest_db >= frame.floor_db + _CLEAR_DB and mean_db <= loudest_db - _FADE_DB
        self._soft = self._soft + 1 if fades else 0
        if self._soft >= _FADE_LEAST:
            self.since, self._softest_db = frame.end, mean_db


class _OwnVoice:
    """Level of the robot's own voice at the microphone, beside which its rest is quiet."""

    def __init__(self) -> None:
        self._microphone: deque[float] = deque(maxlen=_OWN_FRAMES)
        self._left: deque[float] = deque(maxlen=_OWN_FRAMES)
        self._mean = 0.0
        self._count = 0

    def below_db(self, left_db: float, microphone_db: float) -> float:
        """Decibels by which the last frames are quieter than before the canceller, there or in the mean of the last
        seconds."""
        self._count += 1
        self._microphone.append(10 ** (max(QUIETEST_DB, microphone_db) / 10))
        self._left.append(10 ** (left_db / 10))
        self._mean += max(_OWN_SHARE, 1 / self._count) * (self._microphone[-1] - self._mean)
        before = max(sum(self._microphone) / len(self._microphone), self._mean)
        return 10 * math.log10(before * len(self._left) / sum(self._left))


def _samples(milliseconds: float) -> int:
    return round(milliseconds * RATE_HZ / 1000)
