"""A simulated room with a robot in it: a device whose microphone hears its loudspeaker, people and noise.

Its clock is virtual: ``run`` advances it on the caller's thread, as fast as it can, with the same samples every time.
Knows nothing of what is above a device.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from edgeagent.audio.device import Fill, Samples, Take, Xruns
from edgeagent.audio.stream_clock import Resampler
from edgeagent.errors import AudioError, ConfigError
from edgeagent.testing.acoustics import Loop, Motor, NoiseSource, Signal, babble, from_db, rms, steady_noise
from edgeagent.testing.echo_path import EchoPath
from edgeagent.testing.people import People, Said, speechlike
from edgeagent.testing.room_settings import NoiseKind, RoomSettings

_ECHO, _PERSON, _NOISE = range(3)
"""Streams of random numbers, so that one more noise changes nothing of echo and people."""
_VOICES: Final = 6
_BABBLE_S: Final = 24.0


class Room:
    """A device whose loudspeaker is heard by its microphone, with people and noise around.

    Attributes:
        recorded: All that was heard, each part by itself; empty where the settings say ``record=False``.
        person_level: RMS of a person's speech at the microphone.

    Args:
        settings: Default: RT60 0.3 s, 60 ms, 48 kHz, an echo as loud as the person, nobody else.
    """

    name = "simulated room"

    def __init__(self, settings: RoomSettings | None = None) -> None:
        self.settings = settings = settings or RoomSettings()
        self.xruns = Xruns()
        self.recorded = Recorded()
        self.person_level = from_db(settings.person_level_db)
        self._rate_hz = settings.rate_hz
        self._block = settings.block
        self._tempo = 1 + settings.drift_ppm * 1e-6
        self._latency = settings.samples(settings.latency_ms)
        self._at = 0
        self._filled = 0
        self._path = EchoPath(settings, [settings.seed, _ECHO])
        self._people = People(settings, [settings.seed, _PERSON])
        self._scene = threading.Lock()
        self._noises: list[NoiseSource] = []
        self._noises_made = 0
        self._lost = 0
        self._calls = threading.RLock()
        self._fill: Fill | None = None
        self._take: Take | None = None
        self._hear_nothing_yet()
        if settings.noise_snr_db is not None:
            self.add_noise(settings.noise_kind, snr_db=settings.noise_snr_db)
        if settings.babble_snr_db is not None:
            self.add_babble(snr_db=settings.babble_snr_db)

    # --- a device ---------------------------------------------------------------------------------------------------

    @property
    def input_rate_hz(self) -> int:
        return self._rate_hz

    @property
    def output_rate_hz(self) -> int:
        return self._rate_hz

    def start(self, *, fill: Fill | None = None, take: Take | None = None) -> None:
        """Calls ``fill`` and ``take`` for each block, as soon as the clock runs.

        Raises:
            AudioError: The loudspeaker, or the microphone, is in use already.
        """
        with self._calls:
            if (fill and self._fill) or (take and self._take):
                raise AudioError("the simulated room is in use: stop() it first")
            self._fill = fill or self._fill
            self._take = take or self._take

    def now(self) -> float:
        """The room's clock, which is the microphone's: seconds since its first sample."""
        return self._at / self._rate_hz

    def stop(self) -> None:
        """Ends the calls; the room itself goes on, with a silent loudspeaker. Safe to call again."""
        with self._calls:
            self._fill = self._take = None

    def leaves_s(self, sample: int) -> float:
        """Seconds of the room's clock at which the loudspeaker plays a sample; the echo comes ``delay_ms`` later."""
        return sample / (self._rate_hz * self._tempo)

    # --- time -------------------------------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        """Advances the clock on this thread, to the end of a block. What a callback raises comes out here."""
        for _ in range(math.ceil(seconds * self._rate_hz / self._block - 1e-9)):
            self._step()

    # --- what happens -----------------------------------------------------------------------------------------------

    def say(
        self, samples: Samples, rate_hz: int, at_s: float | None = None, *, level_db: float = 0, angle_deg: float = 0
    ) -> Said:
        """A person speaks to the robot.

        Args:
            samples: Dry speech at any level.
            at_s: When its first sample reaches the microphone, to the nearest sample; None: with the next block.
            level_db: Decibels over ``person_level``.
            angle_deg: Direction of the person; each direction has reflections of its own.

        Raises:
            ConfigError: at_s is in the past.
        """
        dry = self._at_our_rate(samples, rate_hz)
        heard = self._people.heard(dry, self.person_level * from_db(level_db), angle_deg)
        with self._scene:
            start = self._at if at_s is None else round(at_s * self._rate_hz)
            if start < self._at:
                raise ConfigError(f"at_s is {at_s}: it is past, the room's clock says {self._at / self._rate_hz:.3f}")
            return self._people.place(start, heard, len(dry))

    def turn(self, angle_deg: float) -> None:
        """Turns the robot by an angle; within 50 ms its echo takes another way.

        Ways that are less than 20 degrees apart are alike; back at the same heading, the echo takes the same way.
        """
        self._path.turn(angle_deg)

    def calibrate(self, samples: Samples, rate_hz: int) -> None:
        """Makes ``echo_gain_db`` hold for this speech, played as it is.

        Without it the gain holds for a voice of an average spectrum: flite's slt, most of which is below the
        loudspeaker's band, is 6 dB quieter.
        """
        self._path.calibrate(self._at_our_rate(samples, rate_hz))

    def underrun(self, milliseconds: float) -> None:
        """Gives the loudspeaker nothing for some time; from now on the echo comes later by that time."""
        with self._scene:
            self._lost += self.settings.samples(milliseconds)
            self.xruns.under += 1

    def add_noise(self, kind: NoiseKind = "pink", *, snr_db: float) -> None:
        """Adds steady noise, quieter than a person by ``snr_db``."""
        level, random = self._noise(snr_db)
        self._add(steady_noise(kind, level, random, self._rate_hz))

    def add_sound(self, samples: Samples, rate_hz: int, *, snr_db: float) -> None:
        """Adds any sound, repeated for ever from a place that the seed draws, quieter than a person by ``snr_db``.

        Raises:
            ConfigError: The sound is silent.
        """
        sound = self._at_our_rate(samples, rate_hz)
        if not np.any(sound):
            raise ConfigError("the sound that is to be added is silent")
        level, random = self._noise(snr_db)
        self._add(Loop(np.roll(sound, int(random.integers(len(sound)))) * (level / rms(sound))))

    def add_babble(self, voices: Sequence[Samples] | None = None, *, snr_db: float, rate_hz: int | None = None) -> None:
        """Adds people who talk among themselves.

        Args:
            voices: Dry speech, each repeated for ever; None: six voices that are like speech.
            snr_db: Decibels of a person over all voices together, in the mean of a minute.
            rate_hz: Samples a second of the voices; None: the room's.

        Raises:
            ConfigError: There is no voice, or an empty one.
        """
        if voices is None:
            heard = [speechlike(self.settings.seed + 1 + i, _BABBLE_S + i, self._rate_hz) for i in range(_VOICES)]
            spoken = [voice.astype(np.float64) for voice in heard]
        else:
            spoken = [self._at_our_rate(voice, rate_hz or self._rate_hz) for voice in voices]
        if not spoken or not all(np.any(voice) for voice in spoken):
            raise ConfigError("voices of the babble: there is none, or one of them is silent")
        level, random = self._noise(snr_db)
        self._add(*babble(spoken, level, random, self._rate_hz, self.settings.rt60_s))

    def add_motor(self, speed: Callable[[float], float], *, snr_db: float) -> None:
        """Adds the motors of the wheels.

        Args:
            speed: Wheel speed in m/s at a time of the room's clock; asked once a block, on its thread.
            snr_db: Decibels of a person over the motors at 0.5 m/s. Half the speed is 6 dB quieter; rest is silent.
        """
        level, random = self._noise(snr_db)
        self._add(Motor(speed, level, random, self._rate_hz))

    # --- a block ----------------------------------------------------------------------------------------------------

    def _step(self) -> None:
        """One block of the microphone, then the loudspeaker's up to one block ahead of what was promised."""
        with self._calls:
            begin, count = self._at, self._block
            with self._scene:
                noises = list(self._noises)
                person = self._people.block(begin, count)
                if self._lost:
                    self._path.lose(self._lost)
                    self._lost = 0
            echo = self._path.heard(begin)
            noise = np.zeros(count)
            for source in noises:
                noise += source.block(begin, count)
            microphone = np.clip(echo + person + noise, -1.0, 1.0).astype(np.float32)
            self._keep(microphone=microphone, echo=echo, person=person, noise=noise)
            with self._scene:
                self._at = begin + count
            self._fill_ahead()
            if self._take is not None:
                self._take(microphone, begin / self._rate_hz)

    def _hear_nothing_yet(self) -> None:
        """Before anybody could fill a block, the loudspeaker is silent."""
        count = math.ceil((self._block + self._latency) * self._tempo)
        self._path.lose(count)
        self._keep(loudspeaker=np.zeros(count))
        self._filled = count

    def _fill_ahead(self) -> None:
        """Asks for blocks until the loudspeaker has enough: one a step, now and then none or two, by its own clock."""
        enough = (self._at + self._latency + self._block) * self._tempo
        while self._filled < enough:
            block: Samples = np.zeros(self._block, np.float32)
            if self._fill is not None:
                self._fill(block, self.leaves_s(self._filled))
            np.clip(block, -1.0, 1.0, out=block)
            self._path.play(block.astype(np.float64))
            self._keep(loudspeaker=block)
            self._filled += self._block

    def _keep(self, **parts: Signal | Samples) -> None:
        if self.settings.record:
            for name, samples in parts.items():
                self.recorded.append(name, samples)

    def _noise(self, snr_db: float) -> tuple[float, np.random.Generator]:
        """Makes level and random numbers of one more noise."""
        with self._scene:
            self._noises_made += 1
            random = np.random.default_rng([self.settings.seed, _NOISE, self._noises_made])
        return self.person_level * from_db(-snr_db), random

    def _add(self, *sources: NoiseSource) -> None:
        with self._scene:
            self._noises.extend(sources)

    def _at_our_rate(self, samples: Samples, rate_hz: int) -> Signal:
        return Resampler(rate_hz, self._rate_hz).process(samples, last=True).astype(np.float64)


# --- what was heard -------------------------------------------------------------------------------------------------


class Recorded:
    """The whole run, from the room's time 0.

    Sample n of the microphone and of its parts was heard n / rate seconds after the start. The microphone is the sum of
    echo, person and noise, clipped to [-1, 1]. The loudspeaker's samples follow its own clock: the n-th leaves it at
    ``Room.leaves_s(n)``, and the last ones have not left yet.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, list[Samples]] = {}

    def append(self, name: str, samples: Signal | Samples) -> None:
        """Adds samples to one of the properties below."""
        self._blocks.setdefault(name, []).append(samples.astype(np.float32))

    @property
    def loudspeaker(self) -> Samples:
        """Sound that ``fill`` wrote, clipped to [-1, 1]."""
        return self._whole("loudspeaker")

    @property
    def microphone(self) -> Samples:
        """Sound that ``take`` was given."""
        return self._whole("microphone")

    @property
    def echo(self) -> Samples:
        """The loudspeaker at the microphone."""
        return self._whole("echo")

    @property
    def person(self) -> Samples:
        """All that was said by ``Room.say``."""
        return self._whole("person")

    @property
    def noise(self) -> Samples:
        """Steady noise, babble and motors."""
        return self._whole("noise")

    def _whole(self, name: str) -> Samples:
        return np.concatenate([np.zeros(0, np.float32), *self._blocks.get(name, ())])
