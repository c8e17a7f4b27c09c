"""A voice by itself, without a device: how soon, how fast, at what cost; and whether what was heard is known.

The loudspeaker here is a clock that is advanced by hand, so that two hundred stops take seconds.
"""

from __future__ import annotations

import math
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import numpy as np
from bench.report import Rows, percentile

from edgeagent.audio import PlaybackQueue
from edgeagent.tts import AHEAD_S, Mouth, Speaker, Speech, SpeechChunk, make_speaker

SENTENCES: Final = (
    "I am back at the dock and the battery is charging now.",
    "The door of the kitchen is open, so I can drive in.",
    "There is a red ball under the table, next to the chair.",
    "I have looked in every room, and nobody was there.",
    "Please move the box out of my way, then I will go on.",
    "It is warm in here, but the window is closed.",
    "Follow me to the living room, it is not far.",
    "I will wait until you are ready to go.",
)
_RATE_HZ: Final = 48_000
_BLOCK: Final = 480
_LIMIT_S: Final = 20.0


class Tap:
    """A voice whose samples and words are kept, of one utterance at a time."""

    def __init__(self, voice: Speaker) -> None:
        self._voice = voice
        self.name, self.rate_hz = voice.name, voice.rate_hz
        self.forget()

    def forget(self) -> None:
        """Of what was said until now; a new utterance begins."""
        self.chunks: list[np.ndarray] = []
        self.starts_s: list[float] = []
        self.samples = 0

    def speak(self, text: str, stop_event: threading.Event) -> Iterator[SpeechChunk]:
        before_s = self.samples / self.rate_hz
        for chunk in self._voice.speak(text, stop_event):
            self.starts_s += [before_s + word.at_s for word in chunk.words]
            self.chunks.append(chunk.samples)
            self.samples += len(chunk.samples)
            yield chunk

    def close(self) -> None:
        self._voice.close()

    def handed(self, handed_s: float) -> int:
        """Words whose samples were given to the loudspeaker to the last one."""
        ends = [*self.starts_s[1:], self.samples / self.rate_hz]
        return sum(end_s <= handed_s + 1 / self.rate_hz for end_s in ends)


@contextmanager
def piper_voice(given: str | None) -> Iterator[tuple[str, str] | None]:
    """The path of a Piper voice and what to call it; None if there is none.

    Args:
        given: A voice of one's own.
    """
    if given is not None:
        yield given, f"Piper {Path(given).stem}"
        return
    try:
        from tests.tts.tiny_voice import tiny_voice
    except ImportError:  # no such file, or no onnx
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(tiny_voice(Path(folder))), "Piper (a generated tiny voice)"


def rows(voice: str, name: str, *, quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target of each measurement; and what does not work."""
    made: Rows = []
    wrong: list[str] = []
    begun_s = time.perf_counter()
    tap = Tap(make_speaker(voice))
    next(tap.speak("one", threading.Event()))
    loaded_ms = (time.perf_counter() - begun_s) * 1e3
    made.append((f"{name}: loaded, and the first sample of all", f"{loaded_ms:.0f} ms", ""))
    times_ms = _first_ms(tap, 40 if quick else 200)
    made.append(
        (
            f"{name}: text to first sample queued, {len(times_ms)} times",
            f"p50 {percentile(times_ms, 0.5):.1f} ms, p95 {percentile(times_ms, 0.95):.1f} ms",
            "",
        )
    )
    if not math.isfinite(max(times_ms)):
        wrong.append(f"{name}: a text was not spoken")
    factor, share = _speed(tap, 2 if quick else 8)
    made.append((f"{name}: real-time factor of synthesis", f"{factor:.4f}", "< 1"))
    made.append((f"{name}: synthesis, share of a core while it speaks", f"{share:.2%}", ""))
    errors, prefixes = _stops(tap, 20 if quick else 200)
    exact = sum(error == 0 for error in errors) / len(errors)
    figure = f"mean {statistics.mean(errors):.2f} words, most {max(errors)} ({exact:.0%} exact)"
    made.append((f"{name}: error of the heard text, {len(errors)} random stops", figure, "<= 1 word"))
    if not prefixes:
        wrong.append(f"{name}: the heard text is not the beginning of the text")
    if max(errors) > 1:
        wrong.append(f"{name}: the heard text is off by {max(errors)} words")
    tap.close()
    return made, wrong


def _first_ms(tap: Tap, count: int) -> list[float]:
    """From a text to the first samples that can be played."""
    times_ms = []
    playback = PlaybackQueue(_RATE_HZ)
    with Mouth(tap, playback) as mouth:
        for i in range(count):
            begun_s = time.monotonic()
            speech = mouth.say(SENTENCES[i % len(SENTENCES)])
            there = _until(lambda speech=speech: speech.first_sound_s is not None)
            times_ms.append((speech.first_sound_s - begun_s) * 1e3 if there else math.inf)
            mouth.flush()
            _until(lambda speech=speech: speech.utterance.complete)
            playback.fill(np.zeros(_BLOCK, np.float32), 0.0)
    return times_ms


def _speed(tap: Tap, rounds: int) -> tuple[float, float]:
    """Seconds, and seconds of a core, for a second of speech."""
    tap.forget()
    begun_s, used_s = time.perf_counter(), time.process_time()
    for _ in range(rounds):
        for sentence in SENTENCES:
            for _ in tap.speak(sentence, threading.Event()):
                pass
    spoken_s = tap.samples / tap.rate_hz
    return (time.perf_counter() - begun_s) / spoken_s, (time.process_time() - used_s) / spoken_s


def _stops(tap: Tap, count: int) -> tuple[list[int], bool]:
    """By how many words the heard text differs from what was handed to the loudspeaker, at random flushes.

    Returns:
        The errors; and whether each heard text was the beginning of what was said.
    """
    rng = random.Random(1)
    errors, prefixes = [], True
    for _ in range(count):
        text = " ".join(rng.sample(SENTENCES, 3))
        tap.forget()
        playback = PlaybackQueue(_RATE_HZ)
        now_s = 0.0
        with Mouth(tap, playback) as mouth:
            speech = mouth.say(text)
            blocks = round(rng.uniform(0.1, 5.0) * _RATE_HZ / _BLOCK)
            for _ in range(blocks):
                _until(lambda speech=speech: speech.utterance.queued_s > AHEAD_S / 4 or speech.utterance.complete)
                playback.fill(np.zeros(_BLOCK, np.float32), now_s)
                now_s += _BLOCK / _RATE_HZ
            mouth.flush()
            for _ in range(5):
                playback.fill(np.zeros(_BLOCK, np.float32), now_s)
                now_s += _BLOCK / _RATE_HZ
            _until(lambda speech=speech: speech.utterance.complete)
            errors.append(error_of(speech, tap, now_s))
            prefixes = prefixes and text.startswith(speech.heard(now_s))
    return errors, prefixes


def error_of(speech: Speech, tap: Tap, now_s: float) -> int:
    """Words that the heard text has too many or too few."""
    return abs(len(speech.heard(now_s).split()) - tap.handed(speech.utterance.handed_s))


def _until(true: Callable[[], bool]) -> bool:
    """Waits for another thread; False if it takes too long."""
    end_s = time.monotonic() + _LIMIT_S
    while not true():
        if time.monotonic() > end_s:
            print("scripts/bench mouth: a voice does not answer", file=sys.stderr)
            return False
        time.sleep(0.0002)
    return True
