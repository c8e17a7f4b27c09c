"""Trials of ``scripts/bench people``: who says what, in which room, over which noise.

A trial is drawn by the seed alone, so that each recogniser hears the same sound. Every sentence and recording belongs
to one of two halves, whoever says it: nothing is tuned on the kept one. Values and pure functions.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path
from typing import Any, Final

from bench import voice_commands
from bench.people_noise import noise
from bench.people_recordings import RECORDINGS
from bench.people_recordings import sound as recorded
from bench.voice_trials import natural_voices

from edgeagent.audio import Samples
from edgeagent.english import speakable
from edgeagent.stt import RATE_HZ
from edgeagent.testing import NATURAL_VOICES, Room, RoomSettings, synthesised

SETS: Final = ("recordings", "commands", "ordinary", "talk")
HALVES: Final = ("tuned", "kept")
MACHINES: Final = ("slt", "en-gb", "rms", "en-us+f3")
"""Voices of flite and espeak-ng; each third sentence is also said by one of them."""
_MACHINES_EACH: Final = 3
_TALK: Final = Path(__file__).with_name("people_talk.txt")
_ORDINARY: Final = Path(__file__).with_name("people_commands.jsonl")
"""Commands that this robot's model carries out when they are typed, each with the calls that it makes and should."""
_ALL: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Condition:
    """Room, distance and noise. ``snr_db`` is the person's speech over the noise at the microphone."""

    rt60_s: float = 0.3
    noise: str = ""
    snr_db: float = 0.0
    distance_m: float = 1.0

    def __str__(self) -> str:
        place = f"RT60 {self.rt60_s:g} s" + ("" if self.distance_m == 1 else f", {self.distance_m:g} m")
        return f"{place}, {self.noise} at {self.snr_db:g} dB" if self.noise else place

    def settings(self, seed: int, **more: Any) -> RoomSettings:
        """The room; its noise is added by ``with_noise``."""
        return RoomSettings(rt60_s=self.rt60_s, distance_m=self.distance_m, record=False, seed=seed, **more)

    def with_noise(self, room: Room, seed: int) -> None:
        """Has the noise sound in a room."""
        if self.noise:
            room.add_sound(noise(self.noise, seed, RATE_HZ), RATE_HZ, snr_db=self.snr_db)


@dataclass(frozen=True, slots=True)
class Trial:
    """Something that is said once. ``voice`` is empty for a recording, whose name is ``text``."""

    kind: str
    text: str
    voice: str
    condition: Condition
    seed: int

    @property
    def name(self) -> str:
        """Its name among the results that are kept."""
        return f"{self.kind} | {self.text} | {self.voice} | {self.condition} | {self.seed}"

    @property
    def half(self) -> str:
        """``tuned`` or ``kept``, by the text alone."""
        return HALVES[_digest(self.text)[0] & 1]

    @property
    def natural(self) -> bool:
        """True unless flite or espeak-ng speaks."""
        return self.voice in ("", *NATURAL_VOICES)

    @property
    def said(self) -> str:
        """Words that are heard, as a person would write them down."""
        return _recording_texts()[self.text] if self.kind == "recordings" else self.text

    @property
    def room_seed(self) -> int:
        """Seed of reflections and noise; another one for each sentence."""
        return int.from_bytes(_digest(f"{self.seed} {self.text} {self.voice}")[:3], "big")

    def sound(self) -> Samples:
        """Speech at 16 kHz, dry; not to be written to.

        Raises:
            RecordingsError: The recording was not fetched.
            SpeechError: There is no such voice here.
        """
        if self.kind == "recordings":
            return recorded(next(each for each in RECORDINGS if each.name == self.text))
        return synthesised(speakable(self.text, "en").text, self.voice, RATE_HZ)


def conditions(
    rooms: Sequence[float], distances: Sequence[float], noises: Sequence[str], snrs_db: Sequence[float]
) -> list[Condition]:
    """Each room and distance, quiet where ``noises`` has "quiet", and with each noise at each SNR."""
    made = []
    for rt60_s in rooms:
        for distance_m in distances:
            for kind in noises:
                levels = [0.0] if kind == "quiet" else snrs_db
                made += [Condition(rt60_s, kind.removeprefix("quiet"), snr_db, distance_m) for snr_db in levels]
    return made


def trials(kind: str, where: Iterable[Condition], most: int, seed: int) -> Iterator[Trial]:
    """Trials of a set: the same texts in each condition, drawn by the seed, at most so many."""
    texts = sorted(_texts(kind), key=lambda text: _digest(f"{seed} {text}"))[:most]
    for condition in where:
        if kind == "recordings":
            yield from (Trial(kind, text, "", condition, seed) for text in texts)
            continue
        machines = cycle(MACHINES)
        for number, (text, voice) in enumerate(zip(texts, cycle(natural_voices() or MACHINES), strict=False)):
            yield Trial(kind, text, voice, condition, seed)
            if number % _MACHINES_EACH == 0:
                yield Trial(kind, text, next(machines), condition, seed)


@lru_cache(maxsize=1)
def wanted_calls() -> dict[str, list[dict[str, Any]]]:
    """The right calls of every command, by its text."""
    return {item["text"]: item["calls"] for item in (*voice_commands.commands(_ALL), *_ordinary())}


def _ordinary() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _ORDINARY.read_text(encoding="utf-8").splitlines()]


def talk() -> list[str]:
    """Sentences of everyday life that ask a robot for nothing."""
    return _TALK.read_text(encoding="utf-8").splitlines()


def _texts(kind: str) -> list[str]:
    match kind:
        case "recordings":
            return list(_recording_texts())
        case "commands":
            return [item["text"] for item in voice_commands.commands(_ALL)]
        case "ordinary":
            return [item["text"] for item in _ordinary()]
    return talk()


@lru_cache(maxsize=1)
def _recording_texts() -> dict[str, str]:
    return {each.name: each.text for each in RECORDINGS}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
