"""What was heard, by a judge that knows nothing of the voice: PocketSphinx aligns the words with the sound."""

from __future__ import annotations

import random
import re
from threading import Event
from typing import Final

import numpy as np
import pocketsphinx
import soxr
from bench.mouth_voices import SENTENCES
from bench.report import Rows, percentile

from edgeagent.tts import make_speaker

_HZ: Final = 16_000
_FRAME_S: Final = 0.01
_STOPS: Final = 200


def rows(voice: str, name: str) -> tuple[Rows, list[str]]:
    """Name, figure and target; and what does not work."""
    rng = random.Random(1)
    late_s: list[float] = []
    errors: list[int] = []
    speaking = make_speaker(voice)
    aligned = 0
    for text in SENTENCES:
        chunks = list(speaking.speak(text, Event()))
        sound = np.concatenate([chunk.samples for chunk in chunks])
        told = [word.at_s for chunk in chunks for word in chunk.words]
        begins = _aligned(soxr.resample(sound, speaking.rate_hz, _HZ), text)
        if begins is None or len(begins) != len(told):
            continue
        aligned += 1
        late_s += [ours - theirs for ours, theirs in zip(told, begins, strict=True)]
        for _ in range(_STOPS // len(SENTENCES)):
            at_s = rng.uniform(0.1, len(sound) / speaking.rate_hz)
            errors.append(abs(sum(each < at_s for each in told) - sum(each < at_s for each in begins)))
    speaking.close()
    if not errors:
        return [(f"{name}: heard text beside a forced alignment", "PocketSphinx aligns none of it", "<= 1 word")], []
    exact = sum(error == 0 for error in errors) / len(errors)
    figure = (
        f"most {max(errors)} words, {exact:.0%} exact; a word is told {percentile(late_s, 0.5) * 1e3:+.0f} ms "
        f"after it begins (p95 {percentile(late_s, 0.95) * 1e3:+.0f}); {aligned} of {len(SENTENCES)} sentences"
    )
    wrong = [f"{name}: off by {max(errors)} words"] if max(errors) > 1 else []
    return [(f"{name}: heard text beside a forced alignment, {len(errors)} random stops", figure, "<= 1 word")], wrong


def _aligned(sound: np.ndarray, text: str) -> list[float] | None:
    """Seconds at which the words begin; None if they can't be aligned."""
    words = re.findall(r"[a-z']+", text.lower())
    decoder = pocketsphinx.Decoder(loglevel="FATAL", lm=None)
    decoder.set_align_text(" ".join(words))
    decoder.start_utt()
    decoder.process_raw((np.clip(sound, -1, 1) * 32767).astype(np.int16).tobytes(), full_utt=True)
    decoder.end_utt()
    found = [
        segment.start_frame * _FRAME_S
        for segment in decoder.seg() or ()
        if re.sub(r"\(\d+\)", "", segment.word) in words
    ]
    return found if len(found) == len(words) else None
