"""The fixture's own sentences through faster-whisper: that the way from sound to text is right, and no accuracy."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event
from typing import Final

import numpy as np
from bench.report import Rows, percentile

from edgeagent.audio import Resampler, Samples
from edgeagent.stt import RATE_HZ, WhisperOptions, WhisperTranscriber
from edgeagent.tts import EspeakSpeaker

_ROOT: Final = Path(__file__).parents[3]
FOLDER: Final = _ROOT / "tests/stt/whisper_fixture"
SENTENCES: Final = _ROOT / "scripts/lab/train_whisper_fixture/sentences.txt"
VOICE: Final = "en-us"
"""The first one of those that it was trained with."""
QUICK: Final = 8
_NEVER: Final = Event()


def rows(quick: bool) -> tuple[Rows, list[str]]:
    """Name, figure and target; and what does not work."""
    name = "faster-whisper: the fixture's own sentences"
    try:
        import faster_whisper  # type: ignore[import-untyped, unused-ignore] # noqa: F401 - whether it is there
    except ImportError as error:
        return [(name, f"not measured: {error}", "")], []
    texts = SENTENCES.read_text(encoding="utf-8").splitlines()
    texts = texts[:: len(texts) // QUICK] if quick else texts
    transcriber = WhisperTranscriber(FOLDER, WhisperOptions(threads=1))
    missed, took_s = [], []
    try:
        for text in texts:
            sound = _spoken(text)
            transcriber.begin()
            transcriber.feed(sound)
            begun_s = time.monotonic()
            heard = transcriber.finish(_NEVER)
            took_s.append(time.monotonic() - begun_s)
            if heard.raw != text:
                missed.append(f"faster-whisper: {text!r} was heard as {heard.raw!r}")
    finally:
        transcriber.close()
    late = f"p50 {1e3 * percentile(took_s, 0.5):.0f} ms, p95 {1e3 * percentile(took_s, 0.95):.0f} ms"
    return [
        (name, f"{len(texts) - len(missed)} of {len(texts)}", "all"),
        ("faster-whisper: last sample to transcript, the fixture's weights of 1.4 MB, one thread", late, ""),
    ], missed


def _spoken(text: str) -> Samples:
    speaker = EspeakSpeaker(VOICE)
    sound = np.concatenate([chunk.samples for chunk in speaker.speak(text, _NEVER)])
    return Resampler(speaker.rate_hz, RATE_HZ).process(sound, last=True)
