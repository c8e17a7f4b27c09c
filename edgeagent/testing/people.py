"""People who speak to the robot: their voices, and what they say placed in the room to the sample.

Voices are flite's, espeak-ng's and natural ones, and a sound that is only like speech; any thread may make them.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from threading import Event
from typing import Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.wav import read_wav
from edgeagent.errors import SpeechError
from edgeagent.resources import scratch_folder
from edgeagent.testing.acoustics import Reverberation, Signal, convolved, in_db, speech_level
from edgeagent.testing.room_settings import RoomSettings
from edgeagent.tts.speaker import Speaker

FLITE_VOICES: Final = ("awb", "kal", "rms", "slt")
"""Voices of flite: three men, of whom awb is a Scot and kal a machine of 1998, and the woman slt."""
NATURAL_VOICES: Final = ("heart", "joe")
"""Voices like people's: Hibari's heart, a woman, and Piper's joe, who has to be pulled."""
_USUAL_WPM: Final = 175
_TIMEOUT_S: Final = 60
_EDGE_S: Final = 0.005
_SILENT: Final = 0.005
"""Share of the loudest frame's amplitude, -46 dB, under which an edge is silence."""

SPEECHLIKE_LEVEL: Final = 0.1
"""RMS on the frames with speech: -20 dBFS."""
_FORMANTS_HZ: Final = ((280, 800), (900, 2300), (2400, 3200))
_BANDWIDTHS_HZ: Final = (70, 110, 170)
_STRENGTHS: Final = (1.0, 0.5, 0.25)
_PITCHES_HZ: Final = (95, 230)
_SYLLABLE_S: Final = (0.12, 0.26)
_PAUSE_S: Final = (0.25, 0.6)
_SYLLABLES: Final = (4, 10)
"""Of a phrase, before a pause."""
_HISS: Final = 0.15
_HISS_SHARE: Final = 0.35
"""Share of the syllables that begin with a hiss."""
_RING_S: Final = 0.025


@lru_cache(maxsize=1024)
def synthesised(text: str, voice: str, rate_hz: int, *, semitones: float = 0.0, tempo: float = 1.0) -> Samples:
    """Speaks a text, and returns the sound without the silence around it.

    Args:
        voice: awb, kal, rms or slt of flite; heart or joe, which sound like people; any other is one of espeak-ng, such
            as en-gb or en-us+f3.
        semitones: Higher by so many, the formants with the pitch: 3 is a smaller person, 6 a child.
        tempo: Faster by this factor.

    Returns:
        Shape (samples,). Kept for as long as the process lives, and not to be written to.

    Raises:
        SpeechError: The program is not installed, knows no such voice, or says nothing; or joe has not been pulled.
    """
    higher = 2 ** (semitones / 12)
    make = _spoken if voice in NATURAL_VOICES else _said_by_program
    samples, spoken_hz = make(text, voice, tempo / higher)  # played faster, it is higher and as long as asked for
    resampled = Resampler(round(spoken_hz * higher), rate_hz).process(samples, last=True)
    made = _trimmed(resampled, rate_hz)
    if not len(made):
        raise SpeechError(f"{voice} says nothing for {text!r}")
    made.setflags(write=False)
    return made


def _spoken(text: str, voice: str, tempo: float) -> tuple[Samples, int]:
    """Sound of one of the product's own natural voices."""
    from edgeagent.tts.voice_choice import make_speaker

    speaking = _natural(voice, round(_USUAL_WPM * tempo), make_speaker)
    chunks = [chunk.samples for chunk in speaking.speak(text, Event())]
    return np.concatenate([np.zeros(0, np.float32), *chunks]), speaking.rate_hz


@lru_cache(maxsize=8)
def _natural(voice: str, rate_wpm: int, make_speaker: Callable[..., Speaker]) -> Speaker:
    return make_speaker(voice, rate_wpm=rate_wpm)


def _said_by_program(text: str, voice: str, tempo: float) -> tuple[Samples, int]:
    """Sound of flite or espeak-ng."""
    program = "flite" if voice in FLITE_VOICES else "espeak-ng"
    with scratch_folder("edgeagent-voice-") as folder:
        spoken, words = folder / "spoken.wav", folder / "words.txt"
        words.write_text(text, encoding="utf-8")
        if program == "flite":
            stretch = [] if tempo == 1 else ["--setf", f"duration_stretch={1 / tempo:.4f}"]
            command = ["flite", "-voice", voice, *stretch, "-f", str(words), "-o", str(spoken)]
        else:
            rate = ["-s", str(round(_USUAL_WPM * tempo))]
            command = ["espeak-ng", "-v", voice, *rate, "-f", str(words), "-w", str(spoken)]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_TIMEOUT_S)
        except FileNotFoundError as error:
            raise SpeechError(f"the voice {voice!r} needs {program}: sudo apt install {program}") from error
        if done.returncode or not spoken.exists():
            raise SpeechError(
                f"{program} can't speak with the voice {voice!r}: {done.stderr.strip() or 'no reason told'}"
            )
        return read_wav(spoken)


def _trimmed(samples: Samples, rate_hz: int) -> Samples:
    """From the first frame with sound to the last one."""
    frame = round(rate_hz * _EDGE_S)
    count = len(samples) // frame
    loudness = np.sqrt(np.mean(np.square(samples[: count * frame]).reshape(count, frame), axis=1))
    loud = np.flatnonzero(loudness > _SILENT * loudness.max(initial=0.0))
    return samples[loud[0] * frame : (loud[-1] + 1) * frame].copy() if len(loud) else samples[:0]


@lru_cache(maxsize=64)
def speechlike(seed: int, seconds: float, rate_hz: int) -> Samples:
    """A sound that is like speech to a meter and says nothing, for tests without any voice program.

    Syllables of a voiced pulse train through three resonances, some with a hiss before them; phrases, pauses.

    Returns:
        So many seconds at -20 dBFS on the frames with speech. Equal arguments, equal samples; not to be written to.
    """
    random = np.random.default_rng([seed, 0x5BEEC4])
    count = round(seconds * rate_hz)
    made = np.zeros(count + rate_hz)
    pitch_hz = random.uniform(*_PITCHES_HZ)
    at, left = 0, int(random.integers(*_SYLLABLES))
    while at < count:
        syllable = _syllable(random, rate_hz, pitch_hz)
        part = made[at : at + len(syllable)]
        part += syllable[: len(part)]
        at += round(random.uniform(*_SYLLABLE_S) * rate_hz)
        left -= 1
        if not left:
            at += round(random.uniform(*_PAUSE_S) * rate_hz)
            left = int(random.integers(*_SYLLABLES))
    made = made[:count]
    fade = min(count, rate_hz // 200)
    made[count - fade :] *= np.linspace(1.0, 0.0, fade)
    scaled = (made * (SPEECHLIKE_LEVEL / (speech_level(made, rate_hz) or 1.0))).astype(np.float32)
    scaled.setflags(write=False)
    return scaled


def _syllable(random: np.random.Generator, rate_hz: int, pitch_hz: float) -> Signal:
    """One syllable with its onset and its end; shorter than half a second."""
    seconds = random.uniform(*_SYLLABLE_S)
    count = round(seconds * rate_hz)
    glide = np.linspace(random.uniform(0.9, 1.2), random.uniform(0.8, 1.1), count)
    turns = np.floor(np.cumsum(pitch_hz * glide / rate_hz))
    pulses = np.diff(turns, prepend=0.0) * np.sin(np.linspace(0, math.pi, count)) ** 0.7
    ring_s = np.arange(round(_RING_S * rate_hz)) / rate_hz
    throat = np.zeros(len(ring_s))
    for (low, high), width, strength in zip(_FORMANTS_HZ, _BANDWIDTHS_HZ, _STRENGTHS, strict=True):
        wave = np.sin(2 * math.pi * random.uniform(low, high) * ring_s)
        throat += strength * np.exp(-math.pi * width * ring_s) * wave
    voiced = np.convolve(pulses, throat)
    if random.random() < _HISS_SHARE:
        hiss = np.diff(random.standard_normal(count // 3 + 1)) * np.sin(np.linspace(0, math.pi, count // 3))
        voiced[: len(hiss)] += _HISS * random.uniform(0.3, 1.0) * hiss
    return voiced * random.uniform(0.5, 1.0)


# --- placed in the room ---------------------------------------------------------------------------------------------

_DIRECT_DB: Final = 3.0
"""Direct sound over reverberation of a person who speaks to the robot from 1 m."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that a person said: its samples, without the reverberation after them.

    ``start`` and ``end`` are samples of the microphone; ``end`` is the one after the last.
    """

    start: int
    end: int
    start_s: float
    end_s: float


class People:
    """Speech that waits for its time. Under the room's lock, except for ``heard``."""

    def __init__(self, settings: RoomSettings, seed: list[int]) -> None:
        self._rate_hz = settings.rate_hz
        direct_db = _DIRECT_DB - in_db(settings.distance_m)
        self._place = Reverberation(seed, rate_hz=settings.rate_hz, rt60_s=settings.rt60_s, direct_db=direct_db)
        self._waiting: list[tuple[int, Signal]] = []

    def heard(self, dry: Signal, level: float, angle_deg: float) -> Signal:
        """Makes speech as it is at the microphone, ``level`` being the RMS of its frames with speech. Any thread."""
        made = convolved(dry, self._place.towards(angle_deg))
        return made * (level / (speech_level(made, self._rate_hz) or 1.0))

    def place(self, start: int, heard: Signal, length: int) -> Said:
        """Lets speech begin at a sample; ``length`` counts its samples without the reverberation."""
        self._waiting.append((start, heard))
        end = start + length
        return Said(start, end, start / self._rate_hz, end / self._rate_hz)

    def block(self, begin: int, count: int) -> Signal:
        """Sums all speech in ``count`` samples from ``begin`` on; forgets speech that is over."""
        made = np.zeros(count)
        self._waiting = [(start, heard) for start, heard in self._waiting if start + len(heard) > begin]
        for start, heard in self._waiting:
            first = max(start, begin)
            last = min(start + len(heard), begin + count)
            if first < last:
                made[first - begin : last - begin] += heard[first - start : last - start]
        return made
