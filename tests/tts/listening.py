"""Speech of a voice, taken to its end."""

from threading import Event

import numpy as np

from edgeagent.tts import Speaker, SpeechChunk, WordTime

NEVER = Event()


def spoken(text: str, speaker: Speaker) -> list[SpeechChunk]:
    return list(speaker.speak(text, NEVER))


def sound(chunks: list[SpeechChunk]) -> np.ndarray:
    return np.concatenate([chunk.samples for chunk in chunks]) if chunks else np.zeros(0, np.float32)


def words(chunks: list[SpeechChunk]) -> list[WordTime]:
    return [word for chunk in chunks for word in chunk.words]
