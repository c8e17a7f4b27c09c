"""Writes English speech, clear, with the tokens that Whisper writes for it: 2,500 pieces in ten minutes on one core.

    .venv/bin/python scripts/lab/train_whisper/known.py --runs runs/keywords --model FOLDER --out runs/whisper/known.npz

Runs in the product's environment. What Whisper is unsure of, other languages among it, is left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from faster_whisper.tokenizer import Tokenizer
from sounds import RATE_HZ, Clips
from tokenizers import Tokenizer as Words

from edgeagent.stt import WhisperModel

_LEAST_LOG_PROB: Final = -0.5
"""Mean of a token of what is kept."""
_LONGEST_S: Final = 6.0


def main() -> None:
    """Write them, and one of a hundred texts to look at."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, required=True, help="folder of scripts/train keywords")
    parser.add_argument("--model", type=Path, required=True, help="tiny.en")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=2_500)
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args()
    rng, clips = np.random.default_rng(given.seed), Clips(given.runs, english=True)
    with TemporaryDirectory() as folder:  # by another name it is loaded without what was learnt before
        plain = Path(folder) / "plain"
        plain.symlink_to(given.model.resolve())
        model = WhisperModel(plain, threads=1)
    words = Tokenizer(Words.from_file(str(given.model / "tokenizer.json")), multilingual=False)
    sounds, tokens = [], []
    while len(sounds) < given.count:
        sound = clips.draw(rng, rng.uniform(1.0, _LONGEST_S))
        framed = np.pad(sound, (RATE_HZ // 5, RATE_HZ * 3 // 10)).astype(np.float32)
        said = model.decode(model.encode(framed, 12.0), "en")[0]
        if said.is_made_up or said.tokens < 2 or said.log_prob / (said.tokens + 1) < _LEAST_LOG_PROB:
            continue
        sounds.append((np.clip(sound, -1, 1) * 32_767).astype(np.int16))
        tokens.append(np.array(words.encode(f" {said.text}"), np.int32))
        if len(sounds) % 100 == 0:
            print(f"{len(sounds)} of {given.count}: {said.text}", flush=True)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        given.out,
        sounds=np.concatenate(sounds),
        lengths=[len(sound) for sound in sounds],
        tokens=np.concatenate(tokens),
        counts=[len(each) for each in tokens],
        begin=np.array([words.sot, words.no_timestamps], np.int32),
        end=np.array([words.eot], np.int32),
    )


if __name__ == "__main__":
    main()
