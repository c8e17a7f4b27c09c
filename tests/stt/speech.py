"""Sound for the tests of the recognisers: flite's voices slt, rms and awb, none of which any threshold was set on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from threading import Event
from typing import Final

import numpy as np

from edgeagent.audio import Resampler, Samples
from edgeagent.testing import synthesised
from edgeagent.tts import EspeakSpeaker

VOICES: Final = ("slt", "rms", "awb")
RATE_HZ: Final = 16_000
PAUSE_S: Final = 0.3

PHRASES: Final = [
    "go to the kitchen", "drive to the bedroom", "come to the living room", "go back to the charging dock",
    "drive forward two meters", "back up half a meter", "move ahead one meter", "turn left",
    "turn right ninety degrees", "turn around", "stop",
    "stop right there", "how full is your battery", "what time is it", "where are you",
    "turn on the light in the office", "switch off the kitchen light", "pick up the red cube", "bring me the blue ball",
    "put the cup on the table", "follow me", "set a timer for five minutes", "look to the left", "robi wake up",
    "please take the book to the desk", "could you go to the sofa", "go and charge your battery",
]  # fmt: skip
ROOMS: Final = ["kitchen", "bedroom", "living room", "office", "bathroom", "hallway", "garage", "balcony"]


def said(text: str, voice: str, pause_s: float = PAUSE_S) -> Samples:
    """That text as a microphone has it, with a pause before and after."""
    pause = np.zeros(round(pause_s * RATE_HZ))
    sound = np.concatenate([pause, synthesised(text, voice, RATE_HZ), pause])
    sound *= 0.3 / np.abs(sound).max()
    return (sound + np.random.default_rng(1).normal(0, 3e-4, len(sound))).astype(np.float32)


@lru_cache
def spoken(text: str) -> Samples:
    """By the voice that the Whisper fixture knows best: the first one of scripts/lab/train_whisper_fixture/speak.py."""
    speaker = EspeakSpeaker("en-us")
    sound = np.concatenate([chunk.samples for chunk in speaker.speak(text, Event())])
    return Resampler(speaker.rate_hz, RATE_HZ).process(sound, last=True)


def blocks(sound: Samples, size: int = 160) -> Iterator[Samples]:
    """10 ms at a time."""
    for start in range(0, len(sound), size):
        yield sound[start : start + size]


def within(limit_s: float, condition: Callable[[], object]) -> bool:
    """Wait until something is so."""
    import threading
    import time

    end_s = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end_s:
            return False
        threading.Event().wait(0.005)
    return True
