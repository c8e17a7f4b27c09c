"""Profiles: machines that robots carry, and for each the set of models to begin with.

Names in ``published`` are figures that others reported; nothing here was measured on these boards. Any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

Task = Literal["talk", "text"]
"""``talk``: a mind, a recogniser and a voice; ``text``: a mind alone."""
ProfileName = Literal["pi4", "pi5", "orin-nano", "laptop"]
"""Names of the profiles."""

SYSTEM_BYTES: Final = 768 << 20
"""Bytes of a board's memory that its system and the robot's own programs take; an estimate."""
_TOLD: Final = 0.85
"""Least share of a board's memory that its system reports, because firmware and graphics keep some; an estimate.

With a larger share, a board whose graphics keep much counts as a smaller profile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """A machine, and the models to begin with on it."""

    name: ProfileName
    board: str
    memory_bytes: int
    cores: int
    architecture: str
    mind: str
    recogniser: str
    voice: str
    published: tuple[str, ...] = ()
    """Speeds on this board, as reported by others."""

    def models(self, task: Task) -> tuple[str, ...]:
        """Names of the catalogue for a task."""
        return (self.mind,) if task == "text" else (self.mind, self.recogniser, self.voice)


_ALL: Final = (
    Profile(
        name="pi4",
        board="Raspberry Pi 4, 4 GB",
        memory_bytes=4 << 30,
        cores=4,
        architecture="aarch64",
        mind="qwen2.5-coder-0.5b",
        recogniser="tiny.en",
        voice="heart",
        published=("a Piper voice of medium quality: 0.77 of real time on one thread, 0.36 on four",),
    ),
    Profile(
        name="pi5",
        board="Raspberry Pi 5, 8 GB",
        memory_bytes=8 << 30,
        cores=4,
        architecture="aarch64",
        mind="qwen2.5-coder-1.5b",
        recogniser="tiny.en",
        voice="heart",
        published=(
            "Llama 3.2 3B: 4.9 tokens/s",
            "LFM2.5 230M: 42 tokens/s",
            "whisper.cpp's encoder over 30 s of sound: tiny 1.1 s, base 2.5 s",
        ),
    ),
    Profile(
        name="orin-nano",
        board="Jetson Orin Nano Super, 8 GB",
        memory_bytes=8 << 30,
        cores=6,
        architecture="aarch64",
        mind="qwen2.5-coder-1.5b",
        recogniser="base",
        voice="heart",
        published=("LFM2.5 1.2B: 54 tokens/s",),
    ),
    Profile(
        name="laptop",
        board="laptop, 16 GB",
        memory_bytes=16 << 30,
        cores=8,
        architecture="x86_64",
        mind="qwen2.5-coder-1.5b",
        recogniser="base",
        voice="heart",
    ),
)
PROFILES: Final[Mapping[str, Profile]] = MappingProxyType({profile.name: profile for profile in _ALL})


def nearest(memory_bytes: int, cores: int) -> Profile:
    """The largest profile that a machine reaches in memory and cores; the smallest if it reaches none."""
    reached = [p for p in _ALL if p.memory_bytes * _TOLD <= memory_bytes and p.cores <= cores]
    return reached[-1] if reached else _ALL[0]
