"""The fixture's sentences, spoken by espeak-ng through the product's own voice, with the time of each word.

    .venv/bin/python scripts/lab/train_whisper_fixture/speak.py --out runs/whisper-fixture/spoken.npz

Runs in the product's environment; what it writes is all that the trainer reads.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from threading import Event
from typing import Any, Final

import numpy as np

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from edgeagent.audio import Resampler  # noqa: E402
from edgeagent.tts import EspeakSpeaker  # noqa: E402

RATE_HZ: Final = 16_000
VOICES: Final = (
    ("en-us", 175, 50), ("en-us", 155, 45), ("en-us", 195, 55), ("en-us", 165, 65),
    ("en-us+f3", 175, 50), ("en-us+f3", 160, 60), ("en-us+m3", 175, 50), ("en-us+m3", 190, 40),
    ("en-gb", 175, 50), ("en-gb", 160, 55), ("en-gb+f2", 180, 50), ("en-gb+m2", 170, 45),
)  # fmt: skip
"""Voice, words a minute, pitch; the first is the one of the tests."""


def sentences() -> list[str]:
    """What the fixture knows, as Whisper would write it."""
    return (HERE / "sentences.txt").read_text(encoding="utf-8").splitlines()


def speak(
    text: str, voice: str, rate_wpm: int, pitch: int
) -> tuple[np.ndarray[Any, Any], list[tuple[int, int, float]]]:
    """Samples at 16 kHz, and (start, end, at_s) of the words."""
    speaker = EspeakSpeaker(voice, rate_wpm=rate_wpm, pitch=pitch)
    chunks = list(speaker.speak(text, Event()))
    sound = np.concatenate([chunk.samples for chunk in chunks])
    words = [(word.start, word.end, word.at_s) for chunk in chunks for word in chunk.words]
    return Resampler(speaker.rate_hz, RATE_HZ).process(sound, last=True), words


def main() -> None:
    """Write every sentence in every voice into one .npz."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out: Path = parser.parse_args().out
    clips, index = [], []
    for text in sentences():
        for voice in VOICES:
            samples, words = speak(text, *voice)
            index.append({"text": text, "words": words, "samples": len(samples)})
            clips.append(np.clip(samples * 32767, -32768, 32767).astype(np.int16))
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, sound=np.concatenate(clips), index=np.array(json.dumps(index)))
    print(f"{len(index)} clips, {sum(map(len, clips)) / RATE_HZ:.0f} s, longest {max(map(len, clips)) / RATE_HZ:.1f} s")


if __name__ == "__main__":
    main()
