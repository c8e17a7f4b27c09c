"""The ears: what hears speech, which recogniser would be used and how soon it answers, Whisper's models, key phrases.

Starts what a conversation would start, and ends it. Knows no microphone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeagent.audio.device import Samples
from edgeagent.audio.stream_clock import Resampler
from edgeagent.audio.vad import CHUNK, Silero, VoiceActivity
from edgeagent.doctor import Row
from edgeagent.errors import AudioError, EdgeAgentError, RecognitionError
from edgeagent.extras import install
from edgeagent.stt.hearing import RATE_HZ

if TYPE_CHECKING:
    from edgeagent.stt.hearing import Transcriber

_WEIGHTS: Final = "model.bin"
_SAID: Final = "go to the kitchen"
_CHUNKS: Final = 50
_SLOW_MS: Final = 8.0
"""For 32 ms of sound: a quarter of a core while somebody speaks."""


def ears(
    make: Callable[[], Transcriber],
    phrases: Callable[[], Mapping[str, float | None]],
    whisper_models: Path,
    *,
    why: Callable[[], str],
) -> Iterator[Row]:
    """The rows of hearing.

    Args:
        make: Makes the recogniser of the settings.
        phrases: The stop words and wake words of the settings, with their thresholds.
        whisper_models: The folder of those that are known by name.
        why: Tells the reason for which the recogniser was chosen, once it is made.
    """
    yield _voice_activity()
    yield _sphinx()
    yield _whisper(whisper_models)
    yield _recogniser(make, why)
    yield _key_phrases(phrases)


def _voice_activity() -> Row:
    """Tells whether both detectors load, and what the dear one costs."""
    name = "voice activity"
    try:
        VoiceActivity()
        silero = Silero()
    except AudioError as error:
        return Row(name, str(error), "problem")
    noise = np.random.default_rng(0).normal(0, 0.05, CHUNK).astype(np.float32)
    begun_s = time.perf_counter()
    for _ in range(_CHUNKS):
        silero.process(noise)
    took_ms = (time.perf_counter() - begun_s) * 1e3 / _CHUNKS
    words = f"Silero on onnxruntime {version('onnxruntime')}: {took_ms:.1f} ms for 32 ms of sound"
    if took_ms > _SLOW_MS:
        return Row(name, words, "note", "that is slow: expect gaps while somebody speaks", round(took_ms, 2))
    return Row(name, words, value=round(took_ms, 2))


def _sphinx() -> Row:
    """Checks pocketsphinx, which finds key phrases, whatever recognises the rest."""
    from edgeagent.stt.app_model import known_words

    try:
        count = len(known_words())
    except RecognitionError as error:
        return Row("pocketsphinx", str(error), "problem")
    return Row("pocketsphinx", f"{version('pocketsphinx')}, a dictionary of {count:,} words", value=count)


def _whisper(models: Path) -> Row:
    """faster-whisper, and its models that are on this machine; that there is none is nothing to be said about."""
    try:
        installed = f"faster-whisper {version('faster-whisper')}"
    except PackageNotFoundError:
        return Row("whisper", "not installed", "note", install("whisper"), [])
    found = sorted(path.parent.name for path in models.glob(f"*/{_WEIGHTS}"))
    return Row("whisper", f"{installed}, {', '.join(found) or 'no model'} in {models}", value=found)


def _recogniser(make: Callable[[], Transcriber], why: Callable[[], str]) -> Row:
    """Starts the recogniser of the settings, and gives it a sentence."""
    name = "recogniser"
    begun_s = time.perf_counter()
    try:
        transcriber = make()
    except EdgeAgentError as error:
        return Row(name, str(error), "problem")
    ready_s = time.perf_counter() - begun_s
    try:
        sound = _sentence()
        begun_s = time.perf_counter()
        transcriber.begin()
        transcriber.feed(sound)
        transcriber.finish(Event())
        took_s = time.perf_counter() - begun_s
    except EdgeAgentError as error:
        return Row(name, str(error), "problem")
    finally:
        transcriber.close()
    length_s = len(sound) / RATE_HZ
    reason = why()
    words = (
        f"{transcriber.name}, {reason}; ready after {ready_s:.1f} s; {length_s:.1f} s of speech take it {took_s:.2f} s"
    )
    value = {
        "name": transcriber.name,
        "why": reason,
        "ready_s": round(ready_s, 2),
        "share": round(took_s / length_s, 2),
    }
    if took_s > length_s:
        return Row(name, words, "note", "it is slower than people speak: take a smaller model, or sphinx", value)
    return Row(name, words, value=value)


def _sentence() -> Samples:
    """Spoken, with some silence around it.

    Raises:
        SpeechError: espeak-ng is missing.
    """
    from edgeagent.tts.voice_choice import make_speaker

    voice = make_speaker()
    try:
        sound = np.concatenate([chunk.samples for chunk in voice.speak(_SAID, Event())])
    finally:
        voice.close()
    silence: Samples = np.zeros(RATE_HZ // 4, np.float32)
    return np.concatenate((silence, Resampler(voice.rate_hz, RATE_HZ).process(sound, last=True), silence))


def _key_phrases(phrases: Callable[[], Mapping[str, float | None]]) -> Row:
    """Tells what is listened for all the time."""
    from edgeagent.stt.spotters import KeyPhraseSpotter

    name = "key phrases"
    try:
        wanted = phrases()
        if not wanted:
            advice = "nothing that is said stops the robot at once: set ears.stop_words"
            return Row(name, "none", "note", advice, {})
        spotter = KeyPhraseSpotter(wanted, lambda keyword: None)
    except EdgeAgentError as error:
        return Row(name, str(error), "problem")
    spotter.close()
    thresholds = spotter.sphinx.thresholds
    words = ", ".join(f"{phrase} ({threshold:g})" for phrase, threshold in thresholds.items())
    also = f"; a network listens for {', '.join(spotter.learnt)} too" if spotter.learnt else ""
    return Row(name, words + also, value=thresholds)
