"""Voice activity: a probability for every 10 ms of sound.

Three looks, the dear one only when a cheap one asks for it: the level over a floor that follows the room, WebRTC's
detector, and Silero's network, which decides. Speech as loud as the talk that is always there is background and counts
as none. Knows nothing of utterances, which are the endpointer's. Runs on one thread, the ears'.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.errors import AudioError, ConfigError
from edgeagent.extras import install
from edgeagent.onnx import open_known
from edgeagent.resources import models_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK: Final = 512
"""Samples at 16 kHz that it takes at a time: 32 ms."""

_CONTEXT: Final = 64
"""Samples before the chunk that it looks at too."""
_STATE: Final = (1, 1, 128)
_INPUTS: Final = (("input", 576), ("h", 128), ("c", 128))
"""Each with the length of its last axis."""
_OUTPUTS: Final = ("speech_probs", "hn", "cn")
_FILE: Final = "silero_vad_v6.onnx"


class Silero:
    """A stream's probability of speech, chunk by chunk; what it has heard before counts.

    Args:
        path: Another file of the same network; None: the one that comes with edgeagent.

    Raises:
        AudioError: onnxruntime or the file is missing, or the file is not this network.
    """

    def __init__(self, path: Path | None = None) -> None:
        path = path or models_dir() / _FILE
        self._session = open_known(path, "voice activity", inputs=_INPUTS, outputs=_OUTPUTS)
        self._input: Samples = np.zeros((1, _CONTEXT + CHUNK), np.float32)
        self.reset()

    def reset(self) -> None:
        """Forgets what it has heard: another stream."""
        self._input[:] = 0
        self._h: Samples = np.zeros(_STATE, np.float32)
        self._c: Samples = np.zeros(_STATE, np.float32)

    def process(self, chunk: Samples) -> float:
        """The next chunk of the stream, shape (512,) in [-1, 1]; returns the probability that somebody speaks in it."""
        self._input[0, :_CONTEXT] = self._input[0, CHUNK:]
        self._input[0, _CONTEXT:] = chunk
        inputs = {"input": self._input, "h": self._h, "c": self._c}
        probabilities, self._h, self._c = self._session.run(_OUTPUTS, inputs)
        return float(probabilities[0])


class SileroOnDemand:
    """Silero frame by frame, only while there is a reason; then it hears what came before as well.

    Args:
        keeps: True for a probability that is a reason to go on.

    Attributes:
        asked: Chunks that Silero was given: its cost.
        awake: Frames for which it goes on; 0: it is not asked.
        heard: Probability of the last chunk; None where it is not asked, or has heard none yet.

    Raises:
        AudioError: onnxruntime or the network is missing.
    """

    def __init__(self, keeps: Callable[[float], bool] = lambda heard: False) -> None:
        self.asked = 0
        self._keeps = keeps
        self._silero = Silero()
        self.reset()

    def reset(self) -> None:
        """Forgets everything: another stream."""
        self.awake = 0
        self.heard: float | None = None
        self._past: deque[Samples] = deque(maxlen=math.ceil(_WARM_UP * CHUNK / FRAME))
        self._chunk: Samples = np.zeros(0, np.float32)

    def process(self, frame: Samples, *, asked: bool) -> float | None:
        """Takes the next frame; returns ``heard``.

        Args:
            asked: There is a reason.
        """
        if asked:
            if not self.awake:
                self._silero.reset()
                self._chunk = np.concatenate([frame[:0], *self._past])
                self._past.clear()
            self.awake = _AWAKE_FRAMES
        if not self.awake:
            self._past.append(frame)
            self.heard = None
            return None
        self._chunk = np.concatenate((self._chunk, frame))
        while len(self._chunk) >= CHUNK:
            self.heard = self._silero.process(self._chunk[:CHUNK])
            self.asked += 1
            self._chunk = self._chunk[CHUNK:]
            if self._keeps(self.heard):
                self.awake = _AWAKE_FRAMES
        self.awake -= 1
        return self.heard


RATE_HZ: Final = 16_000
FRAME: Final = 160
"""Samples of a frame: 10 ms, the least that WebRTC's detector takes."""
VOICE: Final = 0.3
"""Probability from which on Silero hears speech. Its authors' is 0.5, but these weights give short words less: of 546
lines, clean and with noise down to 5 dB SNR, 41 were missed with 0.5 and a mean of 0.8 for a start, with 0.3 and 0.5
one, and nothing more was heard in noise."""

_WARM_UP: Final = 8
"""Chunks of the past that Silero is given when it is woken: without them it doubts the first syllable."""
_AWAKE_FRAMES: Final = 64
"""Silero runs on for so long after the last frame that asked for it, or in which it heard speech."""
_GATE_OF: Final = 5
"""WebRTC's detector asks for Silero when it says speech in two of so many frames."""
_SMOOTHED: Final = 10
"""Frames of which the level is the mean: single ones of babble are as loud as a person's."""
_FLOOR_FRAMES: Final = 500
"""The floor is a percentile of so many frames: longer than a sentence without a pause, so speech does not raise it."""
_FLOOR_EVERY: Final = 5
_FLOOR_PERCENTILE: Final = 10
QUIETEST_DB: Final = -90.0
"""Least level that is told, in dB of full scale."""
_DC_SHARE: Final = 0.05
"""By which a frame's mean changes what is taken for the offset: a time constant of 0.2 s."""
_BACKGROUND_DB: Final = 2.0
"""Half of the frames of babble are no louder over their floor; of a person in noise only pauses and weak consonants."""
_TALK_SHARE: Final = 0.002
"""By which a frame changes what is known of the background: a time constant of 5 s."""
_ASLEEP: Final = 0.25
"""Weight of frames that Silero was not asked about."""
_TALK_AT_FIRST: Final = 0.5
"""Until the background is known, a person must be louder than it: 2.6 s where nobody talks."""
_FOREGROUND_FRAMES: Final = 40
"""Between two syllables a person who is little louder than the background sinks into it."""


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """Thresholds of voice activity.

    Their figures are from the simulated room, three voices (flite's kal, espeak-ng's en-gb and en-us+f3) that
    ``scripts/bench ears`` does not use as a person's; it measures what they give.

    Raises:
        ConfigError: A field is wrong; the text names it.
    """

    aggressiveness: int = 3
    """Of WebRTC's detector, from 0 to 3. It only asks for Silero; at 3 it does so in 3 % of the frames of babble at
    20 dB SNR (at 2 in 31 %) and in 1 % of those of steady noise, and what it misses the level finds."""
    rise_db: float = 6.5
    """Level over the floor, in dB, from which on Silero is asked whatever the gate says, and under which nothing
    begins: a person reaches 9.7 at least at 5 dB SNR."""
    least_dbfs: float = -65.0
    """Level, in dB of full scale, under which nothing is speech. A whisper 20 dB under a voice is at -46."""
    quietest_floor_dbfs: float = -75.0
    """The floor is never taken for less, in dB of full scale: silence of a file is no quieter than a room."""
    talk_db: float = 9.0
    """Where the background talks, level over the floor in dB from which on somebody speaks to the robot. Babble of six
    stays under 8.2 (in three minutes), a person 5 dB over it reaches 11 at least."""
    talk_stays_db: float = 5.5
    """The same once that person speaks."""
    talk_share: float = 0.3
    """The background talks if Silero calls more than this share of it speech, over some seconds. Steady noise, motors:
    0; babble at 10 dB SNR: 1."""

    def __post_init__(self) -> None:
        if self.aggressiveness not in (0, 1, 2, 3):
            raise ConfigError(f"aggressiveness of voice activity is {self.aggressiveness}: it must be 0, 1, 2 or 3")
        if not 0 < self.talk_stays_db <= self.talk_db:
            raise ConfigError(
                f"talk_stays_db of voice activity is {self.talk_stays_db}: it must be over 0, and talk_db at most"
            )
        if not 0 <= self.talk_share <= 1:
            raise ConfigError(f"talk_share of voice activity is {self.talk_share}: it must be between 0 and 1")
        if not self.rise_db > 0:
            raise ConfigError(f"rise_db of voice activity is {self.rise_db}: it must be more than 0")


@dataclass(frozen=True, slots=True)
class VoiceFrame:
    """Knowledge about 10 ms of sound when they are over."""

    end: int
    """Sample of the stream after its last one."""
    probability: float
    """Probability that somebody speaks to the robot, from 0 to 1: Silero's for the last 32 ms that it has heard; 0
    where it was not asked, and for the background."""
    level_db: float
    """Of the frame, in dB of full scale, without the offset."""
    floor_db: float
    """Of the room, in dB of full scale."""


class VoiceActivity:
    """A probability of speech for every frame of a stream.

    Args:
        settings: Thresholds.

    Raises:
        AudioError: A detector is not installed, or does not load.
    """

    def __init__(self, settings: VoiceSettings | None = None) -> None:
        self.settings = settings or VoiceSettings()
        self._gate = _gate(self.settings.aggressiveness)
        self._silero = SileroOnDemand(self._is_speech)
        self.reset()

    def reset(self) -> None:
        """Forgets everything: another stream."""
        self._count = 0
        self._waiting: Samples = np.zeros(0, np.float32)
        self._dc: float | None = None
        self._levels = _Levels(self.settings.quietest_floor_dbfs)
        self._gated: deque[bool] = deque(maxlen=_GATE_OF)
        self._heard = 0.0
        self._foreground = 0
        self._over: deque[float] = deque(maxlen=_SMOOTHED)
        self._talk = _TALK_AT_FIRST
        self._silero.reset()

    @property
    def floor_db(self) -> float:
        """Level of the room, in dB of full scale."""
        return self._levels.floor_db

    @property
    def asleep(self) -> bool:
        """True if nothing was heard for a while that could be speech, so that Silero was not asked."""
        return not self._silero.awake

    @property
    def asked(self) -> int:
        """Chunks that Silero was given: its cost."""
        return self._silero.asked

    def process(self, block: Samples) -> list[VoiceFrame]:
        """The next samples of the stream, at 16 kHz and of any number; returns the frames that they complete."""
        return [self._look(frame) for frame in self._frames(block)]

    def skip(self, count: int) -> None:
        """Takes note of samples that nobody spoke in, and that are left out."""
        self._talk *= (1 - _TALK_SHARE * _ASLEEP) ** (count / FRAME)

    def _frames(self, block: Samples) -> Iterator[Samples]:
        samples = np.concatenate((self._waiting, block)) if len(self._waiting) else block
        whole = len(samples) - len(samples) % FRAME
        self._waiting = samples[whole:].copy()
        for begin in range(0, whole, FRAME):
            yield samples[begin : begin + FRAME]

    def _look(self, frame: Samples) -> VoiceFrame:
        self._count += FRAME
        frame = self._without_offset(frame)
        level_db = self._levels.add(float(np.dot(frame, frame)) / FRAME)
        over_db = self._levels.smoothed_db - self._levels.floor_db
        self._gated.append(self._gate.is_speech((frame * 32767).astype(np.int16).tobytes(), RATE_HZ))
        asked = level_db >= self.settings.least_dbfs and (
            over_db >= self.settings.rise_db or (self._gated[-1] and sum(self._gated) > 1)
        )
        self._heard = self._silero.process(frame, asked=asked) or 0.0
        return VoiceFrame(self._count, self._judged(over_db), level_db, self._levels.floor_db)

    def _without_offset(self, frame: Samples) -> Samples:
        """The frame around zero: an offset is no sound, and Silero has never heard one."""
        mean = float(np.add.reduce(frame)) / FRAME
        if not math.isfinite(mean):
            return np.zeros(FRAME, np.float32)
        before = mean if self._dc is None else self._dc
        self._dc = before + _DC_SHARE * (mean - before)
        centred: Samples = np.clip(frame - np.float32(self._dc), -1.0, 1.0)
        return centred

    def _is_speech(self, heard: float) -> bool:
        return heard >= VOICE and self._levels.smoothed_db >= self.settings.least_dbfs

    def _judged(self, over_db: float) -> float:
        """Returns the probability of what was heard, 0 for the background."""
        settings = self.settings
        self._over.append(over_db)
        if over_db < _BACKGROUND_DB:
            share = _TALK_SHARE * _ASLEEP if self.asleep else _TALK_SHARE
            self._talk += share * (float(self._heard >= VOICE) - self._talk)
        talks = self._talk > settings.talk_share
        if self._foreground:
            self._foreground -= 1
            near = not talks or over_db >= settings.talk_stays_db
        else:
            near = max(self._over) >= (settings.talk_db if talks else settings.rise_db)
        if not near or self._levels.smoothed_db < settings.least_dbfs:
            return 0.0
        if self._heard >= VOICE:
            self._foreground = _FOREGROUND_FRAMES
        return self._heard


class _Levels:
    """Level of the sound, and the floor under it: a percentile of the last seconds, so no speech is waited out."""

    def __init__(self, quietest_db: float) -> None:
        self._quietest_db = quietest_db
        self._powers: deque[float] = deque(maxlen=_SMOOTHED)
        self._smoothed = np.zeros(_FLOOR_FRAMES)
        self._count = 0
        self.smoothed_db = QUIETEST_DB
        self.floor_db = quietest_db

    def add(self, power: float) -> float:
        """The next frame's mean square; returns its level in dB of full scale."""
        self._powers.append(power)
        self.smoothed_db = in_db(sum(self._powers) / len(self._powers))
        self._smoothed[self._count % _FLOOR_FRAMES] = self.smoothed_db
        if self._count % _FLOOR_EVERY == 0:
            known = self._smoothed[: self._count + 1]
            rank = len(known) * _FLOOR_PERCENTILE // 100
            self.floor_db = max(float(np.partition(known, rank)[rank]), self._quietest_db)
        self._count += 1
        return in_db(power)


def in_db(power: float) -> float:
    """A mean square in dB of full scale."""
    return max(10 * math.log10(power), QUIETEST_DB) if power > 0 else QUIETEST_DB


def _gate(aggressiveness: int) -> Any:
    """WebRTC's detector."""
    try:
        import webrtcvad
    except ImportError as error:
        raise AudioError(
            f"voice activity needs webrtcvad, which is not installed ({error}): {install('voice')}"
        ) from error
    return webrtcvad.Vad(aggressiveness)
